"""When the rows of a table were recorded: programs stamp frames as they arrive, cameras count them as they are taken."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from biodyn.conventions import BoolArray, FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.io.opensim.storage import even_rate_hz

#: RMS of how late stamps of queued frames are against each other; numbers of frames that say more count something else.
_LATE_FRAMES: Final = 2.0
_LEAST_ROWS: Final = 3


@dataclass(frozen=True, eq=False)
class FrameTimes:
    """When frames were taken, by their numbers.

    Attributes:
        rows: (R,) of the table that stand; another one repeats the frame before it. time_s: (T,) of these. late_s: RMS of how
            late their stamps are against each other.
    """

    rows: BoolArray
    time_s: FloatArray
    late_s: float


def frame_times(stamps: FloatArray, frames: FloatArray | None) -> FrameTimes | None:
    """Return when the rows were recorded by the numbers (R,) of their frames, None where their stamps (R,) s tell it.

    The stamps do where they are even, where there are no numbers, and where these are not whole, decrease, or lie further from a
    steady rate than stamps can be late. The steady rate is the straight line of least squares through the stamps.
    """
    if frames is None or not (np.isfinite(frames).all() and np.isfinite(stamps).all()):
        return None
    if not ((frames == np.round(frames)).all() and (np.diff(frames) >= 0.0).all()):
        return None
    if len(stamps) > 1 and (np.diff(stamps) > 0.0).all() and even_rate_hz(stamps) is not None:
        return None
    rows = np.concatenate([[True], np.diff(frames) > 0.0])
    kept = stamps[rows]
    if len(kept) < _LEAST_ROWS:
        return None
    count = frames[rows] - frames[0]
    step_s, first_s = np.polyfit(count, kept - kept[0], 1)
    even = kept[0] + first_s + step_s * count
    late_s = float(np.sqrt(np.mean((even - kept) ** 2)))
    return FrameTimes(rows, even, late_s) if step_s > 0.0 and late_s <= _LATE_FRAMES * step_s else None


def late_note(name: str, found: FrameTimes) -> Diagnostic:
    """What is said where frames' numbers tell the time of the file `name`."""
    again = int(np.sum(~found.rows))
    repeated = (
        f"; {again} {'rows repeat' if again > 1 else 'row repeats'} the frame before and are left out" if again else ""
    )
    return Diagnostic(
        "stamps-uneven",
        "info",
        f"The stamps of '{name}' are {1e3 * found.late_s:.3g} ms (RMS) off a steady rate: the numbers of the frames tell the "
        f"time{repeated}.",
        value=found.late_s,
        unit="s",
    )
