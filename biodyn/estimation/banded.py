"""Symmetric systems that couple each frame with a few neighbours: assembly, Cholesky factor, solution.

The unknowns are n numbers in each of T frames, coupled with those of the next `reach` frames. The terms are kept as they come,
summed some frames at a time, and factored in the same memory, from both ends (`halves`): time is linear in T, and so is memory,
8 n^2 (reach + 1) bytes a frame.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from biodyn.conventions import BoolArray, FloatArray, IntArray
from biodyn.estimation.halves import FRAMES_AT_ONCE, Half, Sum, Term, halves_of, panels_of
from biodyn.estimation.memory import Memory
from biodyn.kernels import normal as kernels
from biodyn.kernels.lanes import WIDTH
from biodyn.threads import by_halves, side_by_side

_INVERTED_AT_ONCE = 64


@dataclass(frozen=True)
class Normal:
    """Normal equations A x = right of n unknowns in each frame.

    panels: memory for the lower triangle by columns of blocks, see `halves`. right: (T n,).
    diagonals: (T, reach + 1, n), what A has on the diagonals of its blocks. terms: what else adds up to A.
    """

    panels: FloatArray
    right: FloatArray
    diagonals: FloatArray
    terms: list[Term]
    n: int

    @classmethod
    def empty(cls, frames: int, reach: int, n: int, memory: Memory | None = None) -> Normal:
        """Return equations of no measurement yet; None = in memory of their own."""
        return cls._in(panels_of(frames, reach, n, memory), frames, reach)

    def again(self) -> Normal:
        """Return equations of no measurement yet in the same memory; a factor of these is lost."""
        frames, blocks, _ = self.diagonals.shape
        return self._in(self.panels, frames, blocks - 1)

    @classmethod
    def _in(cls, panels: FloatArray, frames: int, reach: int) -> Normal:
        n = panels.shape[1]
        return cls(panels, np.zeros(frames * n), np.zeros((frames, reach + 1, n)), [], n)

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
        pulled, pull = residual[:, None] @ rows.reshape(count, m, width * n), np.zeros((count + width - 1, n))
        for s in range(width):
            pull[s : s + count] += pulled[:, 0, s * n : (s + 1) * n]
        self.g[first : first + len(pull), places] += pull
        self.terms.append(_Wide(first, rows, places))

    def add_shared(self, first: int, weights: FloatArray, G: FloatArray, right: FloatArray) -> None:
        """Add a term whose rows are `weights[s]` times one matrix J: G (T', n, n) = J^T J, right (T', n) = J^T residual."""
        for s, weight in enumerate(weights):
            self.g[first + s : first + s + len(G)] += weight * right
        self.terms.append(_Shared(first, weights, G))

    def add_diagonal(self, first: int, weights: FloatArray, precision: FloatArray, right: FloatArray) -> None:
        """The same for a diagonal G, given as (T', n)."""
        count = len(precision)
        for i, left in enumerate(weights):
            here = slice(first + i, first + i + count)
            self.g[here] += left * right
            for j in range(i, len(weights)):
                self.diagonals[here, j - i] += (left * weights[j]) * precision


@dataclass(frozen=True)
class _Wide:
    """A term of `Normal.add_wide`."""

    first: int
    rows: FloatArray
    places: IntArray

    def on(self, half: Half) -> Sum:
        count, m, width, _ = self.rows.shape
        n, _, stride = half.shape
        work = np.zeros((FRAMES_AT_ONCE + width - 1) * m * (width * n + 2 * WIDTH))
        rows = np.ascontiguousarray(self.rows)
        given = half.seen(self.first, width, count), rows.ravel(), rows.shape, _runs(self.places), work
        return partial(kernels.add_rows, half.panels.ravel(), n, stride, *given)


def _runs(places: IntArray) -> IntArray:
    """Ascending places as runs (R, 3) of `kernels.add_rows`."""
    starts = np.flatnonzero(np.diff(places, prepend=-2) > 1)
    return np.stack([starts, places[starts], np.diff(starts, append=len(places))], axis=1)


@dataclass(frozen=True)
class _Shared:
    """A term of `Normal.add_shared`."""

    first: int
    weights: FloatArray
    G: FloatArray

    def on(self, half: Half) -> Sum:
        seen = half.seen(self.first, len(self.weights), len(self.G))
        weights = np.ascontiguousarray(self.weights[:: half.places[1]])
        return partial(kernels.add_repeated, half.panels, seen, weights, np.ascontiguousarray(self.G))


def add_gathered(right: FloatArray, rows: FloatArray, values: FloatArray) -> None:
    """Add to right (T, n, P) what `add_wide` from the first frame on adds to the right-hand side, for P different residuals.

    right: in C order, P a multiple of WIDTH. rows: (T', m, W, n); values: (T', m, P') the residuals, P' <= P. A frame k gets the
    sum of rows[k - s, :, s]^T values[k - s] over s.
    """
    of_rows, lanes = np.ascontiguousarray(rows).ravel(), right.shape[2]
    padded = np.zeros((*values.shape[:2], lanes))
    padded[:, :, : values.shape[2]] = values
    flat = right.reshape(-1)

    def add(part: slice) -> None:
        kernels.gather_rows(of_rows, rows.shape, padded.ravel(), lanes, flat, part.start, part.stop)

    by_halves(len(right), add)


class Factor:
    """Cholesky factor L of the equations' matrix; it takes over the memory of their panels, and their terms are lost.

    L is that of the matrix whose frames stand in the order of elimination: those of the first half, of the second, and between
    both (`halves`). What is given and returned stands in the order of time.

    Raises LinAlgError where the matrix is not positive definite.
    """

    def __init__(self, normal: Normal) -> None:
        self.frames, blocks, self.n = normal.diagonals.shape
        self.reach = blocks - 1
        self.halves = halves_of(normal.panels, self.frames)
        ends = [partial(half.eliminate, normal.terms, normal.diagonals) for half in self.halves]
        if not (all(side_by_side(*ends)) and self.halves[0].eliminate_between(self.halves[1])):
            raise np.linalg.LinAlgError("not positive definite")
        normal.terms.clear()

    def solve(self, right: FloatArray) -> FloatArray:
        """Return A^-1 right for right (T, n) or (T, n, P)."""
        return self.backward(self.forward(right.copy()))

    def forward(self, right: FloatArray) -> FloatArray:
        """Return L^-1 right for right (T, n) or (T, n, P), in its memory where P is a multiple of WIDTH.

        Columns at the left or right edge that are zero from an end of the time on cost nothing there.
        """
        count = right[0, 0].size
        if not count:
            return right
        whole = _whole_lanes(right)
        used = np.asarray(right.reshape(*right.shape[:2], count).any(axis=1))
        columns = [_used_columns(used[:: half.places[1]], half, whole.shape[2]) for half in self.halves]
        own = [partial(half.forward, whole, c, between=False) for half, c in zip(self.halves, columns, strict=True)]
        side_by_side(*own)
        for half, used_there in zip(self.halves[::-1], columns[::-1], strict=True):
            half.forward(whole, used_there, between=True)
        return whole[:, :, :count].reshape(right.shape)

    def backward(self, right: FloatArray) -> FloatArray:
        """Return L^-T right for right (T, n) or (T, n, P), in its memory where P is a multiple of WIDTH."""
        count = right[0, 0].size
        if not count:
            return right
        whole = _whole_lanes(right)
        self.halves[0].backward(whole, between=True)
        side_by_side(*(partial(half.backward, whole, between=False) for half in self.halves))
        return whole[:, :, :count].reshape(right.shape)


def _used_columns(used: BoolArray, half: Half, width: int) -> IntArray:
    """The columns (F, 2) of a right-hand side that are not zero, by frames of a half; used: (T, P) in its order."""
    own, count = used[: half.own], used.shape[1]
    result = np.tile(np.array([0, width], dtype=np.int64), (len(half.panels), 1))
    low = np.minimum.accumulate(np.min(np.where(own, np.arange(count), count), axis=1, initial=count))
    high = np.maximum.accumulate(np.max(np.where(own, np.arange(1, count + 1), 0), axis=1, initial=0))
    low = np.minimum(low, high)
    result[: half.own] = np.stack([low - low % WIDTH, high + (-high) % WIDTH], axis=1)
    return result


def inverse_diagonals(matrices: FloatArray, added: float) -> FloatArray:
    """Return the diagonals (T, n) of the inverses of matrices (T, n, n) + `added` 1, symmetric and positive definite."""
    frames, n, _ = matrices.shape
    found = np.empty((frames, n))

    def fill(part: slice) -> None:
        memory = panels_of(min(part.stop - part.start, _INVERTED_AT_ONCE), 0, n)
        for begin in range(part.start, part.stop, _INVERTED_AT_ONCE):
            some = matrices[begin : min(begin + _INVERTED_AT_ONCE, part.stop)]
            normal = Normal._in(memory[: len(some)], len(some), 0)
            normal.add_shared(0, np.ones(1), some, np.zeros(some.shape[:2]))
            normal.diagonals[:] = added
            right = np.zeros((len(some), n, n + (-n) % WIDTH))
            right[:, np.arange(n), np.arange(n)] = 1.0
            found[begin : begin + len(some)] = np.sum(Factor(normal).forward(right) ** 2, axis=1)[:, :n]

    by_halves(frames, fill)
    return found


def _whole_lanes(right: FloatArray) -> FloatArray:
    """Right (T, n) or (T, n, P) with as many columns of zeros as make whole Lanes: itself, or a copy."""
    count = right[0, 0].size
    if right.ndim == 3 and count % WIDTH == 0 and right.flags.c_contiguous:
        return right
    whole = np.zeros((*right.shape[:2], count + (-count) % WIDTH))
    whole[:, :, :count] = right.reshape(*right.shape[:2], count)
    return whole
