"""Symmetric systems that couple each frame with a few neighbours: assembly, Cholesky factor, solution, selected inverse.

The unknowns are n numbers in each of T frames. Block k of frame t, H[t, k] (n, n), couples frame t (rows) with frame t + k
(columns); k runs from 0 to the reach of the widest term. Time is linear in T, memory too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_solve_banded, cholesky_banded

from biodyn.conventions import FloatArray, IntArray


@dataclass(frozen=True)
class Normal:
    """Normal equations H x = g. H: (T, reach + 1, n, n) blocks, see the module; g: (T, n)."""

    H: FloatArray
    g: FloatArray

    @classmethod
    def empty(cls, frames: int, reach: int, n: int) -> Normal:
        """Return equations of no measurement yet."""
        return cls(np.zeros((frames, reach + 1, n, n)), np.zeros((frames, n)))

    def add_wide(
        self, first: int, rows: list[FloatArray], residual: FloatArray, columns: IntArray | None = None
    ) -> None:
        """Add the least-squares term |residual - sum_s rows[s] x[first + t + s]|^2 of every t.

        rows: one (T', m, n) for each frame it reaches; residual: (T', m); both divided by their standard deviation.
        columns: the places (n,) of the unknowns that the rows are given for; None = all.
        """
        count, n, width = len(residual), rows[0].shape[2], len(rows)
        if columns is not None:
            return self._add_some(first, rows, residual, columns)
        flat = np.concatenate(rows, axis=2)
        turned = np.ascontiguousarray(flat.transpose(0, 2, 1))
        right = (turned @ residual[:, :, None])[..., 0].reshape(count, width, n)
        product = (turned @ flat).reshape(count, width, n, width, n)
        for i in range(width):
            here = slice(first + i, first + i + count)
            self.g[here] += right[:, i]
            for j in range(i, width):
                self.H[here, j - i] += product[:, i, :, j]

    def _add_some(self, first: int, rows: list[FloatArray], residual: FloatArray, columns: IntArray) -> None:
        part = Normal.empty(len(residual) + len(rows) - 1, len(rows) - 1, len(columns))
        part.add_wide(0, rows, residual)
        here = slice(first, first + len(part.g))
        self.g[here][:, columns] += part.g
        square = (slice(None), slice(None), columns[:, None], columns)
        self.H[here, : len(rows)][square] += part.H

    def add_shared(self, first: int, weights: FloatArray, G: FloatArray, right: FloatArray) -> None:
        """Add a term whose rows are `weights[s]` times one matrix J: G (T', n, n) = J^T J, right (T', n) = J^T residual."""
        count = len(right)
        for i, left in enumerate(weights):
            here = slice(first + i, first + i + count)
            self.g[here] += left * right
            for j in range(i, len(weights)):
                self.H[here, j - i] += (left * weights[j]) * G

    def add_diagonal(self, first: int, weights: FloatArray, precision: FloatArray, right: FloatArray) -> None:
        """The same for a diagonal G, given as (T', n)."""
        count, n = precision.shape
        at = np.arange(n)
        for i, left in enumerate(weights):
            here = slice(first + i, first + i + count)
            self.g[here] += left * right
            for j in range(i, len(weights)):
                self.H[here, j - i, at, at] += (left * weights[j]) * precision


class Factor:
    """Cholesky factor of the equations' matrix."""

    def __init__(self, H: FloatArray) -> None:
        frames, width, n, _ = H.shape
        self.frames, self.n, self.reach = frames, n, width - 1
        band = cholesky_banded(lower_band(H), overwrite_ab=True, lower=True, check_finite=False)
        self._band = np.asfortranarray(band)

    def column(self, k: int) -> FloatArray:
        """Return the factor's columns of block k, ((reach + 1) n, n): above the diagonal stands what belongs elsewhere."""
        n, bands = self.n, len(self._band)
        # Element (i, j) of the matrix stands at i + j (bands - 1) of the memory.
        first = k * n * bands
        flat = self._band.ravel(order="F")[first : first + n * bands]
        item = flat.itemsize
        shape, strides = ((self.reach + 1) * n, n), (item, item * (bands - 1))
        padded = np.concatenate([flat, np.zeros(n)])
        return np.array(np.lib.stride_tricks.as_strided(padded, shape, strides))

    def solve(self, right: FloatArray) -> FloatArray:
        """Return H^-1 right for right (T, n) or (T, n, P)."""
        flat = right.reshape(self.frames * self.n, -1)
        return np.asarray(cho_solve_banded((self._band, True), flat, check_finite=False)).reshape(right.shape)


def lower_band(H: FloatArray) -> FloatArray:
    """Return the matrix in LAPACK's lower band storage, (bands, T n): ab[i - j, j] = A[i, j]."""
    frames, width, n, _ = H.shape
    bands = width * n
    # A column j = (t, c) holds below it the rows (t, c..n-1), (t + 1, 0..n-1), ...: the transposed blocks one below the other.
    column = np.ascontiguousarray(H.transpose(0, 2, 1, 3)).reshape(frames, n, bands)  # [t, c, (k, r)] = H[t, k][c, r]
    ab = np.zeros((frames, n, bands))
    for c in range(n):
        ab[:, c, : bands - c] = column[:, c, c:]
    return np.asfortranarray(ab.reshape(frames * n, bands).T)
