"""Sums of an estimate's equations against the same written out with whole matrices."""

from __future__ import annotations

import numpy as np
import pytest

from biodyn.estimation.solver import CholeskyFactor, NormalEquations
from biodyn.kernels import linear_algebra as kernels

# Sums of some hundred products of numbers near 1: round-off of a double.
_ROUND_OFF = 1e-12


def whole_rows(rows, places, frames, n):
    """Rows (T', m, W, p) on the frames from t on as a matrix (T' m, frames n), n unknowns a frame."""
    count, m, width, _ = rows.shape
    result = np.zeros((count, m, frames, n))
    for t in range(count):
        for s in range(width):
            result[t, :, t + s, places] = rows[t, :, s].T
    return result.reshape(count * m, -1)


@pytest.mark.parametrize(
    ("n", "places", "m", "width", "frames"),
    [
        (5, [0, 1, 2, 3, 4], 3, 2, 23),
        (11, [0, 1, 2, 7, 8], 4, 3, 30),  # two runs of unknowns
        (38, [0, 1, 2, 3, 4, 5, 20, 22, 24, 25], 5, 7, 40),  # several, and the widest term
        (38, list(range(38)), 6, 5, 31),
    ],
)
def test_wide_rows_are_summed_and_solved_as_whole_matrices_are(n, places, m, width, frames):
    rng = np.random.default_rng(n + m)
    rows = rng.normal(size=(frames - width + 1, m, width, len(places)))
    residual = rng.normal(size=rows.shape[:2])
    normal = NormalEquations(frames, 6, n)
    normal.add_rows(0, rows, residual, np.array(places))
    normal.add_diagonal(0, np.ones(1), np.full((frames, n), 2.0), np.zeros((frames, n)))
    J = whole_rows(rows, places, frames, n)
    A = J.T @ J + 2.0 * np.eye(frames * n)
    assert np.allclose(normal.right.ravel(), J.T @ residual.ravel(), rtol=0.0, atol=_ROUND_OFF)
    found = CholeskyFactor(normal).solve(normal.right).ravel()
    # of a condition of some hundred
    assert np.allclose(found, np.linalg.solve(A, J.T @ residual.ravel()), rtol=0.0, atol=1e3 * _ROUND_OFF)


@pytest.mark.parametrize(("first", "step", "differences"), [(0, 1, [1.0]), (1, 2, [1.0]), (0, 2, [1.0, -2.0, 1.0])])
def test_spread_rows_are_derivatives_by_the_coefficients_of_a_spline(first, step, differences):
    """Second differences of forces that are linear in place, rate and acceleration, by every coefficient."""
    rng = np.random.default_rng(step)
    frames, nv, places, columns = 12, 6, np.array([1, 4, 5]), np.array([0, 3, 4])
    parts, weights = rng.normal(size=(3, frames, nv, nv)), rng.normal(size=(3, 5))
    count = (frames - 1 - first) // step + 2 - len(differences)
    scale = rng.normal(size=(count, len(places)))
    rows = np.empty((count, len(places), 5 + len(differences) - 1, len(columns)))
    kernels.fill_spline_coefficient_rows(
        *parts, (first, step), places, columns, weights, np.array(differences), scale, rows, np.empty((3, len(columns)))
    )
    expected = np.zeros_like(rows)
    for t in range(count):
        for d, difference in enumerate(differences):
            at = parts[:, first + (t + d) * step][:, places][:, :, columns]  # (3, m, p)
            expected[t, :, d : d + 5] += difference * np.einsum("omp,os->msp", at, weights)
    expected *= scale[:, :, None, None]
    assert np.allclose(rows, expected, rtol=0.0, atol=_ROUND_OFF)
