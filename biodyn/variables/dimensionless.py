"""Spatio-temporal parameters without the person's size (Hof 1996, Gait Posture 4:222-223)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from biodyn.conventions import STANDARD_GRAVITY_M_S2
from biodyn.variables.norm_choice import Walker

_MINUTE_S = 60.0


@dataclass(frozen=True)
class SizeFree:
    """A parameter without size: its name and title, the parameter of the stride it comes from, and its divisor."""

    name: str
    title: str
    parameter: str
    divisor: Callable[[float], float]


def _time(leg_m: float) -> float:
    return math.sqrt(leg_m / STANDARD_GRAVITY_M_S2)


def _length(leg_m: float) -> float:
    return leg_m


#: Lengths by leg length l, times by sqrt(l/g), speed by sqrt(g l); cadence in steps a minute becomes steps in sqrt(l/g).
SIZE_FREE: Final[tuple[SizeFree, ...]] = (
    SizeFree("speed_hof", "Walking speed", "speed_m_s", lambda leg: math.sqrt(STANDARD_GRAVITY_M_S2 * leg)),
    SizeFree("cadence_hof", "Cadence", "cadence_steps_min", lambda leg: _MINUTE_S / _time(leg)),
    SizeFree("stride_length_hof", "Stride length", "stride_length_m", _length),
    SizeFree("step_length_hof", "Step length", "step_length_m", _length),
    SizeFree("step_width_hof", "Step width", "step_width_m", _length),
    SizeFree("step_time_hof", "Step time", "step_time_s", _time),
)


def size_free(strides: Mapping[str, float], walker: Walker) -> dict[str, float]:
    """Return the dimensionless parameters of a stride (or of means over strides), and the stride length in body heights."""
    found = {
        one.name: strides[one.parameter] / one.divisor(walker.leg_m) for one in SIZE_FREE if one.parameter in strides
    }
    if "stride_length_m" in strides:
        found["stride_per_height"] = strides["stride_length_m"] / walker.height_m
    return found
