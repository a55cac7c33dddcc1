"""How certain the estimate is: standard deviations of angles and torques from the inverse of its normal equations.

The inverse itself is full; its blocks near the diagonal, all that a frame's angles and torques ask for, follow from the Cholesky
factor from the last frame backwards (Takahashi 1973; for bands Asif & Moura 2005, doi 10.1109/TSP.2004.842192). They give the
covariance of place, rate and acceleration in a frame, and that the variance of what depends on them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.estimation.banded import Factor
from biodyn.estimation.problem import Problem
from biodyn.kernels import panels as kernels
from biodyn.kernels.lanes import WIDTH


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
    places = np.arange(factor.reach)
    of_offset = [np.zeros((len(parts), factor.reach)) for _ in range(step)]
    for own, weights in zip(of_offset, np.stack(problem.knots.weights, axis=1), strict=True):
        own[:, : weights.shape[1]] = weights
    place, force = np.zeros((frames, n)), np.zeros((frames, n))
    by_motion = [part.reshape(frames, n * n) for part in parts]
    work: FloatArray | None = None
    for k, near in inverse_blocks(factor):
        across = near.shape[1]
        work = np.empty(kernels.variances_work(n, across)) if work is None else work
        order = (places - k) % factor.reach  # which coefficient from the k-th on stands at each place of the ring
        for t, weights in enumerate(of_offset[: max(frames - k * step, 0)], k * step):
            own = np.ascontiguousarray(weights[:, order])
            by_order = [part[t] for part in by_motion]
            kernels.variances(near.ravel(), n, factor.reach, across, own, *by_order, place[t], force[t], work)
    return Posterior(np.sqrt(np.maximum(place, 0.0)), np.sqrt(np.maximum(force, 0.0)))


def inverse_blocks(factor: Factor) -> Iterator[tuple[int, FloatArray]]:
    """Yield for each block k, the last first, the inverse over the blocks k .. k + reach - 1, (reach n, reach n) and zeros.

    The array is a ring that is used again for the next: block j stands at the place j % reach. Blocks beyond the end are zero,
    and so are columns beyond reach n, for sums run over whole Lanes.
    """
    n, reach = factor.n, factor.reach
    across = reach * n + 2 * WIDTH
    ring = np.zeros((reach * n, across - across % WIDTH))
    work = np.empty(kernels.inverse_work(n, reach, ring.shape[1]))
    for k in range(factor.frames - 1, -1, -1):
        kernels.inverse_block(factor.panels, n, reach, factor.stride, k, ring.ravel(), ring.shape[1], work)
        yield k, ring
