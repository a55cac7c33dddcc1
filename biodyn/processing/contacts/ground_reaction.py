"""The ground wrench on each foot, and the frames in which it is not known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np

from biodyn.conventions import SIDE_NAMES, SIDES, BoolArray, FloatArray, Side
from biodyn.geometry.polygons import signed_distance
from biodyn.processing.contacts.balance import BodyBalance
from biodyn.processing.contacts.decide import decide_contacts
from biodyn.processing.contacts.foot_outline import FootOutline, foot_outline
from biodyn.processing.contacts.load import MIN_SHARED_S, OUTLINE_ERROR_M, PlateContact, SharedWrench
from biodyn.processing.contacts.loading import PlateSignals, centre_of_pressure, pressure_at_height
from biodyn.processing.contacts.parameters import ContactSettings
from biodyn.processing.signals.filtering import finite_stretches
from biodyn.recording.wrenches import Contact, GroundReaction, SharedLoad

# The filtered wrench is followed beyond the raw contact until it stays below this share of its peak ...
DIED_AWAY_SHARE = 1e-3
# ... or for this many half-widths of the filter: the ringing of a Butterworth pair is below 1e-4 by then. Unfiltered
# forces, too, lie a little below the threshold beside the contact.
MAX_TAIL_SMEARS = 6.0
MIN_TAIL_S = 0.05
# Kinematic stance may reach this far beyond the plate's own contact times before it counts as standing elsewhere.
STANCE_EDGE_S = 0.1
# The foot bears before its movement shows it: strikes of a simulated walk were seen 40 ms late.
STANCE_DELAY_S = 0.05


def feet_on_plates(
    plates: Sequence[PlateSignals],
    outlines_W: Mapping[Side, FloatArray],
    rate_hz: float,
    settings: ContactSettings,
    *,
    smear_s: float,
    mass_kg: float | None = None,
    balance: BodyBalance | None = None,
) -> tuple[tuple[Contact, ...], GroundReaction]:
    """Decide every contact and return it with the ground reaction of both feet.

    Args:
        plates: the plates' signals, see `loading.PlateSignals`.
        outlines_W: per side (T, K, 3) m, points around the sole of the shod or bare foot, NaN where unknown.
        rate_hz: marker rate.
        settings: the section [contacts].
        smear_s: half the time over which the wrenches' filter spreads an edge, about 0.5 / cut-off; 0 unfiltered.
        mass_kg: for the evidence in body weights, where known.
        balance: what the motion of the whole body needs; None = not asked.
    """
    foot_outlines = {side: foot_outline(outlines_W[side], rate_hz) for side in SIDES}
    contacts = decide_contacts(
        plates, foot_outlines, rate_hz, settings, smear_s=smear_s, mass_kg=mass_kg, balance=balance
    )
    reaction = ground_reaction(
        plates, contacts, foot_outlines, rate_hz, threshold_n=settings.threshold_n, smear_s=smear_s
    )
    return tuple(item.contact for item in contacts), reaction


def ground_reaction(
    plates: Sequence[PlateSignals],
    contacts: Sequence[PlateContact],
    foot_outlines: Mapping[Side, FootOutline],
    rate_hz: float,
    *,
    threshold_n: float,
    smear_s: float,
) -> GroundReaction:
    """Sum the plates' wrenches over each foot and mark the frames in which a foot's wrench is unknown.

    A foot that stands (`Sole.bearing`) while no assigned contact carries it is unmeasured, widened by `smear_s` (at its
    strike also by what movement shows late), and so is a foot during an ambiguous or rejected contact that concerns it.
    Its wrench is NaN there, zero in swing. The filtered wrench stays with its foot over its whole smeared support, up
    to half-way to that plate's next contact, so that nothing is lost or counted twice.
    """
    frames = len(next(iter(foot_outlines.values())).known)
    smear = int(np.ceil(smear_s * rate_hz))
    late = int(np.ceil(STANCE_DELAY_S * rate_hz))
    tail = int(np.ceil(max(MAX_TAIL_SMEARS * smear_s, MIN_TAIL_S) * rate_hz))
    wrench = {side: np.zeros((frames, 6)) for side in SIDES}
    surface = {side: np.zeros(frames) for side in SIDES}
    for item, (first, stop) in zip(contacts, supports(plates, contacts, frames, tail), strict=True):
        side = item.contact.side
        if side is None or item.contact.decision != "assigned":
            continue
        if item.share is not None:
            first, stop, part = _own_part(item, item.share, frames, tail)
        else:
            part = plates[item.plate].wrench[first:stop]
        wrench[side][first:stop] += part
        cop = centre_of_pressure(part, plates[item.plate].corners_W, threshold_n)
        surface[side][first:stop] += np.nan_to_num(cop[:, 1]) * np.where(np.isfinite(cop[:, 1]), part[:, 4], 0.0)
    elsewhere = {
        side: _standing_elsewhere(side, plates, contacts, foot_outlines[side], frames, rate_hz) for side in SIDES
    }
    reason = {
        side: _reasons(side, plates, contacts, foot_outlines[side], elsewhere[side], smear, late) for side in SIDES
    }
    measured = {side: np.array([not text for text in reason[side]], dtype=bool) for side in SIDES}
    points = {}
    moments = {}
    for side in SIDES:
        wrench[side][~measured[side]] = np.nan
        with np.errstate(divide="ignore", invalid="ignore"):  # no height where there is no force
            height = surface[side] / wrench[side][:, 4]
        points[side], moments[side] = pressure_at_height(wrench[side], height, threshold_n)
    return GroundReaction(
        wrench=wrench,
        measured=measured,
        reason=reason,
        on_floor={side: elsewhere[side] | _loaded_frames(side, contacts, frames) for side in SIDES},
        centre_of_pressure=points,
        free_moment=moments,
        shared=tuple(_shared_loads(contacts)),
    )


def _own_part(item: PlateContact, share: SharedWrench, frames: int, tail: int) -> tuple[int, int, FloatArray]:
    """Frames [first, stop) and wrench of a foot that shares its plate: as far as the filter spreads it, to the cuts at most."""
    first = item.first if item.cut_before else max(item.first - tail, share.first_frame)
    stop = item.stop if item.cut_after else min(item.stop + tail, share.first_frame + len(share.wrench), frames)
    return first, stop, share.wrench[first - share.first_frame : stop - share.first_frame]


def _shared_loads(contacts: Sequence[PlateContact]) -> Iterator[SharedLoad]:
    for item in contacts:
        side, share = item.contact.side, item.share
        if share is not None and side is not None and item.contact.decision == "assigned":
            yield SharedLoad(item.contact.plate, side, share.first_sample, share.raw, share.first_frame, share.sd)


def supports(
    plates: Sequence[PlateSignals], contacts: Sequence[PlateContact], frames: int, tail: int
) -> list[tuple[int, int]]:
    """Return for each contact the frames [first, stop) over which its wrench lives; disjoint on each plate.

    `tail`: frames beyond the raw contact in which the wrench may still be alive. Contacts with a wrench of their own stay.
    """
    result = [(item.first, item.stop) for item in contacts]
    for plate in range(len(plates)):
        mine = (n for n, item in enumerate(contacts) if item.plate == plate and item.share is None)
        own = sorted(mine, key=lambda n: result[n])
        if not own:
            continue
        force = np.linalg.norm(plates[plate].wrench[:, 3:], axis=1)
        # Limits half-way between neighbours; stretches of one unbroken loading meet where they were cut.
        meeting = [(contacts[a].stop + contacts[b].first) // 2 for a, b in pairwise(own)]
        lower, upper = [0, *meeting], [*meeting, frames]
        for number, low, high in zip(own, lower, upper, strict=True):
            item = contacts[number]
            alive = force > DIED_AWAY_SHARE * force[item.first : item.stop].max()
            first, stop = item.first, item.stop
            if not item.cut_before:
                low = max(low, first - tail)
                first = low + int(np.argmax(alive[low : first + 1]))
            if not item.cut_after:
                high = min(high, stop + tail)
                stop = high - int(np.argmax(alive[stop - 1 : high][::-1]))
            result[number] = (min(first, item.first), max(stop, item.stop))
    return result


def _assigned_frames(side: Side, contacts: Sequence[PlateContact], frames: int, widen: int = 0) -> BoolArray:
    covered = np.zeros(frames, dtype=bool)
    for item in contacts:
        if item.contact.side == side and item.contact.decision == "assigned":
            # Where another foot's share of the same load begins there is nothing to widen into.
            before = 0 if item.cut_before else widen
            after = 0 if item.cut_after else widen
            covered[max(item.first - before, 0) : item.stop + after] = True
    return covered


def _loaded_frames(side: Side, contacts: Sequence[PlateContact], frames: int) -> BoolArray:
    loaded = np.zeros(frames, dtype=bool)
    for item in contacts:
        if side in item.feet:
            loaded[item.first : item.stop] = True
    return loaded


def _standing_elsewhere(
    side: Side,
    plates: Sequence[PlateSignals],
    contacts: Sequence[PlateContact],
    sole: FootOutline,
    frames: int,
    rate_hz: float,
) -> BoolArray:
    """Frames (T,) in which the foot stands although nothing that was measured there carries it."""
    spoken_for = _assigned_frames(side, contacts, frames, widen=int(np.ceil(STANCE_EDGE_S * rate_hz)))
    spoken_for |= _loaded_frames(side, contacts, frames)
    # Low and slow wholly over plates that work but show no force: the plates know better than the markers.
    working = {item.plate for item in contacts}
    if working:
        over = np.stack([signed_distance(sole.outline_W, plates[n].corners_W[None, None]) for n in sorted(working)])
        spoken_for |= np.where(sole.low, over.min(axis=0), -np.inf).max(axis=1) < OUTLINE_ERROR_M
    elsewhere = sole.bearing & ~spoken_for
    for first, stop in finite_stretches(elsewhere):
        if stop - first < MIN_SHARED_S * rate_hz:
            elsewhere[first:stop] = False
    return elsewhere


def _reasons(
    side: Side,
    plates: Sequence[PlateSignals],
    contacts: Sequence[PlateContact],
    sole: FootOutline,
    elsewhere: BoolArray,
    smear: int,
    late: int,
) -> list[str]:
    """Say for every frame why this foot's wrench is unknown; "" where it is known."""
    name = SIDE_NAMES[side]
    frames = len(elsewhere)
    reason = np.full(frames, "", dtype=object)
    carried = _assigned_frames(side, contacts, frames)
    reason[~sole.known & ~carried] = f"{name} foot not seen"
    for first, stop in finite_stretches(elsewhere):
        rows = np.arange(max(first - smear - late, 0), min(stop + smear, frames))
        reason[rows[~carried[rows]]] = f"{name} foot {_place(sole, plates, first, stop)}"
    for item in contacts:
        if item.contact.decision == "assigned" or side not in item.feet:
            continue
        begin, end = item.first, item.stop
        if item.contact.decision == "rejected":
            # A foot that hangs over the edge is unknown through its whole stance on either side of the edge.
            for first, stop in finite_stretches(sole.bearing):
                if first < item.stop and stop > item.first:
                    begin = begin if item.cut_before else min(begin, first)
                    end = end if item.cut_after else max(end, stop)
        # Cuts inside a load are widened already.
        begin = begin if item.cut_before else max(begin - smear, 0)
        end = end if item.cut_after else min(end + smear, frames)
        reason[begin:end] = f"plate {item.contact.plate}: {item.contact.reason}"
    return [str(text) for text in reason]


def _place(sole: FootOutline, plates: Sequence[PlateSignals], first: int, stop: int) -> str:
    outline = sole.outline_W[(first + stop) // 2]
    for plate in plates:
        if np.mean(signed_distance(outline, plate.corners_W[None]) < 0.0) > 0.5:
            return f"on plate {plate.number}, which shows no force"
    return "on the floor outside the plates"
