"""Exchanged labels between static trial and walk: detection by distances over time, and which recording is wrong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal

import numpy as np

from biodyn.conventions import BoolArray, FloatArray
from biodyn.model.from_library.recognition.swap_detection import exchange_gain
from biodyn.recording import Markers

# An exchange must improve the distances of both markers by this much on average, in frame after frame, ...
LEAST_GAIN_M = 0.02
# ... and leave at most this share of the misfit.
_REMAINING = 0.4
_LEAST_S = 0.05
# Neighbours that count for a marker; more only cost time. Those of its own segment suffice where there are enough.
_NEIGHBOURS = 6
_ENOUGH = 3
_FRAMES_A_SECOND = 50.0
_TRIED_AT_ONCE = 40_000  # pairs times frames: some megabytes


# Exchanged in this share of the frames in which it can be told: in all of them.
_ALWAYS = 0.9


@dataclass(frozen=True)
class TimedExchange:
    """Markers `one` and `other` carry each other's label in frames first to last (inclusive).

    It shows in `frames` of the `told` frames in which it could; in `as_labelled` of them the opposite shows as clearly. `gain_m`
    as `exchanges` counts it. `steadier_m`: by how much both trajectories jump less, summed over the frames where the exchange
    begins and ends; 0 where it has neither.
    """

    one: str
    other: str
    first: int
    last: int
    frames: int
    told: int
    gain_m: float
    as_labelled: int = 0
    steadier_m: float = 0.0


def exchanges(
    markers: Markers, static: Mapping[str, FloatArray], bodies: Mapping[str, str], parents: Mapping[str, str]
) -> list[TimedExchange]:
    """Find pairs that fit better exchanged, the clearest first; a marker is named once.

    A pelvis or a head is its own mirror image: distances cannot tell whether its front or its back markers are exchanged. Pairs
    whose trajectories would jump come last.
    """
    labels = [label for label in markers.labels if label in static and label in bodies]
    step = max(1, round(markers.rate_hz / _FRAMES_A_SECOND))
    p = markers.positions[::step][:, [markers.labels.index(label) for label in labels]]
    shape = np.stack([static[label] for label in labels]) if labels else np.zeros((0, 3))
    own = _distances(shape)
    near = _neighbours(labels, own, bodies, parents)
    # A marker whose distances fit takes part in no exchange.
    shortest = max(_LEAST_S * markers.rate_hz / step, 1.0)
    off = {i: _mean(np.abs(_apart(p[:, [i]], p[:, mine]) - own[i, mine])) for i, mine in enumerate(near) if mine}
    suspects = [i for i, one in off.items() if np.count_nonzero(one > LEAST_GAIN_M / 2) >= shortest]
    # Nothing is gained where both together are off by less; of neighbours it is not the same distances that tell.
    pairs = [
        (i, j)
        for i, j in combinations(suspects, 2)
        if i in near[j] or j in near[i] or np.any(off[i] + off[j] > 2.0 * LEAST_GAIN_M)
    ]
    found: list[TimedExchange] = []
    for i, j, gain, better in _tried(p, own, near, pairs):
        count = int(better.sum())
        longest = max((stop - first for first, stop in _stretches(better)), default=0)
        if longest * step >= _LEAST_S * markers.rate_hz:
            rows = np.flatnonzero(better) * step
            found.append(
                TimedExchange(
                    labels[i],
                    labels[j],
                    int(rows[0]),
                    int(rows[-1]),
                    count * step,
                    int(np.isfinite(gain).sum()) * step,
                    float(np.median(gain[better])),
                    int(np.count_nonzero(gain < -LEAST_GAIN_M)) * step,
                    _steadier(p[:, i], p[:, j], better),
                )
            )
    found.sort(key=lambda item: (item.steadier_m >= 0.0, item.frames * item.gain_m), reverse=True)
    named: set[str] = set()
    kept = []
    for item in found:
        if not named & {item.one, item.other}:
            kept.append(item)
            named |= {item.one, item.other}
    return kept


def _steadier(one: FloatArray, other: FloatArray, exchanged: BoolArray) -> float:
    """By how much (m) two trajectories (T, 3) jump less in sum where they are exchanged in some frames (T,)."""
    at = np.flatnonzero(np.diff(exchanged.astype(np.int8)))
    jumps = np.linalg.norm(one[at + 1] - one[at], axis=1) + np.linalg.norm(other[at + 1] - other[at], axis=1)
    across = np.linalg.norm(other[at + 1] - one[at], axis=1) + np.linalg.norm(one[at + 1] - other[at], axis=1)
    return float(np.nansum(jumps - across))


def _neighbours(
    labels: Sequence[str], own: FloatArray, bodies: Mapping[str, str], parents: Mapping[str, str]
) -> list[list[int]]:
    """For each marker the nearest ones (while standing) of its own segment, and of those beside it if they are few."""
    result = []
    for i, label in enumerate(labels):
        mine = bodies[label]
        same = [k for k, other in enumerate(labels) if k != i and bodies[other] == mine]
        beside = [
            k
            for k, other in enumerate(labels)
            if parents.get(mine) == bodies[other] or parents.get(bodies[other]) == mine
        ]
        chosen = sorted(same, key=lambda k: own[i, k])
        if len(same) < _ENOUGH:
            chosen += sorted(beside, key=lambda k: own[i, k])
        result.append(chosen[:_NEIGHBOURS])
    return result


def _tried(
    p: FloatArray, own: FloatArray, near: Sequence[Sequence[int]], pairs: Sequence[tuple[int, int]]
) -> Iterator[tuple[int, int, FloatArray, BoolArray]]:
    """Yield the pairs (i, j) that fit better exchanged in some frame: gain (T,) m and whether it is enough (T,).

    Many pairs are tried side by side: markers seen at p (T, M, 3), standing at the distances `own` (M, M) from each other.
    """
    neighbours = np.zeros((len(near), _NEIGHBOURS), dtype=np.int64)
    counts = np.zeros_like(neighbours, dtype=bool)
    for i, mine in enumerate(near):
        neighbours[i, : len(mine)] = mine
        counts[i, : len(mine)] = True
    at_once = max(1, _TRIED_AT_ONCE // max(1, len(p)))
    for first in range(0, len(pairs), at_once):
        chosen = np.array(pairs[first : first + at_once])
        as_labelled = np.zeros((len(p), len(chosen)))
        exchanged = np.zeros_like(as_labelled)
        for one, other in (chosen.T, chosen.T[::-1]):
            others = neighbours[one]  # (P, K)
            counted = counts[one] & (others != other[:, None])
            standing = own[one[:, None], others]
            as_labelled += _mean(np.abs(_apart(p[:, one, None], p[:, others]) - standing), counted)
            exchanged += _mean(np.abs(_apart(p[:, other, None], p[:, others]) - standing), counted)
        gain = 0.5 * (as_labelled - exchanged)
        better: BoolArray = np.asarray((gain > LEAST_GAIN_M) & (exchanged < _REMAINING * as_labelled))
        for k in np.flatnonzero(better.any(axis=0)):
            yield int(chosen[k, 0]), int(chosen[k, 1]), gain[:, k], better[:, k]


def _distances(points: FloatArray) -> FloatArray:
    """Distances (..., M, M) between points (..., M, 3)."""
    return _apart(points[..., :, None, :], points[..., None, :, :])


def _apart(one: FloatArray, other: FloatArray) -> FloatArray:
    """Distance (...) of points (..., 3) from others."""
    squared: FloatArray = np.square(one[..., 0] - other[..., 0])
    for axis in (1, 2):
        apart = one[..., axis] - other[..., axis]
        squared += np.square(apart, out=apart)
    return np.sqrt(squared, out=squared)


def _mean(values: FloatArray, counted: BoolArray | bool = True) -> FloatArray:
    """Mean over neighbours, the last axis, of those `counted` and seen; NaN where none is."""
    seen = np.isfinite(values) & counted
    total: FloatArray = np.where(seen, values, 0.0).sum(axis=-1)
    with np.errstate(invalid="ignore"):
        return total / np.where(seen.any(axis=-1), seen.sum(axis=-1), np.nan)


def mended(
    markers: Markers,
    found: TimedExchange,
    static: Mapping[str, FloatArray],
    bodies: Mapping[str, str],
    parents: Mapping[str, str],
) -> tuple[Markers, int]:
    """Exchange the two trajectories back where their distances are nearer to the static trial's; frames concerned.

    All frames, where that is so nearly whenever it can be told; else the stretches that hold a frame in which it is clear,
    to their ends.
    """
    labels = [label for label in markers.labels if label in static and label in bodies]
    shape = np.stack([static[label] for label in labels])
    own = _distances(shape)
    near = _neighbours(labels, own, bodies, parents)
    pair = labels.index(found.one), labels.index(found.other)
    used = sorted({*pair, *near[pair[0]], *near[pair[1]]})
    p = markers.positions[:, [markers.labels.index(labels[k]) for k in used]]
    at = {k: i for i, k in enumerate(used)}
    distance = _distances(p)
    as_labelled, exchanged = np.zeros(len(p)), np.zeros(len(p))
    for one, other in (pair, pair[::-1]):
        others = [k for k in near[one] if k != other]
        columns = [at[k] for k in others]
        as_labelled += _mean(np.abs(distance[:, at[one], columns] - own[one, others]))
        exchanged += _mean(np.abs(distance[:, at[other], columns] - own[one, others]))
    told = np.isfinite(as_labelled) & np.isfinite(exchanged)
    nearer = told & (exchanged < as_labelled)
    clear = nearer & (0.5 * (as_labelled - exchanged) > LEAST_GAIN_M) & (exchanged < _REMAINING * as_labelled)
    if clear.sum() >= _ALWAYS * max(told.sum(), 1):
        rows = np.ones(len(p), dtype=bool)
    else:
        rows = np.zeros(len(p), dtype=bool)
        for first, stop in _stretches(nearer | ~told):
            known = np.flatnonzero(nearer[first:stop])
            if clear[first:stop].any():
                rows[first + known[0] : first + known[-1] + 1] = True
    i, j = markers.index(found.one), markers.index(found.other)
    positions = markers.positions.copy()
    positions[rows, i], positions[rows, j] = markers.positions[rows, j], markers.positions[rows, i]
    return replace(markers, positions=positions), int(rows.sum())


def _stretches(mask: BoolArray) -> list[tuple[int, int]]:
    """Runs of True as (first, stop) pairs, stop exclusive."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], mask, [False])).astype(np.int8)))
    return [(int(first), int(stop)) for first, stop in edges.reshape(-1, 2)]


