"""Parameters of the bands: the section [uncertainty] of the settings."""

from __future__ import annotations

from typing import Annotated, Literal

from biodyn.library.faults import shown_value
from biodyn.library.load import is_path
from biodyn.library.section import Field, Section, field_validator


class UncertaintySettings(Section):
    """Bands of the joint torques; the magnitudes of the errors are data, `library/uncertainty/magnitudes.toml`."""

    compute: bool = Field(True, description="compute the bands of the torques; roughly doubles the time per trial")
    magnitudes: str | None = Field(None, description="a TOML file laid out like the library's; omitted = the library's")
    scale: dict[
        Literal[
            "marker_noise",
            "soft_tissue",
            "pose_noise",
            "pose_errors",
            "joint_centres",
            "inertias",
            "centre_of_pressure",
            "cutoff",
            "unseen_segments",
        ],
        Annotated[float, Field(ge=0, le=100)],
    ] = Field(default_factory=dict, description="factors on the standard deviations by source; 0 leaves one out")

    @field_validator("magnitudes")
    @classmethod
    def _is_a_toml_file(cls, name: str | None) -> str | None:
        if name is not None and not is_path(name):
            raise ValueError(f"expected the path of a TOML file (*.toml), found {shown_value(name)}")
        return name
