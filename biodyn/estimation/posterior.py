"""How certain the estimate is: standard deviations of angles and torques from the inverse of its normal equations.

The inverse itself is full; its blocks near the diagonal, all that a frame's angles and torques ask for, follow from the Cholesky
factor from the last frame backwards (Takahashi 1973; for bands Asif & Moura 2005, doi 10.1109/TSP.2004.842192).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from biodyn.conventions import FloatArray
from biodyn.estimation.banded import Factor
from biodyn.estimation.deviation import Path, by_deviation
from biodyn.estimation.problem import Problem
from biodyn.estimation.terms import on_coefficients
from biodyn.rigid_body.second_order import inverse_dynamics_derivatives


@dataclass(frozen=True)
class Posterior:
    """One standard deviation (T, nv) of the places along v, rad or m, and of the generalised forces, Nm or N."""

    place: FloatArray
    force: FloatArray


def posterior(problem: Problem, factor: Factor, path: Path) -> Posterior:
    """Return how certain the motion and its torques are, given the inertias; `path` is where the equations were made."""
    derivatives = inverse_dynamics_derivatives(
        problem.model.multibody, path.q, path.v, path.vdot, problem.wrenches, problem.wrench_links
    )
    parts = by_deviation(problem.model.multibody, path, *derivatives)
    step, n = problem.knots.step, factor.n
    rows = [on_coefficients(problem, [part[offset::step] for part in parts], offset) for offset in range(step)]
    frames = len(path.q)
    place, force = np.zeros((frames, n)), np.zeros((frames, n))
    for k, window in inverse_blocks(factor):
        for offset in range(step):
            t = k * step + offset
            if t >= frames:
                continue
            weights = problem.knots.weights[0][offset][: len(rows[offset])]
            size = len(weights) * n
            near = window[:size, :size]
            by_block = near.reshape(len(weights), n, len(weights), n)
            place[t] = np.einsum("i,injn,j->n", weights, by_block, weights)
            A = np.concatenate([block[k] for block in rows[offset]], axis=1)
            force[t] = np.einsum("ij,ij->i", A @ near, A)
    return Posterior(np.sqrt(np.maximum(place, 0.0)), np.sqrt(np.maximum(force, 0.0)))


def inverse_blocks(factor: Factor) -> Iterator[tuple[int, FloatArray]]:
    """Yield for each block row k, the last first, the inverse's square over the blocks k .. k + reach; zero beyond the end.

    The array is used again for the next.
    """
    n, reach = factor.n, factor.reach
    window = np.zeros(((reach + 1) * n, (reach + 1) * n))
    later = slice(n, None)
    for k in range(factor.frames - 1, -1, -1):
        column = factor.column(k)
        diagonal = np.tril(column[:n])
        inverse = solve_triangular(diagonal, np.eye(n), lower=True, check_finite=False)
        gain = column[n:] @ inverse
        window[later, later] = window[: reach * n, : reach * n].copy()
        below = -window[later, later] @ gain
        window[later, :n], window[:n, later] = below, below.T
        own = inverse.T @ inverse - gain.T @ below
        window[:n, :n] = 0.5 * (own + own.T)
        yield k, window
