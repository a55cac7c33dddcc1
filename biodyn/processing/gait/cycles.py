"""Gait cycles between strikes of one side, and time normalisation to 0-100 % of a cycle."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.interpolate import CubicSpline

from biodyn.conventions import CYCLE_POINTS, SIDES, FloatArray, Side, other_side
from biodyn.processing.signals.filtering import finite_stretches, group_by_pattern
from biodyn.recording import GaitEvent


@dataclass(frozen=True)
class GaitCycle:
    """Stride from a foot strike to the next foot strike of the same side. Times in s, NaN if the event is unknown.

    Attributes:
        side: side of the strikes.
        number: 0, 1, ... for each side, in order of time.
        start_s, end_s: the two strikes.
        off_s: foot off of the same side.
        opposite_off_s, opposite_strike_s: events of the other foot during the cycle, in walking in this order.
        confidence: confidence of the less certain strike.
    """

    side: Side
    number: int
    start_s: float
    end_s: float
    off_s: float
    opposite_off_s: float
    opposite_strike_s: float
    confidence: float

    @property
    def duration_s(self) -> float:
        """Duration of the cycle (stride time), s."""
        return self.end_s - self.start_s


def find_gait_cycles(events: Sequence[GaitEvent]) -> tuple[GaitCycle, ...]:
    """Return the cycles of both sides, the right side first, in order of time.

    Two strikes do not define a cycle if there is more than one foot off of the same side between them (a strike was missed), if
    the person was out of view between them, or if the user omits the cycle.
    """
    cycles: list[GaitCycle] = []
    ordered = sorted(events, key=lambda event: event.time_s)
    times_s = [event.time_s for event in ordered]
    for side in SIDES:
        strikes = [event for event in events if event.side == side and event.kind == "foot_strike"]
        number = 0
        for start, end in pairwise(sorted(strikes, key=lambda event: event.time_s)):
            inside = ordered[bisect_right(times_s, start.time_s) : bisect_left(times_s, end.time_s)]
            if sum(event.side == side and event.kind == "foot_off" for event in inside) > 1:
                continue
            if any(event.after_absence for event in (*inside, end)) or end.cycle_left_out:
                continue
            opposite = other_side(side)
            cycles.append(
                GaitCycle(
                    side=side,
                    number=number,
                    start_s=start.time_s,
                    end_s=end.time_s,
                    off_s=_unique_event_time(inside, side, "foot_off"),
                    opposite_off_s=_unique_event_time(inside, opposite, "foot_off"),
                    opposite_strike_s=_unique_event_time(inside, opposite, "foot_strike"),
                    confidence=min(start.confidence, end.confidence),
                )
            )
            number += 1
    return tuple(cycles)


def normalise_to_cycle(
    signal: FloatArray, rate_hz: float, start_s: float, end_s: float, points: int = CYCLE_POINTS
) -> FloatArray:
    """Resample a signal (T,) or (T, k) over start_s..end_s to `points` equidistant rows, (points,) or (points, k).

    Each contiguous stretch of numbers has a cubic spline. Rows outside these stretches are NaN; gaps are not bridged. Frame 0
    is at 0 s.
    """
    signal = np.asarray(signal, dtype=np.float64)
    columns = signal.reshape(len(signal), -1)
    at = np.linspace(start_s, end_s, points) * rate_hz  # in frames
    result = np.full((points, columns.shape[1]), np.nan)
    # Ten frames more on both sides keep the ends of the spline away from the cycle.
    low = max(math.floor(at[0]) - 10, 0)
    high = min(math.ceil(at[-1]) + 11, len(columns))
    for seen, members in group_by_pattern(np.isfinite(columns[low:high]).T):
        for first, stop in finite_stretches(seen):
            frames = np.arange(low + first, low + stop, dtype=np.float64)
            # tolerance for rounding of frame times
            rows = np.flatnonzero((at >= frames[0] - 1e-6) & (at <= frames[-1] + 1e-6))
            if len(rows) and len(frames) > 1:
                samples = columns[low + first : low + stop][:, members]
                result[np.ix_(rows, members)] = CubicSpline(frames, samples)(at[rows])
            elif len(rows):
                result[np.ix_(rows, members)] = columns[low + first, members]
    return result.reshape((points, *signal.shape[1:]))


def _unique_event_time(events: Sequence[GaitEvent], side: Side, kind: str) -> float:
    times = [event.time_s for event in events if event.side == side and event.kind == kind]
    return times[0] if len(times) == 1 else math.nan
