"""What readers of poses share: the system that the segments belong to, landmarks that a file tells, virtual points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.errors import InputFileError
from biodyn.library.pose_systems import PosePoint, PoseSystem, pose_system_of, pose_systems
from biodyn.recording import Markers, SegmentPoses

_LONGEST_M = 0.5  # no landmark of a foot lies farther from its segment's origin
_SHOWN = 8


def require_known(path: Path, labels: Sequence[str]) -> PoseSystem:
    """Return the system that the segments belong to; InputFileError where nobody knows their names and so their axes."""
    system = pose_system_of(labels)
    if system is None:
        known = "; ".join(f"{s.title}: {', '.join([*s.bodies][:3])} ..." for s in pose_systems())
        shown = ", ".join(labels[:_SHOWN]) + (" ..." if len(labels) > _SHOWN else "")
        raise InputFileError(
            f"'{path}' holds poses of segments of a system that is not known ({shown}), so their axes are not known either.",
            f"Known systems: {known}",
        )
    return system


def require_seen(path: Path, poses: SegmentPoses, system: PoseSystem) -> None:
    """Raise InputFileError where no segment of the body is seen in any frame."""
    own = [i for i, label in enumerate(poses.labels) if label in system.bodies]
    if not np.isfinite(poses.origins[:, own]).any():
        raise InputFileError(
            f"'{path}' holds poses of {len(own)} segments, but none is seen in any frame.",
            "Export the trial again with the frames in which the person is tracked.",
        )


def with_landmarks(poses: SegmentPoses, system: PoseSystem, parameters: Mapping[str, Sequence[object]]) -> SegmentPoses:
    """Return the poses with the landmarks that the file's own parameters tell (by name, values as stored)."""
    found = {}
    for point in system.points:
        place = _place(point, parameters)
        if place is not None and point.segment in poses.labels:
            found[point.landmark] = (point.segment, place)
    return SegmentPoses(poses.labels, poses.rotations, poses.origins, poses.rate_hz, poses.reliability, found)


def virtual_points(poses: SegmentPoses, system: PoseSystem) -> Markers:
    """Return the virtual points of the segments that the system has bodies for."""
    return poses.as_points(system.half_m, system.bodies.keys())


def _place(point: PosePoint, parameters: Mapping[str, Sequence[object]]) -> FloatArray | None:
    """The place (3,) m that a parameter tells, in numbers or in digits; None where it tells none that can be."""
    try:
        numbers = [float(str(value)) for value in parameters.get(point.parameter, ())]
    except ValueError:
        return None
    if point.along and len(numbers) == 1:
        place = numbers[0] * np.eye(3)["xyz".index(point.along)]
    elif not point.along and len(numbers) == 3:
        place = np.array(numbers)
    else:
        return None
    return place if 0.0 < np.linalg.norm(place) < _LONGEST_M else None
