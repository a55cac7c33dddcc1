"""Read a spreadsheet as a table over time with the roles of its columns: CSV and TSV as text, Parquet.

The roles of columns are determined by their names, or by a column map (`column_map`, docs/formats.md).
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Final

import numpy as np

from biodyn.conventions import BoolArray, FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.errors import InputFileError
from biodyn.io.events import StoredEvent, is_gait_event
from biodyn.io.files import COPY_AGAIN, EXPORT_AGAIN, file_bytes, file_head, file_sha256
from biodyn.io.opensim.storage import Storage, even_rate_hz
from biodyn.io.tables.column_map import ColumnMap, column_map, map_file, mapped_columns
from biodyn.io.tables.columns import ColumnRoles
from biodyn.io.tables.sheet import (
    Section,
    Sheet,
    is_time_or_frame,
    read_sheet,
    section_name,
    sections,
    split_cells,
    time_of,
    time_scale,
)
from biodyn.io.text import clean_text

_HEAD, _HEAD_CHARACTERS = "NO_OF_FRAMES", 200
_LINES: Final = re.compile(r"^EVENT[\t;,][^\r\n]+", re.MULTILINE)
_COMPONENT: Final = re.compile(r"(?i)(?P<label>.+?)[_ ]x")


@dataclass(frozen=True)
class Rows:
    """The rows of a table: number and time (s) of the first one on the file's clock, their count and rate."""

    first_frame: int
    start_s: float
    count: int
    rate_hz: float

    def holds(self, time_s: float) -> bool:
        """Return whether a time from the first row on is within the rows, by a frame more or less."""
        return -1.0 <= time_s * self.rate_hz <= self.count


def nexus_events(section: Section | None) -> list[StoredEvent]:
    """Return the events of the table "Events", on the clock of Nexus: frame 1 is at time 0; none without such a table."""
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
            time_s = _number(row[time]) if time is not None and time < len(row) else math.nan
            events.append(StoredEvent(cells["name"], cells.get("context", ""), time_s, cells.get("subject", "")))
    return events


def qualisys_events(text: str, rows: Rows) -> list[StoredEvent]:
    """Return the events in the head of a file of Qualisys Track Manager, time 0 at its first row.

    An event with different frame and time has no time (NaN).
    """
    events = []
    for line in _LINES.findall(text) if _HEAD in text[:_HEAD_CHARACTERS] else ():
        _, *cells = line.split("\t") if "\t" in line else split_cells(line)
        if len(cells) < len(("name", "frame")):
            continue
        name, frame, time_s = cells[0].strip(' "'), _number(cells[1]), _number(cells[2]) if len(cells) > 2 else math.nan
        by_frame_s, by_time_s = (frame - rows.first_frame) / rows.rate_hz, time_s - rows.start_s
        frames_apart = (by_time_s - by_frame_s) * rows.rate_hz
        event_s = by_frame_s if math.isnan(by_time_s) else by_time_s
        # times are written to 10 microseconds; frames are the nearest ones and count from 1, in old files from 0
        agree = math.isnan(frames_apart) or -0.6 <= frames_apart <= 1.6
        events.append(StoredEvent(name, "", event_s if agree else math.nan))
    return events


def column_events(sheet: Sheet, rows: Rows) -> tuple[list[StoredEvent], Sheet]:
    """Return the events that columns hold, time 0 at the first row, and the table without these columns.

    A column that is named as an event of a foot holds its times (s) in its first rows. Other columns stay.
    """
    events: list[StoredEvent] = []
    remaining = []
    for k, name in enumerate(sheet.names):
        component = _COMPONENT.fullmatch(name)
        label = component["label"] if component else name
        times = _times_of(sheet.values[:, k], rows) if is_gait_event(label) else None
        if times is None:
            remaining.append(k)
        else:
            events += [StoredEvent(label, "", time_s) for time_s in times]
    if len(remaining) == len(sheet.names):
        return [], sheet
    return events, replace(sheet, names=tuple(sheet.names[k] for k in remaining), values=sheet.values[:, remaining])


def _times_of(column: FloatArray, rows: Rows) -> Sequence[float] | None:
    """Return the times of the events of a column (T,), 0 at the first row; None for any other column."""
    most_of_rows = 0.2  # of all rows
    known = np.isfinite(column)
    values = column[known]
    on_top = len(values) < len(column) and known[: len(values)].all()
    if len(values) > most_of_rows * len(column) or not on_top or not (np.diff(values) > 0.0).all():
        return None
    times = (values - rows.start_s).tolist()
    return times if rows.rate_hz > 0.0 and all(map(rows.holds, times)) else None


