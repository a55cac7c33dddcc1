"""Read text tables with any header that programs export: names, units, rate and columns.

Supported are one header row (LASI_X, LASI_Y ...), a row of names above a row of axes (Nexus, Visual3D), preceding lines with a
keyword and its value (QTM), and several consecutive tables (the first is read; of the `sections` of Nexus the requested one).
"""

from __future__ import annotations

import csv
import itertools
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.errors import InputFileError
from biodyn.io.file_access import COPY_AGAIN, limit_column_count
from biodyn.io.text_decoding import clean_text

#: Titles that are alone on the line above a table.
SECTIONS: Final = (
    "Devices",
    "Events",
    "Gait Cycle Parameters",
    "Joints",
    "Model Outputs",
    "Objects",
    "Segments",
    "Trajectories",
)
_KNOWN: Final = {name.casefold(): name for name in SECTIONS}
_SEPARATORS: Final = ' \t,;"'


@dataclass(frozen=True)
class Section:
    """One table of a text: its lines without the title, and the line number (from 1) of the first line in the file."""

    lines: tuple[str, ...]
    first_line: int

    @property
    def text(self) -> str:
        """Return the lines of the table, joined to one text."""
        return "\n".join(self.lines)


def split_sections(text: str) -> Mapping[str, Section]:
    """Return the tables of a text by title, in the order of the file; empty if the text has no titles."""
    lines = text.splitlines()
    begins = [k for k, line in enumerate(lines) if section_name(line)]
    parts = itertools.pairwise([*begins, len(lines)]) if begins else ()
    return MappingProxyType({section_name(lines[k]): Section(tuple(lines[k + 1 : end]), k + 2) for k, end in parts})


def section_name(line: str) -> str:
    """Return the title in a line; "" for any other line."""
    return _KNOWN.get(line.strip(_SEPARATORS).casefold(), "")


_UNITS: Final = {
    "mm": "mm",
    "millimeters": "mm",
    "millimetres": "mm",
    "m": "m",
    "meters": "m",
    "metres": "m",
    "cm": "cm",
}
_UNIT_CELL: Final = re.compile(r"(?i)[(\[]?\s*(mm|cm|m|millimet(?:er|re)s|met(?:er|re)s)(?:/s\S*)?\s*[)\]]?")
_AXIS: Final = re.compile("(?i)[xyz]('{0,2})")  # X' and X'': velocity and acceleration in Nexus exports
_EVENT: Final = "EVENT\t"  # QTM: one header line per event
_LISTED: Final = "MARKER_NAMES"  # QTM: names of points, not of columns
_TIME: Final = re.compile(r"(?i)(time(?:[ _]?stamp)?|t|zeit)(?:[ _]*[(\[]?(s|sec|seconds|ms)?[)\]]?)?")
_FRAME: Final = re.compile(r"(?i)(frame|frame ?#|frames?_?(no|nr|number)?|item|sub ?frame|index|sample)")
_RATE: Final = re.compile(r"(?i)(frequency|rate|frame ?rate|data ?rate|sampling ?rate)(?:[ _]*[(\[]?hz[)\]]?)?")


@dataclass(frozen=True, eq=False)
class Sheet:
    """A table of numbers.

    Attributes:
        names: (C,) unique column names. values: (T, C), NaN for empty cells. rate_hz: rate in the header, NaN if absent.
        length: unit of the points in the header, "" if absent. time: name of the time column, None if absent.
        subject: common prefix of all names, as in SUBJECT:LASI; "" if none exists or several.
        doubled: names of several columns with different numbers, which are numbered: NAME (1), NAME (2).
    """

    names: tuple[str, ...]
    values: FloatArray
    rate_hz: float
    length: str
    time: str | None
    doubled: tuple[str, ...] = ()
    subject: str = ""


