"""Inverse Cholesky factors of the normal matrices of many frames."""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dtrtri

from biodyn.conventions import FloatArray


def inverse_factors(normal: FloatArray) -> FloatArray:
    """Return L^-1 (n, k, k), lower triangles, of positive definite matrices L L^T (n, k, k).

    The inverse of the whole is L^-T L^-1. A triangle is inverted in a third of the time that NumPy takes for any matrix.
    Raises numpy.linalg.LinAlgError where one is not positive definite.
    """
    factors = np.asarray(np.linalg.cholesky(normal), dtype=np.float64)
    for factor in factors:
        factor[:] = dtrtri(factor, lower=1)[0]
    return factors
