"""Ground wrench on each foot, frames in which it is unknown, and findings about contacts."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from biodyn.conventions import SIDE_NAMES, SIDES, BoolArray, FloatArray, Side
from biodyn.diagnostics import Diagnostic
from biodyn.processing.contacts.contact_decision import decide_contacts
from biodyn.processing.contacts.contact_evidence import PlateContact
from biodyn.processing.contacts.foot_motion import FootOutline, foot_outline
from biodyn.processing.contacts.force_balance import (
    BodyBalance,
    body_weight_n,
    mark_unmeasured_support,
    required_wrench,
)
from biodyn.processing.contacts.plate_loads import (
    NOISE_FACTOR,
    PlateSignals,
    centre_of_pressure,
    centre_of_pressure_at_height,
    find_loads,
)
from biodyn.processing.contacts.settings import ContactSettings
from biodyn.processing.contacts.stances_off_plates import (
    assigned_frames,
    frames_around_stances,
    loaded_frames,
    pre_strike_force,
    reasons_for_unknown_wrench,
    unmeasured_stances,
)
from biodyn.processing.kinematics.skeleton_fit import Fit
from biodyn.processing.signals.filtering import finite_stretches
from biodyn.processing.signals.signal_preparation import (
    TrialSignals,
    full_bandwidth_plate_wrenches,
    plate_wrenches_at_marker_cutoff,
)
from biodyn.recording import Contact, GroundReaction, SharedLoad

# Delay of kinematic stance after the strike: 40 ms in simulated walks.
STANCE_DELAY_S = 0.05


@dataclass(frozen=True)
class ContactDecisions:
    """All decided contacts of a trial, independent of the filter of the forces.

    Attributes:
        items: contacts with the data needed for the ground reaction. outlines: sole outlines of the feet.
        cutoff_hz: cut-off (P,) of the filter of each plate at the time of the decision.
    """

    items: tuple[PlateContact, ...]
    outlines: Mapping[Side, FootOutline]
    cutoff_hz: tuple[float, ...]

    @property
    def contacts(self) -> tuple[Contact, ...]:
        """Contacts of the trial, without the data for the ground reaction."""
        return tuple(item.contact for item in self.items)

    def filter_like_plates(self, plates: Sequence[PlateSignals], rate_hz: float) -> tuple[PlateContact, ...]:
        """Return the contacts; their shares of shared loads are low-pass filtered like the wrenches of `plates`."""
        if tuple(plate.cutoff_hz for plate in plates) == self.cutoff_hz:
            return self.items
        return tuple(_filter_like_plate(item, plates[item.plate], rate_hz) for item in self.items)


def decisions_from_plates(
    plates: Sequence[PlateSignals],
    outlines_W: Mapping[Side, FloatArray],
    rate_hz: float,
    settings: ContactSettings,
    *,
    smear_s: float,
    mass_kg: float | None = None,
    balance: BodyBalance | None = None,
) -> ContactDecisions:
    """Assign the loads of all plates to the feet or reject them; return the contacts with the outlines of the feet.

    Args:
        plates: signals of the plates, see `plate_loads.PlateSignals`.
        outlines_W: per side (T, K, 3) m, points around the sole of the shod or bare foot, NaN where unknown.
        rate_hz: marker rate.
        settings: the section [contacts].
        smear_s: half the time over which the filter of the wrenches spreads an edge, about 0.5 / cut-off; 0 if unfiltered.
        mass_kg: body mass for the evidence in body weights, None if unknown.
        balance: force required by the motion of the whole body; None = not used.
    """
    outlines = {side: foot_outline(outlines_W[side], rate_hz) for side in SIDES}
    items = decide_contacts(plates, outlines, rate_hz, settings, smear_s=smear_s, mass_kg=mass_kg, balance=balance)
    if balance is not None:
        outlines = mark_unmeasured_support(items, outlines, balance, rate_hz, smear_s)
    return ContactDecisions(tuple(items), outlines, tuple(plate.cutoff_hz for plate in plates))


def reaction_from_decisions(
    decisions: ContactDecisions,
    plates: Sequence[PlateSignals],
    rate_hz: float,
    settings: ContactSettings,
    *,
    smear_s: float,
    full_bandwidth: GroundReaction | None = None,
    strikes_s: Mapping[Side, FloatArray] | None = None,
) -> GroundReaction:
    """Return the ground reaction from the wrenches of `plates`, whose filter may differ from that of the decision.

    full_bandwidth: the reaction at full bandwidth if already known; None = computed here. strikes_s: times (N,) s of the foot
    strikes of each side from gait events; without them, a stance off the plates starts when the sole comes to rest.
    """

    def sum_loads(plates: Sequence[PlateSignals], items: Sequence[PlateContact], smear_s: float) -> GroundReaction:
        return ground_reaction(
            plates,
            items,
            decisions.outlines,
            rate_hz,
            strikes_s=strikes_s or {},
            threshold_n=settings.threshold_n,
            smear_s=smear_s,
        )

    reaction = sum_loads(plates, decisions.filter_like_plates(plates, rate_hz), smear_s)
    full = [plate.with_full_bandwidth_wrench() for plate in plates]
    if full_bandwidth is None and full and all(plate.cutoff_hz for plate in full):
        items = [_filter_like_plate(item, full[item.plate], rate_hz) for item in decisions.items]
        full_bandwidth = sum_loads(full, items, 0.5 / min(plate.cutoff_hz for plate in full))
    return reaction if full_bandwidth is None else replace(reaction, full_bandwidth=full_bandwidth)


def _filter_like_plate(item: PlateContact, plate: PlateSignals, rate_hz: float) -> PlateContact:
    """Return the contact with its share of the load filtered as the wrench of the plate."""
    if item.share is None:
        return item
    wrench = plate.resample_to_frames(item.share.raw, rate_hz, len(item.share.wrench))
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
    """Sum the wrenches of the plates on each foot and mark the frames in which the wrench on a foot is unknown.

    A foot is unmeasured (`unmeasured_stances`) if it stands (`FootOutline.bearing`) without an assigned contact, or during an
    ambiguous or rejected contact that concerns it. Its wrench is then NaN. In swing the wrench is zero except for the force
    that the filter spreads before an unmeasured strike (`pre_strike_force`). The filtered wrench is assigned to its foot over
    its whole support, up to half-way to the next contact of the plate, so that no force is lost or counted twice.
    """
    # ... or for this many half-widths of the filter (ringing of a Butterworth pair is below 1e-4 by then). Unfiltered forces,
    # too, are below the threshold next to a contact.
    max_tail_smears = 6.0
    min_tail_s = 0.05
    frames = len(next(iter(foot_outlines.values())).known)
    tail = int(np.ceil(max(max_tail_smears * smear_s, min_tail_s) * rate_hz))
    wrench = {side: np.zeros((frames, 6)) for side in SIDES}
    surface = {side: np.zeros(frames) for side in SIDES}
    spans = wrench_frame_ranges(plates, contacts, frames, tail)
    for item, (first, stop) in zip(contacts, spans, strict=True):
        side = item.assigned_side
        if side is None:
            continue
        if item.share is not None:
            first, stop, part = _shared_wrench_frames(item, item.share, frames, tail)
        else:
            part = plates[item.plate].wrench[first:stop]
        wrench[side][first:stop] += part
        cop = centre_of_pressure(part, plates[item.plate].corners_W, threshold_n)
        surface[side][first:stop] += np.nan_to_num(cop[:, 1]) * np.where(np.isfinite(cop[:, 1]), part[:, 4], 0.0)
    stances = {
        side: unmeasured_stances(side, plates, contacts, foot_outlines, strikes_s.get(side, np.empty(0)), rate_hz)
        for side in SIDES
    }
    expected = pre_strike_force(plates, contacts, spans, stances, foot_outlines, rate_hz, smear_s)
    reason, near, on_floor = {}, {}, {}
    for side in SIDES:
        carried = assigned_frames(side, contacts, frames)
        on_floor[side] = loaded_frames(side, contacts, frames)
        for stance in stances[side]:
            on_floor[side][stance.first : stance.stop] = True
        reason[side] = reasons_for_unknown_wrench(side, stances[side], foot_outlines[side], carried, rate_hz)
        near[side] = np.zeros(frames, dtype=bool)
        for rows, _ in frames_around_stances(stances[side], smear_s + STANCE_DELAY_S, frames, rate_hz):
            near[side][rows[~carried[rows]]] = True
        if expected is not None:
            wrench[side] += expected[0][side]
    measured = {side: np.array([not text for text in reason[side]], dtype=bool) for side in SIDES}
    points, moments = {}, {}
    for side in SIDES:
        wrench[side][~measured[side]] = np.nan
        with np.errstate(divide="ignore", invalid="ignore"):  # the height is undefined without force
            height = surface[side] / wrench[side][:, 4]
        points[side], moments[side] = centre_of_pressure_at_height(wrench[side], height, threshold_n)
    return GroundReaction(
        wrench=wrench,
        measured=measured,
        reason=reason,
        on_floor=on_floor,
        centre_of_pressure=points,
        free_moment=moments,
        shared=tuple(item.share for item in contacts if item.share is not None and item.assigned_side is not None),
        near_unmeasured={side: near[side] & measured[side] for side in SIDES},
        expected_sd={} if expected is None else expected[1],
    )


def _shared_wrench_frames(item: PlateContact, share: SharedLoad, frames: int, tail: int) -> tuple[int, int, FloatArray]:
    """Return the frames [first, stop) and the filtered wrench of the share of a foot in a load of two feet.

    tail: frames by which the filter extends the share. The frames end where the load was cut.
    """
    first = item.first if item.cut_before else max(item.first - tail, share.first_frame)
    stop = item.stop if item.cut_after else min(item.stop + tail, share.first_frame + len(share.wrench), frames)
    return first, stop, share.wrench[first - share.first_frame : stop - share.first_frame]


def wrench_frame_ranges(
    plates: Sequence[PlateSignals], contacts: Sequence[PlateContact], frames: int, tail: int
) -> list[tuple[int, int]]:
    """Return for each contact the frames [first, stop) of its wrench, disjoint on each plate.

    tail: frames after the raw contact in which the filtered wrench may differ from zero. Contacts with a share keep their frames.
    """
    # The filtered wrench is used beyond the raw contact until it stays below this fraction of its peak ...
    died_away_share = 1e-3
    result = [(item.first, item.stop) for item in contacts]
    for plate in range(len(plates)):
        indices = (n for n, item in enumerate(contacts) if item.plate == plate and item.share is None)
        order = sorted(indices, key=lambda n: result[n])
        if not order:
            continue
        force = np.linalg.norm(plates[plate].wrench[:, 3:], axis=1)
        # Contacts are separated half-way between neighbours; parts of one continuous load are separated where they were cut.
        meeting = [(contacts[a].stop + contacts[b].first) // 2 for a, b in pairwise(order)]
        lower, upper = [0, *meeting], [*meeting, frames]
        for number, low, high in zip(order, lower, upper, strict=True):
            item = contacts[number]
            alive = force > died_away_share * force[item.first : item.stop].max()
            first, stop = item.first, item.stop
            if not item.cut_before:
                low = min(max(low, first - tail), first)
                first = low + int(np.argmax(alive[low : first + 1]))
            if not item.cut_after:
                high = max(min(high, stop + tail), stop)
                stop = high - int(np.argmax(alive[stop - 1 : high][::-1]))
            result[number] = (min(first, item.first), max(stop, item.stop))
    return result


def contact_decisions(
    signals: TrialSignals,
    soles_W: Mapping[Side, FloatArray],
    settings: ContactSettings,
    mass_kg: float | None = None,
    fit: Fit | None = None,
) -> ContactDecisions:
    """Decide every contact of a trial.

    Parameters:
        soles_W: points (T, K, 3) m around the sole of each side, NaN where unknown. mass_kg: body mass; None if unknown.
        fit: motion of the whole body for the balance of forces; None = not used.
    """
    balance = None
    if fit is not None:
        balance = BodyBalance(
            required_wrench(fit),
            plate_wrenches_at_marker_cutoff(signals),
            fit.model.mass_kg,
            mass_known=mass_kg is not None,
        )
    return decisions_from_plates(
        _plate_signals(signals),
        soles_W,
        signals.markers.rate_hz,
        settings,
        smear_s=signals.force_smear_s,
        mass_kg=mass_kg,
        balance=balance,
    )


def compute_reaction(
    decisions: ContactDecisions,
    signals: TrialSignals,
    settings: ContactSettings,
    full_bandwidth: GroundReaction | None = None,
    strikes_s: Mapping[Side, FloatArray] | None = None,
) -> GroundReaction:
    """Return the ground reaction of both feet with the plate forces of these signals.

    full_bandwidth, strikes_s: see `reaction_from_decisions`.
    """
    plates = _plate_signals(signals)
    if full_bandwidth is None:
        full_hz, full = full_bandwidth_plate_wrenches(signals)
        plates = [
            replace(plate, full=wrench, full_cutoff_hz=full_hz) for plate, wrench in zip(plates, full, strict=True)
        ]
    return reaction_from_decisions(
        decisions,
        plates,
        signals.markers.rate_hz,
        settings,
        smear_s=signals.force_smear_s,
        full_bandwidth=full_bandwidth,
        strikes_s=strikes_s,
    )


def _plate_signals(signals: TrialSignals) -> list[PlateSignals]:
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


_REASON = "the force file states the foot"


def ground_reaction_from_forces(
    wrenches: Mapping[Side, FloatArray],
    heights: Mapping[Side, FloatArray],
    soles_W: Mapping[Side, FloatArray],
    covered: BoolArray,
    rate_hz: float,
    threshold_n: float,
) -> tuple[tuple[Contact, ...], GroundReaction]:
    """Return contacts and ground reaction of the feet for given external forces.

    Parameters:
        wrenches: F_Wo_W (T, 6) of each side. heights: height (T,) m of the point of application of each side, NaN = at the
            sole.
        soles_W: outline (T, K, 3) m of each sole, NaN where unknown. covered: frames (T,) that the force file covers.
        threshold_n: vertical force of a loaded foot.

    A foot without a force during a whole stance is on uninstrumented ground.
    """
    # A shorter stance may be a foot that scuffs the floor.
    least_stance_s = 0.1
    contacts: list[Contact] = []
    measured, reason, on_floor, pressure, free = {}, {}, {}, {}, {}
    for number, (side, wrench) in enumerate(wrenches.items(), start=1):
        for start_s, end_s in find_loads(wrench[:, 4], rate_hz, threshold_n):
            contacts.append(Contact(number, start_s, end_s, side, "assigned", _REASON))
        loaded = np.asarray(np.nan_to_num(wrench[:, 4]) >= threshold_n)
        outline = foot_outline(soles_W[side], rate_hz)
        bare = np.zeros(len(wrench), dtype=np.bool_)
        for first, stop in finite_stretches(outline.bearing):
            if stop - first >= least_stance_s * rate_hz and not loaded[first:stop].any():
                bare[first:stop] = True
        words = np.where(bare, f"the {SIDE_NAMES[side]} foot is in stance, but the force file has no force on it", "")
        words = np.where(covered, words, "the force file does not cover this time")
        reason[side], measured[side] = words.tolist(), np.asarray(covered & ~bare)
        on_floor[side] = np.asarray(loaded | bare)
        height = np.where(np.isfinite(heights[side]), heights[side], np.nan_to_num(outline.height))
        pressure[side], free[side] = centre_of_pressure_at_height(wrench, height, threshold_n)
    reaction = GroundReaction(
        wrench={side: np.where(measured[side][:, None], wrench, np.nan) for side, wrench in wrenches.items()},
        measured=measured,
        reason=reason,
        on_floor=on_floor,
        centre_of_pressure=pressure,
        free_moment=free,
    )
    return tuple(sorted(contacts, key=lambda contact: contact.start_s)), reaction


def contact_diagnostics(contacts: Sequence[Contact], rate_hz: float) -> tuple[Diagnostic, ...]:
    """Return findings about unassigned contacts, noisy plates, and forces that were stored as zero below a limit."""
    # Shorter losses change the time of an event by one or two frames only.
    reported_loss_s = 0.005
    notes: list[Diagnostic] = []
    alike: dict[tuple[int, str, str], list[Contact]] = {}
    for contact in contacts:
        if contact.decision != "assigned":  # findings with reasons that differ only in numbers are merged
            alike.setdefault((contact.plate, contact.decision, re.sub(r"[0-9.]+", "", contact.reason)), []).append(
                contact
            )
    for group in alike.values():
        contact, count = group[0], f"{len(group)} loads, " if len(group) > 1 else ""
        begin_s, end_s = min(c.start_s for c in group), max(c.end_s for c in group)
        # Information only: most trials have such a contact. checks/contacts.py warns if a leg has no assigned contact.
        notes.append(
            Diagnostic(
                code=f"contact-{contact.decision}",
                severity="info",
                message=f"Plate {contact.plate}, {count}{begin_s:.2f} to {end_s:.2f} s: {contact.reason}.",
                value=contact.evidence.get("peak_n"),
                unit="N",
                frames=(int(begin_s * rate_hz), int(end_s * rate_hz)),
                hint="During this time the ground reaction of the feet concerned and the moments of their legs are not "
                "available. To assign the load to a foot, use [contacts] override (docs/settings.md).",
                about=str(contact.plate),
            )
        )
    notes += _unmeasured_support_findings(contacts, rate_hz)
    notes += _noisy_plate_findings(contacts)
    missed = [max(c.evidence.get("start_missed_s", 0.0), c.evidence.get("end_missed_s", 0.0)) for c in contacts]
    if missed and max(missed) > reported_loss_s:
        numbers = sorted({c.plate for c, lost in zip(contacts, missed, strict=True) if lost > reported_loss_s})
        plates = ("plate " if len(numbers) == 1 else "plates ") + ", ".join(str(number) for number in numbers)
        notes.append(
            Diagnostic(
                code="force-cut",
                severity="warning",
                message=f"The force of {plates} was stored as zero below a limit, so that up to "
                f"{1000 * max(missed):.0f} ms are missing at the start or end of contacts.",
                value=max(missed),
                limit=reported_loss_s,
                unit="s",
                hint="The times of foot strikes and foot offs were extrapolated. Export the forces without a "
                "threshold.",
            )
        )
    return tuple(notes)


def _unmeasured_support_findings(contacts: Sequence[Contact], rate_hz: float) -> list[Diagnostic]:
    """Return findings about contacts during which an unmeasured support carries a part of the body."""
    # Least missing vertical force as a fraction of body weight, three times that of correct contacts (`balance`).
    support_share = 0.15
    notes = []
    for contact in contacts:
        missing_n = contact.evidence.get("balance_missing_n", math.nan)
        limit_n = support_share * body_weight_n(contact.evidence.get("balance_mass_kg", math.nan))
        if contact.decision == "assigned" and missing_n > limit_n:
            notes.append(
                Diagnostic(
                    code="support-not-measured",
                    severity="warning",
                    message=f"Plate {contact.plate}, {contact.start_s:.2f} to {contact.end_s:.2f} s: the plates "
                    f"measure {missing_n:.0f} N less than required by the motion.",
                    value=missing_n,
                    limit=limit_n,
                    unit="N",
                    frames=(int(contact.start_s * rate_hz), int(contact.end_s * rate_hz)),
                    hint="If a stick, a rail or a helping hand carries this force, moments of the leg are valid and "
                    "moments of arms and trunk are not. Otherwise check the body mass and the scale of the "
                    "plate.",
                    about=str(contact.plate),
                )
            )
    return notes


def _noisy_plate_findings(contacts: Sequence[Contact]) -> list[Diagnostic]:
    """Return findings about plates with a contact threshold that noise raised."""
    notes = []
    plates = {contact.plate: contact.evidence for contact in contacts}
    for number, evidence in sorted(plates.items()):
        noise, threshold = evidence.get("plate_noise_n", 0.0), evidence.get("threshold_n", math.inf)
        if noise > 0.0 and math.isclose(threshold, NOISE_FACTOR * noise):
            notes.append(
                Diagnostic(
                    code="plate-noise",
                    severity="warning",
                    message=f"Plate {number} has noise of {noise:.1f} N (standard deviation, unloaded): the contact threshold is "
                    f"{threshold:.0f} N.",
                    value=noise,
                    unit="N",
                    hint="Check cables, amplifier and power supply of the plate, or use a low-pass filter before "
                    "recording.",
                )
            )
    return notes