def read_sheet(name: str, text: str, before: int = 0) -> Sheet:
    """Return the first table of numbers in a text; the text starts after `before` lines of the file.

    Raises InputFileError without a table, or if rows differ in length.
    """
    most_header_rows = 60
    lines = text.splitlines()
    separator, comma = _detect_separator(lines)
    widest = max((line.count(separator) for line in lines[:most_header_rows]), default=0)
    limit_column_count(name, widest + 1)
    most = most_header_rows + sum(line.startswith(_EVENT) for line in lines)
    first = next((k for k, line in enumerate(lines[:most]) if _is_data_row(line, separator, comma)), None)
    if first is None:
        raise InputFileError(f"'{name}' is not a table: it has no row of numbers in its first {most} lines.")
    above = [line for line in lines[:first] if not line.startswith(_EVENT)]
    head = [[clean_text(cell.strip('"')) for cell in _split_line(line, separator)] for line in above]
    values = _parse_rows(
        name,
        _rows_of_table(lines[first:], separator, comma),
        separator,
        comma,
        before + first,
        _named_column_count(head),
    )
    width = values.shape[1]
    names, length, subject = _column_names(head, width)
    used = [
        k for k in range(width) if names[k] and not (np.isnan(values[:, k]).all() and names[k].startswith("column "))
    ]
    named, columns, doubled = _unique_columns([names[k] for k in used], values[:, used])
    time = time_column(named)
    if time is not None:  # a row without a time is ignored
        columns = columns[np.isfinite(columns[:, named.index(time)])]
    return Sheet(tuple(named), np.ascontiguousarray(columns), _stated_rate(head), length, time, doubled, subject)


def time_column(names: Sequence[str]) -> str | None:
    """Return the name of the column with the times; None if no column name denotes time."""
    return next((name for name in names if _TIME.fullmatch(name)), None)


def seconds_per_time_unit(name: str) -> float:
    """Return the seconds per unit of a time column, by its name."""
    return 1e-3 if "ms" in name.lower() else 1.0


def is_time_or_frame(name: str) -> bool:
    """Return whether a column name denotes times or frame numbers."""
    return bool(_TIME.fullmatch(name) or _FRAME.fullmatch(name))


