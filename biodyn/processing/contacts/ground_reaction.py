"""The ground wrench on each foot, and the frames in which it is not known."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from biodyn.conventions import SIDE_NAMES, SIDES, BoolArray, FloatArray, Side
from biodyn.diagnostics import Diagnostic
from biodyn.processing.contacts.balance import BodyBalance, required_wrench, weight_of
from biodyn.processing.contacts.decide import decide_contacts
from biodyn.processing.contacts.evidence import PlateContact, SharedWrench
from biodyn.processing.contacts.feet import FootOutline, foot_outline
from biodyn.processing.contacts.loading import (
    NOISE_FACTOR,
    PlateSignals,
    centre_of_pressure,
    loadings,
    pressure_at_height,
)
from biodyn.processing.contacts.parameters import ContactSettings
from biodyn.processing.contacts.stances_off_plates import (
    assigned_frames,
    expected_pre_strike_force,
    frames_around_stances,
    loaded_frames,
    reasons,
    strikes_of_feet,
    unmeasured_stances,
)
from biodyn.processing.kinematics.fit import Fit
from biodyn.processing.signals.filtering import finite_stretches
from biodyn.processing.signals.prepare import TrialSignals, plates_as_motion, plates_at_full_bandwidth
from biodyn.recording import Contact, GroundReaction, SharedLoad

# The filtered wrench is followed beyond the raw contact until it stays below this share of its peak ...
DIED_AWAY_SHARE = 1e-3
# ... or for this many half-widths of the filter: the ringing of a Butterworth pair is below 1e-4 by then. Unfiltered
# forces, too, lie a little below the threshold beside the contact.
MAX_TAIL_SMEARS = 6.0
MIN_TAIL_S = 0.05
# The foot bears before its movement shows it: strikes of a simulated walk were seen 40 ms late.
STANCE_DELAY_S = 0.05


@dataclass(frozen=True)
class ContactDecisions:
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
) -> ContactDecisions:
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
    return ContactDecisions(tuple(items), outlines, tuple(plate.cutoff_hz for plate in plates))


def reaction_from_decisions(
    found: ContactDecisions,
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
    expected = expected_pre_strike_force(plates, contacts, spans, stances, foot_outlines, rate_hz, smear_s)
    reason, near, on_floor = {}, {}, {}
    for side in SIDES:
        carried = assigned_frames(side, contacts, frames)
        on_floor[side] = loaded_frames(side, contacts, frames)
        for stance in stances[side]:
            on_floor[side][stance.first : stance.stop] = True
        reason[side] = reasons(side, stances[side], foot_outlines[side], carried, rate_hz)
        near[side] = np.zeros(frames, dtype=bool)
        for rows, _ in frames_around_stances(stances[side], smear_s + STANCE_DELAY_S, frames, rate_hz):
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


def find_contacts(
    signals: TrialSignals,
    soles_W: Mapping[Side, FloatArray],
    settings: ContactSettings,
    mass_kg: float | None = None,
    fit: Fit | None = None,
) -> tuple[tuple[Contact, ...], GroundReaction]:
    """Decide every contact of a trial and return it with the ground reaction of both feet; see `contact_decisions`."""
    found = contact_decisions(signals, soles_W, settings, mass_kg, fit)
    return found.contacts, reaction_of(found, signals, settings)


def contact_decisions(
    signals: TrialSignals,
    soles_W: Mapping[Side, FloatArray],
    settings: ContactSettings,
    mass_kg: float | None = None,
    fit: Fit | None = None,
) -> ContactDecisions:
    """Decide every contact of a trial.

    Parameters:
        soles_W: per side (T, K, 3) m, points around the sole, NaN where unknown. mass_kg: body mass, where known.
        fit: the motion of the whole body, for the balance of forces on it; None = it is not asked.
    """
    balance = None
    if fit is not None:
        balance = BodyBalance(
            required_wrench(fit), plates_as_motion(signals), fit.model.mass_kg, mass_known=mass_kg is not None
        )
    return decided(
        _plates(signals),
        soles_W,
        signals.markers.rate_hz,
        settings,
        smear_s=signals.force_smear_s,
        mass_kg=mass_kg,
        balance=balance,
    )


def reaction_of(
    found: ContactDecisions,
    signals: TrialSignals,
    settings: ContactSettings,
    full_bandwidth: GroundReaction | None = None,
    strikes_s: Mapping[Side, FloatArray] | None = None,
) -> GroundReaction:
    """Return the ground reaction of both feet by the plates' forces as these signals have them.

    full_bandwidth: that at full bandwidth where it is known already. strikes_s: see `ground_reaction.reaction_from_decisions`.
    """
    plates = _plates(signals)
    if full_bandwidth is None:
        full_hz, full = plates_at_full_bandwidth(signals)
        plates = [
            replace(plate, full=wrench, full_cutoff_hz=full_hz) for plate, wrench in zip(plates, full, strict=True)
        ]
    return reaction_from_decisions(
        found,
        plates,
        signals.markers.rate_hz,
        settings,
        smear_s=signals.force_smear_s,
        full_bandwidth=full_bandwidth,
        strikes_s=strikes_s,
    )


def _plates(signals: TrialSignals) -> list[PlateSignals]:
    return [
        PlateSignals(
            number=plate.number,
            corners_W=plate.corners,
            wrench=plate.wrench,
            vertical_force=raw.wrench[:, 4],
            analog_rate_hz=raw.rate_hz,
            zero=raw.zero,
            saturated_s=raw.saturated_s,
            unrecorded_s=raw.unrecorded_s,
            raw=raw.wrench,
            cutoff_hz=signals.force_cutoff_hz,
            order=signals.settings.filter_order,
            outlined=plate.outlined,
            side=plate.side,
        )
        for plate, raw in zip(signals.plates, signals.raw_plates, strict=True)
    ]


_REASON = "the file of forces names the foot"
# A foot that bears for so short a time may be one that scuffs the floor.
_LEAST_STANCE_S = 0.1


def ground_reaction_from_forces(
    wrenches: Mapping[Side, FloatArray],
    heights: Mapping[Side, FloatArray],
    soles_W: Mapping[Side, FloatArray],
    covered: BoolArray,
    rate_hz: float,
    threshold_n: float,
) -> tuple[tuple[Contact, ...], GroundReaction]:
    """Return the contacts and the ground reaction of feet whose forces are given.

    Parameters:
        wrenches: per side (T, 6) F_Wo_W. heights: per side (T,) m, of the point where the force acts, NaN = at the sole.
        soles_W: per side (T, K, 3) m, outline of the sole, NaN where unknown. covered: (T,) frames that the file covers.
        threshold_n: vertical force that loads a foot.

    A foot that stands a whole stance through without a force is on ground that nobody measured.
    """
    contacts: list[Contact] = []
    measured, reason, on_floor, pressure, free = {}, {}, {}, {}, {}
    for number, (side, wrench) in enumerate(wrenches.items(), start=1):
        for start_s, end_s in loadings(wrench[:, 4], rate_hz, threshold_n):
            contacts.append(Contact(number, start_s, end_s, side, "assigned", _REASON))
        loaded = np.asarray(np.nan_to_num(wrench[:, 4]) >= threshold_n)
        outline = foot_outline(soles_W[side], rate_hz)
        bare = np.zeros(len(wrench), dtype=np.bool_)
        for first, stop in finite_stretches(outline.bearing):
            if stop - first >= _LEAST_STANCE_S * rate_hz and not loaded[first:stop].any():
                bare[first:stop] = True
        words = np.where(bare, f"the {SIDE_NAMES[side]} foot stands and no force on it is given", "")
        words = np.where(covered, words, "the file of forces does not cover this time")
        reason[side], measured[side] = words.tolist(), np.asarray(covered & ~bare)
        on_floor[side] = np.asarray(loaded | bare)
        height = np.where(np.isfinite(heights[side]), heights[side], np.nan_to_num(outline.height))
        pressure[side], free[side] = pressure_at_height(wrench, height, threshold_n)
    reaction = GroundReaction(
        wrench={side: np.where(measured[side][:, None], wrench, np.nan) for side, wrench in wrenches.items()},
        measured=measured,
        reason=reason,
        on_floor=on_floor,
        centre_of_pressure=pressure,
        free_moment=free,
    )
    return tuple(sorted(contacts, key=lambda contact: contact.start_s)), reaction


# Force that a recording software cut away for longer than this is worth saying: an event moves by a frame or two.
WORTH_SAYING_S = 0.005
# Vertical force that no plate carries, share of body weight: three times what sound contacts show (`by_balance`).
SUPPORT_SHARE = 0.15


def contact_diagnostics(contacts: Sequence[Contact], rate_hz: float) -> tuple[Diagnostic, ...]:
    """Return a Diagnostic for contacts not assigned, plates noisy beyond the threshold, and forces with edges cut off.

    `rate_hz` is the marker rate, for the frames concerned.
    """
    notes: list[Diagnostic] = []
    for contact in contacts:
        if contact.decision == "assigned":
            continue
        frames = (int(contact.start_s * rate_hz), int(contact.end_s * rate_hz))
        # Said, no more: most trials have a contact that cannot be used. checks/contacts.py warns of a leg without any.
        notes.append(
            Diagnostic(
                code=f"contact-{contact.decision}",
                severity="info",
                message=f"Plate {contact.plate}, {contact.start_s:.2f} to {contact.end_s:.2f} s: {contact.reason}.",
                value=contact.evidence.get("peak_n"),
                unit="N",
                frames=frames,
                hint="No ground reaction of the feet concerned in these frames; no moments for their legs. Where you know "
                "better: [contacts] override (docs/settings.md).",
                about=str(contact.plate),
            )
        )
    notes += _other_supports(contacts, rate_hz)
    notes += _noisy_plates(contacts)
    missed = [max(c.evidence.get("start_missed_s", 0.0), c.evidence.get("end_missed_s", 0.0)) for c in contacts]
    if missed and max(missed) > WORTH_SAYING_S:
        numbers = sorted({c.plate for c, lost in zip(contacts, missed, strict=True) if lost > WORTH_SAYING_S})
        plates = ("plate " if len(numbers) == 1 else "plates ") + ", ".join(str(number) for number in numbers)
        notes.append(
            Diagnostic(
                code="force-cut",
                severity="warning",
                message=f"The force of {plates} was stored as zero below a limit; up to {1000 * max(missed):.0f} ms of "
                "contact are missing at its edges.",
                value=max(missed),
                limit=WORTH_SAYING_S,
                unit="s",
                hint="Export the forces without a threshold; foot strikes and offs were extrapolated.",
            )
        )
    return tuple(notes)


def _other_supports(contacts: Sequence[Contact], rate_hz: float) -> list[Diagnostic]:
    """Name the contacts during which something that no plate measures carries a part of the body."""
    notes = []
    for contact in contacts:
        missing_n = contact.evidence.get("balance_missing_n", math.nan)
        limit_n = SUPPORT_SHARE * weight_of(contact.evidence.get("balance_mass_kg", math.nan))
        if contact.decision == "assigned" and missing_n > limit_n:
            notes.append(
                Diagnostic(
                    code="support-not-measured",
                    severity="warning",
                    message=f"Plate {contact.plate}, {contact.start_s:.2f} to {contact.end_s:.2f} s: the body needs "
                    f"{missing_n:.0f} N more than the plates carry.",
                    value=missing_n,
                    limit=limit_n,
                    unit="N",
                    frames=(int(contact.start_s * rate_hz), int(contact.end_s * rate_hz)),
                    hint="A stick, a rail or a helping hand: the leg's moments stand, those of arms and trunk do not. Or the "
                    "body mass or the plate's scale is wrong.",
                    about=str(contact.plate),
                )
            )
    return notes


def _noisy_plates(contacts: Sequence[Contact]) -> list[Diagnostic]:
    """Name the plates whose noise raised the force that counts as contact."""
    notes = []
    plates = {contact.plate: contact.evidence for contact in contacts}
    for number, evidence in sorted(plates.items()):
        noise, threshold = evidence.get("plate_noise_n", 0.0), evidence.get("threshold_n", math.inf)
        if noise > 0.0 and math.isclose(threshold, NOISE_FACTOR * noise):
            notes.append(
                Diagnostic(
                    code="plate-noise",
                    severity="warning",
                    message=f"Plate {number} has noise of {noise:.1f} N (standard deviation, unloaded): contact counts from "
                    f"{threshold:.0f} N on.",
                    value=noise,
                    unit="N",
                    hint="Check cables, amplifier and mains of the plate; a low-pass filter before recording helps.",
                )
            )
    return notes
