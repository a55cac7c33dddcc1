"""Where the feet go: the moves of each foot from one stand to the next, and the times in which the body is in the air."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from biodyn.conventions import SIDES, STANDARD_GRAVITY_M_S2, BoolArray, FloatArray, Side
from biodyn.processing.contacts.feet import FootOutline, foot_outline
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
