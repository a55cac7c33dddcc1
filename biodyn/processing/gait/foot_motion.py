"""Foot strikes and foot offs from how the foot itself moves, near the times at which the steps lead one to expect them.

A strike ends the fall of the foot: the middle of heel and toe falls fastest just then (O'Connor et al. 2007). At the foot off
the toe is pulled off the ground: its upward acceleration is largest there (after Hreljac & Marshall 2000, who take the
forward one; of the two the upward one lies alike in more people, `benchmarks/events.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from biodyn.conventions import FloatArray, Side
from biodyn.recording import EventKind, GaitEvent

# How far from the expected time the foot's own mark is looked for: three times the spread of what is expected.
_WINDOW_S = 0.09


def marked_by_feet(
    expected: Sequence[GaitEvent],
    heel_W: Mapping[Side, FloatArray],
    toe_W: Mapping[Side, FloatArray],
    rate_hz: float,
    late_s: Mapping[EventKind, float],
    confidence: Mapping[EventKind, float],
) -> list[GaitEvent]:
    """Return the expected events at the times that the feet mark; one that no foot marks stays as it is.

    Parameters: `heel_W`, `toe_W` per side (T, 3) m, filtered; `late_s` by which a mark follows the event of its kind;
    `confidence` of an event that is marked.
    """
    marks = {
        (side, kind): signal
        for side in heel_W
        for kind, signal in (
            ("foot_strike", -_rate(0.5 * (heel_W[side] + toe_W[side])[:, 1], rate_hz)),
            ("foot_off", _rate(_rate(toe_W[side][:, 1], rate_hz), rate_hz)),
        )
    }
    found = []
    for event in expected:
        about_s = event.time_s + late_s[event.kind]
        at = _peak_near(marks[event.side, event.kind], about_s, rate_hz)
        marked = replace(event, time_s=at - late_s[event.kind], confidence=confidence[event.kind])
        found.append(marked if np.isfinite(at) else event)
    return found


def _rate(values: FloatArray, rate_hz: float) -> FloatArray:
    return np.gradient(values, 1.0 / rate_hz) if len(values) > 1 else np.zeros_like(values)


def _peak_near(signal: FloatArray, about_s: float, rate_hz: float) -> float:
    """Time (s) of the highest maximum of a signal (T,) within the window, by a parabola; NaN where there is none."""
    first = max(round((about_s - _WINDOW_S) * rate_hz), 1)
    stop = min(round((about_s + _WINDOW_S) * rate_hz) + 1, len(signal) - 1)
    if stop - first < 1 or not np.isfinite(signal[first - 1 : stop + 1]).all():
        return float("nan")
    before, here, after = signal[first - 1 : stop - 1], signal[first:stop], signal[first + 1 : stop + 1]
    peaks = np.flatnonzero((here >= before) & (here > after) & (here > 0.0))
    if not len(peaks):
        return float("nan")
    best = int(peaks[np.argmax(here[peaks])])
    bend = before[best] - 2.0 * here[best] + after[best]
    return float((first + best + 0.5 * (before[best] - after[best]) / bend) / rate_hz)
