"""Left against right. All functions take numbers or arrays and return the same shape, NaN where undefined."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from biodyn.conventions import FloatArray


def symmetry_index(right: ArrayLike, left: ArrayLike) -> FloatArray:
    """Return ``100 (R - L) / (0.5 (R + L))`` in percent; 0 is symmetric.

    Robinson et al. 1987, J Manipulative Physiol Ther 10:172-176.
    It runs away where R + L is near zero (angles and moments around zero); the symmetry angle does not.
    """
    r, ell = np.asarray(right, dtype=float), np.asarray(left, dtype=float)
    middle = 0.5 * (r + ell)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(middle == 0.0, np.where(r == ell, 0.0, np.nan), 100.0 * (r - ell) / middle)


def symmetry_angle(right: ArrayLike, left: ArrayLike) -> FloatArray:
    """Return the symmetry angle in percent: 0 symmetric, +-100 equal and opposite.

    ``(45 deg - atan(L / R)) / 90 deg``, less 180 degrees in the numerator where that exceeds 90 (Zifchock et al. 2008, Gait
    Posture 27:622-627); positive where the right is larger. NaN where both are zero.
    """
    r, ell = np.asarray(right, dtype=float), np.asarray(left, dtype=float)
    with np.errstate(divide="ignore", invalid="ignore"):
        angle = 45.0 - np.degrees(np.arctan(np.divide(ell, r)))
    angle = np.where(angle > 90.0, angle - 180.0, angle)
    return np.where((r == 0.0) & (ell == 0.0), np.nan, angle / 0.9)


def symmetry_ratio(right: ArrayLike, left: ArrayLike) -> FloatArray:
    """Return R / L; 1 is symmetric, NaN where L is zero."""
    r, ell = np.asarray(right, dtype=float), np.asarray(left, dtype=float)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(ell == 0.0, np.nan, r / ell)


def curve_difference(right: ArrayLike, left: ArrayLike) -> FloatArray:
    """Return the root mean square over the last axis of right - left, in the curves' unit; NaN where a node is missing.

    Both curves are over their own side's cycle, with signs that mean the same on both sides.
    """
    apart = np.asarray(right, dtype=float) - np.asarray(left, dtype=float)
    return np.asarray(np.sqrt(np.mean(apart**2, axis=-1)))
