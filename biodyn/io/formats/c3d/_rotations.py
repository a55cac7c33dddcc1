"""Poses of segments in a C3D file: the ROTATION group and the data section of its own that it points to.

Each pose is 17 four-byte floats: a 4 x 4 matrix column by column, from the segment's axes into the laboratory's, and a
reliability (Visual3D documentation, "ROTATION data type", wiki.has-motion.com). Files of Theia3D hold nothing else but,
where plates were recorded, their analog samples.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from biodyn.conventions import BoolArray, FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.errors import InputFileError
from biodyn.io.files import COPY_AGAIN, EXPORT_AGAIN
from biodyn.io.formats.c3d._header import BLOCK_BYTES, unsigned
from biodyn.io.formats.c3d._layout import DataLayout
from biodyn.io.formats.c3d._parameters import Groups, continued, decoded_floats
from biodyn.io.formats.c3d._points import values_of

_FLOATS = 17
# R R^T against the identity: single precision keeps 1e-6. Up to the second a matrix is made a rotation again; beyond, it is none.
_ROTATION, _NEARLY = 1e-4, 0.02
_MOST_BROKEN = 0.01  # share of the poses that may be no rotation: beyond, the section is no list of poses
_BOTTOM = np.array([0.0, 0.0, 0.0, 1.0])
_MOST_RATIO = 64


@dataclass(frozen=True)
class StoredPoses:
    """Poses as stored, lengths in file units.

    Attributes:
        labels: of the S segments. rotations: (T, S, 3, 3). origins: (T, S, 3). reliability: (T, S). NaN where not seen.
        rate_hz: poses per second. notes: what was corrected or left out.
    """

    labels: tuple[str, ...]
    rotations: FloatArray
    origins: FloatArray
    reliability: FloatArray
    rate_hz: float
    notes: tuple[Diagnostic, ...] = ()


def segment_labels(groups: Groups) -> tuple[str, ...]:
    """Return the labels of the segments whose poses the file announces, none where it has no poses."""
    used = _count(groups, "USED")
    return tuple(str(label).strip() for label in continued(groups.get("ROTATION", {}), "LABELS")[:used])


def read_rotations(
    path: Path, content: bytes, layout: DataLayout, processor: str, groups: Groups
) -> StoredPoses | None:
    """Return the poses that the file holds, None where it announces none.

    Raises InputFileError where counts, labels and bytes do not fit each other, or the matrices are no poses.
    """
    used = _count(groups, "USED")
    if not used:
        return None
    labels = segment_labels(groups)
    if len(labels) < used or len(set(labels)) < used or "" in labels:
        raise InputFileError(
            f"'{path}' holds poses of {used} segments (ROTATION:USED), but {len({*labels} - {''})} different labels for them.",
            EXPORT_AGAIN,
        )
    ratio = _ratio(path, groups, layout.rate_hz)
    frames = layout.frame_count * ratio
    start, size = (_count(groups, "DATA_START") - 1) * BLOCK_BYTES, 4 * _FLOATS * used
    if start < BLOCK_BYTES or start + frames * size > len(content):
        stored = max(0, len(content) - start) // size if start >= BLOCK_BYTES else 0
        raise InputFileError(
            f"'{path}' is truncated: it announces {frames} frames of {used} segment poses, bytes for {stored} are there "
            f"behind ROTATION:DATA_START.",
            COPY_AGAIN,
        )
    stored_frames = _count(groups, "FRAMES")
    if stored_frames not in (0, 0xFFFF, frames):
        raise InputFileError(
            f"'{path}' contradicts itself: {stored_frames} frames of poses (ROTATION:FRAMES), {layout.frame_count} frames of "
            f"the file at {ratio} poses a frame.",
            EXPORT_AGAIN,
        )
    words = np.frombuffer(content, dtype="<u2", count=frames * size // 2, offset=start)
    with np.errstate(invalid="ignore", over="ignore"):
        table = decoded_floats(words, processor).astype(float).reshape(frames, used, _FLOATS)
    return _checked(path, labels, table, layout.rate_hz * ratio)


def _count(groups: Groups, name: str) -> int:
    values = values_of(groups, "ROTATION", name)
    return unsigned(values[0]) if values and not isinstance(values[0], str) else 0


def _ratio(path: Path, groups: Groups, rate_hz: float) -> int:
    """Poses a frame: ROTATION:RATIO, else the rates'; InputFileError where both differ, or it is no whole number."""
    stated = values_of(groups, "ROTATION", "RATE")
    by_rate = float(stated[0]) / rate_hz if stated and not isinstance(stated[0], str) else float("nan")
    ratio = _count(groups, "RATIO") or (round(by_rate) if np.isfinite(by_rate) else 1)
    if not 1 <= ratio <= _MOST_RATIO or (np.isfinite(by_rate) and abs(by_rate - ratio) > 0.01 * ratio):
        raise InputFileError(
            f"'{path}' contradicts itself: ROTATION:RATIO is {ratio}, ROTATION:RATE {by_rate:g} times the frame rate.",
            EXPORT_AGAIN,
        )
    return ratio


