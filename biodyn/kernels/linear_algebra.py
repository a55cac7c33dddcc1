"""Cholesky factors with the sparsity of a tree, and the normal equations of an estimated trajectory.

Tree sparsity (Featherstone 2008, section 6.5): coordinates are numbered from the root outwards; entry (i, j) is zero unless one
coordinate is on the path of the other to the root. Row k is stored by depth: rows[k * stride + dof_depth[i]] = H[k, i] for every
i on the path of k. The path of an ancestor is then the beginning of the row, and the inner loop runs over consecutive numbers,
WIDTH at a time; numbers beyond the end of a row are never read. H = L^T D L with L unit lower triangular has no fill-in if
coordinates are eliminated from the leaves inwards.
"""

from __future__ import annotations

from biodyn.kernels.jit import exact_kernel, inline, kernel, part
from biodyn.kernels.lanes import WIDTH, load, store


def row_stride(deepest: int) -> int:
    """Return the length of a stored row for paths of up to `deepest` + 1 coordinates: whole blocks of WIDTH."""
    return -(-(deepest + 1) // WIDTH) * WIDTH


@part
def factorise_tree_sparse(dof_path, dof_depth, rows, stride, diagonal):
    """Replace H by its factors, D on the diagonal and L below it; return the smallest D_k / diagonal_k."""
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
def solve_tree_sparse(dof_path, dof_depth, rows, stride, x):
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


@exact_kernel
def solve_banded(factor, x):
    """Replace the right-hand sides x (n, C) by (L L^T)^-1 x, all side by side; factor (n, m + 1): factor[j, k] = L[j + k, j]."""
    n, width = factor.shape
    for step in (1, -1):  # L y = x, then L^T x = y
        for i in range(n):
            j = i if step == 1 else n - 1 - i
            own, inverse = x[j], 1.0 / factor[j, 0]
            for k in range(1, min(width, i + 1)):
                solved, entry = x[j - step * k], factor[min(j, j - step * k), k]
                for c in range(x.shape[1]):
                    own[c] -= solved[c] * entry
            for c in range(x.shape[1]):
                own[c] *= inverse


@kernel
def add_rows(band, n, first, rows, places, work):
    """Add rows[t]^T rows[t] for every t to the band of normal equations.

    rows (T', m, W, p): derivatives by the unknowns `places` (p,) of the knots first + t + s, s < W.
    band (T n, (reach + 1) n): band[j, i - j] = A[i, j], n unknowns per knot. work (m, W n), zeros.
    """
    count, m, width, p = rows.shape
    for t in range(count):
        for r in range(m):
            for s in range(width):
                for c in range(p):
                    work[r, s * n + places[c]] = rows[t, r, s, c]
        for j in range(width * n):
            column = band[(first + t) * n + j]
            for r in range(m):
                part_of_row, factor = work[r, j:], work[r, j]
                if factor != 0.0:
                    for i in range(width * n - j):
                        column[i] += factor * part_of_row[i]


@kernel
def add_weighted_products(band, first, weights, square):
    """Add to the normal equations the terms with the rows weights[s] J[t] for knot first + t + s: square (T', n, n) = J^T
    J; band as in `add_rows`."""
    n, width = square.shape[1], weights.shape[0]
    for t in range(square.shape[0]):
        for s in range(width):
            for c in range(n):
                column, own, w = band[(first + t + s) * n + c], square[t, c], weights[s] * weights[s]
                before = own[c:]
                for r in range(n - c):
                    column[r] += w * before[r]
                for d in range(1, width - s):
                    ahead, w = column[d * n - c :], weights[s] * weights[s + d]
                    for r in range(n):
                        ahead[r] += w * own[r]


@exact_kernel
def fill_spline_coefficient_rows(
    by_place, by_rate, by_acceleration, frames, places, columns, weights, differences, scale, rows, work
):
    """Fill the rows (T', m, W, p) for spline coefficients of forces with the derivatives by_... (T, n, n).

    Row t is scale[t] (T', m) times the sum over d of differences[d] times the forces `places` (m,) in the frame
    frames[0] + (t + d) frames[1]; it depends on the unknowns `columns` (p,). weights (3, S): weights of the coefficients, from
    the first of a frame on, in position, rate and acceleration; W = S + len(differences) - 1. work (3, p).
    """
    count, m, _, p = rows.shape
    for t in range(count):
        for i in range(m):
            own, force = rows[t, i], places[i]
            own[:] = 0.0
            for d in range(differences.shape[0]):
                k = frames[0] + (t + d) * frames[1]
                place, rate, acceleration = by_place[k, force], by_rate[k, force], by_acceleration[k, force]
                for c in range(p):
                    at = columns[c]
                    work[0, c], work[1, c], work[2, c] = place[at], rate[at], acceleration[at]
                for s in range(weights.shape[1]):
                    x, y, z, row = weights[0, s], weights[1, s], weights[2, s], own[d + s]
                    for c in range(p):
                        row[c] += differences[d] * ((x * work[0, c] + y * work[1, c]) + z * work[2, c])
            for w in range(own.shape[0]):
                for c in range(p):
                    own[w, c] *= scale[t, i]


@exact_kernel
def fill_marker_jacobians(columns, p_WM, moved, J):
    """Fill J (T, M, 3, nv) with the derivatives of the markers at p_WM (T, M, 3) by the coordinates.

    columns (T, 6, nv) from `dynamics.joint_columns`: a marker at p moves by v + omega x p; moved (M, nv): 1 if a coordinate
    moves a marker, else 0.
    """
    count, markers, _, nv = J.shape
    for t in range(count):
        of = columns[t]
        for m in range(markers):
            x, y, z, place, own = p_WM[t, m, 0], p_WM[t, m, 1], p_WM[t, m, 2], J[t, m], moved[m]
            for i in range(nv):
                place[0, i] = ((of[1, i] * z - of[2, i] * y) + of[3, i]) * own[i]
                place[1, i] = ((of[2, i] * x - of[0, i] * z) + of[4, i]) * own[i]
                place[2, i] = ((of[0, i] * y - of[1, i] * x) + of[5, i]) * own[i]


@kernel
def fill_marker_equations(columns, R, p, links, p_LM, paths, lengths, scale, seen_at, square, pull, work):
    """Fill square (T, nv, nv) = J^T J and pull (T, nv) = J^T residual, initially zeros, of markers weighted by scale (T, M).

    columns (T, 6, nv) from `dynamics.joint_columns`; R (T, B, 3, 3), p (T, B, 3): poses of the bodies; p_LM (M, 3): markers on
    the bodies `links`; paths (M, most): coordinates that move each marker, from the root outwards, and lengths (M,): their
    number; seen_at (T, M, 3): recorded positions. work (most, 3).
    """
    for t in range(square.shape[0]):
        for m in range(links.shape[0]):
            w = scale[t, m]
            if w == 0.0:
                continue
            turn, at = R[t, links[m]], p_LM[m]
            x = p[t, links[m], 0] + turn[0, 0] * at[0] + turn[0, 1] * at[1] + turn[0, 2] * at[2]
            y = p[t, links[m], 1] + turn[1, 0] * at[0] + turn[1, 1] * at[1] + turn[1, 2] * at[2]
            z = p[t, links[m], 2] + turn[2, 0] * at[0] + turn[2, 1] * at[1] + turn[2, 2] * at[2]
            dx, dy, dz = w * (seen_at[t, m, 0] - x), w * (seen_at[t, m, 1] - y), w * (seen_at[t, m, 2] - z)
            for i in range(lengths[m]):
                a = paths[m, i]
                ax = w * (columns[t, 3, a] + columns[t, 1, a] * z - columns[t, 2, a] * y)
                ay = w * (columns[t, 4, a] + columns[t, 2, a] * x - columns[t, 0, a] * z)
                az = w * (columns[t, 5, a] + columns[t, 0, a] * y - columns[t, 1, a] * x)
                work[i, 0], work[i, 1], work[i, 2] = ax, ay, az
                pull[t, a] += ax * dx + ay * dy + az * dz
                for k in range(i + 1):
                    square[t, a, paths[m, k]] += ax * work[k, 0] + ay * work[k, 1] + az * work[k, 2]
        for a in range(square.shape[1]):
            for b in range(a):
                square[t, b, a] = square[t, a, b]
