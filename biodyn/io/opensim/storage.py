"""Tables through time: .mot and .sto in every variant of their header."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Final

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.errors import InputFileError
from biodyn.io.files import COPY_AGAIN, check_columns, file_bytes
from biodyn.io.text import clean_text

#: What its files are called: coordinates, forces, results.
TABLE_SUFFIXES: Final = (".mot", ".sto")
#: No joint turns farther, rad: larger numbers of a table that does not tell its unit are degrees.
MOST_RADIANS: Final = 4.0 * np.pi
_MOST_HEADER_LINES: Final = 500
_ROWS: Final = re.compile(r"(?im)^\s*(?:nrows\s*=|datarows\s)\s*([0-9]{1,15})\s*$")
#: A line of a header: the coordinates need no filter, they passed one. Other programs pass over it.
SMOOTH: Final = "biodynSmooth=yes"
# What C runtimes print for a number that is none.
_NO_NUMBER: Final = re.compile(r"[-+]?(1\.#(IND|QNAN|SNAN|INF)\w*|nan\(\w*\))", re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class Storage:
    """One table.

    Attributes:
        path: of the file. names: (C,) of the columns without time. time_s: (T,). values: (T, C), NaN if missing.
        in_degrees: whether its angles are in degrees; None if not stated.
        unclear: names of several columns with different numbers; only the first is stored, and `column` raises for it.
        notes: findings of the table as a whole. sha256: of the bytes that were read, "" without a file of its own.
        smooth: the file says that biodyn wrote it of a motion that was smoothed.
    """

    path: Path
    names: tuple[str, ...]
    time_s: FloatArray
    values: FloatArray
    in_degrees: bool | None
    unclear: frozenset[str] = frozenset()
    notes: tuple[Diagnostic, ...] = ()
    sha256: str = ""
    smooth: bool = False

    def column(self, name: str) -> FloatArray:
        """Return one column (T,). Raises InputFileError if it is missing or ambiguous."""
        if name in self.unclear:
            raise InputFileError(f"'{self.path.name}' has several columns '{name}' with different numbers.")
        if name not in self.places:
            shown = ", ".join(self.names[:6])
            raise InputFileError(f"'{self.path.name}' has no column '{name}'.", f"It has {shown} ...")
        return self.values[:, self.places[name]]

    @cached_property
    def places(self) -> Mapping[str, int]:
        """The place of each column among `names`."""
        return {name: place for place, name in enumerate(self.names)}


def even_rate_hz(time_s: FloatArray) -> float | None:
    """Return the rate of rows that are even but for the rounding of their times (T,), a whole number if one fits; else None."""
    jitter = 0.1  # of the time between two rows: rounding of the times
    measured = (len(time_s) - 1) / float(time_s[-1] - time_s[0])
    for rate_hz in (float(round(measured)), measured):
        if rate_hz > 0.0 and np.abs(time_s[0] + np.arange(len(time_s)) / rate_hz - time_s).max() * rate_hz <= jitter:
            return rate_hz
    return None


def read_storage(path: str | Path) -> Storage:
    """Return the table of a .mot or .sto file.

    Headers with `nRows=`, with `datarows` (SIMM) and with `DataType=double` are read. Columns that hold a state's path, as
    /jointset/hip_r/hip_flexion_r/value, are named by its coordinate. Raises InputFileError in one sentence: cannot be opened, no
    `endheader`, no column `time`, rows of different lengths, not numbers, time that does not increase.
    """
    path = Path(path)
    content = _content(path)
    lines = content.decode("utf-8", errors="replace").splitlines()
    end = next((k for k, line in enumerate(lines[:_MOST_HEADER_LINES]) if line.strip().lower() == "endheader"), None)
    if end is None:
        raise InputFileError(f"'{path.name}' is not a motion file: no line 'endheader' ends its header.")
    head = lines[:end]
    body = [line for line in lines[end + 1 :] if line.strip()]
    if len(body) < 2:
        raise InputFileError(f"'{path.name}' holds no rows.")
    labels = [clean_text(label) for label in (body[0].split("\t") if "\t" in body[0] else body[0].split())]
    labels = [label for label in labels if label]
    check_columns(path.name, len(labels))
    if not labels or labels[0].lower() != "time":
        raise InputFileError(f"'{path.name}' has no column 'time' as its first one.")
    values = _numbers(path, body[1:], len(labels))
    time_s = values[:, 0]
    if not (np.isfinite(time_s).all() and (np.diff(time_s) > 0.0).all()):
        raise InputFileError(f"The time in '{path.name}' does not increase from row to row.")
    time, *_ = names = [_plain(label) for label in labels]
    first, unclear = _named(names, values)
    del first[time]
    columns = np.ascontiguousarray(values[:, list(first.values())])
    notes = (*_counted(path, head, len(time_s)), *(_second_time(path) if time in unclear else ()))
    smooth = any(line.strip() == SMOOTH for line in head)
    digest = sha256(content).hexdigest()
    return Storage(path, tuple(first), time_s.copy(), columns, _in_degrees(head), unclear, notes, digest, smooth)


def _counted(path: Path, head: list[str], row_count: int) -> tuple[Diagnostic, ...]:
    """Return a note where the header states another number of rows: a copy that broke off between two rows looks whole."""
    said = _ROWS.search("\n".join(head))
    if said is None or int(said[1]) == row_count:
        return ()
    text = f"'{path.name}' announces {int(said[1])} rows and holds {row_count}; {row_count} are read."
    return (
        Diagnostic(
            "recording-repaired", "warning", text, value=float(row_count), limit=float(said[1]), hint=COPY_AGAIN
        ),
    )


def _second_time(path: Path) -> tuple[Diagnostic, ...]:
    """Return the note on a second column called time, which lost its own name."""
    text = f"'{path.name}' has several columns 'time' with different numbers: the first one is used as time."
    return (Diagnostic("columns-not-read", "warning", text, hint=COPY_AGAIN),)


def _content(path: Path) -> bytes:
    content = file_bytes(path)
    if b"\0" in content[:1000]:
        raise InputFileError(f"'{path.name}' is not text: motion files are tables of numbers.")
    return content


def _numbers(path: Path, rows: list[str], columns: int) -> FloatArray:
    try:
        values = np.loadtxt(rows, dtype=np.float64, ndmin=2, comments=None)
    except ValueError:
        values = _row_by_row(path, rows, columns)
    if values.shape[1] != columns:
        raise InputFileError(f"'{path.name}' names {columns} columns, but its rows have {values.shape[1]} numbers.")
    return values


def _row_by_row(path: Path, rows: list[str], columns: int) -> FloatArray:
    """Parse row by row, with other spellings of NaN and an error for the row that is wrong."""
    table = []
    for k, row in enumerate(rows):
        words = _NO_NUMBER.sub("nan", row).split()
        try:
            table.append([float(word) for word in words])
        except ValueError as error:
            raise InputFileError(f"Row {k + 1} of '{path.name}' is not numeric: '{clean_text(row[:60])}'.") from error
        if len(words) != columns:
            raise InputFileError(
                f"Row {k + 1} of '{path.name}' has {len(words)} numbers, but there are {columns} columns."
            )
    return np.array(table)


def _plain(label: str) -> str:
    """Return the coordinate of a state's path, any other label as it is."""
    parts = label.split("/")
    return parts[-2] if len(parts) > 2 and parts[-1] == "value" else label


def _named(names: list[str], values: FloatArray) -> tuple[dict[str, int], frozenset[str]]:
    """Return the first column of each name, and the names of columns that differ."""
    first: dict[str, int] = {}
    unclear = set()
    for k, name in enumerate(names):
        if not np.array_equal(values[:, first.setdefault(name, k)], values[:, k], equal_nan=True):
            unclear.add(name)
    return first, frozenset(unclear)


def _in_degrees(head: list[str]) -> bool | None:
    text = "\n".join(head).lower()
    said = re.search(r"indegrees\s*=\s*(yes|no|true|false|1|0)", text)
    if said:
        return said[1] in ("yes", "true", "1")
    if "angles are in degrees" in text:
        return True
    if "angles are in radians" in text:
        return False
    return True if re.search(r"^datacolumns\s+\d+", text, re.MULTILINE) else None  # SIMM knows no radians
