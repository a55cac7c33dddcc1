"""Rows of a table that do not tell the load although there is one: no number amid stance is not the same as no load."""

from __future__ import annotations

import numpy as np

from biodyn.conventions import BoolArray, FloatArray


def unknown_rows(force: FloatArray, point: FloatArray, least_n: float) -> BoolArray:
    """Return the rows (T,) without a force, or with one that acts nowhere, between two rows that are loaded.

    force (T, 3) N; point (T, 3), NaN where the table has none. At rest many programs write no point, and some no force: such
    rows before and behind a stance are no load.
    """
    size = np.linalg.norm(force, axis=1)
    known = np.isfinite(size) & (np.isfinite(point).all(axis=1) | ~(size > least_n))
    loaded = known & (np.nan_to_num(size) > least_n)
    if known.all() or not loaded.any():
        return np.zeros(len(size), dtype=np.bool_)
    rows = np.arange(len(size))
    before = np.maximum.accumulate(np.where(known, rows, -1))
    behind = np.minimum.accumulate(np.where(known, rows, len(rows))[::-1])[::-1]
    inside = (before >= 0) & (behind < len(rows))
    return ~known & inside & loaded[np.clip(before, 0, None)] & loaded[np.clip(behind, None, len(rows) - 1)]
