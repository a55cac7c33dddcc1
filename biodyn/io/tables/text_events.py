"""Events in text exports: Vicon Nexus writes a table of them, Qualisys Track Manager lines of the head, Visual3D columns.

Sources: Vicon Nexus, export of ASCII files (table "Events": Subject, Context, Name, Time (s), Description); Qualisys Track
Manager, Motion data (.tsv): a line EVENT with name, frame and time of each; Visual3D, ASCII format: a column of the type
EVENT_LABEL holds the times of its event in its first rows. TRC files, Cortex's forces and OptiTrack Motive's CSV hold none.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.io.events import StoredEvent, is_gait_event
from biodyn.io.tables.sections import Section
from biodyn.io.tables.sheet import Sheet, split_cells

_HEAD, _HEAD_CHARACTERS = "NO_OF_FRAMES", 200
_LINES: Final = re.compile(r"^EVENT[\t;,][^\r\n]+", re.MULTILINE)
# Times are written to 10 microseconds, frames are the nearest ones and count from 1 (or, of old files, from 0).
_LEAST_FRAMES, _MOST_FRAMES = -0.6, 1.6
# Of all rows, those that hold the times of one event, or the marks of it.
_MOST_OF_ROWS = 0.2
_COMPONENT: Final = re.compile(r"(?i)(?P<label>.+?)[_ ]x")


@dataclass(frozen=True)
class Rows:
    """The rows of a table: number and time (s) of the first one on the file's clock, their count and rate."""

    first_frame: int
    start_s: float
    count: int
    rate_hz: float

    def holds(self, time_s: float) -> bool:
        """Whether a time behind the first row is not later than the last one, by a frame more or less."""
        return -1.0 <= time_s * self.rate_hz <= self.count


def nexus_events(section: Section | None) -> list[StoredEvent]:
    """Return the events of the table "Events", on the clock of Nexus: frame 1 is at time 0; none where there is no such table."""
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
        told = {word: row[k] for word, k in columns.items() if k < len(row)}
        if told.get("name"):
            time_s = _number(row[time]) if time is not None and time < len(row) else math.nan
            events.append(StoredEvent(told["name"], told.get("context", ""), time_s, told.get("subject", "")))
    return events


def qualisys_events(text: str, rows: Rows) -> list[StoredEvent]:
    """Return the events in the head of a file of Qualisys Track Manager, time 0 at its first row.

    Where frame and time of all events lie as far apart, one of them counts from another start than the rows: it is the one by
    which events lie outside the rows. An event whose frame and time are not the same has no time (NaN) otherwise.
    """
    stored: list[tuple[str, float, float]] = []
    for line in _LINES.findall(text) if _HEAD in text[:_HEAD_CHARACTERS] else ():
        _, *cells = line.split("\t") if "\t" in line else split_cells(line)
        if len(cells) < len(("name", "frame")):
            continue
        name, frame, time_s = cells[0].strip(' "'), _number(cells[1]), _number(cells[2]) if len(cells) > 2 else math.nan
        stored.append((name, (frame - rows.first_frame) / rows.rate_hz, time_s - rows.start_s))
    both = [event for event in stored if all(map(math.isfinite, event[1:]))]
    apart = [(by_time_s - by_frame_s) * rows.rate_hz for _, by_frame_s, by_time_s in both]
    shifted = bool(apart) and max(apart) - min(apart) < _MOST_FRAMES - _LEAST_FRAMES and not _alike(apart[0])
    inside = [all(map(rows.holds, times)) for times in ([s for _, s, _ in both], [s for _, _, s in both])]
    if shifted and inside[0] != inside[1]:
        by_frame = inside[0]
        return [StoredEvent(name, "", of_frame if by_frame else of_time) for name, of_frame, of_time in stored]
    events = []
    for name, by_frame_s, by_time_s in stored:
        differ = (by_time_s - by_frame_s) * rows.rate_hz
        time_s = by_frame_s if math.isnan(by_time_s) else by_time_s
        events.append(StoredEvent(name, "", time_s if math.isnan(differ) or _alike(differ) else math.nan))
    return events


def _alike(frames: float) -> bool:
    """Whether a time that lies so many frames behind a frame is that frame's."""
    return _LEAST_FRAMES <= 1.0 - frames <= _MOST_FRAMES


def column_events(sheet: Sheet, rows: Rows) -> tuple[list[StoredEvent], Sheet]:
    """Return the events that columns hold, time 0 at the first row, and the table without these columns.

    A column that is named as an event of a foot holds its times in its first rows, in seconds or in frames, as they lie within
    the rows; or a 1 in the row of each event, nothing or 0 in the others. Other columns stay.
    """
    events: list[StoredEvent] = []
    kept = []
    for k, name in enumerate(sheet.names):
        component = _COMPONENT.fullmatch(name)
        label = component["label"] if component else name
        times = _times_of(sheet.values[:, k], rows) if is_gait_event(label) else None
        if times is None:
            kept.append(k)
        else:
            events += [StoredEvent(label, "", time_s) for time_s in times]
    if len(kept) == len(sheet.names):
        return [], sheet
    return events, replace(sheet, names=tuple(sheet.names[k] for k in kept), values=sheet.values[:, kept])


def _times_of(column: FloatArray, rows: Rows) -> Sequence[float] | None:
    """Times of the events of a column (T,), 0 at the first row; None where it is no column of events."""
    known = np.isfinite(column)
    values = column[known]
    if not rows.rate_hz > 0.0:
        return None
    on_top = len(values) < len(column) and known[: len(values)].all()
    if len(values) and not on_top and np.isin(values, (0.0, 1.0)).all():
        marked = np.flatnonzero(column == 1.0)
        fits = 0 < len(marked) <= _MOST_OF_ROWS * len(column) and (len(marked) == 1 or np.diff(marked).min() > 1)
        return (marked / rows.rate_hz).tolist() if fits else None
    count = len(values)
    if count > _MOST_OF_ROWS * len(column) or not on_top or not (np.diff(values) > 0.0).all():
        return None
    seconds, frames = values - rows.start_s, (values - rows.first_frame) / rows.rate_hz
    whole = bool((values == np.round(values)).all())
    fits = [all(map(rows.holds, seconds.tolist())), whole and all(map(rows.holds, frames.tolist()))]
    if fits[0] == fits[1]:
        return None if count else ()
    return (seconds if fits[0] else frames).tolist()


def _number(cell: str) -> float:
    """A number with a point or a comma; NaN where it is none."""
    try:
        return float(cell.strip(' "').replace(",", "."))
    except ValueError:
        return math.nan
