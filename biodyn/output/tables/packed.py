"""A table in a seventh of the room of its CSV, with the same numbers: what a study keeps of the tables of its trials.

Every column becomes whole numbers: the number of a word in a list, or a value in units of its last written decimal. Curves
that were filtered change little from row to row, so the differences are kept (of the order that leaves least), as bytes of
equal weight side by side, deflated. CSV deflated needs four times as much, Parquet of the same numbers five.

File: `MAGIC`, then one zlib stream of a line of JSON (`decimals`, `rows`, `columns`) and the bytes of all columns.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final

import numpy as np
import pandas as pd

from biodyn.kernels.planes import MOST_PLANES, difference_planes
from biodyn.output.tables.csv import DECIMALS
from biodyn.output.tables.planes import from_planes

MAGIC: Final = b"biodyn packed table 1\n"
_LEVEL = 4  # 6 takes a half longer for 2 % less
_HIGHEST_ORDER = 3  # of `kernels.planes`
# Bounds the memory for the numbers of several columns side by side.
_CELLS_AT_ONCE = 1_000_000
#: Differences of this order of whole numbers below it stay within 63 bits.
_EXACT = 2.0**53
_NUMBER, _RAW, _WHOLE, _FLAG, _WORD = "number", "raw", "whole", "flag", "word"


@dataclass(frozen=True)
class _Column:
    """A column as whole numbers (N,); `words` by code, where they are codes. `missing` (N,) or None."""

    name: str
    kind: str
    counts: np.ndarray
    words: Sequence[str] = ()
    missing: np.ndarray | None = None


def packed(frame: pd.DataFrame, decimals: int = DECIMALS, coarser: Mapping[str, int] | None = None) -> bytes:
    """Return a table as bytes: numbers to `decimals`, as in CSV, of the columns in `coarser` to fewer.

    Missing numbers and empty texts are missing.
    """
    fewer = {} if coarser is None else coarser
    rows = len(frame)
    at_once = max(1, _CELLS_AT_ONCE // max(rows, 1))
    entries: list[dict[str, Any]] = []
    streams: list[list[int]] = []
    pieces: list[bytes] = []
    missing: list[np.ndarray] = []
    for first in range(0, frame.shape[1], at_once):
        columns = _columns(frame.iloc[:, first : first + at_once], decimals, fewer)
        entries += [_entry(column, fewer) for column in columns]
        missing += [column.missing for column in columns if column.missing is not None]
        streams += _streams_of([column.counts for column in columns], pieces)
    for first in range(0, len(missing), at_once):
        streams += _streams_of([flags.astype(np.int64) for flags in missing[first : first + at_once]], pieces)
    head = {"decimals": decimals, "rows": rows, "columns": entries, "streams": streams}
    text = json.dumps(head, separators=(",", ":"), ensure_ascii=True).encode() + b"\n"
    squeezed = zlib.compressobj(_LEVEL)
    return b"".join([MAGIC, *(squeezed.compress(piece) for piece in (text, *pieces)), squeezed.flush()])


def _entry(column: _Column, coarser: Mapping[str, int]) -> dict[str, Any]:
    """What the head says of a column."""
    return {
        "name": column.name,
        "kind": column.kind,
        **({"words": list(column.words)} if column.kind == _WORD else {}),
        **({"missing": True} if column.missing is not None else {}),
        **({"decimals": coarser[column.name]} if column.name in coarser else {}),
    }


def _streams_of(counts: Sequence[np.ndarray], pieces: list[bytes]) -> list[list[int]]:
    """Add the bytes of columns of whole numbers to the pieces; returns order and planes of each, nothing without rows."""
    if not counts or not len(counts[0]):
        return []
    columns, rows = len(counts), len(counts[0])
    streams, work = np.empty((columns, 2), dtype=np.int64), np.empty(rows, dtype=np.int64)
    planes = np.empty(columns * rows * MOST_PLANES, dtype=np.uint8)
    used = difference_planes(np.stack(counts), streams, planes, work)
    pieces.append(planes[:used].tobytes())
    return streams.tolist()


def unpacked(content: bytes) -> pd.DataFrame:
    """Return the table of `packed`, with the dtypes that its CSV is read with; ValueError where the bytes are none."""
    if not content.startswith(MAGIC):
        raise ValueError("it is no packed table of this version")
    try:
        data = zlib.decompress(content[len(MAGIC) :])
        line, _, body = data.partition(b"\n")
        head = json.loads(line)
        return _frame(head, _streams(head, body))
    except (zlib.error, KeyError, TypeError, IndexError, RecursionError) as error:
        raise ValueError(f"it is no whole packed table ({error})") from error


# -- columns as whole numbers ---------------------------------------------------------------------------------------


def _columns(frame: pd.DataFrame, decimals: int, coarser: Mapping[str, int]) -> list[_Column]:
    found: list[_Column] = []
    # as in CSV: a column taken out by itself costs more than its numbers
    for are_numbers, run in groupby(frame.dtypes.tolist(), pd.api.types.is_float_dtype):
        own = frame.iloc[:, len(found) : len(found) + len(list(run))]
        names = [str(name) for name in own.columns]
        if are_numbers:
            values = own.to_numpy(dtype=np.float64, na_value=np.nan).T
            found += _number_columns(names, values, [coarser.get(name, decimals) for name in names])
        else:
            found += [_column(name, own.iloc[:, place]) for place, name in enumerate(names)]
    return found


def _column(name: str, values: pd.Series) -> _Column:
    if pd.api.types.is_bool_dtype(values.dtype):
        return _Column(name, _FLAG, values.to_numpy().astype(np.int64))
    if pd.api.types.is_integer_dtype(values.dtype):
        return _Column(name, _WHOLE, values.to_numpy().astype(np.int64))
    if isinstance(values.dtype, pd.CategoricalDtype):
        words = [str(word) for word in values.cat.categories]
        codes = values.cat.codes.to_numpy().astype(np.int64)
    else:
        codes, found = pd.factorize(values.astype(object), use_na_sentinel=True)
        words = [str(word) for word in found]
    empty = np.isin(codes, [-1, *(code for code, word in enumerate(words) if not word)])
    return _Column(name, _WORD, np.where(empty, 0, codes), words, empty if empty.any() else None)


def _number_columns(names: Sequence[str], values: np.ndarray, decimals: Sequence[int]) -> Iterator[_Column]:
    """The columns of numbers (C, N)."""
    unknown = np.isnan(values)
    with np.errstate(invalid="ignore", over="ignore"):
        scaled = np.rint(values * 10.0 ** np.array(decimals)[:, None])
        exact = (unknown | (np.abs(scaled) < _EXACT)).all(axis=1)
    gaps = unknown.any(axis=1)
    for row, name in enumerate(names):
        if not exact[row]:
            yield _Column(name, _RAW, np.round(values[row], decimals[row]).view(np.int64).copy())
        elif not gaps[row]:
            yield _Column(name, _NUMBER, scaled[row].astype(np.int64))
        else:  # a missing value takes the one before it: no difference
            last = np.maximum.accumulate(np.where(unknown[row], -1, np.arange(values.shape[1])))
            counts = np.where(last >= 0, scaled[row, np.maximum(last, 0)], 0.0).astype(np.int64)
            yield _Column(name, _NUMBER, counts, missing=unknown[row])


# -- differences and planes -----------------------------------------------------------------------------------------


def _streams(head: dict[str, Any], body: bytes) -> list[np.ndarray]:
    """The whole numbers (N,) of every stream."""
    rows, begin, found = int(head["rows"]), 0, []
    if rows < 0 or sum(planes for _, planes in head["streams"]) * rows != len(body):
        raise ValueError("its bytes are not those of its columns")
    for order, planes in head["streams"]:
        if not (0 <= order <= _HIGHEST_ORDER and 1 <= planes <= 8):
            raise ValueError("its columns are not described as this version does")
        part = np.frombuffer(body, dtype=np.uint8, count=planes * rows, offset=begin).reshape(planes, rows)
        begin += planes * rows
        values = from_planes(part).astype(np.int64)
        for number in range(order, 0, -1):
            values[number - 1 :] = np.cumsum(values[number - 1 :])
        found.append(values)
    return found


def _frame(head: dict[str, Any], streams: Sequence[np.ndarray]) -> pd.DataFrame:
    entries = head["columns"]
    units = [10.0 ** int(entry.get("decimals", head["decimals"])) for entry in entries]
    if not streams:
        return pd.DataFrame({entry["name"]: [] for entry in entries})
    missing = iter(streams[len(entries) :])
    return pd.DataFrame(
        {
            entry["name"]: _values(entry, values, unit, next(missing) != 0 if entry.get("missing") else None)
            for entry, unit, values in zip(entries, units, streams, strict=False)
        }
    )


def _values(entry: dict[str, Any], counts: np.ndarray, unit: float, missing: np.ndarray | None) -> Any:
    kind = entry["kind"]
    if kind == _WORD:
        if missing is not None and missing.all():
            return np.full(len(counts), np.nan)
        words = np.array([*entry["words"], np.nan], dtype=object)
        return words[counts if missing is None else np.where(missing, len(words) - 1, counts)]
    if kind == _FLAG:
        return counts != 0
    if kind == _WHOLE:
        return counts
    if kind == _RAW:
        return counts.view(np.float64)
    if kind != _NUMBER:
        raise ValueError(f"it has a column of an unknown kind, '{kind}'")
    values = counts / unit
    if missing is not None:
        values[missing] = np.nan
    elif not (counts % int(unit)).any():
        return counts // int(unit)  # as CSV is read: whole numbers are integers
    return values
