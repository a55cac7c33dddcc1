"""Rows of a table that do not tell the load although there is one: no number amid stance is not the same as no load."""

from __future__ import annotations

from typing import Final

import numpy as np

from biodyn.conventions import BoolArray, FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.io.files import EXPORT_AGAIN

_LOADED_SHARE: Final = 0.1  # of the largest force
_LEAST_N: Final = 5.0


def least_load_n(size: FloatArray) -> float:
    """Return the force above which a plate is loaded: a tenth of its largest of (T,) forces N, NaN where one is not told."""
    return max(_LEAST_N, _LOADED_SHARE * float(np.nan_to_num(size).max(initial=0.0)))


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


def unknown_note(force: str, file: str, unknown: BoolArray) -> Diagnostic:
    """What is said of such rows (T,) of a force of a file."""
    count = int(unknown.sum())
    return Diagnostic(
        "force-gaps",
        "warning",
        f"{count} rows of {force} in '{file}' do not tell the force or where it acts, amid rows that are loaded: it is not known "
        "there.",
        value=float(count),
        hint=EXPORT_AGAIN,
    )
