"""Select the foot strikes and foot offs of the subject from the events stored in a file of any format."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from biodyn.conventions import Side
from biodyn.diagnostics import Diagnostic
from biodyn.io.name_tables import keep_letters, load_name_table
from biodyn.io.text_decoding import clean_text
from biodyn.recording import EventKind, GaitEvent

# Two events of one kind and side closer than this are one event stored twice.
_SAME_EVENT_S = 1e-3
_MOST_SHOWN = 4


@dataclass(frozen=True)
class StoredEvent:
    """An event as stored: label, side ("" if it is part of the label), person, and time (s, 0 at the first frame)."""

    label: str
    context: str
    time_s: float
    subject: str = ""


def gait_events(
    stored: Sequence[StoredEvent],
    frame_count: int,
    rate_hz: float,
    subject: str = "",
    other_subjects: Sequence[str] = (),
) -> tuple[tuple[GaitEvent, ...], tuple[Diagnostic, ...]]:
    """Return the gait events sorted by time (s, 0 at the first stored frame), and notes on ignored events.

    Events of other kinds, without a side, of another person, or outside the `frame_count` stored frames are ignored. An
    event belongs to another person if its name is not `subject` and the file has events of `subject` or points of that
    other person.
    """
    of_subject, strangers = _split_by_subject(stored, subject, other_subjects)
    last_s = (frame_count - 1) / rate_hz
    events: list[GaitEvent] = []
    outside, unknown = 0, []
    for event in of_subject:
        kind, side = _event_kind_and_side(event.label, event.context)
        if kind is None or side is None or not math.isfinite(event.time_s):
            unknown.append(event.label)
            continue
        if not -1.0 / rate_hz <= event.time_s <= last_s + 1.0 / rate_hz:
            outside += 1
            continue
        time_s = min(max(event.time_s, 0.0), last_s)
        twin = any(e.side == side and e.kind == kind and abs(e.time_s - time_s) < _SAME_EVENT_S for e in events)
        if not twin:
            events.append(GaitEvent(time_s, side, kind, "file"))
    notes = (*_other_subjects_note(strangers), *_unrecognised_events_note(unknown), *_events_outside_note(outside))
    return tuple(sorted(events, key=lambda event: event.time_s)), notes


@lru_cache(1024)
def is_gait_event(label: str) -> bool:
    """Return whether an event label, with or without a side, is that of a foot strike or foot off."""
    return _event_kind_and_side(label, "")[0] is not None


def _split_by_subject(
    stored: Sequence[StoredEvent], subject: str, other_subjects: Sequence[str]
) -> tuple[list[StoredEvent], list[StoredEvent]]:
    """Return the events of the subject (or without a person's name), and of other persons."""
    subject = _normalised_name(subject)
    listed = bool(subject) and any(_normalised_name(event.subject) == subject for event in stored)
    others = {_normalised_name(name) for name in other_subjects}
    of_subject: list[StoredEvent] = []
    strangers: list[StoredEvent] = []
    for event in stored:
        name = _normalised_name(event.subject)
        foreign = bool(name) and name != subject and (listed or name in others)
        (strangers if foreign else of_subject).append(event)
    return of_subject, strangers


def _normalised_name(name: str) -> str:
    return name.strip().casefold()


def _event_kind_and_side(label: str, context: str) -> tuple[EventKind | None, Side | None]:
    """Return the kind and side of an event from its label and context, such as 'Foot Strike1' + 'Left', 'RHS', 'left toe off'."""
    word = keep_letters(label)
    side: Side | None = _meaning("sides", keep_letters(context))
    kind: EventKind | None = _meaning("events", word)
    if kind is not None:
        return kind, side
    for named, words in load_name_table()["sides"].items():
        for side_word in sorted(words, key=len, reverse=True):
            if word.startswith(side_word) and (kind := _meaning("events", word[len(side_word) :])) is not None:
                return kind, side or named  # type: ignore[return-value]
            if word.endswith(side_word) and (kind := _meaning("events", word[: -len(side_word)])) is not None:
                return kind, side or named  # type: ignore[return-value]
    return None, None


def _meaning(table: str, word: str) -> Any:
    """Return the kind of event or the side that a word names, by the table "events" or "sides"; None if unknown."""
    return next((meaning for meaning, words in load_name_table()[table].items() if word in words), None)


# -- notes -------------------------------------------------------------------------------------------------------------


def _other_subjects_note(strangers: Sequence[StoredEvent]) -> tuple[Diagnostic, ...]:
    if not strangers:
        return ()
    people = ", ".join(sorted({clean_text(event.subject) for event in strangers}))
    text = f"{_count_text(len(strangers))} ignored: recorded for {people}, whose markers are not read."
    return (Diagnostic("data-not-used", "info", text, value=float(len(strangers))),)


def _unrecognised_events_note(labels: Sequence[str]) -> tuple[Diagnostic, ...]:
    if not labels:
        return ()
    known = list(dict.fromkeys(clean_text(label) for label in labels))
    shown = ", ".join(f"'{label}'" for label in known[:_MOST_SHOWN]) + (" ..." if len(known) > _MOST_SHOWN else "")
    kind = "foot strikes or foot offs" if len(labels) > 1 else "a foot strike or foot off"
    text = f"{_count_text(len(labels))} ignored: not {kind} with a side and a time ({shown})."
    hint = "Use a recognised name: Foot Strike or Foot Off with the side Left or Right, RHS, RTO, left heel strike."
    return (Diagnostic("data-not-used", "info", text, value=float(len(labels)), hint=hint),)


def _events_outside_note(count: int) -> tuple[Diagnostic, ...]:
    if not count:
        return ()
    text = f"{count} stored gait events are outside the stored frames and are ignored."
    return (Diagnostic("events-outside", "info", text, value=float(count)),)


def _count_text(count: int) -> str:
    return f"{count} stored event{'s are' if count > 1 else ' is'}"
