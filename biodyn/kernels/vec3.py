"""Vectors (3-tuples) and matrices (9-tuples, row by row) of floats or Lanes."""

from __future__ import annotations

from biodyn.kernels.jit import inline


@inline
def add(a, b):
    """Return a + b."""
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


@inline
def sub(a, b):
    """Return a - b."""
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])


@inline
def scale(a, s):
    """Return a s."""
    return (a[0] * s, a[1] * s, a[2] * s)


@inline
def add_scaled(a, b, s):
    """Return a + b s."""
    return (a[0] + b[0] * s, a[1] + b[1] * s, a[2] + b[2] * s)


@inline
def dot(a, b):
    """Return a . b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@inline
def cross(a, b):
    """Return a x b."""
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


@inline
def rotate(R, a):
    """Return R a."""
    return (
        R[0] * a[0] + R[1] * a[1] + R[2] * a[2],
        R[3] * a[0] + R[4] * a[1] + R[5] * a[2],
        R[6] * a[0] + R[7] * a[1] + R[8] * a[2],
    )


@inline
def rotate_back(R, a):
    """Return transpose(R) a."""
    return (
        R[0] * a[0] + R[3] * a[1] + R[6] * a[2],
        R[1] * a[0] + R[4] * a[1] + R[7] * a[2],
        R[2] * a[0] + R[5] * a[1] + R[8] * a[2],
    )


@inline
def compose(A, B):
    """Return A B."""
    return (
        A[0] * B[0] + A[1] * B[3] + A[2] * B[6],
        A[0] * B[1] + A[1] * B[4] + A[2] * B[7],
        A[0] * B[2] + A[1] * B[5] + A[2] * B[8],
        A[3] * B[0] + A[4] * B[3] + A[5] * B[6],
        A[3] * B[1] + A[4] * B[4] + A[5] * B[7],
        A[3] * B[2] + A[4] * B[5] + A[5] * B[8],
        A[6] * B[0] + A[7] * B[3] + A[8] * B[6],
        A[6] * B[1] + A[7] * B[4] + A[8] * B[7],
        A[6] * B[2] + A[7] * B[5] + A[8] * B[8],
    )


@inline
def transpose(A):
    """Return the transposed matrix."""
    return (A[0], A[3], A[6], A[1], A[4], A[7], A[2], A[5], A[8])


@inline
def expand_symmetric(S):
    """Return the nine elements of a symmetric matrix."""
    return (S[0], S[1], S[2], S[1], S[3], S[4], S[2], S[4], S[5])


@inline
def congruence_transform(R, S):
    """Return R S R^T of a symmetric S."""
    A = compose(R, expand_symmetric(S))
    return (
        A[0] * R[0] + A[1] * R[1] + A[2] * R[2],
        A[0] * R[3] + A[1] * R[4] + A[2] * R[5],
        A[0] * R[6] + A[1] * R[7] + A[2] * R[8],
        A[3] * R[3] + A[4] * R[4] + A[5] * R[5],
        A[3] * R[6] + A[4] * R[7] + A[5] * R[8],
        A[6] * R[6] + A[7] * R[7] + A[8] * R[8],
    )


@inline
def inverse(S):
    """Return the inverse of a symmetric 3x3 matrix."""
    a = S[3] * S[5] - S[4] * S[4]
    b = S[2] * S[4] - S[1] * S[5]
    c = S[1] * S[4] - S[2] * S[3]
    s = 1.0 / (S[0] * a + S[1] * b + S[2] * c)
    return (
        s * a,
        s * b,
        s * c,
        s * (S[0] * S[5] - S[2] * S[2]),
        s * (S[1] * S[2] - S[0] * S[4]),
        s * (S[0] * S[3] - S[1] * S[1]),
    )


@inline
def symmetric_product(S, a):
    """Return S a of a symmetric matrix given as (xx, xy, xz, yy, yz, zz)."""
    return (
        S[0] * a[0] + S[1] * a[1] + S[2] * a[2],
        S[1] * a[0] + S[3] * a[1] + S[4] * a[2],
        S[2] * a[0] + S[4] * a[1] + S[5] * a[2],
    )


@inline
def select_column(R, c):
    """Return column c of R."""
    if c == 0:
        return (R[0], R[3], R[6])
    if c == 1:
        return (R[1], R[4], R[7])
    return (R[2], R[5], R[8])


@inline
def quaternion_to_matrix(w, x, y, z):
    """Return the rotation matrix of a quaternion of any length, which is normalised."""
    s = 2.0 / (w * w + x * x + y * y + z * z)
    sx, sy, sz = s * x, s * y, s * z
    return (
        1.0 - (sy * y + sz * z),
        sx * y - sz * w,
        sx * z + sy * w,
        sx * y + sz * w,
        1.0 - (sx * x + sz * z),
        sy * z - sx * w,
        sx * z - sy * w,
        sy * z + sx * w,
        1.0 - (sx * x + sy * y),
    )


@inline
def row3(array, i):
    """Return row i of an (n, 3) array as a vector."""
    return (array[i, 0], array[i, 1], array[i, 2])


@inline
def row6(array, i):
    """Return row i of an (n, 6) array as a symmetric matrix."""
    return (array[i, 0], array[i, 1], array[i, 2], array[i, 3], array[i, 4], array[i, 5])


@inline
def row9(array, i):
    """Return row i of an (n, 9) array as a matrix."""
    return (
        array[i, 0],
        array[i, 1],
        array[i, 2],
        array[i, 3],
        array[i, 4],
        array[i, 5],
        array[i, 6],
        array[i, 7],
        array[i, 8],
    )


@inline
def store_row3(array, i, a):
    """Store a vector in columns 0-2 of row i."""
    array[i, 0] = a[0]
    array[i, 1] = a[1]
    array[i, 2] = a[2]


@inline
def store_row9(array, i, R):
    """Store a matrix in row i of an (n, 9) array."""
    array[i, 0] = R[0]
    array[i, 1] = R[1]
    array[i, 2] = R[2]
    array[i, 3] = R[3]
    array[i, 4] = R[4]
    array[i, 5] = R[5]
    array[i, 6] = R[6]
    array[i, 7] = R[7]
    array[i, 8] = R[8]
