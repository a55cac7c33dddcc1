"""Settings of events and cycles: the section [gait]."""

from __future__ import annotations

from typing import Literal

from biodyn.library.section import Field, Section


class EventOverride(Section):
    """One event, moved or removed by the user."""

    side: Literal["left", "right"] = Field(description="foot of the event")
    event: Literal["foot_strike", "foot_off"] = Field(description="kind of the event")
    from_s: float = Field(ge=0, strict=False, description="time of the detected event, s")
    to_s: float | None = Field(None, ge=0, strict=False, description="its time, s; omitted = there is no event")
    reason: str | None = Field(None, max_length=400, description="why")


class OmittedCycle(Section):
    """One cycle that is left out by the user."""

    side: Literal["left", "right"] = Field(description="foot of the cycle")
    start_s: float = Field(ge=0, strict=False, description="foot strike at the begin of the cycle, s")
    reason: str | None = Field(None, max_length=400, description="why")


class GaitSettings(Section):
    """Settings of events and cycles."""

    events: Literal["auto", "plate", "kinematic", "file"] = Field(
        "auto", description="source of the events; auto: plate, else kinematic, else file"
    )
    override: tuple[EventOverride, ...] = Field(
        (),
        max_length=1000,
        strict=False,
        description="events moved or removed by the user: `{side, event, from_s, to_s}`",
    )
    leave_out: tuple[OmittedCycle, ...] = Field(
        (), max_length=1000, strict=False, description="cycles left out by the user: `{side, start_s}`"
    )
