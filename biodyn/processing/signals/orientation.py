"""The world frame of a recording: which laboratory axis is up, which points forward.

World W: X forward, Y up, Z right. R_WL turns vectors of the laboratory frame L into W; it is made of laboratory axes
only, so it is constant and exact, and the path may deviate from X by up to 45 degrees.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.errors import InputFileError
from biodyn.geometry.points import all_finite, point_by_point
from biodyn.geometry.rotations import angle_between, cross
from biodyn.recording import ForcePlate, Recording

_AXIS_NAMES = "XYZ"
# Less than half a step: sway of a standing person, drift on a treadmill.
_LEAST_TRAVEL_M = 0.35
# The slowest treadmill belt counted as walking; a standing person's foot markers stay below 0.05 m/s.
_LEAST_BELT_M_S = 0.15
_LOW_SHARE = 0.15  # markers in this lowest part of the body's height are on the feet
_TURN_DEG = 45.0
_OBLIQUE_DEG = 20.0
_FOOT_HEIGHT_M = 0.13  # above the lowest marker: malleoli are below, shank wands above
_COMMON = 6  # markers that tell where a body faces
# Height of an upright body, over its extent across, with arms held sideways too: at least.
_UPRIGHT = 0.5
# A plate's normal this near to an axis names it; ramps and badly digitised corners stay well within.
_NORMAL_COSINE = 0.9


@dataclass(frozen=True)
class WorldFrame:
    """Attitude of the world frame in the laboratory.

    Attributes:
        R_WL: (3, 3) proper rotation made of laboratory axes, v_W = R_WL v_L.
        reason: one sentence on how up and forward were found.
        diagnostics: what looked wrong or uncertain on the way.
    """

    R_WL: FloatArray
    reason: str
    diagnostics: tuple[Diagnostic, ...] = ()


def find_world(recording: Recording, forward_L: FloatArray | None = None) -> WorldFrame:
    """Find up and forward of a recording in its laboratory frame.

    Up comes from the file's axis, the plates and the body's long axis together; forward from the displacement of the
    markers, on a treadmill from the belt (against the motion of the feet on it), else from `forward_L` (3,), for
    instance the walk's direction for its static trial, else from where the feet point.

    Raises InputFileError where no position is left, or the frame rate is no positive number.
    """
    _require_positions(recording)
    positions = _well_seen(recording.markers.positions)
    up, up_reason, notes = _find_up(recording, positions)
    forward, forward_reason, more = _find_forward(positions, recording.markers.rate_hz, up, forward_L)
    R_WL = np.vstack([forward, up, cross(forward, up)])
    return WorldFrame(R_WL, f"{up_reason}; {forward_reason}.", (*notes, *more))


def with_true_vertical(static: Recording, walk: Recording) -> Recording:
    """Return a static trial without the vertical that its file states, where the walk's file states the same and is wrong.

    The walk's plates and markers tell; the static trial may have no plates, and arms held sideways are as long as the body.
    """
    if static.vertical is None or walk.vertical is None:
        return static
    _require_positions(walk)
    stated = np.abs(walk.vertical)
    up = _vertical(walk)
    alike = np.array_equal(np.abs(static.vertical), stated) and not np.array_equal(up, stated)
    return replace(static, vertical=up) if alike else static


def facing_from_static(recording: Recording, static: Recording, static_world: WorldFrame) -> FloatArray | None:
    """Return where the body of a recording faces (3,), in its laboratory frame, from a trial of the same markers standing.

    The turn about the vertical that carries the markers of the standing body, seen from above, nearest to their mean places
    in the recording; a lifted leg moves few of them. None where fewer than `_COMMON` markers are in both, or the laboratory
    frames do not share their vertical.
    """
    _require_positions(recording)
    up = static_world.R_WL[1]
    common = [label for label in static.markers.labels if label in recording.markers.labels]
    own, other = (
        _mean_places(r.markers.positions[:, [r.markers.labels.index(label) for label in common]])
        for r in (recording, static)
    )
    seen = np.isfinite(own).all(axis=1) & np.isfinite(other).all(axis=1)
    if seen.sum() < _COMMON or not np.allclose(np.abs(up), _vertical(recording)):
        return None
    a, b = (points[seen] - points[seen].mean(axis=0) for points in (other, own))
    sine = float(np.sum(cross(a, b) @ up))
    cosine = float(np.sum(a * b) - np.sum((a @ up) * (b @ up)))
    turn = math.atan2(sine, cosine)
    forward = static_world.R_WL[0]
    facing: FloatArray = math.cos(turn) * forward + math.sin(turn) * cross(up, forward)
    return facing


def _mean_places(positions: FloatArray) -> FloatArray:
    """Means (M, 3) of markers over the frames (T, M, 3) they are seen in, NaN where one never is."""
    seen = all_finite(positions)
    frames = seen.sum(axis=0)
    places = np.where(seen[..., None], positions, 0.0).sum(axis=0) / np.maximum(frames, 1)[:, None]
    return np.where(frames[:, None] > 0, places, np.nan)


def _vertical(recording: Recording) -> FloatArray:
    """Absolute vertical axis (3,) of a recording."""
    up, _, _ = _find_up(recording, _well_seen(recording.markers.positions))
    return np.abs(up)


def _require_positions(recording: Recording) -> None:
    name, markers = recording.path.name, recording.markers
    if not all_finite(markers.positions).any():
        raise InputFileError(
            f"'{name}' holds no marker position ({len(markers.labels)} markers, {markers.frame_count} frames).",
            "Export the trial again with its reconstructed markers.",
        )
    if not (np.isfinite(markers.rate_hz) and markers.rate_hz > 0.0):
        raise InputFileError(
            f"'{name}' gives {markers.rate_hz:g} frames per second; expected a positive number.",
            "Correct POINT:RATE, and export the trial again.",
        )


def _well_seen(positions: FloatArray) -> FloatArray:
    """(T, M, 3) of the markers seen in at least half of the frames any marker is seen in, or all if none is.

    A position that is not finite in every coordinate is not seen.
    """
    positions = np.where(all_finite(positions)[..., None], positions, np.nan)
    seen = np.isfinite(positions[..., 0]).mean(axis=0)
    chosen = seen >= 0.5 * seen.max()
    return positions[:, chosen]


def _name(axis: FloatArray) -> str:
    index = int(np.argmax(np.abs(axis)))
    return ("-" if axis[index] < 0 else "+") + _AXIS_NAMES[index]


def _nearest_axis(vector: FloatArray) -> FloatArray:
    axis = np.zeros(3)
    index = int(np.argmax(np.abs(vector)))
    axis[index] = 1.0 if vector[index] >= 0 else -1.0
    return axis


def _find_up(recording: Recording, positions: FloatArray) -> tuple[FloatArray, str, list[Diagnostic]]:
    """Up as a signed laboratory axis.

    The axis: the file's Y_SCREEN and the plates' normals count twice, the longest extent of the body once; more than
    Y_SCREEN alone where the body is twice as long along it, as nobody is who walks or stands upright. The sign is
    always the data's, because files are wrong about it: the body is above the plates, or above the floor at 0.
    """
    frames = positions[np.isfinite(positions[..., 0]).any(axis=1)]
    markers = point_by_point(frames)
    spans = np.median(np.nanmax(markers, axis=0) - np.nanmin(markers, axis=0), axis=0)
    votes = np.zeros(3)
    votes[int(np.argmax(spans))] += 1.0
    sources = []
    if recording.vertical is not None:
        stated = int(np.argmax(np.abs(recording.vertical)))
        votes[stated] += 2.0 if spans[stated] >= _UPRIGHT * spans.max() else 0.5
        sources.append("the file")
    normal = _plate_axis(recording)
    if normal is not None:
        votes[normal] += 2.0
        sources.append("the plates")
    axis = int(np.argmax(votes))
    if recording.vertical is not None and axis != int(np.argmax(np.abs(recording.vertical))):
        sources.remove("the file")
    told = " and ".join(sources) or "the body's longest extent (the file does not tell)"
    notes = []
    if recording.vertical is not None and axis != int(np.argmax(np.abs(recording.vertical))):
        notes.append(
            Diagnostic(
                "vertical-uncertain",
                "warning",
                f"POINT:Y_SCREEN says {_name(recording.vertical)} is vertical, but {'plates and ' if normal is not None else ''}"
                f"markers say {_AXIS_NAMES[axis]}, which is used.",
                hint="Correct the vertical axis in the capture software's export.",
            )
        )
    if spans[axis] < _UPRIGHT * spans.max():
        notes.append(
            Diagnostic(
                "vertical-uncertain",
                "warning",
                f"The body is longer along {_AXIS_NAMES[int(np.argmax(spans))]} than along the vertical axis "
                f"{_AXIS_NAMES[axis]} that {' and '.join(sources)} say.",
                value=float(spans[axis]),
                limit=float(_UPRIGHT * spans.max()),
                unit="m",
            )
        )
    up = np.zeros(3)
    up[axis] = _up_sign(recording, positions[..., axis], axis)
    return up, f"{_name(up)} of the laboratory is up by {told}", notes


def _plate_axis(recording: Recording) -> int | None:
    """The laboratory axis all plates are level to, None without plates or where they disagree."""
    normals = []
    for plate in recording.plates:
        c = plate.corners
        n = cross(c[0] - c[2], c[1] - c[3])
        length = float(np.linalg.norm(n))
        if length > 0:
            normals.append(np.abs(n) / length)
    if not normals or min(n.max() for n in normals) < _NORMAL_COSINE:
        return None
    axes = {int(np.argmax(n)) for n in normals}
    return axes.pop() if len(axes) == 1 else None


def _up_sign(recording: Recording, heights: FloatArray, axis: int) -> float:
    """+1 or -1: people are above plates and floor; without plates, the floor is at 0."""
    middle = float(np.nanmedian(heights))
    if recording.plates:
        floor = float(np.mean([plate.corners[:, axis].mean() for plate in recording.plates]))
    else:
        floor = 0.0
        low, high = float(np.nanmin(heights)), float(np.nanmax(heights))
        if abs(middle) > 3.0 * (high - low) and recording.vertical is not None:
            return float(np.sign(recording.vertical[axis]) or 1.0)  # a floor far from 0 tells nothing
    return 1.0 if middle >= floor else -1.0


def _find_forward(
    positions: FloatArray, rate_hz: float, up: FloatArray, hint_L: FloatArray | None
) -> tuple[FloatArray, str, list[Diagnostic]]:
    """Forward as a signed horizontal laboratory axis, with the reason."""
    horizontal = np.eye(3) - np.outer(up, up)
    travel = _displacement(positions) @ horizontal
    distance = float(np.linalg.norm(travel))
    if distance >= _LEAST_TRAVEL_M:
        forward = _nearest_axis(travel)
        return (
            forward,
            f"{_name(forward)} is forward, nearest to the {distance:.2f} m walked",
            _path_notes(positions, horizontal, travel, forward),
        )
    belt = _belt_velocity(positions, rate_hz, up) @ horizontal
    speed = float(np.linalg.norm(belt))
    if speed >= _LEAST_BELT_M_S:
        forward = _nearest_axis(-belt)
        return forward, f"{_name(forward)} is forward, against a treadmill belt of {speed:.2f} m/s", []
    if hint_L is not None and np.linalg.norm(horizontal @ hint_L) > 0:
        forward = _nearest_axis(horizontal @ hint_L)
        return forward, f"{_name(forward)} is forward, where the body faces, and the person stays in place", []
    forward = _nearest_axis(horizontal @ _facing(positions, up))
    return forward, f"{_name(forward)} is forward, where the feet point, the person stays in place", []


def _displacement(positions: FloatArray) -> FloatArray:
    """(3,) m from the first to the last frame the markers are seen in: the median over the markers, gaps or not."""
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
    # markers that came late or left early: their mean velocity over the time of the one seen longest
    steps = steps * (longest / (last - first)[columns])[:, None]
    displacement: FloatArray = np.median(steps, axis=0)
    return displacement


def _path_notes(
    positions: FloatArray, horizontal: FloatArray, travel: FloatArray, forward: FloatArray
) -> list[Diagnostic]:
    """Say where the path is oblique to the axes, or turns."""
    notes = []
    oblique_deg = math.degrees(angle_between(travel, forward))
    third = positions.shape[0] // 3
    headings = [_displacement(positions[:third]) @ horizontal, _displacement(positions[-third:]) @ horizontal]
    turn_deg = math.degrees(angle_between(*headings)) if min(np.linalg.norm(h) for h in headings) > 0.1 else 0.0
    if turn_deg > _TURN_DEG:
        notes.append(
            Diagnostic(
                "turning",
                "info",  # joint moments do not depend on World's axes
                f"The path turns by {turn_deg:.0f} degrees; World X stays on one laboratory axis ({_name(forward)}).",
                value=turn_deg,
                limit=_TURN_DEG,
                unit="deg",
                hint="Pelvis angles through time count from that axis; gait cycles and step lengths from each cycle's direction.",
            )
        )
    elif oblique_deg > _OBLIQUE_DEG:
        notes.append(
            Diagnostic(
                "oblique-path",
                "info",
                f"The path runs {oblique_deg:.0f} degrees oblique to the laboratory axis {_name(forward)}.",
                value=oblique_deg,
                limit=_OBLIQUE_DEG,
                unit="deg",
            )
        )
    return notes


def _foot_columns(positions: FloatArray, up: FloatArray) -> FloatArray:
    """Mean height (M,) of each marker above the lowest one, as a share of the body's."""
    heights = np.nanmean(positions @ up, axis=0)
    span = np.nanmax(heights) - np.nanmin(heights)
    share: FloatArray = (heights - np.nanmin(heights)) / (span if span > 0 else 1.0)
    return share


