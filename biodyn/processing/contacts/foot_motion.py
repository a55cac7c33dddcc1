"""Motion of heels, toes, soles and pelvis, for contacts, events and steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from biodyn.conventions import BoolArray, FloatArray, IntArray, Side
from biodyn.geometry.points import lengths, signed_distance
from biodyn.processing.kinematics.skeleton_fit import Fit
from biodyn.processing.signals.filtering import additional_cutoff_hz, butterworth_lowpass, finite_stretches

# Speed below which a point of the sole rests; swinging feet move ten times as fast.
REST_SPEED_M_S = 0.25
# Largest height of a sole point above the lowest one at which it can carry load.
LOW_HEIGHT_M = 0.03


@dataclass(frozen=True)
class FootOutline:
    """Motion of the sole of one foot.

    Attributes:
        outline_W: (T, K, 3) m, sole points in World, ordered around the sole seen from above; NaN where unknown.
        speed: (T, K) m/s of each point over the floor.
        low: (T, K) bool, points within `LOW_HEIGHT_M` of the lowest one, which can carry load.
        height: (T,) m, World height of the lowest point.
        bearing: (T,) bool, True while the foot stands on a surface of any height (floor, stair, plate).
        known: (T,) bool, True if the position of the sole is known.
    """

    outline_W: FloatArray
    speed: FloatArray
    low: BoolArray
    height: FloatArray
    bearing: BoolArray
    known: BoolArray
    _distances: dict[bytes, FloatArray] = field(default_factory=dict, init=False, repr=False, compare=False)

    def distance_to_plate(self, corners_W: FloatArray) -> FloatArray:
        """Return the horizontal distance (T, K) m of the points from a plate (4, 3), negative over it (cached)."""
        key = corners_W.tobytes()
        if key not in self._distances:
            self._distances[key] = signed_distance(self.outline_W, corners_W[None, None])
        return self._distances[key]


def foot_outline(outline_W: FloatArray, rate_hz: float) -> FootOutline:
    """Compute the motion and stance of a sole from its points (T, K, 3) m in World, ordered around the sole."""
    outline_W = np.asarray(outline_W, dtype=np.float64)
    known = np.asarray(np.isfinite(outline_W).all(axis=(1, 2)))
    outline_W = np.where(known[:, None, None], outline_W, np.nan)
    velocity = _point_velocities(outline_W, known, rate_hz)
    speed = lengths(velocity - _estimate_floor_velocity(outline_W, known, velocity))
    height = np.full(len(outline_W), np.nan)
    height[known] = outline_W[known, :, 1].min(axis=1)
    low = known[:, None] & (np.nan_to_num(outline_W[..., 1]) <= np.nan_to_num(height)[:, None] + LOW_HEIGHT_M)
    bearing = _stance_frames(outline_W[..., 1], speed, height, known, rate_hz)
    return FootOutline(outline_W, speed, low, height, bearing, known)


def floor_velocity(outline_W: FloatArray, rate_hz: float) -> FloatArray:
    """Return the velocity (3,) m/s in World of the surface under the foot: zero, or that of a treadmill's belt."""
    known = np.asarray(np.isfinite(outline_W).all(axis=(1, 2)))
    return _estimate_floor_velocity(outline_W, known, _point_velocities(outline_W, known, rate_hz))


