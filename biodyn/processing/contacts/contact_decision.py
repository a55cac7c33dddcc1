"""Assignment of plate loads to feet.

The force of each plate is split into loads, and each load into parts in which a foot can load the plate. Every part is assigned
to the only foot that can have applied it, or to no foot with a reason (`contact_evidence` compares both feet with the load).
Overrides of the user are applied last.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from biodyn.conventions import SIDE_NAMES, SIDES, STANDARD_GRAVITY_M_S2, BoolArray, IntArray, Side, other_side
from biodyn.diagnostics import Diagnostic
from biodyn.processing.contacts.contact_evidence import (
    MAX_SOLE_HEIGHT_M,
    MIN_ABSENT_S,
    MIN_CONTACT_S,
    MIN_SHARED_S,
    OUTLINE_ERROR_M,
    FootEvidence,
    LoadPart,
    PlateContact,
    PlateLoad,
    adjacent_force,
    contact_windows,
    evidence_record,
    feet_evidence,
    is_foot_near_load,
    loading_times,
    mean_force,
    nearest_foot,
    split_load,
)
from biodyn.processing.contacts.foot_motion import FootOutline
from biodyn.processing.contacts.force_balance import BodyBalance, revise_by_force_balance
from biodyn.processing.contacts.plate_loads import PlateSignals, centre_of_pressure, find_loads
from biodyn.processing.contacts.settings import ContactOverride, ContactSettings
from biodyn.processing.contacts.shared_plate_loads import Stance, label_stance, split_stances
from biodyn.processing.contacts.stances_off_plates import assigned_frames
from biodyn.processing.signals.filtering import finite_stretches
from biodyn.recording import Contact
from biodyn.recording.wrenches import ContactDecision

#: Tolerance of times that a user reads from a table or figure, relative to the start of a load or an event.
MATCHES_S = 0.1


def apply_overrides(
    contacts: Sequence[PlateContact], overrides: Sequence[ContactOverride], rate_hz: float
) -> list[PlateContact]:
    """Apply the overrides of the user to the contacts.

    An override applies to the load of its plate at `from_s`: from this time (or the start of the load, if it is near) to
    `until_s` or the end of the load. An override without a load has no effect: see `unused_overrides`.
    """
    result = list(contacts)
    for entry in overrides:
        result = _apply_override(result, entry, rate_hz)
    return sorted(result, key=lambda item: (item.contact.start_s, item.contact.plate))


def unused_overrides(
    contacts: Sequence[Contact], numbers: Sequence[int], overrides: Sequence[ContactOverride]
) -> Iterator[Diagnostic]:
    """Yield a finding about each override without a load in `contacts`; numbers: plate numbers in the file."""
    for entry in overrides:
        side = _override_side(entry)
        if any(
            c.plate == entry.plate and c.side == side and c.start_s - MATCHES_S <= entry.from_s < c.end_s
            for c in contacts
        ):
            continue
        loads = [f"{c.start_s:.2f} to {c.end_s:.2f} s" for c in contacts if c.plate == entry.plate]
        span = f"from {entry.from_s:g} s" + (f" until {entry.until_s:g} s" if entry.until_s is not None else "")
        if entry.plate not in numbers:
            known = ", ".join(str(number) for number in numbers) or "none"
            why = f"the file has no such plate (plates with a position and channels: {known})"
        else:
            why = f"the plate is not loaded at that time (its loads: {', '.join(loads) or 'none'})"
        yield Diagnostic(
            "data-not-used",
            "warning",
            f"[contacts] override assigns plate {entry.plate} {span} to {_foot_text(entry)}, but {why}. The "
            "override is not applied. Without a measured force, joint moments of this leg are not available.",
            hint="Correct the plate number and the time of the contact, or the plates in the file (FORCE_PLATFORM).",
            about=str(entry.plate),
        )


def _foot_text(entry: ContactOverride) -> str:
    return "no foot" if _override_side(entry) is None else f"the {entry.side} foot"


def _override_side(entry: ContactOverride) -> Side | None:
    """Return the side of the foot that an override names; None for neither."""
    return next((side for side in SIDES if SIDE_NAMES[side] == entry.side), None)


def _apply_override(contacts: list[PlateContact], entry: ContactOverride, rate_hz: float) -> list[PlateContact]:
    load = _find_overridden_load(contacts, entry)
    if not load:
        return contacts
    start_s, end_s = load[0].contact.start_s, load[-1].contact.end_s
    near = entry.from_s <= start_s + MATCHES_S
    begin_s = start_s if near else entry.from_s
    stop_s = end_s if entry.until_s is None else min(entry.until_s, end_s)
    if stop_s <= begin_s:
        return contacts
    first = load[0].first if near else round(begin_s * rate_hz)
    stop = load[-1].stop if stop_s == end_s else round(stop_s * rate_hz)
    unchanged = [item for item in contacts if not any(item is part for part in load)]
    for item in load:
        own_start_s, own_end_s = item.contact.start_s, item.contact.end_s
        if item.first < first:
            end = min(item.stop, first)
            unchanged.append(_remaining_part(item, item.first, end, own_start_s, min(own_end_s, begin_s)))
        if item.stop > stop:
            at = max(item.first, stop)
            unchanged.append(_remaining_part(item, at, item.stop, max(own_start_s, stop_s), own_end_s))
    side = _override_side(entry)
    model = max(load, key=lambda item: min(item.stop, stop) - max(item.first, first))
    decision: ContactDecision = "assigned" if side else "rejected"
    given = model.with_changes(start_s=begin_s, end_s=stop_s, side=side, decision=decision, reason="set by the user")
    # Without a side, the ground reactions of the feet that may have stood there stay unknown.
    feet = (side,) if side else tuple(dict.fromkeys(foot for item in load for foot in item.feet))
    cuts = (load[0].cut_before or not near, load[-1].cut_after or stop_s != end_s)
    return [*unchanged, PlateContact(given.contact, model.plate, first, stop, feet, *cuts)]


def _remaining_part(item: PlateContact, first: int, stop: int, start_s: float, end_s: float) -> PlateContact:
    """Return the part of a contact, frames first to stop, that remains before or after the contact set by the user."""
    return replace(
        item.with_changes(start_s=start_s, end_s=end_s),
        first=first,
        stop=stop,
        cut_before=item.cut_before or first > item.first,
        cut_after=item.cut_after or stop < item.stop,
    )


def _find_overridden_load(contacts: Sequence[PlateContact], entry: ContactOverride) -> list[PlateContact]:
    """Return the parts, in order of time, of the load to which an override applies.

    This is the load of its plate at `from_s`; if several include this time, the one with the nearest start.
    """
    parts_of_plate = sorted(
        (item for item in contacts if item.contact.plate == entry.plate), key=lambda item: item.first
    )
    loads: list[list[PlateContact]] = []
    for item in parts_of_plate:
        if loads and item.cut_before and loads[-1][-1].cut_after:
            loads[-1].append(item)
        else:
            loads.append([item])
    fitting = [load for load in loads if load[0].contact.start_s - MATCHES_S <= entry.from_s < load[-1].contact.end_s]
    return min(fitting, key=lambda load: abs(load[0].contact.start_s - entry.from_s), default=[])


def reject_short_loads(contacts: list[PlateContact]) -> list[PlateContact]:
    """Reject loads that are too short for a foot, unless the same foot is on another plate at that time."""

    def is_on_other_plate(item: PlateContact) -> bool:
        contact = item.contact
        return any(
            other.contact.side == contact.side is not None
            and other.contact.decision == "assigned"
            and other.plate != item.plate
            and other.contact.end_s - other.contact.start_s >= MIN_CONTACT_S
            and other.contact.start_s < contact.end_s + MIN_SHARED_S
            and other.contact.end_s > contact.start_s - MIN_SHARED_S
            for other in contacts
        )

    checked: list[PlateContact] = []
    for item in contacts:
        length = item.contact.end_s - item.contact.start_s
        is_part = item.cut_before or item.cut_after or item.contact.decision == "ambiguous"
        if length < MIN_CONTACT_S and not is_part and not is_on_other_plate(item):
            reason = f"the load lasts only {length:.2f} s, but a foot contact lasts at least {MIN_CONTACT_S:.2f} s"
            item = replace(item.with_changes(decision="rejected", side=None, reason=reason), feet=())
        checked.append(item)
    return checked


def link_possible_feet(
    contacts: Sequence[PlateContact], plates: Sequence[PlateSignals], foot_outlines: Mapping[Side, FootOutline]
) -> list[PlateContact]:
    """Link unassigned loads to the feet that may have applied them, which are then not in swing, and return the contacts.

    These are feet that rest near the plate (also on a step above it) without an assigned contact. A load too large for a hand
    or a stick concerns every foot without an assigned contact.
    """
    # Limits of the peak force in body weights (70 kg if the mass is unknown). A smaller force is from a cable or an
    # offset, and a hand or a stick cannot carry a larger one.
    least_bw, beyond_a_hand_bw, usual_kg = 0.2, 0.5, 70.0
    least_share = 0.25  # fraction of the frames of the load in which the foot rests, or has an assigned contact
    step_m = 0.3  # largest extent of a step beyond its plate
    checked: list[PlateContact] = []
    for item in contacts:
        evidence, corners = item.contact.evidence, plates[item.plate].corners_W
        peak_bw = evidence["peak_bw"]
        if not math.isfinite(peak_bw):
            peak_bw = evidence["peak_n"] / (usual_kg * STANDARD_GRAVITY_M_S2)
        if item.contact.decision == "rejected" and not item.feet and peak_bw >= least_bw:
            free, rests = {}, {}
            for side, sole in foot_outlines.items():
                distance = np.nan_to_num(sole.distance_to_plate(corners)[item.rows], nan=np.inf).min(axis=1)
                free[side] = ~assigned_frames(side, contacts, len(sole.bearing))[item.rows]
                rests[side] = free[side] & sole.bearing[item.rows] & (distance < step_m)
            feet = tuple(side for side in rests if np.mean(rests[side]) >= least_share)
            if not feet and peak_bw >= beyond_a_hand_bw:
                feet = tuple(side for side in free if np.mean(free[side]) >= least_share)
            names = " or the ".join(SIDE_NAMES[side] for side in feet)
            reason = f"{item.contact.reason}; the {names} foot may have applied it" if feet else item.contact.reason
            item = replace(item.with_changes(reason=reason), feet=feet)
        checked.append(item)
    return checked


# A force without a foot above this fraction of the peak of the load also acted during the foot contact.
OTHER_LOAD_SHARE = 0.05


def decide_contacts(
    plates: Sequence[PlateSignals],
    foot_outlines: Mapping[Side, FootOutline],
    rate_hz: float,
    settings: ContactSettings,
    *,
    smear_s: float,
    mass_kg: float | None = None,
    balance: BodyBalance | None = None,
) -> list[PlateContact]:
    """Return every load of every plate with the foot that applied it, sorted by start time.

    A load is assigned to a foot if the centre of pressure is on its sole, no other foot is on the plate, and the low part of
    the sole is entirely on plates. Stretches with two feet on one plate, extended by `smear_s`, are ambiguous unless the shares
    of the feet can be computed (`shared_plate_loads`). A load that lasts longer than a foot can be on the plate is cut to the
    time of the feet; the time without a foot is rejected, with the force of the plate in the reason. The balance of forces on
    the whole body (`balance`) and the overrides of the user are applied last.

    Args:
        plates: measured plates; all of them count as instrumented floor.
        foot_outlines: both feet.
        rate_hz: marker rate.
        settings: the section [contacts].
        smear_s: half the time over which the filter of the wrenches spreads an edge, about 0.5 / cut-off.
        mass_kg: body mass for the evidence in body weights, None if unknown.
        balance: force required by the motion of the whole body; None = not used.
    """
    contacts: list[PlateContact] = []
    for load, part, level_n in _load_parts(plates, foot_outlines, rate_hz, settings, smear_s, mass_kg):
        contacts += _decide_part(load, part, level_n)
    contacts.sort(key=lambda item: (item.contact.start_s, item.contact.plate))
    if balance is not None:
        contacts = revise_by_force_balance(contacts, foot_outlines, balance, rate_hz, smear_s)
    contacts = link_possible_feet(reject_short_loads(contacts), plates, foot_outlines)
    return apply_overrides(contacts, settings.override, rate_hz)


def _load_parts(
    plates: Sequence[PlateSignals],
    foot_outlines: Mapping[Side, FootOutline],
    rate_hz: float,
    settings: ContactSettings,
    smear_s: float,
    mass_kg: float | None,
) -> Iterator[tuple[PlateLoad, LoadPart, float]]:
    """Yield every part of every load, with the adjacent force (N) of the plate without a foot."""
    floor = _lowest_surface_height(plates, foot_outlines) if plates else 0.0
    for index, plate in enumerate(plates):
        threshold_n = plate.threshold_n(settings.threshold_n)
        cop = centre_of_pressure(plate.wrench, plate.corners_W, settings.threshold_n)
        raised = float(plate.corners_W[:, 1].mean()) > floor + MAX_SOLE_HEIGHT_M
        windows = contact_windows(plate, foot_outlines, rate_hz)
        for start_s, end_s in find_loads(plate.vertical_force, plate.analog_rate_hz, threshold_n):
            parts = split_load(start_s, end_s, windows["any"], rate_hz)
            for number, part in enumerate(parts):
                first = min(math.ceil(part.start_s * rate_hz), len(cop) - 1)
                load = PlateLoad(
                    index=index,
                    plate=plate,
                    plates=plates,
                    foot_outlines=foot_outlines,
                    windows=windows,
                    cop=cop,
                    raised=raised,
                    rate_hz=rate_hz,
                    start_s=part.start_s,
                    end_s=part.end_s,
                    first=first,
                    stop=max(min(math.floor(part.end_s * rate_hz) + 1, len(cop)), first + 1),
                    threshold_n=threshold_n,
                    smear_s=smear_s,
                    mass_kg=mass_kg,
                )
                yield load, part, adjacent_force(plate, parts, number)


def _lowest_surface_height(plates: Sequence[PlateSignals], foot_outlines: Mapping[Side, FootOutline]) -> float:
    """Return the height in World of the lowest surface of the trial: a plate, or the level of a standing foot."""
    levels = [float(plate.corners_W[:, 1].mean()) for plate in plates]
    levels += [
        float(np.median(sole.height[a:b])) for sole in foot_outlines.values() for a, b in finite_stretches(sole.bearing)
    ]
    return min(levels)


def _decide_part(load: PlateLoad, part: LoadPart, level_n: float) -> list[PlateContact]:
    """Decide about a part of a load; `level_n` is the adjacent force of the plate without a foot."""
    if not part.foot:
        reason = f"no foot is above the plate, which measures {mean_force(load.plate, part):.0f} N"
        if load.plate.side is not None:
            name = SIDE_NAMES[load.plate.side]
            reason = f"the file assigns {mean_force(load.plate, part):.0f} N to the {name} foot, which is in swing"
        alone = _make_contact(load, None, "rejected", reason, (), feet_evidence(load))
        return [replace(alone, cut_before=part.cut_before, cut_after=part.cut_after)]
    parts = _decide_load(load)
    begin_s, end_s = loading_times(load.plate, part, level_n + load.threshold_n)
    # The wider range of frames is kept, because the filter spreads the force over it.
    parts[0] = replace(parts[0].with_changes(start_s=begin_s), cut_before=part.cut_before)
    parts[-1] = replace(parts[-1].with_changes(end_s=end_s), cut_after=part.cut_after)
    return [_reject_implausible(load, part_contact, level_n) for part_contact in parts]


def _reject_implausible(load: PlateLoad, part_contact: PlateContact, level_n: float) -> PlateContact:
    """Reject a contact if its force is measured incompletely, or if something else than the foot also loads the plate."""
    contact = part_contact.contact
    reason = ""
    if level_n > OTHER_LOAD_SHARE * contact.evidence["peak_n"]:
        reason = (
            f"the plate measures {level_n:.0f} N next to the contact without a foot, so that something else also "
            "loads it"
        )
    cut_off_s, silent_s = (
        sum(max(min(end, contact.end_s) - max(start, contact.start_s), 0.0) for start, end in stretches)
        for stretches in (load.plate.saturated_s, load.plate.unrecorded_s)
    )
    if cut_off_s > 0.0:
        reason = f"a channel of the plate is saturated for {1000 * cut_off_s:.0f} ms"
    if silent_s > 0.0:
        reason = f"the plate has no signal for {1000 * silent_s:.0f} ms of the contact"
    if not reason or contact.decision != "assigned":
        return part_contact
    return part_contact.reject(reason)


def _decide_load(load: PlateLoad) -> list[PlateContact]:
    """Return the contacts of a load: one, or several if two feet share the plate."""
    feet = feet_evidence(load)
    if load.plate.side is not None:
        return [_decide_by_file(load, load.plate.side, feet)]
    on_plate = {side: feet[side].on_plate for side in SIDES}
    shared = on_plate["r"] & on_plate["l"]
    min_shared = MIN_SHARED_S * load.rate_hz
    takes_turns = all(np.count_nonzero(on_plate[side] & ~shared) >= min_shared for side in SIDES)
    if np.count_nonzero(shared) < min_shared and not takes_turns:
        return [_decide_single_foot(load, feet)]
    return _split_between_feet(load, on_plate)


def _decide_by_file(load: PlateLoad, side: Side, feet: Mapping[Side, FootEvidence]) -> PlateContact:
    """Decide about a load that the file assigns to a foot: accept it unless the centre of pressure contradicts it."""
    name, other = SIDE_NAMES[side], SIDE_NAMES[other_side(side)]
    if is_foot_near_load(feet[side]):
        reason = f"the file assigns this force to the {name} foot, and the centre of pressure is within its outline"
        return _make_contact(load, side, "assigned", reason, (side,), feet)
    if is_foot_near_load(feet[other_side(side)]):
        reason = f"the file assigns this force to the {name} foot, but the centre of pressure is under the {other} foot"
        return _make_contact(load, None, "ambiguous", reason, SIDES, feet)
    return _reject_without_foot(load, feet, side)


def _decide_single_foot(load: PlateLoad, feet: Mapping[Side, FootEvidence]) -> PlateContact:
    """Decide about a load that at most one foot can have applied."""
    near = [side for side in SIDES if is_foot_near_load(feet[side])]
    best = nearest_foot(feet)
    if len(near) == 2:
        standing = [side for side in near if feet[side].on_plate.any()]
        rival = feet[other_side(best)].distance_median_m
        if len(standing) == 1:
            best = standing[0]
        elif rival < 2.0 * feet[best].distance_median_m + OUTLINE_ERROR_M:
            return _make_contact(load, None, "ambiguous", "the centre of pressure is under both feet", SIDES, feet)
    elif near:
        best = near[0]
    else:
        return _reject_without_foot(load, feet, best)
    name, evidence = SIDE_NAMES[best], feet[best]
    foreign_n = _force_in_swing(load, best)
    if foreign_n > OTHER_LOAD_SHARE * float(np.nanmax(load.plate.wrench[load.first : load.stop, 4])):
        reason = f"while the {name} foot is in swing the plate carries {foreign_n:.0f} N of the other foot"
        return _make_contact(load, None, "ambiguous", reason, SIDES, feet)
    # Reject it even if the centre of pressure is far inside, because the force of the toes on the floor is missing.
    if evidence.overhang_m > OUTLINE_ERROR_M and not load.raised:
        reason = f"the {name} foot extends {100 * evidence.overhang_m:.1f} cm beyond the plate"
        rejected = _make_contact(load, best, "rejected", reason, (best,), feet)
        return replace(rejected, frame_overhang_m=evidence.frame_overhang_m)
    where = (
        "is on the plate, centre of pressure within its outline"
        if load.plate.outlined
        else "is at the centre of pressure"
    )
    reason = f"only the {name} foot {where}"
    return _make_contact(load, best, "assigned", reason, (best,), feet)


def _force_in_swing(load: PlateLoad, side: Side) -> float:
    """Return the vertical force (N) of a load while this foot is in swing and only the other foot can have applied it."""
    rows = slice(load.first, load.stop)
    own_window, other_window = (load.windows[foot][rows] for foot in (side, other_side(side)))
    alone = ~own_window & other_window
    if np.count_nonzero(alone) < MIN_ABSENT_S * load.rate_hz:
        return 0.0
    return float(np.nanmedian(load.plate.wrench[rows, 4][alone]))


def _reject_without_foot(load: PlateLoad, feet: Mapping[Side, FootEvidence], best: Side) -> PlateContact:
    """Reject a load that fits no foot; the ground reaction of the nearest foot is unknown while it is on the plate."""
    unseen = [SIDE_NAMES[side] for side in SIDES if feet[side].known_share < 0.5]
    if unseen:
        reason = f"the {' and the '.join(unseen)} foot {'is' if len(unseen) == 1 else 'are'} not visible"
        concerned = tuple(side for side in SIDES if feet[side].known_share < 0.5)
        return _make_contact(load, None, "rejected", reason, concerned, feet)
    numbers = ", ".join(f"{SIDE_NAMES[side]} {100 * feet[side].distance_median_m:.0f} cm" for side in SIDES)
    reason = f"no foot is at the centre of pressure (distance {numbers})"
    return _make_contact(load, None, "rejected", reason, (best,) if feet[best].on_plate.any() else (), feet)


def _split_between_feet(load: PlateLoad, on_plate: Mapping[Side, BoolArray]) -> list[PlateContact]:
    """Split a load of both feet into the stances of each foot and the parts that cannot be shared."""
    label = label_stance(on_plate["r"], on_plate["l"])
    smear = math.ceil(load.smear_s * load.rate_hz)
    stances, gaps = split_stances(load, label, smear)
    if not stances:
        return _split_without_sharing(load, label, smear)
    parts = [_decide_stance(load, stance) for stance in stances]
    for first, stop in gaps:
        part = _frames_of_load(load, first, stop)
        part_contact = _make_contact(part, None, "ambiguous", "both feet are on the plate", SIDES, feet_evidence(part))
        parts.append(replace(part_contact, cut_before=first > load.first, cut_after=stop < load.stop))
    return sorted(parts, key=lambda part_contact: part_contact.first)


def _decide_stance(load: PlateLoad, stance: Stance) -> PlateContact:
    """Decide about a stance in a shared load from the frames in which only this foot is on the plate."""
    part_contact = _decide_single_foot(
        _frames_of_load(load, *stance.alone), feet_evidence(_frames_of_load(load, *stance.alone))
    )
    contact = replace(part_contact.contact, start_s=stance.start_s, end_s=stance.end_s)
    if contact.side != stance.side or contact.decision != "assigned":
        contact = replace(contact, side=stance.side, decision="rejected") if contact.decision == "assigned" else contact
        return replace(part_contact, contact=contact, first=stance.first, stop=stance.stop, frame_overhang_m=None)
    if stance.shared_s > 0.0:
        evidence = {**contact.evidence, "shared_s": stance.shared_s, "shared_sd_n": stance.force_sd_n}
        reason = (
            f"the {SIDE_NAMES[stance.side]} foot is on the plate, for {1000 * stance.shared_s:.0f} ms together with "
            f"the other foot; its share is estimated from the centre of pressure (SD {stance.force_sd_n:.0f} N)"
        )
        contact = replace(contact, reason=reason, evidence=evidence)
    return replace(
        part_contact,
        contact=contact,
        first=stance.first,
        stop=stance.stop,
        cut_before=stance.cut_before,
        cut_after=stance.cut_after,
        share=stance.share,
    )


def _split_without_sharing(load: PlateLoad, label: IntArray, smear: int) -> list[PlateContact]:
    """Split the load into stretches of one foot and of both feet, if no double support can be shared."""
    label = _widen_labels(label, smear)
    edges = np.concatenate(([0], np.flatnonzero(np.diff(label)) + 1, [len(label)]))
    parts: list[PlateContact] = []
    for begin, end in pairwise(edges):
        part = _frames_of_load(load, load.first + int(begin), load.first + int(end))
        feet = feet_evidence(part)
        owner: Side | None = {1: SIDES[0], 2: SIDES[1]}.get(int(label[begin]))
        too_short = part.end_s - part.start_s < MIN_CONTACT_S
        if owner is None or too_short or not is_foot_near_load(feet[owner]):
            part_contact = _make_contact(part, None, "ambiguous", "both feet are on the plate", SIDES, feet)
        else:
            part_contact = _decide_single_foot(part, feet)
        parts.append(replace(part_contact, cut_before=begin > 0, cut_after=end < len(label)))
    return parts


def _frames_of_load(load: PlateLoad, first: int, stop: int) -> PlateLoad:
    """Return a load restricted to the marker frames [first, stop)."""
    return replace(
        load,
        first=first,
        stop=stop,
        start_s=load.start_s if first <= load.first else first / load.rate_hz,
        end_s=load.end_s if stop >= load.stop else stop / load.rate_hz,
    )


def _widen_labels(label: IntArray, smear: int) -> IntArray:
    """Return the labels with frames within `smear` of a change of feet set to 3 (both feet)."""
    mixed = label == 3
    for edge in np.flatnonzero(np.diff(label)):
        mixed[max(edge + 1 - smear, 0) : edge + 1 + smear] = True
    return np.where(mixed, 3, label)


def _make_contact(
    load: PlateLoad,
    side: Side | None,
    decision: ContactDecision,
    reason: str,
    concerned: tuple[Side, ...],
    feet: Mapping[Side, FootEvidence],
) -> PlateContact:
    """Return the contact of a load with the given decision and reason, and the evidence for its foot."""
    contact = Contact(
        plate=load.plate.number,
        start_s=load.start_s,
        end_s=load.end_s,
        side=side,
        decision=decision,
        reason=reason,
        evidence=evidence_record(load, side, feet),
    )
    return PlateContact(contact, load.index, load.first, load.stop, concerned)
