"""What speaks for each foot on a loaded plate: distance to the centre of pressure, speed, height, overhang."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from biodyn.conventions import SIDES, STANDARD_GRAVITY_M_S2, BoolArray, FloatArray, Side, other_side
from biodyn.geometry.points import lengths, signed_distance
from biodyn.processing.contacts.feet import FootOutline
from biodyn.processing.contacts.loading import PlateSignals, loadings, missed_at_edges, plate_surface
from biodyn.processing.contacts.parameters import ContactSettings
from biodyn.processing.signals.filtering import finite_stretches
from biodyn.recording import Contact

# A sole farther than this above or below a plate's surface does not stand on it (shoe, marker and model error).
MAX_SOLE_HEIGHT_M = 0.08
# A sole point this far beside the plate may still press on it: corners measured badly, feet larger than their model.
REACH_M = 0.10
# Swinging feet pass at 3 to 5 m/s; the lowest point of a foot that lands or leaves is far slower.
MAX_SPEED_M_S = 1.0
# Filtered motion shows landing and leaving too late or too early by less than this.
WIDEN_S = 0.1
# Shorter stretches without a foot say nothing: the plate rings, the motion is not exact.
MIN_ABSENT_S = 0.1


@dataclass(frozen=True)
class Part:
    """A piece of an unbroken load: times in s, whether a foot can have made it, and whether the load goes on beside it."""

    start_s: float
    end_s: float
    foot: bool
    cut_before: bool
    cut_after: bool


@dataclass(frozen=True)
class ContactWindows:
    """When feet can load a plate, found once however many loads it has: see `foot_may_load`."""

    plate: PlateSignals
    foot_outlines: Mapping[Side, FootOutline]
    rate_hz: float

    @cached_property
    def of_any(self) -> BoolArray:
        """Frames (T,) in which some foot can."""
        return foot_may_load(self.plate, self.foot_outlines, self.rate_hz)

    @cached_property
    def of_each(self) -> Mapping[Side, BoolArray]:
        """Frames (T,) in which each foot by itself can."""
        return {
            side: foot_may_load(self.plate, {side: sole}, self.rate_hz) for side, sole in self.foot_outlines.items()
        }


def foot_may_load(plate: PlateSignals, foot_outlines: Mapping[Side, FootOutline], rate_hz: float) -> BoolArray:
    """Frames (T,) in which some foot, of the plate's side if it has one, can load the plate: near, low and slow, or not seen."""
    frames = len(next(iter(foot_outlines.values())).known)
    here = np.zeros(frames, dtype=bool)
    for side, sole in foot_outlines.items():
        if plate.side not in (None, side):
            continue
        # where nobody knows the edges, every place may be the plate's
        near = sole.distance_to(plate.corners_W) < REACH_M if plate.outlined else np.ones(sole.low.shape, dtype=bool)
        # Over the floor or over a belt: which of them carries the foot is a guess where it hardly ever rests.
        in_room = lengths(np.gradient(sole.outline_W, 1.0 / rate_hz, axis=0)) if frames > 1 else sole.speed
        speed = np.nan_to_num(np.fmin(sole.speed, in_room), nan=0.0)
        touches = near & sole.low & (speed < MAX_SPEED_M_S)
        level = np.abs(np.nan_to_num(height_over(plate, sole.outline_W), nan=np.inf)) < MAX_SOLE_HEIGHT_M
        here |= (touches.any(axis=1) & level) | ~sole.known
    widen = round(WIDEN_S * rate_hz)
    wide = here.copy()
    for first, stop in finite_stretches(here):
        wide[max(first - widen, 0) : stop + widen] = True
    for first, stop in finite_stretches(~wide):
        if stop - first < MIN_ABSENT_S * rate_hz:
            wide[first:stop] = True
    return wide


