"""Read the header block and parameter section of a C3D file; safe for arbitrary bytes (C3D user manual, c3d.org)."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from biodyn.errors import InputFileError
from biodyn.io.file_access import COPY_AGAIN, ReaderLimits, require_nonempty_file
from biodyn.io.text_decoding import clean_text, clean_texts


class ElementType(IntEnum):
    """Codes of the data types in which a C3D file stores the values of a parameter."""

    CHARACTER = -1
    BYTE = 1
    INTEGER = 2
    FLOAT = 4


_KINDS = frozenset(ElementType)

_BIG_ENDIAN = ("MIPS",)

Wanted = Callable[[str, str], bool]
Groups = Mapping[str, Mapping[str, Mapping[str, Any]]]


def continued_values(group: Mapping[str, Mapping[str, Any]], name: str) -> list[Any]:
    """Return the values of a parameter and of its continuations: LABELS, LABELS2, LABELS3 ..."""
    values = list(group.get(name, {}).get("values", []))
    number = 2
    while f"{name}{number}" in group:
        values += group[f"{name}{number}"]["values"]
        number += 1
    return values


#: Group number of a record (negative for the group itself), its name, and the position of its contents.
_Record = tuple[int, str, int]


def read_parameters(
    section: bytes, processor: str, wanted: Wanted
) -> tuple[dict[str, tuple[str, ...]], dict[str, tuple[float, ...]], dict[str, tuple[int, ...]], bool]:
    """Return the texts, numbers and dimensions of a section's parameters by name, and whether the section is complete.

    `section`: bytes after the prefix of four bytes; reading stops at the first damaged record. `processor`: "Intel",
    "DEC" or "MIPS". `wanted(group, name)` returns whether a parameter is decoded.
    """
    order = ">" if processor in _BIG_ENDIAN else "<"
    group_names: dict[int, str] = {}
    parameters: list[_Record] = []
    is_whole = False
    for record in _iterate_records(section, order):
        if record is None:
            is_whole = True
        elif record[0] < 0:
            group_names[-record[0]] = record[1]
        else:
            parameters.append(record)
    texts: dict[str, tuple[str, ...]] = {}
    numbers: dict[str, tuple[float, ...]] = {}
    shapes: dict[str, tuple[int, ...]] = {}
    for number, name, begin in parameters:  # a group name may follow the parameters of the group
        group = group_names.get(number, "")
        if not wanted(group, name):
            continue
        entry = _parameter_entry(section, begin)
        if entry is None:
            is_whole = False
            continue
        kind, dims, data = entry
        key = f"{group}:{name}"
        shapes[key] = dims
        if kind == ElementType.CHARACTER:
            texts[key] = _decode_texts(data, dims)
        else:
            numbers[key] = _decode_numbers(data, kind, processor)
    return texts, numbers, shapes, is_whole


def _iterate_records(section: bytes, order: str) -> Iterator[_Record | None]:
    """Yield every record of the list; finally None if the list ends as the format specifies."""
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
        offset = _record_offset(section, offset_at, order)
        if not name and offset_at + offset > len(section):  # bytes after the list that were not set to zero
            yield None
            return
        yield identifier, name, offset_at + 2
        if offset == 0:
            yield None
            return
        if offset < 2:
            return
        position = offset_at + offset
    if position == len(section):  # filled to its last byte
        yield None


def _record_offset(section: bytes, at: int, order: str) -> int:
    """Return the byte offset of the next record; some editors append records with Intel byte order to SGI/MIPS files."""
    (offset,) = struct.unpack_from(f"{order}H", section, at)
    if order == ">" and at + offset > len(section):
        (offset,) = struct.unpack_from("<H", section, at)
    return int(offset)


def _parameter_entry(section: bytes, position: int) -> tuple[int, tuple[int, ...], bytes] | None:
    """Return the element type, dimensions and bytes of a parameter; None if it exceeds the section or has an unknown type."""
    if position + 2 > len(section):
        return None
    kind, dimension_count = struct.unpack_from("<bB", section, position)
    if kind not in _KINDS:
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


def _decode_texts(data: bytes, dims: tuple[int, ...]) -> tuple[str, ...]:
    """Return the texts of a character parameter; its first dimension is the length of each text in bytes."""
    width = max(dims[0] if dims else 1, 1)
    steps = range(0, len(data), width)
    if data.isascii() and (text := data.decode("ascii")).isprintable():  # the usual, fast case
        return tuple(text[i : i + width].strip() for i in steps)
    return clean_texts([data[i : i + width] for i in steps])


def _decode_numbers(data: bytes, kind: int, processor: str) -> tuple[float, ...]:
    if kind == ElementType.BYTE:
        return tuple(data)
    order = ">" if processor in _BIG_ENDIAN else "<"
    if kind == ElementType.INTEGER:
        return struct.unpack(f"{order}{len(data) // 2}h", data)
    if processor == "DEC":
        return tuple(decode_floats(np.frombuffer(data, dtype="<u2"), processor).tolist())
    return struct.unpack(f"{order}{len(data) // 4}f", data)


def decode_floats(words: np.ndarray[Any, np.dtype[np.uint16]], processor: str) -> np.ndarray[Any, np.dtype[Any]]:
    """Return floats (..., n) from pairs of 16-bit words (..., 2 n) in the byte order of the processor.

    DEC's F-float stores its high word first and has an exponent larger by two; it is zero if its exponent is zero, and
    has neither infinity nor NaN.
    """
    if processor == "DEC":
        swapped = np.ascontiguousarray(words.reshape(*words.shape[:-1], -1, 2)[..., ::-1])
        bits = swapped.view("<u4")[..., 0]
        exponent = (bits >> 23) & 0xFF
        reduced = exponent > 2  # smaller numbers are divided in double precision
        values = np.where(reduced, bits - np.uint32(2 << 23), bits).view("<f4").astype(float)
        return np.where(reduced, values, np.where(exponent > 0, values / 4.0, 0.0))
    return words.view(">f4" if processor in _BIG_ENDIAN else "<f4")


BLOCK_BYTES = 512
_PROCESSORS = {84: "Intel", 85: "DEC", 86: "MIPS"}


@dataclass(frozen=True)
class HeaderWords:
    """The numbers of the header block as stored.

    Attributes:
        points, analog_per_frame: number of 3-D points and of analog values per frame. first_frame, last_frame: 1-based,
        16 bits.
        scale: file units per integer step, negative for a float file. data_block: 1-based block of the first frame.
        samples_per_frame: analog samples of one channel per frame. rate_hz: frames per second.
        events: time (s since the first stored frame) and label (at most four letters) of each event.
    """

    points: int
    analog_per_frame: int
    first_frame: int
    last_frame: int
    scale: float
    data_block: int
    samples_per_frame: int
    rate_hz: float
    events: tuple[tuple[float, str], ...] = ()


@dataclass(frozen=True)
class C3dHeader:
    """Header and parameters of a C3D file.

    Attributes:
        path, size_bytes: path and size of the file. processor: "Intel", "DEC" or "MIPS". words: numbers of the header
        block.
        texts, numbers, dims: clean texts, numbers (first dimension fastest) and stored dimensions of all parameters, by
            "GROUP:NAME". is_whole: whether every parameter could be decoded.
        tail: last bytes of the points and analog samples, at most one block.
    """

    path: Path
    size_bytes: int
    processor: str
    words: HeaderWords
    texts: Mapping[str, tuple[str, ...]]
    numbers: Mapping[str, tuple[float, ...]]
    dims: Mapping[str, tuple[int, ...]]
    is_whole: bool
    tail: bytes

    @cached_property
    def groups(self) -> dict[str, dict[str, dict[str, Any]]]:
        """Return all parameters as {group: {name: {"dims": [...], "values": [...]}}}."""
        groups: dict[str, dict[str, dict[str, Any]]] = {}
        for table in (self.texts, self.numbers):
            for key, values in table.items():
                group, _, name = key.partition(":")
                groups.setdefault(group, {})[name] = {"dims": list(self.dims[key]), "values": list(values)}
        return groups

    @property
    def data_end(self) -> int:
        """Return the byte position after the points and analog samples: the start of the segment poses, or the end of
        the file."""
        return _data_end(self.numbers, self.words.data_block, self.size_bytes)

    @property
    def point_labels(self) -> tuple[str, ...]:
        """Return POINT:LABELS with its continuations LABELS2, LABELS3 ..."""
        return tuple(continued_values(self.groups.get("POINT", {}), "LABELS")[: self.words.points])


def unsigned_count(value: float) -> int:
    """Return a count from a 16-bit integer, interpreted as unsigned; 0 if not finite."""
    if not np.isfinite(value):
        return 0
    return int(value) & 0xFFFF if value < 0 else int(value)


def is_c3d(head: bytes) -> bool:
    """Return whether the first bytes of a file belong to a C3D file."""
    key = 0x50  # second byte of every C3D file
    return len(head) > 1 and head[1] == key


def _accept_every_parameter(group: str, name: str) -> bool:
    return True


def read_header(path: Path, wanted: Wanted = _accept_every_parameter) -> C3dHeader:
    """Read the header and parameter section; InputFileError for a file that is not a valid C3D file.

    `wanted(group, name)` returns whether a parameter is decoded, which saves time for very many files.
    """
    require_nonempty_file(path)
    size = path.stat().st_size
    with path.open("rb") as stream:
        block = stream.read(BLOCK_BYTES)
        if not is_c3d(block):
            raise InputFileError(f"'{path}' is not a C3D file: its second byte is not 0x50.", "Give a .c3d file.")
        if len(block) < BLOCK_BYTES:
            raise InputFileError(f"'{path}' is truncated: it ends within the header ({size} bytes).", COPY_AGAIN)
        start = (block[0] - 1) * BLOCK_BYTES
        if block[0] < 1 or start + 4 > size:
            raise InputFileError(
                f"'{path}' is damaged: its parameters should start at byte {start}, but it has {size} bytes.",
                COPY_AGAIN,
            )
        stream.seek(start)
        prefix = stream.read(4)
        processor = _PROCESSORS.get(prefix[3])
        if processor is None:
            raise InputFileError(
                f"'{path}' states an unknown processor type ({prefix[3]}; expected 84 Intel, 85 DEC or 86 SGI/MIPS).",
                "Export the trial again as C3D from the capture software.",
            )
        words = _read_header_words(block, processor)
        stream.seek(start + 4)
        section = stream.read(_section_size(prefix[2], start, words.data_block))
        texts, numbers, dims, is_whole = read_parameters(section, processor, wanted)
        end = _data_end(numbers, words.data_block, size)
        stream.seek(max(0, end - BLOCK_BYTES))
        tail = stream.read(min(end, BLOCK_BYTES))
    return C3dHeader(path, size, processor, words, texts, numbers, dims, is_whole, tail)


def _data_end(numbers: Mapping[str, tuple[float, ...]], data_block: int, size: int) -> int:
    used, start = (numbers.get(f"ROTATION:{name}", (0,)) for name in ("USED", "DATA_START"))
    block = unsigned_count(start[0]) if start and used and used[0] else 0
    return min(size, (block - 1) * BLOCK_BYTES) if block > data_block else size


def _section_size(blocks: int, start: int, data_block: int) -> int:
    """Return the number of bytes of the parameter section after its prefix.

    This is the stated number of blocks, or all blocks before the data section if there are more.
    """
    # A section may be longer than its one-byte block count can express; its end is then the start of the data.
    stated = blocks or 256  # one byte
    until_data = data_block - 1 - start // BLOCK_BYTES
    return (max(stated, until_data) if until_data <= ReaderLimits.C3D_PARAMETER_BLOCKS else stated) * BLOCK_BYTES - 4


def _read_header_words(block: bytes, processor: str) -> HeaderWords:
    order = ">" if processor == "MIPS" else "<"
    points, analog, first, last = struct.unpack_from(f"{order}4H", block, 2)
    data_block, samples = struct.unpack_from(f"{order}2H", block, 16)
    return HeaderWords(
        points=points,
        analog_per_frame=analog,
        first_frame=first,
        last_frame=last,
        scale=_decode_float(block[12:16], processor),
        data_block=data_block,
        samples_per_frame=samples,
        rate_hz=_decode_float(block[20:24], processor),
        events=_header_events(block, processor),
    )


def _header_events(block: bytes, processor: str) -> tuple[tuple[float, str], ...]:
    """Return times (s) and labels of the header's events; none if labels of four letters are not declared."""
    # Byte positions of the header's events: label format, count, times, labels (words 150 to 234 of the manual).
    key_at, times_at, labels_at, four_letters, most_events = 298, 304, 396, 12345, 18
    key, count = struct.unpack_from(f"{'>' if processor == 'MIPS' else '<'}2H", block, key_at)
    if key != four_letters or count > most_events:
        return ()
    times = decode_floats(np.frombuffer(block, "<u2", 2 * count, times_at), processor)
    labels = (block[at : at + 4] for at in range(labels_at, labels_at + 4 * count, 4))
    return tuple((float(time), clean_text(label)) for time, label in zip(times, labels, strict=True))


def _decode_float(raw: bytes, processor: str) -> float:
    return float(decode_floats(np.frombuffer(raw, dtype="<u2"), processor)[0])
