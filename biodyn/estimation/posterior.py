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
    by_motion = np.empty((n, len(parts), n))
    flat = by_motion.reshape(n, -1)
    for k, near in inverse_blocks(factor):
        order = (places - k) % factor.reach  # which coefficient from the k-th on stands at each place of the ring
        for t, weights in enumerate(of_offset[: max(frames - k * step, 0)], k * step):
            of_motion = _of_motion(near, weights[:, order])
            place[t] = of_motion.diagonal()[:n]
            for column, part in enumerate(parts):
                by_motion[:, column] = part[t]
            force[t] = np.einsum("ij,ij->i", flat @ of_motion, flat)
    return Posterior(np.sqrt(np.maximum(place, 0.0)), np.sqrt(np.maximum(force, 0.0)))


def _of_motion(near: FloatArray, weights: FloatArray) -> FloatArray:
    """Covariance (3 n, 3 n) of place, rate and acceleration with weights (3, W) on W blocks of n of covariance `near`."""
    width = weights.shape[1]
    rows = (weights @ near.reshape(width, -1)).reshape(-1, width, len(near) // width)
    return np.asarray((weights @ rows).reshape(len(rows), len(rows)))


def inverse_blocks(factor: Factor) -> Iterator[tuple[int, FloatArray]]:
    """Yield for each block k, the last first, the inverse over the blocks k .. k + reach - 1, (reach n, reach n).

    The array is a ring that is used again for the next: block j stands at the place j % reach. Blocks beyond the end are zero.
    """
    n, reach = factor.n, factor.reach
    ring, turned = np.zeros((reach * n, reach * n)), np.empty((reach * n, n), order="F")
    for k in range(factor.frames - 1, -1, -1):
        inverse, panel = factor.inverses[k], factor.panels[k, n:]
        first = (k + 1) % reach * n  # the place of the next block
        turned[first:], turned[:first] = panel[: len(ring) - first], panel[len(ring) - first :]
        below = turned @ inverse
        crossed = below.T @ ring
        own = inverse.T @ inverse + crossed @ below
        here = slice(k % reach * n, (k % reach + 1) * n)  # of the block k + reach before
        ring[here] = np.negative(crossed, out=crossed)
        ring[:, here] = crossed.T
        ring[here, here] = 0.5 * (own + own.T)  # unless symmetric, the recursion grows without bound
        yield k, ring
