"""Long stretches of a trial are solved in overlapping windows, so that memory does not grow with the trial."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from biodyn.conventions import FloatArray

# Longer stretches are solved in windows. What happens beyond the overlap is hardly felt, and neighbours fade into each other
# over it.
_LONGEST_S = 10.5
_WINDOW_S = 5.0
_OVERLAP_S = 1.0


@dataclass(frozen=True)
class TimeWindow:
    """Frames `rows` of a stretch that are solved at once, and those of them whose result is kept."""

    stretch: slice
    rows: slice
    kept: slice

    @property
    def inner(self) -> slice:
        """The kept frames, counted from the first solved one."""
        return slice(self.kept.start - self.rows.start, self.kept.stop - self.rows.start)

    @property
    def weights(self) -> FloatArray:
        """How much (rows,) each frame counts beside the same one of the neighbours: windows fade into each other smoothly.

        Two windows close the same imbalance by motions that differ by some micrometres, or by more where one of them takes only a
        part of its last step; at a seam that is an impact.
        """
        frames = np.arange(self.rows.start, self.rows.stop)
        result = np.ones(len(frames))
        for seam, overlap in (
            (self.kept.start, self.kept.start - self.rows.start),
            (self.kept.stop, self.kept.stop - self.rows.stop),
        ):
            if overlap:
                result *= _smooth_step(0.5 + 0.5 * (frames - seam) / overlap)
        return result


def _smooth_step(x: FloatArray) -> FloatArray:
    """From 0 at x = 0 to 1 at 1, with two derivatives that vanish at both ends; s(x) + s(1 - x) = 1."""
    x = np.clip(x, 0.0, 1.0)
    return np.asarray(x**3 * (10.0 + x * (6.0 * x - 15.0)))


def windows_of(rows: slice, rate_hz: float) -> list[TimeWindow]:
    """Return the windows of a stretch: itself, or overlapping ones of equal length."""
    frames = rows.stop - rows.start
    if frames <= _LONGEST_S * rate_hz:
        return [TimeWindow(rows, rows, rows)]
    overlap = round(_OVERLAP_S * rate_hz)
    edges = np.linspace(rows.start, rows.stop, 1 + round(frames / (_WINDOW_S * rate_hz))).round().astype(int).tolist()
    return [
        TimeWindow(rows, slice(max(first - overlap, rows.start), min(last + overlap, rows.stop)), slice(first, last))
        for first, last in pairwise(edges)
    ]
