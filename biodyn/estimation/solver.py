"""Banded normal equations of a trajectory: assembly, Cholesky factor, solutions, and the inverse near the diagonal.

The unknowns are n numbers at each of T knots, coupled with the unknowns of the next `reach` knots. LAPACK's banded Cholesky
factorisation solves them; blocks of the inverse follow from the factor backwards in time (Takahashi 1973; for banded matrices
Asif & Moura 2005, doi 10.1109/TSP.2004.842192). Time and memory grow linearly with T.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.linalg import cholesky_banded
from scipy.linalg.lapack import dtrtri

from biodyn.conventions import FloatArray, IntArray
from biodyn.kernels import linear_algebra as kernels


class NormalEquations:
    """Normal equations A x = right of n unknowns at each of T knots.

    Attributes:
        band: (T n, (reach + 1) n) lower band of A: band[j, i - j] = A[i, j], the transpose of LAPACK's format.
        right: right side (T, n).
    """

    def __init__(self, knots: int, reach: int, n: int) -> None:
        self.band = np.zeros((knots * n, (reach + 1) * n))
        self.right = np.zeros((knots, n))

    def add_rows(self, first: int, rows: FloatArray, residual: FloatArray, columns: IntArray | None = None) -> None:
        """Add the least-squares terms |residual[t] - sum_s rows[t, :, s] x[first + t + s]|^2.

        Args:
            first: knot of the first term.
            rows: (T', m, W, p) divided by the standard deviation of the residual.
            residual: (T', m), likewise divided.
            columns: (p,) unknowns of a knot that the rows refer to, ascending; None = all n.
        """
        count, m, width, p = rows.shape
        n = self.right.shape[1]
        places = np.arange(n) if columns is None else columns
        gradient = (residual[:, None] @ rows.reshape(count, m, width * p))[:, 0].reshape(count, width, p)
        for s in range(width):
            self.right[first + s : first + s + count, places] += gradient[:, s]
        kernels.add_rows(self.band, n, first, np.ascontiguousarray(rows), places, np.zeros((m, width * n)))

    def add_weighted_terms(self, first: int, weights: FloatArray, square: FloatArray, gradient: FloatArray) -> None:
        """Add least-squares terms t with derivatives weights[s] J[t] with respect to the unknowns of knot first + t + s.

        square: (T', n, n) J^T J. gradient: (T', n) J^T residual.
        """
        for s, weight in enumerate(weights):
            self.right[first + s : first + s + len(square)] += weight * gradient
        kernels.add_weighted_products(self.band, first, np.ascontiguousarray(weights), np.ascontiguousarray(square))

    def add_diagonal(self, first: int, weights: FloatArray, precision: FloatArray, gradient: FloatArray) -> None:
        """Add terms like `add_weighted_terms` with a diagonal matrix J^T J; `precision` (T', n) is its diagonal."""
        count, n = precision.shape
        blocks = self.band.reshape(len(self.right), n, -1)
        for i, weight in enumerate(weights):
            here = slice(first + i, first + i + count)
            self.right[here] += weight * gradient
            for j in range(i, len(weights)):
                blocks[here, :, (j - i) * n] += (weight * weights[j]) * precision


class CholeskyFactor:
    """Cholesky factor L of normal equations, A = L L^T; it overwrites their band.

    Raises LinAlgError if A is not positive definite.
    """

    def __init__(self, equations: NormalEquations) -> None:
        knots, n = equations.right.shape
        band = cholesky_banded(equations.band.T, overwrite_ab=True, lower=True, check_finite=False).T
        width = band.shape[1]
        # block column k of L, transposed: columns[k][c, r] = L[k n + r, k n + c] for r >= c
        strides = (n * width * band.itemsize, (width - 1) * band.itemsize, band.itemsize)
        columns = np.lib.stride_tricks.as_strided(band, (knots, n, width), strides)
        self.n, self.reach = n, width // n - 1
        self._below = columns[:, :, n:]
        self._inverse = [dtrtri(block, lower=1)[0] for block in columns[:, :, :n].transpose(0, 2, 1) * np.tri(n)]

    def solve(self, right: FloatArray) -> FloatArray:
        """Return A^-1 b for b = `right` (T, n), or (T, n, P) with P right-hand sides."""
        return self.solve_backward(self.solve_forward(right))

    def solve_forward(self, right: FloatArray) -> FloatArray:
        """Return L^-1 b for b = `right` (T, n), or (T, n, P) with P right-hand sides."""
        flat = np.array(right, dtype=np.float64).reshape(len(right) * self.n, -1)
        for k, (inverse, below) in enumerate(zip(self._inverse, self._below, strict=True)):
            here, ahead = self._knot_slices(k)
            flat[here] = inverse @ flat[here]
            rest = flat[ahead]
            rest -= below[:, : len(rest)].T @ flat[here]
        return flat.reshape(right.shape)

    def solve_backward(self, right: FloatArray) -> FloatArray:
        """Return L^-T b for b = `right` (T, n), or (T, n, P) with P right-hand sides."""
        flat = np.array(right, dtype=np.float64).reshape(len(right) * self.n, -1)
        for k in reversed(range(len(right))):
            here, ahead = self._knot_slices(k)
            rest = flat[ahead]
            flat[here] = self._inverse[k].T @ (flat[here] - self._below[k][:, : len(rest)] @ rest)
        return flat.reshape(right.shape)

    def _knot_slices(self, k: int) -> tuple[slice, slice]:
        """Return the unknowns of knot k, and of the next knots that it is coupled with."""
        after = (k + 1) * self.n
        return slice(k * self.n, after), slice(after, after + self.reach * self.n)

    def inverse_blocks(self, first: int = 0) -> Iterator[tuple[int, FloatArray]]:
        """Yield k and the block (reach n, reach n) of A^-1 of the knots k .. k + reach - 1, from the last k to `first`.

        With the block column [L_kk; B] of L and the block Z of A^-1 of the next `reach` knots, the block row of knot k is
        -L_kk^-T B^T Z, and its diagonal block L_kk^-T L_kk^-1 + L_kk^-T B^T Z B L_kk^-1.
        """
        n, size = self.n, self.reach * self.n
        near = np.zeros((size, size))
        for k in reversed(range(first, len(self._inverse))):
            inverse = self._inverse[k]
            gain = inverse.T @ self._below[k]
            crossed = -gain @ near
            diagonal = inverse.T @ inverse - crossed @ gain.T
            before, near = near, np.empty_like(near)
            # without this symmetrisation, errors of the recursion grow without bound
            near[:n, :n] = 0.5 * (diagonal + diagonal.T)
            near[:n, n:] = crossed[:, :-n]
            near[n:, :n] = near[:n, n:].T
            near[n:, n:] = before[:-n, :-n]
            if k + self.reach <= len(self._inverse):
                yield k, near
