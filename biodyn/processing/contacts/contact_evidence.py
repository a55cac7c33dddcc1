"""Evidence that a foot loads a plate: presence, distance to the centre of pressure, speed, height and overhang."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from biodyn.conventions import SIDES, STANDARD_GRAVITY_M_S2, BoolArray, FloatArray, Side, other_side
from biodyn.geometry.points import lengths, signed_distance
from biodyn.processing.contacts.foot_motion import FootOutline
from biodyn.processing.contacts.plate_loads import PlateSignals, find_loads, missed_times, plate_surface
from biodyn.processing.signals.filtering import finite_stretches, widen_mask
from biodyn.recording import Contact, SharedLoad

# Largest height of a standing sole above or below the surface of a plate (shoe, marker and model error).
MAX_SOLE_HEIGHT_M = 0.08
# A sole point within this distance outside the plate may still load it, because of errors of the corners and the foot model.
REACH_M = 0.10
# Largest distance of the centre of pressure of a standing foot from its outline, caused by errors of sole, markers and plates.
MAX_FOOT_DISTANCE_M = 0.05
# Shortest foot contact; the shortest stances of running last 0.15 s.
MIN_CONTACT_S = 0.1
# Shorter stretches without a foot are ignored, because of ringing of the plate and errors of the motion.
MIN_ABSENT_S = 0.1


@dataclass(frozen=True)
class LoadPart:
    """Part of a continuous load of a plate.

    Attributes: start and end (s), whether a foot can have applied the load, and whether it continues before and after the part.
    """

    start_s: float
    end_s: float
    foot: bool
    cut_before: bool
    cut_after: bool


def contact_windows(
    plate: PlateSignals, foot_outlines: Mapping[Side, FootOutline], rate_hz: float
) -> dict[Side | Literal["any"], BoolArray]:
    """Return the frames (T,) in which any foot ("any"), and each foot, can load the plate."""
    windows: dict[Side | Literal["any"], BoolArray] = {"any": foot_may_load(plate, foot_outlines, rate_hz)}
    return windows | {side: foot_may_load(plate, {side: sole}, rate_hz) for side, sole in foot_outlines.items()}


def foot_may_load(plate: PlateSignals, foot_outlines: Mapping[Side, FootOutline], rate_hz: float) -> BoolArray:
    """Return the frames (T,) in which a foot can load the plate because it is near, low and slow, or not visible."""
    # A swinging foot moves at 3 to 5 m/s; the lowest point of a foot that lands or leaves is far slower.
    max_speed_m_s = 1.0
    # Largest error of initial contact and foot off in the filtered motion.
    widen_s = 0.1
    frames = len(next(iter(foot_outlines.values())).known)
    here = np.zeros(frames, dtype=bool)
    for side, sole in foot_outlines.items():
        if plate.side not in (None, side):
            continue
        # if the edges are unknown, every point may be on the plate
        near = (
            sole.distance_to_plate(plate.corners_W) < REACH_M if plate.outlined else np.ones(sole.low.shape, dtype=bool)
        )
        # relative to the floor or the belt; the belt velocity is uncertain for a foot that rarely rests
        speed_W = lengths(np.gradient(sole.outline_W, 1.0 / rate_hz, axis=0)) if frames > 1 else sole.speed
        speed = np.nan_to_num(np.fmin(sole.speed, speed_W), nan=0.0)
        touches = near & sole.low & (speed < max_speed_m_s)
        level = np.abs(np.nan_to_num(height_above_plate(plate, sole.outline_W), nan=np.inf)) < MAX_SOLE_HEIGHT_M
        here |= (touches.any(axis=1) & level) | ~sole.known
    wide = widen_mask(here, round(widen_s * rate_hz))
    for first, stop in finite_stretches(~wide):
        if stop - first < MIN_ABSENT_S * rate_hz:
            wide[first:stop] = True
    return wide


def split_load(start_s: float, end_s: float, here: BoolArray, rate_hz: float) -> list[LoadPart]:
    """Split a load from `start_s` to `end_s` at the times at which feet arrive or leave; `here` (T,) is `foot_may_load`.

    If the load starts before or ends after the foot by less than `MIN_ABSENT_S`, this time belongs to the foot, because the
    times of the motion have errors of this size.
    """
    first = min(max(int(np.floor(start_s * rate_hz)), 0), len(here) - 1)
    stop = min(max(int(np.ceil(end_s * rate_hz)), first) + 1, len(here))
    foot = here[first:stop].copy()
    for a, b in finite_stretches(~foot):
        if b - a < MIN_ABSENT_S * rate_hz and b - a < len(foot):
            foot[a:b] = True
    edges = np.concatenate(([0], np.flatnonzero(np.diff(foot)) + 1, [len(foot)]))
    parts = []
    for a, b in pairwise(edges):
        before, after = a > 0, b < len(foot)
        begin = (first + int(a)) / rate_hz if before else start_s
        end = (first + int(b)) / rate_hz if after else end_s
        parts.append(LoadPart(begin, end, bool(foot[a]), bool(before), bool(after)))
    return parts


def adjacent_force(plate: PlateSignals, parts: Sequence[LoadPart], number: int) -> float:
    """Return the vertical force (N) of the plate in the parts without a foot next to part `number`; 0 if it is unloaded there."""
    levels = [
        mean_force(plate, parts[n]) for n in (number - 1, number + 1) if 0 <= n < len(parts) and not parts[n].foot
    ]
    return max(levels, default=0.0)


def mean_force(plate: PlateSignals, part: LoadPart) -> float:
    """Return the mean vertical force (N, unfiltered) of a plate during a part of a load."""
    first = int(part.start_s * plate.analog_rate_hz)
    samples = plate.vertical_force[first : max(int(part.end_s * plate.analog_rate_hz), first + 1)]
    known = samples[np.isfinite(samples)]
    return float(known.mean()) if len(known) else 0.0


def loading_times(plate: PlateSignals, part: LoadPart, level_n: float) -> tuple[float, float]:
    """Return start and end (s) of the longest loading of a part above `level_n`, or of the whole part if none exists.

    A part ends about 0.1 s after foot off, so that its times are refined with the force.
    """
    first = int(part.start_s * plate.analog_rate_hz)
    samples = plate.vertical_force[first : int(part.end_s * plate.analog_rate_hz) + 1]
    runs = find_loads(samples, plate.analog_rate_hz, level_n)
    if not runs:
        return part.start_s, part.end_s
    begin, end = max(runs, key=lambda run: run[1] - run[0])
    at = first / plate.analog_rate_hz
    return (begin + at if part.cut_before else part.start_s), (end + at if part.cut_after else part.end_s)


def height_above_plate(plate: PlateSignals, outline: FloatArray) -> FloatArray:
    """Return the height (T,) m of the lowest point of outlines (T, K, 3) above the plane of the plate."""
    centre, normal = plate_surface(plate.corners_W)
    height: FloatArray = (((outline - centre) @ normal) / normal[1]).min(axis=1)
    return height


# Error of the sole outline; smaller overlap with a plate and smaller overhang are ignored.
OUTLINE_ERROR_M = 0.015
# Error of kinematic stance events (Zeni, O'Connor: 16 +- 15 ms); shorter overlaps are ignored.
MIN_SHARED_S = 0.05


@dataclass(frozen=True)
class PlateLoad:
    """One continuous load of one plate, or a part of it, with the data needed for the decision.

    Attributes:
        index: index of the plate in `plates`. plate: signals of this plate. plates: all plates, the instrumented floor.
        foot_outlines: outlines of both feet. windows: frames in which the feet can load the plate, see `contact_windows`.
        cop: centre of pressure (T, 3) m on the surface of the plate.
        raised: True for a stair, beyond whose edge nothing supports the foot.
        rate_hz: marker rate.
        start_s, end_s: times of the raw force. first, stop: range of marker frames, stop exclusive.
        threshold_n: vertical force that counts as contact on this plate (above the setting for a noisy plate).
        smear_s, mass_kg: see `contact_decision.decide_contacts`.
    """

    index: int
    plate: PlateSignals
    plates: Sequence[PlateSignals]
    foot_outlines: Mapping[Side, FootOutline]
    windows: Mapping[Side | Literal["any"], BoolArray]
    cop: FloatArray
    raised: bool
    rate_hz: float
    start_s: float
    end_s: float
    first: int
    stop: int
    threshold_n: float
    smear_s: float
    mass_kg: float | None


@dataclass(frozen=True)
class PlateContact:
    """Contact: a load of a plate, or a part of it, with the decision.

    Attributes:
        contact: the record for tables and reports.
        plate: index into the given plates (not the number in the file).
        first, stop: marker frames of the raw load, stop exclusive.
        feet: sides whose ground reaction the contact concerns: the assigned side, or the sides whose reaction stays unknown.
        cut_before, cut_after: True if the load continues before or after this contact (two feet on one plate).
        frame_overhang_m: (n,) overhang of the low part of the sole over the edges of the plates in each frame, for a contact
            that is rejected only because of it; None for all others.
        share: share of the foot in the load of two feet; None = the whole load.
    """

    contact: Contact
    plate: int
    first: int
    stop: int
    feet: tuple[Side, ...]
    cut_before: bool = False
    cut_after: bool = False
    frame_overhang_m: FloatArray | None = None
    share: SharedLoad | None = None

    @property
    def rows(self) -> slice:
        """Marker frames of the contact, as a slice."""
        return slice(self.first, self.stop)

    @property
    def assigned_side(self) -> Side | None:
        """Side of the foot to which the load is assigned; None without one."""
        return self.contact.side if self.contact.decision == "assigned" else None

    def with_changes(self, **changes: Any) -> PlateContact:
        """Return the contact with the given fields of `contact` changed."""
        return replace(self, contact=replace(self.contact, **changes))

    def reject(self, reason: str) -> PlateContact:
        """Return the contact with the decision "rejected" and a reason."""
        return self.with_changes(decision="rejected", reason=reason)


@dataclass(frozen=True)
class FootEvidence:
    """Comparison of one foot with one load in the frames with sufficient force.

    Attributes:
        distance_median_m, distance_95_m: distance of the centre of pressure from the sole, 0 inside it.
        speed_m_s, height_m: speed of the slowest low point of the sole relative to the floor, and height of the lowest point
            above the plate.
        share_inside: fraction of the low points that are on plates. overhang_m: overhang of the sole over their edges.
        edge_m: smallest distance of the centre of pressure from the edge of the plates.
        on_plate: frames (n,) of the load in which the foot is on this plate. known_share: fraction of frames with a known sole.
        frame_overhang_m: (n,) overhang of the low part of the sole in each frame; infinite if unknown.
    """

    distance_median_m: float
    distance_95_m: float
    speed_m_s: float
    height_m: float
    share_inside: float
    overhang_m: float
    edge_m: float
    on_plate: BoolArray
    known_share: float
    frame_overhang_m: FloatArray


def feet_evidence(load: PlateLoad) -> dict[Side, FootEvidence]:
    """Return the comparison of each foot with a load, by side."""
    return {side: _foot_evidence(load, side) for side in SIDES}


def nearest_foot(feet: Mapping[Side, FootEvidence]) -> Side:
    """Return the side of the foot nearest to the centre of pressure."""
    return min(SIDES, key=lambda side: feet[side].distance_median_m)


def is_foot_near_load(foot: FootEvidence) -> bool:
    # Twice the distance is allowed at the ends of a load, where the centre of pressure is inaccurate.
    return (
        foot.distance_median_m <= MAX_FOOT_DISTANCE_M
        and foot.distance_95_m <= 2.0 * MAX_FOOT_DISTANCE_M
        and abs(foot.height_m) < MAX_SOLE_HEIGHT_M
        and foot.known_share >= 0.5
    )


def evidence_record(load: PlateLoad, side: Side | None, feet: Mapping[Side, FootEvidence]) -> dict[str, float]:
    """Return the evidence of the assigned foot, else of the nearest foot, for tables and reports."""
    subject: Side = side if side is not None else nearest_foot(feet)
    foot, rival = feet[subject], feet[other_side(subject)]
    zero = load.plate.zero
    peak = float(np.nanmax(load.plate.wrench[load.first : load.stop, 4]))
    start_missed_s, end_missed_s = missed_times(
        load.plate.vertical_force, load.plate.analog_rate_hz, load.start_s, load.end_s, load.threshold_n
    )
    return {
        "cop_distance_median_m": foot.distance_median_m,
        "cop_distance_95_m": foot.distance_95_m,
        "sole_speed_m_s": foot.speed_m_s,
        "sole_height_m": foot.height_m,
        "share_inside": foot.share_inside,
        "overhang_m": foot.overhang_m,
        "cop_to_edge_m": foot.edge_m,
        "peak_n": peak,
        "peak_bw": peak / (load.mass_kg * STANDARD_GRAVITY_M_S2) if load.mass_kg else math.nan,
        "start_missed_s": start_missed_s,
        "end_missed_s": end_missed_s,
        "plate_offset_n": zero.offset_n if zero else math.nan,
        "plate_drift_n": zero.drift_n if zero else math.nan,
        "plate_noise_n": zero.noise_n if zero else math.nan,
        "threshold_n": load.threshold_n,
        "rival_cop_distance_median_m": rival.distance_median_m,
        "rival_on_plate_s": float(np.count_nonzero(rival.on_plate)) / load.rate_hz,
    }


def _foot_evidence(load: PlateLoad, side: Side) -> FootEvidence:
    """Return the comparison of the foot of one side with a load."""
    # Fraction of the peak force above which the centre of pressure is used.
    cop_force_share = 0.15
    # Least time for which a part of the sole must be beyond the edge to make the measured force incomplete.
    min_overhang_s = 0.05
    sole = load.foot_outlines[side]
    rows = slice(load.first, load.stop)
    outline, low, known = sole.outline_W[rows], sole.low[rows], sole.known[rows]
    vertical = load.plate.wrench[rows, 4]
    firm = known & np.isfinite(load.cop[rows, 0]) & (vertical >= cop_force_share * np.nanmax(vertical))
    distance = np.maximum(signed_distance(load.cop[rows], outline), 0.0)[firm]
    heights = np.stack([height_above_plate(plate, outline) for plate in load.plates])
    to_plates = np.stack([sole.distance_to_plate(plate.corners_W)[rows] for plate in load.plates])
    # Without known edges the whole sole is assumed to be on the plate.
    unknown = np.array([not plate.outlined for plate in load.plates])
    to_plates = np.where(unknown[:, None, None], -np.inf, to_plates)
    # A plate far below or above the foot (another stair) does not support it.
    to_plates = np.where(np.abs(heights)[..., None] < MAX_SOLE_HEIGHT_M, to_plates, np.inf)
    height = heights[load.index]
    outside = np.where(low, to_plates.min(axis=0), -np.inf)
    hanging = np.sort(outside.max(axis=1)[firm])[::-1]
    sustained = max(1, round(min_overhang_s * load.rate_hz))
    overhang = float(hanging[min(sustained, len(hanging)) - 1]) if len(hanging) else math.nan
    cop_to_plates = np.stack([signed_distance(load.cop[rows][firm], plate.corners_W) for plate in load.plates])
    edge = -float(cop_to_plates.min(axis=0).max()) if len(distance) and not unknown.any() else math.nan
    deep = (to_plates[load.index] < -OUTLINE_ERROR_M) & low
    on_plate = sole.bearing[rows] & (deep.any(axis=1) if load.plate.outlined else _possible_support_frames(load, side))
    low_firm = low[firm]
    slowest = np.where(low_firm, sole.speed[rows][firm], np.inf).min(axis=1, initial=np.inf)
    return FootEvidence(
        distance_median_m=float(np.median(distance)) if len(distance) else math.inf,
        distance_95_m=float(np.percentile(distance, 95)) if len(distance) else math.inf,
        speed_m_s=float(np.median(slowest)) if len(slowest) else math.nan,
        height_m=float(np.median(height[firm])) if len(distance) else math.nan,
        share_inside=float(np.mean(outside[firm][low_firm] <= 0.0))
        if low_firm.any() and not unknown.any()
        else math.nan,
        overhang_m=max(overhang, 0.0),
        edge_m=edge,
        on_plate=np.asarray(on_plate),
        known_share=float(known.mean()),
        frame_overhang_m=np.where(known, outside.max(axis=1), np.inf),
    )


def _possible_support_frames(load: PlateLoad, side: Side) -> BoolArray:
    """Return the frames (n,) in which a foot may stand on a plate without known edges, by the centre of pressure alone.

    This is the foot stated in the file, else the foot with its sole at the centre of pressure, or both feet if the centre of
    pressure is between two soles.
    """
    rows = slice(load.first, load.stop)
    if load.plate.side is not None:
        return np.full(load.stop - load.first, load.plate.side == side)
    reach_m = 2.0 * MAX_FOOT_DISTANCE_M
    distances = {
        foot: np.where(sole.known[rows], signed_distance(load.cop[rows], sole.outline_W[rows]), np.inf)
        for foot, sole in load.foot_outlines.items()
    }
    at_own = np.nan_to_num(distances[side], nan=np.inf) <= reach_m
    at_other = np.nan_to_num(distances[other_side(side)], nan=np.inf) <= reach_m
    between = ~at_own & ~at_other & np.isfinite(load.cop[rows, 0])
    return np.asarray(at_own | between)
