"""Normal equations of measurements along a path, summed in place into LAPACK's band storage; the markers' part of a frame.

`band` (T n, w n) holds the lower triangle by columns: band[j, i - j] = A[i, j] for n unknowns in each of T frames, coupled over
w frames (LAPACK's AB, transposed). `right` (T n,) is the right-hand side.
"""

from __future__ import annotations

from biodyn.kernels.jit import kernel


@kernel
def add_rows(band, right, n, first, rows, rest):
    """Add |rest - rows x|^2 of every t: rows (T', m, W n) on the frames first + t to first + t + W - 1, rest (T', m)."""
    count, m, width = rows.shape
    for t in range(count):
        base = (first + t) * n
        own = rows[t]
        for c in range(width):
            total = 0.0
            for k in range(m):
                total += own[k, c] * rest[t, k]
            right[base + c] += total
            column = band[base + c]
            k = 0
            while k + 3 <= m:  # three rows at a time: a column is loaded and stored once for all three
                # Views that begin at the diagonal: an index that might be negative would keep the loop from SIMD.
                x, y, z = own[k, c:], own[k + 1, c:], own[k + 2, c:]
                a, b, d = x[0], y[0], z[0]
                if a != 0.0 or b != 0.0 or d != 0.0:
                    for r in range(width - c):
                        column[r] += a * x[r] + b * y[r] + d * z[r]
                k += 3
            while k < m:
                x = own[k, c:]
                a = x[0]
                if a != 0.0:
                    for r in range(width - c):
                        column[r] += a * x[r]
                k += 1


@kernel
def add_part(band, right, n, first, part_band, part_right, columns):
    """Add equations (T', p) of some unknowns, at the places `columns` (p,), ascending, of every frame from `first` on."""
    p = columns.shape[0]
    count = part_right.shape[0] // p
    width = part_band.shape[1] // p
    for s in range(count):
        for c in range(p):
            own, j = part_band[s * p + c], (first + s) * n + columns[c]
            right[j] += part_right[s * p + c]
            for d in range(width):
                for r in range(c if d == 0 else 0, p):
                    band[j, d * n + columns[r] - columns[c]] += own[d * p + r - c]


@kernel
def add_repeated(band, right, n, first, weights, square, pull):
    """Add terms whose rows are weights[s] J on frame first + t + s: square (T', n, n) = J^T J, pull (T', n) = J^T rest."""
    count, width = square.shape[0], weights.shape[0]
    for t in range(count):
        for i in range(width):
            base = (first + t + i) * n
            for c in range(n):
                right[base + c] += weights[i] * pull[t, c]
                column, own = band[base + c], square[t, c, c:]
                w = weights[i] * weights[i]
                for r in range(n - c):
                    column[r] += w * own[r]
                for d in range(1, width - i):
                    column, own = band[base + c, d * n - c :], square[t, c]
                    w = weights[i] * weights[i + d]
                    for r in range(n):
                        column[r] += w * own[r]


@kernel
def marker_equations(columns, R, p, links, p_LM, paths, lengths, scale, seen_at, square, pull, work):
    """Fill square (T, nv, nv) = J^T J and pull (T, nv) = J^T rest, given as zeros, of markers weighted by scale (T, M).

    columns (T, 6, nv) as `crba.joint_columns` makes them; R (T, B, 3, 3), p (T, B, 3) of the bodies; markers at p_LM (M, 3) on
    the bodies `links`, moved by the coordinates paths (M, most), lengths (M,) of them, the root's first; seen_at (T, M, 3).
    work (most, 3).
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
