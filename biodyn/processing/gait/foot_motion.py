"""What the foot itself marks near the times at which the steps lead one to expect its strikes and offs.

A strike ends the fall of the foot: the middle of heel and toe falls fastest just then (O'Connor et al. 2007). At the foot off the
toe's upward acceleration is largest (after Hreljac & Marshall 2000, who take the forward one; of the two the upward one lies
alike in more people). In walking, strikes are told by `contact_likelihood`, and offs by the mean of two marks, the toe's and
the toe farthest behind the pelvis: they err independently of each other. In other gaits each event is at its mark.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from biodyn.conventions import FloatArray, Side
from biodyn.library.load import load_table
from biodyn.processing.gait.event_confidence import probability_close
from biodyn.recording import GaitEvent

# How far from the expected time the foot's own mark is looked for: three times the spread of what is expected.
_WINDOW_S = 0.09


def at_marks(
    expected: Sequence[GaitEvent],
    heel_W: Mapping[Side, FloatArray],
    toe_W: Mapping[Side, FloatArray],
    rate_hz: float,
) -> list[GaitEvent]:
    """Return the events at the times that the feet mark, as sure as they were; one that no foot marks stays as it is.

    `heel_W`, `toe_W`: per side (T, 3) m, filtered at 6 Hz.
    """
    falls = {side: -_rate(0.5 * (heel + toe_W[side])[:, 1], rate_hz) for side, heel in heel_W.items()}
    found = []
    for event in expected:
        if event.kind == "foot_strike":
            marked_s = _peak_near(falls[event.side], event.time_s, rate_hz)
        else:
            marked_s = _pulled_off(event, toe_W[event.side], rate_hz)
        found.append(replace(event, time_s=marked_s) if math.isfinite(marked_s) else event)
    return found


def offs_by_toes(expected: Sequence[GaitEvent], toe_W: Mapping[Side, FloatArray], rate_hz: float) -> list[GaitEvent]:
    """Return the events with each foot off between its expected time and the toe's mark, weighted by their errors.

    `toe_W`: per side (T, 3) m, filtered at 6 Hz. The farther apart the two are, the less sure is the event; one without a mark
    stays as it is.
    """
    table = load_table("gait/events")["marked"]["foot_off"]
    share = float(table["share"])
    found = []
    for event in expected:
        if event.kind == "foot_off":
            apart_s = _pulled_off(event, toe_W[event.side], rate_hz) - event.time_s
            if math.isfinite(apart_s):
                # the variance between two estimates with these weights
                error_s = math.sqrt(float(table["error_s"]) ** 2 + share * (1.0 - share) * apart_s**2)
                event = replace(event, time_s=event.time_s + share * apart_s, confidence=probability_close(error_s))
        found.append(event)
    return found


def _pulled_off(event: GaitEvent, toe_W: FloatArray, rate_hz: float) -> float:
    """Time (s) of the foot off that the toe's largest upward acceleration marks; NaN where there is none."""
    late_s = float(load_table("gait/events")["marked"]["foot_off"]["late_s"])
    pulled = _rate(_rate(toe_W[:, 1], rate_hz), rate_hz)
    return _peak_near(pulled, event.time_s + late_s, rate_hz) - late_s


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
