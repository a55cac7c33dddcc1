"""TRC: marker trajectories as text, written by Motion Analysis, OpenSim, OpenCap and others.

    PathFileType  4  (X/Y/Z)  walk.trc
    DataRate  CameraRate  NumFrames  NumMarkers  Units  OrigDataRate  OrigDataStartFrame  OrigNumFrames
    100       100         250        40          mm     100           1                   250
    Frame#    Time        LASI                   RASI                  ...
                          X1     Y1     Z1       X2     Y2     Z2      ...

Then a line for every frame. Columns stand between tabs, in some programs' files between blanks; an empty cell between tabs
is a marker that was not seen; all decimals may be behind commas. The frames follow each other at one rate. A TRC file holds
no forces and no events, and does not state the vertical. Times count from its first frame. Forces in a separate file
(`io.ground_forces`) become its plates.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.errors import InputFileError
from biodyn.io.files import COPY_AGAIN, EXPORT_AGAIN, check_columns, file_bytes
from biodyn.io.format import FORMATS, RATES_HZ, Format
from biodyn.io.labels import PointRoles, point_roles
from biodyn.io.length_units import length_unit
from biodyn.io.names import names
from biodyn.io.positions import dropped_note, require_markers, unseen_as_nan, without_impossible
from biodyn.io.repairs import repaired
from biodyn.io.text import clean_text
from biodyn.recording import Markers, ModelOutput, Recording, StoredMotion

_MARK = "pathfiletype"
_NOT_A_NUMBER = re.compile(r"[-+]?(nan(\(.*\))?|1\.#\w+)", re.IGNORECASE)  # what programs write for it
_COMPONENT = re.compile(r"([XYZ])\d*", re.IGNORECASE)
_SHOWN = 40  # letters of a cell in a message


@dataclass(frozen=True)
class _Line:
    """A line that is not blank: its number in the file, its cells, and whether these stand between tabs."""

    number: int
    cells: list[str]
    tabs: bool


@dataclass(frozen=True)
class _Head:
    """The header: stated rate and counts (NaN, None: not stated), unit, labels, and the data's first line."""

    rate_hz: float
    frame_count: int | None
    marker_count: int | None
    unit: str
    labels: tuple[str, ...]
    first: int


@dataclass(frozen=True)
class _Table:
    """The data: numbers and times (T,) of the frames, s, the last digit of these, positions (T, N, 3) in file units, and
    the line of each frame."""

    frames: list[int]
    times: FloatArray
    digit_s: float
    points: FloatArray
    numbers: list[int]


def read_trc(path: str | Path) -> Recording:
    """Read one TRC file.

    Raises InputFileError, with the line, for a file that is not a TRC file, is damaged or truncated, has frames or times out
    of order, or in which no marker is ever seen.
    """
    place = Path(path)
    content = file_bytes(place)
    lines = _with_points(list(_lines(content)))
    head = _head(place, lines)
    table = _table(place, head, lines[head.first :], content[-1:] in b"\r\n\0")
    count_notes = _counted(place, head, table)
    rate_hz, rate_notes = _rate(place, head, table)
    points = unseen_as_nan(table.points)
    roles = point_roles(head.labels, points, {}, ())
    columns = roles.markers
    require_markers(place, roles.labels, points[:, columns])
    scale = length_unit(head.unit, names()["length_units"], points[:, columns], entry="Units")
    positions, position_notes = without_impossible(place, points[:, columns] * scale.markers)
    labels = tuple(roles.labels[i] for i in columns)
    recording = Recording(
        path=place,
        sha256=hashlib.sha256(content).hexdigest(),
        motion=StoredMotion(Markers(labels, positions, rate_hz)),
        model_outputs=_computed(roles, points, head.unit),
        first_frame=table.frames[0],
        start_s=float(table.times[0]),
        diagnostics=(
            *count_notes,
            *rate_notes,
            *roles.diagnostics,
            *scale.diagnostics,
            *position_notes,
            *dropped_note(roles),
        ),
    )
    return repaired(recording)


