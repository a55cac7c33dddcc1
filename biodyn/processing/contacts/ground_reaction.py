"""The ground wrench on each foot, and the frames in which it is not known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from biodyn.conventions import SIDES, FloatArray, Side
from biodyn.processing.contacts.balance import BodyBalance
from biodyn.processing.contacts.decide import decide_contacts
from biodyn.processing.contacts.foot_outline import FootOutline, foot_outline
from biodyn.processing.contacts.load import PlateContact, SharedWrench
from biodyn.processing.contacts.loading import PlateSignals, centre_of_pressure, pressure_at_height
from biodyn.processing.contacts.parameters import ContactSettings
from biodyn.processing.contacts.strike_ahead import expected_ahead
from biodyn.processing.contacts.unmeasured import (
    assigned_frames,
    beside_stances,
    loaded_frames,
    reasons,
    strikes_of_feet,
    unmeasured_stances,
)
from biodyn.recording.wrenches import Contact, GroundReaction, SharedLoad

# The filtered wrench is followed beyond the raw contact until it stays below this share of its peak ...
DIED_AWAY_SHARE = 1e-3
# ... or for this many half-widths of the filter: the ringing of a Butterworth pair is below 1e-4 by then. Unfiltered
# forces, too, lie a little below the threshold beside the contact.
MAX_TAIL_SMEARS = 6.0
MIN_TAIL_S = 0.05
# The foot bears before its movement shows it: strikes of a simulated walk were seen 40 ms late.
STANCE_DELAY_S = 0.05


@dataclass(frozen=True)
class Decided:
    """Every contact of a trial, decided once, whatever filter the forces then pass.

    Attributes:
        items: with what the ground reaction needs of each. outlines: where the soles are.
        cutoff_hz: (P,) of the plates' filter that they were decided with.
    """

    items: tuple[PlateContact, ...]
    outlines: Mapping[Side, FootOutline]
    cutoff_hz: tuple[float, ...]

    @property
    def contacts(self) -> tuple[Contact, ...]:
        """The contacts themselves."""
        return tuple(item.contact for item in self.items)

    def with_filter_of(self, plates: Sequence[PlateSignals], rate_hz: float) -> tuple[PlateContact, ...]:
        """The items with shares of loads filtered as the wrenches of `plates` are."""
        if tuple(plate.cutoff_hz for plate in plates) == self.cutoff_hz:
            return self.items
        return tuple(_filtered_as(item, plates[item.plate], rate_hz) for item in self.items)


def decided(
    plates: Sequence[PlateSignals],
    outlines_W: Mapping[Side, FloatArray],
    rate_hz: float,
    settings: ContactSettings,
    *,
    smear_s: float,
    mass_kg: float | None = None,
    balance: BodyBalance | None = None,
) -> Decided:
    """Decide every contact.

    Args:
        plates: the plates' signals, see `loading.PlateSignals`.
        outlines_W: per side (T, K, 3) m, points around the sole of the shod or bare foot, NaN where unknown.
        rate_hz: marker rate.
        settings: the section [contacts].
        smear_s: half the time over which the wrenches' filter spreads an edge, about 0.5 / cut-off; 0 unfiltered.
        mass_kg: for the evidence in body weights, where known.
        balance: what the motion of the whole body needs; None = not asked.
    """
    outlines = {side: foot_outline(outlines_W[side], rate_hz) for side in SIDES}
    items = decide_contacts(plates, outlines, rate_hz, settings, smear_s=smear_s, mass_kg=mass_kg, balance=balance)
    return Decided(tuple(items), outlines, tuple(plate.cutoff_hz for plate in plates))


def whole_reaction(
    found: Decided,
    plates: Sequence[PlateSignals],
    rate_hz: float,
    settings: ContactSettings,
    *,
    smear_s: float,
    full_bandwidth: GroundReaction | None = None,
    strikes_s: Mapping[Side, FloatArray] | None = None,
) -> GroundReaction:
    """Return the ground reaction by the wrenches of `plates`, which may have passed another filter than when it was decided.

    full_bandwidth: the reaction at full bandwidth where it is known already; None = made, too. strikes_s: per side (N,) s,
    strikes as the gait tells them; where there is none, a stance beside the plates begins as the sole comes to stand.
    """
    strikes_s = strikes_s or {}
    reaction = ground_reaction(
        plates,
        found.with_filter_of(plates, rate_hz),
        found.outlines,
        rate_hz,
        strikes_s=strikes_s,
        threshold_n=settings.threshold_n,
        smear_s=smear_s,
    )
    full = [plate.at_full_bandwidth() for plate in plates]
    if full_bandwidth is None and full and all(plate.cutoff_hz for plate in full):
        full_bandwidth = ground_reaction(
            full,
            [_filtered_as(item, full[item.plate], rate_hz) for item in found.items],
            found.outlines,
            rate_hz,
            strikes_s=strikes_s,
            threshold_n=settings.threshold_n,
            smear_s=0.5 / min(plate.cutoff_hz for plate in full),
        )
    return reaction if full_bandwidth is None else replace(reaction, full_bandwidth=full_bandwidth)


def _filtered_as(item: PlateContact, plate: PlateSignals, rate_hz: float) -> PlateContact:
    """The contact with its share of the load filtered as the plate's wrench is."""
    if item.share is None:
        return item
    wrench = plate.at_frames(item.share.raw, rate_hz, len(item.share.wrench))
    return replace(item, share=replace(item.share, wrench=wrench))


