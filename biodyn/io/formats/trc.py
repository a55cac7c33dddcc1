"""Read TRC files: marker trajectories as text, written by Motion Analysis, OpenSim, OpenCap and others.

    PathFileType  4  (X/Y/Z)  walk.trc
    DataRate  CameraRate  NumFrames  NumMarkers  Units  OrigDataRate  OrigDataStartFrame  OrigNumFrames
    100       100         250        40          mm     100           1                   250
    Frame#    Time        LASI                   RASI                  ...
                          X1     Y1     Z1       X2     Y2     Z2      ...

One line per frame follows. Columns are separated by tabs, in files of some programs by blanks; an empty cell between
tabs is a marker that was not seen; decimal commas are possible. Frames are uniform in time. A TRC file holds no forces
and no events, and does not state the vertical. Times start at its first frame. Forces in a separate file
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
from biodyn.io.file_access import COPY_AGAIN, EXPORT_AGAIN, file_bytes, limit_column_count
from biodyn.io.format import FORMATS, RATES_HZ, Format
from biodyn.io.length_units import length_unit
from biodyn.io.missing_positions import (
    replace_unseen_by_nan,
    require_markers,
    unlabelled_points_note,
    without_impossible_positions,
)
from biodyn.io.name_tables import load_name_table
from biodyn.io.point_classification import PointRoles, classify_points
from biodyn.io.repairs import apply_repairs
from biodyn.io.text_decoding import clean_text
from biodyn.recording import Markers, ModelOutput, Recording, StoredMotion

_MARK = "pathfiletype"
_NOT_A_NUMBER = re.compile(r"[-+]?(nan(\(.*\))?|1\.#\w+)", re.IGNORECASE)  # spellings of this unit
_COMPONENT = re.compile(r"([XYZ])\d*", re.IGNORECASE)
_SHOWN = 40  # number of letters of a cell that a message shows


@dataclass(frozen=True)
class _Line:
    """A line that is not blank: its number in the file, its cells, and whether these are separated by tabs."""

    number: int
    cells: list[str]
    tabs: bool


@dataclass(frozen=True)
class _Header:
    """The header: stated rate (NaN if absent) and counts (None if absent), unit, labels, and the first line of data."""

    rate_hz: float
    frame_count: int | None
    marker_count: int | None
    unit: str
    labels: tuple[str, ...]
    first: int


def read_trc(path: str | Path) -> Recording:
    """Read one TRC file.

    Raises InputFileError, with the line number, if the file is not a TRC file, is damaged or truncated, has frames or
    times out of order, or if no marker is seen in any frame.
    """
    place = Path(path)
    content = file_bytes(place)
    lines = _with_decimal_points(list(_split_lines(content)))
    head = _read_header(place, lines)
    lines = lines[head.first :]
    rows = _read_data(place, head, lines, content[-1:] in b"\r\n\0")
    count_notes = _check_counts(place, head, lines)
    rate_hz, rate_notes = _frame_rate(place, head, rows[:, 1], lines)
    points = replace_unseen_by_nan(rows[:, 2:].reshape(len(rows), -1, 3))
    roles = classify_points(head.labels, points, {}, ())
    columns = roles.marker_indices
    require_markers(place, roles.labels, points[:, columns])
    scale = length_unit(head.unit, load_name_table()["length_units"], points[:, columns], entry="Units")
    positions, position_notes = without_impossible_positions(place, points[:, columns] * scale.markers)
    labels = tuple(roles.labels[i] for i in columns)
    recording = Recording(
        path=place,
        sha256=hashlib.sha256(content).hexdigest(),
        motion=StoredMotion(Markers(labels, positions, rate_hz)),
        model_outputs=_computed_points(roles, points, head.unit),
        first_frame=int(rows[0, 0]),
        start_s=float(rows[0, 1]),
        diagnostics=(
            *count_notes,
            *rate_notes,
            *roles.diagnostics,
            *scale.diagnostics,
            *position_notes,
            *unlabelled_points_note(roles),
        ),
    )
    return apply_repairs(recording)


# -- lines and header ---------------------------------------------------------------------------------------------


def _is_trc(head: bytes) -> bool:
    """Return whether the first bytes of a file start with the word PathFileType of TRC files."""
    start = head[:200]
    if start[:2] in (b"\xff\xfe", b"\xfe\xff"):
        start = start.replace(b"\0", b"")[2:]
    return start.removeprefix(b"\xef\xbb\xbf").lstrip().lower().startswith(_MARK.encode())


def _decode_text(content: bytes) -> str:
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return content.decode("utf-16", "replace")
    return content.decode("utf-8-sig", "surrogateescape")


def _split_lines(content: bytes) -> Iterator[_Line]:
    """Yield the lines that are not blank, with any line end; cells are separated by tabs if the line has one."""
    for number, line in enumerate(re.split(r"\r\n|\n|\r", _decode_text(content)), start=1):
        if line.strip():
            tabs = "\t" in line.strip()
            yield _Line(number, [cell.strip() for cell in line.split("\t")] if tabs else line.split(), tabs)


def _with_decimal_points(lines: list[_Line]) -> list[_Line]:
    """Return the lines with decimal points if all frames are written with decimal commas, as in many languages."""
    frames = [line for line in lines[3:] if line.cells[0].isdigit()]
    if not any("," in cell for line in frames[:1] for cell in line.cells):  # the usual case
        return lines
    written = {mark for line in frames for cell in line.cells for mark in ".," if mark in cell}
    if written != {","} or not all(line.tabs for line in frames):
        return lines
    commas = {line.number for line in (*lines[2:3], *frames)}  # also the rates in the third line
    return [
        replace(line, cells=[cell.replace(",", ".") for cell in line.cells]) if line.number in commas else line
        for line in lines
    ]


def _read_header(path: Path, lines: Sequence[_Line]) -> _Header:
    if not lines or not lines[0].cells[0].lower().startswith(_MARK):
        raise InputFileError(f"'{path}' is not a TRC file: it does not start with PathFileType.", "Give a .trc file.")
    if len(lines) < 4:
        raise InputFileError(f"'{path}' is truncated: it ends within the header (line {lines[-1].number}).", COPY_AGAIN)
    stated = _header_entries(lines[1].cells, lines[2].cells)
    labels = lines[3]
    if len(labels.cells) < 2 or not (_is_frame_heading(labels.cells[0]) and labels.cells[1].lower().startswith("time")):
        names = " and ".join(f"'{clean_text(cell[:_SHOWN])}'" for cell in labels.cells[:2])
        raise InputFileError(
            f"Line {labels.number} of '{path}' should list the columns, starting with Frame# and Time; found {names}.",
            EXPORT_AGAIN,
        )
    components = [cell for cell in lines[4].cells if cell] if len(lines) > 4 else []
    if components and _COMPONENT.fullmatch(components[0]):
        return _make_header(path, stated, _marker_labels(path, labels, lines[4], components), 5)
    return _make_header(path, stated, tuple(clean_text(cell) for cell in labels.cells[2:] if cell), 4)


def _make_header(path: Path, stated: dict[str, str], labels: tuple[str, ...], first: int) -> _Header:
    if not labels:
        raise InputFileError(f"'{path}' holds no marker: its header has no marker labels.", EXPORT_AGAIN)
    limit_column_count(path.name, len(labels), per_point=3)
    return _Header(
        rate_hz=_parsed_number(stated.get("datarate", "")),
        frame_count=_parsed_count(stated.get("numframes", "")),
        marker_count=_parsed_count(stated.get("nummarkers", "")),
        unit=clean_text(stated.get("units", "")),
        labels=labels,
        first=first,
    )


def _is_frame_heading(cell: str) -> bool:
    return cell.lower().startswith("frame")


def _header_entries(keys: Sequence[str], values: Sequence[str]) -> dict[str, str]:
    """Return the values in the third line of the header by the names in its second line.

    If the lines have different numbers of cells, empty cells are ignored.
    """
    if len(keys) != len(values):
        keys, values = [key for key in keys if key], [value for value in values if value]
    return {key.lower(): value for key, value in zip(keys, values, strict=False)}


def _marker_labels(path: Path, labels: _Line, axes: _Line, components: Sequence[str]) -> tuple[str, ...]:
    """Return one label for every three coordinate columns, "" if missing; some files write labels above other columns."""
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
            f"'{path}' is inconsistent: line {labels.number} has labels of {len(named)} markers, line {axes.number} "
            f"columns of {count}.",
            EXPORT_AGAIN,
        )
    return tuple(named)


def _parsed_number(text: str) -> float:
    """Return the number in a cell; NaN for any other text."""
    try:
        return math.nan if "_" in text else float(text)
    except ValueError:
        return math.nan


def _parsed_count(text: str) -> int | None:
    """Return the count in a header cell; None for any other text."""
    value = _parsed_number(text)
    return int(value) if math.isfinite(value) and value >= 0.0 else None


# -- data ---------------------------------------------------------------------------------------------------------


def _read_data(path: Path, head: _Header, lines: Sequence[_Line], is_ended: bool) -> FloatArray:
    """Return the data (T, 2 + 3 N): frame number, time s, and positions in file units.

    `is_ended`: whether the last line has a line end and is therefore complete.
    """
    if not lines:
        raise InputFileError(f"'{path}' holds no frames after its header.", COPY_AGAIN)
    rows = np.array([_parse_row(path, head, line, is_ended or line is not lines[-1]) for line in lines])
    for line, before, number in zip(lines[1:], rows[:, 0], rows[1:, 0], strict=False):
        if number != before + 1:
            raise InputFileError(
                f"Line {line.number} of '{path}' holds frame {number:.10g} after frame {before:.10g}: frames are "
                f"missing or out "
                "of order.",
                EXPORT_AGAIN,
            )
    return rows


def _parse_row(path: Path, head: _Header, line: _Line, is_ended: bool) -> list[float]:
    """Return the frame, time and coordinates of one line, NaN for empty cells; some programs omit the tabs at its end."""
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
    row = [_parse_coordinate(path, line, cell) for cell in cells] + [math.nan] * missing
    if not (abs(row[0]) < 1e9 and row[0].is_integer() and abs(row[1]) < 1e9):
        raise InputFileError(
            f"Line {line.number} of '{path}' should start with the frame number and the time; found "
            f"'{clean_text(cells[0][:_SHOWN])}' and '{clean_text(cells[1][:_SHOWN])}'.",
            EXPORT_AGAIN,
        )
    return row


def _parse_coordinate(path: Path, line: _Line, cell: str) -> float:
    if not cell or _NOT_A_NUMBER.fullmatch(cell):
        return math.nan
    value = _parsed_number(cell)
    if math.isnan(value):
        raise InputFileError(
            f"Line {line.number} of '{path}' holds '{clean_text(cell[:_SHOWN])}' where a number is expected.",
            "Export the trial again, with a decimal point and a cell for every coordinate.",
        )
    return value


def _check_counts(path: Path, head: _Header, lines: Sequence[_Line]) -> tuple[Diagnostic, ...]:
    """Return notes if the header states other counts; InputFileError if frames are missing."""
    count_found = len(lines)
    if head.frame_count is not None and count_found < head.frame_count:
        raise InputFileError(
            f"'{path}' is truncated: the header specifies {head.frame_count} frames but the file contains {count_found} "
            f"(up to line {lines[-1].number}).",
            COPY_AGAIN,
        )
    stated = (("frames", head.frame_count, count_found), ("markers", head.marker_count, len(head.labels)))
    return tuple(
        Diagnostic(
            "recording-repaired",
            "warning",
            f"The header states {announced} {what}, but the file contains {count}; {count} are read.",
            value=float(count),
        )
        for what, announced, count in stated
        if announced not in (None, count)
    )


def _frame_rate(
    path: Path, head: _Header, times_s: FloatArray, lines: Sequence[_Line]
) -> tuple[float, tuple[Diagnostic, ...]]:
    """Return the frame rate, Hz: as stated if the times agree, else from the times; InputFileError if these are not uniform."""
    least_times = 10  # with fewer frames, a rate that is not stated cannot be determined from the times
    stated = head.rate_hz if RATES_HZ[0] <= head.rate_hz <= RATES_HZ[1] else math.nan
    times = times_s - times_s[0]
    digit_s = 10.0 ** -max(len(line.cells[1].partition(".")[2]) for line in lines)  # last digit of the stored times
    backwards = np.flatnonzero(np.diff(times) <= 0.0)
    if backwards.size:
        i = int(backwards[0])
        raise InputFileError(
            f"Line {lines[i + 1].number} of '{path}' is at {times_s[i + 1]:.10g} s, after {times_s[i]:.10g} "
            f"s in the previous line: the times do not increase.",
            EXPORT_AGAIN,
        )
    if math.isfinite(stated) and _times_fit_rate(times, stated, digit_s):
        return stated, ()
    measured = (len(times) - 1) / times[-1] if len(times) >= least_times else math.nan
    if not RATES_HZ[0] <= measured <= RATES_HZ[1]:
        shown = f"{head.rate_hz:g}" if math.isfinite(head.rate_hz) else "missing"
        raise InputFileError(
            f"'{path}' does not state a valid frame rate: DataRate is {shown}, and the times do not give one.",
            EXPORT_AGAIN,
        )
    if not _times_fit_rate(times, measured, digit_s):
        steps = np.diff(times)
        usual = float(np.median(steps))
        odd = int(np.argmax(np.abs(steps - usual)))
        raise InputFileError(
            f"The times of '{path}' are not uniform: the step is {usual:.5g} s, but {steps[odd]:.5g} s to "
            f"line {lines[odd + 1].number}.",
            EXPORT_AGAIN,
        )
    text = (
        f"DataRate states {head.rate_hz:g} frames per second, but the times {measured:.6g}; {measured:.6g} Hz is used."
    )
    hint = "Check the rate in the capture software: all velocities and joint moments depend on it."
    return measured, (Diagnostic("recording-repaired", "warning", text, value=measured, unit="Hz", hint=hint),)


def _times_fit_rate(times: FloatArray, rate_hz: float, digit_s: float) -> bool:
    """Return whether all times fit this rate within the precision of the stored times."""
    jitter = 0.1  # share of the frame interval, in addition to the rounding of the times
    return bool((np.abs(times * rate_hz - np.arange(len(times))) <= jitter + digit_s * rate_hz).all())


def _computed_points(roles: PointRoles, points: FloatArray, unit: str) -> dict[str, ModelOutput]:
    """Return the trajectories (T, 3) of the computed points by label, in file units."""
    return {
        roles.labels[i]: ModelOutput(roles.labels[i], roles.kinds[i], points[:, i], unit)  # type: ignore[arg-type]
        for i in roles.output_indices
    }


FORMATS.add("trc", Format("TRC", (".trc",), _is_trc, read_trc, separate_forces=True))
