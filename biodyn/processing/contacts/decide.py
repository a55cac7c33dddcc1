"""Whose foot loads which plate, with the evidence, and what cannot be told."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from biodyn.conventions import SIDE_NAMES, SIDES, STANDARD_GRAVITY_M_S2, BoolArray, FloatArray, Side, other_side
from biodyn.geometry.polygons import signed_distance
from biodyn.processing.contacts.foot_outline import FootOutline
from biodyn.processing.contacts.loading import PlateSignals, centre_of_pressure, loadings, missed_at_edges
from biodyn.processing.contacts.presence import (
    MAX_SOLE_HEIGHT_M,
    Part,
    foot_may_load,
    height_over,
    level_beside,
    mean_force,
    parts_of_load,
    times_above,
)
from biodyn.processing.signals.filtering import finite_stretches
from biodyn.recording.wrenches import Contact

# The sole's outline is known to about this; less overlap with a plate, or less overhang, says nothing.
OUTLINE_ERROR_M = 0.015
# Kinematic stance begins and ends within about this of the true one (Zeni, O'Connor: 16 +- 15 ms): ignore less.
MIN_SHARED_S = 0.05
# The centre of pressure means something above this share of the load's own peak.
COP_FORCE_SHARE = 0.15
# A force of this share of the load's peak that goes on without a foot was also there beside the foot.
OTHER_LOAD_SHARE = 0.05
# A sole part must hang over the edge for this long to make the plate's force incomplete.
MIN_OVERHANG_S = 0.05


@dataclass(frozen=True)
class PlateContact:
    """One decided stretch of a plate's loading.

    Attributes:
        contact: the record for tables and reports.
        plate: index into the plates given (not the number in the file).
        first, stop: marker frames of the raw loading, stop exclusive.
        feet: sides whose ground reaction the stretch concerns: the one assigned, or those that stay unmeasured.
        cut_before, cut_after: the load goes on without a break before or after this stretch (two feet on one plate).
    """

    contact: Contact
    plate: int
    first: int
    stop: int
    feet: tuple[Side, ...]
    cut_before: bool = False
    cut_after: bool = False


@dataclass(frozen=True)
class _FootEvidence:
    distance_median_m: float
    distance_95_m: float
    speed_m_s: float
    height_m: float
    share_inside: float
    overhang_m: float
    edge_m: float  # how near the centre of pressure came to the edge of the plates
    on_plate: BoolArray  # (n,) frames of the load in which the foot stands on this plate
    known_share: float


def decide_contacts(
    plates: Sequence[PlateSignals],
    foot_outlines: Mapping[Side, FootOutline],
    rate_hz: float,
    *,
    threshold_n: float,
    min_contact_s: float,
    max_foot_distance_m: float,
    plate_margin_m: float,
    smear_s: float,
    mass_kg: float | None = None,
) -> list[PlateContact]:
    """Find every loading of every plate and decide whose foot it is.

    A foot is assigned where the centre of pressure lies on its sole, it alone stands on that plate, and all of its
    sole that is low lies on plates. Two feet on one plate are ambiguous while both are there, widened by `smear_s`
    (what the low-pass filter mixes); the frames before and after belong to the foot that is alone. A load that lasts
    longer than any foot can be there is cut to the time of the feet; the rest is rejected, with what the plate reads.

    Args:
        plates: what was measured; all that are given count as floor that is measured.
        foot_outlines: both feet.
        rate_hz: marker rate.
        threshold_n, min_contact_s, max_foot_distance_m, plate_margin_m: see `settings.ContactSettings`.
        smear_s: half the time over which the filter of the wrenches spreads an edge, about 0.5 / cut-off.
        mass_kg: for the evidence in body weights, where known.

    Returns the stretches sorted by start time.
    """
    rules = _Rules(threshold_n, min_contact_s, max_foot_distance_m, plate_margin_m, smear_s, mass_kg)
    found: list[PlateContact] = []
    floor = _lowest_level(plates, foot_outlines) if plates else 0.0
    for index, plate in enumerate(plates):
        rules = replace(rules, threshold_n=plate.threshold_n(threshold_n))
        cop = centre_of_pressure(plate.wrench, plate.corners_W, threshold_n)
        raised = float(plate.corners_W[:, 1].mean()) > floor + MAX_SOLE_HEIGHT_M
        here = foot_may_load(plate, foot_outlines, rate_hz)
        for start_s, end_s in loadings(plate.vertical_force, plate.analog_rate_hz, rules.threshold_n):
            parts = parts_of_load(start_s, end_s, here, rate_hz)
            for number, part in enumerate(parts):
                first = min(math.ceil(part.start_s * rate_hz), len(cop) - 1)
                stop = max(min(math.floor(part.end_s * rate_hz) + 1, len(cop)), first + 1)
                load = _Load(
                    index,
                    plate,
                    plates,
                    foot_outlines,
                    cop,
                    raised,
                    rate_hz,
                    part.start_s,
                    part.end_s,
                    first,
                    stop,
                    rules,
                )
                found += load.decide_part(part, level_beside(plate, parts, number))
    found.sort(key=lambda item: (item.contact.start_s, item.contact.plate))
    return _without_short_loads(found, min_contact_s)


@dataclass(frozen=True)
class _Rules:
    """The numbers of `decide_contacts`."""

    threshold_n: float
    min_contact_s: float
    max_distance_m: float
    margin_m: float
    smear_s: float
    mass_kg: float | None


@dataclass(frozen=True)
class _Load:
    """One unbroken loading of one plate, with everything needed to decide about it."""

    index: int
    plate: PlateSignals
    plates: Sequence[PlateSignals]
    foot_outlines: Mapping[Side, FootOutline]
    cop: FloatArray
    raised: bool  # a stair: what hangs over its edge hangs in the air
    rate_hz: float
    start_s: float
    end_s: float
    first: int
    stop: int
    rules: _Rules

    def decide_part(self, part: Part, level_n: float) -> list[PlateContact]:
        """Decide about a part of a load beside which the plate reads `level_n` without a foot."""
        if not part.foot:
            reason = f"no foot is over the plate, which reads {mean_force(self.plate, part):.0f} N"
            alone = self.result(None, "rejected", reason, (), self.evidence())
            return [replace(alone, cut_before=part.cut_before, cut_after=part.cut_after)]
        pieces = self.decide()
        begin_s, end_s = times_above(self.plate, part, level_n + self.rules.threshold_n)
        # The frames stay the wider ones of the part: what the filter spreads of the foot's force lies in them.
        first = pieces[0]
        pieces[0] = replace(first, contact=replace(first.contact, start_s=begin_s), cut_before=part.cut_before)
        last = pieces[-1]
        pieces[-1] = replace(last, contact=replace(last.contact, end_s=end_s), cut_after=part.cut_after)
        return [self.credible(piece, level_n) for piece in pieces]

    def credible(self, piece: PlateContact, level_n: float) -> PlateContact:
        """Reject a contact whose force is not the foot's alone, or not the whole of it."""
        contact = piece.contact
        reason = ""
        if level_n > OTHER_LOAD_SHARE * contact.evidence["peak_n"]:
            reason = f"the plate reads {level_n:.0f} N beside it without a foot: its force is not the foot's alone"
        cut_off_s = sum(
            max(min(end, contact.end_s) - max(start, contact.start_s), 0.0) for start, end in self.plate.saturated_s
        )
        if cut_off_s > 0.0:
            reason = f"a channel of the plate stands at the end of its range for {1000 * cut_off_s:.0f} ms"
        if not reason or contact.decision != "assigned":
            return piece
        return replace(piece, contact=replace(contact, decision="rejected", reason=reason))

    def decide(self) -> list[PlateContact]:
        """Return one stretch, or several where two feet share the plate."""
        feet = self.evidence()
        on_plate = {side: feet[side].on_plate for side in SIDES}
        shared = on_plate["r"] & on_plate["l"]
        min_shared = MIN_SHARED_S * self.rate_hz
        takes_turns = all(np.count_nonzero(on_plate[side] & ~shared) >= min_shared for side in SIDES)
        if np.count_nonzero(shared) < min_shared and not takes_turns:
            return [self.single(feet)]
        return self.split(on_plate)

    def evidence(self) -> dict[Side, _FootEvidence]:
        """Measure both feet against this load."""
        return {side: self.foot_evidence(side) for side in SIDES}

    def foot_evidence(self, side: Side) -> _FootEvidence:
        """Measure one foot against this load."""
        sole = self.foot_outlines[side]
        rows = slice(self.first, self.stop)
        outline, low, known = sole.outline_W[rows], sole.low[rows], sole.known[rows]
        vertical = self.plate.wrench[rows, 4]
        firm = known & np.isfinite(self.cop[rows, 0]) & (vertical >= COP_FORCE_SHARE * np.nanmax(vertical))
        distance = np.maximum(signed_distance(self.cop[rows], outline), 0.0)[firm]
        heights = np.stack([height_over(plate, outline) for plate in self.plates])
        to_plates = np.stack([signed_distance(outline, plate.corners_W[None, None]) for plate in self.plates])
        # A plate far below or above the foot (another stair) is no floor for it.
        to_plates = np.where(np.abs(heights)[..., None] < MAX_SOLE_HEIGHT_M, to_plates, np.inf)
        height = heights[self.index]
        outside = np.where(low, to_plates.min(axis=0) + self.rules.margin_m, -np.inf)
        hanging = np.sort(outside.max(axis=1)[firm])[::-1]
        sustained = max(1, round(MIN_OVERHANG_S * self.rate_hz))
        overhang = float(hanging[min(sustained, len(hanging)) - 1]) if len(hanging) else math.nan
        cop_to_plates = np.stack([signed_distance(self.cop[rows][firm], plate.corners_W) for plate in self.plates])
        edge = -float(cop_to_plates.min(axis=0).max()) if len(distance) else math.nan
        deep = (to_plates[self.index] < -OUTLINE_ERROR_M) & low
        on_plate = sole.bearing[rows] & deep.any(axis=1)
        low_firm = low[firm]
        slowest = np.where(low_firm, sole.speed[rows][firm], np.inf).min(axis=1, initial=np.inf)
        return _FootEvidence(
            distance_median_m=float(np.median(distance)) if len(distance) else math.inf,
            distance_95_m=float(np.percentile(distance, 95)) if len(distance) else math.inf,
            speed_m_s=float(np.median(slowest)) if len(slowest) else math.nan,
            height_m=float(np.median(height[firm])) if len(distance) else math.nan,
            share_inside=float(np.mean(outside[firm][low_firm] <= 0.0)) if low_firm.any() else math.nan,
            overhang_m=max(overhang, 0.0),
            edge_m=edge,
            on_plate=np.asarray(on_plate),
            known_share=float(known.mean()),
        )

    def single(self, feet: Mapping[Side, _FootEvidence]) -> PlateContact:
        """Decide about a load that one foot at most can have made."""
        near = [side for side in SIDES if _is_near(feet[side], self.rules.max_distance_m)]
        best = min(SIDES, key=lambda side: feet[side].distance_median_m)
        if len(near) == 2:
            standing = [side for side in near if feet[side].on_plate.any()]
            rival = feet[other_side(best)].distance_median_m
            if len(standing) == 1:
                best = standing[0]
            elif rival < 2.0 * feet[best].distance_median_m + OUTLINE_ERROR_M:
                return self.result(None, "ambiguous", "the centre of pressure lies on both feet", SIDES, feet)
        elif near:
            best = near[0]
        else:
            return self.rejected_without_foot(feet, best)
        name, evidence = SIDE_NAMES[best], feet[best]
        # However far inside the centre of pressure stays: toes on the floor do not pull it, their force is missing.
        if evidence.overhang_m > OUTLINE_ERROR_M and not self.raised:
            reason = f"the {name} foot extends {100 * evidence.overhang_m:.1f} cm beyond the plate"
            return self.result(best, "rejected", reason, (best,), feet)
        reason = f"only the {name} foot is on the plate, centre of pressure within its outline"
        return self.result(best, "assigned", reason, (best,), feet)

    def rejected_without_foot(self, feet: Mapping[Side, _FootEvidence], best: Side) -> PlateContact:
        """Say why nobody's foot fits this load; the nearest foot's reaction stays unknown where it stands here."""
        unseen = [SIDE_NAMES[side] for side in SIDES if feet[side].known_share < 0.5]
        if unseen:
            reason = f"the {' and the '.join(unseen)} foot was not seen"
            concerned = tuple(side for side in SIDES if feet[side].known_share < 0.5)
            return self.result(None, "rejected", reason, concerned, feet)
        numbers = ", ".join(f"{SIDE_NAMES[side]} {100 * feet[side].distance_median_m:.0f} cm" for side in SIDES)
        reason = f"no foot is at the centre of pressure (distance {numbers})"
        return self.result(None, "rejected", reason, (best,) if feet[best].on_plate.any() else (), feet)

    def split(self, on_plate: Mapping[Side, BoolArray]) -> list[PlateContact]:
        """Cut a load that both feet made into the stretches of one foot and those of both."""
        label = _who_stands(on_plate["r"], on_plate["l"], math.ceil(self.rules.smear_s * self.rate_hz))
        edges = np.concatenate(([0], np.flatnonzero(np.diff(label)) + 1, [len(label)]))
        pieces: list[PlateContact] = []
        for begin, end in pairwise(edges):
            first, stop = self.first + int(begin), self.first + int(end)
            part = replace(
                self,
                first=first,
                stop=stop,
                start_s=self.start_s if begin == 0 else first / self.rate_hz,
                end_s=self.end_s if end == len(label) else stop / self.rate_hz,
            )
            feet = part.evidence()
            owner: Side | None = {1: SIDES[0], 2: SIDES[1]}.get(int(label[begin]))
            too_short = part.end_s - part.start_s < self.rules.min_contact_s
            if owner is None or too_short or not _is_near(feet[owner], self.rules.max_distance_m):
                piece = part.result(None, "ambiguous", "both feet are on the plate", SIDES, feet)
            else:
                piece = part.single(feet)
            pieces.append(replace(piece, cut_before=begin > 0, cut_after=end < len(label)))
        return pieces

    def result(
        self,
        side: Side | None,
        decision: str,
        reason: str,
        concerned: tuple[Side, ...],
        feet: Mapping[Side, _FootEvidence],
    ) -> PlateContact:
        """Put decision and evidence into a record."""
        mass_kg = self.rules.mass_kg
        peak = float(np.nanmax(self.plate.wrench[self.first : self.stop, 4]))
        raw, raw_rate_hz = self.plate.vertical_force, self.plate.analog_rate_hz
        start_missed_s, end_missed_s = missed_at_edges(
            raw, raw_rate_hz, self.start_s, self.end_s, self.rules.threshold_n
        )
        subject: Side = side if side is not None else min(SIDES, key=lambda s: feet[s].distance_median_m)
        foot, rival = feet[subject], feet[other_side(subject)]
        contact = Contact(
            plate=self.plate.number,
            start_s=self.start_s,
            end_s=self.end_s,
            side=side,
            decision=decision,  # type: ignore[arg-type]
            reason=reason,
            evidence={
                "cop_distance_median_m": foot.distance_median_m,
                "cop_distance_95_m": foot.distance_95_m,
                "sole_speed_m_s": foot.speed_m_s,
                "sole_height_m": foot.height_m,
                "share_inside": foot.share_inside,
                "overhang_m": foot.overhang_m,
                "cop_to_edge_m": foot.edge_m,
                "peak_n": peak,
                "peak_bw": peak / (mass_kg * STANDARD_GRAVITY_M_S2) if mass_kg else math.nan,
                "start_missed_s": start_missed_s,
                "end_missed_s": end_missed_s,
                "plate_offset_n": self.plate.zero.offset_n if self.plate.zero else math.nan,
                "plate_drift_n": self.plate.zero.drift_n if self.plate.zero else math.nan,
                "plate_noise_n": self.plate.zero.noise_n if self.plate.zero else math.nan,
                "threshold_n": self.rules.threshold_n,
                "rival_cop_distance_median_m": rival.distance_median_m,
                "rival_on_plate_s": float(np.count_nonzero(rival.on_plate)) / self.rate_hz,
            },
        )
        return PlateContact(contact, self.index, self.first, self.stop, concerned)


