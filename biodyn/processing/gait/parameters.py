"""Parameters of events and cycles: the section [gait] of the settings."""

from __future__ import annotations

from typing import Literal

from biodyn.library.section import Field, Section


class GaitSettings(Section):
    """Events and cycles."""

    events: Literal["auto", "plate", "kinematic", "file"] = Field(
        "auto", description="source of the events; auto: plate, else kinematic, else file"
    )
