"""Attitude of a segment in the world as three angles that run on through time, whole turns and gimbal included.

Rz(tilt) Rx(list) Ry(rotation) has two solutions for one attitude, (z, x, y) and (z + pi, pi - x, y + pi), each with any number
of whole turns. Unwrapping each angle by itself follows neither: after a few frames of a wrong pose it may stay a whole turn
away for ever. So the solution nearest to the frame before is taken within a stretch of real motion only, and each stretch
begins anew.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from biodyn.conventions import BoolArray, FloatArray
from biodyn.geometry.rotations import cardan_zxy
from biodyn.processing.signals.filtering import finite_stretches

TURN = 2.0 * math.pi
# No person turns so fast (spinning skaters: 40 rad/s); a pose that does is another one, not the same that moved.
_FASTEST_RAD_S = 100.0
# Both solutions are one where the middle angle is a quarter turn. Nearer than this to it, neighbours are compared one by one.
_NEAR_GIMBAL_RAD = math.radians(75.0)
# A stretch of so many seconds is one of a person, not of some wrong poses.
_LONG_S = 0.2
# Less travel than this in a cycle is no walking: it has no direction.
_LEAST_TRAVEL_M = 0.2
# Frames beside a cycle that its splines look at (`cycles.normalise`).
_MARGIN_FRAMES = 11


def continuous_zxy(R: FloatArray, rate_hz: float) -> FloatArray:
    """Angles (T, 3) rad about Z, X, Y with R (T, 3, 3) = Rz Rx Ry, without jumps; NaN where R is.

    The first two stay within half a turn of level in each stretch, so that nothing is left of a turn that nobody made; the
    third, a heading, goes on from the stretch before.
    """
    angles = cardan_zxy(R)
    stretches = _stretches(R, rate_hz)
    for first, stop in stretches:
        angles[first:stop] = _levelled(_followed(angles[first:stop]))
    # Long stretches go on from one another; a short one, often a few wrong poses, joins its neighbour and moves nothing.
    long = [span for span in stretches if span[1] - span[0] >= _LONG_S * rate_hz] or stretches
    for before, span in pairwise(long):
        _join(angles, span, float(angles[before[1] - 1, 2]), span[0])
    for span in stretches:
        if span not in long:
            earlier = [other for other in long if other[1] <= span[0]]
            beside, at = (earlier[-1][1] - 1, span[0]) if earlier else (long[0][0], span[1] - 1)
            _join(angles, span, float(angles[beside, 2]), at)
    return angles


def angles_against_heading(R: FloatArray, heading_rad: float, rate_hz: float, around: slice) -> FloatArray:
    """Angles (T, 3) as `continuous_zxy`, of R against axes turned by a heading about the vertical.

    The rotation is within half a turn of that heading in the frames of `around`; frames farther from them are left NaN.
    """
    c, s = math.cos(heading_rad), math.sin(heading_rad)
    R_HW = np.array([[c, 0.0, -s], [0.0, 1.0, 0.0], [s, 0.0, c]])
    angles = np.full((len(R), 3), np.nan)
    near = slice(max(around.start - _MARGIN_FRAMES, 0), around.stop + _MARGIN_FRAMES)
    angles[near] = continuous_zxy(R_HW @ R[near], rate_hz)
    known = angles[around, 2][np.isfinite(angles[around, 2])]
    if len(known):
        angles[:, 2] -= TURN * np.round(np.median(known) / TURN)
    return angles


def walking_heading(travel_W: FloatArray, R_WB: FloatArray) -> float:
    """Heading (rad about World's vertical, 0 along X, positive to the left) of the line a person walks along.

    Parameters:
        travel_W: (3,) m over the floor in the time looked at, NaN where unknown. R_WB: (T, 3, 3) of the pelvis meanwhile.

    Of the line's two directions the one the pelvis faces, so that walking backwards has no half turn. Where the person stays
    in place or the way is unknown, the mean direction that the pelvis faces; NaN where that is unknown too.
    """
    facing = R_WB[:, :, 0] * (1.0, 0.0, 1.0)
    facing = facing[np.isfinite(facing).all(axis=1)]
    mean = facing.mean(axis=0) if len(facing) else np.full(3, np.nan)
    direction = travel_W * (1.0, 0.0, 1.0)
    if not np.linalg.norm(direction) >= _LEAST_TRAVEL_M:
        direction = mean
    elif direction @ mean < 0.0:
        direction = -direction
    return math.atan2(-direction[2], direction[0])


def _join(angles: FloatArray, span: tuple[int, int], heading: float, at: int) -> None:
    """Add whole turns to the third angle of a stretch, so that it is nearest to a heading at one of its frames."""
    angles[span[0] : span[1], 2] += TURN * np.round((heading - angles[at, 2]) / TURN)


def _stretches(R: FloatArray, rate_hz: float) -> list[tuple[int, int]]:
    """Stretches of frames with a pose, parted where it turns faster than anybody can."""
    known: BoolArray = np.asarray(np.isfinite(R).all(axis=(1, 2)))
    found = []
    for first, stop in finite_stretches(known):
        trace = np.einsum("tij,tij->t", R[first : stop - 1], R[first + 1 : stop])
        step = np.arccos(np.clip(0.5 * (trace - 1.0), -1.0, 1.0))
        cuts = first + 1 + np.flatnonzero(step > _FASTEST_RAD_S / rate_hz)
        edges = [first, *cuts.tolist(), stop]
        found += list(pairwise(edges))
    return found


def _followed(angles: FloatArray) -> FloatArray:
    """Of each frame (n, 3) the solution nearest to the frame before."""
    if np.abs(angles[:, 1]).max() < _NEAR_GIMBAL_RAD:
        followed: FloatArray = np.unwrap(angles, axis=0)
        return followed
    followed = angles.copy()
    for t in range(1, len(angles)):
        before = followed[t - 1]
        z, x, y = angles[t]
        both = np.array([[z, x, y], [z + math.pi, math.pi - x, y + math.pi]])
        both = both + TURN * np.round((before - both) / TURN)
        followed[t] = both[int(np.argmin(np.abs(both - before).sum(axis=1)))]
    return followed


def _levelled(angles: FloatArray) -> FloatArray:
    """The same stretch in the solution whose list is that of an upright body most of the time, tilt within half a turn."""
    middle = np.median(angles, axis=0)
    if abs(middle[1] - TURN * round(middle[1] / TURN)) > math.pi / 2.0:
        angles = np.column_stack([angles[:, 0] + math.pi, math.pi - angles[:, 1], angles[:, 2] + math.pi])
        middle = np.median(angles, axis=0)
    levelled: FloatArray = angles - TURN * np.array([round(middle[0] / TURN), round(middle[1] / TURN), 0.0])
    return levelled
