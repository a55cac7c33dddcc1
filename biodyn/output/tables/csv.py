"""Fast CSV: the same text pandas would write, in a tenth of the time.

A spreadsheet takes a cell that begins with = + - @ for a formula and runs it. Texts come from files of other people, so
such a text is written with an apostrophe before it, and `read_csv` takes it away again. Numbers are never touched.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as pa_csv

# 10 micrometres, 1e-5 degrees, 10 microseconds: finer than any of it is known. Full precision is in result.npz.
DECIMALS = 5
_SPECIAL = frozenset('",\r\n')
_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|-")


def spreadsheet_text(text: str) -> str:
    """A text as no spreadsheet takes it for a formula; a signed number, as text, is none."""
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def original_text(cell: str) -> str:
    """The text that `spreadsheet_text` wrote."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def read_csv(source: Any, **options: Any) -> pd.DataFrame:
    """Read a table that was written here, with its texts as they were; `options` as of pandas."""
    return with_original_texts(pd.read_csv(source, **options))


def with_original_texts(frame: pd.DataFrame) -> pd.DataFrame:
    """The table as read from a file, with its texts and names of columns as they were before they were written."""
    frame = frame.rename(columns={name: original_text(str(name)) for name in frame.columns})
    for name in frame.columns:
        if isinstance(frame[name].dtype, pd.CategoricalDtype):
            words = frame[name].cat.categories
            if any(isinstance(word, str) and word.startswith("'") for word in words):
                frame[name] = frame[name].cat.rename_categories([original_text(str(word)) for word in words])
        elif frame[name].dtype == object or pd.api.types.is_string_dtype(frame[name].dtype):
            marked = frame[name].astype(str).str.startswith("'")
            if marked.any():
                frame[name] = frame[name].map(lambda cell: original_text(cell) if isinstance(cell, str) else cell)
    return frame


def write_csv(frame: pd.DataFrame, path: Path, decimals: int = DECIMALS) -> None:
    """Write a table as UTF-8 CSV with a header line; missing numbers and empty texts are empty cells, never zero."""
    with path.open("wb") as stream:
        write_rows(frame, stream, header=True, decimals=decimals)


def write_rows(frame: pd.DataFrame, stream: BinaryIO, header: bool, decimals: int = DECIMALS) -> None:
    """Write the rows of a table, after a header line where asked for, to the end of an open file; see `write_csv`."""
    columns = [_column(frame[name], decimals) for name in frame.columns]
    names = [str(name) for name in frame.columns]
    table = pa.table(dict(zip(names, columns, strict=True)))
    # Arrow quotes either every text or none; plain words stay plain.
    quoting = "needed" if any(_has_special(column) for column in columns) else "none"
    options = pa_csv.WriteOptions(include_header=False, quoting_style=quoting)
    if header:
        stream.write((",".join(_quoted(spreadsheet_text(name)) for name in names) + "\n").encode())
    pa_csv.write_csv(table, stream, options)


def _column(values: pd.Series, decimals: int) -> pa.Array:
    if pd.api.types.is_float_dtype(values.dtype):
        rounded = np.round(values.to_numpy(dtype=np.float64), decimals) + 0.0  # + 0.0 turns -0.0 into 0.0
        return pa.array(rounded, from_pandas=True)  # NaN becomes null: an empty cell
    if isinstance(values.dtype, pd.CategoricalDtype):
        codes = pa.array(values.cat.codes.to_numpy(), mask=values.cat.codes.to_numpy() < 0)
        words = pa.array([_text(word) for word in values.cat.categories], type=pa.string())
        return _no_empty(words.take(codes))
    if pd.api.types.is_bool_dtype(values.dtype) or pd.api.types.is_integer_dtype(values.dtype):
        return pa.array(values.to_numpy())
    return _no_empty(pa.array([None if pd.isna(word) else _text(word) for word in values], type=pa.string()))


def _text(word: Any) -> str:
    return spreadsheet_text(word) if isinstance(word, str) else str(word)


def _no_empty(words: pa.Array) -> pa.Array:
    """An empty text would be written as a pair of quotes; write an empty cell instead."""
    return pa.compute.if_else(pa.compute.equal(words, ""), pa.scalar(None, pa.string()), words)


def _has_special(column: pa.Array) -> bool:
    if not pa.types.is_string(column.type):
        return False
    return any(_SPECIAL & set(word) for word in _words(column))


def _words(column: pa.Array) -> Iterable[str]:
    return (word for word in column.unique().to_pylist() if word)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"' if _SPECIAL & set(name) else name