def _detect_separator(lines: Sequence[str]) -> tuple[str, bool]:
    """Return the separator of the cells, and whether numbers have decimal commas."""
    some = [line for line in lines[:200] if line.strip()][-50:]
    counts = {sign: sorted(line.count(sign) for line in some)[len(some) // 2] if some else 0 for sign in "\t;,"}
    best = max(counts, key=lambda sign: counts[sign])  # tabs are preferred if counts are equal
    if best == "," and counts["\t"] + counts[";"] > 0:
        best = "\t" if counts["\t"] >= counts[";"] else ";"
    return best, best != "," and any(re.search(r"\d,\d", line) for line in some)


def split_cells(line: str) -> list[str]:
    """Return the cells of a header line, split at its most frequent separator."""
    separator = max("\t;,", key=line.count)
    return [clean_text(cell.strip().strip('"')) for cell in _split_line(line, separator)]


def _split_line(line: str, separator: str) -> list[str]:
    """Return the cells of a line (a quoted text is one cell); InputFileError for a cell that is too long."""
    if '"' not in line:
        return line.split(separator)
    try:
        return next(csv.reader([line], delimiter=separator), [])
    except csv.Error as error:
        text = f"A cell of the table has more than {csv.field_size_limit():,} characters; the file is not a table of a recording."
        raise InputFileError(text, COPY_AGAIN) from error


def _parse_cells(line: str, separator: str, comma: bool) -> list[str]:
    cells = [cell.strip().strip('"') for cell in _split_line(line, separator)]
    return [cell.replace(",", ".") for cell in cells] if comma else cells


def _is_data_row(line: str, separator: str, comma: bool) -> bool:
    """Return whether a line has at least two cells, and all cells that are not empty are numbers."""
    cells = [cell for cell in _parse_cells(line, separator, comma) if cell]
    return len(cells) > 1 and all(_parse_number(cell) is not None for cell in cells)


def _parse_number(cell: str) -> float | None:
    if not cell or cell.lower() in ("nan", "na", "null", "none", "-", "no data", "nodata"):
        return math.nan
    try:
        return None if "_" in cell else float(cell)
    except ValueError:
        return None


def _rows_of_table(lines: Sequence[str], separator: str, comma: bool) -> list[str]:
    """Return the rows of the first table, which ends at a blank line that is followed by another table.

    A blank line between rows is a row of empty cells. If there were blank lines, a row of numbers after the next one belongs
    to the table, too, and is reported if it is truncated.
    """
    cells = lines[0].count(separator)
    rows: list[str] = []
    blank = 0  # lines since the last row
    spaced = False
    for line in lines:
        if not line.strip(" \t,;"):
            blank += 1
            continue
        if blank and not ((spaced or line.count(separator) == cells) and _is_data_row(line, separator, comma)):
            break
        rows += [separator * cells] * blank + [line]
        spaced |= blank > 0
        blank = 0
    return rows


def _parse_rows(
    name: str, rows: Sequence[str], separator: str, comma: bool, first: int, named: int | None
) -> FloatArray:
    """Return the values (T, C) of the rows; `first`: 0-based line of the first row, `named`: number of named columns."""
    quick = _parse_rows_fast(rows, separator, comma)
    if quick is not None and named in (None, quick.shape[1]):
        return quick
    table = [_parse_cells(row, separator, comma) for row in rows]
    width = _column_count(name, table, first, named)
    values = np.full((len(rows), width), np.nan)
    for k, cells in enumerate(table):
        for column, cell in enumerate(cells[:width]):
            number = _parse_number(cell)
            if number is None:
                raise InputFileError(
                    f"Line {first + k + 1} of '{name}' holds '{clean_text(cell[:40])}' where a number is expected."
                )
            values[k, column] = number
    return values


def _parse_rows_fast(rows: Sequence[str], separator: str, comma: bool) -> FloatArray | None:
    """Return the values (T, C) of rows of numbers and empty cells; None if there are other cells or rows differ in width."""
    pointed = (row.replace(",", ".") for row in rows) if comma else rows
    try:
        return np.asarray(
            np.loadtxt(
                (_with_nan_cells(row, separator) for row in pointed), delimiter=separator, ndmin=2, comments=None
            )
        )
    except ValueError:
        return None


def _with_nan_cells(row: str, separator: str) -> str:
    """Return a row of text with "nan" inserted in its empty cells."""
    if row[:1] == separator or row[-1:] == separator:
        row = f"{'nan' * row.startswith(separator)}{row}{'nan' * row.endswith(separator)}"
    two, filled = 2 * separator, f"{separator}nan{separator}"
    return row.replace(two, filled).replace(two, filled) if two in row else row


def _column_count(name: str, table: Sequence[Sequence[str]], first: int, named: int | None) -> int:
    """Return the number of columns: the named ones, else as in most rows; InputFileError for a row of another width.

    Additional empty cells at the end of a row are accepted.
    """
    width = Counter(map(len, table)).most_common(1)[0][0] if named is None else named
    for k, cells in enumerate(table):
        if len(cells) < width or any(cells[width:]):
            expected = f"most rows have {width}" if named is None else f"there are {width} column names"
            raise InputFileError(
                f"Line {first + k + 1} of '{name}' has {len(cells)} cells; {expected}.",
                "Possible causes: decimal commas in a table separated by commas, or a truncated line.",
            )
    return width


# -- header ----------------------------------------------------------------------------------------------------------


def _named_column_count(head: Sequence[Sequence[str]]) -> int | None:
    """Return the number of cells of the row with column names, without empty cells at its end; None without such a row."""
    rows = [row for row in head if sum(map(bool, row)) > 1 and not _states_rate(row)]
    axes = next((row for row in reversed(rows) if _matching_share(row, _AXIS.fullmatch) > 0.8), None)
    if axes is None and any(row[0].upper() == _LISTED for row in rows):
        rows = [row for row in rows if any(_TIME.fullmatch(cell) or _FRAME.fullmatch(cell) for cell in row)]
    words = [row for row in rows if _matching_share(row, _UNIT_CELL.fullmatch) <= 0.8]
    row = axes if axes is not None else words[-1] if words else []
    return max((k + 1 for k, cell in enumerate(row) if cell), default=None)


def _column_names(head: Sequence[Sequence[str]], width: int) -> tuple[list[str], str, str]:
    """Return the column names, the unit of length in a row of units, and the person in the prefix of all names."""
    listed = next((row[1:] for row in head if row and row[0].upper() == _LISTED), None)
    rows = [
        list(row[:width]) + [""] * (width - len(row)) for row in head if sum(map(bool, row)) > 1 or len(row) == width
    ]
    units = [row for row in rows if _matching_share(row, _UNIT_CELL.fullmatch) > 0.8]
    length = ""
    if units:
        counts = Counter(_UNIT_CELL.fullmatch(cell)[1].lower() for cell in units[-1] if _UNIT_CELL.fullmatch(cell))  # type: ignore[index]
        length = _UNITS[counts.most_common(1)[0][0]]
    axes = next((row for row in reversed(rows) if _matching_share(row, _AXIS.fullmatch) > 0.8), None)
    if axes is None:
        words = [row for row in rows if row not in units and not _states_rate(row)]
        if listed and not (words and len(set(words[-1])) > 0.8 * width and words[-1][0].upper() != _LISTED):
            return _point_columns([name for name in listed if name], width), length or "mm", ""
        return (words[-1] if words else [f"column {k + 1}" for k in range(width)]), length, ""
    candidates = [row for row in rows if row is not axes and row not in units and len(set(filter(None, row))) > 1]
    over = max(candidates, key=lambda row: len(set(filter(None, row))), default=[""] * width)
    points = list(dict.fromkeys(filter(None, over)))
    subjects = {before.strip() for before, _, label in (point.rpartition(":") for point in points) if before and label}
    plain = [point.rpartition(":")[2].strip() for point in points]
    # several persons: their labels are equal except for the names
    several = len(subjects) > 1 and len(set(plain)) < len(plain)
    names, last = [], ""
    for k in range(width):
        axis = axes[k].lower()
        last = (over[k].strip() if several else over[k].rpartition(":")[2].strip()) or last
        alone = "".join(axes[k + 1 : k + 2]).lower() != "y"
        if alone and _TIME.fullmatch(over[k].strip()):  # Visual3D also gives this column a component
            names.append(over[k].strip())
            continue
        is_place = axis in ("x", "y", "z")
        names.append(
            f"{last}_{axis}" if is_place else f"{last} {axis}" if _AXIS.fullmatch(axis) else axes[k] or over[k]
        )
    return names, length, subjects.pop() if len(subjects) == 1 else ""


def _point_columns(labels: Sequence[str], width: int) -> list[str]:
    """Return the column names of a QTM table: three columns per marker, after frame and time if these are present."""
    before = width - 3 * len(labels)
    lead = {0: [], 1: ["Time"], 2: ["Frame", "Time"]}.get(before)
    if lead is None:
        return [f"column {k + 1}" for k in range(width)]
    return [*lead, *(f"{label}_{axis}" for label in labels for axis in "xyz")]


def _matching_share(row: Sequence[str], fits: object) -> float:
    """Return the fraction of the non-empty cells that match a pattern; cells that name frame or time are not counted."""
    cells = [cell for cell in row if cell and not _FRAME.fullmatch(cell) and not _TIME.fullmatch(cell)]
    return sum(fits(cell) is not None for cell in cells) / len(cells) if cells else 0.0  # type: ignore[operator]


def _stated_rate(head: Sequence[Sequence[str]]) -> float:
    """Return the rate, Hz: after a keyword, or alone on a line in Nexus exports; NaN if not stated."""
    for row in head:
        cells = [cell for cell in row if cell]
        if _states_rate(row):
            return _parse_header_number(cells[1]) or math.nan
        if len(cells) == 1 and (value := _parse_header_number(cells[0])) is not None and math.isfinite(value):
            return value
    return math.nan


def _parse_header_number(cell: str) -> float | None:
    """Return the number in a header cell, with decimal point or comma; None for any other text."""
    return _parse_number(cell.replace(",", "."))


def _states_rate(row: Sequence[str]) -> bool:
    """Return whether a line consists of the keyword of the frame rate and a number."""
    cells = [cell for cell in row if cell]
    return len(cells) >= 2 and bool(_RATE.fullmatch(cells[0])) and _parse_header_number(cells[1]) is not None


def _unique_columns(names: Sequence[str], values: FloatArray) -> tuple[list[str], FloatArray, tuple[str, ...]]:
    """Return unique column names, their values and the numbered names: equal columns of one name are merged, others numbered."""
    first: dict[str, dict[bytes, int]] = {}
    for k, name in enumerate(names):
        numbers = np.where(np.isnan(values[:, k]), np.nan, values[:, k] + 0.0)  # one representation of NaN and of zero
        first.setdefault(name, {}).setdefault(numbers.tobytes(), k)
    numbered = {
        k: f"{name} ({n})" for name, same in first.items() if len(same) > 1 for n, k in enumerate(same.values(), 1)
    }
    columns = sorted(k for same in first.values() for k in same.values())
    doubled = tuple(name for name, same in first.items() if len(same) > 1)
    return [numbered.get(k, names[k]) for k in columns], values[:, columns], doubled
