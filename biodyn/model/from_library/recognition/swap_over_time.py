"""Labels swapped between static trial and walk: detection from marker distances over time, and which recording is wrong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal

import numpy as np

from biodyn.conventions import BoolArray, FloatArray
from biodyn.model.from_library.recognition.swap_detection import swap_gain
from biodyn.recording import Markers

# A swap must improve the distances of both markers by this amount on average, ...
LEAST_GAIN_M = 0.02
# ... leave at most this fraction of the misfit, ...
_REMAINING = 0.4
# ... and last for this time. If it is found in this fraction of the decidable frames, it is in all of them.
_LEAST_S = 0.05
_ALWAYS = 0.9
_NEIGHBOURS = 6  # largest number of neighbours per marker, which limits the computing time


@dataclass(frozen=True)
class TimedSwap:
    """Two markers with swapped labels in some frames.

    Attributes:
        first, second: labels. first_frame, last_frame: inclusive.
        frames: number of frames with the swap among the `decidable_frames`. unswapped_frames: frames with clearly correct
            labels.
        gain_m: improvement of the distances to neighbouring markers.
        jump_reduction_m: reduction of the jumps of both trajectories at the start and end of the swap; 0 if it has neither.
    """

    first: str
    second: str
    first_frame: int
    last_frame: int
    frames: int
    decidable_frames: int
    gain_m: float
    unswapped_frames: int = 0
    jump_reduction_m: float = 0.0


def swaps_over_time(
    markers: Markers, static: Mapping[str, FloatArray], bodies: Mapping[str, str], parents: Mapping[str, str]
) -> list[TimedSwap]:
    """Detect pairs of markers with labels swapped in some frames, sorted by the improvement of the marker distances.

    Each marker is in at most one pair. Distances cannot distinguish the front from the back of a pelvis or a head, so pairs
    whose swap increases the jumps of the trajectories come last.

    Args: `static` (3,) m by label; `bodies` segment by label; `parents` parent of each segment.
    """
    labels = [label for label in markers.labels if label in static and label in bodies]
    step = max(1, round(markers.rate_hz / 50.0))  # 50 frames per second are sufficient
    p = markers.positions[::step][:, [markers.labels.index(label) for label in labels]]
    points = np.stack([static[label] for label in labels]) if labels else np.zeros((0, 3))
    static_distance = _pairwise_distances(points)
    neighbours = _neighbouring_markers(labels, static_distance, bodies, parents)
    shortest = max(_LEAST_S * markers.rate_hz / step, 1.0)
    misfit = {
        i: _masked_mean(np.abs(_point_distances(p[:, [i]], p[:, near]) - static_distance[i, near]))
        for i, near in enumerate(neighbours)
        if near
    }
    # A marker with correct distances is not swapped, nor are two markers whose total error is less than the gain.
    suspects = [i for i, values in misfit.items() if np.count_nonzero(values > LEAST_GAIN_M / 2) >= shortest]
    pairs = [
        (i, j)
        for i, j in combinations(suspects, 2)
        if i in neighbours[j] or j in neighbours[i] or np.any(misfit[i] + misfit[j] > 2.0 * LEAST_GAIN_M)
    ]
    swaps: list[TimedSwap] = []
    for i, j, gain, is_better in _pair_gains(p, static_distance, neighbours, pairs):
        longest = max((stop - first for first, stop in _true_runs(is_better)), default=0)
        if longest * step >= _LEAST_S * markers.rate_hz:
            rows = np.flatnonzero(is_better) * step
            swaps.append(
                TimedSwap(
                    labels[i],
                    labels[j],
                    int(rows[0]),
                    int(rows[-1]),
                    len(rows) * step,
                    int(np.isfinite(gain).sum()) * step,
                    float(np.median(gain[is_better])),
                    int(np.count_nonzero(gain < -LEAST_GAIN_M)) * step,
                    _jump_reduction(p[:, i], p[:, j], is_better),
                )
            )
    swaps.sort(key=lambda swap: (swap.jump_reduction_m >= 0.0, swap.frames * swap.gain_m), reverse=True)
    used: set[str] = set()
    clearest = []
    for swap in swaps:
        if not used & {swap.first, swap.second}:
            clearest.append(swap)
            used |= {swap.first, swap.second}
    return clearest


def _jump_reduction(p: FloatArray, q: FloatArray, swapped: BoolArray) -> float:
    """Return by how much (m) the jumps of two trajectories (T, 3) m decrease if they are swapped in the frames `swapped` (T,)."""
    at = np.flatnonzero(np.diff(swapped.astype(np.int8)))
    jumps = np.linalg.norm(p[at + 1] - p[at], axis=1) + np.linalg.norm(q[at + 1] - q[at], axis=1)
    across = np.linalg.norm(q[at + 1] - p[at], axis=1) + np.linalg.norm(p[at + 1] - q[at], axis=1)
    return float(np.nansum(jumps - across))


def _neighbouring_markers(
    labels: Sequence[str], static_distance: FloatArray, bodies: Mapping[str, str], parents: Mapping[str, str]
) -> list[list[int]]:
    """Return for each marker the nearest markers of its segment, and of adjacent segments if its segment has fewer than
    three."""
    result = []
    for i, label in enumerate(labels):
        body = bodies[label]
        same = [k for k, other in enumerate(labels) if k != i and bodies[other] == body]
        adjacent = [
            k
            for k, other in enumerate(labels)
            if parents.get(body) == bodies[other] or parents.get(bodies[other]) == body
        ]
        chosen = sorted(same, key=lambda k: static_distance[i, k])
        if len(same) < 3:
            chosen += sorted(adjacent, key=lambda k: static_distance[i, k])
        result.append(chosen[:_NEIGHBOURS])
    return result


def _pair_gains(
    p: FloatArray, static_distance: FloatArray, neighbours: Sequence[Sequence[int]], pairs: Sequence[tuple[int, int]]
) -> Iterator[tuple[int, int, FloatArray, BoolArray]]:
    """Yield the pairs (i, j) of markers that agree better with the distances to their neighbours if swapped in some frame.

    Each comes with the improvement (T,) m and a mask (T,) of the frames in which it is sufficient. p: (T, M, 3) m;
    static_distance: (M, M) m in the static trial.
    """
    columns = np.zeros((len(neighbours), _NEIGHBOURS), dtype=np.int64)
    is_used = np.zeros_like(columns, dtype=bool)
    for i, near in enumerate(neighbours):
        columns[i, : len(near)] = near
        is_used[i, : len(near)] = True
    batch = max(1, 40_000 // max(1, len(p)))  # number of pairs times frames processed at once (some megabytes)
    for start in range(0, len(pairs), batch):
        chosen = np.array(pairs[start : start + batch])
        misfit = np.zeros((len(p), len(chosen)))
        swapped_misfit = np.zeros_like(misfit)
        for first, second in (chosen.T, chosen.T[::-1]):
            near = columns[first]  # (P, K)
            counted = is_used[first] & (near != second[:, None])
            static = static_distance[first[:, None], near]
            misfit += _masked_mean(np.abs(_point_distances(p[:, first, None], p[:, near]) - static), counted)
            swapped_misfit += _masked_mean(np.abs(_point_distances(p[:, second, None], p[:, near]) - static), counted)
        gain = 0.5 * (misfit - swapped_misfit)
        is_better: BoolArray = np.asarray((gain > LEAST_GAIN_M) & (swapped_misfit < _REMAINING * misfit))
        for k in np.flatnonzero(is_better.any(axis=0)):
            yield int(chosen[k, 0]), int(chosen[k, 1]), gain[:, k], is_better[:, k]


def _pairwise_distances(points: FloatArray) -> FloatArray:
    """Return the distances (..., M, M) between points (..., M, 3)."""
    return _point_distances(points[..., :, None, :], points[..., None, :, :])


def _point_distances(p: FloatArray, q: FloatArray) -> FloatArray:
    """Return the distances (...) m between points p and q (..., 3)."""
    squared: FloatArray = np.square(p[..., 0] - q[..., 0])
    for axis in (1, 2):
        difference = p[..., axis] - q[..., axis]
        squared += np.square(difference, out=difference)
    return np.sqrt(squared, out=squared)


def _masked_mean(values: FloatArray, counted: BoolArray | bool = True) -> FloatArray:
    """Return the mean over the last axis of the finite values that are `counted`; NaN if none."""
    seen = np.isfinite(values) & counted
    total: FloatArray = np.where(seen, values, 0.0).sum(axis=-1)
    with np.errstate(invalid="ignore"):
        return total / np.where(seen.any(axis=-1), seen.sum(axis=-1), np.nan)


def undo_swap(
    markers: Markers,
    swap: TimedSwap,
    static: Mapping[str, FloatArray],
    bodies: Mapping[str, str],
    parents: Mapping[str, str],
) -> tuple[Markers, int]:
    """Swap the two trajectories back in the frames with the swap; return the markers and the number of frames.

    All frames are corrected if nearly all decidable frames have the swap, else each stretch that contains a clear frame.
    """
    labels = [label for label in markers.labels if label in static and label in bodies]
    static_distance = _pairwise_distances(np.stack([static[label] for label in labels]))
    neighbours = _neighbouring_markers(labels, static_distance, bodies, parents)
    pair = labels.index(swap.first), labels.index(swap.second)
    p = markers.positions[:, [markers.labels.index(label) for label in labels]]
    misfit, swapped_misfit = np.zeros(markers.frame_count), np.zeros(markers.frame_count)
    for label, other in (pair, pair[::-1]):
        near = [k for k in neighbours[label] if k != other]
        static_to = static_distance[label, near]
        misfit += _masked_mean(np.abs(_point_distances(p[:, [label]], p[:, near]) - static_to))
        swapped_misfit += _masked_mean(np.abs(_point_distances(p[:, [other]], p[:, near]) - static_to))
    is_decidable = np.isfinite(misfit) & np.isfinite(swapped_misfit)
    is_nearer = is_decidable & (swapped_misfit < misfit)
    is_clear = is_nearer & (0.5 * (misfit - swapped_misfit) > LEAST_GAIN_M) & (swapped_misfit < _REMAINING * misfit)
    if is_clear.sum() >= _ALWAYS * max(is_decidable.sum(), 1):
        rows = np.ones(len(misfit), dtype=bool)
    else:
        rows = np.zeros(len(misfit), dtype=bool)
        for first, stop in _true_runs(is_nearer | ~is_decidable):
            nearer = np.flatnonzero(is_nearer[first:stop])
            if is_clear[first:stop].any():
                rows[first + nearer[0] : first + nearer[-1] + 1] = True
    i, j = markers.index(swap.first), markers.index(swap.second)
    positions = markers.positions.copy()
    positions[rows, i], positions[rows, j] = markers.positions[rows, j], markers.positions[rows, i]
    return replace(markers, positions=positions), int(rows.sum())


def _true_runs(mask: BoolArray) -> list[tuple[int, int]]:
    """Return the runs of True as (first, stop) pairs, stop exclusive."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], mask, [False])).astype(np.int8)))
    return [(int(first), int(stop)) for first, stop in edges.reshape(-1, 2)]


