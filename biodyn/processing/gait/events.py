"""Foot strikes and foot offs from plates, from the movement and from the file, merged side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Literal

import numpy as np
from scipy.special import stdtr

from biodyn.conventions import SIDE_NAMES, SIDES, FloatArray, Side, other_side
from biodyn.diagnostics import Diagnostic
from biodyn.library.load import load_table
from biodyn.processing.gait.movement_events import KINDS, MIN_STRIDE_S, probability_close, usual_stride_s
from biodyn.processing.gait.parameters import GaitSettings
from biodyn.processing.signals.filtering import finite_stretches
from biodyn.recording import Contact, EventKind, EventSource, GaitEvent

# Beside the first or the last event that is known of a foot, as a share of the stride: neither stance nor swing is shorter
# (double support, which an event of the other foot would make of it, is a tenth), nor are two events of one kind nearer.
_SHORTEST_PHASE, _SHORTEST_STRIDE = 0.2, 0.75
# So many, and so large a share of those that cannot be, say what was exchanged.
_FEWEST, _MOST = 2, 0.75
_NAMED = 6  # times that are listed
_OPPOSITE: dict[EventKind, EventKind] = {"foot_strike": "foot_off", "foot_off": "foot_strike"}


def consistent_events(
    stored: Sequence[GaitEvent], found: Sequence[GaitEvent], stride_s: float, same_s: float, asked_for: bool = False
) -> tuple[list[GaitEvent], tuple[Diagnostic, ...]]:
    """Return the stored events that can be true beside those of plates and movement, and a warning that names the others.

    Args:
        stored: of the file. found: of plates and movement; of a foot in turn a strike and an off, where none was missed.
        stride_s: usual stride, s; 0 = not known, then all stay.
        same_s: two records of one event lie closer than this.
        asked_for: the user wants the file's events and no others: all stay, and the warning says so.
    """
    wrong = [event for event in stored if _apart_s(event, found) >= same_s and _impossible(event, found, stride_s)]
    if not wrong:
        return list(stored), ()
    kept = list(stored) if asked_for else [event for event in stored if event not in wrong]
    return kept, (_note(wrong, len(stored), found, same_s, asked_for),)


def _apart_s(event: GaitEvent, found: Sequence[GaitEvent]) -> float:
    """Time to the nearest of its like among those that were found, s; infinite where there is none."""
    return min((event.apart_s(other) for other in found), default=math.inf)


def _impossible(event: GaitEvent, found: Sequence[GaitEvent], stride_s: float) -> bool:
    """Whether what was found of its foot leaves no room for a stored event."""
    own = sorted((other for other in found if other.side == event.side), key=lambda other: other.time_s)
    before = next((other for other in reversed(own) if other.time_s <= event.time_s), None)
    after = next((other for other in own if other.time_s > event.time_s), None)
    if before is not None and after is not None:
        return before.kind != after.kind and after.time_s - before.time_s < stride_s
    beside = before or after
    if beside is None:
        return False
    least = _SHORTEST_STRIDE if beside.kind == event.kind else _SHORTEST_PHASE
    return abs(event.time_s - beside.time_s) < least * stride_s


def _note(
    wrong: Sequence[GaitEvent], count: int, found: Sequence[GaitEvent], same_s: float, asked_for: bool
) -> Diagnostic:
    """Name the stored events that cannot be, and what they seem to be."""
    other_foot = [replace(event, side=other_side(event.side)) for event in wrong]
    other_kind = [replace(event, kind=_OPPOSITE[event.kind]) for event in wrong]
    off_s = {
        " Each is one of the other foot: right and left seem exchanged.": _distance_s(other_foot, found, same_s),
        " Each is of the other kind: foot strikes and foot offs seem exchanged.": _distance_s(
            other_kind, found, same_s
        ),
    }
    guess = min(off_s, key=lambda name: off_s[name])
    told = math.isfinite(off_s[guess])
    done = "are used, as gait.events = 'file' asks" if asked_for else "are left out"
    other = "'auto' leaves them out" if asked_for else "'file' takes the events of the file, and no others"
    times = ", ".join(f"{event.time_s:.2f}" for event in wrong[:_NAMED]) + (" ..." if len(wrong) > _NAMED else "")
    return Diagnostic(
        "gait-events-exchanged" if told else "gait-events-contradicted",
        "warning",
        f"{len(wrong)} of {count} gait events of the file cannot be beside those of plates and movement ({times} s) and "
        f"{done}.{guess if told else ''}",
        value=float(len(wrong)),
        limit=0.0,
        hint=f"Look at them in the capture software; gait.events = {other}.",
    )


def _distance_s(events: Sequence[GaitEvent], found: Sequence[GaitEvent], same_s: float) -> float:
    """How far the events usually lie from their like among those that were found, s; infinite where too few have one."""
    off_s = [_apart_s(event, found) for event in events]
    near_s = [value for value in off_s if value < same_s]
    return float(np.median(near_s)) if len(near_s) >= max(_FEWEST, _MOST * len(events)) else math.inf


# Two records of the same event lie closer than this.
SAME_EVENT_S = 0.15
# A foot bears from a strike on that the movement tells within 20 ms with this probability: all that show a passage from the air
# to the floor (0.95 to 0.99), and no extreme (0.67).
_SURE = 0.9
# A difference of more standard deviations than this is no bias of a person.
_FAR_SD = 3.0
# A pelvis that is unknown for so long may hide a strike and the foot off after it: nobody knows how many strides that were.
ABSENT_S = 1.0
MIN_PHASE_S = 0.08  # neither stance nor swing is shorter, not in sprinting either
# Loads of the same foot on neighbouring plates belong to one stance.
SAME_STANCE_S = 0.05
_MISSING = "gait-event-missing"


def gait_events(
    contacts: Sequence[Contact],
    file_events: Sequence[GaitEvent],
    moved: Sequence[GaitEvent],
    settings: GaitSettings,
    *,
    pelvis_W: FloatArray,
    rate_hz: float,
    steps: bool = True,
) -> tuple[tuple[GaitEvent, ...], tuple[Diagnostic, ...]]:
    """Return the events of both sides from all three sources, merged as `merge_events` says, sorted by time.

    Args:
        contacts: decided plate contacts; only assigned ones give events.
        file_events: what the file stores.
        moved: what the movement tells (`by_movement.movement_events`).
        settings: the section [gait].
        pelvis_W: (T, 3) pelvis centre, m, NaN where unknown.
        rate_hz: marker rate.
        steps: the person makes steps (`activity`).
    """
    candidates = [*plate_events(contacts, len(pelvis_W) / rate_hz, 1.0 / rate_hz), *moved, *file_events]
    events, notes = merge_events(
        candidates, settings.events, (len(pelvis_W) - 1) / rate_hz, _absences(pelvis_W, rate_hz)
    )
    if steps and not events and settings.events != "auto":
        notes = (*notes, _none_of(settings.events))
    if not steps:  # without steps nothing is missing between what a file stores
        notes = tuple(note for note in notes if note.code != _MISSING)
    return events, notes


def _none_of(source: str) -> Diagnostic:
    return Diagnostic(
        "gait-event-missing",
        "warning",
        f"Steps were made, and no event that gait.events = '{source}' asks for is in the recording: there are no gait cycles.",
        hint="gait.events = 'auto' takes those of the plates and of the movement.",
    )


def _absences(pelvis_W: FloatArray, rate_hz: float) -> list[tuple[float, float]]:
    """Begin and end, s, of the stretches in which the pelvis (T, 3) is not known for so long that a step may have been missed."""
    unknown = finite_stretches(~np.isfinite(pelvis_W[:, 0]))
    return [(first / rate_hz, stop / rate_hz) for first, stop in unknown if stop - first > ABSENT_S * rate_hz]


def plate_events(contacts: Sequence[Contact], duration_s: float, frame_s: float) -> list[GaitEvent]:
    """Events of the assigned contacts: raw force through the threshold, sub-frame.

    One foot on several plates strikes with the first and leaves with the last. Where a load is cut (two feet on the
    plate) or runs out of the recording of `duration_s` there is no event; `frame_s` is the frame interval.
    """
    events: list[GaitEvent] = []
    for side in SIDES:
        own = sorted((c for c in contacts if c.side == side and c.decision == "assigned"), key=lambda c: c.start_s)
        stances: list[list[Contact]] = []
        for contact in own:
            if stances and contact.start_s < max(c.end_s for c in stances[-1]) + SAME_STANCE_S:
                stances[-1].append(contact)
            else:
                stances.append([contact])
        for stance in stances:
            first = min(stance, key=lambda c: c.start_s)
            last = max(stance, key=lambda c: c.end_s)
            cut_before = any(c.plate == first.plate and c.end_s == first.start_s for c in contacts)
            cut_after = any(c.plate == last.plate and c.start_s == last.end_s for c in contacts)
            if not cut_before and first.start_s > 0.0:
                missed = first.evidence.get("start_missed_s", 0.0)
                events.append(_plate_event(first.start_s - missed, side, "foot_strike", missed))
            if not cut_after and last.end_s < duration_s - frame_s:
                missed = last.evidence.get("end_missed_s", 0.0)
                events.append(_plate_event(last.end_s + missed, side, "foot_off", missed))
    return events


def strikes_by_movement(
    contacts: Sequence[Contact], moved: Sequence[GaitEvent], duration_s: float, frame_s: float
) -> dict[Side, FloatArray]:
    """Return the times (N,) s of each foot's strikes by the movement, as `gait_events` tells those that no plate shows.

    Only those that the movement is sure of: none that is at an extreme of the foot's way for want of anything better.

    Args:
        contacts: decided plate contacts: their strikes show the movement's bias in this trial.
        moved: what the movement tells (`by_movement.movement_events`).
        duration_s, frame_s: of the recording and of a frame.
    """
    strikes = [event for event in moved if event.kind == "foot_strike"]
    shift_s = _bias_s(_late_s(strikes, plate_events(contacts, duration_s, frame_s)), "kinematic", "foot_strike")
    sure = [event for event in strikes if event.confidence >= _SURE]
    return {side: np.array([event.time_s - shift_s for event in sure if event.side == side]) for side in SIDES}


def merge_events(
    candidates: Sequence[GaitEvent],
    source: Literal["auto", "plate", "kinematic", "file"] = "auto",
    last_s: float = math.inf,
    absences_s: Sequence[tuple[float, float]] = (),
) -> tuple[tuple[GaitEvent, ...], tuple[Diagnostic, ...]]:
    """Merge events of several sources into one plausible sequence, sorted by time.

    `auto` takes the plate's event where there is one, else the kinematic, else the file's where there is room for it
    (`stored_events`); another source stands alone. Kinematic events are shifted by the median difference to the trial's own
    plate events, kind by kind; each event's confidence is the probability to lie within 20 ms of the truth, as it was measured
    (`library/gait/events.toml`). What lies outside the recording, 0 to `last_s`, is no event of it. Per side strikes and offs
    alternate: the less certain of two that contradict each other is dropped, with a Diagnostic. Where an event between two
    others of the same kind was not found, both stay and a Diagnostic says so; not where the person was away between them
    (`absences_s`, begin and end): the first event after that is marked (`after_absence`).
    """
    rated = [event for event in _rated(candidates) if 0.0 <= event.time_s <= last_s]
    notes: list[Diagnostic] = []
    of_file = [event for event in rated if event.source == "file"]
    if source in ("auto", "file"):
        chosen = _first_of_each([[event for event in rated if event.source == name] for name in ("plate", "kinematic")])
        found = [event for side in SIDES for event in _alternating([e for e in chosen if e.side == side], side, ())[0]]
        stored, wrong = consistent_events(of_file, found, usual_stride_s(found), SAME_EVENT_S, source == "file")
        chosen = stored if source == "file" else _first_of_each([chosen, stored])
        notes += wrong
    else:
        chosen = [event for event in rated if event.source == source]
    merged: list[GaitEvent] = []
    for side in SIDES:
        kept, dropped = _alternating([event for event in chosen if event.side == side], side, absences_s)
        merged += kept
        notes += dropped
    merged.sort(key=lambda event: event.time_s)
    for begin_s, _ in absences_s:
        after = next((n for n, event in enumerate(merged) if event.time_s > begin_s), None)
        if after is not None:
            merged[after] = replace(merged[after], after_absence=True)
    return tuple(merged), tuple(notes)


def _first_of_each(sources: Sequence[Sequence[GaitEvent]]) -> list[GaitEvent]:
    """The events of several sources; of one that two of them hold, that of the first."""
    chosen: list[GaitEvent] = []
    for events in sources:
        chosen += [event for event in events if all(event.apart_s(other) >= SAME_EVENT_S for other in chosen)]
    return chosen


def _plate_event(time_s: float, side: Side, kind: EventKind, missed_s: float) -> GaitEvent:
    # Where the stored force was cut to zero the event is extrapolated, and about as uncertain as it was moved.
    error_s = math.hypot(load_table("gait/events")["plate"][kind]["error_s"], missed_s)
    return GaitEvent(time_s, side, kind, "plate", probability_close(error_s))


def _rated(candidates: Sequence[GaitEvent]) -> list[GaitEvent]:
    """Take off what the trial's plates show of the bias of kinematic events, and give every event its confidence."""
    plate = [event for event in candidates if event.source == "plate"]
    rated = list(plate)
    sources: tuple[EventSource, EventSource] = ("kinematic", "file")
    for source in sources:
        for kind in KINDS:
            own = [event for event in candidates if event.source == source and event.kind == kind]
            late = _late_s(own, plate)
            # What the file says is left as it is; the movement is a proxy and is shifted.
            shift = _bias_s(late, source, kind) if source == "kinematic" else 0.0
            own = [replace(event, time_s=event.time_s - shift) for event in own]
            if late or source == "file":  # what the movement alone tells has its confidence from there
                confidence = _confidence(source, kind, [value - shift for value in late])
                own = [replace(event, confidence=confidence) for event in own]
            rated += own
    return rated


