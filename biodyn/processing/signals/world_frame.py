"""World frame of a recording: the upward and forward laboratory axes.

World W: X forward, Y up, Z right. R_WL transforms vectors of the laboratory frame L to W. The axes of W are laboratory axes, so
that R_WL is constant and exact; the path may deviate from X by up to 45 degrees.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.errors import InputFileError
from biodyn.geometry.points import all_finite, points_axis_first
from biodyn.geometry.rotations import angle_between, cross
from biodyn.recording import ForcePlate, Recording

_AXIS_NAMES = "XYZ"
_COMMON = 6  # least number of common markers


@dataclass(frozen=True)
class WorldFrame:
    """Attitude of the world frame in the laboratory.

    Attributes:
        R_WL: (3, 3) proper rotation whose rows are laboratory axes, v_W = R_WL v_L.
        reason: one sentence about how the upward and forward axes were determined.
        diagnostics: findings about contradictions and uncertainties.
    """

    R_WL: FloatArray
    reason: str
    diagnostics: tuple[Diagnostic, ...] = ()


def find_world(recording: Recording, forward_L: FloatArray | None = None) -> WorldFrame:
    """Return the world frame of a recording in its laboratory frame.

    The upward axis follows from the axis stated by the file, the plates and the long axis of the body. The forward axis follows
    from the displacement of the markers, or from the belt of a treadmill (opposite to the motion of the feet on it), else from
    `forward_L` (3,) (for instance the direction of the walk for its static trial), else from the direction of the feet.

    Raises InputFileError if no marker position is known, or if the frame rate is not positive.
    """
    _require_positions(recording)
    positions = _select_often_visible_markers(recording.markers.positions)
    up, up_reason, notes = _find_up_axis(recording, positions)
    forward, forward_reason, more = _find_forward_axis(positions, recording.markers.rate_hz, up, forward_L)
    R_WL = np.vstack([forward, up, cross(forward, up)])
    return WorldFrame(R_WL, f"{up_reason}; {forward_reason}.", (*notes, *more))


def correct_static_vertical(static: Recording, walk: Recording) -> Recording:
    """Correct the vertical axis of the static trial if the file of the walk states the same wrong axis, and return the trial.

    Plates and markers of the walk determine the vertical. The static trial may have no plates, and arms held sideways have the
    same extent as the body.
    """
    if static.vertical is None or walk.vertical is None:
        return static
    _require_positions(walk)
    stated = np.abs(walk.vertical)
    up = _vertical_axis(walk)
    alike = np.array_equal(np.abs(static.vertical), stated) and not np.array_equal(up, stated)
    return replace(static, vertical=up) if alike else static


def facing_direction_from_static(
    recording: Recording, static: Recording, static_world: WorldFrame
) -> FloatArray | None:
    """Return the facing direction (3,) of a recording, in its laboratory frame, from a static trial with the same markers.

    The direction follows from the rotation about the vertical that best maps the standing markers, seen from above, to their
    mean positions in the recording; a lifted leg affects few of them. Returns None if there are fewer than `_COMMON` common
    markers, or if the verticals of the laboratory frames differ.
    """
    _require_positions(recording)
    up = static_world.R_WL[1]
    common = [label for label in static.markers.labels if label in recording.markers.labels]
    positions, static_positions = (
        _mean_positions(r.markers.positions[:, [r.markers.labels.index(label) for label in common]])
        for r in (recording, static)
    )
    seen = np.isfinite(positions).all(axis=1) & np.isfinite(static_positions).all(axis=1)
    if seen.sum() < _COMMON or not np.allclose(np.abs(up), _vertical_axis(recording)):
        return None
    a, b = (points[seen] - points[seen].mean(axis=0) for points in (static_positions, positions))
    sine = float(np.sum(cross(a, b) @ up))
    cosine = float(np.sum(a * b) - np.sum((a @ up) * (b @ up)))
    turn = math.atan2(sine, cosine)
    forward = static_world.R_WL[0]
    facing: FloatArray = math.cos(turn) * forward + math.sin(turn) * cross(up, forward)
    return facing


def _mean_positions(positions: FloatArray) -> FloatArray:
    """Return the mean positions (M, 3) of markers over their visible frames (T, M, 3), NaN without any."""
    seen = all_finite(positions)
    frames = seen.sum(axis=0)
    places = np.where(seen[..., None], positions, 0.0).sum(axis=0) / np.maximum(frames, 1)[:, None]
    return np.where(frames[:, None] > 0, places, np.nan)


def _vertical_axis(recording: Recording) -> FloatArray:
    """Return the vertical laboratory axis (3,) of a recording, with positive sign."""
    up, _, _ = _find_up_axis(recording, _select_often_visible_markers(recording.markers.positions))
    return np.abs(up)


def _require_positions(recording: Recording) -> None:
    name, markers = recording.path.name, recording.markers
    if not all_finite(markers.positions).any():
        raise InputFileError(
            f"'{name}' contains no marker position ({len(markers.labels)} markers, {markers.frame_count} frames).",
            "Export the trial again with its reconstructed markers.",
        )
    if not (np.isfinite(markers.rate_hz) and markers.rate_hz > 0.0):
        raise InputFileError(
            f"'{name}' states a frame rate of {markers.rate_hz:g} Hz; expected a positive number.",
            "Correct POINT:RATE, and export the trial again.",
        )


def _select_often_visible_markers(positions: FloatArray) -> FloatArray:
    """Return the positions (T, M, 3) of the markers visible in at least half of the frames with markers, or all if there are
    none."""
    positions = np.where(all_finite(positions)[..., None], positions, np.nan)
    seen = np.isfinite(positions[..., 0]).mean(axis=0)
    chosen = seen >= 0.5 * seen.max()
    return positions[:, chosen]


def _axis_name(axis: FloatArray) -> str:
    index = int(np.argmax(np.abs(axis)))
    return ("-" if axis[index] < 0 else "+") + _AXIS_NAMES[index]


def _nearest_axis(vector: FloatArray) -> FloatArray:
    axis = np.zeros(3)
    index = int(np.argmax(np.abs(vector)))
    axis[index] = 1.0 if vector[index] >= 0 else -1.0
    return axis


def _find_up_axis(recording: Recording, positions: FloatArray) -> tuple[FloatArray, str, list[Diagnostic]]:
    """Return the upward direction as a signed laboratory axis.

    The axis is determined by votes: two for Y_SCREEN of the file, two for the normals of the plates, and one for the longest
    extent of the body, or more than Y_SCREEN alone if the body is twice as long along this axis. The sign is determined from
    the data, because files may be wrong: the body is above the plates, or above the floor at 0.
    """
    # Least ratio of height to transverse extent of an upright body, even with arms held sideways.
    upright = 0.5
    frames = positions[np.isfinite(positions[..., 0]).any(axis=1)]
    markers = points_axis_first(frames)
    spans = np.median(np.nanmax(markers, axis=0) - np.nanmin(markers, axis=0), axis=0)
    votes = np.zeros(3)
    votes[int(np.argmax(spans))] += 1.0
    sources = []
    if recording.vertical is not None:
        stated = int(np.argmax(np.abs(recording.vertical)))
        votes[stated] += 2.0 if spans[stated] >= upright * spans.max() else 0.5
        sources.append("the file")
    normal = _plate_normal(recording)
    if normal is not None:
        votes[normal] += 2.0
        sources.append("the plates")
    axis = int(np.argmax(votes))
    notes = []
    if recording.vertical is not None and axis != int(np.argmax(np.abs(recording.vertical))):
        sources.remove("the file")
        notes.append(
            Diagnostic(
                "vertical-uncertain",
                "warning",
                f"POINT:Y_SCREEN states {_axis_name(recording.vertical)} as vertical, but "
                f"{('plates and ' if normal is not None else '')}markers indicate {_AXIS_NAMES[axis]}, which is "
                "used.",
                hint="Correct the vertical axis in the capture software's export.",
            )
        )
    if spans[axis] < upright * spans.max():
        notes.append(
            Diagnostic(
                "vertical-uncertain",
                "warning",
                f"The body is longer along {_AXIS_NAMES[int(np.argmax(spans))]} than along the vertical axis "
                f"{_AXIS_NAMES[axis]} stated by {' and '.join(sources)}.",
                value=float(spans[axis]),
                limit=float(upright * spans.max()),
                unit="m",
            )
        )
    source = " and ".join(sources) or "the longest extent of the body (not stated by the file)"
    up = np.zeros(3)
    up[axis] = _up_sign(recording, positions[..., axis], axis)
    return up, f"{_axis_name(up)} of the laboratory is up by {source}", notes


def _plate_normal(recording: Recording) -> int | None:
    """Return the laboratory axis normal to all plates; None without plates or if their normals differ."""
    # Least cosine of the angle between the normal of a plate and its axis; ramps and inaccurate corners are well
    # within this limit.
    normal_cosine = 0.9
    normals = []
    for plate in recording.plates:
        c = plate.corners
        n = cross(c[0] - c[2], c[1] - c[3])
        length = float(np.linalg.norm(n))
        if length > 0:
            normals.append(np.abs(n) / length)
    if not normals or min(n.max() for n in normals) < normal_cosine:
        return None
    axes = {int(np.argmax(n)) for n in normals}
    return axes.pop() if len(axes) == 1 else None


def _up_sign(recording: Recording, heights: FloatArray, axis: int) -> float:
    """Return +1 or -1 so that the person is above plates and floor; without plates the floor is at 0."""
    middle = float(np.nanmedian(heights))
    if recording.plates:
        floor = float(np.mean([plate.corners[:, axis].mean() for plate in recording.plates]))
    else:
        floor = 0.0
        low, high = float(np.nanmin(heights)), float(np.nanmax(heights))
        if abs(middle) > 3.0 * (high - low) and recording.vertical is not None:
            return float(np.sign(recording.vertical[axis]) or 1.0)  # a floor far from 0 cannot determine the sign
    return 1.0 if middle >= floor else -1.0


def _find_forward_axis(
    positions: FloatArray, rate_hz: float, up: FloatArray, hint_L: FloatArray | None
) -> tuple[FloatArray, str, list[Diagnostic]]:
    """Return the forward direction as a signed horizontal laboratory axis, and the reason for it."""
    # Least displacement in walking, less than half a step and more than sway or drift on a treadmill.
    least_travel_m = 0.35
    # Least speed of a treadmill belt; foot markers of a standing person stay below 0.05 m/s.
    least_belt_m_s = 0.15
    horizontal = np.eye(3) - np.outer(up, up)
    travel = _median_displacement(positions) @ horizontal
    distance = float(np.linalg.norm(travel))
    if distance >= least_travel_m:
        forward = _nearest_axis(travel)
        return (
            forward,
            f"{_axis_name(forward)} is forward, nearest to the displacement of {distance:.2f} m",
            _turning_path_findings(positions, horizontal, forward),
        )
    belt = _belt_velocity(positions, rate_hz, up) @ horizontal
    speed = float(np.linalg.norm(belt))
    if speed >= least_belt_m_s:
        forward = _nearest_axis(-belt)
        return forward, f"{_axis_name(forward)} is forward, against a treadmill belt of {speed:.2f} m/s", []
    if hint_L is not None and np.linalg.norm(horizontal @ hint_L) > 0:
        forward = _nearest_axis(horizontal @ hint_L)
        return forward, f"{_axis_name(forward)} is forward, the facing direction of the body (no displacement)", []
    forward = _nearest_axis(horizontal @ _facing_direction(positions, up))
    return forward, f"{_axis_name(forward)} is forward, the direction of the feet (no displacement)", []


def _median_displacement(positions: FloatArray) -> FloatArray:
    """Return the median displacement (3,) m of the markers from their first to their last visible frame."""
    count = positions.shape[0]
    if count < 2:
        return np.zeros(3)
    rows = np.arange(count)[:, None]
    seen = np.isfinite(positions[..., 0])
    first = np.where(seen, rows, count).min(axis=0)
    last = np.where(seen, rows, -1).max(axis=0)
    longest = (last - first).max()
    if longest < 1:
        return np.zeros(3)
    columns = np.flatnonzero(last - first >= 0.5 * longest)
    steps = positions[last[columns], columns] - positions[first[columns], columns]
    # for markers visible for a shorter time, their mean velocity times the longest time
    steps = steps * (longest / (last - first)[columns])[:, None]
    displacement: FloatArray = np.median(steps, axis=0)
    return displacement


def _turning_path_findings(positions: FloatArray, horizontal: FloatArray, forward: FloatArray) -> list[Diagnostic]:
    """Return a finding if the path of the person turns, so that World X is not its direction everywhere."""
    turn_limit_deg = 45.0
    notes = []
    third = positions.shape[0] // 3
    headings = [
        _median_displacement(positions[:third]) @ horizontal,
        _median_displacement(positions[-third:]) @ horizontal,
    ]
    turn_deg = math.degrees(angle_between(*headings)) if min(np.linalg.norm(h) for h in headings) > 0.1 else 0.0
    if turn_deg > turn_limit_deg:
        notes.append(
            Diagnostic(
                "turning",
                "info",  # only information, because joint moments do not depend on the axes of World
                f"The path turns by {turn_deg:.0f} degrees. World X remains one laboratory axis ({_axis_name(forward)}).",
                value=turn_deg,
                limit=turn_limit_deg,
                unit="deg",
                hint="Pelvis angles are relative to this axis; variables of gait cycles and step lengths are "
                "relative to the direction of each cycle.",
            )
        )
    return notes


def _relative_marker_heights(positions: FloatArray, up: FloatArray) -> FloatArray:
    """Return the mean height (M,) of each marker above the lowest one, as a fraction of the body height."""
    heights = np.nanmean(positions @ up, axis=0)
    span = np.nanmax(heights) - np.nanmin(heights)
    share: FloatArray = (heights - np.nanmin(heights)) / (span if span > 0 else 1.0)
    return share


def _belt_velocity(positions: FloatArray, rate_hz: float, up: FloatArray) -> FloatArray:
    """Return the velocity (3,) m/s of the feet in stance, which is that of a treadmill belt, or about zero on the floor.

    A foot is in stance while its marker is in the lowest tenth of its height range.
    """
    low_share = 0.15  # markers in this lowest fraction of the body height are on the feet
    if positions.shape[0] < 3:
        return np.zeros(3)
    feet = positions[:, _relative_marker_heights(positions, up) <= low_share]
    velocity = np.gradient(feet, 1.0 / rate_hz, axis=0)
    heights = feet @ up
    low, high = np.nanmin(heights, axis=0), np.nanmax(heights, axis=0)
    down = (heights <= low + 0.1 * (high - low)) & np.isfinite(velocity[..., 0])
    return np.median(velocity[down], axis=0) if down.any() else np.zeros(3)


def _facing_direction(positions: FloatArray, up: FloatArray) -> FloatArray:
    """Return the approximate direction (3,) in which the person faces, from the shape of legs and feet: a signed laboratory axis.

    The legs are side by side, so that their markers are spread more in the transverse direction. The highest markers of a foot
    are at the ankle, and the foot extends farther to the toes (12-20 cm) than to the heel (5-10 cm).
    """
    foot_height_m = 0.13  # height above the lowest marker; malleoli are below it, shank wands above
    middle = np.nanmedian(positions[:, np.isfinite(positions[..., 0]).any(axis=0)], axis=0)
    heights = middle @ up - (middle @ up).min()
    feet = heights <= foot_height_m
    legs = ~feet & (heights <= 0.5 * heights.max())
    spread = np.ptp(middle[legs if legs.sum() >= 2 else feet], axis=0)
    spread[np.abs(up) > 0.5] = -1.0  # never the vertical, even if a single marker has no spread
    across = np.eye(3)[int(np.argmax(spread))]
    ahead: FloatArray = cross(across, up)
    sides = middle @ across >= np.median(middle @ across)
    reach = sum(_forward_extent(middle[feet & side], heights[feet & side], ahead) for side in (sides, ~sides))
    return ahead if reach >= 0 else -ahead


def _forward_extent(foot: FloatArray, heights: FloatArray, ahead: FloatArray) -> float:
    """Return the extent of a foot ahead of its ankle minus its extent behind it, m."""
    if len(foot) < 3:
        return 0.0
    ankle = foot[heights >= heights.max() - 0.3 * (heights.max() - heights.min())].mean(axis=0)
    along = (foot - ankle) @ ahead
    return float(along.max() + along.min())


#: Reflection that corrects a mirrored World, in which Z points left.
MIRROR: FloatArray = np.diag([1.0, 1.0, -1.0])


def are_corners_reversed(plates: Sequence[ForcePlate]) -> bool:
    """Return whether the corners (World, Y up) of all plates are in the opposite order to the format.

    Seen from above, corners are clockwise: +x+y, -x+y, -x-y, +x-y of axes with z pointing down (C3D user guide,
    FORCE_PLATFORM), as in every plate of some fifteen laboratories. A mirror image reverses them. Returns False without a
    plate.
    """
    outlined = [plate for plate in plates if plate.outlined]
    return bool(outlined) and all(is_plate_z_up(plate) for plate in outlined)


def is_plate_z_up(plate: ForcePlate) -> bool:
    """Return whether the z axis from the corners (World, Y up) of a plate points up; False if the file has no corners."""
    normal = np.cross(plate.corners[0] - plate.corners[2], plate.corners[1] - plate.corners[3])
    return bool(plate.outlined and normal[1] > 0.0)


def mirror_note() -> Diagnostic:
    """Return the finding that a recording is a mirror image and was mirrored for the analysis."""
    return Diagnostic(
        "laboratory-mirrored",
        "warning",
        "The recording is a mirror image: markers of the left and right side are exchanged, and the corners of the force "
        "plates are in the opposite order. It was mirrored for this analysis; labels and sides are as in the file.",
        hint="Probably two axes were exchanged in the export without reversing the sign of one of them. Correct the "
        "export, and check that right and left are correct.",
    )
