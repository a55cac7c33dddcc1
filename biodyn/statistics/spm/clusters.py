"""Stretches of a field above a threshold: where they begin and end, how wide and how large they are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.integrate import trapezoid

from biodyn.conventions import FloatArray
from biodyn.statistics.spm.curves import runs


@dataclass(frozen=True)
class Stretch:
    """One stretch above (sign 1) or below minus (sign -1) the threshold. Positions in nodes, from 0, interpolated.

    Attributes:
        start, end: where the field crosses the threshold; `end` < `start` in a stretch across the end of a cycle.
        extent: width in nodes.
        mass: area between field and threshold.
        peak, peak_node: the most extreme value and where it is.
        sign: 1 above, -1 below.
    """

    start: float
    end: float
    extent: float
    mass: float
    peak: float
    peak_node: int
    sign: int


def stretches(z: FloatArray, threshold: float, two_tailed: bool, circular: bool) -> tuple[Stretch, ...]:
    """Return the stretches of a field z (Q,) beyond the threshold, in order of their start; NaN is never beyond.

    With `circular` the two stretches that touch the first and the last node are one (both nodes are the same instant).
    """
    found = _one_sided(z, threshold, 1, circular) + (_one_sided(-z, threshold, -1, circular) if two_tailed else [])
    return tuple(sorted(found, key=lambda stretch: stretch.start))


def _one_sided(z: FloatArray, threshold: float, sign: int, circular: bool) -> list[Stretch]:
    excess = z - threshold
    found = []
    for first, last in runs(excess > 0.0):
        start = first - _overhang(excess, first, -1)
        end = last + _overhang(excess, last, 1)
        peak_node = first + int(np.argmax(excess[first : last + 1]))
        inside = np.concatenate([[0.0], excess[first : last + 1], [0.0]])
        at = np.concatenate([[start], np.arange(first, last + 1), [end]])
        mass = float(trapezoid(inside, at))
        found.append(Stretch(start, end, end - start, mass, sign * float(z[peak_node]), peak_node, sign))
    if circular and len(found) > 1 and found[0].start == 0.0 and found[-1].end == len(z) - 1.0:
        head, tail = found[0], found[-1]
        peak = max(head, tail, key=lambda stretch: abs(stretch.peak))
        joined = Stretch(
            tail.start, head.end, head.extent + tail.extent, head.mass + tail.mass, peak.peak, peak.peak_node, sign
        )
        found = [*found[1:-1], joined]
    return found


def _overhang(excess: FloatArray, node: int, step: int) -> float:
    """How far beyond its last node a stretch reaches: to the interpolated crossing, or not at all at an edge."""
    beyond = node + step
    if not 0 <= beyond < len(excess) or not np.isfinite(excess[beyond]):
        return 0.0
    return float(excess[node] / (excess[node] - excess[beyond]))


def largest_stretch(
    fields: FloatArray, gaps: FloatArray, threshold: float, two_tailed: bool, circular: bool
) -> tuple[FloatArray, FloatArray]:
    """Return mass and extent (N,) of the largest stretch of each field (N, nodes), zero where nothing is beyond.

    The same measures as `stretches`, for thousands of fields at once.

    Parameters: `gaps` (nodes - 1,) is 1 between neighbouring nodes of the curves, 0 where masked nodes lie between.
    """
    mass, extent = _largest_one_sided(fields - threshold, gaps, circular)
    if two_tailed:
        below = _largest_one_sided(-fields - threshold, gaps, circular)
        mass, extent = np.maximum(mass, below[0]), np.maximum(extent, below[1])
    return mass, extent


def _largest_one_sided(excess: FloatArray, gaps: FloatArray, circular: bool) -> tuple[FloatArray, FloatArray]:
    mass, extent = np.zeros(len(excess)), np.zeros(len(excess))
    concerned = np.flatnonzero(excess.max(axis=1) > 0.0)
    if concerned.size == 0:
        return mass, extent
    part = excess[concerned]
    above = part > 0.0
    a, b = part[:, :-1], part[:, 1:]
    both, either = above[:, :-1] & above[:, 1:], above[:, :-1] | above[:, 1:]
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(both, 1.0, np.where(either, np.maximum(a, b) / np.abs(a - b), 0.0)) * gaps
    area = share * np.where(both, 0.5 * (a + b), 0.5 * np.maximum(a, b))
    # every step belongs to the stretch of its nodes above; the step between two such nodes is shared in halves
    half = np.where(both, 0.5, 1.0)
    broken = gaps == 0.0
    for measure, result in ((area, mass), (share, extent)):
        weights = np.zeros(part.shape)
        weights[:, :-1] += half * measure * above[:, :-1]
        weights[:, 1:] += half * measure * above[:, 1:]
        result[concerned] = _largest_sum(weights, above, broken, circular)
    return mass, extent


def _largest_sum(weights: FloatArray, above: np.ndarray, broken: np.ndarray, circular: bool) -> FloatArray:
    """Largest sum of weights (n, nodes) over an unbroken run of `above`, a row at a time."""
    n, nodes = weights.shape
    begins = above.copy()
    begins[:, 1:] &= ~above[:, :-1] | broken
    number = np.cumsum(begins.reshape(-1)) - 1  # of the run each node above belongs to, over all rows
    flat = above.reshape(-1)
    sums = np.bincount(number[flat], weights=weights.reshape(-1)[flat])
    if circular:
        number = number.reshape(n, nodes)
        ends = np.flatnonzero(above[:, 0] & above[:, -1] & (number[:, 0] != number[:, -1]))
        sums[number[ends, -1]] += sums[number[ends, 0]]
    row = np.repeat(np.arange(n), nodes)[flat]
    largest = np.zeros(n)
    np.maximum.at(largest, row, sums[number.reshape(-1)[flat]])
    return largest
