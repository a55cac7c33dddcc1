"""Foot strikes and foot offs of the EVENT group, or of the header, on the time axis of the stored frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from biodyn.diagnostics import Diagnostic
from biodyn.io.events import NOBODY, StoredEvent, Whose, gait_events, is_gait_event
from biodyn.io.formats.c3d._layout import DataLayout
from biodyn.io.formats.c3d._parameters import continued
from biodyn.recording import GaitEvent


def read_events(
    event_group: Mapping[str, Mapping[str, Any]],
    layout: DataLayout,
    whose: Whose = NOBODY,
    of_header: Sequence[tuple[float, str]] = (),
) -> tuple[tuple[GaitEvent, ...], tuple[Diagnostic, ...]]:
    """Return the gait events in order of time, 0 at the first stored frame; see `io.events.gait_events`.

    The group stores minutes and seconds since the start of the capture, whose frame 1 is at time 0; the file's first frame
    is at (first_frame - 1) / rate. The header (`HeaderWords.events`) counts from the file's first frame (c3d.org, "Event
    times"), and is used where the group has no gait event.
    """
    stored, start_s = _of_group(event_group), (layout.first_frame - 1) / layout.rate_hz
    if of_header and not any(is_gait_event(event.label) for event in stored):
        stored, start_s = [StoredEvent(label, "", time_s) for time_s, label in of_header], 0.0
    events = [replace(event, time_s=event.time_s - start_s) for event in stored]
    return gait_events(events, layout.frame_count, layout.rate_hz, whose)


def _of_group(group: Mapping[str, Mapping[str, Any]]) -> list[StoredEvent]:
    """The events of the EVENT group, on its own clock."""
    times, labels, contexts, subjects = (continued(group, name) for name in ("TIMES", "LABELS", "CONTEXTS", "SUBJECTS"))
    events = []
    for i, (minutes, seconds, label) in enumerate(zip(times[::2], times[1::2], labels, strict=False)):
        context, subject = (str(texts[i]) if i < len(texts) else "" for texts in (contexts, subjects))
        events.append(StoredEvent(str(label), context, 60.0 * float(minutes) + float(seconds), subject))
    return events