def _estimate_floor_velocity(outline_W: FloatArray, known: BoolArray, velocity: FloatArray) -> FloatArray:
    # In overground walking some sole point rests for most of the time. Below this fraction the foot may be on a belt,
    # or the person runs.
    resting_share = 0.2
    # Largest vertical speed of the lowest point during stance on a belt.
    level_speed_m_s = 0.1
    # Least fraction of frames with a level foot; the feet of runners are level for 9 to 14 % of the time.
    runner_share = 0.05
    if not known.any():
        return np.zeros(3)
    slowest = np.nan_to_num(lengths(velocity), nan=np.inf).min(axis=1)
    if np.mean(slowest[known] < REST_SPEED_M_S) > resting_share:
        return np.zeros(3)
    lowest = np.argmin(np.where(known[:, None], outline_W[..., 1], 0.0), axis=1)[:, None]
    height = np.take_along_axis(outline_W[..., 1], lowest, axis=1)[:, 0]
    velocity = np.take_along_axis(velocity, lowest[..., None], axis=1)[:, 0]
    # A walking person's foot is on the belt at its median height, a runner's foot only at its lowest heights.
    for percent, least_share in ((50.0, resting_share), (10.0, runner_share)):
        low = known & (np.nan_to_num(height) < np.percentile(height[known], percent) + LOW_HEIGHT_M)
        level = low & (np.abs(np.nan_to_num(velocity[:, 1], nan=np.inf)) < level_speed_m_s)
        if np.mean(level[known]) >= least_share:
            break
    else:
        return np.zeros(3)
    if np.median(slowest[level]) < REST_SPEED_M_S:  # overground, even the foot of a runner rests briefly
        return np.zeros(3)
    return np.median(velocity[level], axis=0) * (1.0, 0.0, 1.0)


def frames_clear_of_plate(corners: FloatArray, sole: FloatArray) -> BoolArray:
    """Return the frames (T,) in which the whole sole (T, K, 3) is known and outside the plate (4, 3), at any height."""
    # Distance from the edge beyond which a foot does not touch the plate, given the errors of markers and corners.
    clear_m = 0.05
    centre = corners.mean(axis=0)
    sides = 0.5 * np.stack(
        [corners[0] - corners[1] + corners[3] - corners[2], corners[0] - corners[3] + corners[1] - corners[2]]
    )
    lengths = np.linalg.norm(sides, axis=1)
    local = (sole - centre) @ (sides / lengths[:, None]).T
    outside = np.zeros(len(sole), dtype=bool)
    for axis in range(2):
        edge = 0.5 * lengths[axis] + clear_m
        outside |= (local[..., axis] > edge).all(axis=1) | (local[..., axis] < -edge).all(axis=1)
    return np.asarray(outside & np.isfinite(sole).all(axis=(1, 2)))


def _point_velocities(outline_W: FloatArray, known: BoolArray, rate_hz: float) -> FloatArray:
    """Return the velocities (T, K, 3) m/s of the points, by central differences within each known stretch; NaN elsewhere."""
    velocity = np.full_like(outline_W, np.nan)
    for first, stop in finite_stretches(known):
        if stop - first > 1:
            velocity[first:stop] = np.gradient(outline_W[first:stop], 1.0 / rate_hz, axis=0)
    return velocity


def _stance_frames(
    point_height: FloatArray, speed: FloatArray, height: FloatArray, known: BoolArray, rate_hz: float
) -> BoolArray:
    """Return a mask (T,) of the stance frames: those around each rest of a sole point, at the height of this rest.

    Because the floor height is taken from the rest, stairs and ramps are included. A point below this height counts as low,
    because a rigid outline penetrates the floor when the toes bend. A rest counts if it lasts at least half as long as the
    longest one.
    """
    rest_duration_s, least_rest_s = 0.08, 0.05
    # Stance extends from a rest as far as some sole point is low and slower than 0.5 m/s (Ghoussayni
    # 10.1016/j.gaitpost.2003.10.001, limit as in JNER 2025, 10.1186/s12984-025-01544-9).
    slow_speed_m_s = 0.5
    bearing = np.zeros(len(height), dtype=bool)
    moving = np.where(np.isfinite(speed), speed, np.inf)
    resting = known & (moving.min(axis=1) < REST_SPEED_M_S)
    slow_height = np.where(moving < slow_speed_m_s, np.nan_to_num(point_height, nan=np.inf), np.inf).min(axis=1)
    rests = finite_stretches(resting)
    longest = max((stop - first for first, stop in rests), default=0)
    for first, stop in rests:
        if stop - first < min(rest_duration_s * rate_hz, max(0.5 * longest, least_rest_s * rate_hz)):
            continue
        near = slow_height < np.median(height[first:stop]) + LOW_HEIGHT_M
        near[first:stop] = True
        for run_first, run_stop in finite_stretches(near):
            if run_first <= first < run_stop:
                bearing[run_first:run_stop] = True
    return bearing


