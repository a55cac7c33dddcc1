"""Symmetric band matrices whose rows are all alike, for many right-hand sides side by side."""

from __future__ import annotations

from biodyn.kernels.jit import kernel


@kernel
def solve_repeated_band(band, x, lower, pivots):
    """Put A^-1 x in the place of x (n, columns): A[i, i] = band[0], A[i, i - k] = A[i - k, i] = band[k] for k <= m.

    band (m + 1,). lower (n, m + 1) and pivots (n,) are working memory: A = L D L^T, L[i, i - k] = lower[i, k] (Golub & Van Loan
    2013, section 4.3.5). A must be positive definite.
    """
    n, columns = x.shape
    m = band.shape[0] - 1
    for i in range(n):
        most = min(m, i)
        for k in range(most, -1, -1):  # from the farthest entry of the row to its pivot
            j = i - k
            entry = band[k]
            for b in range(k + 1, min(m + k, i) + 1):
                if b <= most and b - k <= m:
                    entry -= lower[i, b] * lower[j, b - k] * pivots[i - b]
            if k == 0:
                pivots[i] = entry
            else:
                lower[i, k] = entry / pivots[j]
        lower[i, 0] = 1.0
        row = x[i]
        for k in range(1, most + 1):
            before, w = x[i - k], lower[i, k]
            for c in range(columns):
                row[c] -= w * before[c]
    for i in range(n - 1, -1, -1):
        row, w = x[i], 1.0 / pivots[i]
        for c in range(columns):
            row[c] *= w
        for k in range(1, min(m, n - 1 - i) + 1):
            behind, w = x[i + k], lower[i + k, k]
            for c in range(columns):
                row[c] -= w * behind[c]
