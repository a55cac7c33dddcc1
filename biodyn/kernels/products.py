"""Products of matrices whose sums stay in the processor's registers (Goto & van de Geijn 2008, doi 10.1145/1356052.1356053).

Six rows at a time are summed over one Lanes of columns, or over two where the processor has registers for that: every sum is the
same one, to the last bit. Matrices lie in flat memory; the last Lanes of a row may reach beyond its end, into what is not used.
`np.int64` stands where a plain number would have numba compile a part once more for that number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from llvmlite import binding

from biodyn.kernels.jit import inline, part
from biodyn.kernels.lanes import WIDTH, broadcast, load, number, store

_ROWS = 6  # of a tile: with two of four doubles each, twelve of the sixteen registers of AVX2


def _has_many_registers() -> bool:
    """Whether what is compiled runs on thirty-two registers of eight doubles."""
    config: Any = numba.config  # its type leaves out what the environment sets
    chosen = config.CPU_FEATURES
    return bool(binding.get_host_cpu_features().get("avx512f") if chosen is None else "+avx512f" in chosen.split(","))


#: Whether two Lanes of columns are summed at once.
_IN_PAIRS = _has_many_registers()


@inline
def _zero():
    return broadcast(0.0)


@inline
def _more(s, a, x):
    return s + a * x


@inline
def _zeros():
    return broadcast(0.0), broadcast(0.0)


@inline
def _load_pair(memory, at):
    return load(memory, at), load(memory, at + WIDTH)


@inline
def _store_pair(memory, at, pair):
    store(memory, at, pair[0])
    store(memory, at + WIDTH, pair[1])


@inline
def _more_of_pair(s, a, x):
    return s[0] + a * x[0], s[1] + a * x[1]


def _tiles_of(zero: Any, loaded: Any, stored: Any, more: Any) -> Callable[..., None]:
    """What sums some columns: one Lanes of them, or two, as the four functions have it."""

    @inline
    def tiles(C, c, to_next, A, a, along, across, B, b, below, rows, count, groups, a_leap, b_leap, sign):
        """Add to the columns of C from c on, sign times; a group of A and of B begins a leap after the one before."""
        for i in range(0, rows, _ROWS):
            # of a last tile that is not full the last row is done several times
            last = rows - 1 - i
            r1, r2, r3, r4, r5 = min(1, last), min(2, last), min(3, last), min(4, last), min(5, last)
            a1, a2, a3, a4, a5 = r1 * across, r2 * across, r3 * across, r4 * across, r5 * across
            s0, s1, s2, s3, s4, s5 = zero(), zero(), zero(), zero(), zero(), zero()
            for group in range(groups):
                at, x = a + i * across + group * a_leap, b + group * b_leap
                for _ in range(count):
                    row = loaded(B, x)
                    s0 = more(s0, number(A, at), row)
                    s1 = more(s1, number(A, at + a1), row)
                    s2 = more(s2, number(A, at + a2), row)
                    s3 = more(s3, number(A, at + a3), row)
                    s4 = more(s4, number(A, at + a4), row)
                    s5 = more(s5, number(A, at + a5), row)
                    at += along
                    x += below
            y = c + i * to_next
            y1, y2, y3 = y + r1 * to_next, y + r2 * to_next, y + r3 * to_next
            y4, y5 = y + r4 * to_next, y + r5 * to_next
            s0, s1, s2 = more(loaded(C, y), sign, s0), more(loaded(C, y1), sign, s1), more(loaded(C, y2), sign, s2)
            s3, s4, s5 = more(loaded(C, y3), sign, s3), more(loaded(C, y4), sign, s4), more(loaded(C, y5), sign, s5)
            stored(C, y, s0)
            stored(C, y1, s1)
            stored(C, y2, s2)
            stored(C, y3, s3)
            stored(C, y4, s4)
            stored(C, y5, s5)

    return tiles


_one = _tiles_of(_zero, load, store, _more)
_two = _tiles_of(_zeros, _load_pair, _store_pair, _more_of_pair)


@part
def add_products(C, c, to_next, A, a, along, across, B, b, below, rows, lanes, count, sign, more):
    """Add sign sum_p A[p, i] B[p, j] to C[i, j] for `rows` i, p < count, and j from 0 on in whole Lanes until `lanes`.

    C[i, j] is C[c + i to_next + j], A[p, i] is A[a + p along + i across], B[p, j] is B[b + p below + j]. What has
    i >= j + WIDTH + more may be left out.
    """
    j = 0
    if _IN_PAIRS:
        while j + WIDTH < lanes:
            used = min(rows, j + 2 * WIDTH + more)
            _two(C, c + j, to_next, A, a, along, across, B, b + j, below, used, count, 1, 0, 0, sign)
            j += 2 * WIDTH
    while j < lanes:
        used = min(rows, j + WIDTH + more)
        _one(C, c + j, to_next, A, a, along, across, B, b + j, below, used, count, 1, 0, 0, sign)
        j += WIDTH


@part
def add_squares(C, c, to_next, A, a, below, n, begin, rows, count, groups, to_group, most):
    """Add sum_s sum_p A[s, p, i] A[s, p, j] to C[i, j] for begin <= i < begin + rows, p < count, and i <= j < n most.

    C[i, j] is C[c + i to_next + j], A[s, p, i] is A[a + s to_group + p below + i] for s < groups, which is 0 beyond n (most - s)
    numbers of a row, for so many as two Lanes hold. So are numbers of C that lie behind its rows.
    """
    j, one, c, lanes = begin, np.int64(1), c + begin * to_next, n * most
    if _IN_PAIRS:
        while j + WIDTH < lanes:
            used, left = min(rows, j - begin + 2 * WIDTH), min(groups, most - j // n)
            _two(
                C, c + j, to_next, A, a + begin, below, one, A, a + j, below, used, count, left, to_group, to_group, 1.0
            )
            j += 2 * WIDTH
    while j < lanes:
        used, left = min(rows, j - begin + WIDTH), min(groups, most - j // n)
        _one(C, c + j, to_next, A, a + begin, below, one, A, a + j, below, used, count, left, to_group, to_group, 1.0)
        j += WIDTH


@part
def add_grouped(C, c, to_next, A, a, along, B, b, below, rows, lanes, count, groups, a_leap, b_leap):
    """Add sum_s sum_p A[s, p, i] B[s, p, j] to C[i, j] for `rows` i, p < count, s < groups, and j < `lanes`, whole Lanes.

    C[i, j] is C[c + i to_next + j], A[s, p, i] is A[a + s a_leap + p along + i], B[s, p, j] is B[b + s b_leap + p below + j].
    """
    j, one = 0, np.int64(1)
    if _IN_PAIRS:
        while j + WIDTH < lanes:
            _two(C, c + j, to_next, A, a, along, one, B, b + j, below, rows, count, groups, a_leap, b_leap, 1.0)
            j += 2 * WIDTH
    while j < lanes:
        _one(C, c + j, to_next, A, a, along, one, B, b + j, below, rows, count, groups, a_leap, b_leap, 1.0)
        j += WIDTH
