"""What a person does in a trial, told from the movement and the plates: a gait, a jump, a squat, something else.

Only a gait has gait cycles; in every other motion the whole trial is the result. Nothing else depends on the answer: torques
are those of the motion, whatever it is called.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from biodyn.conventions import SIDE_NAMES, FloatArray
from biodyn.processing.contacts.feet import GaitPoints
from biodyn.processing.gait.steps import (
    LEAST_RISE_M,
    Flight,
    Move,
    alternate,
    flights,
    moves,
    seen_feet,
    standing_share,
)
from biodyn.recording import Contact

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
    def is_walked(self) -> bool:
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
