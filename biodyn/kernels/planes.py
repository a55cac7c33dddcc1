"""Columns of whole numbers as bytes of equal weight side by side, of the differences that leave least."""

from __future__ import annotations

from typing import Final

import numpy as np

from biodyn.kernels.jit import inline, kernel

#: Bytes of a number.
MOST_PLANES: Final = 8
_ONE = np.uint64(1)
_NONE = (np.uint64(0), np.uint64(0), np.uint64(0), np.uint64(0))


@inline
def _differences(column, t, before):
    """The differences of the orders 0 to 3 that end at row t, from those that end `before`; in the first rows of fewer orders.

    Unsigned: these wrap, and of signed ones LLVM takes for granted that they do not.
    """
    value = np.uint64(column[t])
    first = value - before[0] if t > 0 else value
    second = first - before[1] if t > 1 else first
    third = second - before[2] if t > 2 else second
    return value, first, second, third


@inline
def _best_order(column):
    """The order of the differences whose sizes sum up to least."""
    before = _NONE
    none, one, two, three = 0.0, 0.0, 0.0, 0.0
    for t in range(column.shape[0]):
        before = _differences(column, t, before)
        none += abs(np.int64(before[0]))
        one += abs(np.int64(before[1]))
        two += abs(np.int64(before[2]))
        three += abs(np.int64(before[3]))
    order, least = 0, none
    if one < least:
        order, least = 1, one
    if two < least:
        order, least = 2, two
    return 3 if three < least else order


@kernel
def difference_planes(columns, streams, planes, work):
    """Fill streams (C, 2) with order and planes of each of the columns (C, N), planes with their bytes; return how many bytes.

    A column becomes its differences from row to row, of the order (3 at most) whose sizes sum up to least; those of a raw
    double may overflow: they wrap, and wrap back when they are summed. Folded (0, -1, 1, -2 ... are 0, 1, 2, 3 ...) they are
    P bytes each, no more than the largest needs, and stand as (P, N), the lowest byte first. work (N,).
    """
    rows, at = columns.shape[1], 0
    for c in range(columns.shape[0]):
        column = columns[c]
        order = _best_order(column)
        before, every = _NONE, 0
        for t in range(rows):
            before = _differences(column, t, before)
            chosen = before[0]
            if order == 1:
                chosen = before[1]
            elif order == 2:
                chosen = before[2]
            elif order == 3:
                chosen = before[3]
            work[t] = np.int64(chosen << _ONE) ^ (np.int64(chosen) >> 63)
            every |= work[t]
        count = 1
        while count < MOST_PLANES and (every >> 8 * count) != 0:
            count += 1
        streams[c, 0], streams[c, 1] = order, count
        for plane in range(count):
            own = planes[at : at + rows]
            for t in range(rows):
                own[t] = (work[t] >> 8 * plane) & 255
            at += rows
    return at