# -- lines and header ---------------------------------------------------------------------------------------------


def _is_trc(head: bytes) -> bool:
    """Return whether the first word is that of every TRC file."""
    start = head[:200]
    if start[:2] in (b"\xff\xfe", b"\xfe\xff"):
        start = start.replace(b"\0", b"")[2:]
    return start.removeprefix(b"\xef\xbb\xbf").lstrip().lower().startswith(_MARK.encode())


def _decoded(content: bytes) -> str:
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return content.decode("utf-16", "replace")
    return content.decode("utf-8-sig", "surrogateescape")


def _lines(content: bytes) -> Iterator[_Line]:
    """Return the lines that are not blank, with any line end; cells are separated by tabs if a line has one."""
    for number, line in enumerate(re.split(r"\r\n|\n|\r", _decoded(content)), start=1):
        if line.strip():
            tabs = "\t" in line.strip()
            yield _Line(number, [cell.strip() for cell in line.split("\t")] if tabs else line.split(), tabs)


def _with_points(lines: list[_Line]) -> list[_Line]:
    """Return the lines with decimal points where all frames are written with decimal commas, as in many languages."""
    frames = [line for line in lines[3:] if line.cells[0].isdigit()]
    if not any("," in cell for line in frames[:1] for cell in line.cells):  # nearly always
        return lines
    written = {mark for line in frames for cell in line.cells for mark in ".," if mark in cell}
    if written != {","} or not all(line.tabs for line in frames):
        return lines
    commas = {line.number for line in (*lines[2:3], *frames)}  # the rates in the third line, too
    return [
        replace(line, cells=[cell.replace(",", ".") for cell in line.cells]) if line.number in commas else line
        for line in lines
    ]


def _head(path: Path, lines: Sequence[_Line]) -> _Head:
    if not lines or not lines[0].cells[0].lower().startswith(_MARK):
        raise InputFileError(f"'{path}' is not a TRC file: it does not begin with PathFileType.", "Give a .trc file.")
    if len(lines) < 4:
        raise InputFileError(f"'{path}' is truncated: it ends within its header (line {lines[-1].number}).", COPY_AGAIN)
    stated = _stated(lines[1].cells, lines[2].cells)
    labels = lines[3]
    if len(labels.cells) < 2 or not (_is_frame(labels.cells[0]) and labels.cells[1].lower().startswith("time")):
        names = " and ".join(f"'{clean_text(cell[:_SHOWN])}'" for cell in labels.cells[:2])
        raise InputFileError(
            f"Line {labels.number} of '{path}' should name the columns, Frame# and Time first; found {names}.",
            EXPORT_AGAIN,
        )
    components = [cell for cell in lines[4].cells if cell] if len(lines) > 4 else []
    if components and _COMPONENT.fullmatch(components[0]):
        return _headed(path, stated, _labels(path, labels, lines[4], components), 5)
    return _headed(path, stated, tuple(clean_text(cell) for cell in labels.cells[2:] if cell), 4)


def _headed(path: Path, stated: dict[str, str], labels: tuple[str, ...], first: int) -> _Head:
    if not labels:
        raise InputFileError(f"'{path}' holds no marker: its header names none.", EXPORT_AGAIN)
    check_columns(path.name, len(labels), per_point=3)
    return _Head(
        rate_hz=_number(stated.get("datarate", "")),
        frame_count=_count(stated.get("numframes", "")),
        marker_count=_count(stated.get("nummarkers", "")),
        unit=clean_text(stated.get("units", "")),
        labels=labels,
        first=first,
    )


def _is_frame(cell: str) -> bool:
    return cell.lower().startswith("frame")


def _stated(keys: Sequence[str], values: Sequence[str]) -> dict[str, str]:
    """Return names and values of the header's second and third line; by their order if some are missing."""
    if len(keys) != len(values):
        keys, values = [key for key in keys if key], [value for value in values if value]
    return {key.lower(): value for key, value in zip(keys, values, strict=False)}


