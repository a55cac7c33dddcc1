"""How markers are smoothed: one method a file, chosen by `signals.method`.

Goes in: an array of positions with NaN where a marker was not seen, the frame rate, and two numbers of [signals]:
`cutoff_hz` and `filter_order`. Comes out: a `Smoothed` of the same shape, with the cut-off that was used in the end.

A method registers a `SmoothingMethod` under the name that a settings file says. It smooths every unbroken stretch of a
marker by itself and leaves NaN where it is; it gives equal results for equal markers, whatever else is recorded; and it
leaves a signal as it is where `cutoff_hz` is 0. To add one, put a file here: nothing else has a list of them. What
follows from a smoothing, the frames beside the ends that are not reliable and the bands of the torques, is computed from
`Smoothed.cutoff_hz` and `Smoothed.order`, so a method must say which Butterworth filter it comes nearest to.

Read `butterworth` first, then `spline`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from biodyn.conventions import FloatArray
from biodyn.errors import SettingsError
from biodyn.library.registry import Registry


@dataclass(frozen=True)
class Smoothed:
    """A smoothed signal.

    Attributes:
        values: as given, NaN where it was NaN.
        cutoff_hz: where 1/sqrt(2) of the amplitude is left, 0 where nothing was taken away.
        order: of the zero-lag Butterworth filter with the same fall beyond the cut-off.
    """

    values: FloatArray
    cutoff_hz: float
    order: int


class Smooth(Protocol):
    """What a method does with positions (T, M, 3) m at `rate_hz`; cut-off and order as in [signals], for those that use them."""

    def __call__(self, positions: FloatArray, rate_hz: float, cutoff_hz: float, order: int) -> Smoothed:
        """Return the positions without their noise."""
        ...


@dataclass(frozen=True)
class SmoothingMethod:
    """A method: what it does, and in words how, for the methods section of a report ("smoothed by ...")."""

    smooth: Smooth
    words: str


SMOOTHING: Registry[SmoothingMethod] = Registry(__name__, "smoothing method", SettingsError)
