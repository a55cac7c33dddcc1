"""Cycles of a trial (`cycles.parquet`) as rows of the data set, and back: for tests that make or change single rows."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pyarrow as pa

from biodyn.study.collecting.cycles import (
    CYCLE_COLUMNS,
    CYCLE_SCHEMA,
    cycle_table,
    decode_cycle_table,
    write_cycle_table,
)
from biodyn.study.trial_record import CYCLES_NAME
from biodyn.trial.result import TrialResult


def cycle_rows(result: TrialResult) -> pd.DataFrame:
    """The rows of a result, with full numbers."""
    frame: pd.DataFrame = cycle_table(result).to_pandas()
    return frame


def stored_rows(folder: Path) -> pd.DataFrame:
    """The rows that a trial's folder holds."""
    frame: pd.DataFrame = decode_cycle_table((folder / CYCLES_NAME).read_bytes()).to_pandas()
    return frame


def write_rows(frame: pd.DataFrame, folder: Path) -> None:
    """Write whole curves, row by row, into a trial's folder; where a text is a category, its words keep their order."""
    write_cycle_table(pa.table({n: _column(frame[n], CYCLE_SCHEMA.field(n).type) for n in CYCLE_COLUMNS}), folder)


def _column(values: pd.Series, kind: pa.DataType) -> pa.Array:
    if not pa.types.is_dictionary(kind):
        return pa.array(values, kind, from_pandas=True)
    known = values if isinstance(values.dtype, pd.CategoricalDtype) else values.astype("category")
    codes = pa.array(known.cat.codes.to_numpy().astype("int32"))
    return pa.DictionaryArray.from_arrays(codes, pa.array([str(word) for word in known.cat.categories], pa.string()))
