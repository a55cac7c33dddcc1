"""Activity of a trial from movement and plate loads: a gait, a jump, a squat or another movement.

Gait cycles are computed for a gait only; for every other movement the result is the whole trial. Torques do not depend on the
activity.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

import numpy as np

from biodyn.conventions import SIDE_NAMES, SIDES, STANDARD_GRAVITY_M_S2, BoolArray, FloatArray, Side
from biodyn.processing.contacts.foot_motion import FootOutline, GaitPoints, foot_outline
from biodyn.processing.signals.filtering import finite_stretches
from biodyn.recording import Contact

# Least rise of a step up.
LEAST_RISE_M = 0.08
# If two steps overlap by a larger fraction, they are one jump with both feet.
TOGETHER_SHARE = 0.6


@dataclass(frozen=True)
class FootStep:
    """One step of a foot: side, start and end (s), and rise (m)."""

    side: Side
    start_s: float
    end_s: float
    rise_m: float


def visible_soles(soles_W: Mapping[Side, FloatArray], rate_hz: float) -> dict[Side, FootOutline]:
    """Return the outline motion of each foot with a known sole (T, K, 3) m in some frame, by side."""
    return {side: foot_outline(sole, rate_hz) for side, sole in soles_W.items() if np.isfinite(sole).all((1, 2)).any()}


def surface_height_below_foot(foot: FootOutline) -> FloatArray:
    """Return the height (T,) m of the surface under a foot, interpolated between stances; NaN without a stance.

    The median over each stance is used, because a rigid sole is below the surface at toe-off, when the toes bend.
    """
    frames = np.arange(len(foot.height))
    level = np.full(len(frames), np.nan)
    for first, stop in finite_stretches(foot.bearing):
        level[first:stop] = np.nanmedian(foot.height[first:stop])
    known = np.isfinite(level)
    return np.interp(frames, frames[known], level[known]) if known.any() else level


def foot_steps(feet: Mapping[Side, FootOutline], floor_velocity_W: FloatArray, rate_hz: float) -> list[FootStep]:
    """Return the steps of both feet in order of time, excluding lifts of a foot in place."""
    # Least distance of a step; toe-tapping and rocking are shorter.
    least_move_m = 0.15
    steps: list[FootStep] = []
    for side, foot in feet.items():
        centre = foot.outline_W.mean(axis=1) - np.arange(len(foot.known))[:, None] / rate_hz * floor_velocity_W
        level = surface_height_below_foot(foot)
        for first, stop in finite_stretches(foot.known & ~foot.bearing):
            begin, end = max(first - 1, 0), min(stop, len(foot.known) - 1)
            way = centre[end] - centre[begin]
            rise = level[end] - level[begin]
            standing = foot.bearing[begin] and foot.bearing[end]
            if np.hypot(way[0], way[2]) > least_move_m or (standing and abs(rise) > LEAST_RISE_M):
                # The rise is unknown in a step that the recording cuts off.
                steps.append(FootStep(side, begin / rate_hz, end / rate_hz, float(rise) if standing else 0.0))
    return sorted(steps, key=lambda move: move.start_s + move.end_s)


def count_alternating_steps(found_steps: Sequence[FootStep]) -> int:
    """Count the steps that follow a step of the other foot and overlap with it by less than `TOGETHER_SHARE` of their time."""
    count = 0
    for before, after in pairwise(found_steps):
        shared = min(before.end_s, after.end_s) - max(before.start_s, after.start_s)
        shorter = min(before.end_s - before.start_s, after.end_s - after.start_s)
        count += before.side != after.side and shared < TOGETHER_SHARE * shorter
    return count


def find_flights(
    feet: Mapping[Side, FootOutline], contacts: Sequence[Contact], pelvis_W: FloatArray, rate_hz: float
) -> list[tuple[float, float]]:
    """Return start and end (s) of the flights: no plate is loaded, no foot stands and the pelvis (T, 3) m falls freely.

    A foot that hangs motionless next to the other leg appears to stand, but is in the air if the pelvis falls and the other
    foot moves. All feet must be off their surface in a part of a flight, so that an interpolated marker gap is not a flight.
    """
    # In flight the acceleration of the smoothed pelvis is at least this fraction of gravity; in walking it is below a
    # third of gravity.
    falling_g = 0.4
    falls_freely_g = 0.7
    least_flight_s = 0.04
    least_height_m = 0.01  # height of the lowest point of every foot above its surface
    # Delay of take-off in the filtered motion.
    edge_s = 0.02
    if not feet or len(pelvis_W) < 3:
        return []
    acceleration = np.gradient(np.gradient(pelvis_W[:, 1], 1.0 / rate_hz), 1.0 / rate_hz)
    moving = np.stack([foot.known & ~foot.bearing for foot in feet.values()])
    falls = np.nan_to_num(acceleration) < -falls_freely_g * STANDARD_GRAVITY_M_S2
    air = moving.all(axis=0) | (moving.any(axis=0) & falls)
    for contact in contacts:
        air[max(round((contact.start_s - edge_s) * rate_hz), 0) : round((contact.end_s + edge_s) * rate_hz) + 1] = False
    over_surface = np.stack(
        [np.nan_to_num(foot.height - surface_height_below_foot(foot), nan=np.inf) for foot in feet.values()]
    )
    high = over_surface.min(axis=0) > least_height_m
    intervals_s = []
    for first, stop in finite_stretches(air & np.isfinite(acceleration)):
        falling = float(acceleration[first:stop].mean()) < -falling_g * STANDARD_GRAVITY_M_S2
        if falling and high[first:stop].any() and stop - first >= least_flight_s * rate_hz:
            intervals_s.append((first / rate_hz, stop / rate_hz))
    return intervals_s


def longest_double_support(contacts: Sequence[Contact]) -> float:
    """Return the longest time (s) in which contacts of both feet load plates; 0 without such contacts."""
    right, left = ([c for c in contacts if c.side == side and c.decision == "assigned"] for side in SIDES)
    shared = [min(a.end_s, b.end_s) - max(a.start_s, b.start_s) for a in right for b in left]
    return max([0.0, *shared])


def standing_share(feet: Mapping[Side, FootOutline]) -> float:
    """Return the fraction of the frames in which every visible foot stands."""
    if not feet:
        return 0.0
    all_stand: BoolArray = np.logical_and.reduce([feet[side].bearing for side in SIDES if side in feet])
    return float(all_stand.mean())


ActivityKind = Literal["walking", "running", "stairs", "turning", "jump", "squat", "other"]
Direction = Literal["forwards", "backwards", "sideways", ""]

_STILL_M, _STILL_STANDING = 0.03, 0.95  # limits of sway and of the fraction of standing frames in quiet standing


@dataclass(frozen=True)
class Activity:
    """Activity of a trial.

    Attributes:
        kind: kind of movement, "other" if no kind applies. reason: text that explains the classification.
        direction: direction of the steps relative to the pelvis, "" without steps.
        steps: True if there are alternating steps, and therefore gait cycles.
        values: quantities used for the classification, with units in the names.
    """

    kind: ActivityKind
    reason: str
    direction: Direction = "forwards"
    steps: bool = True
    values: Mapping[str, float] = field(default_factory=dict)

    @property
    def is_walking(self) -> bool:
        """Whether the person walks on level ground, straight or in a turn."""
        return self.kind in ("walking", "turning")

    @property
    def is_standing(self) -> bool:
        """Whether the person stands still all the time, as in a static trial."""
        still = self.values.get("pelvis_range_m", math.inf) < _STILL_M
        return self.kind == "other" and still and self.values.get("standing_share", 0.0) > _STILL_STANDING


#: Default if the activity was not determined.
WALKING = Activity("walking", "not determined")


def recognise_activity(points: GaitPoints, contacts: Sequence[Contact], rate_hz: float) -> Activity:
    """Return the activity from heels, soles and pelvis and the loads of the plates."""
    # Least horizontal travel of a gait.
    least_travel_m = 0.5
    feet = visible_soles(points.sole, rate_hz)
    found_steps = foot_steps(feet, points.floor_velocity, rate_hz)
    flights_s = find_flights(feet, contacts, points.pelvis, rate_hz)
    double_support_s = longest_double_support(contacts)
    velocity = travel_velocity(points.pelvis, points.floor_velocity, rate_hz)
    travelled = float(np.nansum(np.linalg.norm(velocity, axis=1)) / rate_hz)
    height = points.pelvis[np.isfinite(points.pelvis[:, 1]), 1]
    steps = count_alternating_steps(found_steps)
    values = {
        "travel_m": travelled,
        "alternate_steps": float(steps),
        "flights": float(len(flights_s)),
        "longest_flight_s": max((end_s - start_s for start_s, end_s in flights_s), default=0.0),
        "rise_m": sum(move.rise_m for move in found_steps) / max(len(feet), 1),
        "turn_deg": _heading_change_deg(points.forward),
        "pelvis_range_m": float(np.ptp(height)) if len(height) else math.nan,
        "standing_share": standing_share(feet),
        "double_support_s": double_support_s,
    }
    # Steps cannot alternate if only one foot is visible.
    stepping = steps >= 1 or (len(feet) < 2 and len(found_steps) >= 1)
    if stepping and travelled >= least_travel_m:
        return _classify_gait(found_steps, flights_s, values, travel_direction(velocity, points.forward))
    return _classify_stationary_activity(flights_s, contacts, values)


def travel_velocity(pelvis_W: FloatArray, floor_velocity_W: FloatArray, rate_hz: float) -> FloatArray:
    """Return the horizontal velocity (T, 3) m/s of the pelvis relative to the floor, averaged over about a step; NaN if
    unknown."""
    half_window_s = 0.5  # half the window of the direction of travel: about a step
    count = len(pelvis_W)
    half = max(round(half_window_s * rate_hz), 1)
    after = np.minimum(np.arange(count) + half, count - 1)
    before = np.maximum(np.arange(count) - half, 0)
    passed_s = np.maximum(after - before, 1)[:, None] / rate_hz
    velocity: FloatArray = ((pelvis_W[after] - pelvis_W[before]) / passed_s - floor_velocity_W) * (1.0, 0.0, 1.0)
    return velocity


def travel_direction(velocity_W: FloatArray, forward_W: FloatArray) -> Direction:
    """Return the direction of the steps from the travel (T, 3) m/s and the anterior direction (T, 3) of the pelvis."""
    least_speed_m_s = 0.2  # below this speed the direction of travel is undefined
    along = 0.5  # cosine of the angle between travel and facing direction: up to 60 degrees to either side is forwards
    facing = forward_W * (1.0, 0.0, 1.0)
    speed = np.linalg.norm(velocity_W, axis=1)
    moving = np.isfinite(speed) & (speed > least_speed_m_s) & np.isfinite(facing).all(axis=1)
    if not moving.any():
        return "forwards"
    cosine = np.sum(velocity_W * facing, axis=1)[moving] / (speed * np.linalg.norm(facing, axis=1))[moving]
    mean = float(cosine.mean())
    return "forwards" if mean > along else "backwards" if mean < -along else "sideways"


def _heading_change_deg(forward_W: FloatArray) -> float:
    """Return the difference of the heading of the pelvis between the last and the first quarter of the trial, degrees."""
    heading = np.arctan2(-forward_W[:, 2], forward_W[:, 0])
    heading = np.unwrap(heading[np.isfinite(heading)])
    quarter = len(heading) // 4
    return float(np.degrees(heading[-quarter:].mean() - heading[:quarter].mean())) if quarter else 0.0


def _classify_gait(
    found_steps: Sequence[FootStep],
    flights_s: Sequence[tuple[float, float]],
    values: Mapping[str, float],
    direction: Direction,
) -> Activity:
    turn_deg = 40.0  # pelvis rotation in straight walking stays within 10 degrees to either side
    stairs = 2  # least number of steps up, or down
    steps = f"{len(found_steps)} steps over {values['travel_m']:.1f} m"
    up = sum(move.rise_m > LEAST_RISE_M for move in found_steps)
    down = sum(move.rise_m < -LEAST_RISE_M for move in found_steps)
    if direction != "forwards":
        return Activity("other", f"{steps}, {direction}", direction, True, values)
    # Double support longer than a filter or a second step onto the same plate can cause: this is not running.
    walking_double_support_s = 0.04
    # Every step of a run is followed by a flight; the first and the last step of a trial may be cut off.
    runs = len(flights_s) >= max(1, (len(found_steps) - 1) // 2)
    if runs and values["double_support_s"] < walking_double_support_s:
        longest = values["longest_flight_s"]
        return Activity(
            "running", f"{steps} with {len(flights_s)} flights of up to {longest:.2f} s", direction, True, values
        )
    if max(up, down) >= stairs:
        way = "up" if up >= down else "down"
        return Activity("stairs", f"{steps}, {max(up, down)} of them {way}", direction, True, values)
    if abs(values["turn_deg"]) > turn_deg:
        side = "left" if values["turn_deg"] > 0.0 else "right"
        reason = f"{steps}, the pelvis turns by {abs(values['turn_deg']):.0f} degrees to the {side}"
        return Activity("turning", reason, direction, True, values)
    return Activity("walking", steps, direction, True, values)


def _classify_stationary_activity(
    flights_s: Sequence[tuple[float, float]], contacts: Sequence[Contact], values: Mapping[str, float]
) -> Activity:
    squat_m = 0.15  # the pelvis rises and falls by 2 to 5 cm in walking
    squat_standing = 0.8
    drop, stood = values["pelvis_range_m"], values["standing_share"]
    if flights_s:
        sides = {contact.side for contact in contacts if contact.decision == "assigned"}
        leg = next((f" from and to the {SIDE_NAMES[side]} foot" for side in sides if side and len(sides) == 1), "")
        count = "1 flight" if len(flights_s) == 1 else f"{len(flights_s)} flights"
        reason = f"{count} of up to {values['longest_flight_s']:.2f} s{leg}"
        return Activity("jump", f"{reason}, no alternating steps", "", False, values)
    if drop > squat_m and stood > squat_standing:
        reason = f"the feet stay in place, the pelvis moves down and up by {100.0 * drop:.0f} cm"
        return Activity("squat", reason, "", False, values)
    movement = "the feet stay in place" if stood > _STILL_STANDING else "no alternating steps, no flight"
    return Activity("other", f"{movement}; the pelvis moves by {100.0 * drop:.0f} cm up and down", "", False, values)
