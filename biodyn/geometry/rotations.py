"""Rotation matrices, quaternions w x y z, Cardan angles and vector products of NumPy arrays."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from biodyn.conventions import FloatArray, IntArray

if TYPE_CHECKING:
    from scipy.spatial.transform import Rotation

_TO_SCIPY = [1, 2, 3, 0]  # w x y z -> x y z w
_CYCLIC = ((0, 1, 2), (1, 2, 0), (2, 0, 1))
_W = 3  # index of w after x y z


def _rotation_class() -> type[Rotation]:
    """Return SciPy's Rotation class, imported on first use because its import is slow."""
    from scipy.spatial.transform import Rotation

    return Rotation


def matrices_from_axis_angle(axis: FloatArray, angle: FloatArray | float) -> FloatArray:
    """Return rotation matrices (..., 3, 3) about a unit axis (3,) by angles (...) in rad."""
    angles = np.asarray(angle, dtype=np.float64)
    matrices = _rotation_class().from_rotvec(angles.reshape(-1, 1) * np.asarray(axis)).as_matrix()
    return np.asarray(matrices).reshape(*angles.shape, 3, 3)


def quaternion_from_matrix(R: FloatArray) -> FloatArray:
    """Return the unit quaternion w x y z (4,) of a rotation matrix (3, 3); its first non-zero component is positive.

    The largest component is computed first, the others by division by it (Markley 2008, doi 10.2514/1.31730).
    """
    rows: list[list[float]] = np.asarray(R, dtype=np.float64).tolist()
    trace = rows[0][0] + rows[1][1] + rows[2][2]
    sizes = [rows[0][0], rows[1][1], rows[2][2], trace]
    i = sizes.index(max(sizes))
    xyzw = [0.0] * 4
    if i == _W:
        for a, b, c in _CYCLIC:
            xyzw[a] = rows[c][b] - rows[b][c]
        xyzw[_W] = 1.0 + trace
    else:
        _, j, k = _CYCLIC[i]
        xyzw[i] = 1.0 - trace + 2.0 * rows[i][i]
        xyzw[j] = rows[j][i] + rows[i][j]
        xyzw[k] = rows[k][i] + rows[i][k]
        xyzw[_W] = rows[k][j] - rows[j][k]
    x, y, z, w = xyzw
    first = next(part for part in (w, x, y, z) if part)  # w is zero for a half turn
    length = math.copysign(math.sqrt(x * x + y * y + z * z + w * w), first)
    return np.array([w, x, y, z]) / length


def matrices_from_quaternions(quaternions: FloatArray) -> FloatArray:
    """Return the rotation matrices (T, 3, 3) of quaternions w x y z (T, 4); NaN if a quaternion is NaN."""
    known = np.isfinite(quaternions).all(axis=-1)
    matrices = np.full((len(quaternions), 3, 3), np.nan)
    if known.any():
        matrices[known] = _rotation_class().from_quat(quaternions[known][:, _TO_SCIPY]).as_matrix()
    return matrices


def continuous_quaternions(quaternions: FloatArray) -> FloatArray:
    """Return quaternions (T, 4) with unit length and with signs such that successive ones have a positive scalar product."""
    unit = quaternions / np.linalg.norm(quaternions, axis=1, keepdims=True)
    signs = np.where(np.einsum("ij,ij->i", unit[1:], unit[:-1]) < 0.0, -1.0, 1.0)
    return unit * np.concatenate(([1.0], np.cumprod(signs)))[:, None]


def rotate_by_quaternions(quaternions: FloatArray, vectors: FloatArray) -> FloatArray:
    """Return vectors (T, 3) rotated by unit quaternions w x y z (T, 4)."""
    axis = quaternions[:, 1:]
    twice = 2.0 * cross(axis, vectors)
    return vectors + quaternions[:, :1] * twice + cross(axis, twice)


def cardan_zxy(R: FloatArray) -> FloatArray:
    """Return angles (..., 3) about Z, X, Y with R = Rz Rx Ry, rad: the ISB joint sequence (Grood & Suntay 1983).

    NaN if R is NaN. At X = +-90 degrees only the sum or difference of the other two is defined; SciPy's `as_euler` rejects NaN
    and warns in this case, so the formula is implemented here.
    """
    x = np.arcsin(np.clip(R[..., 2, 1], -1.0, 1.0))
    z = np.arctan2(-R[..., 0, 1], R[..., 1, 1])
    y = np.arctan2(-R[..., 2, 0], R[..., 2, 2])
    return np.stack([z, x, y], axis=-1)


def matrices_from_cardan_zxy(angles: FloatArray) -> FloatArray:
    """Return rotation matrices (T, 3, 3) = Rz(a) Rx(b) Ry(c) for angles (T, 3) in rad; the inverse of `cardan_zxy`."""
    return np.asarray(_rotation_class().from_euler("ZXY", angles).as_matrix())


def angle_between(a: FloatArray, b: FloatArray) -> float:
    """Return the angle between two vectors (3,), rad, 0 to pi."""
    cosine = float(a @ b) / (float(np.linalg.norm(a)) * float(np.linalg.norm(b)))
    return float(np.arccos(np.clip(cosine, -1.0, 1.0)))


def rotate_vectors(R: FloatArray, vectors: FloatArray) -> FloatArray:
    """Return the products (..., 3) of matrices R (..., 3, 3) and vectors (..., 3)."""
    product: FloatArray = (R @ vectors[..., None])[..., 0]
    return product


def points_on_bodies(R_WB: FloatArray, p_WB: FloatArray, bodies: IntArray, points_B: FloatArray) -> FloatArray:
    """Return positions (T, M, 3) in World of points (M, 3) on bodies (M,) with poses R_WB (T, B, 3, 3), p_WB (T, B, 3)."""
    places: FloatArray = p_WB[:, bodies]
    for m, (body, point) in enumerate(zip(bodies, points_B, strict=True)):
        places[:, m] += rotate_vectors(R_WB[:, body], point)
    return places


def cross(a: ArrayLike, b: ArrayLike) -> FloatArray:
    """Return the cross product over the last axis; several times faster than NumPy's, with the same numbers."""
    x, y = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    a0, a1, a2 = x[..., 0], x[..., 1], x[..., 2]
    b0, b1, b2 = y[..., 0], y[..., 1], y[..., 2]
    result = np.empty(np.broadcast_shapes(x.shape, y.shape))
    result[..., 0] = a1 * b2 - a2 * b1
    result[..., 1] = a2 * b0 - a0 * b2
    result[..., 2] = a0 * b1 - a1 * b0
    return result


def cross3(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return the cross product of two (3,) vectors; ten times faster than `cross` for arrays."""
    (a0, a1, a2), (b0, b1, b2) = a.tolist(), b.tolist()
    return np.array([a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0])


def skew_matrix(a: FloatArray) -> FloatArray:
    """Return the matrix (3, 3) with skew(a) b = a x b."""
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])
