"""How certain the estimate is: standard deviations of angles and torques from the inverse of its normal equations.

The inverse itself is full; its blocks near the diagonal, all that a frame's angles and torques ask for, follow from the Cholesky
factor from the last frame backwards (Takahashi 1973; for bands Asif & Moura 2005, doi 10.1109/TSP.2004.842192).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dtrtri

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
    weights = np.stack(problem.knots.weights, axis=1)  # (step, 3, 6)
    place, force = np.zeros((frames, n)), np.zeros((frames, n))
    for k, near in inverse_blocks(factor):
        for offset in range(step):
            t = k * step + offset
            if t >= frames:
                continue
            motion = _of_motion(near, weights[offset], k)
            place[t] = np.diagonal(motion)[:n]
            by_motion = np.concatenate([part[t] for part in parts], axis=1)
            force[t] = np.einsum("ij,ij->i", by_motion @ motion, by_motion)
    return Posterior(np.sqrt(np.maximum(place, 0.0)), np.sqrt(np.maximum(force, 0.0)))


def _of_motion(near: FloatArray, weights: FloatArray, k: int) -> FloatArray:
    """Covariance (3 n, 3 n) of place, rate and acceleration, from that of the coefficients as `inverse_blocks` yields it."""
    blocks, n = near.shape[:2]
    placed = np.zeros((3, blocks))
    placed[:, (k + np.arange(weights.shape[1])) % blocks] = weights
    half = (placed @ near.reshape(blocks, -1)).reshape(3 * n, blocks, n)
    whole = placed @ np.ascontiguousarray(half.transpose(1, 0, 2)).reshape(blocks, -1)
    return np.asarray(whole.reshape(3, 3 * n, n).transpose(1, 0, 2).reshape(3 * n, 3 * n))


def inverse_blocks(factor: Factor) -> Iterator[tuple[int, FloatArray]]:
    """Yield for each block k, the last first, the inverse's square over the blocks k .. k + reach, (reach + 1, n, reach + 1, n).

    Block j stands at j modulo (reach + 1); the array is used again for the next. Blocks beyond the end are zero.
    """
    n, blocks = factor.n, factor.reach + 1
    window = np.zeros((blocks * n, blocks * n))
    gain = np.zeros((blocks * n, n))
    for k in range(factor.frames - 1, -1, -1):
        panel, slot = factor.panels[k], k % blocks
        inverse = np.tril(dtrtri(panel[:n], lower=1)[0])
        below = panel[n:] @ inverse
        split = (blocks - 1 - slot) * n  # the blocks behind k up to the last place, then those from the first on
        gain[(slot + 1) * n :], gain[: slot * n] = below[:split], below[split:]
        here = slice(slot * n, (slot + 1) * n)
        gain[here] = 0.0
        crossed = window @ gain
        own = inverse.T @ inverse + gain.T @ crossed
        window[:, here], window[here] = -crossed, -crossed.T
        window[here, here] = 0.5 * (own + own.T)  # unless symmetric, the recursion grows without bound
        yield k, window.reshape(blocks, n, blocks, n)