def _number(cell: str) -> float:
    """Return a number with a point or a comma; NaN where it is none."""
    try:
        return float(cell.strip(' "').replace(",", "."))
    except ValueError:
        return math.nan


#: RMS of how late stamps of queued frames are against each other; numbers of frames that say more count something else.
_LATE_FRAMES: Final = 2.0
_LEAST_ROWS: Final = 3


def frame_times(stamps: FloatArray, frames: FloatArray | None) -> tuple[BoolArray, FloatArray, float] | None:
    """Return when the rows were recorded by the numbers (R,) of their frames, None where their stamps (R,) s tell it.

    The stamps are used if they are uniform, without numbers, and if these are not integers, decrease, or differ more from a
    uniform rate than stamps can be late. The steady rate is the straight line of least squares through the stamps.
    """
    if frames is None or not (np.isfinite(frames).all() and np.isfinite(stamps).all()):
        return None
    if not ((frames == np.round(frames)).all() and (np.diff(frames) >= 0.0).all()):
        return None
    if len(stamps) > 1 and (np.diff(stamps) > 0.0).all() and even_rate_hz(stamps) is not None:
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


def late_note(name: str, rows: BoolArray, late_s: float) -> Diagnostic:
    """Return the note on times that are computed from frame numbers."""
    again = int(np.sum(~rows))
    repeated = (
        f"; {again} {'rows repeat' if again > 1 else 'row repeats'} the frame before and are left out" if again else ""
    )
    return Diagnostic(
        "recording-repaired",
        "info",
        f"The stamps of '{name}' deviate by {1e3 * late_s:.3g} ms (RMS) from a uniform rate: the time is computed from the "
        f"frame numbers{repeated}.",
        value=late_s,
        unit="s",
    )


