"""Parameters of the body model, of the person and of measured poses: the sections [model], [subject] and [poses]."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from biodyn.conventions import SIDES
from biodyn.library.section import BeforeValidator, Field, Section

_MM_IN_M = 1e-3


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
        description="an OpenSim model (.osim) of the person, whose markers have the recording's names, in place of the skeleton; "
        "of the other sections contacts, gait, limits, uncertainty, replay, output and signals.cutoff_hz are followed then",
    )
    marker_set: str = Field(
        "auto", description="marker set of the library, a TOML file, or auto: recognised from the labels"
    )
    geometry: bool = Field(
        True, description="exchanged labels are put right, and unnamed markers named, by where the markers are"
    )
    anthropometry: str = Field(
        "de_leva_dumas", description="table of segment masses, centres and radii of gyration, or a TOML file"
    )
    hip_centre: str = Field("harrington_2007", description="hip joint centre regression, or a TOML file with one")
    fit: Literal["session", "trial", "none"] = Field(
        "trial",
        description="what corrects joint centres, axes and marker places of the static trial: all walks and functional trials of "
        "the person and day (session), the walk itself (trial), or nothing (none)",
    )
    stored_centres: bool = Field(
        False,
        description="joint centres that the static trial's file stores take the place of biodyn's own; where it stores some, "
        "the walk corrects nothing",
    )
    sex: Literal["male", "female", "mean"] | None = Field(
        None, description="row of the anthropometric table; omitted = the file's, else the mean of both"
    )
    knee: Literal["hinge", "rotation"] = Field(
        "hinge",
        description="rotation: the shank may also turn about its long axis, held weakly to the static angle, so that pivoting "
        "does not go into the hip; hinge: flexion alone, robust against skin movement",
    )
    moment_axes: Literal["fitted", "three_points"] = Field(
        "fitted",
        description="axes of joint moments and forces: of the fitted segments, or of thighs and shanks as joint centre, far "
        "marker and wand show them in each frame (three_points); torques, powers and angles do not depend on it",
    )
    foot_flat: bool = Field(True, description="the feet stand flat in the static trial")


class SubjectSettings(Section):
    """Measures of the person's body, taken by hand: they stand over those of the files. One number is that of both sides."""

    knee_width_mm: Annotated[dict[_OneSide, Annotated[float, Field(ge=30, le=250)]], _BySide] = Field(
        default_factory=dict, description="width between both epicondyles, mm; or by side, { r = 104, l = 106 }"
    )
    ankle_width_mm: Annotated[dict[_OneSide, Annotated[float, Field(ge=20, le=150)]], _BySide] = Field(
        default_factory=dict, description="width between both malleoli, mm; or by side"
    )
    leg_length_mm: Annotated[dict[_OneSide, Annotated[float, Field(ge=250, le=1400)]], _BySide] = Field(
        default_factory=dict,
        description="from the anterior iliac spine to the medial malleolus, mm; or by side. Of hip centres that ask for it, and "
        "of the dimensionless speed",
    )
    inter_asis_distance_mm: float | None = Field(
        None,
        ge=80,
        le=500,
        description="between both anterior iliac spines, mm; omitted = the file's, else the markers'",
    )
    asis_trochanter_distance_mm: Annotated[dict[_OneSide, Annotated[float, Field(ge=10, le=200)]], _BySide] = Field(
        default_factory=dict,
        description="from the anterior iliac spine back to the trochanter, mm; or by side. Of the hip centre davis_1991",
    )
    foot_width_mm: Annotated[dict[_OneSide, Annotated[float, Field(ge=30, le=200)]], _BySide] = Field(
        default_factory=dict, description="width of the foot at the balls, mm; or by side"
    )
    elbow_width_mm: Annotated[dict[_OneSide, Annotated[float, Field(ge=20, le=200)]], _BySide] = Field(
        default_factory=dict, description="width between both epicondyles of the elbow, mm; or by side"
    )

    @property
    def measures(self) -> dict[str, float]:
        """What is given, m, by the name of the measure (`library/body/measures.toml`): knee_width_r, inter_asis_distance."""
        found: dict[str, float] = {}
        for entry, value in self:
            name = entry.removesuffix("_mm")
            if isinstance(value, Mapping):
                found |= {f"{name}_{side}": _MM_IN_M * one for side, one in value.items()}
            elif value is not None:
                found[name] = _MM_IN_M * value
        return found


class PoseSettings(Section):
    """Recordings that hold poses of segments, as markerless systems store them."""

    use: Literal["auto", "poses", "markers"] = Field(
        "auto",
        description="of a file that holds both: auto takes the markers where a marker set understands them, else the poses",
    )
