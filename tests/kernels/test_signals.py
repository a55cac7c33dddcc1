"""Band systems of many curves at once: LAPACK's solutions, however many curves there are and however stiff the system."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
from scipy.linalg.lapack import dpbsv

from biodyn.kernels.banded_filters import LANES, factorise_band, solve_factorised


@pytest.mark.parametrize("count", [1, LANES - 1, LANES, 2 * LANES + 3])
@pytest.mark.parametrize("stiffness", [1.0, 1e5])
def test_band_systems_are_solved_as_lapack_does(count: int, stiffness: float) -> None:
    n, m = 50, 3
    band = np.repeat([[(-1.0) ** k * comb(2 * m, m + k)] for k in range(m + 1)], n, axis=1)
    band[0] += 1.0 / stiffness
    curves = np.random.default_rng(count).normal(size=(count, n))
    expected = dpbsv(band, curves.T, lower=True)[1].T
    found = np.empty_like(curves)
    condition = 4.0**m * stiffness
    factorise_band(band)
    solve_factorised(band, curves, found, np.empty((n + 1, LANES)))
    # round-off, which the system's condition enlarges: some BLAS fuses products into sums
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-15 * condition * np.abs(expected).max())