def _labels(path: Path, labels: _Line, axes: _Line, components: Sequence[str]) -> tuple[str, ...]:
    """Return the label of every three columns, "" if missing; in some files labels are above other columns."""
    order = "".join(cell[0].upper() for cell in components)
    count = len(components) // 3
    if not all(_COMPONENT.fullmatch(cell) for cell in components) or order != "XYZ" * count:
        raise InputFileError(f"Line {axes.number} of '{path}' should read X1 Y1 Z1 X2 Y2 Z2 ...", EXPORT_AGAIN)
    named = [clean_text(cell) for cell in labels.cells[2:] if cell]
    if len(named) < count and all(not cell or i % 3 == 2 for i, cell in enumerate(labels.cells) if i > 1):
        cells = [*labels.cells, *[""] * (3 * count)]
        return tuple(clean_text(cell) for cell in cells[2 : 2 + 3 * count : 3])
    if len(named) != count:
        raise InputFileError(
            f"'{path}' contradicts itself: line {labels.number} names {len(named)} markers, line {axes.number} the columns "
            f"of {count}.",
            EXPORT_AGAIN,
        )
    return tuple(named)


def _number(text: str) -> float:
    """Return a number, NaN for any other text."""
    try:
        return math.nan if "_" in text else float(text)
    except ValueError:
        return math.nan


def _count(text: str) -> int | None:
    """None where no count is stated."""
    value = _number(text)
    return int(value) if math.isfinite(value) and value >= 0.0 else None


# -- data ---------------------------------------------------------------------------------------------------------


def _table(path: Path, head: _Head, lines: Sequence[_Line], is_ended: bool) -> _Table:
    """Read the data; `is_ended`: the file's last line is ended, so nothing of it is cut off."""
    if not lines:
        raise InputFileError(f"'{path}' holds no frames: it ends with its header.", COPY_AGAIN)
    rows = np.array([_row(path, head, line, is_ended or line is not lines[-1]) for line in lines])
    frames = [int(number) for number in rows[:, 0]]
    for line, before, number in zip(lines[1:], rows[:, 0], rows[1:, 0], strict=False):
        if number != before + 1:
            raise InputFileError(
                f"Line {line.number} of '{path}' holds frame {number:.10g} after frame {before:.10g}: frames are missing or out "
                "of order.",
                EXPORT_AGAIN,
            )
    digit_s = 10.0 ** -max(len(line.cells[1].partition(".")[2]) for line in lines)
    return _Table(frames, rows[:, 1], digit_s, rows[:, 2:].reshape(len(rows), -1, 3), [line.number for line in lines])


def _row(path: Path, head: _Head, line: _Line, is_ended: bool) -> list[float]:
    """Frame, time and coordinates of one line, NaN for empty cells; some programs leave out the tabs at its end."""
    wanted = 2 + 3 * len(head.labels)
    cells = line.cells
    while len(cells) > wanted and not cells[-1]:
        cells = cells[:-1]
    missing = wanted - len(cells)
    if missing < 0 or missing % 3 or missing > wanted - 2 or (missing and not (is_ended and line.tabs)):
        what = "is truncated" if missing > 0 and not is_ended else "does not fit its header"
        raise InputFileError(
            f"'{path}' {what}: line {line.number} holds {len(cells)} cells, expected {wanted} (frame, time and "
            f"{len(head.labels)} markers).",
            COPY_AGAIN,
        )
    row = [_value(path, line, cell) for cell in cells] + [math.nan] * missing
    if not (abs(row[0]) < 1e9 and row[0].is_integer() and abs(row[1]) < 1e9):
        raise InputFileError(
            f"Line {line.number} of '{path}' should begin with the frame's number and time; found "
            f"'{clean_text(cells[0][:_SHOWN])}' and '{clean_text(cells[1][:_SHOWN])}'.",
            EXPORT_AGAIN,
        )
    return row