def _checked(path: Path, labels: tuple[str, ...], table: FloatArray, rate_hz: float) -> StoredPoses:
    matrices = table[..., :16].reshape(*table.shape[:2], 4, 4).swapaxes(2, 3)  # stored column by column
    reliability = table[..., 16]
    R, p = matrices[..., :3, :3].copy(), matrices[..., :3, 3].copy()
    finite: BoolArray = np.asarray(np.isfinite(table[..., :16]).all(axis=2))
    gone = (
        ~finite | (reliability < 0.0) | (np.abs(R).max(axis=(2, 3), initial=0.0, where=finite[..., None, None]) == 0.0)
    )
    if (np.nan_to_num(reliability) > 0.0).any():  # a file whose every reliability is zero does not tell any
        gone |= ~(reliability > 0.0)
    error, squared = _errors(matrices, gone)
    broken = ~gone & (error > _NEARLY)
    seen = int((~gone).sum())
    if broken.sum() > _MOST_BROKEN * seen:
        raise InputFileError(
            f"'{path}' is damaged: {int(broken.sum())} of its {seen} segment poses are no right-handed rotation matrices.",
            COPY_AGAIN,
        )
    bent = ~gone & ~broken & (squared > _ROTATION)
    R[bent] = _nearest_rotation(R[bent])
    R[gone | broken], p[gone | broken] = np.nan, np.nan
    return StoredPoses(labels, R, p, reliability, rate_hz, _notes(broken, bent, float(error[bent].max(initial=0.0))))


def _errors(matrices: FloatArray, gone: BoolArray) -> tuple[FloatArray, FloatArray]:
    """How far (T, S) each matrix is from a pose, and its upper corner from a rotation: largest element of R R^T - 1."""
    squared, error = np.zeros(gone.shape), np.zeros(gone.shape)
    seen = matrices[~gone]
    R = seen[:, :3, :3]
    squared[~gone] = np.abs(R @ R.swapaxes(1, 2) - np.eye(3)).max(axis=(1, 2), initial=0.0)
    bottom = np.abs(seen[:, 3] - _BOTTOM).max(axis=1, initial=0.0)
    handed = np.where(np.linalg.det(R) > 0.0, 0.0, np.inf)
    error[~gone] = np.maximum(np.maximum(squared[~gone], bottom), handed)
    return error, squared


def _nearest_rotation(R: FloatArray) -> FloatArray:
    """The nearest rotations (K, 3, 3) in the sense of least squares."""
    if not len(R):
        return R
    u, _, vt = np.linalg.svd(R)
    return np.asarray(u @ vt)


def _notes(broken: BoolArray, bent: BoolArray, largest: float) -> tuple[Diagnostic, ...]:
    notes = []
    if broken.any():
        text = f"{int(broken.sum())} segment poses are no right-handed rotation matrices and count as not seen."
        notes.append(
            Diagnostic("poses-broken", "warning", text, value=float(broken.sum()), limit=0.0, hint=EXPORT_AGAIN)
        )
    if bent.any():
        notes.append(
            Diagnostic(
                "poses-not-orthonormal",
                "warning",
                f"{int(bent.sum())} pose matrices are rotations but for {largest:.1g}; the nearest rotations are used.",
                value=largest,
                limit=_ROTATION,
                hint="Export the poses with more digits.",
            )
        )
    return tuple(notes)
