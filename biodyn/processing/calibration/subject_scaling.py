"""What the subject's model is made of, as one value: the model can be made again with other axial rotation offsets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.model.body_model import SubjectModel
from biodyn.model.from_library.markersets import MarkerMapping
from biodyn.model.from_library.scaling import ScalingOptions, scale
from biodyn.model.from_library.skeleton import SkeletonDefinition
from biodyn.model.parameters import ModelSettings
from biodyn.processing.calibration.body_mass import MassEstimate
from biodyn.processing.calibration.subject import stored_height
from biodyn.recording import Recording


@dataclass(frozen=True)
class SubjectScaling:
    """The recipe of a skeleton and what was measured of the subject.

    Attributes:
        skeleton, mapping: the recipe, and which marker is which.
        points: (3,) m by label, of the static trial. tracked: labels seen in the walk.
        options: mass, height, tables and the like.
    """

    skeleton: SkeletonDefinition
    mapping: MarkerMapping
    points: Mapping[str, FloatArray]
    tracked: frozenset[str]
    options: ScalingOptions

    def model(self, turns_rad: Mapping[str, float] | None = None) -> tuple[SubjectModel, list[Diagnostic]]:
        """Return the subject's model and what had to be assumed; `turns_rad` of segments about their long axes."""
        return scale(self.skeleton, self.mapping, self.points, self.tracked, self.options, turns_rad)


def scaling_options(
    settings: ModelSettings, walk: Recording, static: Recording, height_m: float | None, mass: MassEstimate | None
) -> ScalingOptions:
    """Return what scaling needs of the settings and the subject; what is given comes before what the files hold."""
    measures = {**static.subject.measures, **walk.subject.measures}
    diameter = measures.get("marker_diameter", settings.marker_diameter_mm / 1000.0)
    stored_sex = walk.subject.sex or static.subject.sex
    return ScalingOptions(
        mass_kg=1.0 if mass is None else mass.mass_kg,  # with strides the mass comes later and scales the inertias
        height_m=height_m or stored_height((walk, static))[0],
        sex=settings.sex or stored_sex or "mean",
        measures=measures,
        anthropometry=settings.anthropometry,
        hip_centre=settings.hip_centre,
        marker_radius_m=diameter / 2.0,
        foot_flat=settings.foot_flat,
    )
