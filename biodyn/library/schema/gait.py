"""How sure gait events are, peaks of the ground reaction, and how two feet share a plate."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from biodyn.library.schema import SCHEMAS
from biodyn.library.schema.base import Name, Range, Strict


class _Error(Strict):
    error_s: float = Field(gt=0, lt=1)
    repeat_s: float | None = Field(None, gt=0, lt=1)
    bias_s: float | None = Field(None, gt=-1, lt=1)
    late_strides: float | None = Field(None, gt=-1, lt=1)


class _Source(Strict):
    foot_strike: _Error
    foot_off: _Error


class _Weights(Strict):
    heel_height: float
    toe_height: float
    heel_upward_velocity: float
    toe_upward_velocity: float
    heel_speed: float
    toe_speed: float
    heel_upward_acceleration: float
    toe_upward_acceleration: float


class _Contact(Strict):
    intercept: float
    half_s: float = Field(gt=0, lt=0.5)
    spread_s: float = Field(ge=0, lt=1)
    weights: _Weights


class _Mark(Strict):
    late_s: float = Field(gt=-0.2, lt=0.2)
    share: float = Field(ge=0, le=1)
    error_s: float = Field(gt=0, lt=1)


class _Marked(Strict):
    foot_off: _Mark


class _Kinematic(_Source):
    own_weight: float = Field(gt=0)


@SCHEMAS.register("gait/events")
class EventErrors(Strict):
    """Errors of events by where they come from."""

    close_s: float = Field(gt=0, lt=1)
    tail_df: float = Field(gt=2)  # below, the distribution has no standard deviation
    plate: _Source
    kinematic: _Kinematic
    contact: _Contact
    marked: _Marked
    file: _Source


class _Peak(Strict):
    name: Name
    axis: Literal["x", "y", "z"]
    of: Literal["max", "min"]
    window: Range
    sign: Literal[1, -1] = 1
    mirrored: bool = False


@SCHEMAS.register("gait/ground_peaks")
class GroundPeaks(Strict):
    """Peaks of the ground reaction of a stance."""

    peak: tuple[_Peak, ...] = Field(strict=False, min_length=1)


class _Pressure(Strict):
    cutoff_hz: float = Field(gt=1, le=200)
    still: float = Field(gt=0, lt=1)
    near: float = Field(gt=0, lt=0.5)
    lead_start: float = Field(ge=0, le=1)
    rear_end: float = Field(ge=0, le=1)


class _Direction(Strict):
    rear_growth: float
    lead: float
    rear_across: float
    lead_across: float


class _ShareError(Strict):
    vertical: float = Field(ge=0, lt=1)
    along: float = Field(ge=0, lt=1)
    across: float = Field(ge=0, lt=1)
    twist_m: float = Field(ge=0, lt=1)
    point_m: float = Field(ge=0, lt=1)


@SCHEMAS.register("gait/double_support")
class DoubleSupport(Strict):
    """How a load of two feet on one plate is shared."""

    pressure: _Pressure
    direction: _Direction
    error: _ShareError
