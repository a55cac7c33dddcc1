"""Parameters of the bands: the section [uncertainty] of the settings."""

from __future__ import annotations

from biodyn.library.entry_faults import format_value
from biodyn.library.settings_section import Field, Section, field_validator
from biodyn.library.toml_files import is_path


class UncertaintySettings(Section):
    """Settings of the torque bands; the magnitudes of the errors are in `library/uncertainty/magnitudes.toml`."""

    compute: bool = Field(True, description="compute the bands of the torques; roughly doubles the time per trial")
    magnitudes: str | None = Field(
        None, description="TOML file with error magnitudes in the layout of the library; omitted = the library"
    )

    @field_validator("magnitudes")
    @classmethod
    def _require_toml_path(cls, name: str | None) -> str | None:
        if name is not None and not is_path(name):
            raise ValueError(f"expected the path of a TOML file (*.toml), found {format_value(name)}")
        return name
