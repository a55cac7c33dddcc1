"""How fast torques change about foot strikes, as the trial itself shows it.

Muscles meet the ground with bursts: within a tenth of a second of a strike the torques of hip, knee and trunk bend five to ten
times as much as in the rest of the stride. One limit for the whole stride flattens them. A person's strikes are alike, so what a
first step of the estimate shows at the same time after all strikes, of both sides, tells the limit of the next one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.ndimage import gaussian_filter1d

from biodyn.conventions import SIDES, BoolArray, FloatArray, IntArray
from biodyn.estimation.sizes import FRAME_S
from biodyn.model.body_model import SubjectModel
from biodyn.recording import Contact

# A strike is felt from before it, muscles expect it, until the forefoot is down; s.
_BEFORE_S, _AFTER_S = 0.08, 0.15
_OF_A_STRIKE = round((_BEFORE_S + _AFTER_S) / FRAME_S) + 1
# For each torque: the rest of the stride, then times after a strike of its own side, then after one of the other side.
_OF_A_TORQUE = 1 + 2 * _OF_A_STRIKE


def alike(model: SubjectModel, places: IntArray, contacts: Sequence[Contact], frames: int, rate_hz: float) -> IntArray:
    """Return labels (frames, R) of the torques at `places` in v: equal where the same torque is as long after a strike.

    Both sides count as one torque; a torque of the trunk has every strike for its own. The nearest known strike counts.
    """
    coordinates = {c.v_index: c for c in (*model.coordinates, *model.assumed)}
    kinds = sorted({coordinates[at].plain for at in places.tolist()})
    time_s = np.arange(frames) / rate_hz
    since: dict[str, FloatArray] = {
        side: _since_nearest(time_s, [c.start_s for c in contacts if c.side == side and c.decision == "assigned"])
        for side in SIDES
    }
    result = np.zeros((frames, len(places)), dtype=np.int64)
    for column, at in enumerate(places.tolist()):
        one = coordinates[at]
        result[:, column] = kinds.index(one.plain) * _OF_A_TORQUE
        for side in SIDES:
            bins = np.round((since[side] + _BEFORE_S) / FRAME_S)
            near = (bins >= 0) & (bins < _OF_A_STRIKE)
            first = 1 + (_OF_A_STRIKE if one.side and one.side != side else 0)
            result[near, column] = kinds.index(one.plain) * _OF_A_TORQUE + first + bins[near].astype(np.int64)
    return result


def _since_nearest(time_s: FloatArray, strikes_s: Sequence[float]) -> FloatArray:
    """Times (T,) s since the nearest strike, negative before it; infinite where there is none."""
    if not strikes_s:
        return np.full(len(time_s), np.inf)
    away = time_s[:, None] - np.array(strikes_s)
    return np.asarray(np.take_along_axis(away, np.argmin(np.abs(away), axis=1)[:, None], axis=1)[:, 0])


def shown_changes(tau: FloatArray, known: BoolArray, labels: IntArray, knot_s: float) -> FloatArray:
    """Return the root mean square (K - 2, R) of the second differences of torques tau (K, R) among those that are alike.

    known: (K, R); labels: (K, R) of `alike`. Smoothed over a hundredth of a second; 0 where nothing is known.
    """
    own = known[:-2] & known[1:-1] & known[2:]
    squares = np.where(own, np.diff(tau, 2, axis=0) ** 2, 0.0)
    middle = labels[1:-1]
    count = np.bincount(middle.ravel(), weights=own.ravel().astype(np.float64))
    mean = np.bincount(middle.ravel(), weights=squares.ravel()) / np.maximum(count, 1.0)
    return np.asarray(np.sqrt(gaussian_filter1d(mean[middle], FRAME_S / knot_s, axis=0)))
