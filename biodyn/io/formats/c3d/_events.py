"""Foot strikes and foot offs of the EVENT group, on the time axis of the stored frames."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from biodyn.diagnostics import Diagnostic
from biodyn.io.events import NOBODY, StoredEvent, Whose, gait_events
from biodyn.recording import GaitEvent


def read_events(
    event_group: Mapping[str, Mapping[str, Any]],
    first_frame: int,
    frame_count: int,
    rate_hz: float,
    whose: Whose = NOBODY,
) -> tuple[tuple[GaitEvent, ...], tuple[Diagnostic, ...]]:
    """Return the gait events in order of time, 0 at the first stored frame; see `io.events.gait_events`.

    C3D stores minutes and seconds since the start of the capture, whose frame 1 is at time 0; the file's first frame
    is at (first_frame - 1) / rate.
    """
    times, labels, contexts, subjects = (
        event_group.get(name, {}).get("values", []) for name in ("TIMES", "LABELS", "CONTEXTS", "SUBJECTS")
    )
    start_s = (first_frame - 1) / rate_hz
    stored = [
        StoredEvent(
            label=str(labels[i]),
            context=str(contexts[i]) if i < len(contexts) else "",
            time_s=60.0 * float(times[2 * i]) + float(times[2 * i + 1]) - start_s,
            subject=str(subjects[i]) if i < len(subjects) else "",
        )
        for i in range(min(len(times) // 2, len(labels)))
    ]
    return gait_events(stored, frame_count, rate_hz, whose)
