"""Settings of events and cycles: the section [gait]."""

from __future__ import annotations

from typing import Literal

from biodyn.library.section import Field, Section


class EventOverride(Section):
    """Correction of one event by the user: a new time, or its removal."""

    side: Literal["left", "right"] = Field(description="foot of the event")
    event: Literal["foot_strike", "foot_off"] = Field(description="kind of the event")
    from_s: float = Field(ge=0, strict=False, description="time of the detected event, s")
    to_s: float | None = Field(None, ge=0, strict=False, description="correct time, s; omitted = the event is removed")
    reason: str | None = Field(None, max_length=400, description="why")


class OmittedCycle(Section):
    """One cycle that the user omits."""

    side: Literal["left", "right"] = Field(description="foot of the cycle")
    start_s: float = Field(ge=0, strict=False, description="time of the foot strike at the start of the cycle, s")
    reason: str | None = Field(None, max_length=400, description="why")


class GaitSettings(Section):
    """Settings of events and cycles."""

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
