"""Read a spreadsheet (CSV, TSV or Parquet) as a table over time with the roles of its columns.

The roles of columns are determined by their names, or by a column map (`column_map`, docs/formats.md).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import numpy as np

from biodyn.conventions import BoolArray, FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.errors import InputFileError
from biodyn.io.events import StoredEvent, is_gait_event
from biodyn.io.file_access import COPY_AGAIN, EXPORT_AGAIN, ReaderLimits, file_bytes, file_head, file_sha256
from biodyn.io.opensim.storage import Storage, uniform_rate_hz
from biodyn.io.tables.column_map import ColumnMap, mapped_column_roles, read_column_map
from biodyn.io.tables.column_roles import ColumnRoles
from biodyn.io.tables.text_tables import (
    Section,
    Sheet,
    is_time_or_frame,
    read_sheet,
    seconds_per_time_unit,
    section_name,
    split_cells,
    split_sections,
    time_column,
)
from biodyn.io.text_decoding import clean_text

_HEAD, _HEAD_CHARACTERS = "NO_OF_FRAMES", 200
_LINES: Final = re.compile(r"^EVENT[\t;,][^\r\n]+", re.MULTILINE)
_COMPONENT: Final = re.compile(r"(?i)(?P<label>.+?)[_ ]x")


def nexus_events(section: Section | None) -> list[StoredEvent]:
    """Return the events of the table "Events"; times s on the clock of Nexus, in which frame 1 is at time 0."""
    lines = () if section is None else section.lines
    rows = [split_cells(line) for line in lines]
    heads = [k for k, row in enumerate(rows) if {"name", "context"} <= {cell.lower() for cell in row}]
    if not heads:
        return []
    names = [cell.lower() for cell in rows[heads[0]]]
    columns = {word: names.index(word) for word in ("subject", "context", "name") if word in names}
    time = next((k for k, name in enumerate(names) if name.startswith("time")), None)
    events = []
    for row in rows[heads[0] + 1 :]:
        cells = {word: row[k] for word, k in columns.items() if k < len(row)}
        if cells.get("name"):
            time_s = _parsed_number(row[time]) if time is not None and time < len(row) else math.nan
            events.append(StoredEvent(cells["name"], cells.get("context", ""), time_s, cells.get("subject", "")))
    return events


def qualisys_events(text: str, first_frame: int, start_s: float, rate_hz: float) -> list[StoredEvent]:
    """Return the events in the header of a Qualisys Track Manager file; time s, 0 at its first row.

    first_frame, start_s: number and time (s, clock of the file) of the first row. rate_hz: rows per second.
    An event with a frame and a time that disagree has time NaN.
    """
    events = []
    for line in _LINES.findall(text) if _HEAD in text[:_HEAD_CHARACTERS] else ():
        _, *cells = line.split("\t") if "\t" in line else split_cells(line)
        if len(cells) < len(("name", "frame")):
            continue
        name = cells[0].strip(' "')
        frame = _parsed_number(cells[1])
        time_s = _parsed_number(cells[2]) if len(cells) > 2 else math.nan
        by_frame_s, by_time_s = (frame - first_frame) / rate_hz, time_s - start_s
        frames_apart = (by_time_s - by_frame_s) * rate_hz
        event_s = by_frame_s if math.isnan(by_time_s) else by_time_s
        # times are rounded to 10 microseconds; frames are the nearest ones, counted from 1 (from 0 in old files)
        agree = math.isnan(frames_apart) or -0.6 <= frames_apart <= 1.6
        events.append(StoredEvent(name, "", event_s if agree else math.nan))
    return events


def column_events(sheet: Sheet, start_s: float, rate_hz: float) -> tuple[list[StoredEvent], Sheet]:
    """Return the events stored in columns (time s, 0 at the first row), and the table without these columns.

    A column with the name of a gait event contains the times (s) of the event in its first rows.
    """
    events: list[StoredEvent] = []
    remaining = []
    for k, name in enumerate(sheet.names):
        component = _COMPONENT.fullmatch(name)
        label = component["label"] if component else name
        times = _event_times(sheet.values[:, k], start_s, rate_hz) if is_gait_event(label) else None
        if times is None:
            remaining.append(k)
        else:
            events += [StoredEvent(label, "", time_s) for time_s in times]
    if len(remaining) == len(sheet.names):
        return [], sheet
    return events, replace(sheet, names=tuple(sheet.names[k] for k in remaining), values=sheet.values[:, remaining])


def _event_times(column: FloatArray, start_s: float, rate_hz: float) -> Sequence[float] | None:
    """Return the event times (s, 0 at the first row) in a column (T,); None for any other column."""
    most_of_rows = 0.2  # share of all rows
    known = np.isfinite(column)
    values = column[known]
    on_top = len(values) < len(column) and known[: len(values)].all()
    if len(values) > most_of_rows * len(column) or not on_top or not (np.diff(values) > 0.0).all():
        return None
    frames = (values - start_s) * rate_hz  # within the rows, up to one frame
    is_inside = rate_hz > 0.0 and bool(((frames >= -1.0) & (frames <= len(column))).all())
    return (values - start_s).tolist() if is_inside else None


def _parsed_number(cell: str) -> float:
    """Return a number with a decimal point or comma; NaN for other texts."""
    try:
        return float(cell.strip(' "').replace(",", "."))
    except ValueError:
        return math.nan


#: Largest RMS deviation (s) of time stamps due to queued frames; frame numbers with larger deviations count something else.
_LATE_FRAMES: Final = 2.0
_LEAST_ROWS: Final = 3


def frame_times(stamps: FloatArray, frames: FloatArray | None) -> tuple[BoolArray, FloatArray, float] | None:
    """Return rows to keep (R,), times (s) from frame numbers, and the RMS error (s) of the time stamps; None to use the
    stamps.

    stamps: (R,) s. frames: (R,) frame numbers, None if missing. The stamps are used if they are uniform, if frame numbers are
    missing, or if these are not integers, decrease, or deviate more from a uniform rate than stamps can. The uniform rate is
    that of a least-squares line through the stamps.
    """
    if frames is None or not (np.isfinite(frames).all() and np.isfinite(stamps).all()):
        return None
    if not ((frames == np.round(frames)).all() and (np.diff(frames) >= 0.0).all()):
        return None
    if len(stamps) > 1 and (np.diff(stamps) > 0.0).all() and uniform_rate_hz(stamps) is not None:
        return None
    rows = np.concatenate([[True], np.diff(frames) > 0.0])
    used = stamps[rows]
    if len(used) < _LEAST_ROWS:
        return None
    count = frames[rows] - frames[0]
    step_s, first_s = np.polyfit(count, used - used[0], 1)
    even = used[0] + first_s + step_s * count
    late_s = float(np.sqrt(np.mean((even - used) ** 2)))
    return (rows, even, late_s) if step_s > 0.0 and late_s <= _LATE_FRAMES * step_s else None


def frame_number_times_note(name: str, rows: BoolArray, late_s: float) -> Diagnostic:
    """Return the note on times computed from frame numbers."""
    again = int(np.sum(~rows))
    verbs = ("rows repeat", "are") if again > 1 else ("row repeats", "is")
    repeated = f"; {again} {verbs[0]} the previous frame and {verbs[1]} omitted" if again else ""
    return Diagnostic(
        "recording-repaired",
        "info",
        f"The time stamps of '{name}' deviate by {1e3 * late_s:.3g} ms (RMS) from a uniform rate. Times are "
        f"computed from the frame numbers{repeated}.",
        value=late_s,
        unit="s",
    )


#: A .txt file is a spreadsheet if its first bytes are those of a known program (`is_software_export`).
TEXT_SUFFIXES = (".csv", ".tsv", ".txt")
PARQUET_SUFFIXES = (".parquet",)
#: Suffixes of spreadsheets.
SPREADSHEET_SUFFIXES = (*TEXT_SUFFIXES, *PARQUET_SUFFIXES)
_OF_MOTIVE = {"mocapframe", "deviceframe"}
_FRAME_NAMES = ("frame", "frame#", "frame #", "framenumber", "frame number")
_EXPORTS = (b"NO_OF_FRAMES\t", b"NO_OF_SAMPLES\t", b"FILE_VERSION\t")  # Qualisys Track Manager
_DFLOW = b"TimeStamp\tFrameNumber\t"  # Motek D-Flow
_OVER_COLUMNS = re.compile(rb'"?\t"?[^\t\r\n]+\.c3d"?\s', re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class Spreadsheet:
    """One spreadsheet.

    Attributes:
        table: columns without time and frame numbers. roles: roles of the columns. length: unit of points stated in the file or
            its map, "" if absent. angle: unit of coordinates, "deg", "rad" or "". maps: column map with its hash, if any.
        events: events in the file, time s, 0 at the first row. subject: person in the prefix of the labels.
        first_frame: stored frame number of the first row, 1 if absent.
    """

    table: Storage
    roles: ColumnRoles
    length: str
    angle: str
    maps: tuple[tuple[Path, str], ...]
    events: tuple[StoredEvent, ...] = ()
    subject: str = ""
    first_frame: int = 1


def read_spreadsheet(path: Path) -> Spreadsheet:
    """Read one CSV, TSV or Parquet file; raises InputFileError if it has no table or no time."""
    content = file_bytes(path)
    if path.suffix.lower() in PARQUET_SUFFIXES or content[:4] == b"PAR1":
        return _spreadsheet_with_roles(path, _parquet_sheet(path, content), content)
    text = decode_text(path, content)
    parts = split_sections(text)
    motion = parts.get("Trajectories")
    sheet = read_sheet(path.name, text) if motion is None else read_sheet(path.name, motion.text, motion.first_line - 1)
    stored = nexus_events(parts.get("Events"))
    start_s, frame = _first_row_time_and_frame(sheet)
    events = [replace(event, time_s=event.time_s - start_s) for event in stored]
    if motion is None:
        rate_hz = _row_rate(sheet)
        events += qualisys_events(text, frame, start_s, rate_hz)
        in_columns, sheet = column_events(sheet, start_s, rate_hz)
        events += in_columns
    return replace(
        _spreadsheet_with_roles(path, sheet, content), events=tuple(events), subject=sheet.subject, first_frame=frame
    )


def is_software_export(head: bytes) -> bool:
    """Return whether the first bytes are those of a text export of Nexus, Qualisys Track Manager, Visual3D or D-Flow."""
    text = _first_text_bytes(head)
    first = text.split(b"\n", 1)[0].strip(b' \t\r,;"')
    return (
        first.startswith((*_EXPORTS, _DFLOW))
        or bool(section_name(first.decode("latin-1")))
        or _is_visual3d_export(text)
    )


def _is_visual3d_export(text: bytes) -> bool:
    """Return whether a text starts with an empty cell and the recording name, which Visual3D writes above each column."""
    return _OVER_COLUMNS.match(text) is not None


def _first_text_bytes(head: bytes) -> bytes:
    """Return the first bytes of a text without the byte order mark, with UTF-16 converted to one byte per letter."""
    if is_utf16(head):
        return head[: len(head) // 2 * 2].decode("utf-16", "replace").encode()
    return head.removeprefix(b"\xef\xbb\xbf")


def is_utf16(content: bytes) -> bool:
    """Return whether a text is UTF-16 with a byte order mark."""
    return content[:2] in (b"\xff\xfe", b"\xfe\xff")


def contains_trajectories(path: Path) -> bool:
    """Return whether a text contains trajectories from Nexus, Qualisys Track Manager, Visual3D or D-Flow; False if unreadable.

    Files of Nexus and Visual3D with only other tables do not count.
    """
    head_bytes = 65_536  # Visual3D writes the recording name above each column
    if path.suffix.lower() not in TEXT_SUFFIXES:
        return False
    try:
        head = file_head(path, head_bytes)
        if not is_software_export(head):
            return False
        narrow = _first_text_bytes(head)
        if _is_visual3d_export(narrow):  # otherwise results of Visual3D
            return b"\tTARGET" in narrow
        if narrow.startswith(_DFLOW):
            return b".PosX\t" in narrow
        return b"MARKER_NAMES" in narrow or (
            b"NO_OF_" not in narrow and "Trajectories" in split_sections(decode_text(path, file_bytes(path)))
        )
    except InputFileError:
        return False


def decode_text(path: Path, content: bytes) -> str:
    """Return the text of the bytes of a file; InputFileError if they are not text."""
    if b"\0" in content[:1000] and not is_utf16(content):
        raise InputFileError(f"'{path.name}' is not a text table. Export it as CSV or TSV.")
    return content.decode("utf-16" if is_utf16(content) else "utf-8-sig", errors="replace")


def _parquet_sheet(path: Path, content: bytes) -> Sheet:
    """Return the numeric columns of a Parquet file; InputFileError if it is not valid."""
    try:
        import pyarrow  # imported here because it takes 0.2 s
        import pyarrow.parquet
    except ModuleNotFoundError as error:
        raise InputFileError(
            f"'{path.name}' is a Parquet file and requires the package pyarrow, which is not installed.",
            "Install it with pip install 'biodyn[study]', or export the file as CSV.",
        ) from error
    try:
        file = pyarrow.parquet.ParquetFile(pyarrow.BufferReader(content))
        if file.metadata.num_rows * max(file.metadata.num_columns, 1) > ReaderLimits.PARQUET_CELLS:
            raise InputFileError(f"'{path.name}' contains more numbers than a recording of motion can have.")
        table = file.read(use_threads=False)
        names, columns = [], []
        for name, column in zip(table.column_names, table.columns, strict=True):
            kind = column.type
            if pyarrow.types.is_floating(kind) or pyarrow.types.is_integer(kind):
                names.append(clean_text(str(name)))
                columns.append(np.asarray(column.to_numpy(), dtype=np.float64))
    except (pyarrow.ArrowException, OSError, MemoryError, UnicodeDecodeError) as error:
        said = clean_text((str(error).splitlines() or [""])[0][:100]).rstrip(".")
        raise InputFileError(f"'{path.name}' is not a valid Parquet file: {said}.", COPY_AGAIN) from error
    if not columns or not len(columns[0]) or len(set(names)) != len(names):
        raise InputFileError(f"'{path.name}' contains no table of numbers with column names.")
    return Sheet(tuple(names), np.column_stack(columns), math.nan, "", time_column(names))


def _spreadsheet_with_roles(path: Path, sheet: Sheet, content: bytes) -> Spreadsheet:
    given = read_column_map(path)
    place, content_of_map = given
    _require_plate_positions(path, sheet, content_of_map)
    sheet, time_s, used, notes = _rows_with_time(path, sheet, given)
    columns_used = [k for k, name in enumerate(sheet.names) if name not in used]
    roles, renamed, constant_columns = mapped_column_roles(tuple(sheet.names[k] for k in columns_used), given)
    names = [renamed.get(sheet.names[k], sheet.names[k]) for k in columns_used]
    constants = [np.full(len(time_s), value) for value in constant_columns.values()]
    angle = content_of_map.get("angle") or ""
    table = Storage(
        path,
        (*names, *constant_columns),
        time_s,
        np.column_stack([sheet.values[:, columns_used], *constants]),
        in_degrees=None if not angle else angle == "deg",
        notes=(*notes, *_duplicate_note(path, sheet, roles)),
        sha256=sha256(content).hexdigest(),
    )
    return Spreadsheet(
        table,
        roles.rename_coordinates(renamed),
        content_of_map.get("length") or sheet.length,
        angle,
        () if place is None else ((place, file_sha256(place)),),
    )


def _require_plate_positions(path: Path, sheet: Sheet, columns: Mapping[str, Any]) -> None:
    """Raise InputFileError for a plate file of OptiTrack Motive: forces in plate axes without the position of the plate."""
    if {name.lower() for name in sheet.names} >= _OF_MOTIVE and not columns.get("plates"):
        raise InputFileError(
            f"'{path.name}' is a force plate export of OptiTrack Motive: it contains forces in plate axes but not "
            "the position of the plate.",
            "Export the trial as C3D, which contains both, or specify [[plates]] with corners in a column map (docs/formats.md).",
        )


def _first_row_time_and_frame(sheet: Sheet) -> tuple[float, int]:
    """Return time (s, 0 at frame 1) and frame number of the first row; 0 and 1 if unknown."""
    frames = _frame_numbers(sheet)
    number = 1.0 if frames is None or not float(frames[0]).is_integer() else max(float(frames[0]), 1.0)
    start_s = 0.0 if not sheet.rate_hz > 0.0 else (number - 1.0) / sheet.rate_hz
    if sheet.time is not None:
        start_s = seconds_per_time_unit(sheet.time) * float(sheet.values[0, sheet.names.index(sheet.time)])
    return start_s if math.isfinite(start_s) else 0.0, int(number)


def _frame_numbers(sheet: Sheet) -> FloatArray | None:
    """Return the frame numbers (T,) of the rows; None without a column of frame numbers."""
    return next((sheet.values[:, k] for k, name in enumerate(sheet.names) if name.lower() in _FRAME_NAMES), None)


def _row_rate(sheet: Sheet) -> float:
    """Return the number of rows per second: as stated in the header, else from the time column; NaN if unknown."""
    if sheet.rate_hz > 0.0 or sheet.time is None or len(sheet.values) < 2:
        return sheet.rate_hz
    first_s, last_s = seconds_per_time_unit(sheet.time) * sheet.values[[0, -1], sheet.names.index(sheet.time)]
    return float((len(sheet.values) - 1) / (last_s - first_s)) if last_s > first_s else math.nan


def _duplicate_note(path: Path, sheet: Sheet, roles: ColumnRoles) -> tuple[Diagnostic, ...]:
    """Return the note on several columns with one name and different numbers, if no column map selects one."""
    unread = [name for name in sheet.doubled if f"{name} (1)" in roles.others]
    if not unread:
        return ()
    text = f"'{path.name}' has several columns named '{unread[0]}' with different numbers; none of them is read."
    hint = f"{EXPORT_AGAIN} Or select '{unread[0]} (1)' or '{unread[0]} (2)' in a column map."
    return (Diagnostic("columns-not-read", "warning", text, value=float(len(unread)), hint=hint),)


def _rows_with_time(
    path: Path, sheet: Sheet, given: ColumnMap
) -> tuple[Sheet, FloatArray, set[str], tuple[Diagnostic, ...]]:
    """Return the rows that are used, their times (T,) s, the names of the columns for time and frame number, and notes."""
    counters = {name for name in sheet.names if is_time_or_frame(name)}
    place, columns = given
    named = columns.get("time") or sheet.time
    if named and named not in sheet.names:
        raise InputFileError(f"'{place}' refers to the time column '{named}', which does not exist.")
    if columns.get("rate_hz") is None and named:
        stamps = seconds_per_time_unit(named) * sheet.values[:, sheet.names.index(named)]
        # time stamps state when frames arrived; in other tables, frame numbers may have been renumbered after a cut
        numbered = frame_times(stamps, _frame_numbers(sheet)) if "stamp" in named.lower() else None
        if numbered is not None:
            rows, time_s, late_s = numbered
            selected = replace(sheet, values=sheet.values[rows])
            return selected, time_s, counters | {named}, (frame_number_times_note(path.name, rows, late_s),)
        if not (np.isfinite(stamps).all() and (np.diff(stamps) > 0.0).all()):
            raise InputFileError(f"The time in '{path.name}' (column '{named}') does not increase from row to row.")
        return sheet, stamps, counters | {named}, ()
    rate_hz = float(columns.get("rate_hz") or sheet.rate_hz)
    if not (math.isfinite(rate_hz) and rate_hz > 0.0):
        raise InputFileError(
            f"'{path.name}' has neither a time column nor a frame rate.",
            f"State the rate in {path.stem}.columns.toml: rate_hz = 100.0 (docs/formats.md).",
        )
    return sheet, np.arange(len(sheet.values)) / rate_hz, counters | ({named} if named else set()), ()
