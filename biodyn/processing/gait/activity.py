"""What a person does in a trial, told from the movement and the plates: a gait, a jump, a squat, something else.

Only a gait has gait cycles; in every other motion the whole trial is the result. Nothing else depends on the answer: torques
are those of the motion, whatever it is called.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

import numpy as np

from biodyn.conventions import SIDE_NAMES, SIDES, STANDARD_GRAVITY_M_S2, BoolArray, FloatArray, Side
from biodyn.processing.contacts.feet import FootOutline, GaitPoints, foot_outline
from biodyn.processing.signals.filtering import finite_stretches
from biodyn.recording import Contact

# A foot that is put down nearer than this to where it stood has not stepped (toe-tapping, rocking); so much is a step up.
LEAST_MOVE_M = 0.15
LEAST_RISE_M = 0.08
# Two moves that share more of their time than this are one of both feet together: a jump.
TOGETHER_SHARE = 0.6
# In flight the body falls freely; the pelvis alone, smoothed, shows at least this share of it. In walking its acceleration
# stays within a third of gravity.
FALLING_G = 0.4
FALLS_FREELY_G = 0.7
LEAST_FLIGHT_S = 0.04
# Filtered motion lets a foot stand until a little behind its take-off.
_EDGE_S = 0.02


@dataclass(frozen=True)
class Move:
    """One way of a foot through the air: whose, from when to when (s), how far over the floor and how much up (m)."""

    side: Side
    start_s: float
    end_s: float
    distance_m: float
    rise_m: float


@dataclass(frozen=True)
class Flight:
    """A time in which no foot touches anything, s."""

    start_s: float
    end_s: float


def seen_feet(soles_W: Mapping[Side, FloatArray], rate_hz: float) -> dict[Side, FootOutline]:
    """Return the outlines of the feet whose soles (T, K, 3) m are known in some frame."""
    return {side: foot_outline(sole, rate_hz) for side, sole in soles_W.items() if np.isfinite(sole).all((1, 2)).any()}


def moves(feet: Mapping[Side, FootOutline], floor_velocity_W: FloatArray, rate_hz: float) -> list[Move]:
    """Return the steps of all feet in order of time; a foot that goes up and down on its place has made none."""
    found: list[Move] = []
    for side, foot in feet.items():
        centre = foot.outline_W.mean(axis=1) - np.arange(len(foot.known))[:, None] / rate_hz * floor_velocity_W
        for first, stop in finite_stretches(foot.known & ~foot.bearing):
            begin, end = max(first - 1, 0), min(stop, len(foot.known) - 1)
            way = centre[end] - centre[begin]
            rise = foot.height[end] - foot.height[begin]
            standing = foot.bearing[begin] and foot.bearing[end]
            if np.hypot(way[0], way[2]) > LEAST_MOVE_M or (standing and abs(rise) > LEAST_RISE_M):
                # In a move that the recording cuts off the foot's height says nothing.
                found.append(
                    Move(
                        side,
                        begin / rate_hz,
                        end / rate_hz,
                        float(np.hypot(way[0], way[2])),
                        float(rise) if standing else 0.0,
                    )
                )
    return sorted(found, key=lambda move: move.start_s + move.end_s)


def alternate(found: Sequence[Move]) -> int:
    """Return how many moves follow one of the other foot and share less than `TOGETHER_SHARE` of their time with it."""
    count = 0
    for before, after in pairwise(found):
        shared = min(before.end_s, after.end_s) - max(before.start_s, after.start_s)
        shorter = min(before.end_s - before.start_s, after.end_s - after.start_s)
        count += before.side != after.side and shared < TOGETHER_SHARE * shorter
    return count


def flights(
    feet: Mapping[Side, FootOutline], contacts: Sequence[Contact], pelvis_W: FloatArray, rate_hz: float
) -> list[Flight]:
    """Return the times in which no plate is loaded, no foot stands and the pelvis (T, 3) m falls freely.

    A foot that hangs still beside the other leg seems to stand: where the pelvis falls and a foot moves, nothing does.
    """
    if not feet or len(pelvis_W) < 3:
        return []
    acceleration = np.gradient(np.gradient(pelvis_W[:, 1], 1.0 / rate_hz), 1.0 / rate_hz)
    moving = np.stack([foot.known & ~foot.bearing for foot in feet.values()])
    falls = np.nan_to_num(acceleration) < -FALLS_FREELY_G * STANDARD_GRAVITY_M_S2
    air = moving.all(axis=0) | (moving.any(axis=0) & falls)
    for contact in contacts:
        air[max(round((contact.start_s - _EDGE_S) * rate_hz), 0) : round((contact.end_s + _EDGE_S) * rate_hz) + 1] = (
            False
        )
    found = []
    for first, stop in finite_stretches(air & np.isfinite(acceleration)):
        mean = float(acceleration[first:stop].mean())
        if stop - first >= LEAST_FLIGHT_S * rate_hz and mean < -FALLING_G * STANDARD_GRAVITY_M_S2:
            found.append(Flight(first / rate_hz, stop / rate_hz))
    return found


def standing_share(feet: Mapping[Side, FootOutline]) -> float:
    """Return the share of the frames in which every seen foot stands."""
    if not feet:
        return 0.0
    all_stand: BoolArray = np.logical_and.reduce([feet[side].bearing for side in SIDES if side in feet])
    return float(all_stand.mean())


ActivityKind = Literal["walking", "running", "stairs", "turning", "jump", "squat", "other"]
Direction = Literal["forwards", "backwards", "sideways", ""]

# Who goes less far over the floor stays in place.
LEAST_TRAVEL_M = 0.5
_LEAST_SPEED_M_S = 0.2  # slower, there is no direction of travel
_HALF_WINDOW_S = 0.5  # the direction of travel is that of about a step
_ALONG = 0.5  # cosine between travel and facing: 60 degrees to either side are forwards
_TURN_DEG = 40.0  # pelvis rotation in straight walking stays within 10 degrees to either side
_STAIRS = 2  # so many steps up, or so many down
_SQUAT_M = 0.15  # the pelvis rises and falls by 2 to 5 cm in walking
_SQUAT_STANDING = 0.8
_STILL_M, _STILL_STANDING = 0.03, 0.95  # who stands still sways by less


@dataclass(frozen=True)
class Activity:
    """What a person does in a trial.

    Attributes:
        kind: the word for it; "other" where none of them fits. reason: what was seen, in words.
        direction: of the steps against the pelvis, "" without steps.
        steps: alternate steps were seen, so that there are gait cycles.
        values: what it was told from, with units in the names.
    """

    kind: ActivityKind
    reason: str
    direction: Direction = "forwards"
    steps: bool = True
    values: Mapping[str, float] = field(default_factory=dict)

    @property
    def is_walking(self) -> bool:
        """Whether somebody walks on level ground, straight or in a turn: what is known of walking holds."""
        return self.kind in ("walking", "turning")

    @property
    def is_standing(self) -> bool:
        """Whether somebody stands still all the time, as in a static trial."""
        still = self.values.get("pelvis_range_m", math.inf) < _STILL_M
        return self.kind == "other" and still and self.values.get("standing_share", 0.0) > _STILL_STANDING


#: Where nobody asked.
WALKING = Activity("walking", "not looked at")


def recognise_activity(points: GaitPoints, contacts: Sequence[Contact], rate_hz: float) -> Activity:
    """Return what the person does, from heels, soles and pelvis and the loadings of the plates."""
    feet = seen_feet(points.sole, rate_hz)
    found = moves(feet, points.floor_velocity, rate_hz)
    flown = flights(feet, contacts, points.pelvis, rate_hz)
    velocity = travel_velocity(points.pelvis, points.floor_velocity, rate_hz)
    travelled = float(np.nansum(np.linalg.norm(velocity, axis=1)) / rate_hz)
    height = points.pelvis[np.isfinite(points.pelvis[:, 1]), 1]
    steps = alternate(found)
    values = {
        "travel_m": travelled,
        "alternate_steps": float(steps),
        "flights": float(len(flown)),
        "longest_flight_s": max((flight.end_s - flight.start_s for flight in flown), default=0.0),
        "rise_m": sum(move.rise_m for move in found) / max(len(feet), 1),
        "turn_deg": _turn_deg(points.forward),
        "pelvis_range_m": float(np.ptp(height)) if len(height) else math.nan,
        "standing_share": standing_share(feet),
    }
    # With one foot alone in sight its steps have nothing to alternate with.
    stepping = steps >= 1 or (len(feet) < 2 and len(found) >= 1)
    if stepping and travelled >= LEAST_TRAVEL_M:
        return _gait(found, flown, values, travel_direction(velocity, points.forward))
    return _in_place(flown, contacts, values)


def travel_velocity(pelvis_W: FloatArray, floor_velocity_W: FloatArray, rate_hz: float) -> FloatArray:
    """Return the horizontal velocity (T, 3) m/s of the pelvis over the floor, over about a step; NaN where not seen."""
    count = len(pelvis_W)
    half = max(round(_HALF_WINDOW_S * rate_hz), 1)
    after = np.minimum(np.arange(count) + half, count - 1)
    before = np.maximum(np.arange(count) - half, 0)
    passed_s = np.maximum(after - before, 1)[:, None] / rate_hz
    velocity: FloatArray = ((pelvis_W[after] - pelvis_W[before]) / passed_s - floor_velocity_W) * (1.0, 0.0, 1.0)
    return velocity


def travel_direction(velocity_W: FloatArray, forward_W: FloatArray) -> Direction:
    """Return where the steps lead, for the travel (T, 3) m/s and the anterior direction (T, 3) of the pelvis."""
    facing = forward_W * (1.0, 0.0, 1.0)
    speed = np.linalg.norm(velocity_W, axis=1)
    moving = np.isfinite(speed) & (speed > _LEAST_SPEED_M_S) & np.isfinite(facing).all(axis=1)
    if not moving.any():
        return "forwards"
    cosine = np.sum(velocity_W * facing, axis=1)[moving] / (speed * np.linalg.norm(facing, axis=1))[moving]
    mean = float(cosine.mean())
    return "forwards" if mean > _ALONG else "backwards" if mean < -_ALONG else "sideways"


def _turn_deg(forward_W: FloatArray) -> float:
    """By how much the pelvis faces elsewhere in the last quarter of the trial than in the first, degrees."""
    heading = np.arctan2(-forward_W[:, 2], forward_W[:, 0])
    heading = np.unwrap(heading[np.isfinite(heading)])
    quarter = len(heading) // 4
    return float(np.degrees(heading[-quarter:].mean() - heading[:quarter].mean())) if quarter else 0.0


def _gait(
    found: Sequence[Move], flown: Sequence[Flight], values: Mapping[str, float], direction: Direction
) -> Activity:
    steps = f"{len(found)} steps over {values['travel_m']:.1f} m"
    up = sum(move.rise_m > LEAST_RISE_M for move in found)
    down = sum(move.rise_m < -LEAST_RISE_M for move in found)
    if direction != "forwards":
        return Activity("other", f"{steps}, {direction}", direction, True, values)
    # Every step of a run is followed by a flight; the first and the last of a trial may be cut off.
    if len(flown) >= max(1, (len(found) - 1) // 2):
        longest = values["longest_flight_s"]
        return Activity(
            "running", f"{steps} with {len(flown)} flights of up to {longest:.2f} s", direction, True, values
        )
    if max(up, down) >= _STAIRS:
        way = "up" if up >= down else "down"
        return Activity("stairs", f"{steps}, {max(up, down)} of them {way}", direction, True, values)
    if abs(values["turn_deg"]) > _TURN_DEG:
        side = "left" if values["turn_deg"] > 0.0 else "right"
        reason = f"{steps}, the pelvis turns by {abs(values['turn_deg']):.0f} degrees to the {side}"
        return Activity("turning", reason, direction, True, values)
    return Activity("walking", steps, direction, True, values)


def _in_place(flown: Sequence[Flight], contacts: Sequence[Contact], values: Mapping[str, float]) -> Activity:
    drop, stood = values["pelvis_range_m"], values["standing_share"]
    if flown:
        sides = {contact.side for contact in contacts if contact.decision == "assigned"}
        leg = next((f" from and to the {SIDE_NAMES[side]} foot" for side in sides if side and len(sides) == 1), "")
        reason = f"{len(flown)} {'flight' if len(flown) == 1 else 'flights'} of up to {values['longest_flight_s']:.2f} s{leg}"
        return Activity("jump", f"{reason}, no alternate steps", "", False, values)
    if drop > _SQUAT_M and stood > _SQUAT_STANDING:
        reason = f"the feet stay, the pelvis goes down and up by {100.0 * drop:.0f} cm"
        return Activity("squat", reason, "", False, values)
    moved = "the feet stay" if stood > _STILL_STANDING else "no alternate steps, no flight"
    return Activity("other", f"{moved}; the pelvis moves by {100.0 * drop:.0f} cm up and down", "", False, values)