#: "either": both are on one segment, and whichever is exchanged back, the same comes out. "": it cannot be told.
Whose = Literal["walk", "static trial", "either", ""]

_FRAMES_OF_PAIR = 7  # of a walk that are asked about one pair
_LEAST_DIFFERENCE = 10.0  # of squared distances, between the two files' gains: which of them is wrong
_LEAST_NEARER_M = 0.05  # the same of the sum of both markers' distances from their segments
_ALWAYS_whose = 0.9  # of the frames in which it can be told: nothing speaks for the labels in the others


def whose_exchange(
    found: TimedExchange,
    standing: Mapping[str, FloatArray],
    walk: Markers,
    places: Mapping[str, str],
    bodies: Mapping[str, str],
) -> Whose:
    """Return whose an exchange between static trial and walk is.

    Parameters: `standing` (3,) m by label in the static trial; `places`: place of the labels that mark one; `bodies`: segment by
    label.

    Where the walk shows both orders, it is the walk's. Else the body must tell: in the middle one of some frames of the walk,
    since where feet pass each other either order makes a person. Two labels with places that fit the static trial worse were
    judged before: that is no news of the walk.
    """
    pair = found.one, found.other
    if found.as_labelled > (1.0 - _ALWAYS_whose) * found.told:
        return "walk"
    placed = set(pair) & set(places)
    if not placed and bodies[found.one] == bodies[found.other]:
        return "either"
    frames = [*frames_of(walk, places, pair, _FRAMES_OF_PAIR)]
    if placed:
        gain, gains = exchange_gain(standing, places, *pair), [exchange_gain(one, places, *pair) for one in frames]
        least = _LEAST_DIFFERENCE
    else:
        gain = _nearer_m(standing, places, bodies, *pair)
        gains = [_nearer_m(one, places, bodies, *pair) for one in frames]
        least = _LEAST_NEARER_M
    more = _difference(gain, [value for value in gains if np.isfinite(value)], alone=not placed)
    if more > least:
        return "walk"
    return "static trial" if more < -least and len(placed) < len(pair) else ""


