"""What is known of the subject, as the scaling of the skeleton needs it."""

from __future__ import annotations

from biodyn.model.from_library.scaling import ScalingOptions
from biodyn.model.parameters import ModelSettings, SubjectSettings
from biodyn.processing.calibration.subject import stored_height
from biodyn.recording import Recording


def scaling_options(
    settings: ModelSettings, person: SubjectSettings, walk: Recording, static: Recording, height_m: float | None
) -> ScalingOptions:
    """Return what scaling needs of the settings and the subject; what is given comes before what the files hold.

    The mass is left at 1 kg: it may be measured while standing, which needs these options.
    """
    stored = {**static.subject.measures, **walk.subject.measures}
    given = person.measures
    diameter = stored.get("marker_diameter", settings.marker_diameter_mm / 1000.0)
    stored_sex = walk.subject.sex or static.subject.sex
    return ScalingOptions(
        mass_kg=1.0,
        height_m=height_m or stored_height((walk, static))[0],
        sex=settings.sex or stored_sex or "mean",
        measures={**stored, **given},
        given={name: stored.get(name) for name in given},
        anthropometry=settings.anthropometry,
        hip_centre=settings.hip_centre,
        marker_radius_m=diameter / 2.0,
        foot_flat=settings.foot_flat,
    )