def _belt_velocity(positions: FloatArray, rate_hz: float, up: FloatArray) -> FloatArray:
    """(3,) m/s at which the feet move while they are down: the belt's, or nothing when standing or on the floor.

    A foot marker is down where it is in the lowest tenth of its own range of heights.
    """
    if positions.shape[0] < 3:
        return np.zeros(3)
    feet = positions[:, _foot_columns(positions, up) <= _LOW_SHARE]
    velocity = np.gradient(feet, 1.0 / rate_hz, axis=0)
    heights = feet @ up
    low, high = np.nanmin(heights, axis=0), np.nanmax(heights, axis=0)
    down = (heights <= low + 0.1 * (high - low)) & np.isfinite(velocity[..., 0])
    return np.median(velocity[down], axis=0) if down.any() else np.zeros(3)


def _facing(positions: FloatArray, up: FloatArray) -> FloatArray:
    """(3,) rough direction the person faces, from the shape of legs and feet alone: a signed laboratory axis.

    The legs stand side by side, so their markers spread more across than ahead. A foot's highest markers are at the
    ankle; the toes are where the foot reaches farther from there (toes 12-20 cm, heel 5-10 cm).
    """
    middle = np.nanmedian(positions[:, np.isfinite(positions[..., 0]).any(axis=0)], axis=0)
    heights = middle @ up - (middle @ up).min()
    feet = heights <= _FOOT_HEIGHT_M
    legs = ~feet & (heights <= 0.5 * heights.max())
    spread = np.ptp(middle[legs if legs.sum() >= 2 else feet], axis=0)
    spread[np.abs(up) > 0.5] = -1.0  # never the vertical, also where a single marker spreads nowhere
    across = np.eye(3)[int(np.argmax(spread))]
    ahead: FloatArray = cross(across, up)
    sides = middle @ across >= np.median(middle @ across)
    reach = sum(_reach(middle[feet & side], heights[feet & side], ahead) for side in (sides, ~sides))
    return ahead if reach >= 0 else -ahead


