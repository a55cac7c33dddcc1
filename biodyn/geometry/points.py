"""What is asked of stacks of points: are they known, how long are they. NumPy is slow along a last axis of three."""

from __future__ import annotations

import numpy as np

from biodyn.conventions import BoolArray, FloatArray


def all_three(flags: BoolArray) -> BoolArray:
    """Whether a flag (..., 3) is set for all three coordinates (...): `flags.all(axis=-1)`, ten times faster."""
    found: BoolArray = flags[..., 0] & flags[..., 1] & flags[..., 2]
    return found


def all_finite(points: FloatArray) -> BoolArray:
    """Whether all three coordinates of points (..., 3) are finite (...)."""
    return all_three(np.isfinite(points))


def squares(vectors: FloatArray) -> FloatArray:
    """Squared lengths (...) of vectors (..., 3)."""
    x, y, z = vectors[..., 0], vectors[..., 1], vectors[..., 2]
    found: FloatArray = x * x + y * y + z * z
    return found


def lengths(vectors: FloatArray) -> FloatArray:
    """Lengths (...) of vectors (..., 3): `np.linalg.norm(vectors, axis=-1)`, five times faster, with the same numbers."""
    found: FloatArray = np.sqrt(squares(vectors))
    return found


def point_by_point(points: FloatArray) -> FloatArray:
    """Points (T, M, 3) as (M, T, 3) in memory, for sums and extremes over the points: NumPy is slow along a middle axis."""
    return np.ascontiguousarray(points.swapaxes(0, 1))
