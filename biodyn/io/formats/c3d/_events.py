"""Foot strikes and foot offs of the EVENT group, or of the header, on the time axis of the stored frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from biodyn.diagnostics import Diagnostic
from biodyn.io.events import NOBODY, StoredEvent, Whose, gait_events, is_gait_event
from biodyn.io.formats.c3d._parameters import continued
from biodyn.io.plate_loading import loading_times
from biodyn.recording import ForcePlate, GaitEvent

# A foot strike or foot off is marked within so many s of where a plate's load begins or ends: at so many of these at least,
# and at this share of them.
_AT_CONTACT_S: Final = 0.05
_LEAST_CONTACTS: Final = 2
_AT_CONTACTS: Final = 0.5


def read_events(
    event_group: Mapping[str, Mapping[str, Any]],
    clock: EventClock,
    whose: Whose = NOBODY,
    of_header: Sequence[tuple[float, str]] = (),
) -> tuple[tuple[GaitEvent, ...], tuple[Diagnostic, ...]]:
    """Return the gait events in order of time, 0 at the first stored frame; see `io.events.gait_events`.

    The group stores minutes and seconds since the start of the capture, whose frame 1 is at time 0; the file's first frame
    is at (first_frame - 1) / rate. The header (`HeaderWords.events`) counts from the file's first frame (c3d.org, "Event
    times"), and is asked where the group has no gait event. Where another start puts them right, see `EventClock`, it is taken.
    """
    stored, usual_s = _of_group(event_group), clock.capture_s
    if of_header and not any(is_gait_event(event.label) for event in stored):
        stored, usual_s = [StoredEvent(label, "", time_s) for time_s, label in of_header], 0.0
    start_s, notes = clock.start_s(stored, usual_s, whose)
    events, event_notes = gait_events(_from(stored, start_s), clock.frame_count, clock.rate_hz, whose)
    return events, (*notes, *event_notes)


@dataclass(frozen=True)
class EventClock:
    """The recording in which events lie, and from when software may have counted them: the capture's start, or the first frame.

    Attributes:
        first_frame: the file's number of its first frame. frame_count, rate_hz: of the frames.
        plates: whose loads tell foot strikes and foot offs.
    """

    first_frame: int
    frame_count: int
    rate_hz: float
    plates: Sequence[ForcePlate] = ()

    @property
    def capture_s(self) -> float:
        """Time of the first stored frame since the start of the capture, s."""
        return (self.first_frame - 1) / self.rate_hz

    def start_s(
        self, stored: Sequence[StoredEvent], usual_s: float, whose: Whose
    ) -> tuple[float, tuple[Diagnostic, ...]]:
        """Return the time of the first stored frame by the clock of the events, s, and a note where it is not the usual one.

        Another start is taken where it alone puts events right: all of them within the recording and, where plates carry feet,
        at the begin and end of loads; the usual one must fail at the loads or, without plates, hold no event at all.
        """
        other_s = 0.0 if usual_s else self.capture_s
        if other_s == usual_s:
            return usual_s, ()
        usual, other = (self._placed(_from(stored, start_s), whose) for start_s in (usual_s, other_s))
        if not other.events or other.outside or not _is_right(other, usual):
            return usual_s, ()
        return other_s, (_other_start(len(other.events), other_s, usual, other),)

    def _placed(self, stored: Sequence[StoredEvent], whose: Whose) -> _Placed:
        events, notes = gait_events(stored, self.frame_count, self.rate_hz, whose)
        outside = sum(int(note.value or 0) for note in notes if note.code == "events-outside")
        loads = [loading_times(plate) for plate in self.plates]
        times = {"foot_strike": [begin for begin, _ in loads], "foot_off": [end for _, end in loads]}
        changes = [(kind, time_s) for kind, of_plates in times.items() for of_one in of_plates for time_s in of_one]
        met = sum(
            any(event.kind == kind and abs(event.time_s - time_s) <= _AT_CONTACT_S for event in events)
            for kind, time_s in changes
        )
        return _Placed(events, outside, met, len(changes))


@dataclass(frozen=True)
class _Placed:
    """Events within the recording, how many lie outside, and how many of the plates' begins and ends of load they meet."""

    events: tuple[GaitEvent, ...]
    outside: int
    met: int
    changes: int

    @property
    def is_at_contacts(self) -> bool:
        """Whether the events are where feet strike and leave the plates."""
        return self.met >= max(_LEAST_CONTACTS, _AT_CONTACTS * self.changes)


def _is_right(other: _Placed, usual: _Placed) -> bool:
    """Whether another start than the usual one puts events right, which it does not."""
    if other.changes:
        return other.is_at_contacts and not usual.is_at_contacts
    return not usual.events


def _other_start(count: int, start_s: float, usual: _Placed, other: _Placed) -> Diagnostic:
    counted = "the start of the capture" if start_s else "the first stored frame"
    at = f", and {other.met} of {other.changes} begins and ends of the plates' loads have one" if other.changes else ""
    before = f" (else {usual.met})" if other.changes else ""
    return Diagnostic(
        "events-other-start",
        "info",
        f"The times of the {count} gait events are counted from {counted}: so all of them lie within the recording{at}{before}.",
        value=float(count),
        hint="Where that is not so, correct the times in the capture software.",
    )


def _from(stored: Sequence[StoredEvent], start_s: float) -> list[StoredEvent]:
    """The events on the clock of the first stored frame, which is at `start_s` by theirs."""
    return [replace(event, time_s=event.time_s - start_s) for event in stored]


def _of_group(group: Mapping[str, Mapping[str, Any]]) -> list[StoredEvent]:
    """The events of the EVENT group, on its own clock."""
    times, labels, contexts, subjects = (continued(group, name) for name in ("TIMES", "LABELS", "CONTEXTS", "SUBJECTS"))
    events = []
    for i, (minutes, seconds, label) in enumerate(zip(times[::2], times[1::2], labels, strict=False)):
        context, subject = (str(texts[i]) if i < len(texts) else "" for texts in (contexts, subjects))
        events.append(StoredEvent(str(label), context, 60.0 * float(minutes) + float(seconds), subject))
    return events
