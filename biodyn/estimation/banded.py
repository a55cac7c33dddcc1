"""Symmetric systems that couple each frame with a few neighbours: assembly, Cholesky factor, solution.

The unknowns are n numbers in each of T frames, coupled with those of the next `reach` frames. The terms are kept as they come,
summed some frames at a time, and factored in the same memory (`kernels.panels`): time is linear in T, and so is memory,
8 n^2 (reach + 1) bytes a frame.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from biodyn.conventions import FloatArray, IntArray
from biodyn.kernels import normal as kernels
from biodyn.kernels import panels as factors
from biodyn.kernels.lanes import WIDTH

# Frames whose columns are summed at once: some hundred kilobytes of them.
_AT_ONCE = 8
_INVERTED_AT_ONCE = 64


@dataclass(frozen=True)
class Normal:
    """Normal equations A x = right of n unknowns in each frame.

    panels: (T, n, (reach + 1) n + WIDTH), memory for the lower triangle by columns of blocks, see `summed`.
    right: (T n,). diagonals: (T, reach + 1, n), what A has on the diagonals of its blocks. terms: what else adds up to A.
    """

    panels: FloatArray
    right: FloatArray
    diagonals: FloatArray
    terms: list[Callable[[int, int], None]]
    n: int

    @classmethod
    def empty(cls, frames: int, reach: int, n: int) -> Normal:
        """Return equations of no measurement yet."""
        return cls._in(np.empty((frames, n, (reach + 1) * n + WIDTH)))

    def again(self) -> Normal:
        """Return equations of no measurement yet in the same memory; a factor of these is lost."""
        return self._in(self.panels)

    @classmethod
    def _in(cls, panels: FloatArray) -> Normal:
        frames, n, stride = panels.shape
        return cls(panels, np.zeros(frames * n), np.zeros((frames, (stride - WIDTH) // n, n)), [], n)

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
        self.terms.append(partial(kernels.add_rows, self.panels, first, padded.ravel(), flat.shape, places, work))

    def add_shared(self, first: int, weights: FloatArray, G: FloatArray, right: FloatArray) -> None:
        """Add a term whose rows are `weights[s]` times one matrix J: G (T', n, n) = J^T J, right (T', n) = J^T residual."""
        for s, weight in enumerate(weights):
            self.g[first + s : first + s + len(G)] += weight * right
        own, square = np.ascontiguousarray(weights), np.ascontiguousarray(G)
        self.terms.append(partial(kernels.add_repeated, self.panels, first, own, square))

    def add_diagonal(self, first: int, weights: FloatArray, precision: FloatArray, right: FloatArray) -> None:
        """The same for a diagonal G, given as (T', n)."""
        count = len(precision)
        for i, left in enumerate(weights):
            here = slice(first + i, first + i + count)
            self.g[here] += left * right
            for j in range(i, len(weights)):
                self.diagonals[here, j - i] += (left * weights[j]) * precision

    def sum_some(self, begin: int, end: int) -> None:
        """Sum the columns of the frames begin .. end - 1, few enough for the processor's cache."""
        here = self.panels[begin:end]
        here[:] = 0.0
        frame, column, row = here.strides
        _, blocks, n = self.diagonals.shape
        diagonals = np.lib.stride_tricks.as_strided(
            here, (len(here), blocks, n), (frame, n * row, column + row), writeable=True
        )
        diagonals[:] = self.diagonals[begin:end]
        for add in self.terms:
            add(begin, end)

    def summed(self) -> FloatArray:
        """Return the matrix in the memory of `panels`: panels[k, c, r] = A[k n + r, k n + c] for r >= c, else whatever."""
        for begin, end in _some(len(self.panels)):
            self.sum_some(begin, end)
        return self.panels


def _some(frames: int) -> list[tuple[int, int]]:
    return [(begin, min(begin + _AT_ONCE, frames)) for begin in range(0, frames, _AT_ONCE)]


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
    """Cholesky factor L of the equations' matrix; it takes over the memory of their panels, and their terms are lost.

    Raises LinAlgError where the matrix is not positive definite.
    """

    def __init__(self, normal: Normal) -> None:
        self.frames, self.n, self.stride = normal.panels.shape
        self.reach = (self.stride - WIDTH) // self.n - 1
        self.panels = normal.panels.ravel()
        for begin, end in _some(self.frames):
            normal.sum_some(begin, end)
            if not factors.factorise(self.panels, *self._shape, begin, end):
                raise np.linalg.LinAlgError("not positive definite")
        normal.terms.clear()

    @property
    def _shape(self) -> tuple[int, int, int]:
        return self.n, self.reach, self.stride

    def solve(self, right: FloatArray) -> FloatArray:
        """Return A^-1 right for right (T, n) or (T, n, P)."""
        return self.backward(self.forward(right.copy()))

    def forward(self, right: FloatArray) -> FloatArray:
        """Return L^-1 right for right (T, n) or (T, n, P), in its memory where P is a multiple of WIDTH.

        Columns that are zero up to some frame, and all behind them too, cost nothing before it.
        """
        count = right[0, 0].size
        if not count:
            return right
        whole = _whole_lanes(right)
        used = right.reshape(*right.shape[:2], count).any(axis=1)
        begun = np.maximum.accumulate(np.max(np.where(used, np.arange(1, count + 1), 0), axis=1))
        factors.forward(self.panels, *self._shape, whole.ravel(), whole.shape[2], begun + (-begun) % WIDTH)
        return whole[:, :, :count].reshape(right.shape)

    def backward(self, right: FloatArray) -> FloatArray:
        """Return L^-T right for right (T, n) or (T, n, P), in its memory where P is a multiple of WIDTH."""
        count = right[0, 0].size
        if not count:
            return right
        whole = _whole_lanes(right)
        factors.backward(self.panels, *self._shape, whole.ravel(), whole.shape[2])
        return whole[:, :, :count].reshape(right.shape)


def inverse_diagonals(matrices: FloatArray, added: float) -> FloatArray:
    """Return the diagonals (T, n) of the inverses of matrices (T, n, n) + `added` 1, symmetric and positive definite."""
    frames, n, _ = matrices.shape
    found, normal = np.empty((frames, n)), Normal.empty(min(frames, _INVERTED_AT_ONCE), 0, n)
    for begin in range(0, frames, _INVERTED_AT_ONCE):
        some = matrices[begin : begin + _INVERTED_AT_ONCE]
        normal = Normal._in(normal.panels[: len(some)])
        normal.add_shared(0, np.ones(1), some, np.zeros(some.shape[:2]))
        normal.diagonals[:] = added
        right = np.zeros((len(some), n, n + (-n) % WIDTH))
        right[:, np.arange(n), np.arange(n)] = 1.0
        found[begin : begin + len(some)] = np.sum(Factor(normal).forward(right) ** 2, axis=1)[:, :n]
    return found


def _whole_lanes(right: FloatArray) -> FloatArray:
    """Right (T, n) or (T, n, P) with as many columns of zeros as make whole Lanes: itself, or a copy."""
    count = right[0, 0].size
    if right.ndim == 3 and count % WIDTH == 0 and right.flags.c_contiguous:
        return right
    whole = np.zeros((*right.shape[:2], count + (-count) % WIDTH))
    whole[:, :, :count] = right.reshape(*right.shape[:2], count)
    return whole
