"""Settings of events and cycles: the section [gait]."""

from __future__ import annotations

from typing import Literal

from biodyn.library.settings_section import Field, Section
from biodyn.processing.contacts.settings import Correction


class _SidedCorrection(Correction):
    """Correction that applies to the events or cycles of one foot."""

    side: Literal["left", "right"] = Field(description="foot of the event or cycle")


class EventOverride(_SidedCorrection):
    """Correction of one event by the user: a new time, or its removal."""

    event: Literal["foot_strike", "foot_off"] = Field(description="kind of the event")
    from_s: float = Field(ge=0, strict=False, description="time of the detected event, s")
    to_s: float | None = Field(None, ge=0, strict=False, description="correct time, s; omitted = the event is removed")


class OmittedCycle(_SidedCorrection):
    """Entry that excludes one gait cycle from the results."""

    start_s: float = Field(ge=0, strict=False, description="time of the foot strike at the start of the cycle, s")


class GaitSettings(Section):
    """Settings of the gait events and cycles."""

    events: Literal["auto", "plate", "kinematic", "file"] = Field(
        "auto",
        description="source of the events; auto = plate events if available, else kinematic events, else events of the file",
    )
    override: tuple[EventOverride, ...] = Field(
        (),
        max_length=1000,
        strict=False,
        description="events moved or removed by the user: `{side, event, from_s, to_s}`",
    )
    leave_out: tuple[OmittedCycle, ...] = Field(
        (), max_length=1000, strict=False, description="cycles omitted by the user: `{side, start_s}`"
    )
