"""The diagonals of many inverses against numpy's inverses."""

import numpy as np
import pytest

from biodyn.kernels.inverse_diagonal import inverse_diagonal
from biodyn.kernels.lanes import WIDTH


@pytest.mark.parametrize("count", [1, WIDTH, 2 * WIDTH + 3])
def test_every_matrix_has_its_own_diagonal(count: int) -> None:
    """Counts that fill the lanes and that do not; the upper triangle is not read."""
    n, rng = 7, np.random.default_rng(count)
    half = rng.normal(size=(count, n, n))
    matrices = half @ half.transpose(0, 2, 1) + 0.1 * np.eye(n)
    found = np.empty((count, n))
    inverse_diagonal(np.tril(matrices), found, np.empty(n * n * WIDTH), np.empty(n * WIDTH))
    expected = np.diagonal(np.linalg.inv(matrices), axis1=1, axis2=2)
    np.testing.assert_allclose(found, expected, rtol=1e-11)
