"""The diagonal of the inverse of many symmetric positive definite matrices, eight of them at once."""

from __future__ import annotations

from biodyn.kernels.jit import kernel
from biodyn.kernels.lanes import WIDTH, broadcast, load, store


@kernel
def inverse_diagonal(matrices, result, work, column):
    """Fill result (T, n) with the diagonals of the inverses of matrices (T, n, n), of which the lower triangles are read.

    A = L D L^T with 1 on the diagonal of L; with M = L^-1 the j-th number is the sum of M[i, j]^2 / D[i] (Golub & Van Loan
    2013, section 4.1). work (n n WIDTH,) and column (n WIDTH,) are working memory.
    """
    count, n, _ = matrices.shape
    for first in range(0, count, WIDTH):
        for i in range(n):
            for j in range(i + 1):
                for lane in range(WIDTH):
                    work[(i * n + j) * WIDTH + lane] = matrices[min(first + lane, count - 1), i, j]
        for j in range(n):
            for k in range(j):
                store(column, k * WIDTH, load(work, (j * n + k) * WIDTH) * load(work, (k * n + k) * WIDTH))
            for i in range(j, n):
                total = load(work, (i * n + j) * WIDTH)
                for k in range(j):
                    total = total - load(work, (i * n + k) * WIDTH) * load(column, k * WIDTH)
                store(work, (i * n + j) * WIDTH, total if i == j else total / load(work, (j * n + j) * WIDTH))
        for j in range(n):
            store(column, j * WIDTH, broadcast(1.0))
            total = broadcast(1.0) / load(work, (j * n + j) * WIDTH)
            for i in range(j + 1, n):
                entry = broadcast(0.0)
                for k in range(j, i):
                    entry = entry - load(work, (i * n + k) * WIDTH) * load(column, k * WIDTH)
                store(column, i * WIDTH, entry)
                total = total + entry * entry / load(work, (i * n + i) * WIDTH)
            store(column, 0, total)
            for lane in range(min(WIDTH, count - first)):
                result[first + lane, j] = column[lane]
