"""Standard deviations of the estimated angles and torques, from the inverse of the normal equations near its diagonal."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.estimation.problem import Problem
from biodyn.estimation.solver import CholeskyFactor


@dataclass(frozen=True)
class Posterior:
    """One standard deviation (T, nv) of the places along v, rad or m, and of the generalised forces, Nm or N."""

    place: FloatArray
    force: FloatArray


def posterior(problem: Problem, factor: CholeskyFactor, parts: tuple[FloatArray, FloatArray, FloatArray]) -> Posterior:
    """Return the standard deviations of motion and torques, given the inertias.

    Args:
        parts: derivatives (T, nv, nv) of the torques by place, rate and acceleration in the equations of `factor`.
    """
    knots, n, reach = problem.knots, factor.n, factor.reach
    place, force = np.zeros(parts[0].shape[:2]), np.zeros(parts[0].shape[:2])
    weights = np.zeros((knots.step, 3, reach))
    for order, of_order in enumerate(knots.weights):
        weights[:, order, : of_order.shape[1]] = of_order
    for k, near in factor.inverse_blocks():
        blocks = near.reshape(reach, n, reach, n)
        for t in range(k * knots.step, min((k + 1) * knots.step, knots.frames)):
            w = weights[t - k * knots.step]
            # covariance of (place, rate, acceleration) in frame t
            half = np.tensordot(w, blocks, (1, 0))
            covariance = np.tensordot(half, w, (2, 1)).transpose(0, 1, 3, 2).reshape(3 * n, 3 * n)
            by_motion = np.concatenate([part[t] for part in parts], axis=1)
            place[t] = np.diagonal(covariance)[:n]
            force[t] = np.sum((by_motion @ covariance) * by_motion, axis=1)
    return Posterior(np.sqrt(np.maximum(place, 0.0)), np.sqrt(np.maximum(force, 0.0)))