@dataclass(frozen=True)
class GaitPoints:
    """Points of the fitted skeleton in World, NaN where a frame could not be solved.

    Attributes:
        sole: outline (T, K, 3) m of each sole, by side.
        heel, toe: rear and front end (T, 3) m of each sole, by side.
        pelvis: midpoint (T, 3) m of the joint centres between the root and its child segments of both sides.
        forward: anterior unit axis (T, 3) of the root.
        floor_velocity: velocity (3,) m/s of the surface under the feet, zero unless it is a treadmill belt.
    """

    sole: Mapping[Side, FloatArray]
    heel: Mapping[Side, FloatArray]
    toe: Mapping[Side, FloatArray]
    pelvis: FloatArray
    forward: FloatArray
    floor_velocity: FloatArray

    def filter_for_steps(self, rate_hz: float, cutoff_hz: float) -> GaitPoints:
        """Return the points low-pass filtered at 6 Hz, for contacts and steps.

        cutoff_hz: cut-off of the marker filter. The points are returned unchanged if it is as low, or 0 (no filter).
        """
        # Cut-off used to determine the limits of stance and the probabilities of strikes (`library/gait/`).
        steps_hz = 6.0
        hz = additional_cutoff_hz(cutoff_hz, steps_hz)
        if not 0.0 < hz < 0.5 * rate_hz:
            return self

        def smooth(x: FloatArray) -> FloatArray:
            return butterworth_lowpass(x, rate_hz, hz)

        forward = smooth(self.forward)
        return replace(
            self,
            sole={side: smooth(x) for side, x in self.sole.items()},
            heel={side: smooth(x) for side, x in self.heel.items()},
            toe={side: smooth(x) for side, x in self.toe.items()},
            pelvis=smooth(self.pelvis),
            forward=forward / np.linalg.norm(forward, axis=1, keepdims=True),
        )

    def long_axis(self, side: Side, rows: slice | IntArray = slice(None)) -> FloatArray:
        """Return the unit vectors (T, 3) from heel to toe in World, or those of some frames."""
        foot = self.toe[side][rows] - self.heel[side][rows]
        return foot / np.linalg.norm(foot, axis=1, keepdims=True)


def gait_points(fit: Fit, sides: tuple[Side, ...], rate_hz: float) -> GaitPoints:
    """Compute the points of the soles and the pelvis from the poses of the fitted skeleton; `rate_hz`: frame rate."""
    model = fit.model
    sole: dict[Side, FloatArray] = {}
    heel: dict[Side, FloatArray] = {}
    toe: dict[Side, FloatArray] = {}
    root = model.skeleton.root.name
    *feet, (R_root, p_root) = fit.body_poses(*(model.sole_body[side] for side in sides), root)
    for side, (R, p) in zip(sides, feet, strict=True):
        outline = np.einsum("tij,kj->tki", R, model.foot_outlines[side]) + p[:, None]
        # the outline runs from heel to toes along one edge and back along the other
        half = len(model.foot_outlines[side]) // 2
        sole[side] = outline
        heel[side] = 0.5 * (outline[:, 0] + outline[:, -1])
        toe[side] = 0.5 * (outline[:, half - 1] + outline[:, half])
    hips = [body.p_PB for body in model.moving_segments if body.definition.parent == root and body.definition.side]
    centre = np.mean(hips, axis=0) if hips else np.zeros(3)
    seen = [outline for outline in sole.values() if np.isfinite(outline).all(axis=(1, 2)).any()]
    floor = np.mean([floor_velocity(outline, rate_hz) for outline in seen], axis=0) if seen else np.zeros(3)
    return GaitPoints(sole, heel, toe, p_root + R_root @ centre, R_root[:, :, 0], floor)
