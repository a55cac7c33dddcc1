"""Decode the points, analog samples and segment poses of a C3D file.

Points and samples are integers or floats, signed or not, in any of three byte orders (C3D user manual, c3d.org, data
section and ANALOG parameters): a physical value of an analog channel is (stored - OFFSET) * SCALE * GEN_SCALE. A pose
is 17 four-byte floats, a 4 x 4 matrix column by column, from segment axes to laboratory axes, and a
reliability (Visual3D documentation, "ROTATION data type", wiki.has-motion.com); files of Theia3D hold only poses and
the analog samples of the force plates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.errors import InputFileError
from biodyn.io.file_access import COPY_AGAIN, EXPORT_AGAIN
from biodyn.io.formats.c3d.data_layout import DataLayout
from biodyn.io.formats.c3d.header import BLOCK_BYTES, Groups, continued_values, decode_floats, unsigned_count
from biodyn.io.formats.c3d.parameter_groups import parameter_values
from biodyn.io.segment_poses import poses_from_matrices
from biodyn.recording import SegmentPoses


@dataclass(frozen=True)
class DataSection:
    """Decoded points and analog samples.

    Attributes:
        points: (T, N, 3) file units, NaN if the residual marks the point as not seen.
        samples: (Ta, C) scaled analog samples of the 0-based `channels`.
        unscaled: requested 0-based channels that have no SCALE or OFFSET.
        steps: (C,) change of a sample for a change of 1 of the stored integer.
    """

    points: FloatArray
    samples: FloatArray
    channels: tuple[int, ...] = ()
    unscaled: tuple[int, ...] = ()
    steps: tuple[float, ...] = ()


def decode_data_section(
    content: bytes, layout: DataLayout, processor: str, groups: Groups, channels: Sequence[int]
) -> DataSection:
    """Decode all points and the analog `channels` (0-based) of a file's bytes."""
    frames = _stored_numbers(content, layout, processor)
    split = 4 * layout.point_count
    words = frames[:, :split].reshape(layout.frame_count, layout.point_count, 4)
    with np.errstate(invalid="ignore"):  # a damaged number may be a signalling NaN
        points = words[..., :3].astype(float)
    if not layout.is_float:
        points *= layout.scale
    points[words[..., 3] < 0] = np.nan
    table = frames[:, split:].reshape(-1, max(layout.channel_count, 1))
    if not layout.is_float and _analog_format(groups) == "UNSIGNED":
        table = table.astype("<i2").view("<u2")
    with np.errstate(invalid="ignore"):
        stored = {c: table[:, c].astype(float) for c in channels if c < layout.channel_count}
    scalings = {c: _channel_scaling(groups, c) for c in stored}
    usable = {c: scaling for c, scaling in scalings.items() if scaling is not None}
    with np.errstate(invalid="ignore", over="ignore"):  # damaged numbers are handled by the caller
        physical = [(stored[c] - offset) * scale for c, (offset, scale) in usable.items()]
    return DataSection(
        points,
        np.stack(physical, axis=1) if physical else np.empty((0, 0)),
        channels=tuple(usable),
        unscaled=tuple(c for c in scalings if c not in usable),
        steps=tuple(scale for _, scale in usable.values()),
    )


def _stored_numbers(content: bytes, layout: DataLayout, processor: str) -> np.ndarray[Any, np.dtype[Any]]:
    """Return the stored numbers (T, words per frame), floats or integers."""
    count = layout.frame_count * layout.frame_words
    shape = (layout.frame_count, layout.frame_words)
    if not count:  # the empty section of a file of segment poses may start beyond the end of the file
        return np.empty(shape)
    if not layout.is_float:
        order = ">" if processor == "MIPS" else "<"
        return np.frombuffer(content, dtype=f"{order}i2", count=count, offset=layout.start_byte).reshape(shape)
    words = np.frombuffer(content, dtype="<u2", count=2 * count, offset=layout.start_byte)
    return decode_floats(words, processor).reshape(shape)


def _analog_format(groups: Groups) -> str:
    """Return ANALOG:FORMAT, "UNSIGNED" or "SIGNED"; "" if not stated, which means signed integers."""
    values = groups.get("ANALOG", {}).get("FORMAT", {}).get("values", [])
    text = str(values[0]).strip().upper() if values else ""
    return "UNSIGNED" if text.startswith("UNSIGNED") else text