def _late_s(events: Sequence[GaitEvent], plate: Sequence[GaitEvent]) -> list[float]:
    """By how much events come after those of the plates that they tell too, s."""
    return [event.time_s - truth.time_s for truth in plate for event in events if event.apart_s(truth) < SAME_EVENT_S]


def _bias_s(late_s: Sequence[float], source: EventSource, kind: EventKind) -> float:
    """The bias that differences to a trial's plates show, s; 0 without any.

    What lies farther off than people differ is a mark of something else (a first step), and tells of the confidence, not of
    the bias.
    """
    far_s = _FAR_SD * load_table("gait/events")[source][kind]["error_s"]
    near = [value for value in late_s if abs(value) <= far_s]
    return float(np.median(near)) if near else 0.0


def _confidence(source: EventSource, kind: EventKind, seen_s: Sequence[float]) -> float:
    """Probability that an event lies within 20 ms of the truth, from differences to the trial's plates, s, if there are any."""
    table = load_table("gait/events")
    known = table[source][kind]
    if not seen_s:
        return probability_close(known["error_s"], known.get("bias_s", 0.0))
    weight = float(table["kinematic"]["own_weight"])
    count = weight + len(seen_s)
    variance = (weight * known["repeat_s"] ** 2 + sum(value**2 for value in seen_s)) / count
    # the shift itself is known to the spread over sqrt(n), the spread from few differences
    scale = math.sqrt(variance * (1.0 + 1.0 / len(seen_s)))
    close_s = float(table["close_s"])
    return float(2.0 * stdtr(count, close_s / scale) - 1.0)


