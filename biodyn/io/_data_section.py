"""The numbers of a C3D file's data section: integers or floats, signed or not, in any of the three byte orders.

Format: the C3D user manual, c3d.org (data section, ANALOG parameters). A physical value of an analog channel is
(stored - OFFSET) * SCALE * GEN_SCALE.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.io._header import unsigned
from biodyn.io._layout import DataLayout
from biodyn.io._parameters import Groups, decoded_floats


@dataclass(frozen=True)
class DataSection:
    """What was stored.

    Attributes:
        points: (T, N, 3) file units, NaN where the residual word says that the point was not seen.
        samples: (Ta, C) scaled analog samples of the 0-based `channels`.
        unscaled: 0-based channels that were asked for, but whose SCALE or OFFSET the file does not hold.
    """

    points: FloatArray
    samples: FloatArray
    channels: tuple[int, ...] = ()
    unscaled: tuple[int, ...] = ()


def read_data(
    content: bytes, layout: DataLayout, processor: str, groups: Groups, channels: Sequence[int]
) -> DataSection:
    """Decode all points and the analog `channels` (0-based) of a file's bytes."""
    frames = _frames(content, layout, processor)
    split = 4 * layout.point_count
    words = frames[:, :split].reshape(layout.frame_count, layout.point_count, 4)
    points = words[..., :3].astype(float)
    if not layout.is_float:
        points *= layout.scale
    points[words[..., 3] < 0] = np.nan
    scales = {c: _scaling(groups, c, layout.channel_count) for c in channels if c < layout.channel_count}
    kept = [c for c, scaling in scales.items() if scaling is not None]
    analog = frames[:, split:].reshape(-1, max(layout.channel_count, 1))[:, kept]
    if not layout.is_float and _is_unsigned(groups):
        analog = analog.astype("<i2", copy=False).view("<u2")
    offset, scale = np.array([scales[c] for c in kept], dtype=float).reshape(-1, 2).T
    with np.errstate(invalid="ignore", over="ignore"):  # damaged numbers are judged by the caller
        samples = (analog.astype(float) - offset) * scale if kept else np.empty((0, 0))
    return DataSection(points, samples, tuple(kept), tuple(c for c in scales if scales[c] is None))


def _frames(content: bytes, layout: DataLayout, processor: str) -> np.ndarray[Any, np.dtype[Any]]:
    """(T, words of a frame) as stored, floats or integers."""
    count = layout.frame_count * layout.frame_words
    shape = (layout.frame_count, layout.frame_words)
    if not layout.is_float:
        order = ">" if processor == "MIPS" else "<"
        return np.frombuffer(content, dtype=f"{order}i2", count=count, offset=layout.start_byte).reshape(shape)
    words = np.frombuffer(content, dtype="<u2", count=2 * count, offset=layout.start_byte)
    return decoded_floats(words, processor).reshape(shape)


def _is_unsigned(groups: Groups) -> bool:
    """ANALOG:FORMAT; integers are signed where it is silent."""
    values = groups.get("ANALOG", {}).get("FORMAT", {}).get("values", [])
    return bool(values) and str(values[0]).strip().upper().startswith("UNSIGNED")


def _scaling(groups: Groups, channel: int, count: int) -> tuple[float, float] | None:
    """OFFSET, and SCALE times GEN_SCALE, of a channel; None where the file does not hold them."""
    analog = groups.get("ANALOG", {})
    scales, offsets = _continued(analog, "SCALE"), _continued(analog, "OFFSET")
    general = _continued(analog, "GEN_SCALE") or [1.0]
    if channel >= len(scales) or (offsets and channel >= len(offsets)):
        return None
    offset = offsets[channel] if offsets else 0
    if _is_unsigned(groups) and isinstance(offset, int):  # then the offset's 16 bits are unsigned too
        offset = unsigned(offset)
    scale = float(scales[channel]) * float(general[0])
    return (float(offset), scale) if np.isfinite(scale) and np.isfinite(offset) else None


def _continued(group: Any, name: str) -> list[float]:
    """Values of a parameter with those of its continuations: SCALE, SCALE2 ..."""
    values = list(group.get(name, {}).get("values", []))
    number = 2
    while f"{name}{number}" in group:
        values += group[f"{name}{number}"]["values"]
        number += 1
    return [value for value in values if not isinstance(value, str)]
