"""Foot strikes and foot offs of the EVENT group, or of the header, on the time axis of the stored frames."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from biodyn.conventions import Side
from biodyn.diagnostics import Diagnostic
from biodyn.io.formats.c3d._parameters import continued
from biodyn.io.names import letters, names
from biodyn.recording import EventKind, GaitEvent

# Two events of one kind and side nearer than this are one event written twice.
_SAME_EVENT_S = 1e-3


def read_events(
    event_group: Mapping[str, Mapping[str, Any]],
    first_frame: int,
    frame_count: int,
    rate_hz: float,
    of_header: Sequence[tuple[float, str]] = (),
) -> tuple[tuple[GaitEvent, ...], tuple[Diagnostic, ...]]:
    """Return the gait events in order of time, 0 at the first stored frame.

    The group stores minutes and seconds since the start of the capture, whose frame 1 is at time 0; the file's first frame
    is at (first_frame - 1) / rate. The header (`HeaderWords.events`) counts from the file's first frame (c3d.org, "Event
    times"), and is asked where the group has no gait event. Events of other kinds, without a side or outside the stored
    frames are left out.
    """
    last_s = (frame_count - 1) / rate_hz
    stored = list(_of_group(event_group, (first_frame - 1) / rate_hz))
    events: list[GaitEvent] = []
    outside = 0
    for time_s, kind, side in stored or _gait_events((time_s, label, "") for time_s, label in of_header):
        if not -1.0 / rate_hz <= time_s <= last_s + 1.0 / rate_hz:
            outside += 1
            continue
        time_s = min(max(time_s, 0.0), last_s)
        twin = any(e.side == side and e.kind == kind and abs(e.time_s - time_s) < _SAME_EVENT_S for e in events)
        if not twin:
            events.append(GaitEvent(time_s, side, kind, "file"))
    diagnostics: tuple[Diagnostic, ...] = ()
    if outside:
        diagnostics = (
            Diagnostic(
                "events-outside",
                "info",
                f"{outside} stored gait events lie outside the stored frames and are left out.",
                value=float(outside),
            ),
        )
    return tuple(sorted(events, key=lambda event: event.time_s)), diagnostics


def _of_group(group: Mapping[str, Mapping[str, Any]], start_s: float) -> Iterator[tuple[float, EventKind, Side]]:
    """The gait events of the EVENT group, in time from its second `start_s` on."""
    times, labels, contexts = (continued(group, name) for name in ("TIMES", "LABELS", "CONTEXTS"))
    contexts += [""] * (len(labels) - len(contexts))
    seconds = (60.0 * float(m) + float(s) - start_s for m, s in zip(times[::2], times[1::2], strict=False))
    return _gait_events(zip(seconds, map(str, labels), map(str, contexts), strict=False))


def _gait_events(stored: Iterable[tuple[float, str, str]]) -> Iterator[tuple[float, EventKind, Side]]:
    """Time, kind and side of those of (time, label, context) that are a gait event of a known side."""
    for time_s, label, context in stored:
        kind, side = _meaning(label, context)
        if kind is not None and side is not None:
            yield time_s, kind, side


@lru_cache(1024)
def is_gait_event(label: str) -> bool:
    """True where an event's label, with its side or without, is that of a foot strike or foot off."""
    return _meaning(label, "")[0] is not None


def _meaning(label: str, context: str) -> tuple[EventKind | None, Side | None]:
    """Kind and side of an event from its label and context: 'Foot Strike1' + 'Left', 'RHS', 'left toe off'."""
    word = letters(label)
    side = _side(letters(context))
    kind = _kind(word)
    if kind is not None:
        return kind, side
    for named, words in names()["sides"].items():
        for side_word in sorted(words, key=len, reverse=True):
            if word.startswith(side_word) and (kind := _kind(word[len(side_word) :])) is not None:
                return kind, side or named  # type: ignore[return-value]
            if word.endswith(side_word) and (kind := _kind(word[: -len(side_word)])) is not None:
                return kind, side or named  # type: ignore[return-value]
    return None, None


def _kind(word: str) -> EventKind | None:
    for kind, words in names()["events"].items():
        if word in words:
            return kind  # type: ignore[no-any-return]
    return None


def _side(word: str) -> Side | None:
    for side, words in names()["sides"].items():
        if word in words:
            return side  # type: ignore[no-any-return]
    return None
