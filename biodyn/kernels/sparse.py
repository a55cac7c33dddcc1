"""Cholesky factors of matrices with a tree's branch-induced sparsity (Featherstone 2008, section 6.5).

Coordinates are numbered from the root outwards; entry (i, j) is zero unless one of them lies on the other's path to
the root. Row k is stored by depth: row[k, dof_depth[i]] = H[k, i] for every i on the path of k, so the path of an
ancestor is the beginning of the row, and all inner loops run over consecutive numbers. H = L^T D L with L unit lower
triangular: eliminated from the leaves inwards, it has no fill-in.
"""

from __future__ import annotations

from biodyn.kernels.jit import part


@part
def factorise(dof_parent, dof_depth, rows, diagonal):
    """Replace H by its factors: D on the diagonal, L below it. Returns the smallest D_k / diagonal_k."""
    least = 1e300
    for k in range(rows.shape[0] - 1, -1, -1):
        depth = dof_depth[k]
        pivot = rows[k, depth]
        least = min(least, pivot / diagonal[k])
        inverse = 1.0 / pivot
        i = dof_parent[k]
        for d in range(depth - 1, -1, -1):
            entry = rows[k, d]
            a = entry * inverse
            for e in range(d + 1):
                rows[i, e] -= a * rows[k, e]
            rows[k, d] = a
            i = dof_parent[i]
    return least


@part
def solve(dof_parent, dof_depth, rows, x):
    """Replace x by H^-1 x, with the factors in rows."""
    n = rows.shape[0]
    for k in range(n - 1, -1, -1):  # L^T y = x
        i = dof_parent[k]
        for d in range(dof_depth[k] - 1, -1, -1):
            x[i] -= rows[k, d] * x[k]
            i = dof_parent[i]
    for k in range(n):  # D L x = y
        depth = dof_depth[k]
        total = x[k] / rows[k, depth]
        i = dof_parent[k]
        for d in range(depth - 1, -1, -1):
            total -= rows[k, d] * x[i]
            i = dof_parent[i]
        x[k] = total
