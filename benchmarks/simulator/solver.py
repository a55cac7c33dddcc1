"""Levenberg-Marquardt for a dense problem of a few hundred unknowns."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from biodyn.conventions import FloatArray

Linearised = Callable[[FloatArray, bool], tuple[FloatArray, FloatArray | None]]


def least_squares(problem: Linearised, x: FloatArray, iterations: int, tolerance: float) -> tuple[FloatArray, float]:
    """Return the x (n,) that makes the residual r of `problem(x, with_jacobian) -> (r, J or None)` smallest, and the cost.

    Stops when a step lowers the cost by less than `tolerance` of itself.
    """
    damping = 1e-3
    r, J = problem(x, True)
    cost = float(r @ r)
    for _ in range(iterations):
        assert J is not None
        normal, gradient = J.T @ J, J.T @ r
        while True:
            scaled = normal + damping * np.diag(np.diag(normal) + 1e-9)
            candidate = x - np.linalg.solve(scaled, gradient)
            tried, _ = problem(candidate, False)
            tried_cost = float(tried @ tried)
            if tried_cost < cost:
                break
            damping *= 4.0
            if damping > 1e8:
                return x, cost
        gain = (cost - tried_cost) / cost
        x, damping = candidate, max(damping / 5.0, 1e-9)
        r, J = problem(x, True)
        cost = float(r @ r)
        if gain < tolerance:
            break
    return x, cost