#: A .txt file is a spreadsheet if its first bytes belong to a known program (`is_export`).
TEXT_SUFFIXES = (".csv", ".tsv", ".txt")
PARQUET_SUFFIXES = (".parquet",)
#: Files that are spreadsheets, by their names.
SPREADSHEET_SUFFIXES = (*TEXT_SUFFIXES, *PARQUET_SUFFIXES)
_MOST_PARQUET_CELLS = 200_000_000
_OF_MOTIVE = {"mocapframe", "deviceframe"}
_FRAME_NAMES = ("frame", "frame#", "frame #", "framenumber", "frame number")
_EXPORTS = (b"NO_OF_FRAMES\t", b"NO_OF_SAMPLES\t", b"FILE_VERSION\t")  # of Qualisys Track Manager
_DFLOW = b"TimeStamp\tFrameNumber\t"  # of Motek D-Flow
_OVER_COLUMNS = re.compile(rb'"?\t"?[^\t\r\n]+\.c3d"?\s', re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class Spreadsheet:
    """One spreadsheet.

    Attributes:
        table: its columns without time and frames. roles: of the columns. length: unit of points that the file or its map
            states, "" where neither does. angle: of coordinates, "deg", "rad" or "". maps: the column map with its hash, if any.
        events: that the file lists, time 0 at the first row; subject: the person that it names before the labels.
        first_frame: the file's number of the first row, 1 where it has none.
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
    """Read one CSV, TSV or Parquet file; raises InputFileError without a table or a time."""
    content = file_bytes(path)
    if path.suffix.lower() in PARQUET_SUFFIXES or content[:4] == b"PAR1":
        return _with_roles(path, _parquet_sheet(path, content), content)
    text = text_of(path, content)
    parts = sections(text)
    motion = parts.get("Trajectories")
    sheet = read_sheet(path.name, text) if motion is None else read_sheet(path.name, motion.text, motion.first_line - 1)
    stored = nexus_events(parts.get("Events"))
    start_s, frame = _begin(sheet)
    events = [replace(event, time_s=event.time_s - start_s) for event in stored]
    if motion is None:
        rows = Rows(frame, start_s, len(sheet.values), _row_rate(sheet))
        events += qualisys_events(text, rows)
        in_columns, sheet = column_events(sheet, rows)
        events += in_columns
    return replace(_with_roles(path, sheet, content), events=tuple(events), subject=sheet.subject, first_frame=frame)


def is_export(head: bytes) -> bool:
    """Return whether the first bytes of a text belong to an export of Nexus, Qualisys Track Manager, Visual3D or D-Flow."""
    text = _narrow(head)
    first = text.split(b"\n", 1)[0].strip(b' \t\r,;"')
    return first.startswith((*_EXPORTS, _DFLOW)) or bool(section_name(first.decode("latin-1"))) or _is_of_visual3d(text)


def _is_of_visual3d(text: bytes) -> bool:
    """Return whether a text begins with an empty cell and the name of the recording, as Visual3D writes over each column."""
    return _OVER_COLUMNS.match(text) is not None


def _narrow(head: bytes) -> bytes:
    """Return the first bytes of a text without its mark, with one byte a letter where it has two."""
    if is_wide(head):
        return head[: len(head) // 2 * 2].decode("utf-16", "replace").encode()
    return head.removeprefix(b"\xef\xbb\xbf")


def is_wide(content: bytes) -> bool:
    """Return whether a text begins as one of two bytes a letter (UTF-16)."""
    return content[:2] in (b"\xff\xfe", b"\xfe\xff")


def exports_trajectories(path: Path) -> bool:
    """Whether a text exports trajectories of Nexus, Qualisys Track Manager, Visual3D or D-Flow; False where it cannot be read.

    Nexus and Visual3D export other tables alone, too: such a file is none.
    """
    head_bytes = 65_536  # Visual3D names the recording over each column
    if path.suffix.lower() not in TEXT_SUFFIXES:
        return False
    try:
        head = file_head(path, head_bytes)
        if not is_export(head):
            return False
        narrow = _narrow(head)
        if _is_of_visual3d(narrow):  # else results of its own
            return b"\tTARGET" in narrow
        if narrow.startswith(_DFLOW):
            return b".PosX\t" in narrow
        return b"MARKER_NAMES" in narrow or (
            b"NO_OF_" not in narrow and "Trajectories" in sections(text_of(path, file_bytes(path)))
        )
    except InputFileError:
        return False


def text_of(path: Path, content: bytes) -> str:
    """Return the text of a file's bytes; InputFileError where it is none."""
    if b"\0" in content[:1000] and not is_wide(content):
        raise InputFileError(f"'{path.name}' is not text: a spreadsheet was expected.")
    return content.decode("utf-16" if is_wide(content) else "utf-8-sig", errors="replace")


def _parquet_sheet(path: Path, content: bytes) -> Sheet:
    """Return the columns of numbers of a Parquet file; InputFileError in one sentence where it is none."""
    try:
        import pyarrow  # a fifth of a second that no other format should wait for
        import pyarrow.parquet
    except ModuleNotFoundError as error:
        raise InputFileError(
            f"'{path.name}' is Parquet, which needs pyarrow; it is not installed.",
            "Install: pip install 'biodyn[study]', or export the file as CSV.",
        ) from error
    try:
        file = pyarrow.parquet.ParquetFile(pyarrow.BufferReader(content))
        if file.metadata.num_rows * max(file.metadata.num_columns, 1) > _MOST_PARQUET_CELLS:
            raise InputFileError(f"'{path.name}' holds more numbers than any motion.")
        table = file.read()
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
        raise InputFileError(f"'{path.name}' holds no table of numbers with a name for each column.")
    return Sheet(tuple(names), np.column_stack(columns), math.nan, "", time_of(names))


def _with_roles(path: Path, sheet: Sheet, content: bytes) -> Spreadsheet:
    given = column_map(path)
    _require_placed(path, sheet, given)
    sheet, time_s, used, notes = _timed(path, sheet, given)
    columns_used = [k for k, name in enumerate(sheet.names) if name not in used]
    roles, renamed, constant_columns = mapped_columns(tuple(sheet.names[k] for k in columns_used), given)
    names = [renamed.get(sheet.names[k], sheet.names[k]) for k in columns_used]
    constants = [np.full(len(time_s), value) for value in constant_columns.values()]
    place, angle = map_file(path), given.text("angle")
    table = Storage(
        path,
        (*names, *constant_columns),
        time_s,
        np.column_stack([sheet.values[:, columns_used], *constants]),
        in_degrees=None if not angle else angle == "deg",
        notes=(*notes, *_doubled(path, sheet, roles)),
        sha256=sha256(content).hexdigest(),
    )
    return Spreadsheet(
        table,
        roles.renamed(renamed),
        given.text("length") or sheet.length,
        angle,
        () if place is None else ((place, file_sha256(place)),),
    )


def _require_placed(path: Path, sheet: Sheet, given: ColumnMap) -> None:
    """InputFileError for a plate of OptiTrack Motive: forces in the plate's own axes, and not where these are."""
    if {name.lower() for name in sheet.names} >= _OF_MOTIVE and not given.content.get("plates"):
        raise InputFileError(
            f"'{path.name}' is a force plate as OptiTrack Motive exports it: it holds forces in the plate's axes, but not "
            "the position of the plate.",
            "Export the trial as C3D, which holds both; or give [[plates]] with their corners in a column map (docs/formats.md).",
        )


def _begin(sheet: Sheet) -> tuple[float, int]:
    """Return the time of the first row by the clock with frame 1 at time 0, s, and its frame; 0 and 1 if not known."""
    frames = _frame_numbers(sheet)
    number = 1.0 if frames is None or not float(frames[0]).is_integer() else max(float(frames[0]), 1.0)
    start_s = 0.0 if not sheet.rate_hz > 0.0 else (number - 1.0) / sheet.rate_hz
    if sheet.time is not None:
        start_s = time_scale(sheet.time) * float(sheet.values[0, sheet.names.index(sheet.time)])
    return start_s if math.isfinite(start_s) else 0.0, int(number)


def _frame_numbers(sheet: Sheet) -> FloatArray | None:
    """Return the column (T,) of frame numbers, None if absent."""
    return next((sheet.values[:, k] for k, name in enumerate(sheet.names) if name.lower() in _FRAME_NAMES), None)


def _row_rate(sheet: Sheet) -> float:
    """Return the rows per second, as the head states it, else by the column of time; NaN if unknown."""
    if sheet.rate_hz > 0.0 or sheet.time is None or len(sheet.values) < 2:
        return sheet.rate_hz
    first_s, last_s = time_scale(sheet.time) * sheet.values[[0, -1], sheet.names.index(sheet.time)]
    return float((len(sheet.values) - 1) / (last_s - first_s)) if last_s > first_s else math.nan


def _doubled(path: Path, sheet: Sheet, roles: ColumnRoles) -> tuple[Diagnostic, ...]:
    """Return the note on a name of several columns with different numbers that no map resolves."""
    unread = [name for name in sheet.doubled if f"{name} (1)" in roles.others]
    if not unread:
        return ()
    text = f"'{path.name}' has several columns '{unread[0]}' with different numbers: none of them is read."
    hint = f"{EXPORT_AGAIN} Or name '{unread[0]} (1)' or '{unread[0]} (2)' in a column map."
    return (Diagnostic("columns-not-read", "warning", text, value=float(len(unread)), hint=hint),)


def _timed(path: Path, sheet: Sheet, given: ColumnMap) -> tuple[Sheet, FloatArray, set[str], tuple[Diagnostic, ...]]:
    """Return the used rows, their time (T,) s, the columns of time and frames, and notes."""
    counters = {name for name in sheet.names if is_time_or_frame(name)}
    named = given.text("time") or sheet.time
    if named and named not in sheet.names:
        raise InputFileError(f"'{given.path}' names the column '{named}' for the time, which is not there.")
    if given.content.get("rate_hz") is None and named:
        stamps = time_scale(named) * sheet.values[:, sheet.names.index(named)]
        # a column of stamps says when frames arrived; in other tables frames may be rows that are renumbered after a cut
        numbered = frame_times(stamps, _frame_numbers(sheet)) if "stamp" in named.lower() else None
        if numbered is not None:
            rows, time_s, late_s = numbered
            selected = replace(sheet, values=sheet.values[rows])
            return selected, time_s, counters | {named}, (late_note(path.name, rows, late_s),)
        if not (np.isfinite(stamps).all() and (np.diff(stamps) > 0.0).all()):
            raise InputFileError(f"The time in '{path.name}' (column '{named}') does not increase from row to row.")
        return sheet, stamps, counters | {named}, ()
    rate_hz = float(given.content.get("rate_hz") or sheet.rate_hz)
    if not (math.isfinite(rate_hz) and rate_hz > 0.0):
        raise InputFileError(
            f"'{path.name}' tells no time: it has no column of time and states no rate.",
            f"Say it in {path.stem}.columns.toml: rate_hz = 100.0 (docs/formats.md).",
        )
    return sheet, np.arange(len(sheet.values)) / rate_hz, counters | ({named} if named else set()), ()
