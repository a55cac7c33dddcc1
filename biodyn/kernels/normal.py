"""Normal equations of measurements along a path, summed in place by block columns; the markers' part of a frame.

`panels` (T, n, stride) holds the lower triangle by columns, as `kernels.panels` factors it: panels[k, c, r] = A[k n + r, k n + c]
from r = c on, for n unknowns in each of T frames. A kernel adds to the columns of the frames begin .. end - 1 all that its term
says of them, so that every term can be added while these columns are near the processor.
"""

from __future__ import annotations

from biodyn.kernels.jit import exact_kernel, kernel
from biodyn.kernels.lanes import WIDTH
from biodyn.kernels.products import add_grouped, add_squares


@kernel
def add_rows(panels, n, stride, seen, rows, shape, runs, work, begin, end):
    """Add |rest - rows x|^2 of every t: rows (T', m, W, p) on the frames first + t to first + t + W - 1.

    panels: flat, of n unknowns a frame. seen: (first, count, start, step), the t-th of `count` parts being number start + step t
    of the rows; with the step -1 its frames stand the other way round, too. rows: flat, shape: theirs. runs (R, 3): [a, b, c]
    says that the unknowns from a to a + c - 1 of the rows are those from b to b + c - 1 of a frame. work:
    (end - begin + W - 1) m (W n + 2 WIDTH) doubles, 0 but for what an earlier call with these runs left.
    """
    (first, count, start, step), (_, m, width, p) = seen, shape
    below = width * n + 2 * WIDTH
    to_group, before = n - m * below, max(begin - first - width + 1, 0)
    for t in range(before, min(end - first, count)):  # with zeros for the unknowns that have none
        for i in range(m):
            source, place = ((start + step * t) * m + i) * width * p, ((t - before) * m + i) * below
            for s in range(width):
                given = source + (s if step > 0 else width - 1 - s) * p
                for j in range(runs.shape[0]):
                    own, own_place = rows[given + runs[j, 0] :], work[place + s * n + runs[j, 1] :]
                    for r in range(runs[j, 2]):
                        own_place[r] = own[r]
    for k in range(max(begin, first), min(end, first + count + width - 1)):
        low = max(0, k - first - count + 1)
        groups, at = min(width, k - first + 1) - low, (k - first - low - before) * m * below + low * n
        for j in range(runs.shape[0]):
            some = runs[j, 1], runs[j, 2]
            add_squares(panels, k * n * stride, stride, work, at, below, n, *some, m, groups, to_group, width - low)


@kernel
def add_repeated(panels, seen, weights, square, begin, end):
    """Add terms whose rows are weights[s] J on frame first + t + s: square (T', n, n) = J^T J; seen: as of `add_rows`."""
    (first, count, start, step), n, width = seen, square.shape[1], weights.shape[0]
    for k in range(max(begin, first), min(end, first + count + width - 1)):
        for c in range(n):
            column = panels[k, c, c:]
            for s in range(max(0, k - first - count + 1), min(width, k - first + 1)):
                own, w = square[start + step * (k - first - s), c], weights[s] * weights[s]
                before = own[c:]
                for r in range(n - c):
                    column[r] += w * before[r]
                for d in range(1, width - s):
                    ahead = column[d * n - c :]
                    w = weights[s] * weights[s + d]
                    for r in range(n):
                        ahead[r] += w * own[r]


@kernel
def gather_rows(rows, shape, values, lanes, right, begin, end):
    """Add to the frames begin .. end - 1 of right (T, n, lanes) the sum over s of rows[k - s, :, s]^T values[k - s].

    All flat. rows (T', m, W, n), its shape; values (T', m, lanes); lanes: a multiple of WIDTH.
    """
    count, m, width, n = shape
    along = width * n
    for k in range(begin, min(end, count + width - 1)):
        low = max(0, k - count + 1)
        groups, t = min(width, k + 1) - low, k - low
        leaps = n - m * along, -m * lanes
        of_rows, of_values = t * m * along + low * n, t * m * lanes
        add_grouped(
            right, k * n * lanes, lanes, rows, of_rows, along, values, of_values, lanes, n, lanes, m, groups, leaps[0], leaps[1],
        )  # fmt: skip


@exact_kernel
def spread_rows(by_place, by_rate, by_acceleration, frames, places, columns, weights, differences, scale, rows, work):
    """Fill rows (T', m, W, p) on the coefficients of a spline, of forces whose derivatives are by_... (T, n, n).

    Row t is scale[t] (T', m) times the sum over d of differences[d] times the forces `places` (m,) in the frame
    frames[0] + (t + d) frames[1]; it depends on the unknowns `columns` (p,). weights (3, S): of place, rate and acceleration on
    the coefficients from a frame's first on; W = S + len(differences) - 1. work (3, p).
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
def marker_columns(columns, p_WM, moved, J):
    """Fill J (T, M, 3, nv) with the derivatives of the markers at p_WM (T, M, 3) by the coordinates.

    columns (T, 6, nv) as `crba.joint_columns` makes them: a marker at p moves by v + omega x p; moved (M, nv), 1 where a
    coordinate moves a marker, else 0.
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
