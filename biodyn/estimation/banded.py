"""Symmetric systems that couple each frame with a few neighbours: assembly, Cholesky factor, solution.

The unknowns are n numbers in each of T frames, coupled with those of the next `reach` frames. The terms are kept as they come,
and summed once into LAPACK's band storage, where the sum is factored: time is linear in T, and so is memory,
8 n^2 (reach + 1) bytes a frame.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from scipy.linalg import cho_solve_banded, cholesky_banded
from scipy.linalg.blas import dtbsv
from scipy.linalg.lapack import dtrtri

from biodyn.conventions import FloatArray, IntArray
from biodyn.kernels import normal as kernels

# Frames whose columns are summed at once: some hundred kilobytes of them.
_AT_ONCE = 8


@dataclass(frozen=True)
class Normal:
    """Normal equations A x = right of n unknowns in each frame.

    band: (T n, (reach + 1) n), memory for the lower triangle by columns, band[j, i - j] = A[i, j]: see `summed`.
    right: (T n,). diagonals: (T, reach + 1, n), what A has on the diagonals of its blocks. terms: what else adds up to A.
    """

    band: FloatArray
    right: FloatArray
    diagonals: FloatArray
    terms: list[Callable[[int, int], None]]
    n: int

    @classmethod
    def empty(cls, frames: int, reach: int, n: int) -> Normal:
        """Return equations of no measurement yet."""
        return cls._in(np.empty((frames * n, (reach + 1) * n)), n)

    def again(self) -> Normal:
        """Return equations of no measurement yet in the same memory; a factor of these is lost."""
        return self._in(self.band, self.n)

    @classmethod
    def _in(cls, band: FloatArray, n: int) -> Normal:
        frames, blocks = len(band) // n, band.shape[1] // n
        return cls(band, np.zeros(frames * n), np.zeros((frames, blocks, n)), [], n)

    @property
    def g(self) -> FloatArray:
        """The right-hand side by frames, (T, n)."""
        return self.right.reshape(-1, self.n)

    def add_wide(self, first: int, rows: FloatArray, residual: FloatArray, columns: IntArray | None = None) -> None:
        """Add the least-squares term |residual - sum_s rows[:, :, s] x[first + t + s]|^2 of every t.

        rows: (T', m, W, n) for the W frames it reaches; residual: (T', m); both divided by their standard deviation.
        columns: the places (n,) of the unknowns that the rows are given for, ascending; None = all.
        """
        count, m, width, n = rows.shape
        places = np.arange(n) if columns is None else columns
        padded = np.zeros((count, m, width * n + kernels.WIDTH))
        flat = padded[:, :, : width * n]
        flat[:] = rows.reshape(flat.shape)
        pulled = (residual[:, None] @ flat).reshape(count, width, n)
        for s in range(width):
            self.g[first + s : first + s + count, places] += pulled[:, s]
        work = np.empty(width * n + kernels.WIDTH)
        self.terms.append(partial(kernels.add_rows, self.band, self.n, first, padded.ravel(), flat.shape, places, work))

    def add_shared(self, first: int, weights: FloatArray, G: FloatArray, right: FloatArray) -> None:
        """Add a term whose rows are `weights[s]` times one matrix J: G (T', n, n) = J^T J, right (T', n) = J^T residual."""
        for s, weight in enumerate(weights):
            self.g[first + s : first + s + len(G)] += weight * right
        own, square = np.ascontiguousarray(weights), np.ascontiguousarray(G)
        self.terms.append(partial(kernels.add_repeated, self.band, self.n, first, own, square))

    def add_diagonal(self, first: int, weights: FloatArray, precision: FloatArray, right: FloatArray) -> None:
        """The same for a diagonal G, given as (T', n)."""
        count = len(precision)
        for i, left in enumerate(weights):
            here = slice(first + i, first + i + count)
            self.g[here] += left * right
            for j in range(i, len(weights)):
                self.diagonals[here, j - i] += (left * weights[j]) * precision

    def summed(self) -> FloatArray:
        """Return the matrix in the memory of `band`: some columns at a time, which all terms find in the processor's cache."""
        frames = len(self.diagonals)
        for begin in range(0, frames, _AT_ONCE):
            end = min(begin + _AT_ONCE, frames)
            kernels.put_diagonals(self.band, self.diagonals, begin, end)
            for add in self.terms:
                add(begin, end)
        return self.band


def add_gathered(right: FloatArray, rows: FloatArray, values: FloatArray) -> None:
    """Add to right (T, n, P) what `add_wide` from the first frame on adds to the right-hand side, for P different residuals.

    rows: (T', m, W, n); values: (T', m, P) the residuals. A frame k gets the sum of rows[k - s, :, s]^T values[k - s] over s.
    """
    count, m, width, n = rows.shape
    before = width - 1
    shifted = np.zeros((count + before, width, m, n))
    for s in range(width):
        shifted[s : s + count, before - s] = rows[:, :, s]
    by_frame = shifted.reshape(count + before, width * m, n).transpose(0, 2, 1)
    padded = np.zeros((count + 2 * before, m, values.shape[2]))
    padded[before : before + count] = values
    frame, row, column = padded.strides
    shape = (count + before, width * m, values.shape[2])
    windows = np.lib.stride_tricks.as_strided(padded, shape, (frame, row, column), writeable=False)
    for begin in range(0, len(windows), _AT_ONCE):
        here = slice(begin, min(begin + _AT_ONCE, len(windows)))
        right[here] += by_frame[here] @ windows[here]


class Factor:
    """Cholesky factor L of the equations' matrix; it takes over the memory of their band, which is lost, as their terms are."""

    def __init__(self, normal: Normal) -> None:
        self.n, self.bands = normal.n, normal.band.shape[1]
        self.frames, self.reach = len(normal.band) // self.n, self.bands // self.n - 1
        self._band = cholesky_banded(normal.summed().T, overwrite_ab=True, lower=True, check_finite=False)
        normal.terms.clear()

    @cached_property
    def panels(self) -> FloatArray:
        """The columns of L by blocks, (T, (reach + 1) n, n), rows from the block's own on: a view of the band.

        Above the diagonal stands what belongs elsewhere.
        """
        # Element (i, j) stands at i + j (bands - 1) of the memory of its block.
        item = self._band.itemsize
        strides = (item * self.bands * self.n, item, item * (self.bands - 1))
        shape = (self.frames, self.bands, self.n)
        return np.lib.stride_tricks.as_strided(self._band.T, shape, strides, writeable=False)

    def solve(self, right: FloatArray) -> FloatArray:
        """Return A^-1 right for right (T, n) or (T, n, P)."""
        flat = right.reshape(self.frames * self.n, -1)
        return np.asarray(cho_solve_banded((self._band, True), flat, check_finite=False)).reshape(right.shape)

    @cached_property
    def inverses(self) -> FloatArray:
        """The inverses (T, n, n) of the diagonal blocks of L, lower triangles."""
        found = np.tril(self.panels[:, : self.n])
        for block in found:
            dtrtri(block.T, lower=0, overwrite_c=1)  # the transposed of a row-ordered array is in LAPACK's order
        return found

    def forward(self, right: FloatArray) -> FloatArray:
        """Return L^-1 right (T, n, P), in the memory of `right`, whose rows follow each other.

        Columns that are zero up to some frame, and all behind them too, cost nothing before it.
        """
        n, reach, P = self.n, self.reach, right.shape[2]
        begun = np.maximum.accumulate(np.max(np.where(right.any(axis=1), np.arange(1, P + 1), 0), axis=1)).tolist()
        flat = right.reshape(-1, P)
        # Element (i, j) of L stands at i + j (bands - 1), in rows of blocks too.
        item = self._band.itemsize
        whole = np.lib.stride_tricks.as_strided(
            self._band.T, (len(flat), len(flat)), (item, item * (self.bands - 1)), writeable=False
        )
        for k, (inverse, some) in enumerate(zip(self.inverses, begun, strict=True)):
            if some:
                here, before = slice(k * n, (k + 1) * n), slice(max(k - reach, 0) * n, k * n)
                flat[here, :some] = inverse @ (flat[here, :some] - whole[here, before] @ flat[before, :some])
        return right

    def backward(self, right: FloatArray) -> FloatArray:
        """Return L^-T right (T, n)."""
        return np.asarray(dtbsv(self.bands - 1, self._band, right.ravel(), lower=1, trans=1)).reshape(right.shape)
