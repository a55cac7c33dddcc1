"""Poses of segments in a C3D file: the ROTATION group and the data section of its own that it points to.

Each pose is 17 four-byte floats: a 4 x 4 matrix column by column, from the segment's axes into the laboratory's, and a
reliability (Visual3D documentation, "ROTATION data type", wiki.has-motion.com). Files of Theia3D hold nothing else but,
where plates were recorded, their analog samples.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from biodyn.errors import InputFileError
from biodyn.io.files import COPY_AGAIN, EXPORT_AGAIN
from biodyn.io.formats.c3d._header import BLOCK_BYTES, unsigned
from biodyn.io.formats.c3d._layout import DataLayout
from biodyn.io.formats.c3d._parameters import Groups, continued, decoded_floats
from biodyn.io.formats.c3d._points import values_of
from biodyn.io.segment_poses import StoredPoses, checked_poses

_FLOATS = 17
_MOST_RATIO = 64


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
    matrices = table[..., :16].reshape(*table.shape[:2], 4, 4).swapaxes(2, 3)  # stored column by column
    return checked_poses(path, labels, matrices, table[..., 16], layout.rate_hz * ratio)


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