def parts_of_load(start_s: float, end_s: float, here: BoolArray, rate_hz: float) -> list[Part]:
    """Cut a load from `start_s` to `end_s` where feet arrive and leave; `here` (T,) is `foot_may_load`.

    What is left over at an end for less than `MIN_ABSENT_S` stays with the foot: it is within the error of the motion.
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
        parts.append(Part(begin, end, bool(foot[a]), bool(before), bool(after)))
    return parts


def adjacent_level(plate: PlateSignals, parts: Sequence[Part], number: int) -> float:
    """Vertical force (N) that the plate reads without a foot next to part `number` of a load; 0 where it is unloaded."""
    levels = [
        mean_force(plate, parts[n]) for n in (number - 1, number + 1) if 0 <= n < len(parts) and not parts[n].foot
    ]
    return max(levels, default=0.0)


def mean_force(plate: PlateSignals, part: Part) -> float:
    """Mean raw vertical force of a part, N."""
    first = int(part.start_s * plate.analog_rate_hz)
    samples = plate.vertical_force[first : max(int(part.end_s * plate.analog_rate_hz), first + 1)]
    known = samples[np.isfinite(samples)]
    return float(known.mean()) if len(known) else 0.0


def times_above(plate: PlateSignals, part: Part, level_n: float) -> tuple[float, float]:
    """Begin and end in s of a part's longest loading above `level_n`; its own where there is none.

    A part ends where the foot may no longer be there, a tenth of a second late; the force tells when it really left.
    """
    first = int(part.start_s * plate.analog_rate_hz)
    samples = plate.vertical_force[first : int(part.end_s * plate.analog_rate_hz) + 1]
    runs = loadings(samples, plate.analog_rate_hz, level_n)
    if not runs:
        return part.start_s, part.end_s
    begin, end = max(runs, key=lambda run: run[1] - run[0])
    at = first / plate.analog_rate_hz
    return (begin + at if part.cut_before else part.start_s), (end + at if part.cut_after else part.end_s)


def height_over(plate: PlateSignals, outline: FloatArray) -> FloatArray:
    """Height (T,) m of the lowest point of outlines (T, K, 3) over the plate's plane, measured there."""
    centre, normal = plate_surface(plate.corners_W)
    height: FloatArray = (((outline - centre) @ normal) / normal[1]).min(axis=1)
    return height


# The sole's outline is known to about this; less overlap with a plate, or less overhang, says nothing.
OUTLINE_ERROR_M = 0.015
# Kinematic stance begins and ends within about this of the true one (Zeni, O'Connor: 16 +- 15 ms): ignore less.
MIN_SHARED_S = 0.05


@dataclass(frozen=True)
class Load:
    """One unbroken loading of one plate, or a part of it, with everything needed to decide about it.

    Attributes:
        index: of the plate among `plates`; plate: its signals. plates: all, the floor that is measured.
        foot_outlines: both feet. presence: when they can load the plate.
        cop: (T, 3) m centre of pressure on the plate's surface.
        raised: a stair: what hangs over its edge hangs in the air.
        rate_hz: marker rate.
        start_s, end_s: of the raw force; first, stop: its marker frames, stop exclusive.
        threshold_n: vertical force that counts as contact on this plate (more than the setting where it is noisy).
        settings: the section [contacts]. smear_s, mass_kg: see `decide.decide_contacts`.
    """

    index: int
    plate: PlateSignals
    plates: Sequence[PlateSignals]
    foot_outlines: Mapping[Side, FootOutline]
    presence: ContactWindows
    cop: FloatArray
    raised: bool
    rate_hz: float
    start_s: float
    end_s: float
    first: int
    stop: int
    threshold_n: float
    settings: ContactSettings
    smear_s: float
    mass_kg: float | None


@dataclass(frozen=True)
class SharedWrench:
    """One foot's part of a load that two feet put on one plate, in a window around its stance; zero beside it.

    Attributes:
        raw: (n, 6) F_Wo_W at the plate's rate, not filtered, from sample `first_sample` on.
        wrench: (m, 6) the same as the plates' wrenches are: filtered, at the marker frames from `first_frame` on.
        sd: (K, m, 6) one standard deviation of `wrench` by K independent causes.
    """

    first_sample: int
    raw: FloatArray
    first_frame: int
    wrench: FloatArray
    sd: FloatArray


@dataclass(frozen=True)
class PlateContact:
    """One decided stretch of a plate's loading.

    Attributes:
        contact: the record for tables and reports.
        plate: index into the plates given (not the number in the file).
        first, stop: marker frames of the raw loading, stop exclusive.
        feet: sides whose ground reaction the stretch concerns: the one assigned, or those that stay unmeasured.
        cut_before, cut_after: the load goes on without a break before or after this stretch (two feet on one plate).
        frame_overhang_m: (n,) overhang of the low part of the sole over the plates' edges in each frame, for a contact that is
            rejected only because of it; None for all others.
        share: the foot's share of the plate's load, where two feet were on it; None = all of it is the foot's.
    """

    contact: Contact
    plate: int
    first: int
    stop: int
    feet: tuple[Side, ...]
    cut_before: bool = False
    cut_after: bool = False
    frame_overhang_m: FloatArray | None = None
    share: SharedWrench | None = None


# The centre of pressure means something above this share of the load's own peak.
COP_FORCE_SHARE = 0.15
# A sole part must hang over the edge for this long to make the plate's force incomplete.
MIN_OVERHANG_S = 0.05


