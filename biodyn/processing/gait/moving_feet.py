"""Events of the movement where steps do not lead ahead, and whether a foot really comes to stand or leaves at an event."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from biodyn.conventions import BoolArray, FloatArray, Side
from biodyn.processing.gait.activity import Direction, travel_velocity
from biodyn.processing.gait.steps import seen_feet
from biodyn.recording import GaitEvent

# Around an event of the movement: how long a foot may take to come to stand (or to have left), and how far such an event may
# be off, s.
_STAND_S = 0.3
_ERROR_S = 0.12
# A foot that seems to stand for less than this share of a trial is one whose standing cannot be told.
_TOLD_SHARE = 0.1


def leading_points(
    direction: Direction,
    heel_W: Mapping[Side, FloatArray],
    toe_W: Mapping[Side, FloatArray],
    pelvis_W: FloatArray,
    forward_W: FloatArray,
    floor_velocity_W: FloatArray,
    rate_hz: float,
) -> tuple[Mapping[Side, FloatArray], Mapping[Side, FloatArray], FloatArray, FloatArray]:
    """Return the points that strike, those that leave (per side (T, 3) m), the pelvis and the direction of the steps (T, 3).

    Forwards the heel strikes and the toe leaves along the pelvis' anterior direction; backwards the toe strikes and the heel
    leaves along its opposite; sideways the middle of the foot does both along the travel.
    """
    if direction == "backwards":
        return toe_W, heel_W, pelvis_W, -forward_W
    if direction == "sideways":
        middle = {side: 0.5 * (heel_W[side] + toe_W[side]) for side in heel_W}
        velocity = travel_velocity(pelvis_W, floor_velocity_W, rate_hz)
        velocity[np.linalg.norm(velocity, axis=1) == 0.0] = np.nan
        return middle, middle, pelvis_W, velocity
    return heel_W, toe_W, pelvis_W, forward_W


def with_standing_feet(
    events: Sequence[GaitEvent], soles_W: Mapping[Side, FloatArray], rate_hz: float
) -> list[GaitEvent]:
    """Return the events at which the foot comes to stand (strikes) or begins to move (offs).

    An extreme of the foot's way against the pelvis is also made by a pelvis that sways over standing feet. Where the sole
    (T, K, 3) m is not seen, or its standing cannot be told, the event stays.
    """
    feet = seen_feet(soles_W, rate_hz)
    kept = []
    for event in events:
        foot = feet.get(event.side)
        if foot is None or foot.bearing[foot.known].mean() < _TOLD_SHARE:
            kept.append(event)
            continue
        strike = event.kind == "foot_strike"
        before = _window(event.time_s - _STAND_S, event.time_s + _ERROR_S, rate_hz)
        after = _window(event.time_s - _ERROR_S, event.time_s + _STAND_S, rate_hz)
        air, ground = (before, after) if strike else (after, before)
        if _any(~foot.bearing, foot.known, air) and _any(foot.bearing, foot.known, ground):
            kept.append(event)
    return kept


def _window(begin_s: float, end_s: float, rate_hz: float) -> tuple[int, int]:
    return round(begin_s * rate_hz), round(end_s * rate_hz) + 1


def _any(wanted: BoolArray, known: BoolArray, window: tuple[int, int]) -> bool:
    """True where a frame of the window is as wanted, or where the window is not all seen."""
    first, stop = window
    if first < 0 or stop > len(known) or not known[first:stop].all():
        return True
    return bool(wanted[first:stop].any())
