"""Read tables over time: .mot and .sto files with all variants of their header."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Final

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.errors import InputFileError
from biodyn.io.file_access import COPY_AGAIN, file_bytes, limit_column_count
from biodyn.io.text_decoding import clean_text

#: Suffixes of the files: coordinates, forces, results.
TABLE_SUFFIXES: Final = (".mot", ".sto")
#: Largest possible joint angle, rad: larger numbers of a table without a stated unit are degrees.
MOST_RADIANS: Final = 4.0 * np.pi
_MOST_HEADER_LINES: Final = 500
_ROWS: Final = re.compile(r"(?im)^\s*(?:nrows\s*=|datarows\s)\s*([0-9]{1,15})\s*$")
#: Header line stating that the coordinates are already smooth and need no filter. Other programs ignore it.
SMOOTH: Final = "biodynSmooth=yes"
# Spellings of NaN of different C runtimes.
_NO_NUMBER: Final = re.compile(r"[-+]?(1\.#(IND|QNAN|SNAN|INF)\w*|nan\(\w*\))", re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class Storage:
    """A table over time.

    Attributes:
        path: path of the file. names: (C,) names of the columns without time. time_s: (T,) times, s. values: (T, C), NaN if
        missing.
        in_degrees: whether angles are in degrees; None if not stated.
        unclear: names that several columns with different numbers have; only the first is stored, and `column` raises for it.
        notes: findings about the whole table. sha256: hash of the file, "" for a table without a file.
        smooth: whether the file states that biodyn wrote it with a smoothed motion.
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
            raise InputFileError(f"'{self.path.name}' has several columns named '{name}' with different numbers.")
        if name not in self.column_indices:
            shown = ", ".join(self.names[:6])
            raise InputFileError(f"'{self.path.name}' has no column '{name}'.", f"Its columns are {shown} ...")
        return self.values[:, self.column_indices[name]]

    @cached_property
    def column_indices(self) -> Mapping[str, int]:
        """Return the index in `values` of each column, by its name."""
        return {name: place for place, name in enumerate(self.names)}


def are_angles_in_degrees(table: Storage, angles: Sequence[FloatArray]) -> tuple[bool, list[Diagnostic]]:
    """Return whether the columns of angles are in degrees, as stated or by the largest number, and a note on the latter."""
    if table.in_degrees is not None:
        return table.in_degrees, []
    largest = float(np.nanmax(np.abs(angles), initial=0.0))
    unit = "degrees" if largest > MOST_RADIANS else "radians"
    text = f"'{table.path.name}' does not state the unit of its angles; {unit} are assumed (largest number: {largest:.3g})."
    return unit == "degrees", [Diagnostic("angle-unit-assumed", "info", text, value=largest)]


def uniform_rate_hz(time_s: FloatArray) -> float | None:
    """Return the rate (Hz, an integer if one fits) of times (T,) s that are uniform up to rounding; None if they are not."""
    jitter = 0.1  # share of the time between two rows: rounding of the times
    measured = (len(time_s) - 1) / float(time_s[-1] - time_s[0])
    for rate_hz in (float(round(measured)), measured):
        if rate_hz > 0.0 and np.abs(time_s[0] + np.arange(len(time_s)) / rate_hz - time_s).max() * rate_hz <= jitter:
            return rate_hz
    return None


