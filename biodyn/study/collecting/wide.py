"""study_wide.csv: the curves as spreadsheets and SPSS want them, one row per cycle and variable, one column per percent."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from biodyn.conventions import CYCLE_POINTS
from biodyn.errors import ResultError
from biodyn.study.collecting.schema import LABELS
from biodyn.study.collecting.text import quoted

KEYS = (*LABELS, "cycle", "side", "variable", "unit")
#: Micrometres, microdegrees: what a person will read; the full numbers are in study.parquet.
DECIMALS = 6


def wide_columns(step: int) -> tuple[str, ...]:
    """Return the columns: the keys, then p000 ... p100."""
    return (*KEYS, *(f"p{percent:03d}" for percent in range(0, 101, step)))


def write_wide(data_set: Path, path: Path, step: int = 1, variables: tuple[str, ...] | None = None) -> int:
    """Write every curve of a data set as one line of CSV and return their number; missing values are empty cells.

    Parameters:
        step: distance of the columns, percent. variables: those to write; None = all.
    """
    count = 0
    with pq.ParquetFile(data_set) as file, path.open("wb") as stream:
        stream.write((",".join(wide_columns(step)) + "\n").encode())
        for number in range(file.num_row_groups):
            table = file.read_row_group(number, columns=[*KEYS, "percent", "value"]).combine_chunks()
            if variables is not None:
                table = table.filter(pc.field("variable").isin(list(variables))).combine_chunks()
            if table.num_rows:
                for line in curve_lines(table, step):
                    stream.write(line)
                count += table.num_rows // CYCLE_POINTS
    return count


def curve_lines(table: pa.Table, step: int) -> list[bytes]:
    """Return the lines of a table whose rows go curve by curve, 0-100 % (as they are written)."""
    percent = table["percent"].to_numpy()
    if len(percent) % CYCLE_POINTS or not np.array_equal(
        percent.reshape(-1, CYCLE_POINTS), np.tile(np.linspace(0, 100, CYCLE_POINTS), (len(percent) // CYCLE_POINTS, 1))
    ):
        raise ResultError("A curve of the data set is not 0, 1 ... 100 %.", "Collect the study again.")
    first = np.arange(0, table.num_rows, CYCLE_POINTS)
    picked = np.arange(0, CYCLE_POINTS, step)
    heads = table.select(list(KEYS)).take(pa.array(first)).to_pylist()
    value = table["value"].to_numpy().reshape(-1, CYCLE_POINTS)[:, picked]
    rounded = np.round(value, DECIMALS) + 0.0  # + 0.0 turns -0.0 into 0.0
    texts = pc.fill_null(pc.cast(pa.array(rounded.reshape(-1), from_pandas=True), pa.string()), "")
    offsets = pa.array(np.arange(0, len(texts) + 1, len(picked), dtype=np.int32))
    cells = pc.binary_join(pa.ListArray.from_arrays(offsets, texts), ",").to_pylist()
    return [
        (",".join(quoted(str(head[name])) for name in KEYS) + f",{line}\n").encode()
        for head, line in zip(heads, cells, strict=True)
    ]
