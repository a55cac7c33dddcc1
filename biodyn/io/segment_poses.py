"""Check the matrices of segment poses, recognise their markerless system, and add landmarks and virtual points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from biodyn.conventions import BoolArray, FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.errors import InputFileError
from biodyn.io.file_access import COPY_AGAIN, EXPORT_AGAIN
from biodyn.library.pose_systems import PosePoint, PoseSystem, find_pose_system, pose_systems
from biodyn.recording import Markers, SegmentPoses

_SHOWN = 8
# Deviation of R R^T from the identity: 1e-6 in single precision. Up to the second limit a matrix is orthonormalised; beyond,
# invalid.
_ROTATION, _NEARLY = 1e-4, 0.02
_BOTTOM = np.array([0.0, 0.0, 0.0, 1.0])


def require_known_system(path: Path, labels: Sequence[str]) -> PoseSystem:
    """Return the markerless system with these segment labels; InputFileError if it is unknown, since its axes are then
    unknown."""
    system = find_pose_system(labels)
    if system is None:
        known = "; ".join(f"{s.title}: {', '.join([*s.bodies][:3])} ..." for s in pose_systems())
        shown = ", ".join(labels[:_SHOWN]) + (" ..." if len(labels) > _SHOWN else "")
        raise InputFileError(
            f"'{path}' contains segment poses of an unknown system ({shown}), so their axes are unknown.",
            f"Known systems: {known}",
        )
    return system


def require_seen_segment(path: Path, poses: SegmentPoses, system: PoseSystem) -> None:
    """Raise InputFileError if no body segment is seen in any frame."""
    known = [i for i, label in enumerate(poses.labels) if label in system.bodies]
    if not np.isfinite(poses.origins[:, known]).any():
        raise InputFileError(
            f"'{path}' contains poses of {len(known)} segments, but none is seen in any frame.",
            "Export the trial again with the frames in which the person is tracked.",
        )


def with_landmarks(poses: SegmentPoses, system: PoseSystem, parameters: Mapping[str, Sequence[object]]) -> SegmentPoses:
    """Return the poses with the landmarks in the parameters of the file (values as stored, by name)."""
    landmarks = {}
    for point in system.points:
        place = _landmark_position(point, parameters)
        if place is not None and point.segment in poses.labels:
            landmarks[point.landmark] = (point.segment, place)
    return SegmentPoses(poses.labels, poses.rotations, poses.origins, poses.rate_hz, poses.reliability, landmarks)


def virtual_points(poses: SegmentPoses, system: PoseSystem) -> Markers:
    """Return the virtual points of the segments for which the system defines bodies."""
    return poses.as_points(system.half_m, system.bodies.keys())


def _landmark_position(point: PosePoint, parameters: Mapping[str, Sequence[object]]) -> FloatArray | None:
    """Return the position (3,) m in a parameter (numbers or text); None if absent or impossible."""
    longest_m = 0.5  # largest distance of a landmark of the foot from its segment's origin
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
    return place if 0.0 < np.linalg.norm(place) < longest_m else None


def poses_from_matrices(
    path: Path, labels: tuple[str, ...], matrices: FloatArray, reliability: FloatArray, rate_hz: float
) -> tuple[SegmentPoses, tuple[Diagnostic, ...]]:
    """Return the poses in file units from matrices (T, S, 4, 4) and reliabilities (T, S), and notes.

    The matrices transform from segment axes to laboratory axes.

    Matrices that are nearly rotations are orthonormalised. Others are treated as not seen, as are matrices that are not finite,
    are all zero or have zero reliability. Raises InputFileError if more than a few are not rotations.
    """
    most_broken = 0.01  # largest accepted share of poses that are not rotations
    R, p = matrices[..., :3, :3].copy(), matrices[..., :3, 3].copy()
    finite: BoolArray = np.asarray(np.isfinite(matrices).all(axis=(2, 3)))
    gone = (
        ~finite | (reliability < 0.0) | (np.abs(R).max(axis=(2, 3), initial=0.0, where=finite[..., None, None]) == 0.0)
    )
    if (np.nan_to_num(reliability) > 0.0).any():  # a file with only zeros has no reliabilities
        gone |= ~(reliability > 0.0)
    error, squared = _pose_errors(matrices, gone)
    broken = ~gone & (error > _NEARLY)
    seen = int((~gone).sum())
    if broken.sum() > most_broken * seen:
        raise InputFileError(
            f"'{path}' is damaged: {int(broken.sum())} of its {seen} segment poses are not right-handed rotation matrices.",
            COPY_AGAIN,
        )
    bent = ~gone & ~broken & (squared > _ROTATION)
    R[bent] = _nearest_rotation(R[bent])
    R[gone | broken], p[gone | broken] = np.nan, np.nan
    notes = _pose_matrix_notes(broken, bent, float(error[bent].max(initial=0.0)))
    return SegmentPoses(labels, R, p, rate_hz, reliability), notes


def _pose_errors(matrices: FloatArray, gone: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Return how far each matrix (T, S) is from a rigid pose, and its rotation part from a rotation: largest element of R R^T -
    1."""
    squared, error = np.zeros(gone.shape), np.zeros(gone.shape)
    seen = matrices[~gone]
    R = seen[:, :3, :3]
    squared[~gone] = np.abs(R @ R.swapaxes(1, 2) - np.eye(3)).max(axis=(1, 2), initial=0.0)
    bottom = np.abs(seen[:, 3] - _BOTTOM).max(axis=1, initial=0.0)
    handed = np.where(np.linalg.det(R) > 0.0, 0.0, np.inf)
    error[~gone] = np.maximum(np.maximum(squared[~gone], bottom), handed)
    return error, squared


def _nearest_rotation(R: FloatArray) -> FloatArray:
    """Return the nearest rotations (K, 3, 3) in the sense of least squares."""
    if not len(R):
        return R
    u, _, vt = np.linalg.svd(R)
    return np.asarray(u @ vt)


def _pose_matrix_notes(broken: BoolArray, bent: BoolArray, largest: float) -> tuple[Diagnostic, ...]:
    notes = []
    if broken.any():
        text = f"{int(broken.sum())} segment poses are not right-handed rotation matrices and are treated as missing."
        notes.append(
            Diagnostic("recording-repaired", "warning", text, value=float(broken.sum()), limit=0.0, hint=EXPORT_AGAIN)
        )
    if bent.any():
        notes.append(
            Diagnostic(
                "recording-repaired",
                "warning",
                f"{int(bent.sum())} pose matrices deviate from rotations by up to {largest:.1g}; the nearest rotations are "
                f"used.",
                value=largest,
                limit=_ROTATION,
                hint="Export the poses with more digits.",
            )
        )
    return tuple(notes)
