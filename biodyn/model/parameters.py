"""Parameters of the body model, of the person and of measured poses: the sections [model], [subject] and [poses]."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from biodyn.conventions import SIDES
from biodyn.library.section import BeforeValidator, Field, Section


def _for_each_side(value: Any) -> Any:
    """One number is that of both sides."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return dict.fromkeys(SIDES, value) if is_number else value


_OneSide = Literal["r", "l"]
_BySide = BeforeValidator(_for_each_side)


class ModelSettings(Section):
    """Which body the markers are fitted to."""

    skeleton: str = Field(
        "auto", description="skeleton of the library, a TOML file, or auto: all that the markers determine"
    )
    osim: str | None = Field(
        None,
        description="an OpenSim model (.osim) of the subject instead of the skeleton, with the recording's marker names; "
        "the other settings used are contacts, gait, limits, uncertainty, replay, output and signals.cutoff_hz",
    )
    marker_set: str = Field(
        "auto", description="marker set of the library, a TOML file, or auto: recognised from the labels"
    )
    geometry: bool = Field(
        True, description="swapped labels are corrected and unlabelled markers labelled by the positions of the markers"
    )
    anthropometry: str = Field(
        "de_leva_dumas", description="table of segment masses, centres and radii of gyration, or a TOML file"
    )
    hip_centre: str = Field("harrington_2007", description="hip joint centre regression, or a TOML file with one")
    fit: Literal["session", "trial", "none"] = Field(
        "trial",
        description="recordings that correct joint centres, axes and marker positions of the static trial: all walks and "
        "functional trials of the subject on that day (session), the walk itself (trial), or none (none)",
    )
    stored_centres: bool = Field(
        False,
        description="use joint centres stored in the file of the static trial; if it has any, they are not corrected by the walk",
    )
    sex: Literal["male", "female", "mean"] | None = Field(
        None, description="row of the anthropometric table; omitted = the file's, else the mean of both"
    )
    knee: Literal["hinge", "rotation"] = Field(
        "hinge",
        description="rotation: the shank also rotates about its long axis, with a weak prior at the static angle, so that "
        "pivoting is not attributed to the hip; hinge: flexion only, robust against soft tissue motion",
    )
    moment_axes: Literal["fitted", "three_points"] = Field(
        "fitted",
        description="axes of joint moments and forces: of the fitted segments, or of thighs and shanks from joint centre, distal "
        "marker and wand in each frame (three_points); torques, powers and angles do not depend on it",
    )
    foot_flat: bool = Field(True, description="the feet are flat on the floor in the static trial")
    marker_diameter_mm: float = Field(
        14.0, gt=0, le=100, description="diameter of the markers, if the file stores none"
    )


class SubjectSettings(Section):
    """Body measures of the subject, which replace those in the files. A single number is used for both sides."""

    knee_width_mm: Annotated[dict[_OneSide, Annotated[float, Field(ge=30, le=250)]], _BySide] = Field(
        default_factory=dict, description="width between both epicondyles, mm; or by side, { r = 104, l = 106 }"
    )
    ankle_width_mm: Annotated[dict[_OneSide, Annotated[float, Field(ge=20, le=150)]], _BySide] = Field(
        default_factory=dict, description="width between both malleoli, mm; or by side"
    )
    leg_length_mm: Annotated[dict[_OneSide, Annotated[float, Field(ge=250, le=1400)]], _BySide] = Field(
        default_factory=dict,
        description="from the anterior iliac spine to the medial malleolus, mm; or by side. Used by some hip centres and "
        "for the dimensionless speed",
    )
    inter_asis_distance_mm: float | None = Field(
        None,
        ge=80,
        le=500,
        description="between both anterior iliac spines, mm; omitted = the file's, else the markers'",
    )
    asis_trochanter_distance_mm: Annotated[dict[_OneSide, Annotated[float, Field(ge=10, le=200)]], _BySide] = Field(
        default_factory=dict,
        description="from the anterior iliac spine back to the trochanter, mm; or by side. Used by the hip centre davis_1991",
    )
    foot_width_mm: Annotated[dict[_OneSide, Annotated[float, Field(ge=30, le=200)]], _BySide] = Field(
        default_factory=dict, description="width of the foot at the balls, mm; or by side"
    )
    elbow_width_mm: Annotated[dict[_OneSide, Annotated[float, Field(ge=20, le=200)]], _BySide] = Field(
        default_factory=dict, description="width between both epicondyles of the elbow, mm; or by side"
    )

    @property
    def measures(self) -> dict[str, float]:
        """Return the given measures, m, by name (`library/body/measures.toml`): knee_width_r, inter_asis_distance."""
        measures: dict[str, float] = {}
        for entry, value in self:
            name = entry.removesuffix("_mm")
            if isinstance(value, Mapping):
                measures |= {f"{name}_{side}": 1e-3 * width for side, width in value.items()}
            elif value is not None:
                measures[name] = 1e-3 * value
        return measures


class PoseSettings(Section):
    """Recordings with segment poses, as stored by markerless systems."""

    use: Literal["auto", "poses", "markers"] = Field(
        "auto",
        description="data used of a file with both: auto uses the markers if they match a marker set, else the poses",
    )
