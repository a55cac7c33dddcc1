"""How certain the estimate is: standard deviations of angles and torques from the inverse of its normal equations.

The inverse itself is full; its blocks near the diagonal, all that a frame's angles and torques ask for, follow from the Cholesky
factor from the last frame backwards (Takahashi 1973; for bands Asif & Moura 2005, doi 10.1109/TSP.2004.842192).
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
    weights = [own[:, own.any(axis=0)] for own in np.stack(problem.knots.weights, axis=1)]  # (3, 5 or 6) of each offset
    place, force = np.zeros((frames, n)), np.zeros((frames, n))
    turned = np.empty((3, n, n))
    for k, near in inverse_blocks(factor):
        for offset in range(min(step, frames - k * step)):
            t, used = k * step + offset, weights[offset]
            wide = used.shape[1]
            own = near[: wide * n, : wide * n]
            place[t] = used[0] @ (used[0] @ _diagonals(own, n, wide))
            for part, order in zip(turned, parts, strict=True):
                part[:] = order[t].T
            by_motion = (used.T @ turned.reshape(3, -1)).reshape(wide * n, n)  # a torque a column
            force[t] = np.einsum("ji,ij->i", by_motion, by_motion.T @ own)
    return Posterior(np.sqrt(np.maximum(place, 0.0)), np.sqrt(np.maximum(force, 0.0)))


def _diagonals(near: FloatArray, n: int, blocks: int) -> FloatArray:
    """The diagonals (blocks, blocks, n) of the blocks of a square (blocks n, blocks n): a view."""
    row, column = near.strides
    return np.lib.stride_tricks.as_strided(
        near, (blocks, blocks, n), (row * n, column * n, row + column), writeable=False
    )


def inverse_blocks(factor: Factor) -> Iterator[tuple[int, FloatArray]]:
    """Yield for each block k, the last first, the inverse over the blocks k .. k + reach, ((reach + 1) n, (reach + 1) n).

    The array is used again for the next. Blocks beyond the end are zero.
    """
    n, reach = factor.n, factor.reach
    known = reach * n  # rows of the blocks behind k
    # The square of a block stands before that of the next one, so that nothing moves but when the room is used up.
    room = np.zeros((2 * (known + n), 2 * (known + n)))
    first = len(room) - known
    for k in range(factor.frames - 1, -1, -1):
        if first == 0:
            room[-known:, -known:] = room[:known, :known]
            first = len(room) - known
        here, behind = slice(first - n, first), slice(first, first + known)
        inverse = factor.inverses[k]
        below = factor.panels[k, n:] @ inverse
        crossed = below.T @ room[behind, behind]
        own = inverse.T @ inverse + crossed @ below
        room[here, behind] = np.negative(crossed, out=crossed)
        room[behind, here] = crossed.T
        room[here, here] = 0.5 * (own + own.T)  # unless symmetric, the recursion grows without bound
        first -= n
        yield k, room[first : first + known + n, first : first + known + n]
