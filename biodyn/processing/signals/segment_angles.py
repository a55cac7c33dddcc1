"""Segment angles in World that are continuous through time, including whole turns.

Unwrapping may keep an offset of one turn after frames with a wrong pose. Angles are therefore unwrapped only within a stretch
of continuous motion.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from biodyn.conventions import BoolArray, FloatArray
from biodyn.geometry.rotations import cardan_zxy
from biodyn.processing.signals.filtering import finite_stretches

TURN = 2.0 * math.pi
# Number of frames outside a cycle that its splines use (`cycles.normalise`).
_MARGIN_FRAMES = 11


def continuous_zxy(R: FloatArray, rate_hz: float) -> FloatArray:
    """Return angles (T, 3) rad about Z, X, Y of R (T, 3, 3) = Rz Rx Ry, without jumps; NaN where R is.

    The first is within half a turn of level in each stretch, the second within a quarter turn; the third, a heading, continues
    from the previous stretch.
    """
    # Shorter stretches may consist of wrong poses.
    long_s = 0.2
    angles = cardan_zxy(R)
    stretches = _continuous_stretches(R, rate_hz)
    for first, stop in stretches:
        angles[first:stop] = np.unwrap(angles[first:stop], axis=0)
        angles[first:stop, 0] -= TURN * np.round(np.median(angles[first:stop, 0]) / TURN)
    # Long stretches continue from each other; a short stretch is joined to its neighbour without changing it.
    long = [span for span in stretches if span[1] - span[0] >= long_s * rate_hz] or stretches
    for before, span in pairwise(long):
        _add_full_turns(angles, span, float(angles[before[1] - 1, 2]), span[0])
    for span in stretches:
        if span not in long:
            earlier = [other for other in long if other[1] <= span[0]]
            neighbour, at = (earlier[-1][1] - 1, span[0]) if earlier else (long[0][0], span[1] - 1)
            _add_full_turns(angles, span, float(angles[neighbour, 2]), at)
    return angles


def angles_from_heading(R: FloatArray, heading_rad: float, rate_hz: float, around: slice) -> FloatArray:
    """Return angles (T, 3) like `continuous_zxy`, relative to axes rotated by a heading about the vertical.

    The third angle is within half a turn of the heading in the frames of `around`; distant frames are NaN.
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
    """Return the heading (rad about World's vertical, 0 along X, positive to the left) of the walking direction.

    Parameters:
        travel_W: (3,) m horizontal displacement, NaN where unknown. R_WB: (T, 3, 3) attitude of the pelvis during the
            displacement.

    Of the two directions of the line of travel, the one that the pelvis faces is used, so that walking backwards does not add
    half a turn. Without displacement this is the mean direction that the pelvis faces; NaN if unknown.
    """
    # Least displacement in a cycle with a walking direction.
    least_travel_m = 0.2
    facing = R_WB[:, :, 0] * (1.0, 0.0, 1.0)
    facing = facing[np.isfinite(facing).all(axis=1)]
    mean = facing.mean(axis=0) if len(facing) else np.full(3, np.nan)
    direction = travel_W * (1.0, 0.0, 1.0)
    if not np.linalg.norm(direction) >= least_travel_m:
        direction = mean
    elif direction @ mean < 0.0:
        direction = -direction
    return math.atan2(-direction[2], direction[0])


def _add_full_turns(angles: FloatArray, span: tuple[int, int], heading: float, at: int) -> None:
    """Add whole turns to the third angle of a stretch, so that it is nearest to a heading at one of its frames."""
    angles[span[0] : span[1], 2] += TURN * np.round((heading - angles[at, 2]) / TURN)


def _continuous_stretches(R: FloatArray, rate_hz: float) -> list[tuple[int, int]]:
    """Return the stretches of frames with a pose, split where the rotation is faster than humanly possible."""
    # Largest angular velocity of a person (spinning skaters: 40 rad/s); beyond it the pose is wrong.
    fastest_rad_s = 100.0
    known: BoolArray = np.asarray(np.isfinite(R).all(axis=(1, 2)))
    parts = []
    for first, stop in finite_stretches(known):
        trace = np.einsum("tij,tij->t", R[first : stop - 1], R[first + 1 : stop])
        step = np.arccos(np.clip(0.5 * (trace - 1.0), -1.0, 1.0))
        cuts = first + 1 + np.flatnonzero(step > fastest_rad_s / rate_hz)
        edges = [first, *cuts.tolist(), stop]
        parts += list(pairwise(edges))
    return parts
