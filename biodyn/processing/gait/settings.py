"""Settings of events and cycles: the section [gait]."""

from __future__ import annotations

from typing import Literal

from biodyn.library.section import Field, Section


class GaitSettings(Section):
    """Settings of events and cycles."""

    events: Literal["auto", "plate", "kinematic", "file"] = Field(
        "auto", description="source of the events; auto: plate, else kinematic, else file"
    )
