"""Foot strikes and foot offs from plates, from the movement and from the file, merged side by side."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Literal

import numpy as np
from scipy.special import stdtr

from biodyn.conventions import SIDE_NAMES, SIDES, FloatArray, Side
from biodyn.diagnostics import Diagnostic
from biodyn.library.load import load_table
from biodyn.processing.gait.activity import Direction
from biodyn.processing.gait.contact_likelihood import likely_strikes
from biodyn.processing.gait.event_confidence import probability_close
from biodyn.processing.gait.foot_motion import at_marks, offs_by_toes
from biodyn.processing.gait.moving_feet import leading_points, with_standing_feet
from biodyn.processing.gait.parameters import GaitSettings
from biodyn.processing.gait.peaks import distinct_peaks
from biodyn.processing.gait.stored_events import possible_events
from biodyn.processing.signals.filtering import finite_stretches
from biodyn.recording import EventKind, EventSource, GaitEvent
from biodyn.recording.wrenches import Contact

KINDS: tuple[EventKind, EventKind] = ("foot_strike", "foot_off")
# Two records of the same event lie closer than this; two events of the same kind farther apart than a stride.
SAME_EVENT_S = 0.15
# A difference of more standard deviations than this is no bias of a person.
_FAR_SD = 3.0
MIN_STRIDE_S = 0.4
# A pelvis that is unknown for so long may hide a strike and the foot off after it: nobody knows how many strides that were.
ABSENT_S = 1.0
MIN_PHASE_S = 0.08  # neither stance nor swing is shorter, not in sprinting either
# Loads of the same foot on neighbouring plates belong to one stance.
SAME_STANCE_S = 0.05
# A fore-aft excursion of the heel or toe below this is no gait; a peak must stand out by this share of the excursion.
MIN_EXCURSION_M = 0.1
PEAK_SHARE = 0.1
_MISSING = "gait-event-missing"


def gait_events(
    contacts: Sequence[Contact],
    file_events: Sequence[GaitEvent],
    settings: GaitSettings,
    *,
    heel_W: Mapping[Side, FloatArray],
    toe_W: Mapping[Side, FloatArray],
    pelvis_W: FloatArray,
    forward_W: FloatArray,
    rate_hz: float,
    direction: Direction = "forwards",
    walking: bool = True,
    floor_velocity_W: FloatArray | Sequence[float] = (0.0, 0.0, 0.0),
    soles_W: Mapping[Side, FloatArray] | None = None,
) -> tuple[tuple[GaitEvent, ...], tuple[Diagnostic, ...]]:
    """Return the events of both sides from all three sources, merged as `merge_events` says, sorted by time.

    Args:
        contacts: decided plate contacts; only assigned ones give events.
        file_events: what the file stores.
        settings: the section [gait].
        heel_W, toe_W: per side (T, 3) m in World, filtered, NaN where unknown.
        pelvis_W, forward_W: (T, 3) pelvis centre, m, and its anterior direction.
        rate_hz: marker rate.
        direction: of the steps against the pelvis (`activity`); "" = no steps, the movement has no events.
        walking: False in running, on stairs.
        floor_velocity_W: (3,) m/s, of a treadmill's belt.
        soles_W: per side (T, K, 3) m: an event of the movement is dropped where the foot does not come to stand or leave.
    """
    moved: list[GaitEvent] = []
    if direction:
        ahead = leading_points(direction, heel_W, toe_W, pelvis_W, forward_W, np.asarray(floor_velocity_W), rate_hz)
        moved = expected_events(kinematic_events(*ahead, rate_hz))
    if direction == "forwards":
        # What was learnt was learnt of walking people.
        if walking:
            moved = likely_strikes(
                offs_by_toes(moved, toe_W, rate_hz), heel_W, toe_W, np.asarray(floor_velocity_W), rate_hz
            )
        else:
            moved = at_marks(moved, heel_W, toe_W, rate_hz)
    if soles_W is not None:
        moved = with_standing_feet(moved, soles_W, rate_hz)
    candidates = [*plate_events(contacts, len(pelvis_W) / rate_hz, 1.0 / rate_hz), *moved, *file_events]
    events, notes = merge_events(
        candidates, settings.events, (len(pelvis_W) - 1) / rate_hz, _absences(pelvis_W, rate_hz)
    )
    if direction and not events and settings.events != "auto":
        notes = (*notes, _none_of(settings.events))
    if not direction:  # without steps nothing is missing between what a file stores
        notes = tuple(note for note in notes if note.code != _MISSING)
    return events, notes


def _none_of(source: str) -> Diagnostic:
    return Diagnostic(
        "gait-events-none",
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


def kinematic_events(
    heel_W: Mapping[Side, FloatArray],
    toe_W: Mapping[Side, FloatArray],
    pelvis_W: FloatArray,
    forward_W: FloatArray,
    rate_hz: float,
) -> list[GaitEvent]:
    """Events from the movement: strike = heel farthest ahead of the pelvis, off = toe farthest behind (Zeni 2008).

    10.1016/j.gaitpost.2007.07.007. All arrays (T, 3) m in World, low-pass filtered, NaN where unknown. `forward_W` is
    the pelvis' own anterior direction frame by frame, so that turns need no straight walkway. Sub-frame by a parabola.
    """
    forward = np.array(forward_W, dtype=np.float64)
    forward[:, 1] = 0.0
    forward /= np.linalg.norm(forward, axis=1, keepdims=True)
    events: list[GaitEvent] = []
    for side in SIDES:
        for kind, points, sign in (("foot_strike", heel_W[side], 1.0), ("foot_off", toe_W[side], -1.0)):
            ahead = sign * np.sum((points - pelvis_W) * forward, axis=1)
            for time_s in _peak_times(ahead, rate_hz):
                events.append(GaitEvent(time_s, side, kind, "kinematic"))  # type: ignore[arg-type]
    return events


def expected_events(extremes: Sequence[GaitEvent]) -> list[GaitEvent]:
    """Return the extremes of `kinematic_events` at the times of the events that they stand for, with their confidence.

    What is typical of people is taken off, in shares of the stride (`library/gait/events.toml`).
    """
    stride_s, known = _stride_s(extremes), load_table("gait/events")["kinematic"]
    return [
        replace(
            event,
            time_s=event.time_s - known[event.kind]["late_strides"] * stride_s,
            confidence=probability_close(known[event.kind]["error_s"], known[event.kind]["bias_s"]),
        )
        for event in extremes
    ]


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
        stored, wrong = possible_events(of_file, found, _stride_s(found), SAME_EVENT_S, source == "file")
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
        chosen += [event for event in events if not any(_same(event, other) for other in chosen)]
    return chosen


def _plate_event(time_s: float, side: Side, kind: EventKind, missed_s: float) -> GaitEvent:
    # Where the stored force was cut to zero the event is extrapolated, and about as uncertain as it was moved.
    error_s = math.hypot(load_table("gait/events")["plate"][kind]["error_s"], missed_s)
    return GaitEvent(time_s, side, kind, "plate", probability_close(error_s))


def _peak_times(signal: FloatArray, rate_hz: float) -> list[float]:
    """Times in s of the distinct maxima of a signal (T,) m with gaps."""
    finite = np.isfinite(signal)
    if not finite.any():
        return []
    low, high = np.percentile(signal[finite], [5.0, 95.0])
    if high - low < MIN_EXCURSION_M:
        return []
    times: list[float] = []
    for first, stop in finite_stretches(finite):
        part = signal[first:stop]
        for peak in distinct_peaks(part, PEAK_SHARE * (high - low), max(1.0, MIN_STRIDE_S * rate_hz)):
            before, at, after = part[peak - 1 : peak + 2]
            bend = before - 2.0 * at + after
            shift = 0.5 * (before - after) / bend if bend < 0.0 else 0.0
            times.append(float((first + peak + shift) / rate_hz))
    return times


def _same(one: GaitEvent, other: GaitEvent) -> bool:
    return one.side == other.side and one.kind == other.kind and abs(one.time_s - other.time_s) < SAME_EVENT_S


def _rated(candidates: Sequence[GaitEvent]) -> list[GaitEvent]:
    """Take off what the trial's plates show of the bias of kinematic events, and give every event its confidence."""
    plate = [event for event in candidates if event.source == "plate"]
    rated = list(plate)
    sources: tuple[EventSource, EventSource] = ("kinematic", "file")
    for source in sources:
        for kind in KINDS:
            own = [event for event in candidates if event.source == source and event.kind == kind]
            late = [event.time_s - truth.time_s for truth in plate for event in own if _same(event, truth)]
            # What the file says is left as it is; the movement is a proxy and is shifted. What lies farther off than people
            # differ is a mark of something else (a first step), and tells of the confidence, not of the bias.
            far_s = _FAR_SD * load_table("gait/events")[source][kind]["error_s"]
            bias = [value for value in late if abs(value) <= far_s]
            shift = float(np.median(bias)) if bias and source == "kinematic" else 0.0
            own = [replace(event, time_s=event.time_s - shift) for event in own]
            if late or source == "file":  # what the movement alone tells has its confidence from there
                confidence = _confidence(source, kind, [value - shift for value in late])
                own = [replace(event, confidence=confidence) for event in own]
            rated += own
    return rated


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


def _stride_s(events: Sequence[GaitEvent]) -> float:
    """Median time between successive events of one kind and side, else twice that between the sides; 0 if unknown."""
    for sides, factor in (([("r",), ("l",)], 1.0), ([("r", "l")], 2.0)):
        gaps: list[float] = []
        for kind in KINDS:
            for which in sides:
                times = sorted(event.time_s for event in events if event.kind == kind and event.side in which)
                gaps += [factor * (later - earlier) for earlier, later in pairwise(times)]
        if gaps:
            return float(np.median(gaps))
    return 0.0


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
