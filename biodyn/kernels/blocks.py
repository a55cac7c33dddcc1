"""Eight frames on their way between arrays (T, n), a row a frame, and lane memory, WIDTH frames of a number side by side.

Numbers move in blocks of WIDTH frames by WIDTH columns that are transposed in registers; one by one they would cost more
than the arithmetic of some kernels. What does not fill a block moves one by one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from biodyn.conventions import BoolArray, IntArray
from biodyn.kernels.jit import inline, part
from biodyn.kernels.lanes import VECTOR, WIDTH

_intrinsic: Any = intrinsic  # mypy would see the typing context as an argument of the caller

# which numbers of two vectors of eight, the second's counted from 8, make a new one
_FIRST_OF_PAIRS, _SECOND_OF_PAIRS = (0, 8, 2, 10, 4, 12, 6, 14), (1, 9, 3, 11, 5, 13, 7, 15)
_EVEN_PIECES, _ODD_PIECES = (0, 1, 4, 5, 8, 9, 12, 13), (2, 3, 6, 7, 10, 11, 14, 15)


def _transposed(builder: Any, rows: list[Any]) -> list[Any]:
    """Return the columns of an 8 x 8 matrix given by its rows: pairs of rows mixed, then pieces of two numbers sorted."""

    def mixed(a: Any, b: Any, chosen: tuple[int, ...]) -> Any:
        return builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(ir.IntType(32), WIDTH), chosen))

    columns: list[Any] = [None] * WIDTH
    for parity, chosen in enumerate((_FIRST_OF_PAIRS, _SECOND_OF_PAIRS)):
        # piece c of pairs[r] is rows 2 r and 2 r + 1 of column 2 c + parity
        pairs = [mixed(rows[r], rows[r + 1], chosen) for r in range(0, WIDTH, 2)]
        for odd, pieces in enumerate((_EVEN_PIECES, _ODD_PIECES)):
            upper, lower = mixed(pairs[0], pairs[1], pieces), mixed(pairs[2], pairs[3], pieces)
            columns[2 * odd + parity] = mixed(upper, lower, _EVEN_PIECES)
            columns[2 * odd + parity + 4] = mixed(upper, lower, _ODD_PIECES)
    return columns


@_intrinsic
def _move_block(typingctx, source, at, step, target, to, leap):
    """Put row r, column c of a block of C-ordered `source` into row c, column r of one of C-ordered `target`.

    Row r begins at number at + r step of the source, row c at number to + c leap of the target.
    """
    if not all(isinstance(array, types.Array) and array.layout == "C" for array in (source, target)):
        return None
    sig = types.void(source, types.intp, types.intp, target, types.intp, types.intp)

    def codegen(context, builder, signature_, args):
        def pointer(k, row):
            data = cgutils.create_struct_proxy(signature_.args[k])(context, builder, args[k]).data
            where = builder.add(args[k + 1], builder.mul(args[k + 2], ir.Constant(args[k + 2].type, row)))
            return builder.bitcast(builder.gep(data, [where]), VECTOR.as_pointer())

        rows = [builder.load(pointer(0, r), align=8) for r in range(WIDTH)]
        for c, column in enumerate(_transposed(builder, rows)):
            builder.store(column, pointer(3, c), align=8)
        return context.get_dummy_value()

    return sig, codegen


@inline
def is_whole(frames, first):
    """Tell whether `frames` (T, n) has whole blocks of WIDTH columns in rows first .. first + WIDTH - 1."""
    return first + WIDTH <= frames.shape[0] and frames.shape[1] >= WIDTH


@part
def fill(memory, frames, first):
    """Put rows first .. first + WIDTH - 1 of `frames` (T, n) into lane memory; past the end the last row repeats."""
    last, n = frames.shape[0] - 1, frames.shape[1]
    if is_whole(frames, first):
        for j in range(0, n, WIDTH):
            at = min(j, n - WIDTH)  # the last block may overlap the one before
            _move_block(frames, first * n + at, n, memory, at * WIDTH, WIDTH)
    else:
        for lane in range(WIDTH):
            row = min(first + lane, last)
            for j in range(n):
                memory[j * WIDTH + lane] = frames[row, j]


@part
def drain(memory, frames, first):
    """Put lane memory into rows first .. first + WIDTH - 1 of `frames` (T, n), as far as there are rows."""
    n = frames.shape[1]
    if is_whole(frames, first):
        for j in range(0, n, WIDTH):
            at = min(j, n - WIDTH)
            _move_block(memory, at * WIDTH, WIDTH, frames, first * n + at, n)
    else:
        for lane in range(min(WIDTH, frames.shape[0] - first)):
            for j in range(n):
                frames[first + lane, j] = memory[j * WIDTH + lane]


@part
def drain_blocks(memory, frames, first, starts):
    """`drain` of those columns only that lie in the blocks of WIDTH beginning at `starts`; for rows that `is_whole`."""
    n = frames.shape[1]
    for at in starts:
        _move_block(memory, at * WIDTH, WIDTH, frames, first * n + at, n)


def blocks_with(wanted: BoolArray) -> IntArray:
    """Return where the blocks of WIDTH columns begin that hold the columns `wanted` (n,), for `drain_blocks`."""
    starts = np.arange(0, len(wanted), WIDTH)
    held = np.logical_or.reduceat(wanted, starts) if len(wanted) else np.zeros(0, dtype=np.bool_)
    return np.asarray(np.minimum(starts[held], max(len(wanted) - WIDTH, 0)), dtype=np.int64)