def _value(path: Path, line: _Line, cell: str) -> float:
    if not cell or _NOT_A_NUMBER.fullmatch(cell):
        return math.nan
    value = _number(cell)
    if math.isnan(value):
        raise InputFileError(
            f"Line {line.number} of '{path}' holds '{clean_text(cell[:_SHOWN])}' where a number is expected.",
            "Export the trial again, with a decimal point and a cell for every coordinate.",
        )
    return value


def _counted(path: Path, head: _Head, table: _Table) -> tuple[Diagnostic, ...]:
    """Notes where the header states other counts; InputFileError where frames are missing."""
    count_found = len(table.frames)
    if head.frame_count is not None and count_found < head.frame_count:
        raise InputFileError(
            f"'{path}' is truncated: it announces {head.frame_count} frames, {count_found} are there (up to line "
            f"{table.numbers[-1]}).",
            COPY_AGAIN,
        )
    stated = (("frames", head.frame_count, count_found), ("markers", head.marker_count, len(head.labels)))
    return tuple(
        Diagnostic(
            "recording-repaired",
            "warning",
            f"The file announces {announced} {what} and holds {count}; {count} are read.",
            value=float(count),
        )
        for what, announced, count in stated
        if announced not in (None, count)
    )


def _rate(path: Path, head: _Head, table: _Table) -> tuple[float, tuple[Diagnostic, ...]]:
    """Return frames per second: as stated where the times agree, else by the times; InputFileError where those are uneven."""
    least_times = 10  # fewer frames are too short to measure a rate that a file does not state
    stated = head.rate_hz if RATES_HZ[0] <= head.rate_hz <= RATES_HZ[1] else math.nan
    times = table.times - table.times[0]
    backwards = np.flatnonzero(np.diff(times) <= 0.0)
    if backwards.size:
        i = int(backwards[0])
        raise InputFileError(
            f"Line {table.numbers[i + 1]} of '{path}' is at {table.times[i + 1]:.10g} s, after {table.times[i]:.10g} s in the "
            "line before: its times do not increase.",
            EXPORT_AGAIN,
        )
    if math.isfinite(stated) and _fit(times, stated, table.digit_s):
        return stated, ()
    measured = (len(times) - 1) / times[-1] if len(times) >= least_times else math.nan
    if not RATES_HZ[0] <= measured <= RATES_HZ[1]:
        shown = f"{head.rate_hz:g}" if math.isfinite(head.rate_hz) else "missing"
        raise InputFileError(
            f"'{path}' does not tell its frame rate: DataRate is {shown}, and its times tell no other.", EXPORT_AGAIN
        )
    if not _fit(times, measured, table.digit_s):
        steps = np.diff(times)
        usual = float(np.median(steps))
        odd = int(np.argmax(np.abs(steps - usual)))
        raise InputFileError(
            f"The times of '{path}' do not have one frame rate: they step by {usual:.5g} s, but by {steps[odd]:.5g} s to "
            f"line {table.numbers[odd + 1]}.",
            EXPORT_AGAIN,
        )
    text = f"DataRate says {head.rate_hz:g} frames per second, the times {measured:.6g}; {measured:.6g} Hz is used."
    hint = "Check the rate in the capture software: every velocity and torque depends on it."
    return measured, (Diagnostic("recording-repaired", "warning", text, value=measured, unit="Hz", hint=hint),)


def _fit(times: FloatArray, rate_hz: float, digit_s: float) -> bool:
    """Return whether every frame is at its own time at this rate, as far as the times are written."""
    jitter = 0.1  # of the time between two frames, beyond the rounding of the times
    return bool((np.abs(times * rate_hz - np.arange(len(times))) <= jitter + digit_s * rate_hz).all())


def _computed(roles: PointRoles, points: FloatArray, unit: str) -> dict[str, ModelOutput]:
    """Return the computed points as stored."""
    return {
        roles.labels[i]: ModelOutput(roles.labels[i], roles.kinds[i], points[:, i], unit)  # type: ignore[arg-type]
        for i in roles.outputs
    }


FORMATS.add("trc", Format("TRC", (".trc",), _is_trc, read_trc, separate_forces=True))
