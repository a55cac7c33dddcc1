"""The parameter section of a C3D file in plain Python: safe on any bytes, quick on many files.

Format: the C3D user manual, c3d.org (parameter section). Groups and parameters are a linked list of records.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from biodyn.io.text import clean_text, clean_texts

_CHAR, _BYTE, _INT, _FLOAT = -1, 1, 2, 4
_BIG_ENDIAN = ("MIPS",)

Wanted = Callable[[str, str], bool]
Groups = Mapping[str, Mapping[str, Mapping[str, Any]]]


@dataclass(frozen=True)
class ParameterSection:
    """All parameters of a file.

    Attributes:
        texts: "GROUP:NAME" -> tuple of clean texts. numbers: "GROUP:NAME" -> tuple of numbers, the first dimension
            fastest. dims: "GROUP:NAME" -> dimensions as stored.
        is_whole: the list of records ended where it says it ends, and every parameter could be decoded.
    """

    texts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    numbers: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    dims: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    is_whole: bool = True

    @property
    def groups(self) -> dict[str, dict[str, dict[str, Any]]]:
        """All parameters as {group: {name: {"dims": [...], "values": [...]}}}."""
        groups: dict[str, dict[str, dict[str, Any]]] = {}
        for table in (self.texts, self.numbers):
            for key, values in table.items():
                group, _, name = key.partition(":")
                groups.setdefault(group, {})[name] = {"dims": list(self.dims[key]), "values": list(values)}
        return groups


def continued(group: Mapping[str, Mapping[str, Any]], name: str) -> list[Any]:
    """Values of a parameter of a group with those of its continuations: LABELS, LABELS2, LABELS3 ..."""
    values = list(group.get(name, {}).get("values", []))
    number = 2
    while f"{name}{number}" in group:
        values += group[f"{name}{number}"]["values"]
        number += 1
    return values


@dataclass(frozen=True)
class _Record:
    group: int
    name: str
    begin: int


def read_parameters(section: bytes, processor: str, wanted: Wanted) -> ParameterSection:
    """Decode the records that follow the section's four prefix bytes; stops where the bytes make no sense.

    `processor` "Intel", "DEC" or "MIPS"; `wanted` of group and name: which parameters are decoded.
    """
    order = ">" if processor in _BIG_ENDIAN else "<"
    group_names: dict[int, str] = {}
    parameters: list[_Record] = []
    is_whole = False
    for record in _records(section, order):
        if record is None:
            is_whole = True
        elif record.group < 0:
            group_names[-record.group] = record.name
        else:
            parameters.append(record)
    texts: dict[str, tuple[str, ...]] = {}
    numbers: dict[str, tuple[float, ...]] = {}
    shapes: dict[str, tuple[int, ...]] = {}
    for record in parameters:  # names of groups may come after their parameters
        group = group_names.get(record.group, "")
        if not wanted(group, record.name):
            continue
        entry = _entry(section, record.begin)
        if entry is None:
            is_whole = False
            continue
        kind, dims, data = entry
        key = f"{group}:{record.name}"
        shapes[key] = dims
        if kind == _CHAR:
            texts[key] = _texts(data, dims)
        else:
            numbers[key] = _numbers(data, kind, processor)
    return ParameterSection(texts, numbers, shapes, is_whole)


def _records(section: bytes, order: str) -> Iterator[_Record | None]:
    """Every record of the list; None at last where the list ends as the format says."""
    position = 0
    while position + 2 <= len(section):
        length, identifier = struct.unpack_from("<bb", section, position)
        length = abs(length)  # negative = locked
        if length == 0 or identifier == 0:
            yield None
            return
        offset_at = position + 2 + length
        if offset_at + 2 > len(section):
            return
        name = clean_text(section[position + 2 : offset_at]).upper()
        offset = _offset(section, offset_at, order)
        if not name and offset_at + offset > len(section):  # bytes behind the list that were never zeroed
            yield None
            return
        yield _Record(identifier, name, offset_at + 2)
        if offset == 0:
            yield None
            return
        if offset < 2:
            return
        position = offset_at + offset
    if position == len(section):  # filled to its last byte
        yield None


def _offset(section: bytes, at: int, order: str) -> int:
    """Bytes to the next record; editors of SGI/MIPS files append records whose own number is in Intel order."""
    (offset,) = struct.unpack_from(f"{order}H", section, at)
    if order == ">" and at + offset > len(section):
        (offset,) = struct.unpack_from("<H", section, at)
    return int(offset)


def _entry(section: bytes, position: int) -> tuple[int, tuple[int, ...], bytes] | None:
    """Element type, dimensions and bytes of a parameter, None where it runs over the end or has no known type."""
    if position + 2 > len(section):
        return None
    kind, dimension_count = struct.unpack_from("<bB", section, position)
    if kind not in (_CHAR, _BYTE, _INT, _FLOAT):
        return None
    dims = tuple(section[position + 2 : position + 2 + dimension_count])
    count = 1
    for size in dims:
        count *= size
    begin = position + 2 + dimension_count
    data = section[begin : begin + count * abs(kind)]
    if len(dims) < dimension_count or len(data) < count * abs(kind):
        return None
    return kind, dims, data


def _texts(data: bytes, dims: tuple[int, ...]) -> tuple[str, ...]:
    """Texts of as many bytes as the first dimension says."""
    width = max(dims[0] if dims else 1, 1)
    steps = range(0, len(data), width)
    if data.isascii() and (text := data.decode("ascii")).isprintable():  # nearly always, and quick
        return tuple(text[i : i + width].strip() for i in steps)
    return clean_texts([data[i : i + width] for i in steps])


def _numbers(data: bytes, kind: int, processor: str) -> tuple[float, ...]:
    if kind == _BYTE:
        return tuple(data)
    order = ">" if processor in _BIG_ENDIAN else "<"
    if kind == _INT:
        return struct.unpack(f"{order}{len(data) // 2}h", data)
    if processor == "DEC":
        return tuple(decoded_floats(np.frombuffer(data, dtype="<u2"), processor).tolist())
    return struct.unpack(f"{order}{len(data) // 4}f", data)


def decoded_floats(words: np.ndarray[Any, np.dtype[np.uint16]], processor: str) -> np.ndarray[Any, np.dtype[Any]]:
    """Floats of pairs of 16-bit words (..., 2 n) in the processor's order -> (..., n).

    DEC's F-float keeps its high word first and has an exponent two larger; it is zero where its exponent is, and knows
    neither infinity nor NaN.
    """
    if processor == "DEC":
        swapped = np.ascontiguousarray(words.reshape(*words.shape[:-1], -1, 2)[..., ::-1])
        bits = swapped.view("<u4")[..., 0]
        exponent = (bits >> 23) & 0xFF
        reduced = exponent > 2  # smaller ones are divided in double precision
        values = np.where(reduced, bits - np.uint32(2 << 23), bits).view("<f4").astype(float)
        return np.where(reduced, values, np.where(exponent > 0, values / 4.0, 0.0))
    return words.view(">f4" if processor in _BIG_ENDIAN else "<f4")
