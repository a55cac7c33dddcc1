"""Events in text exports of laboratories' software: Vicon Nexus writes a table of them, Qualisys Track Manager lines of the head.

Sources: Vicon Nexus, export of ASCII files (table "Events": Subject, Context, Name, Time (s), Description); Qualisys Track
Manager, Motion data (.tsv): a line EVENT with name, frame and time of each. TRC files, Cortex's forces and OptiTrack
Motive's CSV hold none; those that Visual3D exports as columns are not read.
"""

from __future__ import annotations

import math
import re
from typing import Final

from biodyn.io.events import StoredEvent
from biodyn.io.tables.sections import Section
from biodyn.io.tables.sheet import split_cells

_HEAD, _HEAD_CHARACTERS = "NO_OF_FRAMES", 200
_LINES: Final = re.compile(r"^EVENT[\t;,][^\r\n]+", re.MULTILINE)
# Times are written to 10 microseconds, frames are the nearest ones and count from 1 (or, of old files, from 0).
_LEAST_FRAMES, _MOST_FRAMES = -0.6, 1.6


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


def qualisys_events(text: str, rate_hz: float) -> list[StoredEvent]:
    """Return the events in the head of a file of Qualisys Track Manager, on its clock: frame 1 is at time 0.

    An event whose frame and time are not the same has no time (NaN).
    """
    events = []
    for line in _LINES.findall(text) if _HEAD in text[:_HEAD_CHARACTERS] else ():
        _, *cells = line.split("\t") if "\t" in line else split_cells(line)
        if len(cells) < len(("name", "frame")):
            continue
        name, frame, time_s = cells[0].strip(' "'), _number(cells[1]), _number(cells[2]) if len(cells) > 2 else math.nan
        by_frame_s = (frame - 1.0) / rate_hz
        if math.isfinite(time_s) and math.isfinite(by_frame_s):
            consistent = _LEAST_FRAMES <= frame - time_s * rate_hz <= _MOST_FRAMES
            time_s = time_s if consistent else math.nan
        elif math.isnan(time_s):
            time_s = by_frame_s
        events.append(StoredEvent(name, "", time_s))
    return events


def _number(cell: str) -> float:
    """A number with a point or a comma; NaN where it is none."""
    try:
        return float(cell.strip(' "').replace(",", "."))
    except ValueError:
        return math.nan
