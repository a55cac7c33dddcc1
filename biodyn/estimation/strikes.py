"""How fast torques and motion change about foot strikes, as the trial itself shows it.

Muscles meet the ground with bursts: within a tenth of a second of a strike the torques of hip, knee and trunk bend five to ten
times as much as in the rest of the stride. One limit for the whole stride flattens them. So a first step of the estimate leaves
motion and torques nearly free at a strike. A person's strikes are alike, and what that step shows at the same time after all of
them, of both sides, tells the limits of the next one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.ndimage import gaussian_filter1d

from biodyn.conventions import SIDES, BoolArray, FloatArray, IntArray, Side
from biodyn.estimation.sizes import FRAME_S
from biodyn.model.body_model import SubjectModel
from biodyn.processing.gait.events import plate_events
from biodyn.recording import Contact

# A strike is felt from before it, muscles expect it, until the forefoot is down; s.
_BEFORE_S, _AFTER_S = 0.08, 0.15
# The burst itself: heel and shank are stopped, and muscles meet it, within some hundredths of a second.
_BURST_S = 0.04
#: So many hundredths of a second a strike lasts.
OF_A_STRIKE = round((_BEFORE_S + _AFTER_S) / FRAME_S) + 1
# Of each kind: the rest of the stride, then times after a strike of its own side, then after one of the other side.
_OF_A_KIND = 1 + 2 * OF_A_STRIKE
# Known frames that sum to less than this share of one tell little, and nothing in the limit of none.
_LEAST_SHARE = 1e-3


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


def at_strikes(since_s: FloatArray) -> FloatArray:
    """Return how near each time (T,) is to a strike of either side, 1 at it and 0 beyond `_BURST_S`; since_s: (T, 2)."""
    away = np.minimum(np.abs(since_s).min(axis=1), _BURST_S)
    return np.asarray(np.cos(0.5 * np.pi * away / _BURST_S) ** 2)


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


@dataclass(frozen=True)
class Shares:
    """What values (K, R) at knots are made of, by the time after strikes: a linear map from P numbers.

    Attributes:
        at, of, weight: (N,) places in the flat values, the number that each is made of, and its weight.
        shape: (K, R). count: P.
    """

    at: IntArray
    of: IntArray
    weight: FloatArray
    shape: tuple[int, int]
    count: int

    def values(self, numbers: FloatArray) -> FloatArray:
        """Return the values (K, R) that the numbers (P,) stand for; 0 where no number has a share."""
        parts = self.weight * numbers[self.of]
        flat = np.bincount(self.at, weights=parts, minlength=self.shape[0] * self.shape[1])
        return np.asarray(flat.reshape(self.shape), dtype=np.float64)

    def gathered(self, values: FloatArray) -> FloatArray:
        """Return the transposed of `values`: the numbers (P,) that values (K, R) pull at."""
        return self._summed(self.weight * values.ravel()[self.at])

    def squares(self, values: FloatArray) -> FloatArray:
        """Return the sums (P,) of the squares of all weights on a number, each times its value (K, R)."""
        return self._summed(self.weight**2 * values.ravel()[self.at])

    def _summed(self, parts: FloatArray) -> FloatArray:
        return np.asarray(np.bincount(self.of, weights=parts, minlength=self.count), dtype=np.float64)


def near_strikes(since_s: FloatArray) -> Iterator[tuple[Side, IntArray, IntArray, FloatArray]]:
    """Yield a side, frames (N,), hundredths of a second (N,) since a strike of it is felt, and the frames' shares (N,) of them.

    since_s: (T, 2) of `since_strikes`. A frame belongs to the two hundredths beside it, the more the nearer, and less than wholly
    beyond the first and the last one; near strikes of both sides to both. So nothing jumps where a time differs in its last bits.
    """
    felt = (since_s + _BEFORE_S) / FRAME_S
    within = np.clip(np.minimum(felt + 1.0, OF_A_STRIKE - felt), 0.0, 1.0)
    both = np.maximum(within.sum(axis=1), 1.0)
    for side, own in zip(SIDES, felt.T, strict=True):
        near = np.flatnonzero((own > -1.0) & (own < OF_A_STRIKE))
        before = np.floor(own[near]).astype(np.int64)
        late = own[near] - before
        for at, share in ((before, 1.0 - late), (before + 1, late)):
            inside = (at >= 0) & (at < OF_A_STRIKE) & (share > 0.0)
            yield side, near[inside], at[inside], (share / both[near])[inside]


def struck(
    kinds: Kinds, since_s: FloatArray, first: IntArray, middle: Side | None = None
) -> tuple[IntArray, IntArray, FloatArray]:
    """Return what `Shares` of values (T, R) strikes have, since_s (T, 2): places, numbers and weights (N,).

    first: (R,) number of the first hundredth of a strike of a value's own side; those of the other side follow. middle: the side
    that what has none counts as its own; None = both, as one.
    """
    flat = np.arange(since_s.shape[0] * len(kinds.side)).reshape(-1, len(kinds.side))
    parts = []
    for side, frames, hundredth, share in near_strikes(since_s):
        other = np.array([OF_A_STRIKE if (own or middle or side) != side else 0 for own in kinds.side], dtype=np.int64)
        at = flat[frames]
        parts.append((at, first + other + hundredth[:, None], np.broadcast_to(share[:, None], at.shape)))
    at, of, weight = (np.concatenate([part[i].ravel() for part in parts]) for i in range(3))
    return at, of, weight


def alike(kinds: Kinds, since_s: FloatArray) -> Shares:
    """Return the shares of values (T, R) in what is alike: the same kind, as long after a strike; since_s (T, 2).

    Both sides count as one; what has no side has every strike for its own. The nearest known strike counts. Shares of a value
    sum to 1: what no strike has of it is the rest of the stride.
    """
    shape, first = (len(since_s), len(kinds.side)), kinds.number * _OF_A_KIND
    at, of, weight = struck(kinds, since_s, first + 1)
    every = np.arange(shape[0] * shape[1])
    rest = np.maximum(1.0 - np.bincount(at, weights=weight, minlength=len(every)), 0.0)
    return Shares(
        np.concatenate([at, every]),
        np.concatenate([of, np.tile(first, shape[0])]),
        np.concatenate([weight, rest]),
        shape,
        _OF_A_KIND * (1 + int(kinds.number.max(initial=-1))),
    )


def shown_sizes(values: FloatArray, known: BoolArray, shares: Shares, knot_s: float) -> FloatArray:
    """Return the root mean square (K, R) of values (K, R), a knot apart, among those that are `alike`.

    known: (K, R) those that count. Smoothed over a hundredth of a second; 0 where nothing is known.
    """
    squares = shares.gathered(np.where(known, values**2, 0.0))
    mean = squares / np.maximum(shares.gathered(known.astype(np.float64)), _LEAST_SHARE)
    return np.asarray(np.sqrt(gaussian_filter1d(shares.values(mean), FRAME_S / knot_s, axis=0)))


def shown_changes(tau: FloatArray, known: BoolArray, shares: Shares, knot_s: float) -> FloatArray:
    """Return the `shown_sizes` (K - 2, R) of the second differences of torques tau (K, R) at knots; known: (K, R).

    shares: of the knots between the first and the last one.
    """
    own = known[:-2] & known[1:-1] & known[2:]
    return shown_sizes(np.diff(tau, 2, axis=0), own, shares, knot_s)
