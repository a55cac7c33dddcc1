"""Smoothing of marker positions: one method per file, selected by `signals.method`.

Input: positions with NaN where a marker is missing, the frame rate, and `cutoff_hz` and `filter_order` of [signals]. Output: a
`SmoothedSignal` of the same shape with the resulting cut-off.

A method registers a `SmoothingMethod` under its name in the settings. It smooths every contiguous stretch of each marker
separately, keeps NaN, and leaves the signal unchanged for `cutoff_hz` 0. A new method is a new file in this folder.
`SmoothedSignal.cutoff_hz` and `SmoothedSignal.order` describe the most similar Butterworth filter: they determine the
unreliable frames at the ends, and the uncertainty of torques.

Read `butterworth` first, then `spline`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from biodyn.conventions import FloatArray
from biodyn.errors import SettingsError
from biodyn.library.registry import Registry


@dataclass(frozen=True)
class SmoothedSignal:
    """Result of a smoothing method.

    Attributes:
        values: smoothed values, NaN where the input is NaN.
        cutoff_hz: frequency at which 1/sqrt(2) of the amplitude remains, 0 without smoothing.
        order: order of the zero-lag Butterworth filter with the same slope above the cut-off.
    """

    values: FloatArray
    cutoff_hz: float
    order: int


class SmoothingFunction(Protocol):
    """Function that smooths positions (T, M, 3) m at `rate_hz`; cut-off and order as in [signals]."""

    def __call__(self, positions: FloatArray, rate_hz: float, cutoff_hz: float, order: int) -> SmoothedSignal:
        """Return the smoothed positions with the cut-off that results."""
        ...


@dataclass(frozen=True)
class SmoothingMethod:
    """Smoothing method: its function, and its description for the report ("smoothed by ...")."""

    smooth: SmoothingFunction
    words: str


SMOOTHING: Registry[SmoothingMethod] = Registry(__name__, "smoothing method", SettingsError)