def _reach(foot: FloatArray, heights: FloatArray, ahead: FloatArray) -> float:
    """How much farther a foot reaches ahead of its ankle than behind it, m."""
    if len(foot) < 3:
        return 0.0
    ankle = foot[heights >= heights.max() - 0.3 * (heights.max() - heights.min())].mean(axis=0)
    along = (foot - ankle) @ ahead
    return float(along.max() + along.min())


#: Turns a mirrored World, in which Z points left, into one in which it points right.
MIRROR: FloatArray = np.diag([1.0, 1.0, -1.0])


def corners_reversed(plates: Sequence[ForcePlate]) -> bool:
    """Whether the corners (World, Y up) of all plates run the other way round than the format has them.

    From above they run clockwise: +x+y, -x+y, -x-y, +x-y of axes whose z points down (C3D user guide, FORCE_PLATFORM). So
    they do in every plate of some fifteen laboratories at hand; a mirror image turns them round. False without a plate.
    """
    outlined = [plate for plate in plates if plate.outlined]
    return bool(outlined) and all(z_points_up(plate) for plate in outlined)


def z_points_up(plate: ForcePlate) -> bool:
    """Whether the z axis that the corners (World, Y up) of a plate tell points up. False where the file does not tell corners."""
    normal = np.cross(plate.corners[0] - plate.corners[2], plate.corners[1] - plate.corners[3])
    return bool(plate.outlined and normal[1] > 0.0)


def mirrored_note() -> Diagnostic:
    """What is said where a recording was mirrored."""
    return Diagnostic(
        "laboratory-mirrored",
        "warning",
        "The recording is a mirror image: every marker of one side lies where a body has that of the other, and the corners "
        "of the force plates run the wrong way round. It was mirrored for this analysis, labels and sides are as in the file.",
        hint="Two axes were probably swapped in the export without turning one round: correct that, and compare one side.",
    )
