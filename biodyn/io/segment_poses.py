"""Check matrices of segment poses, recognise their system, and add landmarks and virtual points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from biodyn.conventions import BoolArray, FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.errors import InputFileError
from biodyn.io.files import COPY_AGAIN, EXPORT_AGAIN
from biodyn.library.pose_systems import PosePoint, PoseSystem, find_pose_system, pose_systems
from biodyn.recording import Markers, SegmentPoses

_SHOWN = 8
# R R^T against the identity: single precision keeps 1e-6. Up to the second a matrix is made a rotation again; beyond, it is none.
_ROTATION, _NEARLY = 1e-4, 0.02
_BOTTOM = np.array([0.0, 0.0, 0.0, 1.0])


def require_known(path: Path, labels: Sequence[str]) -> PoseSystem:
    """Return the system that the segments belong to; InputFileError if the system, and so its axes, is not known."""
    system = find_pose_system(labels)
    if system is None:
        known = "; ".join(f"{s.title}: {', '.join([*s.bodies][:3])} ..." for s in pose_systems())
        shown = ", ".join(labels[:_SHOWN]) + (" ..." if len(labels) > _SHOWN else "")
        raise InputFileError(
            f"'{path}' holds poses of segments of an unknown system ({shown}), so their axes are not known.",
            f"Known systems: {known}",
        )
    return system


def require_seen(path: Path, poses: SegmentPoses, system: PoseSystem) -> None:
    """Raise InputFileError where no segment of the body is seen in any frame."""
    known = [i for i, label in enumerate(poses.labels) if label in system.bodies]
    if not np.isfinite(poses.origins[:, known]).any():
        raise InputFileError(
            f"'{path}' holds poses of {len(known)} segments, but none is seen in any frame.",
            "Export the trial again with the frames in which the person is tracked.",
        )


def with_landmarks(poses: SegmentPoses, system: PoseSystem, parameters: Mapping[str, Sequence[object]]) -> SegmentPoses:
    """Return the poses with the landmarks that the file's own parameters tell (by name, values as stored)."""
    landmarks = {}
    for point in system.points:
        place = _place(point, parameters)
        if place is not None and point.segment in poses.labels:
            landmarks[point.landmark] = (point.segment, place)
    return SegmentPoses(poses.labels, poses.rotations, poses.origins, poses.rate_hz, poses.reliability, landmarks)


def virtual_points(poses: SegmentPoses, system: PoseSystem) -> Markers:
    """Return the virtual points of the segments that the system has bodies for."""
    return poses.as_points(system.half_m, system.bodies.keys())


def _place(point: PosePoint, parameters: Mapping[str, Sequence[object]]) -> FloatArray | None:
    """Return the position (3,) m in a parameter, as numbers or text; None if absent or not possible."""
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


def checked_poses(
    path: Path, labels: tuple[str, ...], matrices: FloatArray, reliability: FloatArray, rate_hz: float
) -> tuple[SegmentPoses, tuple[Diagnostic, ...]]:
    """Return poses in file units, and notes, from matrices (T, S, 4, 4) and reliabilities (T, S).

    The matrices transform the segments' axes into the laboratory's.

    Matrices that are nearly rotations are made rotations, others count as not seen, as do those that are not finite, all zero or
    of no reliability. Raises InputFileError if more than a few are not rotations.
    """
    most_broken = 0.01  # largest share of poses that are not rotations
    R, p = matrices[..., :3, :3].copy(), matrices[..., :3, 3].copy()
    finite: BoolArray = np.asarray(np.isfinite(matrices).all(axis=(2, 3)))
    gone = (
        ~finite | (reliability < 0.0) | (np.abs(R).max(axis=(2, 3), initial=0.0, where=finite[..., None, None]) == 0.0)
    )
    if (np.nan_to_num(reliability) > 0.0).any():  # a file with zeros only has no reliabilities
        gone |= ~(reliability > 0.0)
    error, squared = _errors(matrices, gone)
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
    notes = _notes(broken, bent, float(error[bent].max(initial=0.0)))
    return SegmentPoses(labels, R, p, rate_hz, reliability), notes


def _errors(matrices: FloatArray, gone: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Return how far (T, S) each matrix is from a pose, and its upper corner from a rotation: largest element of R R^T - 1."""
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


def _notes(broken: BoolArray, bent: BoolArray, largest: float) -> tuple[Diagnostic, ...]:
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
                f"{int(bent.sum())} pose matrices are rotations but for {largest:.1g}; the nearest rotations are used.",
                value=largest,
                limit=_ROTATION,
                hint="Export the poses with more digits.",
            )
        )
    return tuple(notes)
