"""Parameters of the body model and of measured poses: the sections [model] and [poses] of the settings."""

from __future__ import annotations

from typing import Literal

from biodyn.library.section import Field, Section


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
    marker_diameter_mm: float = Field(14.0, gt=0, le=100, description="used where the file does not tell")


class PoseSettings(Section):
    """Recordings that hold poses of segments, as markerless systems store them."""

    use: Literal["auto", "poses", "markers"] = Field(
        "auto",
        description="of a file that holds both: auto takes the markers where a marker set understands them, else the poses",
    )
    origin_mm: float | None = Field(
        None,
        ge=0,
        le=200,
        description="error of a segment's position along each axis, one standard deviation, mm; omitted = the table's",
    )
    turn_deg: float | None = Field(
        None,
        ge=0,
        le=45,
        description="error of a segment's attitude about each axis, one standard deviation, deg; omitted = the table's",
    )