def ground_reaction(
    plates: Sequence[PlateSignals],
    contacts: Sequence[PlateContact],
    foot_outlines: Mapping[Side, FootOutline],
    rate_hz: float,
    *,
    strikes_s: Mapping[Side, FloatArray],
    threshold_n: float,
    smear_s: float,
) -> GroundReaction:
    """Sum the plates' wrenches over each foot and mark the frames in which a foot's wrench is unknown.

    A foot that stands (`FootOutline.bearing`) while no assigned contact carries it is unmeasured, and so is a foot during an
    ambiguous or rejected contact that concerns it (`unmeasured`). Its wrench is NaN there, zero in swing, but for what the
    filter spreads ahead of an unmeasured strike (`strike_ahead`). The filtered wrench stays with its foot over its whole
    smeared support, up to half-way to that plate's next contact, so that nothing is lost or counted twice.
    """
    frames = len(next(iter(foot_outlines.values())).known)
    tail = int(np.ceil(max(MAX_TAIL_SMEARS * smear_s, MIN_TAIL_S) * rate_hz))
    wrench = {side: np.zeros((frames, 6)) for side in SIDES}
    surface = {side: np.zeros(frames) for side in SIDES}
    spans = supports(plates, contacts, frames, tail)
    for item, (first, stop) in zip(contacts, spans, strict=True):
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
    strikes = strikes_of_feet(strikes_s, contacts, foot_outlines, rate_hz)
    stances = {side: unmeasured_stances(side, plates, contacts, foot_outlines[side], strikes[side]) for side in SIDES}
    expected = expected_ahead(plates, contacts, spans, stances, foot_outlines, rate_hz, smear_s)
    reason, near, on_floor = {}, {}, {}
    for side in SIDES:
        carried = assigned_frames(side, contacts, frames)
        on_floor[side] = loaded_frames(side, contacts, frames)
        for stance in stances[side]:
            on_floor[side][stance.first : stance.stop] = True
        reason[side] = reasons(side, stances[side], foot_outlines[side], carried, rate_hz)
        near[side] = np.zeros(frames, dtype=bool)
        for rows, _ in beside_stances(stances[side], smear_s + STANCE_DELAY_S, frames, rate_hz):
            near[side][rows[~carried[rows]]] = True
        if expected is not None:
            wrench[side] += expected.wrench[side]
    measured = {side: np.array([not text for text in reason[side]], dtype=bool) for side in SIDES}
    points, moments = {}, {}
    for side in SIDES:
        wrench[side][~measured[side]] = np.nan
        with np.errstate(divide="ignore", invalid="ignore"):  # no height where there is no force
            height = surface[side] / wrench[side][:, 4]
        points[side], moments[side] = pressure_at_height(wrench[side], height, threshold_n)
    return GroundReaction(
        wrench=wrench,
        measured=measured,
        reason=reason,
        on_floor=on_floor,
        centre_of_pressure=points,
        free_moment=moments,
        shared=tuple(_shared_loads(contacts)),
        near_unmeasured={side: near[side] & measured[side] for side in SIDES},
        expected_sd={} if expected is None else expected.sd,
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
