"""What speaks for each foot on a loaded plate: distance to the centre of pressure, speed, height, overhang."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from biodyn.conventions import SIDES, STANDARD_GRAVITY_M_S2, BoolArray, FloatArray, Side, other_side
from biodyn.geometry.polygons import signed_distance
from biodyn.processing.contacts.load import OUTLINE_ERROR_M, Load
from biodyn.processing.contacts.loading import missed_at_edges
from biodyn.processing.contacts.presence import MAX_SOLE_HEIGHT_M, height_over

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
        hanging_m: (n,) how far the low part of the sole lies beyond the plates in each frame; infinite where it is not known.
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
    hanging_m: FloatArray


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
        hanging_m=np.where(known, outside.max(axis=1), np.inf),
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
