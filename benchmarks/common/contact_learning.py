"""Log odds of contact learnt from recordings whose plates tell when a foot strikes or leaves (`gait/kinematic_events.py`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.processing.gait.kinematic_events import ContactOdds, load_strike_odds
from biodyn.recording import EventKind

_HALF_S, _STEP_S = 0.08, 0.01  # frames beside an event that are learnt from
_RIDGE = 1.0  # of weights of standardised values: drawn to zero with a variance of 1
_MOST_STEPS = 50


@dataclass(frozen=True)
class Seen:
    """One event that a plate saw, and what else says when it was.

    Attributes:
        laboratory, person: where and who. kind: of the event. rate_hz: frames per second. time_s: by the plate.
        kinematics: (T, 8) of the foot through the trial. expected_s: of the extreme that it lies near.
        rule_s: by the fastest fall of the foot, or the largest upward acceleration of the toe alone.
        program_s, confidence: as the program says it without plates.
    """

    laboratory: str
    person: str
    kind: EventKind
    rate_hz: float
    time_s: float
    kinematics: FloatArray
    expected_s: float
    rule_s: float
    program_s: float
    confidence: float


def learnt(events: Sequence[Seen]) -> ContactOdds:
    """Return the log odds by ridge logistic regression of the frames beside the events of one kind; laboratories count by the
    root of their events. For foot offs the odds are those of the air, so that the passage is one into what is likely.
    """
    # between frames of 100 Hz: none at the event itself, which is neither
    apart_s = np.arange(-_HALF_S + 0.5 * _STEP_S, _HALF_S, _STEP_S)
    rows, weights = [], []
    for event in events:
        at = (event.time_s + apart_s) * event.rate_hz
        columns = [np.interp(at, np.arange(len(event.kinematics)), column) for column in event.kinematics.T]
        rows.append(np.column_stack(columns))
        same = sum(other.laboratory == event.laboratory for other in events)
        weights.append(np.full(len(at), same**-0.5))
    x, w, y = np.vstack(rows), np.concatenate(weights), np.tile(apart_s > 0.0, len(events)).astype(float)
    known = np.isfinite(x).all(axis=1)
    x, w, y = x[known], w[known], y[known]
    mean, sd = x.mean(axis=0), x.std(axis=0)
    b = _logistic(np.column_stack([np.ones(len(x)), (x - mean) / sd]), y, w)
    own = b[1:] / sd
    library = load_strike_odds()
    return ContactOdds(float(b[0] - mean @ own), tuple(float(v) for v in own), library.half_s, library.spread_s)


def _logistic(x: FloatArray, y: FloatArray, w: FloatArray) -> FloatArray:
    b = np.zeros(x.shape[1])
    ridge = _RIDGE * np.eye(len(b))
    ridge[0, 0] = 1e-6  # the intercept is free
    for _ in range(_MOST_STEPS):
        p = 1.0 / (1.0 + np.exp(-x @ b))
        step = np.linalg.solve(x.T @ (x * (w * p * (1.0 - p))[:, None]) + ridge, x.T @ (w * (y - p)) - ridge @ b)
        b += step
        if np.abs(step).max() < 1e-9:
            break
    return b