def _alternating(
    events: list[GaitEvent], side: Side, absences_s: Sequence[tuple[float, float]]
) -> tuple[list[GaitEvent], list[Diagnostic]]:
    """Drop the less certain of every two events of a side that cannot both be true."""
    kept = sorted(events, key=lambda event: event.time_s)
    notes: list[Diagnostic] = []
    position = 0
    while position < len(kept) - 1:
        one, two = kept[position], kept[position + 1]
        gap = two.time_s - one.time_s
        twins = one.kind == two.kind and gap < MIN_STRIDE_S
        if not twins and (one.kind == two.kind or gap >= MIN_PHASE_S):
            position += 1
            continue
        weaker = one if one.confidence < two.confidence else two
        kept.remove(weaker)
        why = "twice" if twins else "next to its opposite"
        notes.append(
            Diagnostic(
                code="gait-event-dropped",
                severity="info",
                message=f"{_spoken(weaker, side)} ({weaker.source}) was found {why} within {gap:.3f} s and dropped.",
                value=gap,
                limit=MIN_STRIDE_S if twins else MIN_PHASE_S,
                unit="s",
            )
        )
        position = max(position - 1, 0)
    for one, two in pairwise(kept):
        away = any(one.time_s < begin_s < two.time_s for begin_s, _ in absences_s)
        if one.kind == two.kind and not away:
            other = KINDS[1 - KINDS.index(one.kind)].replace("_", " ")
            notes.append(
                Diagnostic(
                    code=_MISSING,
                    severity="warning",
                    message=f"No {other} of the {SIDE_NAMES[side]} foot was found between {one.time_s:.2f} s and "
                    f"{two.time_s:.2f} s.",
                    hint="The heel or toe was not seen there, or the step is unusual; that cycle's phases are empty.",
                )
            )
    return kept, notes


def _spoken(event: GaitEvent, side: Side) -> str:
    return f"{SIDE_NAMES[side].capitalize()} {event.kind.replace('_', ' ')} at {event.time_s:.2f} s"
