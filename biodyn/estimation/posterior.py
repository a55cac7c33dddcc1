"""How certain the estimate is: standard deviations of angles and torques from the inverse of its normal equations.

The inverse itself is full; its blocks near the diagonal, all that a frame's angles and torques ask for, follow from the Cholesky
factor, from what was eliminated last backwards (Takahashi 1973; for bands Asif & Moura 2005, doi 10.1109/TSP.2004.842192). The
frames are eliminated from both ends (`halves`), so the inverse is found from the middle outwards. Its blocks give the covariance
of place, rate and acceleration in a frame, and that the variance of what depends on them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from biodyn.conventions import FloatArray, IntArray
from biodyn.estimation.banded import Factor
from biodyn.estimation.halves import Half
from biodyn.estimation.problem import Problem
from biodyn.kernels import panels as kernels
from biodyn.kernels.lanes import WIDTH
from biodyn.threads import side_by_side


@dataclass(frozen=True)
class Posterior:
    """One standard deviation (T, nv) of the places along v, rad or m, and of the generalised forces, Nm or N."""

    place: FloatArray
    force: FloatArray


def posterior(problem: Problem, factor: Factor, parts: tuple[FloatArray, FloatArray, FloatArray]) -> Posterior:
    """Return how certain the motion and its torques are, given the inertias.

    parts: derivatives (T, nv, nv) of the torques by place, rate and acceleration where the equations were made.
    """
    step, n, frames = problem.knots.step, factor.n, len(parts[0])
    of_offset = [np.zeros((len(parts), factor.reach)) for _ in range(step)]
    for own, weights in zip(of_offset, np.stack(problem.knots.weights, axis=1), strict=True):
        own[:, : weights.shape[1]] = weights
    place, force = np.zeros((frames, n)), np.zeros((frames, n))
    by_motion = [part.reshape(frames, n * n) for part in parts]

    def fill(windows: Iterator[Window]) -> None:
        work: FloatArray | None = None
        for window in windows:
            across, k = window.near.shape[1], window.first
            work = np.empty(kernels.variances_work(n, across)) if work is None else work
            for t, weights in enumerate(of_offset[: max(frames - k * step, 0)], k * step):
                own = np.ascontiguousarray(weights[:, window.order])
                by_order = [part[t] for part in by_motion]
                near = window.near.ravel()
                kernels.variances(near, n, factor.reach, across, own, *by_order, place[t], force[t], work)

    side_by_side(*(partial(fill, windows) for windows in inverse_windows(factor)))
    return Posterior(np.sqrt(np.maximum(place, 0.0)), np.sqrt(np.maximum(force, 0.0)))


@dataclass(frozen=True)
class Window:
    """The inverse over the blocks first .. first + reach - 1.

    Attributes:
        order: (reach,) which block, counted from the first, stands at each place of `near`.
        near: (reach n, reach n) and zeros, for sums run over whole Lanes; a ring that is used again for the next window.
    """

    first: int
    order: IntArray
    near: FloatArray


def inverse_windows(factor: Factor) -> tuple[Iterator[Window], Iterator[Window]]:
    """Return the windows of all `reach` blocks in a row, at least that many: from the middle to the first, and to the last.

    A window's inverse follows from the one nearer to the middle and from the factor.
    """
    first, second = factor.halves
    n, reach, _ = first.shape
    across = reach * n + 2 * WIDTH
    ring = np.zeros((reach * n, across - across % WIDTH))
    for k in range(len(first.panels) - 1, first.own - 1, -1):
        _next_window(first, k, ring, np.empty(kernels.inverse_work(n, reach, ring.shape[1])))
    return _outwards(first, ring, first.own), _outwards(second, _turned(first, second, ring), second.own - 1)


def _turned(first: Half, second: Half, ring: FloatArray) -> FloatArray:
    """The ring over the blocks between both halves as the second one counts them."""
    n, reach, _ = first.shape
    there = np.arange(reach)
    of_first, of_second = (first.own + there) % reach, (second.own + reach - 1 - there) % reach
    whole, result = ring[:, : reach * n].reshape(reach, n, reach, n), np.zeros_like(ring)
    turned = np.empty_like(whole)
    turned[of_second[:, None], :, of_second] = whole[of_first[:, None], :, of_first]
    result[:, : reach * n] = turned.reshape(reach * n, -1)
    return result


def _outwards(half: Half, ring: FloatArray, begin: int) -> Iterator[Window]:
    """The windows from block `begin` of a half to its end of the time; `ring` is that of the blocks own .. own + reach - 1."""
    n, reach, _ = half.shape
    places, work = np.arange(reach), np.empty(kernels.inverse_work(n, reach, ring.shape[1]))
    for k in range(begin, -1, -1):
        if k < half.own:
            _next_window(half, k, ring, work)
        order = (places - k) % reach
        if half.backwards:
            yield Window(half.frames - k - reach, reach - 1 - order, ring)
        else:
            yield Window(k, order, ring)


def _next_window(half: Half, k: int, ring: FloatArray, work: FloatArray) -> None:
    kernels.inverse_block(half.panels.ravel(), *half.shape, k, ring.ravel(), ring.shape[1], work)