#: "either": both markers are on one segment, and correcting either recording gives the same result. "": undecided.
SwappedRecording = Literal["walk", "static trial", "either", ""]


def swapped_recording(
    swap: TimedSwap,
    static: Mapping[str, FloatArray],
    walk: Markers,
    places: Mapping[str, str],
    bodies: Mapping[str, str],
) -> SwappedRecording:
    """Return which recording has the swapped labels.

    It is the walk if the order is correct in some of its frames. Otherwise the median gain of seven of its frames is compared
    with the gain in the static trial; the difference must be 10 (squared Mahalanobis distance), or 0.05 m for markers without
    place. Two labels with places were already compared with the body in the static trial.

    Args: `static` (3,) m by label; `places` and `bodies` place and segment by label.
    """
    pair = swap.first, swap.second
    if swap.unswapped_frames > (1.0 - _ALWAYS) * swap.decidable_frames:
        return "walk"
    placed = set(pair) & set(places)
    if not placed and bodies[swap.first] == bodies[swap.second]:
        return "either"
    frames = [*representative_frames(walk, places, pair, 7)]
    if placed:
        least = 10.0
        static_gain, gains = swap_gain(static, places, *pair), [swap_gain(frame, places, *pair) for frame in frames]
    else:
        least = 0.05
        static_gain = _distance_reduction_by_swap_m(static, places, bodies, *pair)
        gains = [_distance_reduction_by_swap_m(frame, places, bodies, *pair) for frame in frames]
    gains = [gain for gain in gains if np.isfinite(gain)]
    difference = 0.0
    if gains and np.isfinite(static_gain):
        difference = float(np.median(gains)) - static_gain
    elif not placed:  # one recording is sufficient, because the labels are swapped in one of the two
        difference = float(np.median(gains)) if gains else -static_gain if np.isfinite(static_gain) else 0.0
    if difference > least:
        return "walk"
    return "static trial" if difference < -least and len(placed) < len(pair) else ""


