"""Band matrices of equal rows against the same system without a band."""

import numpy as np
import pytest

from biodyn.kernels.repeated_band import solve_repeated_band


@pytest.mark.parametrize("n", [1, 2, 3, 4, 9, 40])
def test_every_column_is_solved(n: int) -> None:
    """Short systems too, whose rows all reach beyond an end."""
    rng = np.random.default_rng(n)
    band, right = np.array([9.0, -2.5, 1.0, 0.5]), rng.normal(size=(n, 5))
    dense = sum(band[abs(k)] * np.eye(n, k=k) for k in range(-3, 4))
    found = right.copy()
    solve_repeated_band(band, found, np.empty((n, len(band))), np.empty(n))
    np.testing.assert_allclose(found, np.linalg.solve(dense, right), atol=1e-13)
