"""A second, plain reader of C3D files for tests and benchmarks: struct and the words of the format, nothing of biodyn.

It goes by the header block alone (c3d.org user manual): so many points, so many analog values a frame, from this block
on. Slow, and without mercy for files that contradict themselves: it raises ValueError.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np

INTEL, DEC, MIPS = 84, 85, 86


@dataclass(frozen=True)
class PlainFile:
    """points (T, N, 3) file units, NaN where the fourth word is negative; analog (Ta, C) physical units."""

    points: np.ndarray
    analog: np.ndarray
    rate_hz: float
    parameters: dict[str, list]


def dec_float(raw: bytes) -> float:
    """DEC F-float bit by bit: words swapped, sign, 8 bits of exponent with bias 128, fraction 0.1mmm."""
    bits = (struct.unpack_from("<H", raw, 0)[0] << 16) | struct.unpack_from("<H", raw, 2)[0]
    exponent = (bits >> 23) & 0xFF
    if exponent == 0:
        return 0.0
    fraction = 0.5 + (bits & 0x7FFFFF) / 2.0**24
    return (-1.0 if bits >> 31 else 1.0) * math.ldexp(fraction, exponent - 128)


def floats(raw: bytes, processor: int) -> list[float]:
    if processor == DEC:
        return [dec_float(raw[i : i + 4]) for i in range(0, len(raw), 4)]
    return list(struct.unpack(f"{'>' if processor == MIPS else '<'}{len(raw) // 4}f", raw))


def integers(raw: bytes, processor: int, letter: str = "h") -> list[int]:
    return list(struct.unpack(f"{'>' if processor == MIPS else '<'}{len(raw) // 2}{letter}", raw))


def parameters_of(data: bytes) -> tuple[int, dict[str, list]]:
    """Processor and {"GROUP:NAME": values}."""
    at = (data[0] - 1) * 512
    processor = data[at + 3]
    at += 4
    groups, entries, found = {}, [], {}
    while data[at] != 0 and data[at + 1] != 0:
        length, number = abs(struct.unpack_from("b", data, at)[0]), struct.unpack_from("b", data, at + 1)[0]
        name = data[at + 2 : at + 2 + length].decode("latin-1").upper().strip()
        here = at + 2 + length
        step = integers(data[here : here + 2], processor, "H")[0]
        if number < 0:
            groups[-number] = name
        else:
            entries.append((number, name, here + 2))
        if step == 0:
            break
        at = here + step
    for number, name, here in entries:
        kind, count = struct.unpack_from("bB", data, here)
        dims = list(data[here + 2 : here + 2 + count])
        size = math.prod(dims)
        begin = here + 2 + count
        raw = data[begin : begin + size * abs(kind)]
        if len(raw) < size * abs(kind):
            raise ValueError(f"parameter {name} runs over the end")
        if kind == -1:
            width = dims[0] if dims else 1
            values: list = [raw[i : i + width].decode("latin-1").strip(" \0") for i in range(0, size, max(width, 1))]
        elif kind == 4:
            values = floats(raw, processor)
        elif kind == 2:
            values = integers(raw, processor)
        else:
            values = list(raw)
        found[f"{groups.get(number, '')}:{name}"] = values
    return processor, found


def read_plainly(path: Path) -> PlainFile:
    data = path.read_bytes()
    processor, parameters = parameters_of(data)
    points, analog_values, first, last = integers(data[2:10], processor, "H")
    block, samples = integers(data[16:20], processor, "H")
    scale, rate = floats(data[12:16], processor)[0], floats(data[20:24], processor)[0]
    frames = last - first + 1
    if last == 0xFFFF and parameters.get("POINT:LONG_FRAMES"):
        frames = int(parameters["POINT:LONG_FRAMES"][0])
    if frames < 1 or points < 1:
        raise ValueError("no frames or no points")
    words = 4 * points + analog_values
    size = 4 if scale < 0 else 2
    raw = data[(block - 1) * 512 : (block - 1) * 512 + frames * words * size]
    if len(raw) < frames * words * size:
        raise ValueError("truncated")
    plain = floats(raw, processor) if size == 4 else integers(raw, processor)
    table = np.array(plain, dtype=float).reshape(frames, words)
    quads = table[:, : 4 * points].reshape(frames, points, 4)
    places = quads[..., :3] * (1.0 if size == 4 else abs(scale))
    places[quads[..., 3] < 0] = np.nan
    return PlainFile(places, _analog(table[:, 4 * points :], samples, size == 2, parameters), rate, parameters)


def _continued(parameters: dict[str, list], name: str) -> list:
    values, number = list(parameters.get(name, [])), 2
    while f"{name}{number}" in parameters:
        values += parameters[f"{name}{number}"]
        number += 1
    return values


def _analog(values: np.ndarray, samples: int, is_integer: bool, parameters: dict[str, list]) -> np.ndarray:
    if values.shape[1] == 0:
        return np.empty((0, 0))
    if samples < 1 or values.shape[1] % samples:
        raise ValueError("analog values are not a whole number of samples")
    table = values.reshape(-1, values.shape[1] // samples)
    unsigned = "".join(str(v) for v in parameters.get("ANALOG:FORMAT", [])[:1]).upper().startswith("UNSIGNED")
    if is_integer and unsigned:
        table = np.where(table < 0, table + 65536, table)
    general = parameters.get("ANALOG:GEN_SCALE", [1.0])[0]
    scales, offsets = _continued(parameters, "ANALOG:SCALE"), _continued(parameters, "ANALOG:OFFSET")
    offsets = offsets or [0] * table.shape[1]
    if min(len(scales), len(offsets)) < table.shape[1]:
        raise ValueError("a channel has no scale or no offset")
    columns = []
    for c in range(table.shape[1]):
        offset = offsets[c]
        if unsigned and isinstance(offset, int) and offset < 0:
            offset += 65536
        columns.append((table[:, c] - offset) * scales[c] * general)
    return np.stack(columns, axis=1)
