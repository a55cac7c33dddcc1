"""Write CSV files ten times faster than pandas, with the same numbers.

Spreadsheets execute cells that begin with = + - @ as formulas. Texts may come from foreign files: such a text is written with
an apostrophe in front, which `read_csv` removes. Numbers are written unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, groupby
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pandas as pd

from biodyn.kernels import table_text as text_kernel

# 10 micrometres, 1e-5 degrees, 10 microseconds: below the accuracy of all data. Full precision is in result.npz.
DECIMALS = 5
_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|-")


def spreadsheet_text(text: str) -> str:
    """Return a text that no spreadsheet reads as a formula; signed numbers are unchanged."""
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def original_text(cell: str) -> str:
    """Return the text that `spreadsheet_text` was applied to."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def read_csv(source: Any, **options: Any) -> pd.DataFrame:
    """Read a table written by `write_csv`, with its original texts; `options` of pandas."""
    return restore_original_texts(pd.read_csv(source, **options))


def restore_original_texts(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table as read from a file, with the original texts and column names."""
    frame = frame.set_axis([original_text(str(name)) for name in frame.columns], axis=1)
    for name, kind in frame.dtypes.items():
        if isinstance(kind, pd.CategoricalDtype) or pd.api.types.is_string_dtype(kind):
            texts = frame[name].unique()
            if any(isinstance(text, str) and text.startswith("'") for text in texts):
                frame[name] = frame[name].map(lambda cell: original_text(cell) if isinstance(cell, str) else cell)
    return frame


def write_csv(
    frame: pd.DataFrame, path: Path, decimals: int = DECIMALS, coarser: Mapping[str, int] | None = None
) -> None:
    """Write a table as UTF-8 CSV with a header line; missing numbers and empty texts are empty cells, never zero.

    coarser: smaller numbers of decimals, by column.
    """
    with path.open("wb") as stream:
        write_rows(frame, stream, True, decimals, coarser)


def write_rows(
    frame: pd.DataFrame,
    stream: BinaryIO,
    header: bool,
    decimals: int = DECIMALS,
    coarser: Mapping[str, int] | None = None,
    max_cells: int = 400_000,
) -> None:
    """Append the rows of a table to an open file, optionally after a header line; see `write_csv`.

    `max_cells` are converted at a time, which bounds the memory.
    """
    if header:
        stream.write((",".join(_quote_cell(spreadsheet_text(str(name))) for name in frame.columns) + "\n").encode())
    if not frame.shape[1]:
        return
    rows = RowFormatter(list(_group_columns(frame, coarser or {})), decimals)
    count = max(1, max_cells // frame.shape[1])
    for start in range(0, len(frame), count):
        stream.write(rows.text(slice(start, min(start + count, len(frame)))))


#: Neighbouring columns of numbers (N, C), NaN if missing; or a column of texts: codes (N,), negative if missing, and the texts.
Columns = np.ndarray | tuple[np.ndarray, Sequence[str]]


def _group_columns(frame: pd.DataFrame, coarser: Mapping[str, int]) -> Iterator[Columns]:
    """Yield the columns in order, neighbouring columns of numbers together (single columns would be much slower)."""
    start = 0
    for is_number, group in groupby(frame.dtypes.tolist(), pd.api.types.is_float_dtype):
        stop = start + len(list(group))
        if is_number:
            values = frame.iloc[:, start:stop].to_numpy(dtype=np.float64, na_value=np.nan)
            rounded = [(i, coarser[name]) for i, name in enumerate(frame.columns[start:stop]) if name in coarser]
            values = values.copy() if rounded else values
            for column, decimals in rounded:
                values[:, column] = np.round(values[:, column], decimals)
            yield values
        else:
            for _, texts in frame.iloc[:, start:stop].items():
                yield _codes_and_texts(texts)
        start = stop


def _codes_and_texts(values: pd.Series) -> tuple[np.ndarray, list[str]]:
    """Return codes of the rows, -1 if missing, and the texts as cells."""
    if isinstance(values.dtype, pd.CategoricalDtype):
        return values.cat.codes.to_numpy(), [_format_cell(text) for text in values.cat.categories]
    if pd.api.types.is_bool_dtype(values.dtype):
        return values.to_numpy().astype(np.int64), ["false", "true"]
    if pd.api.types.is_integer_dtype(values.dtype):
        numbers, codes = np.unique(values.to_numpy(), return_inverse=True)
        return codes, [str(number) for number in numbers]
    codes, texts = pd.factorize(values, use_na_sentinel=True)
    return codes, [_format_cell(text) for text in texts]


def _format_cell(value: Any) -> str:
    return _quote_cell(spreadsheet_text(value) if isinstance(value, str) else str(value))


def _quote_cell(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if set('",\r\n') & set(text) else text


class RowFormatter:
    """Rows of a table as text, with at most `decimals` decimals: the shortest text that reads as the same rounded number."""

    def __init__(self, columns: Sequence[Columns], decimals: int) -> None:
        self._decimals = decimals
        parts = [part for column in columns for part in _replace_unwritable(column, decimals)]
        self._numbers = [part for part in parts if isinstance(part, np.ndarray)]
        self._codes = [part[0] for part in parts if not isinstance(part, np.ndarray)]
        order: list[int] = []  # of each column: number of the numeric column, or -1 - number of the text column
        numeric = texts = 0
        for part in parts:
            if isinstance(part, np.ndarray):
                order += range(numeric, numeric + part.shape[1])
                numeric += part.shape[1]
            else:
                texts += 1
                order.append(-texts)
        self._order = np.array(order, dtype=np.int64)
        encoded = [[text.encode() for text in part[1]] for part in parts if not isinstance(part, np.ndarray)]
        every = [text for column in encoded for text in column]
        self._firsts = list(accumulate((len(column) for column in encoded), initial=0))
        self._begins = np.array(list(accumulate(map(len, every), initial=0)), dtype=np.int64)
        self._characters = np.frombuffer(bytearray(b"".join(every)), dtype=np.uint8)
        longest = sum(max(map(len, column), default=0) for column in encoded)
        self._width = numeric * text_kernel.NUMBER_WIDTH + longest + len(order)

    def text(self, rows: slice) -> memoryview:
        """Return some rows, one line each."""
        count = rows.stop - rows.start
        numbers = np.concatenate([values[rows].T for values in self._numbers] or [np.empty((0, count))])
        codes = np.empty((len(self._codes), count), dtype=np.int64)
        for row, column, first in zip(codes, self._codes, self._firsts[:-1], strict=True):
            row[:] = column[rows]
            row[row >= 0] += first
        buffer = np.empty(count * self._width, dtype=np.uint8)
        columns = np.ascontiguousarray(numbers), self._decimals, codes, self._order
        return buffer[: text_kernel.write_rows(*columns, self._characters, self._begins, buffer)].data


def _replace_unwritable(column: Columns, decimals: int) -> list[Columns]:
    """Return numbers as texts if they are infinite, or too large for the last decimals of a double."""
    if isinstance(column, tuple):
        return [column]
    limit = text_kernel.EXACT / 10.0**decimals
    is_large = np.any((column >= limit) | (column <= -limit), axis=0)
    if not is_large.any():
        return [column]
    return [
        _number_texts(values, decimals) if large else values[:, None]
        for values, large in zip(column.T, is_large, strict=True)
    ]


def _number_texts(values: np.ndarray, decimals: int) -> tuple[np.ndarray, list[str]]:
    texts = ["" if np.isnan(value) else repr(float(value) + 0.0).removesuffix(".0") for value in values.round(decimals)]
    return np.arange(len(texts)), texts
