"""Write C3D files of every kind the format knows: byte orders, integers and floats, offsets, plates, long files.

Written for the tests, apart from biodyn's own writer, which writes one kind only.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

INTEL, DEC, MIPS = 84, 85, 86
ORDERS = {"intel": INTEL, "dec": DEC, "mips": MIPS}


@dataclass(frozen=True)
class Kind:
    """How numbers are stored: processor type, float or integer, ANALOG:FORMAT."""

    processor: int = INTEL
    is_float: bool = True
    unsigned: bool = False


@dataclass(frozen=True)
class Trial:
    """What is stored.

    points (T, N, 3) mm, NaN where not seen; raw (Ta, C) analog samples as the converter counted them; offset, scale (C,)
    and general make physical units of them: (raw - offset) * scale * general. header: words of the header block that
    shall say something else than the truth. drop: parameters not written.
    """

    points: np.ndarray
    labels: Sequence[str]
    rate_hz: float = 100.0
    raw: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))
    offset: Sequence[float] = ()
    scale: Sequence[float] = ()
    general: float = 1.0
    analog_units: Sequence[str] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)
    header: Mapping[str, float] = field(default_factory=dict)
    drop: Sequence[str] = ()
    point_scale: float = 0.1
    padding: int = 0

    @property
    def physical(self) -> np.ndarray:
        """(Ta, C) in physical units."""
        return (self.raw - np.asarray(self.offset)) * np.asarray(self.scale) * self.general


def dec_bytes(value: float) -> bytes:
    """DEC F-float by its definition: 0.1mmm times 2 ** (exponent - 128), high word first."""
    if value == 0:
        return b"\0\0\0\0"
    fraction, exponent = math.frexp(abs(np.float32(value)))
    mantissa = round((fraction - 0.5) * 2**24)
    bits = ((value < 0) << 31) | ((exponent + 128) << 23) | mantissa
    return struct.pack("<HH", bits >> 16, bits & 0xFFFF)


class _Bytes:
    def __init__(self, processor: int) -> None:
        self.processor = processor
        self.order = ">" if processor == MIPS else "<"

    def word(self, value: int) -> bytes:
        return struct.pack(f"{self.order}H", int(value) & 0xFFFF)

    def real(self, value: float) -> bytes:
        return dec_bytes(value) if self.processor == DEC else struct.pack(f"{self.order}f", value)

    def words(self, values: np.ndarray) -> bytes:
        return np.asarray(np.asarray(values).astype(np.int64) & 0xFFFF, dtype=f"{self.order}u2").tobytes()

    def reals(self, values: np.ndarray) -> bytes:
        if self.processor != DEC:
            return np.asarray(values).astype(f"{self.order}f4").tobytes()
        table = {float(v): dec_bytes(float(v)) for v in np.unique(np.asarray(values).astype(np.float32))}
        return b"".join(table[float(v)] for v in np.asarray(values).astype(np.float32).ravel())

    def parameter(self, value: Any) -> bytes:
        if isinstance(value, bytes):
            return struct.pack("<bBB", -1, 1, len(value)) + value
        if isinstance(value, str):
            return self.parameter(value.encode("ascii"))
        if isinstance(value, (list, tuple)) and value and isinstance(value[0], (str, bytes)):
            raw = [v.encode("ascii") if isinstance(v, str) else v for v in value]
            width = max(1, *(len(v) for v in raw))
            return struct.pack("<bBBB", -1, 2, width, len(raw)) + b"".join(v.ljust(width) for v in raw)
        array = np.asarray(value)
        dims = bytes(reversed(array.shape))
        if array.dtype.kind in "iu":
            return struct.pack("<bB", 2, len(dims)) + dims + self.words(array)
        return struct.pack("<bB", 4, len(dims)) + dims + self.reals(array)


def _long_list(name: str, values: Sequence[Any]) -> dict[str, Any]:
    """At most 255 values a parameter, continued in NAME2, NAME3 ..."""
    parts = [values[i : i + 255] for i in range(0, len(values), 255)]
    return {name if i == 0 else f"{name}{i + 1}": part for i, part in enumerate(parts)}


def write_trial(path: Path, trial: Trial, kind: Kind = Kind()) -> Path:
    """Write the trial in one of the formats and return the path."""
    pack = _Bytes(kind.processor)
    frames, points = trial.points.shape[:2]
    channels = trial.raw.shape[1]
    samples = len(trial.raw) // frames if channels else 0
    scale = -1.0 if kind.is_float else trial.point_scale
    low = np.asarray(trial.offset, dtype=np.int64)
    group_tables: dict[str, dict[str, Any]] = {
        "POINT": {
            "USED": np.int16(points) if points < 32768 else points,
            "FRAMES": min(frames, 65535),
            "DATA_START": 0,
            "SCALE": scale,
            "RATE": float(trial.rate_hz),
            "UNITS": "mm",
            **_long_list("LABELS", list(trial.labels)),
        },
        "ANALOG": {
            "USED": channels,
            "RATE": float(trial.rate_hz * samples),
            "GEN_SCALE": float(trial.general),
            **(_long_list("LABELS", [f"A{c}" for c in range(channels)]) if channels else {}),
            **(_long_list("UNITS", list(trial.analog_units)) if len(trial.analog_units) else {}),
            **(_long_list("SCALE", np.asarray(trial.scale, dtype=float)) if channels else {}),
            **(_long_list("OFFSET", low) if channels else {}),
            **({"FORMAT": "UNSIGNED"} if kind.unsigned else {}),
        },
    }
    if frames > 65535:
        group_tables["POINT"]["LONG_FRAMES"] = float(frames)
    for key, value in trial.parameters.items():
        group, name = key.split(":")
        group_tables.setdefault(group, {})[name] = value
    for key in trial.drop:
        group, name = key.split(":")
        group_tables[group].pop(name, None)
    section = b""
    for _ in range(2):  # the second time with the block where the data begin
        blocks = -(-(len(section) + 6) // 512)
        if "DATA_START" in group_tables["POINT"] and "POINT:DATA_START" not in trial.parameters:
            group_tables["POINT"]["DATA_START"] = 2 + blocks
        section = b""
        for number, (group, entries) in enumerate(group_tables.items(), start=1):
            section += _record(pack, group, -number, b"")
            for name, value in entries.items():
                section += _record(pack, name, number, pack.parameter(value))
    words = {
        "points": points,
        "analog": channels * samples,
        "first": 1,
        "last": min(frames, 65535),
        "scale": scale,
        "block": 2 + blocks,
        "samples": samples,
        "rate": trial.rate_hz,
        **trial.header,
    }
    header = b"\x02\x50" + b"".join(pack.word(words[k]) for k in ("points", "analog", "first", "last")) + pack.word(10)
    header += (
        pack.real(words["scale"]) + pack.word(words["block"]) + pack.word(words["samples"]) + pack.real(words["rate"])
    )
    parameters = bytes([1, 0x50, blocks & 0xFF, kind.processor]) + section + b"\0\0"
    body = _body(pack, trial, kind, samples)
    path.write_bytes(header.ljust(512, b"\0") + parameters.ljust(512 * blocks, b"\0") + body + b"\0" * trial.padding)
    return path


def _record(pack: _Bytes, name: str, number: int, body: bytes) -> bytes:
    rest = body + b"\0"
    return struct.pack("<bb", len(name), number) + name.encode("ascii") + pack.word(2 + len(rest)) + rest


def _body(pack: _Bytes, trial: Trial, kind: Kind, samples: int) -> bytes:
    frames = len(trial.points)
    seen = np.isfinite(trial.points).all(axis=2)
    places = np.where(seen[..., None], trial.points, 0.0)
    if not kind.is_float:
        places = np.round(places / trial.point_scale)
    quads = np.concatenate([places, np.where(seen, 0.0, -1.0)[..., None]], axis=2).reshape(frames, -1)
    table = np.concatenate([quads, trial.raw.reshape(frames, -1)], axis=1) if samples else quads
    return pack.reals(table) if kind.is_float else pack.words(np.round(table))


def a_trial(
    frames: int = 20,
    channels: int = 12,
    samples: int = 5,
    offset: Sequence[float] | float = 0,
    seed: int = 0,
    **more: Any,
) -> Trial:
    """Sixteen markers that move like a body's and as many plate channels as asked for; raw counts around the offset."""
    rng = np.random.default_rng(seed)
    labels = [f"MRK{i:02d}" for i in range(16)]
    time = np.arange(frames)[:, None, None] / 100.0
    start = rng.uniform([-300, -300, 20], [300, 300, 1700], (16, 3))
    points = start + np.array([900.0, 20.0, 0.0]) * time + 30.0 * np.sin(6.0 * time + rng.uniform(0, 6, (16, 3)))
    points = np.round(points, 1)
    points[rng.random((frames, 16)) < 0.03] = np.nan
    points[0, 0] = np.round(start[0], 1)
    low = np.broadcast_to(np.asarray(offset, dtype=float), (channels,))
    counts = np.round(rng.normal(0, 900, (frames * samples, channels)))
    more = {
        "scale": rng.uniform(0.1, 0.5, channels).astype(np.float32),
        "analog_units": ["N", "N", "N", "Nmm", "Nmm", "Nmm"] * 100,
        **more,
    }
    more["analog_units"] = list(more["analog_units"])[:channels]
    return Trial(points=points, labels=labels, raw=low + counts, offset=[float(v) for v in low], **more)


def plates(kind: int, count: int = 1, rows: int | None = None) -> dict[str, Any]:
    """FORCE_PLATFORM of `count` plates of a type, side by side."""
    needed = {1: 6, 2: 6, 3: 8, 4: 6}[kind]
    rows = rows or needed
    corners = np.array(
        [[[200, y + 600, 0], [200, y, 0], [-200, y, 0], [-200, y + 600, 0]] for y in range(0, 600 * count, 600)]
    )
    table: dict[str, Any] = {
        "FORCE_PLATFORM:USED": count,
        "FORCE_PLATFORM:TYPE": np.full(count, kind),
        "FORCE_PLATFORM:ZERO": np.array([1, 0]),
        "FORCE_PLATFORM:CORNERS": corners.astype(float),
        "FORCE_PLATFORM:ORIGIN": np.tile([120.0, 200.0, -40.0], (count, 1)),
        "FORCE_PLATFORM:CHANNEL": np.arange(1, rows * count + 1).reshape(count, rows),
    }
    if kind == 4:
        table["FORCE_PLATFORM:CAL_MATRIX"] = np.stack([np.diag([2.0, 2.0, 8.0, 900.0, 900.0, 500.0])] * count)
    return table
