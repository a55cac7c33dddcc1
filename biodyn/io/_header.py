"""What the first blocks of a C3D file tell without any library: is it one, is it whole, whose is it.

Read in plain Python because it must be safe on any bytes and quick on many files (the search for a static trial).
Format: the C3D user manual, c3d.org (header block, parameter section).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from biodyn.errors import InputFileError

BLOCK_BYTES = 512
_KEY = 0x50  # second byte of every C3D file
_PROCESSORS = {84: "Intel", 85: "DEC", 86: "MIPS"}
_MAX_PARAMETER_BLOCKS = 256
_CHAR, _BYTE, _INT, _FLOAT = -1, 1, 2, 4

_RESAVE = "Save the recording again as C3D (Intel byte order) in the capture software, or copy the original file again."


@dataclass(frozen=True)
class C3dHeader:
    """Header and parameters of a C3D file.

    Attributes:
        path: the file.
        size_bytes: its size.
        point_count, frame_count: points a frame and frames claimed by the file.
        frame_bytes: bytes of one frame of points and analog samples.
        data_start_byte: where the first frame begins.
        rate_hz: frames a second.
        texts: "GROUP:NAME" -> tuple of stripped strings.
        numbers: "GROUP:NAME" -> tuple of numbers, the first dimension fastest.
    """

    path: Path
    size_bytes: int
    point_count: int
    frame_count: int
    frame_bytes: int
    data_start_byte: int
    rate_hz: float
    texts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    numbers: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    @property
    def frames_stored(self) -> int:
        """Whole frames for which the file has bytes."""
        if self.frame_bytes <= 0:
            return 0
        return max(0, self.size_bytes - self.data_start_byte) // self.frame_bytes

    @property
    def groups(self) -> dict[str, dict[str, dict[str, Any]]]:
        """All parameters as {group: {name: {"values": [...]}}}, the form the parsed file has them in."""
        groups: dict[str, dict[str, dict[str, Any]]] = {}
        for table in (self.texts, self.numbers):
            for key, values in table.items():
                group, _, name = key.partition(":")
                groups.setdefault(group, {})[name] = {"values": list(values)}
        return groups

    @property
    def point_labels(self) -> tuple[str, ...]:
        """POINT:LABELS with its continuations LABELS2, LABELS3 ..."""
        labels = list(self.texts.get("POINT:LABELS", ()))
        number = 2
        while f"POINT:LABELS{number}" in self.texts:
            labels += self.texts[f"POINT:LABELS{number}"]
            number += 1
        return tuple(labels[: self.point_count])


def check_path(path: Path) -> None:
    """Raise InputFileError unless the path names a file that can be read and is not empty."""
    if not path.exists():
        raise InputFileError(f"'{path}' does not exist.", "Check the path.")
    if path.is_dir():
        raise InputFileError(f"'{path}' is a folder; expected one C3D file.", "Name the file in it.")
    if not path.is_file():  # opening a pipe would wait for ever
        raise InputFileError(f"'{path}' is no regular file (a pipe, a device or a socket).", "Name a C3D file.")
    try:
        with path.open("rb") as stream:
            first = stream.read(1)
    except OSError as error:
        raise InputFileError(f"'{path}' cannot be opened: {error.strerror}.", "Check the permissions.") from error
    if not first:
        raise InputFileError(f"'{path}' is empty (0 bytes).", "Copy the original file again.")


Wanted = Callable[[str, str], bool]


def _everything(group: str, name: str) -> bool:
    return True


def read_header(path: Path, wanted: Wanted = _everything) -> C3dHeader:
    """Read header and parameter section; InputFileError says what is wrong with a file that is no sound C3D.

    `wanted` of group and name: which parameters are decoded, for those who read very many files.
    """
    check_path(path)
    size = path.stat().st_size
    with path.open("rb") as stream:
        block = stream.read(BLOCK_BYTES)
        if len(block) < 2 or block[1] != _KEY:
            raise InputFileError(f"'{path}' is not a C3D file: its second byte is not 0x50.", "Give a .c3d file.")
        if len(block) < BLOCK_BYTES:
            raise InputFileError(f"'{path}' is truncated: it ends within its header ({size} bytes).", _RESAVE)
        start = (block[0] - 1) * BLOCK_BYTES
        if block[0] < 1 or start + 4 > size:
            raise InputFileError(
                f"'{path}' is damaged: its parameters should begin at byte {start}, the file has {size}.", _RESAVE
            )
        stream.seek(start)
        prefix = stream.read(4)
        processor = _PROCESSORS.get(prefix[3])
        if processor is None:
            raise InputFileError(
                f"'{path}' is damaged: its processor type is {prefix[3]}; expected 84, 85 or 86.", _RESAVE
            )
        if processor == "MIPS":
            raise InputFileError(
                f"'{path}' is stored in SGI/MIPS byte order, which is not supported; expected Intel or DEC.", _RESAVE
            )
        blocks = prefix[2] or _MAX_PARAMETER_BLOCKS
        stream.seek(start + 4)
        section = stream.read(min(blocks, _MAX_PARAMETER_BLOCKS) * BLOCK_BYTES - 4)
    return _interpret(path, size, block, section, processor, wanted)


def _interpret(path: Path, size: int, block: bytes, section: bytes, processor: str, wanted: Wanted) -> C3dHeader:
    points, analog_per_frame, first, last = struct.unpack_from("<4H", block, 2)
    scale, data_block = struct.unpack_from("<4sH", block, 12)
    rate = _float(block[20:24], processor)
    word_bytes = 4 if _float(scale, processor) < 0 else 2
    texts, numbers = _parameters(section, processor, wanted)
    return C3dHeader(
        path=path,
        size_bytes=size,
        point_count=points,
        frame_count=_frame_count(first, last, numbers),
        frame_bytes=(4 * points + analog_per_frame) * word_bytes,
        data_start_byte=(data_block - 1) * BLOCK_BYTES,
        rate_hz=rate,
        texts=texts,
        numbers=numbers,
    )


def _float(raw: bytes, processor: str) -> float:
    """A 4-byte float; DEC swaps the 16-bit halves and has an exponent two larger."""
    if processor == "DEC":
        value: float = struct.unpack("<f", raw[2:] + raw[:2])[0]
        return value / 4.0
    value = struct.unpack("<f", raw)[0]
    return value


def _frame_count(first: int, last: int, numbers: Mapping[str, tuple[float, ...]]) -> int:
    """The smallest of the counts the file claims: a file is only called truncated when it breaks all of them.

    Counts are unsigned 16-bit words; longer recordings say so in TRIAL:ACTUAL_START_FIELD and ACTUAL_END_FIELD.
    """
    claims = []
    begin, end = numbers.get("TRIAL:ACTUAL_START_FIELD", ()), numbers.get("TRIAL:ACTUAL_END_FIELD", ())
    if len(begin) == 2 and len(end) == 2:
        words = [int(value) & 0xFFFF for value in (*begin, *end)]
        claims.append(words[2] + 65536 * words[3] - words[0] - 65536 * words[1] + 1)
    frames = numbers.get("POINT:FRAMES", ())
    if frames and abs(frames[0]) < 65536:
        claims.append(int(frames[0]) & 0xFFFF)
    claims.append(last - first + 1)
    plausible = [claim for claim in claims if claim > 0]
    return min(plausible) if plausible else 0


def _parameters(
    section: bytes, processor: str, wanted: Wanted
) -> tuple[dict[str, tuple[str, ...]], dict[str, tuple[float, ...]]]:
    """Walk the linked list of groups and parameters; stops quietly where the bytes make no sense."""
    names: dict[int, str] = {}
    found: list[tuple[int, str, int]] = []
    position = 0
    while position + 2 <= len(section):
        length, identifier = struct.unpack_from("<bb", section, position)
        length = abs(length)  # negative = locked
        if length == 0 or identifier == 0 or position + 4 + length > len(section):
            break
        name = section[position + 2 : position + 2 + length].decode("latin-1").strip().upper()
        offset_at = position + 2 + length
        (offset,) = struct.unpack_from("<H", section, offset_at)
        if identifier < 0:
            names[-identifier] = name
        else:
            found.append((identifier, name, offset_at + 2))
        if offset < 2:
            break
        position = offset_at + offset
    texts: dict[str, tuple[str, ...]] = {}
    numbers: dict[str, tuple[float, ...]] = {}
    for identifier, name, begin in found:  # names of groups may come after their parameters
        group = names.get(identifier, "")
        entry = _entry(section, begin) if wanted(group, name) else None
        if entry is None:
            continue
        kind, dims, data = entry
        key = f"{group}:{name}"
        if kind == _CHAR:
            texts[key] = _texts(data, dims[0] if dims else 1)
        elif kind == _INT:
            numbers[key] = struct.unpack(f"<{len(data) // 2}h", data)
        elif kind == _BYTE:
            numbers[key] = tuple(data)
        elif kind == _FLOAT and processor == "Intel":
            numbers[key] = struct.unpack(f"<{len(data) // 4}f", data)
        elif kind == _FLOAT:
            numbers[key] = tuple(_float(data[i : i + 4], processor) for i in range(0, len(data), 4))
    return texts, numbers


def _texts(data: bytes, width: int) -> tuple[str, ...]:
    """Stripped strings of `width` bytes each; a byte is a character where all are ASCII."""
    steps = range(0, len(data), max(width, 1))
    if data.isascii():
        text = data.decode("ascii")
        return tuple(text[i : i + width].strip(" \0") for i in steps)
    return tuple(data[i : i + width].decode("utf-8", "replace").strip(" \0") for i in steps)


def _entry(section: bytes, position: int) -> tuple[int, tuple[int, ...], bytes] | None:
    """Element type, dimensions and bytes of a parameter, None where it runs over the end."""
    if position + 2 > len(section):
        return None
    kind, dimension_count = struct.unpack_from("<bB", section, position)
    dims = tuple(section[position + 2 : position + 2 + dimension_count])
    count = 1
    for size in dims:
        count *= size
    begin = position + 2 + dimension_count
    data = section[begin : begin + count * abs(kind)]
    if len(data) < count * abs(kind):
        return None
    return kind, dims, data
