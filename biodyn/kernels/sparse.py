"""Cholesky factors of matrices with a tree's branch-induced sparsity (Featherstone 2008, section 6.5).

Coordinates are numbered from the root outwards; entry (i, j) is zero unless one of them lies on the other's path to
the root. Row k is stored by depth, rows[k * stride + dof_depth[i]] = H[k, i] for every i on the path of k, so the path
of an ancestor is the beginning of the row, and the inner loop runs over consecutive numbers, WIDTH at a time; what it
leaves behind a row's end is never read. H = L^T D L with L unit lower triangular: eliminated from the leaves inwards,
it has no fill-in.
"""

from __future__ import annotations

from biodyn.kernels.jit import inline, part
from biodyn.kernels.lanes import WIDTH, load, store


def stride(deepest: int) -> int:
    """Return the length of a stored row for paths of up to `deepest` + 1 coordinates: whole blocks of WIDTH."""
    return -(-(deepest + 1) // WIDTH) * WIDTH


@part
def factorise(dof_path, dof_depth, rows, stride, diagonal):
    """Replace H by its factors: D on the diagonal, L below it. Returns the smallest D_k / diagonal_k."""
    least = 1e300
    for k in range(dof_path.shape[0] - 1, -1, -1):
        depth, row = dof_depth[k], k * stride
        pivot = rows[row + depth]
        least = min(least, pivot / diagonal[k])
        inverse = 1.0 / pivot
        for d in range(depth - 1, -1, -1):
            entry = rows[row + d]
            a = entry * inverse
            above = dof_path[k, d] * stride
            for e in range(0, d + 1, WIDTH):
                store(rows, above + e, load(rows, above + e) - load(rows, row + e) * a)
        for d in range(depth):
            rows[row + d] *= inverse
    return least


@inline
def solve(dof_path, dof_depth, rows, stride, x):
    """Replace x by H^-1 x, with the factors in rows."""
    n = dof_path.shape[0]
    for k in range(n - 1, -1, -1):  # L^T y = x
        row, y = k * stride, x[k]
        for d in range(dof_depth[k]):
            x[dof_path[k, d]] -= rows[row + d] * y
    for k in range(n):  # D L x = y
        depth, row = dof_depth[k], k * stride
        total = 0.0
        for d in range(depth):
            total += rows[row + d] * x[dof_path[k, d]]
        x[k] = x[k] / rows[row + depth] - total
