"""Columns taken apart by the kernel against NumPy, and put together again."""

from __future__ import annotations

import numpy as np
import pytest

from biodyn.kernels.planes import MOST_PLANES, difference_planes
from biodyn.output.tables.planes import from_planes, planes_of


def _columns(rows: int) -> np.ndarray:
    """Whole numbers (C, N) of which each order of differences leaves least once, and the bits of doubles."""
    rng = np.random.default_rng(rows)
    sums = [rng.integers(-9, 10, rows)]
    for _ in range(3):
        sums.append(sums[-1].cumsum())
    return np.stack([*sums, np.zeros(rows, dtype=np.int64), rng.normal(size=rows).view(np.int64)])


@pytest.mark.parametrize("rows", [1, 2, 3, 4, 5, 400])
def test_a_column_becomes_the_differences_that_leave_least(rows: int) -> None:
    columns = _columns(rows)
    streams, planes = np.empty((len(columns), 2), dtype=np.int64), np.empty(columns.size * MOST_PLANES, dtype=np.uint8)
    used = difference_planes(columns, streams, planes, np.empty(rows, dtype=np.int64))
    at, orders = 0, []
    for column, (order, count) in zip(columns, streams.tolist(), strict=True):
        own = planes[at : at + count * rows].reshape(count, rows)
        at += count * rows
        differences, least = column.copy(), []
        for number in range(4):
            if number:
                differences[number:] = np.diff(differences[number - 1 :])  # wraps where the bits of doubles overflow
            least.append(np.abs(differences.astype(np.float64)).sum())
            if number == order:
                np.testing.assert_array_equal(own, planes_of(differences))
        assert order == int(np.argmin(least))
        whole = from_planes(own).astype(np.int64)
        for number in range(order, 0, -1):
            whole[number - 1 :] = np.cumsum(whole[number - 1 :])
        np.testing.assert_array_equal(whole, column)
        orders.append(order)
    assert at == used
    if rows > 100:
        assert orders[:4] == [0, 1, 2, 3]