def _distance_reduction_by_swap_m(
    points: Mapping[str, FloatArray], places: Mapping[str, str], bodies: Mapping[str, str], first: str, second: str
) -> float:
    """Return the decrease (m) of the distances of two markers to their segments by a swap; NaN without other markers there."""

    def nearest_distance(label: str, at: str) -> float:
        on_segment = [points[near] for near in places if near in points and bodies.get(near) == bodies[label]]
        distances = [float(np.linalg.norm(points[at] - point)) for point in on_segment]
        return min((value for value in distances if np.isfinite(value)), default=float("nan"))

    if not {first, second} <= set(points):
        return float("nan")
    return (
        nearest_distance(first, first)
        + nearest_distance(second, second)
        - nearest_distance(first, second)
        - nearest_distance(second, first)
    )


def representative_frames(
    walk: Markers, places: Mapping[str, str], needed: Sequence[str], count: int
) -> Iterator[dict[str, FloatArray]]:
    """Yield points by label of `count` frames with the `needed` labels and the largest number of labels with a place."""
    columns = [i for i, label in enumerate(walk.labels) if label in places]
    complete = np.isfinite(walk.positions[:, [walk.index(label) for label in needed], 0]).all(axis=1)
    seen = np.where(complete, np.isfinite(walk.positions[:, columns, 0]).sum(axis=1), 0)
    if not columns or not seen.any():
        return
    rows = np.flatnonzero(seen == seen.max())
    chosen = rows[np.linspace(0, len(rows) - 1, count + 2).round().astype(int)[1:-1]]
    for row in dict.fromkeys(int(row) for row in chosen):
        yield {walk.labels[i]: walk.positions[row, i] for i in dict.fromkeys((*columns, *map(walk.index, needed)))}
