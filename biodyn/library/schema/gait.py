"""How sure gait events are."""

from __future__ import annotations

from pydantic import Field

from biodyn.library.schema import SCHEMAS
from biodyn.library.schema.base import Strict


class _Error(Strict):
    error_s: float = Field(gt=0, lt=1)
    repeat_s: float | None = Field(None, gt=0, lt=1)
    bias_s: float | None = Field(None, gt=-1, lt=1)
    late_strides: float | None = Field(None, gt=-1, lt=1)


class _Source(Strict):
    foot_strike: _Error
    foot_off: _Error


class _Kinematic(_Source):
    own_weight: float = Field(gt=0)


@SCHEMAS.register("gait/events")
class EventErrors(Strict):
    """Errors of events by where they come from."""

    close_s: float = Field(gt=0, lt=1)
    tail_df: float = Field(gt=2)  # below, the distribution has no standard deviation
    plate: _Source
    kinematic: _Kinematic
    file: _Source
