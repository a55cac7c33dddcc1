"""Whose foot loads which plate, and what cannot be told: the rule.

Each plate's force is cut into loads, each load into the parts in which a foot can be there; the evidence of both feet is
measured (`evidence`), and a part is given to the one foot it can be of, or to none with the reason. What is too short for
a foot is taken back in the end (`short_loads`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from biodyn.conventions import SIDE_NAMES, SIDES, BoolArray, IntArray, Side, other_side
from biodyn.errors import SettingsError
from biodyn.processing.contacts.balance import BodyBalance, judge_by_balance
from biodyn.processing.contacts.evidence import (
    MAX_SOLE_HEIGHT_M,
    MIN_ABSENT_S,
    MIN_SHARED_S,
    OUTLINE_ERROR_M,
    ContactWindows,
    FootEvidence,
    Load,
    Part,
    PlateContact,
    adjacent_level,
    feet_evidence,
    is_near,
    mean_force,
    nearest_foot,
    parts_of_load,
    record_of,
    times_above,
)
from biodyn.processing.contacts.feet import FootOutline
from biodyn.processing.contacts.loading import PlateSignals, centre_of_pressure, loadings
from biodyn.processing.contacts.parameters import ContactOverride, ContactSettings
from biodyn.processing.contacts.two_feet import Stance, label_stance, stances_of
from biodyn.processing.signals.filtering import finite_stretches
from biodyn.recording import Contact
from biodyn.recording.wrenches import ContactDecision

# A time that a person reads off a table or figure is this near to a load's begin.
MATCHES_S = 0.1
REASON = "set by the user"


def with_overrides(
    found: Sequence[PlateContact], numbers: Sequence[int], overrides: Sequence[ContactOverride], rate_hz: float
) -> list[PlateContact]:
    """Return the contacts with those of the user; `numbers` of the plates in the file.

    An override holds for the load of its plate at `from_s`, from there (from the load's begin, where that is near) to
    `until_s` or the load's end. Raises SettingsError with the loads there are where it matches none.
    """
    result = list(found)
    for entry in overrides:
        result = _applied(result, numbers, entry, rate_hz)
    return sorted(result, key=lambda item: (item.contact.start_s, item.contact.plate))


def _applied(
    found: list[PlateContact], numbers: Sequence[int], entry: ContactOverride, rate_hz: float
) -> list[PlateContact]:
    load = _load_at(found, entry)
    if not load:
        raise _no_load(found, numbers, entry)
    start_s, end_s = load[0].contact.start_s, load[-1].contact.end_s
    near = entry.from_s <= start_s + MATCHES_S
    begin_s = start_s if near else entry.from_s
    stop_s = end_s if entry.until_s is None else min(entry.until_s, end_s)
    if stop_s <= begin_s:
        raise _no_load(found, numbers, entry)
    first = load[0].first if near else round(begin_s * rate_hz)
    stop = load[-1].stop if stop_s == end_s else round(stop_s * rate_hz)
    kept = [item for item in found if not any(item is part for part in load)]
    for item in load:
        if item.first < first:
            end = min(item.stop, first)
            kept.append(_part(item, item.first, end, item.contact.start_s, min(item.contact.end_s, begin_s)))
        if item.stop > stop:
            at = max(item.first, stop)
            kept.append(_part(item, at, item.stop, max(item.contact.start_s, stop_s), item.contact.end_s))
    side: Side | None = next((side for side in SIDES if SIDE_NAMES[side] == entry.side), None)
    model = max(load, key=lambda item: min(item.stop, stop) - max(item.first, first))
    contact = replace(
        model.contact,
        start_s=begin_s,
        end_s=stop_s,
        side=side,
        decision="assigned" if side else "rejected",
        reason=REASON,
    )
    # Given to no foot, the feet that might have stood there stay unknown.
    feet = (side,) if side else tuple(dict.fromkeys(foot for item in load for foot in item.feet))
    kept.append(
        PlateContact(
            contact,
            model.plate,
            first,
            stop,
            feet,
            cut_before=load[0].cut_before if near else True,
            cut_after=load[-1].cut_after if stop_s == end_s else True,
        )
    )
    return kept


def _part(item: PlateContact, first: int, stop: int, start_s: float, end_s: float) -> PlateContact:
    """A piece of a contact, beside the one that the user set."""
    contact = replace(item.contact, start_s=start_s, end_s=end_s)
    return replace(
        item,
        contact=contact,
        first=first,
        stop=stop,
        cut_before=item.cut_before or first > item.first,
        cut_after=item.cut_after or stop < item.stop,
    )


def _load_at(found: Sequence[PlateContact], entry: ContactOverride) -> list[PlateContact]:
    """The pieces, in order, of the unbroken load of the plate at `from_s`; of several, the one that begins nearest."""
    own = sorted((item for item in found if item.contact.plate == entry.plate), key=lambda item: item.first)
    loads: list[list[PlateContact]] = []
    for item in own:
        if loads and item.cut_before and loads[-1][-1].cut_after:
            loads[-1].append(item)
        else:
            loads.append([item])
    fitting = [load for load in loads if load[0].contact.start_s - MATCHES_S <= entry.from_s < load[-1].contact.end_s]
    return min(fitting, key=lambda load: abs(load[0].contact.start_s - entry.from_s), default=[])


def _no_load(found: Sequence[PlateContact], numbers: Sequence[int], entry: ContactOverride) -> SettingsError:
    own = sorted({(item.contact.start_s, item.contact.end_s) for item in found if item.contact.plate == entry.plate})
    span = f"from {entry.from_s:g} s" + (f" until {entry.until_s:g} s" if entry.until_s is not None else "")
    if entry.plate not in numbers:
        known = ", ".join(str(number) for number in numbers) or "none"
        hint = f"Plates with a wrench: {known}."
    elif own:
        hint = "Loads of the plate: " + ", ".join(f"{start:.2f} to {end:.2f} s" for start, end in own) + "."
    else:
        hint = "The plate was never loaded."
    return SettingsError(f"contacts.override names plate {entry.plate} {span}, where it carries no load.", hint)


def without_short_loads(found: list[PlateContact], min_contact_s: float) -> list[PlateContact]:
    """Reject what is too short for a foot, unless the same foot stands on another plate at that moment."""
    kept: list[PlateContact] = []
    for item in found:
        contact = item.contact
        length = contact.end_s - contact.start_s
        if length >= min_contact_s or item.cut_before or item.cut_after or contact.decision == "ambiguous":
            kept.append(item)
            continue
        carried = any(
            other.contact.side == contact.side is not None
            and other.contact.decision == "assigned"
            and other.plate != item.plate
            and other.contact.end_s - other.contact.start_s >= min_contact_s
            and other.contact.start_s < contact.end_s + MIN_SHARED_S
            and other.contact.end_s > contact.start_s - MIN_SHARED_S
            for other in found
        )
        if not carried:
            reason = f"loaded for {length:.2f} s only, a foot contact lasts at least {min_contact_s:.2f} s"
            item = replace(item, contact=replace(contact, decision="rejected", side=None, reason=reason), feet=())
        kept.append(item)
    return kept


# A force of this share of the load's peak that goes on without a foot was also there beside the foot.
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
    """Find every loading of every plate and decide whose foot it is.

    A foot is assigned where the centre of pressure lies on its sole, it alone stands on that plate, and all of its
    sole that is low lies on plates. Two feet on one plate are ambiguous while both are there, widened by `smear_s`
    (what the low-pass filter mixes); the frames before and after belong to the foot that is alone. A load that lasts
    longer than any foot can be there is cut to the time of the feet; the rest is rejected, with what the plate reads.
    Then the balance of forces on the whole body is heard (`by_balance`), and last what the user says.

    Args:
        plates: what was measured; all that are given count as floor that is measured.
        foot_outlines: both feet.
        rate_hz: marker rate.
        settings: the section [contacts].
        smear_s: half the time over which the filter of the wrenches spreads an edge, about 0.5 / cut-off.
        mass_kg: for the evidence in body weights, where known.
        balance: what the motion of the whole body needs; None = not asked.

    Returns the stretches sorted by start time.
    """
    found: list[PlateContact] = []
    for load, part, level_n in _loads(plates, foot_outlines, rate_hz, settings, smear_s, mass_kg):
        found += _decide_part(load, part, level_n)
    found.sort(key=lambda item: (item.contact.start_s, item.contact.plate))
    if balance is not None and settings.balance_fraction > 0.0:
        found = judge_by_balance(found, foot_outlines, balance, settings, rate_hz, smear_s)
    found = without_short_loads(found, settings.min_contact_s)
    return with_overrides(found, [plate.number for plate in plates], settings.override, rate_hz)


def _loads(
    plates: Sequence[PlateSignals],
    foot_outlines: Mapping[Side, FootOutline],
    rate_hz: float,
    settings: ContactSettings,
    smear_s: float,
    mass_kg: float | None,
) -> Iterator[tuple[Load, Part, float]]:
    """Every part of every load, with the force (N) that the plate reads beside it without a foot."""
    floor = _lowest_level(plates, foot_outlines) if plates else 0.0
    for index, plate in enumerate(plates):
        threshold_n = plate.threshold_n(settings.threshold_n)
        cop = centre_of_pressure(plate.wrench, plate.corners_W, settings.threshold_n)
        raised = float(plate.corners_W[:, 1].mean()) > floor + MAX_SOLE_HEIGHT_M
        presence = ContactWindows(plate, foot_outlines, rate_hz)
        for start_s, end_s in loadings(plate.vertical_force, plate.analog_rate_hz, threshold_n):
            parts = parts_of_load(start_s, end_s, presence.of_any, rate_hz)
            for number, part in enumerate(parts):
                first = min(math.ceil(part.start_s * rate_hz), len(cop) - 1)
                load = Load(
                    index=index,
                    plate=plate,
                    plates=plates,
                    foot_outlines=foot_outlines,
                    presence=presence,
                    cop=cop,
                    raised=raised,
                    rate_hz=rate_hz,
                    start_s=part.start_s,
                    end_s=part.end_s,
                    first=first,
                    stop=max(min(math.floor(part.end_s * rate_hz) + 1, len(cop)), first + 1),
                    threshold_n=threshold_n,
                    settings=settings,
                    smear_s=smear_s,
                    mass_kg=mass_kg,
                )
                yield load, part, adjacent_level(plate, parts, number)


def _lowest_level(plates: Sequence[PlateSignals], foot_outlines: Mapping[Side, FootOutline]) -> float:
    """World height of the lowest surface of the trial: a plate, or where a foot stood."""
    levels = [float(plate.corners_W[:, 1].mean()) for plate in plates]
    levels += [
        float(np.median(sole.height[a:b])) for sole in foot_outlines.values() for a, b in finite_stretches(sole.bearing)
    ]
    return min(levels)


# -- a part of a load ----------------------------------------------------------------------------------------------------


def _decide_part(load: Load, part: Part, level_n: float) -> list[PlateContact]:
    """Decide about a part of a load beside which the plate reads `level_n` without a foot."""
    if not part.foot:
        reason = f"no foot is over the plate, which reads {mean_force(load.plate, part):.0f} N"
        if load.plate.side is not None:
            name = SIDE_NAMES[load.plate.side]
            reason = f"the file gives {mean_force(load.plate, part):.0f} N to the {name} foot, which is in the air"
        alone = _result(load, None, "rejected", reason, (), feet_evidence(load))
        return [replace(alone, cut_before=part.cut_before, cut_after=part.cut_after)]
    pieces = _decide(load)
    begin_s, end_s = times_above(load.plate, part, level_n + load.threshold_n)
    # The frames stay the wider ones of the part: what the filter spreads of the foot's force lies in them.
    first = pieces[0]
    pieces[0] = replace(first, contact=replace(first.contact, start_s=begin_s), cut_before=part.cut_before)
    last = pieces[-1]
    pieces[-1] = replace(last, contact=replace(last.contact, end_s=end_s), cut_after=part.cut_after)
    return [_credible(load, piece, level_n) for piece in pieces]


def _credible(load: Load, piece: PlateContact, level_n: float) -> PlateContact:
    """Reject a contact whose force is not the foot's alone, or not the whole of it."""
    contact = piece.contact
    reason = ""
    if level_n > OTHER_LOAD_SHARE * contact.evidence["peak_n"]:
        reason = f"the plate reads {level_n:.0f} N beside it without a foot: its force is not the foot's alone"
    cut_off_s, silent_s = (
        sum(max(min(end, contact.end_s) - max(start, contact.start_s), 0.0) for start, end in stretches)
        for stretches in (load.plate.saturated_s, load.plate.unrecorded_s)
    )
    if cut_off_s > 0.0:
        reason = f"a channel of the plate stands at the end of its range for {1000 * cut_off_s:.0f} ms"
    if silent_s > 0.0:
        reason = f"the plate holds no number for {1000 * silent_s:.0f} ms of it"
    if not reason or contact.decision != "assigned":
        return piece
    return replace(piece, contact=replace(contact, decision="rejected", reason=reason))


def _decide(load: Load) -> list[PlateContact]:
    """Return one stretch, or several where two feet share the plate."""
    feet = feet_evidence(load)
    if load.plate.side is not None:
        return [_named(load, load.plate.side, feet)]
    on_plate = {side: feet[side].on_plate for side in SIDES}
    shared = on_plate["r"] & on_plate["l"]
    min_shared = MIN_SHARED_S * load.rate_hz
    takes_turns = all(np.count_nonzero(on_plate[side] & ~shared) >= min_shared for side in SIDES)
    if np.count_nonzero(shared) < min_shared and not takes_turns:
        return [_single(load, feet)]
    return _split(load, on_plate)


def _named(load: Load, side: Side, feet: Mapping[Side, FootEvidence]) -> PlateContact:
    """Decide about a load that the file gives to one foot: its word holds where the centre of pressure does not contradict it."""
    name, other = SIDE_NAMES[side], SIDE_NAMES[other_side(side)]
    if is_near(feet[side], load.settings.max_foot_distance_m):
        reason = f"the file gives this force to the {name} foot, and its centre of pressure lies within the outline"
        return _result(load, side, "assigned", reason, (side,), feet)
    if is_near(feet[other_side(side)], load.settings.max_foot_distance_m):
        reason = f"the file gives this force to the {name} foot, but its centre of pressure lies under the {other} one"
        return _result(load, None, "ambiguous", reason, SIDES, feet)
    return _without_foot(load, feet, side)


# -- one foot at most ----------------------------------------------------------------------------------------------------


def _single(load: Load, feet: Mapping[Side, FootEvidence]) -> PlateContact:
    """Decide about a load that one foot at most can have made."""
    near = [side for side in SIDES if is_near(feet[side], load.settings.max_foot_distance_m)]
    best = nearest_foot(feet)
    if len(near) == 2:
        standing = [side for side in near if feet[side].on_plate.any()]
        rival = feet[other_side(best)].distance_median_m
        if len(standing) == 1:
            best = standing[0]
        elif rival < 2.0 * feet[best].distance_median_m + OUTLINE_ERROR_M:
            return _result(load, None, "ambiguous", "the centre of pressure lies on both feet", SIDES, feet)
    elif near:
        best = near[0]
    else:
        return _without_foot(load, feet, best)
    name, evidence = SIDE_NAMES[best], feet[best]
    foreign_n = _beside_its_stance(load, best)
    if foreign_n > OTHER_LOAD_SHARE * float(np.nanmax(load.plate.wrench[load.first : load.stop, 4])):
        reason = f"while the {name} foot is in the air the plate carries {foreign_n:.0f} N of the other"
        return _result(load, None, "ambiguous", reason, SIDES, feet)
    # However far inside the centre of pressure stays: toes on the floor do not pull it, their force is missing.
    if evidence.overhang_m > OUTLINE_ERROR_M and not load.raised:
        reason = f"the {name} foot extends {100 * evidence.overhang_m:.1f} cm beyond the plate"
        rejected = _result(load, best, "rejected", reason, (best,), feet)
        return replace(rejected, frame_overhang_m=evidence.frame_overhang_m)
    where = (
        "is on the plate, centre of pressure within its outline"
        if load.plate.outlined
        else "is at the centre of pressure"
    )
    reason = f"only the {name} foot {where}"
    return _result(load, best, "assigned", reason, (best,), feet)


def _beside_its_stance(load: Load, side: Side) -> float:
    """Vertical force (N) of a load in the time in which a foot is in the air and only the other one can have made it."""
    rows = slice(load.first, load.stop)
    own, other = (load.presence.of_each[foot][rows] for foot in (side, other_side(side)))
    alone = ~own & other
    if np.count_nonzero(alone) < MIN_ABSENT_S * load.rate_hz:
        return 0.0
    return float(np.nanmedian(load.plate.wrench[rows, 4][alone]))


def _without_foot(load: Load, feet: Mapping[Side, FootEvidence], best: Side) -> PlateContact:
    """Say why nobody's foot fits this load; the nearest foot's reaction stays unknown where it stands here."""
    unseen = [SIDE_NAMES[side] for side in SIDES if feet[side].known_share < 0.5]
    if unseen:
        reason = f"the {' and the '.join(unseen)} foot was not seen"
        concerned = tuple(side for side in SIDES if feet[side].known_share < 0.5)
        return _result(load, None, "rejected", reason, concerned, feet)
    numbers = ", ".join(f"{SIDE_NAMES[side]} {100 * feet[side].distance_median_m:.0f} cm" for side in SIDES)
    reason = f"no foot is at the centre of pressure (distance {numbers})"
    return _result(load, None, "rejected", reason, (best,) if feet[best].on_plate.any() else (), feet)


# -- two feet ------------------------------------------------------------------------------------------------------------


def _split(load: Load, on_plate: Mapping[Side, BoolArray]) -> list[PlateContact]:
    """Cut a load that both feet made into the stances of each, and what cannot be shared between them."""
    label = label_stance(on_plate["r"], on_plate["l"])
    smear = math.ceil(load.smear_s * load.rate_hz)
    stances, gaps = stances_of(load, label, smear)
    if not stances:
        return _one_after_the_other(load, label, smear)
    pieces = [_of_stance(load, stance) for stance in stances]
    for first, stop in gaps:
        part = _part_decide(load, first, stop)
        piece = _result(part, None, "ambiguous", "both feet are on the plate", SIDES, feet_evidence(part))
        pieces.append(replace(piece, cut_before=first > load.first, cut_after=stop < load.stop))
    return sorted(pieces, key=lambda piece: piece.first)


def _of_stance(load: Load, stance: Stance) -> PlateContact:
    """Decide about a stance that shares its load at the ends, by the time in which the foot is alone."""
    piece = _single(_part_decide(load, *stance.alone), feet_evidence(_part_decide(load, *stance.alone)))
    contact = replace(piece.contact, start_s=stance.start_s, end_s=stance.end_s)
    if contact.side != stance.side or contact.decision != "assigned":
        contact = replace(contact, side=stance.side, decision="rejected") if contact.decision == "assigned" else contact
        return replace(piece, contact=contact, first=stance.first, stop=stance.stop, frame_overhang_m=None)
    if stance.shared_s > 0.0:
        evidence = {**contact.evidence, "shared_s": stance.shared_s, "shared_sd_n": stance.force_sd_n}
        reason = (
            f"the {SIDE_NAMES[stance.side]} foot is on the plate, for {1000 * stance.shared_s:.0f} ms together with the other: "
            f"its part from the centre of pressure between both, +- {stance.force_sd_n:.0f} N"
        )
        contact = replace(contact, reason=reason, evidence=evidence)
    return replace(
        piece,
        contact=contact,
        first=stance.first,
        stop=stance.stop,
        cut_before=stance.cut_before,
        cut_after=stance.cut_after,
        share=stance.share,
    )


def _one_after_the_other(load: Load, label: IntArray, smear: int) -> list[PlateContact]:
    """The stretches of one foot alone and those of both, where no load could be shared between them."""
    label = _widened(label, smear)
    edges = np.concatenate(([0], np.flatnonzero(np.diff(label)) + 1, [len(label)]))
    pieces: list[PlateContact] = []
    for begin, end in pairwise(edges):
        part = _part_decide(load, load.first + int(begin), load.first + int(end))
        feet = feet_evidence(part)
        owner: Side | None = {1: SIDES[0], 2: SIDES[1]}.get(int(label[begin]))
        too_short = part.end_s - part.start_s < load.settings.min_contact_s
        if owner is None or too_short or not is_near(feet[owner], load.settings.max_foot_distance_m):
            piece = _result(part, None, "ambiguous", "both feet are on the plate", SIDES, feet)
        else:
            piece = _single(part, feet)
        pieces.append(replace(piece, cut_before=begin > 0, cut_after=end < len(label)))
    return pieces


def _part_decide(load: Load, first: int, stop: int) -> Load:
    """The frames [first, stop) of a load."""
    return replace(
        load,
        first=first,
        stop=stop,
        start_s=load.start_s if first <= load.first else first / load.rate_hz,
        end_s=load.end_s if stop >= load.stop else stop / load.rate_hz,
    )


def _widened(label: IntArray, smear: int) -> IntArray:
    """Frames within `smear` of a change of feet as frames of both (3)."""
    mixed = label == 3
    for edge in np.flatnonzero(np.diff(label)):
        mixed[max(edge + 1 - smear, 0) : edge + 1 + smear] = True
    return np.where(mixed, 3, label)


def _result(
    load: Load,
    side: Side | None,
    decision: ContactDecision,
    reason: str,
    concerned: tuple[Side, ...],
    feet: Mapping[Side, FootEvidence],
) -> PlateContact:
    """Put decision and evidence into a record."""
    contact = Contact(
        plate=load.plate.number,
        start_s=load.start_s,
        end_s=load.end_s,
        side=side,
        decision=decision,
        reason=reason,
        evidence=record_of(load, side, feet),
    )
    return PlateContact(contact, load.index, load.first, load.stop, concerned)