@dataclass(frozen=True)
class FootEvidence:
    """One foot against one load, over the frames in which the load is strong enough to tell.

    Attributes:
        distance_median_m, distance_95_m: of the centre of pressure from the sole, 0 inside it.
        speed_m_s, height_m: of the slowest low point of the sole over the floor, of the lowest one over the plate.
        share_inside: of the low points that lie on plates. overhang_m: how far the sole hangs beyond them.
        edge_m: how near the centre of pressure came to the edge of the plates.
        on_plate: (n,) frames of the load in which the foot stands on this plate. known_share: in which the sole is known.
        frame_overhang_m: (n,) overhang of the low part of the sole over the plates' edges in each frame; infinite if unknown.
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


def feet_evidence(load: Load) -> dict[Side, FootEvidence]:
    """Measure both feet against a load."""
    return {side: _of_foot(load, side) for side in SIDES}


def nearest_foot(feet: Mapping[Side, FootEvidence]) -> Side:
    """Return the side of the foot that is nearest to the centre of pressure."""
    return min(SIDES, key=lambda side: feet[side].distance_median_m)


def is_near(foot: FootEvidence, max_distance_m: float) -> bool:
    # At the ends of a load little force and the filter move the centre of pressure: allow twice the distance there.
    return (
        foot.distance_median_m <= max_distance_m
        and foot.distance_95_m <= 2.0 * max_distance_m
        and abs(foot.height_m) < MAX_SOLE_HEIGHT_M
        and foot.known_share >= 0.5
    )


def record_of(load: Load, side: Side | None, feet: Mapping[Side, FootEvidence]) -> dict[str, float]:
    """Return the evidence as tables and reports keep it: that of the foot decided for, else of the nearest one."""
    subject: Side = side if side is not None else nearest_foot(feet)
    foot, rival = feet[subject], feet[other_side(subject)]
    zero = load.plate.zero
    peak = float(np.nanmax(load.plate.wrench[load.first : load.stop, 4]))
    start_missed_s, end_missed_s = missed_at_edges(
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


def _of_foot(load: Load, side: Side) -> FootEvidence:
    """Measure one foot against this load."""
    sole = load.foot_outlines[side]
    rows = slice(load.first, load.stop)
    outline, low, known = sole.outline_W[rows], sole.low[rows], sole.known[rows]
    vertical = load.plate.wrench[rows, 4]
    firm = known & np.isfinite(load.cop[rows, 0]) & (vertical >= COP_FORCE_SHARE * np.nanmax(vertical))
    distance = np.maximum(signed_distance(load.cop[rows], outline), 0.0)[firm]
    heights = np.stack([height_over(plate, outline) for plate in load.plates])
    to_plates = np.stack([sole.distance_to(plate.corners_W)[rows] for plate in load.plates])
    # Where nobody knows the edges, the whole sole is taken to be on the plate.
    unknown = np.array([not plate.outlined for plate in load.plates])
    to_plates = np.where(unknown[:, None, None], -np.inf, to_plates)
    # A plate far below or above the foot (another stair) is no floor for it.
    to_plates = np.where(np.abs(heights)[..., None] < MAX_SOLE_HEIGHT_M, to_plates, np.inf)
    height = heights[load.index]
    outside = np.where(low, to_plates.min(axis=0) + load.settings.plate_margin_m, -np.inf)
    hanging = np.sort(outside.max(axis=1)[firm])[::-1]
    sustained = max(1, round(MIN_OVERHANG_S * load.rate_hz))
    overhang = float(hanging[min(sustained, len(hanging)) - 1]) if len(hanging) else math.nan
    cop_to_plates = np.stack([signed_distance(load.cop[rows][firm], plate.corners_W) for plate in load.plates])
    edge = -float(cop_to_plates.min(axis=0).max()) if len(distance) and not unknown.any() else math.nan
    deep = (to_plates[load.index] < -OUTLINE_ERROR_M) & low
    on_plate = sole.bearing[rows] & (deep.any(axis=1) if load.plate.outlined else _may_carry(load, side))
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


def _may_carry(load: Load, side: Side) -> BoolArray:
    """Frames (n,) of a load on a plate without known edges in which a foot may stand on that plate, by the pressure point alone.

    The foot that the file names; else the one at whose sole the centre of pressure lies, or both where it lies at neither:
    between two feet that share the load.
    """
    rows = slice(load.first, load.stop)
    if load.plate.side is not None:
        return np.full(load.stop - load.first, load.plate.side == side)
    reach_m = 2.0 * load.settings.max_foot_distance_m
    distances = {
        foot: np.where(sole.known[rows], signed_distance(load.cop[rows], sole.outline_W[rows]), np.inf)
        for foot, sole in load.foot_outlines.items()
    }
    at_own = np.nan_to_num(distances[side], nan=np.inf) <= reach_m
    at_other = np.nan_to_num(distances[other_side(side)], nan=np.inf) <= reach_m
    between = ~at_own & ~at_other & np.isfinite(load.cop[rows, 0])
    return np.asarray(at_own | between)