def read_storage(path: str | Path) -> Storage:
    """Read the table of a .mot or .sto file.

    Headers with `nRows=`, with `datarows` (SIMM) and with `DataType=double` are supported. A column name that is the path of a
    state, such as /jointset/hip_r/hip_flexion_r/value, is replaced by its coordinate. Raises InputFileError if the file cannot
    be opened, has no `endheader` or no column `time`, if rows differ in length or are not numeric, or if time does not
    increase.
    """
    path = Path(path)
    content = _read_text_bytes(path)
    lines = content.decode("utf-8", errors="replace").splitlines()
    end = next((k for k, line in enumerate(lines[:_MOST_HEADER_LINES]) if line.strip().lower() == "endheader"), None)
    if end is None:
        raise InputFileError(f"'{path.name}' is not a motion file: it has no line 'endheader' after its header.")
    head = lines[:end]
    body = [line for line in lines[end + 1 :] if line.strip()]
    if len(body) < 2:
        raise InputFileError(f"'{path.name}' holds no rows.")
    labels = [clean_text(label) for label in (body[0].split("\t") if "\t" in body[0] else body[0].split())]
    labels = [label for label in labels if label]
    limit_column_count(path.name, len(labels))
    if not labels or labels[0].lower() != "time":
        raise InputFileError(f"'{path.name}' does not have 'time' as its first column.")
    values = _parse_numbers(path, body[1:], len(labels))
    time_s = values[:, 0]
    if not (np.isfinite(time_s).all() and (np.diff(time_s) > 0.0).all()):
        raise InputFileError(f"The time in '{path.name}' does not increase from row to row.")
    time, *_ = names = [_coordinate_name(label) for label in labels]
    first, unclear = _distinct_columns(names, values)
    del first[time]
    columns = np.ascontiguousarray(values[:, list(first.values())])
    notes = (*_row_count_note(path, head, len(time_s)), *(_second_time_note(path) if time in unclear else ()))
    smooth = any(line.strip() == SMOOTH for line in head)
    digest = sha256(content).hexdigest()
    return Storage(path, tuple(first), time_s.copy(), columns, _states_degrees(head), unclear, notes, digest, smooth)


def _row_count_note(path: Path, head: list[str], row_count: int) -> tuple[Diagnostic, ...]:
    """Return a note if the header states another number of rows; a file cut between two rows looks complete otherwise."""
    said = _ROWS.search("\n".join(head))
    if said is None or int(said[1]) == row_count:
        return ()
    text = f"'{path.name}' states {int(said[1])} rows in its header but contains {row_count}; {row_count} are read."
    return (
        Diagnostic(
            "recording-repaired", "warning", text, value=float(row_count), limit=float(said[1]), hint=COPY_AGAIN
        ),
    )


def _second_time_note(path: Path) -> tuple[Diagnostic, ...]:
    """Return the note on a second column named time."""
    text = f"'{path.name}' has several columns named 'time' with different numbers; the first one is used as time."
    return (Diagnostic("columns-not-read", "warning", text, hint=COPY_AGAIN),)


def _read_text_bytes(path: Path) -> bytes:
    content = file_bytes(path)
    if b"\0" in content[:1000]:
        raise InputFileError(f"'{path.name}' is not a text file; a motion file is a table of numbers as text.")
    return content


def _parse_numbers(path: Path, rows: list[str], columns: int) -> FloatArray:
    try:
        values = np.loadtxt(rows, dtype=np.float64, ndmin=2, comments=None)
    except ValueError:
        values = _parse_rows_singly(path, rows, columns)
    if values.shape[1] != columns:
        raise InputFileError(f"'{path.name}' has {columns} column names, but its rows have {values.shape[1]} numbers.")
    return values


def _parse_rows_singly(path: Path, rows: list[str], columns: int) -> FloatArray:
    """Return the numbers (T, C), parsed row by row with all spellings of NaN; InputFileError states the invalid row."""
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


def _coordinate_name(label: str) -> str:
    """Return the coordinate named by the path of a state (.../knee_angle_r/value -> knee_angle_r); other labels are unchanged."""
    parts = label.split("/")
    return parts[-2] if len(parts) > 2 and parts[-1] == "value" else label


def _distinct_columns(names: list[str], values: FloatArray) -> tuple[dict[str, int], frozenset[str]]:
    """Return the first column of each name, and the names whose columns differ."""
    first: dict[str, int] = {}
    unclear = set()
    for k, name in enumerate(names):
        if not np.array_equal(values[:, first.setdefault(name, k)], values[:, k], equal_nan=True):
            unclear.add(name)
    return first, frozenset(unclear)


def _states_degrees(head: list[str]) -> bool | None:
    text = "\n".join(head).lower()
    said = re.search(r"indegrees\s*=\s*(yes|no|true|false|1|0)", text)
    if said:
        return said[1] in ("yes", "true", "1")
    if "angles are in degrees" in text:
        return True
    if "angles are in radians" in text:
        return False
    return True if re.search(r"^datacolumns\s+\d+", text, re.MULTILINE) else None  # SIMM has no radians
