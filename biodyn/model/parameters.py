"""Parameters of the body model and of measured poses: the sections [model] and [poses]."""

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


class PoseSettings(Section):
    """Recordings with segment poses, as stored by markerless systems."""

    use: Literal["auto", "poses", "markers"] = Field(
        "auto",
        description="data used of a file with both: auto uses the markers if they match a marker set, else the poses",
    )
