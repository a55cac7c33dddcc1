"""Foot strikes and foot offs from plates, movement and file, merged for each side.

Events of the file may have the wrong foot, kind or time, because labels were exchanged or the recording was cropped without its
events. Such events are detected because no other event of a foot is possible between its strike and its next foot off.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Literal

import numpy as np
from scipy.special import stdtr

from biodyn.conventions import SIDE_NAMES, SIDES, FloatArray, Side, other_side
from biodyn.diagnostics import Diagnostic
from biodyn.library.toml_files import load_table
from biodyn.processing.contacts.contact_decision import MATCHES_S
from biodyn.processing.gait.kinematic_events import KINDS, MIN_STRIDE_S, probability_within_tolerance, usual_stride_s
from biodyn.processing.gait.settings import GaitSettings
from biodyn.processing.signals.filtering import finite_stretches
from biodyn.recording import Contact, EventKind, EventSource, GaitEvent

_NAMED = 6  # number of times listed in a message
_OPPOSITE: dict[EventKind, EventKind] = {"foot_strike": "foot_off", "foot_off": "foot_strike"}


def consistent_events(
    stored: Sequence[GaitEvent], measured: Sequence[GaitEvent], stride_s: float, same_s: float, selected: bool = False
) -> tuple[list[GaitEvent], tuple[Diagnostic, ...]]:
    """Return the stored events that are consistent with plates and movement, and a warning about the others.

    Args:
        stored: events of the file.
        measured: events of plates and movement; strikes and offs of each foot alternate unless one was missed.
        stride_s: usual stride time, s; 0 = unknown, so that all events are consistent.
        same_s: largest time between two records of one event.
        selected: True if the user selected the events of the file; all of them are then returned, with the warning.
    """
    wrong = [
        event
        for event in stored
        if _time_to_nearest(event, measured) >= same_s and _is_impossible(event, measured, stride_s)
    ]
    if not wrong:
        return list(stored), ()
    consistent = list(stored) if selected else [event for event in stored if event not in wrong]
    return consistent, (_inconsistency_note(wrong, len(stored), measured, same_s, selected),)


def _time_to_nearest(event: GaitEvent, measured: Sequence[GaitEvent]) -> float:
    """Return the time to the nearest measured event of the same side and kind, s; infinite without any."""
    return min((event.time_difference_s(other) for other in measured), default=math.inf)


def _is_impossible(event: GaitEvent, measured: Sequence[GaitEvent], stride_s: float) -> bool:
    """Return whether the measured events of the same foot exclude a stored event.

    They do so between a strike and the next foot off (or the reverse), and close to the first or last measured event.
    """
    # Limits next to the first or last known event of a foot, as fractions of the stride: shortest stance or swing
    # (double support is a tenth), and shortest time between two events of one kind.
    shortest_phase, shortest_stride = 0.2, 0.75
    same_foot = sorted((other for other in measured if other.side == event.side), key=lambda other: other.time_s)
    before = next((other for other in reversed(same_foot) if other.time_s <= event.time_s), None)
    after = next((other for other in same_foot if other.time_s > event.time_s), None)
    if before is not None and after is not None:
        return before.kind != after.kind and after.time_s - before.time_s < stride_s
    neighbour = before or after
    if neighbour is None:
        return False
    least = shortest_stride if neighbour.kind == event.kind else shortest_phase
    return abs(event.time_s - neighbour.time_s) < least * stride_s


def _inconsistency_note(
    wrong: Sequence[GaitEvent], count: int, measured: Sequence[GaitEvent], same_s: float, selected: bool
) -> Diagnostic:
    """Return a finding about impossible stored events and their probable cause."""
    other_foot = [replace(event, side=other_side(event.side)) for event in wrong]
    other_kind = [replace(event, kind=_OPPOSITE[event.kind]) for event in wrong]
    off_s = {
        " Each of them agrees with an event of the other foot: right and left are probably exchanged.": _median_distance_s(
            other_foot, measured, same_s
        ),
        " Each of them agrees with an event of the other kind: foot strikes and foot offs are probably "
        "exchanged.": _median_distance_s(other_kind, measured, same_s),
    }
    guess = min(off_s, key=lambda name: off_s[name])
    is_explained = math.isfinite(off_s[guess])
    factor = _frame_rate_ratio(wrong, measured, off_s[guess])
    if math.isfinite(factor):
        return Diagnostic(
            "frame-rate-doubtful",
            "error",
            f"{len(wrong)} of {count} gait events of the file contradict plates and movement. They agree if all "
            f"times are multiplied by {factor:.2f}: the frame rate in the file is probably {factor:.2f} times the true "
            "rate. The frame rate was not changed.",
            value=factor - 1.0,
            limit=0.05,
            hint="Check the rate of the cameras, and whether an export omitted or repeated frames.",
        )
    done = "are used, because gait.events = 'file'" if selected else "are excluded"
    other = "'auto' excludes them" if selected else "'file' uses only the events of the file"
    times = ", ".join(f"{event.time_s:.2f}" for event in wrong[:_NAMED]) + (" ..." if len(wrong) > _NAMED else "")
    return Diagnostic(
        "gait-events-exchanged" if is_explained else "gait-events-contradicted",
        "warning",
        f"{len(wrong)} of {count} gait events of the file contradict plates and movement ({times} s) and "
        f"{done}.{guess if is_explained else ''}",
        value=float(len(wrong)),
        limit=0.0,
        hint=f"Check them in the capture software; gait.events = {other}.",
    )


def _median_distance_s(events: Sequence[GaitEvent], measured: Sequence[GaitEvent], same_s: float) -> float:
    """Return the median time (s) from the events to measured events of the same side and kind; inf if too few have one."""
    # Least number and fraction of the inconsistent events that an exchange must explain.
    fewest, most = 2, 0.75
    off_s = [_time_to_nearest(event, measured) for event in events]
    near_s = [value for value in off_s if value < same_s]
    return float(np.median(near_s)) if len(near_s) >= max(fewest, most * len(events)) else math.inf


def _frame_rate_ratio(stored: Sequence[GaitEvent], measured: Sequence[GaitEvent], rival_s: float) -> float:
    """Return the ratio of stored to measured times caused by a wrong frame rate; NaN unless a constant ratio explains nearly
    all events.

    The number of the file's first frame adds an offset to all times. rival_s: median time difference after the alternative
    correction, which must be larger.
    """
    close_s, largest_offset_s, fewest, most = 0.03, 0.6, 4, 0.9  # s, s, least number and fraction of events
    better = 0.5  # fraction of the time difference of the other correction
    best = (math.inf, math.nan)
    for factor in np.concatenate([np.arange(0.5, 0.95, 0.01), np.arange(1.06, 2.0, 0.01)]):
        pairs = [
            event.time_s - factor * other.time_s
            for event in stored[:1]
            for other in measured
            if (event.side, event.kind) == (other.side, other.kind)
        ]
        for offset_s in (0.0, *(value for value in pairs if abs(value) < largest_offset_s)):
            moved = [replace(event, time_s=(event.time_s - offset_s) / factor) for event in stored]
            off_s = sorted(_time_to_nearest(event, measured) for event in moved)
            if off_s[math.ceil(most * len(off_s)) - 1] < close_s:
                best = min(best, (float(np.median(off_s)), float(factor)))
    return best[1] if len(stored) >= fewest and best[0] < better * rival_s else math.nan


# Largest time between two records of the same event.
SAME_EVENT_S = 0.15
# Least confidence of a kinematic strike that starts a stance. Strikes with a transition from air to floor have 0.95 to
# 0.99, extremes only 0.67.
_SURE = 0.9
_MISSING = "gait-event-missing"


def gait_events(
    contacts: Sequence[Contact],
    file_events: Sequence[GaitEvent],
    kinematic: Sequence[GaitEvent],
    settings: GaitSettings,
    *,
    pelvis_W: FloatArray,
    rate_hz: float,
    steps: bool = True,
) -> tuple[tuple[GaitEvent, ...], tuple[Diagnostic, ...]]:
    """Return the events of both sides from all three sources, merged by `merge_events`, sorted by time.

    Args:
        contacts: plate contacts; only assigned contacts have events.
        file_events: events of the file.
        kinematic: events of the movement (`kinematic_events.kinematic_events`).
        settings: the section [gait].
        pelvis_W: pelvis centre (T, 3) m, NaN where unknown.
        rate_hz: marker rate.
        steps: True if the person makes steps (`activity`).
    """
    candidates = [*plate_events(contacts, len(pelvis_W) / rate_hz, 1.0 / rate_hz), *kinematic, *file_events]
    events, notes = merge_events(
        candidates, settings.events, (len(pelvis_W) - 1) / rate_hz, _absence_intervals(pelvis_W, rate_hz)
    )
    if steps and not events and settings.events != "auto":
        notes = (*notes, _no_events_note(settings.events))
    if not steps:  # without steps, no event is missing between the events of a file
        notes = tuple(note for note in notes if note.code != _MISSING)
    events, unused = _apply_corrections(events, settings, (len(pelvis_W) - 1) / rate_hz)
    return events, (*notes, *unused)


def _apply_corrections(
    events: Sequence[GaitEvent], settings: GaitSettings, last_s: float
) -> tuple[tuple[GaitEvent, ...], tuple[Diagnostic, ...]]:
    """Apply the user's corrections; return the events sorted by time, and a finding about each correction without an event.

    A correction applies to the nearest event of its side and kind within `MATCHES_S`. An omitted cycle is marked at its last
    strike.
    """
    corrected, notes = list(events), []

    def nearest_event(side: str, kind: str, time_s: float) -> GaitEvent | None:
        fitting = [e for e in corrected if SIDE_NAMES[e.side] == side and e.kind == kind]
        event = min(fitting, key=lambda e: abs(e.time_s - time_s), default=None)
        return event if event is not None and abs(event.time_s - time_s) <= MATCHES_S else None

    for entry in settings.override:
        event = nearest_event(entry.side, entry.event, entry.from_s)
        if event is None or (entry.to_s is not None and entry.to_s > last_s):
            notes.append(_unused_correction_finding("gait.override", entry.side, entry.event, entry.from_s))
            continue
        corrected.remove(event)
        if entry.to_s is not None:
            corrected.append(replace(event, time_s=entry.to_s, confidence=1.0))
    corrected.sort(key=lambda event: event.time_s)
    for omitted in settings.leave_out:
        start = nearest_event(omitted.side, "foot_strike", omitted.start_s)
        end = next(
            (
                e
                for e in corrected
                if start and e.time_s > start.time_s and e.side == start.side and e.kind == start.kind
            ),
            None,
        )
        if end is None:
            notes.append(_unused_correction_finding("gait.leave_out", omitted.side, "foot_strike", omitted.start_s))
        else:
            corrected[corrected.index(end)] = replace(end, cycle_left_out=True)
    return tuple(corrected), tuple(notes)


def _unused_correction_finding(entry: str, side: str, kind: str, time_s: float) -> Diagnostic:
    return Diagnostic(
        "data-not-used",
        "warning",
        f"{entry} refers to a {kind.replace('_', ' ')} of the {side} foot at {time_s:.2f} s, but no such event or "
        "cycle exists. The entry is not applied.",
        hint="Correct its time (see tables/events.csv), or remove the entry.",
        about=f"{side} {kind} {time_s:.3f}",
    )


def _no_events_note(source: str) -> Diagnostic:
    return Diagnostic(
        "gait-event-missing",
        "warning",
        f"The recording has steps, but no events of the selected source (gait.events = '{source}'), and therefore "
        "no gait cycles.",
        hint="Set gait.events = 'auto' to use events of the plates and of the movement.",
    )


def _absence_intervals(pelvis_W: FloatArray, rate_hz: float) -> list[tuple[float, float]]:
    """Return start and end (s) of the stretches in which the pelvis (T, 3) is unknown for so long that a step may be missed."""
    # If the pelvis is unknown for this time, a strike and the next foot off may be missed, so that the number of
    # strides is unknown.
    absent_s = 1.0
    unknown = finite_stretches(~np.isfinite(pelvis_W[:, 0]))
    return [(first / rate_hz, stop / rate_hz) for first, stop in unknown if stop - first > absent_s * rate_hz]


def plate_events(contacts: Sequence[Contact], duration_s: float, frame_s: float) -> list[GaitEvent]:
    """Return the events of the assigned contacts: times, interpolated between frames, at which the raw force crosses
    the threshold.

    A foot on several plates strikes with the first contact and leaves with the last. No event is returned where a load is cut
    (two feet on the plate) or reaches an end of the recording of `duration_s`. `frame_s` is the frame interval.
    """
    # Loads of the same foot on neighbouring plates belong to one stance.
    same_stance_s = 0.05
    events: list[GaitEvent] = []
    starts = {(c.plate, c.start_s) for c in contacts}
    ends = {(c.plate, c.end_s) for c in contacts}
    for side in SIDES:
        own_contacts = sorted(
            (c for c in contacts if c.side == side and c.decision == "assigned"), key=lambda c: c.start_s
        )
        stances: list[list[Contact]] = []
        for contact in own_contacts:
            if stances and contact.start_s < max(c.end_s for c in stances[-1]) + same_stance_s:
                stances[-1].append(contact)
            else:
                stances.append([contact])
        for stance in stances:
            first = min(stance, key=lambda c: c.start_s)
            last = max(stance, key=lambda c: c.end_s)
            cut_before = (first.plate, first.start_s) in ends
            cut_after = (last.plate, last.end_s) in starts
            if not cut_before and first.start_s > 0.0:
                missed = first.evidence.get("start_missed_s", 0.0)
                events.append(_plate_event(first.start_s - missed, side, "foot_strike", missed))
            if not cut_after and last.end_s < duration_s - frame_s:
                missed = last.evidence.get("end_missed_s", 0.0)
                events.append(_plate_event(last.end_s + missed, side, "foot_off", missed))
    return events


def strikes_from_movement(
    contacts: Sequence[Contact], kinematic: Sequence[GaitEvent], duration_s: float, frame_s: float
) -> dict[Side, FloatArray]:
    """Return the times (N,) s of the strikes of each foot from the movement, computed as in `gait_events` for strikes off the
    plates.

    Only strikes with a confidence of at least `_SURE` are returned, which have a transition from air to floor.

    Args:
        contacts: plate contacts, whose strikes determine the bias of kinematic strikes in this trial.
        kinematic: events of the movement (`kinematic_events.kinematic_events`).
        duration_s, frame_s: duration of the recording, and frame interval.
    """
    strikes = [event for event in kinematic if event.kind == "foot_strike"]
    shift_s = _event_bias_s(
        _delays_to_plate_events_s(strikes, plate_events(contacts, duration_s, frame_s)), "kinematic", "foot_strike"
    )
    sure = [event for event in strikes if event.confidence >= _SURE]
    return {side: np.array([event.time_s - shift_s for event in sure if event.side == side]) for side in SIDES}


def merge_events(
    candidates: Sequence[GaitEvent],
    source: Literal["auto", "plate", "kinematic", "file"] = "auto",
    last_s: float = math.inf,
    absences_s: Sequence[tuple[float, float]] = (),
) -> tuple[tuple[GaitEvent, ...], tuple[Diagnostic, ...]]:
    """Merge events of several sources into one plausible sequence, sorted by time.

    With `auto` the plate event is used if available, else the kinematic event, else a consistent event of the file
    (`consistent_events`); any other source is used alone. Kinematic events are corrected by the median difference from the
    plate events of the trial for each kind. The confidence of an event is the measured probability that it is within 20 ms of
    the truth (`library/gait/events.toml`). Events outside the recording (0 to `last_s`) are excluded. Strikes and offs of each
    side must alternate. The less certain of two contradicting events is dropped, with a Diagnostic. If an event between two
    events of the same kind is missing, both are kept, with a Diagnostic. Absences of the person (`absences_s`: start and end)
    are excepted; the first event after an absence is marked (`after_absence`).
    """
    rated = [event for event in _set_confidences(candidates) if 0.0 <= event.time_s <= last_s]
    notes: list[Diagnostic] = []
    of_file = [event for event in rated if event.source == "file"]
    if source in ("auto", "file"):
        chosen = _combine_by_source_priority(
            [[event for event in rated if event.source == name] for name in ("plate", "kinematic")]
        )
        measured = [
            event
            for side in SIDES
            for event in _enforce_alternation([e for e in chosen if e.side == side], side, ())[0]
        ]
        stored, wrong = consistent_events(of_file, measured, usual_stride_s(measured), SAME_EVENT_S, source == "file")
        chosen = stored if source == "file" else _combine_by_source_priority([chosen, stored])
        notes += wrong
    else:
        chosen = [event for event in rated if event.source == source]
    merged: list[GaitEvent] = []
    for side in SIDES:
        alternating, dropped = _enforce_alternation([event for event in chosen if event.side == side], side, absences_s)
        merged += alternating
        notes += dropped
    merged.sort(key=lambda event: event.time_s)
    for begin_s, _ in absences_s:
        after = next((n for n, event in enumerate(merged) if event.time_s > begin_s), None)
        if after is not None:
            merged[after] = replace(merged[after], after_absence=True)
    return tuple(merged), tuple(notes)


def _combine_by_source_priority(sources: Sequence[Sequence[GaitEvent]]) -> list[GaitEvent]:
    """Combine the events of several sources; an event in several of them is taken from the first."""
    chosen: list[GaitEvent] = []
    for events in sources:
        earlier = _order_by_kind(chosen)
        chosen += [event for event in events if not _same_events(event, chosen, earlier)]
    return chosen


def _order_by_kind(events: Sequence[GaitEvent]) -> dict[tuple[Side, EventKind], list[tuple[float, int]]]:
    """Return the times and indices of events of each foot and kind, sorted by time."""
    ordered: dict[tuple[Side, EventKind], list[tuple[float, int]]] = {}
    for index, event in enumerate(events):
        ordered.setdefault((event.side, event.kind), []).append((event.time_s, index))
    return {key: sorted(times) for key, times in ordered.items()}


def _same_events(
    event: GaitEvent, events: Sequence[GaitEvent], ordered: Mapping[tuple[Side, EventKind], list[tuple[float, int]]]
) -> list[GaitEvent]:
    """Return the events within `SAME_EVENT_S` of an event of the same foot and kind, in the order of `events`.

    ordered: `_order_by_kind` of `events`.
    """
    alike = ordered.get((event.side, event.kind), [])
    margin_s = 2.0 * SAME_EVENT_S  # the exact difference is compared below
    first, stop = (bisect_left(alike, (event.time_s + sign * margin_s,)) for sign in (-1.0, 1.0))
    near = (events[index] for index in sorted(index for _, index in alike[first:stop]))
    return [other for other in near if other.time_difference_s(event) < SAME_EVENT_S]


def _plate_event(time_s: float, side: Side, kind: EventKind, missed_s: float) -> GaitEvent:
    # The event is extrapolated if the stored force was set to zero; its uncertainty is about the size of the shift.
    error_s = math.hypot(load_table("gait/events")["plate"][kind]["error_s"], missed_s)
    return GaitEvent(time_s, side, kind, "plate", probability_within_tolerance(error_s))


def _set_confidences(candidates: Sequence[GaitEvent]) -> list[GaitEvent]:
    """Subtract the bias relative to plate events from kinematic events, and set the confidence of every event."""
    plate = [event for event in candidates if event.source == "plate"]
    rated = list(plate)
    sources: tuple[EventSource, EventSource] = ("kinematic", "file")
    for source in sources:
        for kind in KINDS:
            rated_events = [event for event in candidates if event.source == source and event.kind == kind]
            late = _delays_to_plate_events_s(rated_events, plate)
            # Events of the file are not shifted; kinematic events are a proxy.
            shift = _event_bias_s(late, source, kind) if source == "kinematic" else 0.0
            rated_events = [replace(event, time_s=event.time_s - shift) for event in rated_events]
            if late or source == "file":  # without plate events, kinematic events keep their confidence
                confidence = _event_confidence(source, kind, [value - shift for value in late])
                rated_events = [replace(event, confidence=confidence) for event in rated_events]
            rated += rated_events
    return rated


def _delays_to_plate_events_s(events: Sequence[GaitEvent], plate: Sequence[GaitEvent]) -> list[float]:
    """Return how much later (s) events are than the same events determined from the plates; events without a plate event are
    omitted."""
    ordered = _order_by_kind(events)
    return [a.time_s - b.time_s for b in plate for a in _same_events(b, events, ordered)]


def _event_bias_s(late_s: Sequence[float], source: EventSource, kind: EventKind) -> float:
    """Return the bias (s) from differences to the plate events of a trial; 0 if none exist.

    Differences larger than those between people have another cause (e.g. a first step). They affect the confidence, not the
    bias.
    """
    # Largest difference, in standard deviations, that is attributed to a bias of the person.
    far_sd = 3.0
    far_s = far_sd * load_table("gait/events")[source][kind]["error_s"]
    near = [value for value in late_s if abs(value) <= far_s]
    return float(np.median(near)) if near else 0.0


def _event_confidence(source: EventSource, kind: EventKind, seen_s: Sequence[float]) -> float:
    """Return the probability that an event is within 20 ms of the truth; seen_s: differences (s) to plate events of the trial."""
    table = load_table("gait/events")
    known = table[source][kind]
    if not seen_s:
        return probability_within_tolerance(known["error_s"], known.get("bias_s", 0.0))
    weight = float(table["kinematic"]["own_weight"])
    count = weight + len(seen_s)
    variance = (weight * known["repeat_s"] ** 2 + sum(value**2 for value in seen_s)) / count
    # error of the correction (SD / sqrt(n)), and of an SD estimated from few differences
    scale = math.sqrt(variance * (1.0 + 1.0 / len(seen_s)))
    close_s = float(table["close_s"])
    return float(2.0 * stdtr(count, close_s / scale) - 1.0)


def _enforce_alternation(
    events: list[GaitEvent], side: Side, absences_s: Sequence[tuple[float, float]]
) -> tuple[list[GaitEvent], list[Diagnostic]]:
    """Drop the less certain of two events of a side that contradict each other, until strikes and offs alternate."""
    min_phase_s = 0.08  # shortest stance or swing, even in sprinting
    sequence = sorted(events, key=lambda event: event.time_s)
    notes: list[Diagnostic] = []
    position = 0
    while position < len(sequence) - 1:
        first, second = sequence[position], sequence[position + 1]
        gap = second.time_s - first.time_s
        twins = first.kind == second.kind and gap < MIN_STRIDE_S
        if not twins and (first.kind == second.kind or gap >= min_phase_s):
            position += 1
            continue
        weaker = first if first.confidence < second.confidence else second
        sequence.remove(weaker)
        other = "another event of the same kind" if twins else "an event of the opposite kind"
        notes.append(
            Diagnostic(
                code="gait-event-dropped",
                severity="info",
                message=f"{_event_text(weaker, side)} ({weaker.source}) was excluded, because {other} is only "
                f"{gap:.3f} s away.",
                value=gap,
                limit=MIN_STRIDE_S if twins else min_phase_s,
                unit="s",
            )
        )
        position = max(position - 1, 0)
    for first, second in pairwise(sequence):
        away = any(first.time_s < begin_s < second.time_s for begin_s, _ in absences_s)
        if first.kind == second.kind and not away:
            other = KINDS[1 - KINDS.index(first.kind)].replace("_", " ")
            notes.append(
                Diagnostic(
                    code=_MISSING,
                    severity="warning",
                    message=f"No {other} of the {SIDE_NAMES[side]} foot was found between {first.time_s:.2f} s and "
                    f"{second.time_s:.2f} s.",
                    hint="Heel or toe was not visible, or the step is unusual. The phases of this cycle are not "
                    "available.",
                )
            )
    return sequence, notes


def _event_text(event: GaitEvent, side: Side) -> str:
    return f"{SIDE_NAMES[side].capitalize()} {event.kind.replace('_', ' ')} at {event.time_s:.2f} s"
