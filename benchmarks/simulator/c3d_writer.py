"""Write C3D files: little-endian floats, one block of parameters, nothing that a reader has to guess.

Layout as in the C3D user guide (c3d.org): a header block, the parameter section, then frame by frame the points
(x, y, z, residual) and the analog samples.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from biodyn.conventions import BoolArray, FloatArray
from biodyn.errors import BiodynError

_BLOCK = 512
_INTEL = 84
_KEY = 0x50
_CHARACTER, _INTEGER, _FLOAT = -1, 2, 4
_FIRST_PARAMETER_BLOCK = 2
_LARGEST_WORD = 65535  # longer recordings state their frames in TRIAL:ACTUAL_..._FIELD

ParameterValue = str | int | float | Sequence[str] | Sequence[int] | Sequence[float] | NDArray[np.generic]
Parameters = Mapping[str, Mapping[str, ParameterValue]]


@dataclass(frozen=True)
class C3dContent:
    """What a file shall hold.

    Attributes:
        labels: of the points. positions: (T, N, 3) in `units`, NaN where a point was not seen.
        rate_hz: frames per second. units: of length.
        analog: (Ta, C) samples in physical units; Ta an integer multiple of T. analog_labels, analog_units: of the channels.
        parameters: further groups {group: {name: value}}; values are text, numbers, lists of either, or arrays, whose
            first axis varies slowest (a list of n corners of 3 numbers is (n, 3), C3D's 3 x n).
        first_frame: number of the first frame.
        segments: labels of segments whose poses (T, S, 4, 4) into the file's axes, lengths in `units`, are `poses`;
            reliability (T, S), 1 where it is not given.
        overrides: parameters that are written instead of what the content says of itself, to make contradictory files.
    """

    labels: Sequence[str]
    positions: FloatArray
    rate_hz: float
    units: str = "mm"
    analog: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))
    analog_labels: Sequence[str] = ()
    analog_units: Sequence[str] = ()
    parameters: Parameters = field(default_factory=dict)
    first_frame: int = 1
    segments: Sequence[str] = ()
    poses: FloatArray = field(default_factory=lambda: np.zeros((0, 0, 4, 4)))
    reliability: FloatArray | None = None
    overrides: Parameters = field(default_factory=dict)


def write_c3d(path: str | Path, content: C3dContent) -> None:
    """Write the file. Raises BiodynError where labels and data do not fit each other or the format's limits."""
    frames, points = content.positions.shape[:2]
    channels = len(content.analog_labels)
    samples = len(content.analog) // frames if channels else 0
    _check(content, samples)
    groups: dict[str, dict[str, ParameterValue]] = {
        "POINT": {
            "USED": points,
            "FRAMES": min(frames, _LARGEST_WORD),
            "DATA_START": 0,  # set below, once the length of this section is known
            "SCALE": -1.0,
            "RATE": float(content.rate_hz),
            "UNITS": content.units,
            "LABELS": list(content.labels),
            "DESCRIPTIONS": [""] * points,
        },
        "ANALOG": {
            "USED": channels,
            "RATE": float(content.rate_hz * samples),
            "GEN_SCALE": 1.0,
            "SCALE": np.ones(channels),
            "OFFSET": np.zeros(channels, dtype=np.int16),  # an array: numbers even where there are none
            "LABELS": list(content.analog_labels),
            "UNITS": list(content.analog_units),
            "FORMAT": "SIGNED",
        },
    }
    last = content.first_frame + frames - 1
    if last > _LARGEST_WORD:
        groups["TRIAL"] = {
            f"ACTUAL_{name}_FIELD": np.array([number & _LARGEST_WORD, number >> 16])
            for name, number in (("START", content.first_frame), ("END", last))
        }
    for group, entries in content.parameters.items():
        groups.setdefault(group, {}).update(entries)
    if content.segments:
        groups["ROTATION"] = _rotation_group(content)
    blocks = -(-len(_parameter_section(groups, 0)) // _BLOCK)
    data_start = _FIRST_PARAMETER_BLOCK + blocks
    groups["POINT"]["DATA_START"] = data_start
    data = _data(content, channels, samples)
    if content.segments:
        data = data.ljust(-(-len(data) // _BLOCK) * _BLOCK, b"\0")
        groups["ROTATION"]["DATA_START"] = data_start + len(data) // _BLOCK
        data += _pose_data(content)
    for group, entries in content.overrides.items():
        groups[group].update(entries)
    with Path(path).open("wb") as file:
        file.write(_header(content, frames, points, channels, samples, data_start))
        file.write(_parameter_section(groups, blocks).ljust(blocks * _BLOCK, b"\0"))
        file.write(data)


def _check(content: C3dContent, samples: int) -> None:
    frames, points = content.positions.shape[:2]
    if len(content.labels) != points:
        raise BiodynError(f"A C3D file needs a label for each of its {points} points, found {len(content.labels)}.")
    channels = len(content.analog_labels)
    if channels and content.analog.shape != (frames * samples, channels):
        raise BiodynError(
            f"A C3D file needs whole analog samples per frame: {frames} frames and {channels} channels do not fit samples of "
            f"shape {content.analog.shape}."
        )
    if len(content.analog_units) != channels:
        raise BiodynError(f"{channels} analog channels need as many units, found {len(content.analog_units)}.")
    if content.segments and content.poses.shape != (frames, len(content.segments), 4, 4):
        raise BiodynError(
            f"Poses of {len(content.segments)} segments in {frames} frames are {(frames, len(content.segments), 4, 4)}, not "
            f"{content.poses.shape}."
        )
    if max(channels * samples, points) > 32767:
        raise BiodynError("A C3D file holds at most 32767 points and analog values a frame.")


def _rotation_group(content: C3dContent) -> dict[str, ParameterValue]:
    return {
        "USED": len(content.segments),
        "DATA_START": 0,  # set once the length of what lies before it is known
        "RATE": float(content.rate_hz),
        "RATIO": 1,
        "FRAMES": len(content.poses),
        "LABELS": list(content.segments),
        "DESCRIPTIONS": [""] * len(content.segments),
    }


def _pose_data(content: C3dContent) -> bytes:
    """Seventeen floats a pose: the matrix column by column, the reliability."""
    frames, segments = content.poses.shape[:2]
    columns = content.poses.swapaxes(2, 3).reshape(frames, segments, 16)
    reliability = np.ones((frames, segments)) if content.reliability is None else content.reliability
    return np.concatenate([columns, reliability[..., None]], axis=2).astype("<f4").tobytes()


def _header(content: C3dContent, frames: int, points: int, channels: int, samples: int, data_start: int) -> bytes:
    header = struct.pack(
        "<BBHHHHHfHHf",
        _FIRST_PARAMETER_BLOCK,
        _KEY,
        points,
        channels * samples,
        content.first_frame,
        min(content.first_frame + frames - 1, _LARGEST_WORD),
        0,
        -1.0,  # negative: floats
        data_start,
        samples,
        content.rate_hz,
    )
    return header.ljust(_BLOCK, b"\0")


def _parameter_section(groups: Mapping[str, Mapping[str, ParameterValue]], blocks: int) -> bytes:
    section = struct.pack("<BBBB", 1, _KEY, blocks, _INTEL)
    for number, (group, entries) in enumerate(groups.items(), start=1):
        section += _record(group, -number, b"")
        for name, value in entries.items():
            section += _record(name, number, _encoded(value))
    return section + b"\0\0"


def _record(name: str, number: int, body: bytes) -> bytes:
    """One group (negative number) or parameter record, without description."""
    text = name.encode("ascii")
    rest = body + b"\0"
    return struct.pack("<bb", len(text), number) + text + struct.pack("<h", 2 + len(rest)) + rest


def _encoded(value: ParameterValue) -> bytes:
    if isinstance(value, str):
        return _shaped(_CHARACTER, [len(value)], value.encode("ascii"))
    if isinstance(value, (list, tuple)) and (not value or isinstance(value[0], str)):
        width = max([len(text) for text in value] + [1])
        return _shaped(
            _CHARACTER, [width, len(value)], b"".join(str(text).ljust(width).encode("ascii") for text in value)
        )
    array = np.asarray(value)
    dimensions = [int(n) for n in reversed(array.shape)]  # C3D's first dimension varies fastest
    if array.dtype.kind in "iub":
        return _shaped(_INTEGER, dimensions, array.astype("<i2").tobytes())  # the bits of larger, unsigned words stay
    return _shaped(_FLOAT, dimensions, array.astype("<f4").tobytes())


def _shaped(kind: int, dimensions: Sequence[int], data: bytes) -> bytes:
    if any(n > 255 for n in dimensions):
        raise BiodynError(f"A C3D parameter has at most 255 entries in a dimension, found {tuple(dimensions)}.")
    return struct.pack("<bB", kind, len(dimensions)) + bytes(dimensions) + data


def _data(content: C3dContent, channels: int, samples: int) -> bytes:
    frames, points = content.positions.shape[:2]
    seen: BoolArray = np.asarray(np.isfinite(content.positions).all(axis=2))
    block = np.zeros((frames, points * 4 + channels * samples), dtype="<f4")
    block[:, : points * 4] = np.concatenate(
        [np.where(seen[..., None], content.positions, 0.0), np.where(seen, 0.0, -1.0)[..., None]], axis=2
    ).reshape(frames, -1)
    if channels:
        block[:, points * 4 :] = content.analog.reshape(frames, -1)
    return block.tobytes()
