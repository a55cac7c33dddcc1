"""Curves of a trial (`cycles.packed`) as rows of the data set, and back: for tests that make or change single rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from biodyn.conventions import CYCLE_POINTS
from biodyn.study.collecting.data_set import Shard, joined
from biodyn.study.collecting.schema import CYCLE_COLUMNS
from biodyn.study.collecting.shard import Curves, Words, curves_of, read_curves, write_curves
from biodyn.study.plan import PlannedTrial
from biodyn.trial.result import TrialResult


def rows_of(curves: Curves) -> pd.DataFrame:
    """The rows of a trial as the data set has them, without labels."""
    table = joined([Shard(PlannedTrial("S01", "walk", Path("walk.c3d")), curves)])
    frame: pd.DataFrame = table.select(list(CYCLE_COLUMNS)).to_pandas()
    return frame


def cycle_rows(result: TrialResult) -> pd.DataFrame:
    """The rows of a result, with full numbers."""
    return rows_of(curves_of(result))


def stored_rows(folder: Path) -> pd.DataFrame:
    """The rows that a trial's folder holds."""
    return rows_of(read_curves(folder))


def write_rows(frame: pd.DataFrame, folder: Path) -> None:
    """Write whole curves, row by row, into a trial's folder; where a text is a category, its words keep their order."""
    first = frame.iloc[::CYCLE_POINTS]
    reasons = _words(frame["reason"])
    words = ("", *(word for word in reasons.words if word))
    place = np.array([words.index(word) for word in reasons.words] or [0])
    write_curves(
        Curves(
            first["cycle"].to_numpy(dtype=np.int64),
            *(_words(first[name]) for name in ("side", "variable", "unit")),
            frame["value"].to_numpy(dtype=np.float64).reshape(-1, CYCLE_POINTS),
            place[reasons.codes].reshape(-1, CYCLE_POINTS),
            words,
        ),
        folder,
    )


def _words(column: pd.Series) -> Words:
    known = column if isinstance(column.dtype, pd.CategoricalDtype) else column.astype("category")
    return Words(known.cat.codes.to_numpy().astype(np.int64), tuple(str(word) for word in known.cat.categories))