def _is_near(foot: _FootEvidence, max_distance_m: float) -> bool:
    # At the ends of a load little force and the filter move the centre of pressure: allow twice the distance there.
    return (
        foot.distance_median_m <= max_distance_m
        and foot.distance_95_m <= 2.0 * max_distance_m
        and abs(foot.height_m) < MAX_SOLE_HEIGHT_M
        and foot.known_share >= 0.5
    )


def _lowest_level(plates: Sequence[PlateSignals], foot_outlines: Mapping[Side, FootOutline]) -> float:
    """World height of the lowest surface of the trial: a plate, or where a foot stood."""
    levels = [float(plate.corners_W[:, 1].mean()) for plate in plates]
    levels += [
        float(np.median(sole.height[a:b])) for sole in foot_outlines.values() for a, b in finite_stretches(sole.bearing)
    ]
    return min(levels)


def _who_stands(right: BoolArray, left: BoolArray, smear_frames: int) -> np.ndarray:
    """Label frames 1 (right alone), 2 (left alone), 3 (both, or within `smear_frames` of a change of feet)."""
    label = right.astype(np.int64) + 2 * left.astype(np.int64)
    labelled = np.flatnonzero(label)
    # Frames in which neither stands (kinematics not exact at the edges) go with the nearest frame that tells.
    frames = np.arange(len(label))
    after = np.clip(np.searchsorted(labelled, frames), 0, len(labelled) - 1)
    before = np.maximum(after - 1, 0)
    nearer = np.where(
        np.abs(labelled[before] - frames) <= np.abs(labelled[after] - frames), labelled[before], labelled[after]
    )
    label = label[nearer]
    mixed = label == 3
    change = np.flatnonzero(np.diff(label))
    for edge in change:
        mixed[max(edge + 1 - smear_frames, 0) : edge + 1 + smear_frames] = True
    return np.where(mixed, 3, label)


def _without_short_loads(found: list[PlateContact], min_contact_s: float) -> list[PlateContact]:
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
