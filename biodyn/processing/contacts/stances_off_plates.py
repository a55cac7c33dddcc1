"""Stances that no plate measured, and the filtered force before their strikes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from biodyn.conventions import SIDE_NAMES, SIDE_SIGN, SIDES, BoolArray, FloatArray, Side
from biodyn.geometry.rotations import cross
from biodyn.processing.contacts.contact_evidence import (
    MAX_SOLE_HEIGHT_M,
    MIN_SHARED_S,
    OUTLINE_ERROR_M,
    PlateContact,
    height_above_plate,
)
from biodyn.processing.contacts.foot_motion import FootOutline
from biodyn.processing.contacts.plate_loads import PlateSignals
from biodyn.processing.signals.filtering import finite_stretches

# Error of strikes and foot offs from the movement (docs/methods.md, section 7). The load is unknown within this time of them.
EVENT_ERROR_S = 0.02

#: Description of a plate without a load under a standing foot.
SILENT = "which measured no force"


@dataclass(frozen=True)
class UnmeasuredStance:
    """Stretch in which a foot is on the ground with an unknown load.

    Attributes:
        strike: start of the stretch, in frames (not an integer). stop: first frame after the stretch. reason: text for reports.
        cut_before, cut_after: True if a known part of the load precedes or follows.
        on_plate: True if a plate measured the load, but it could not be assigned to the foot.
    """

    strike: float
    stop: int
    reason: str
    cut_before: bool = False
    cut_after: bool = False
    on_plate: bool = False

    @property
    def first(self) -> int:
        """First frame at or after the strike."""
        return int(np.ceil(self.strike))


def strike_frame(first: int, stop: int, strikes_s: FloatArray, delay_s: float, rate_hz: float) -> float:
    """Return the strike, in frames, of a stance [first, stop) of the sole.

    This is the nearest strike (N,) s from gait events, else the start of the stance minus its usual delay.
    """
    # Largest difference between the strike and the start of kinematic stance.
    largest_difference_s = 0.15
    if first == 0:
        return 0.0  # the stance started before the recording
    frames = strikes_s * rate_hz
    near = frames[(np.abs(frames - first) < largest_difference_s * rate_hz) & (frames < stop)]
    return max(float(near[np.argmin(np.abs(near - first))]) if len(near) else first - delay_s * rate_hz, 0.0)


def unmeasured_stances(
    side: Side,
    plates: Sequence[PlateSignals],
    contacts: Sequence[PlateContact],
    soles: Mapping[Side, FootOutline],
    strikes_s: FloatArray,
    rate_hz: float,
) -> list[UnmeasuredStance]:
    """Return the stances of a foot off the plates, and those on a plate whose load could not be assigned to the foot.

    strikes_s: times (N,) s of the strikes of the foot from gait events.
    """
    name, sole, delay_s = SIDE_NAMES[side], soles[side], _stance_delay_s(contacts, soles, rate_hz)
    stances = [
        UnmeasuredStance(
            strike_frame(first, stop, strikes_s, delay_s, rate_hz),
            stop,
            f"{name} foot {_stance_location(sole, plates, first, stop)}",
        )
        for first, stop in finite_stretches(_unmeasured_standing_frames(side, plates, contacts, sole, rate_hz))
    ]
    for item in contacts:
        if item.contact.decision == "assigned" or side not in item.feet:
            continue
        begin, end = float(item.first), item.stop
        if item.contact.decision == "rejected":
            # The load of a foot across the edge of a plate is unknown during the whole stance.
            for first, stop in finite_stretches(sole.bearing):
                if first < item.stop and stop > item.first:
                    strike = strike_frame(first, stop, strikes_s, delay_s, rate_hz)
                    begin = begin if item.cut_before else min(begin, strike)
                    end = end if item.cut_after else max(end, stop)
        reason = f"plate {item.contact.plate}: {item.contact.reason}"
        stances.append(UnmeasuredStance(begin, end, reason, item.cut_before, item.cut_after, on_plate=True))
    return stances


def _unmeasured_standing_frames(
    side: Side, plates: Sequence[PlateSignals], contacts: Sequence[PlateContact], sole: FootOutline, rate_hz: float
) -> BoolArray:
    """Return the frames (T,) in which the foot stands although no measured load carries it."""
    # Kinematic stance may extend this far beyond the contact times of a plate.
    stance_edge_s = 0.1
    # Least time of a stance on a step above a plate; a foot in the air is above a plate for a shorter time.
    least_above_s = 0.15
    frames = len(sole.known)
    assigned = assigned_frames(side, contacts, frames, widen=int(np.ceil(stance_edge_s * rate_hz)))
    assigned |= loaded_frames(side, contacts, frames)
    # A foot that is low and slow on the surface of working plates without force does not bear weight, because force is
    # more accurate than markers. A foot on a step above a plate, or above a plate with an unassigned load, may bear
    # weight.
    over, on_empty = (np.zeros((frames, sole.low.shape[1]), dtype=bool) for _ in range(2))
    for n in sorted({item.plate for item in contacts if plates[item.plate].outlined}):
        inside = np.asarray(sole.distance_to_plate(plates[n].corners_W) < OUTLINE_ERROR_M)
        height_m = np.abs(np.nan_to_num(height_above_plate(plates[n], sole.outline_W), nan=np.inf))
        level = np.asarray(height_m < MAX_SOLE_HEIGHT_M)
        over, on_empty = over | inside, on_empty | (inside & level[:, None])
    assigned |= (on_empty | ~sole.low).all(axis=1) & sole.low.any(axis=1)
    above = np.asarray((over | ~sole.low).all(axis=1))
    elsewhere = sole.bearing & ~assigned
    for first, stop in finite_stretches(elsewhere):
        least_s = least_above_s if above[first:stop].all() else MIN_SHARED_S
        if stop - first < least_s * rate_hz:
            elsewhere[first:stop] = False
    return elsewhere


def reasons_for_unknown_wrench(
    side: Side, stances: Sequence[UnmeasuredStance], sole: FootOutline, carried: BoolArray, rate_hz: float
) -> list[str]:
    """Return for every frame the reason why the wrench on this foot is unknown, or ""; `carried`: frames with an assigned
    contact."""
    name, frames = SIDE_NAMES[side], len(sole.known)
    reason = np.full(frames, "", dtype=object)
    reason[~sole.known & ~carried] = f"{name} foot not visible"
    for rows, event in frames_around_stances(stances, EVENT_ERROR_S, frames, rate_hz):
        free = rows[~carried[rows]]
        reason[free] = f"{name} foot within {EVENT_ERROR_S:g} s of an unmeasured {event}"
    for stance in stances:
        rows = np.arange(stance.first, min(stance.stop, frames))
        # a rejected load of a plate is always reported, a stance on the floor only if no plate carries the foot
        reason[rows if stance.on_plate else rows[~carried[rows]]] = stance.reason
    return [str(text) for text in reason]


def frames_around_stances(
    stances: Sequence[UnmeasuredStance], seconds: float, frames: int, rate_hz: float
) -> Iterator[tuple[np.ndarray, str]]:
    """Yield the frames up to `seconds` before each strike and after each foot off, with the name of the event."""
    count = int(np.ceil(seconds * rate_hz - 1e-9))
    for stance in stances:
        if not stance.cut_before:
            begin = int(np.floor(stance.strike - seconds * rate_hz + 1e-9)) + 1
            yield np.arange(max(begin, 0), stance.first), "strike"
        if not stance.cut_after:
            yield np.arange(min(stance.stop, frames), min(stance.stop + count, frames)), "foot off"


def assigned_frames(side: Side, contacts: Sequence[PlateContact], frames: int, widen: int = 0) -> BoolArray:
    """Return the frames (T,) of the contacts assigned to a foot, extended by `widen` frames on both sides."""
    covered = np.zeros(frames, dtype=bool)
    for item in contacts:
        if item.assigned_side == side:
            # Contacts are not extended where the share of the other foot in the same load starts.
            before = 0 if item.cut_before else widen
            after = 0 if item.cut_after else widen
            covered[max(item.first - before, 0) : item.stop + after] = True
    return covered


def loaded_frames(side: Side, contacts: Sequence[PlateContact], frames: int) -> BoolArray:
    """Return a mask (T,) of the frames in which the foot loads a plate, or may do so although its load is ambiguous or
    rejected."""
    loaded = np.zeros(frames, dtype=bool)
    for item in contacts:
        if side in item.feet:
            loaded[item.rows] = True
    return loaded


def _stance_delay_s(contacts: Sequence[PlateContact], soles: Mapping[Side, FootOutline], rate_hz: float) -> float:
    """Return the median delay of kinematic stance after the strikes on plates, s; 0 without any."""
    # Larger delays are of another event: a foot that slides onto the plate, or steps onto a second plate.
    largest_delay_s = 0.06
    delays_s = []
    bearing = {side: finite_stretches(sole.bearing) for side, sole in soles.items()}
    for item in contacts:
        side = item.assigned_side
        if side is None or item.cut_before or item.first == 0:
            continue
        for first, stop in bearing[side]:
            if first < item.stop and stop > item.first and first > 0:
                delays_s.append(first / rate_hz - item.contact.start_s)
                break
    known = [delay for delay in delays_s if abs(delay) < largest_delay_s]
    return float(np.median(known)) if known else 0.0


def _stance_location(sole: FootOutline, plates: Sequence[PlateSignals], first: int, stop: int) -> str:
    for plate in plates:
        if plate.outlined and np.mean(sole.distance_to_plate(plate.corners_W)[(first + stop) // 2] < 0.0) > 0.5:
            middle = (first + stop) // 2
            above_m = float(height_above_plate(plate, sole.outline_W[middle : middle + 1])[0])
            if abs(above_m) < MAX_SOLE_HEIGHT_M:
                return f"on plate {plate.number}, {SILENT}"
            return f"on a surface {100 * above_m:.0f} cm above plate {plate.number}, which no plate measures"
    return "on the floor outside the plates"


def pre_strike_force(
    plates: Sequence[PlateSignals],
    contacts: Sequence[PlateContact],
    spans: Sequence[tuple[int, int]],
    stances: Mapping[Side, Sequence[UnmeasuredStance]],
    soles: Mapping[Side, FootOutline],
    rate_hz: float,
    smear_s: float,
) -> tuple[dict[Side, FloatArray], dict[Side, FloatArray]] | None:
    """Estimate the force that the filter spreads before unmeasured strikes; return None without a whole measured strike.

    The results for each side are the wrench (T, 6) F_Wo_W, zero where no force is expected, and its standard deviations (2, T,
    6) from the variation between strikes and from the error `EVENT_ERROR_S` of the strike time. spans: frames [first, stop) of
    the wrench of each contact.
    """
    # Variation between strikes of one person, as a fraction of the force before the strike.
    strikes_differ = 0.3
    # Multiple of the half-width of the filter over which it spreads an edge.
    reach_smears = 2.0
    frames = len(next(iter(soles.values())).known)
    reach = int(np.ceil(reach_smears * smear_s * rate_hz))
    ahead_s = np.arange(-reach, 2) / rate_hz
    known = [
        _wrench_in_foot_axes(plates[item.plate].wrench, item, span, soles[item.assigned_side], ahead_s, rate_hz)
        for item, span in zip(contacts, spans, strict=True)
        if item.assigned_side is not None and not item.cut_before and item.share is None and item.first > 0
    ]
    known = [wrench for wrench in known if np.isfinite(wrench).all()]
    if not known:
        return None
    typical = np.mean(known, axis=0)
    rate = np.gradient(typical, 1.0 / rate_hz, axis=0)
    wrenches = {side: np.zeros((frames, 6)) for side in SIDES}
    sd = {side: np.zeros((2, frames, 6)) for side in SIDES}
    for side in SIDES:
        for stance in stances[side]:
            place = None if stance.cut_before else _strike_axes(soles[side], stance.first, rate_hz)
            if place is None:
                continue
            rows = np.arange(max(stance.first - reach, 0), stance.first)
            at = rows.astype(np.float64) - stance.strike
            for values, target in (
                (typical, wrenches[side]),
                (strikes_differ * typical, sd[side][0]),
                (EVENT_ERROR_S * rate, sd[side][1]),
            ):
                target[rows] += _rotate_to_world(_interpolate_rows(ahead_s * rate_hz, values, at), side, *place)
    return wrenches, sd


def _wrench_in_foot_axes(
    wrench: FloatArray,
    item: PlateContact,
    span: tuple[int, int],
    sole: FootOutline,
    ahead_s: FloatArray,
    rate_hz: float,
) -> FloatArray:
    """Return the wrench (n, 6) about the heel at times `ahead_s` before a strike, in the forward, up and outward axes of the
    foot.

    NaN if the axes of the foot are unknown.
    """
    side = item.contact.side
    strike = item.contact.start_s
    place = _strike_axes(sole, int(np.ceil(strike * rate_hz)), rate_hz)
    if place is None or side is None:
        return np.full((len(ahead_s), 6), np.nan)
    p, axes = place
    at = (strike + ahead_s) * rate_hz
    near = slice(max(int(at[0]) - 1, 0), int(at[-1]) + 3)
    frames = np.arange(len(wrench), dtype=np.float64)[near]
    masked = np.where(((frames >= span[0]) & (frames < span[1]))[:, None], wrench[near], 0.0)
    values = _interpolate_rows(frames, masked, at)
    about = values[:, :3] - cross(p, values[:, 3:])
    return np.hstack([about @ axes, values[:, 3:] @ axes]) * _mirror_signs(side)


def _interpolate_rows(known_at: FloatArray, values: FloatArray, at: FloatArray) -> FloatArray:
    """Return values (n, 6) at the positions `at` (n,), interpolated linearly between values (m, 6) at `known_at` (m,)."""
    return np.column_stack([np.interp(at, known_at, column) for column in values.T])


def _rotate_to_world(values: FloatArray, side: Side, p: FloatArray, axes: FloatArray) -> FloatArray:
    values = values * _mirror_signs(side)
    moment, force = values[:, :3] @ axes.T, values[:, 3:] @ axes.T
    return np.hstack([moment + cross(p, force), force])


def _mirror_signs(side: Side) -> FloatArray:
    """Return the signs (6,) that mirror a wrench: lateral force and the moments about the two other axes change sign."""
    sign = SIDE_SIGN[side]
    return np.array([sign, sign, 1.0, 1.0, 1.0, sign])


def _strike_axes(sole: FootOutline, frame: int, rate_hz: float) -> tuple[FloatArray, FloatArray] | None:
    """Return the middle (3,) m of the low part of the sole, and its forward, up and right axes (3, 3) at the strike; None if
    unknown."""
    # Time before the strike over which the approach of the foot is measured.
    approach_s = 0.1
    before = max(frame - max(round(approach_s * rate_hz), 1), 0)
    if frame >= len(sole.known) or not (sole.known[frame] and sole.known[before]):
        return None
    p = sole.outline_W[frame][sole.low[frame]].mean(axis=0)
    way = (sole.outline_W[frame] - sole.outline_W[before]).mean(axis=0) * (1.0, 0.0, 1.0)
    if np.linalg.norm(way) < 1e-6:
        return None
    forward = way / np.linalg.norm(way)
    up = np.array([0.0, 1.0, 0.0])
    return p, np.stack([forward, up, cross(forward, up)], axis=1)