def _channel_scaling(groups: Groups, channel: int) -> tuple[float, float] | None:
    """Return OFFSET, and SCALE times GEN_SCALE, of a channel; None if the file does not contain them."""
    analog = groups.get("ANALOG", {})
    scales, offsets = _numeric_values(analog, "SCALE"), _numeric_values(analog, "OFFSET")
    general = _numeric_values(analog, "GEN_SCALE") or [1.0]
    if channel >= len(scales) or (offsets and channel >= len(offsets)):
        return None
    offset = offsets[channel] if offsets else 0
    scale = float(scales[channel]) * float(general[0])
    if not (np.isfinite(scale) and np.isfinite(offset)):
        return None
    if isinstance(offset, int) and offset < 0 and _analog_format(groups) == "UNSIGNED":
        offset = unsigned_count(offset)
    return float(offset), scale


def _numeric_values(group: Mapping[str, Mapping[str, Any]], name: str) -> list[float]:
    return [value for value in continued_values(group, name) if not isinstance(value, str)]


def segment_labels(groups: Groups) -> tuple[str, ...]:
    """Return the labels of the segments with poses; empty without poses."""
    used = _rotation_group_count(groups, "USED")
    return tuple(str(label).strip() for label in continued_values(groups.get("ROTATION", {}), "LABELS")[:used])


def read_segment_poses(
    path: Path, content: bytes, layout: DataLayout, processor: str, groups: Groups
) -> tuple[SegmentPoses | None, tuple[Diagnostic, ...]]:
    """Return the segment poses in file units (None if none exist), and notes.

    Raises InputFileError if counts, labels and bytes are inconsistent, or the matrices are not poses.
    """
    floats = 17
    used = _rotation_group_count(groups, "USED")
    if not used:
        return None, ()
    labels = segment_labels(groups)
    if len(labels) < used or len(set(labels)) < used or "" in labels:
        raise InputFileError(
            f"'{path}' holds poses of {used} segments (ROTATION:USED) but {len({*labels} - {''})} different labels "
            f"for them.",
            EXPORT_AGAIN,
        )
    ratio = _poses_per_frame(path, groups, layout.rate_hz)
    frames = layout.frame_count * ratio
    start, size = (_rotation_group_count(groups, "DATA_START") - 1) * BLOCK_BYTES, 4 * floats * used
    if start < BLOCK_BYTES or start + frames * size > len(content):
        stored = max(0, len(content) - start) // size if start >= BLOCK_BYTES else 0
        raise InputFileError(
            f"'{path}' is truncated: the header specifies {frames} frames of {used} segment poses, but the file contains "
            f"{stored} frames after ROTATION:DATA_START.",
            COPY_AGAIN,
        )
    stored_frames = _rotation_group_count(groups, "FRAMES")
    if stored_frames not in (0, 0xFFFF, frames):
        raise InputFileError(
            f"'{path}' is inconsistent: it has {stored_frames} frames of poses (ROTATION:FRAMES), but "
            f"{layout.frame_count} frames at {ratio} poses per frame.",
            EXPORT_AGAIN,
        )
    words = np.frombuffer(content, dtype="<u2", count=frames * size // 2, offset=start)
    with np.errstate(invalid="ignore", over="ignore"):
        table = decode_floats(words, processor).astype(float).reshape(frames, used, floats)
    matrices = table[..., :16].reshape(*table.shape[:2], 4, 4).swapaxes(2, 3)  # stored column by column
    return poses_from_matrices(path, labels, matrices, table[..., 16], layout.rate_hz * ratio)


def _rotation_group_count(groups: Groups, name: str) -> int:
    """Return an unsigned integer parameter of the group ROTATION; 0 if it is missing."""
    values = parameter_values(groups, "ROTATION", name)
    return unsigned_count(values[0]) if values and not isinstance(values[0], str) else 0


def _poses_per_frame(path: Path, groups: Groups, rate_hz: float) -> int:
    """Return the poses per frame by ROTATION:RATIO or the rates; InputFileError if both differ or it is not an integer."""
    most_ratio = 64
    stated = parameter_values(groups, "ROTATION", "RATE")
    by_rate = float(stated[0]) / rate_hz if stated and not isinstance(stated[0], str) else float("nan")
    ratio = _rotation_group_count(groups, "RATIO") or (round(by_rate) if np.isfinite(by_rate) else 1)
    if not 1 <= ratio <= most_ratio or (np.isfinite(by_rate) and abs(by_rate - ratio) > 0.01 * ratio):
        raise InputFileError(
            f"'{path}' is inconsistent: ROTATION:RATIO is {ratio}, but ROTATION:RATE is {by_rate:g} times the frame "
            f"rate.",
            EXPORT_AGAIN,
        )
    return ratio