def _difference(standing: float, walking: Sequence[float], alone: bool) -> float:
    """Gain of an exchange in the walk less that in the static trial; 0 where nothing tells it.

    `alone`: one of them may tell it by itself, for in one of both the labels are exchanged.
    """
    if walking and np.isfinite(standing):
        return float(np.median(walking)) - standing
    if not alone:
        return 0.0
    return float(np.median(walking)) if walking else -standing if np.isfinite(standing) else 0.0


def _nearer_m(
    points: Mapping[str, FloatArray], places: Mapping[str, str], bodies: Mapping[str, str], one: str, other: str
) -> float:
    """By how much both markers are nearer to their own segments exchanged, m; NaN where one has no marker with a place."""

    def apart(label: str, at: str) -> float:
        own = [points[near] for near in places if near in points and bodies.get(near) == bodies[label]]
        far = [float(np.linalg.norm(points[at] - point)) for point in own]
        return min((value for value in far if np.isfinite(value)), default=float("nan"))

    if not {one, other} <= set(points):
        return float("nan")
    return apart(one, one) + apart(other, other) - apart(one, other) - apart(other, one)


def frames_of(
    walk: Markers, places: Mapping[str, str], needed: Sequence[str], count: int
) -> Iterator[dict[str, FloatArray]]:
    """Points by label of some frames that show the `needed` ones and as many others with a place as any."""
    columns = [i for i, label in enumerate(walk.labels) if label in places]
    whole = np.isfinite(walk.positions[:, [walk.index(label) for label in needed], 0]).all(axis=1)
    seen = np.where(whole, np.isfinite(walk.positions[:, columns, 0]).sum(axis=1), 0)
    if not columns or not seen.any():
        return
    rows = np.flatnonzero(seen == seen.max())
    chosen = rows[np.linspace(0, len(rows) - 1, count + 2).round().astype(int)[1:-1]]
    for row in dict.fromkeys(int(row) for row in chosen):
        yield {walk.labels[i]: walk.positions[row, i] for i in dict.fromkeys((*columns, *map(walk.index, needed)))}
