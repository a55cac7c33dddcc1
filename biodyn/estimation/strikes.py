"""How fast torques and motion change about foot strikes, as the trial itself shows it.

Muscles meet the ground with bursts: within a tenth of a second of a strike the torques of hip, knee and trunk bend five to ten
times as much as in the rest of the stride. One limit for the whole stride flattens them. A person's strikes are alike, so what a
first step of the estimate shows at the same time after all strikes, of both sides, tells the limits of the next one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.ndimage import gaussian_filter1d

from biodyn.conventions import SIDES, BoolArray, FloatArray, IntArray
from biodyn.estimation.sizes import FRAME_S
from biodyn.model.body_model import SubjectModel
from biodyn.processing.gait.events import plate_events
from biodyn.recording import Contact

# A strike is felt from before it, muscles expect it, until the forefoot is down; s.
_BEFORE_S, _AFTER_S = 0.08, 0.15
#: So many hundredths of a second a strike lasts.
OF_A_STRIKE = round((_BEFORE_S + _AFTER_S) / FRAME_S) + 1
# Of each kind: the rest of the stride, then times after a strike of its own side, then after one of the other side.
_OF_A_KIND = 1 + 2 * OF_A_STRIKE


def since_strikes(contacts: Sequence[Contact], frames: int, rate_hz: float) -> FloatArray:
    """Return the times (frames, 2) s since the nearest strike of each of `SIDES`, negative before it; infinite without one.

    A strike is where a foot comes from the air on to a plate: none is a foot that stands on one at the first frame, or that steps
    from one plate on to the next.
    """
    events = plate_events(contacts, frames / rate_hz, 1.0 / rate_hz)
    struck = [[e.time_s for e in events if e.kind == "foot_strike" and e.side == side] for side in SIDES]
    return np.stack([_since_nearest(np.arange(frames) / rate_hz, own) for own in struck], axis=1)


def _since_nearest(time_s: FloatArray, strikes_s: Sequence[float]) -> FloatArray:
    """Times (T,) s since the nearest strike, negative before it; infinite where there is none."""
    if not strikes_s:
        return np.full(len(time_s), np.inf)
    away = time_s[:, None] - np.array(strikes_s)
    return np.asarray(np.take_along_axis(away, np.argmin(np.abs(away), axis=1)[:, None], axis=1)[:, 0])


def midway(before_s: FloatArray, after_s: FloatArray) -> FloatArray:
    """Return the times since a strike, s, midway between two knots, from `since_strikes` (..., 2) at both of them.

    Where another strike comes nearer between them, the two count from different strikes: the earlier one stands.
    """
    return np.where(after_s < before_s, before_s, 0.5 * (before_s + after_s))


class Kinds(NamedTuple):
    """What stands at places in v: a number (R,) that both sides share, and the side, "" in the middle."""

    number: IntArray
    side: tuple[str, ...]


def kinds_of(model: SubjectModel, places: IntArray) -> Kinds:
    """Return the kinds of the coordinates at `places` (R,) in v; those of the root are a kind each."""
    named = {c.v_index: (c.plain, c.side) for c in (*model.coordinates, *model.assumed)}
    own = [named.get(at, (f"root {at}", "")) for at in places.tolist()]
    order = sorted({plain for plain, _ in own})
    return Kinds(np.array([order.index(plain) for plain, _ in own], dtype=np.int64), tuple(side for _, side in own))


def hundredths(since_s: FloatArray) -> FloatArray:
    """Return times since a strike in hundredths of a second since it is felt: from 0 to below `OF_A_STRIKE`."""
    return (since_s + _BEFORE_S) / FRAME_S


def alike(kinds: Kinds, since_s: FloatArray) -> IntArray:
    """Return labels (T, R): equal where the same kind is as long after a strike, since_s (T, 2) of `since_strikes`.

    Both sides count as one; what has no side has every strike for its own. The nearest known strike counts.
    """
    result = np.repeat((kinds.number * _OF_A_KIND)[None], len(since_s), axis=0)
    bins = np.round(hundredths(since_s))
    for column, (number, own) in enumerate(zip(kinds.number.tolist(), kinds.side, strict=True)):
        for side, at in zip(SIDES, bins.T, strict=True):
            near = (at >= 0) & (at < OF_A_STRIKE)
            first = 1 + (OF_A_STRIKE if own and own != side else 0)
            result[near, column] = number * _OF_A_KIND + first + at[near].astype(np.int64)
    return result


def shown_sizes(values: FloatArray, known: BoolArray, labels: IntArray, knot_s: float) -> FloatArray:
    """Return the root mean square (K, R) of values (K, R), a knot apart, among those with the same label (K, R).

    known: (K, R) those that count. Smoothed over a hundredth of a second; 0 where nothing is known.
    """
    squares = np.where(known, values**2, 0.0)
    count = np.bincount(labels.ravel(), weights=known.ravel().astype(np.float64))
    mean = np.bincount(labels.ravel(), weights=squares.ravel()) / np.maximum(count, 1.0)
    return np.asarray(np.sqrt(gaussian_filter1d(mean[labels], FRAME_S / knot_s, axis=0)))


def shown_changes(tau: FloatArray, known: BoolArray, labels: IntArray, knot_s: float) -> FloatArray:
    """Return the `shown_sizes` (K - 2, R) of the second differences of torques tau (K, R) at knots; known, labels: (K, R)."""
    own = known[:-2] & known[1:-1] & known[2:]
    return shown_sizes(np.diff(tau, 2, axis=0), own, labels[1:-1], knot_s)
