"""When the rows of a table were recorded: programs stamp frames as they arrive, cameras count them as they are taken."""

from __future__ import annotations

from typing import Final

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.io.opensim.storage import even_rate_hz

#: RMS of how late stamps of queued frames are against each other; numbers of frames that say more count something else.
_LATE_FRAMES: Final = 2.0


def times_of_frames(time_s: FloatArray, frames: FloatArray | None) -> FloatArray:
    """Return when the rows were recorded, (T,) s: by the numbers of their frames (T,) where the stamps `time_s` are unsteady.

    The stamps (T,) increase. They stand where they are even, where there are no numbers, and where these are not whole,
    do not increase, or lie further from a steady rate than stamps can be late. The steady rate is the straight line of least
    squares through the stamps.
    """
    if frames is None or len(time_s) < 3 or even_rate_hz(time_s) is not None:
        return time_s
    if not (np.isfinite(frames).all() and (frames == np.round(frames)).all() and (np.diff(frames) > 0.0).all()):
        return time_s
    count = frames - frames[0]
    step_s, first_s = np.polyfit(count, time_s - time_s[0], 1)
    even = time_s[0] + first_s + step_s * count
    late_s = float(np.sqrt(np.mean((even - time_s) ** 2)))
    return even if step_s > 0.0 and late_s <= _LATE_FRAMES * step_s else time_s
