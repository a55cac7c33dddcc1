"""The records of a parameter section (Intel byte order) that can be written again: what is not changed stays."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from biodyn.errors import InputFileError
from biodyn.io.text import clean_text

_CHARACTER, _INTEGER, _FLOAT = -1, 2, 4
Shaped = tuple[int, tuple[int, ...], bytes]


@dataclass
class _Record:
    """length: of the name, negative = locked. number: of the group, negative in its own record. rest: behind the offset."""

    length: int
    number: int
    name: bytes
    rest: bytes

    @property
    def title(self) -> str:
        return clean_text(self.name).upper()

    def packed(self) -> bytes:
        return (
            struct.pack("<bb", self.length, self.number) + self.name + struct.pack("<H", 2 + len(self.rest)) + self.rest
        )


@dataclass
class Records:
    """The records in the order of the file; `put` changes one or adds it at the end."""

    name: str
    records: list[_Record] = field(default_factory=list)

    @classmethod
    def parsed(cls, section: bytes, name: str) -> Records:
        """Return the records of a section (behind its four bytes of prefix); InputFileError where the list is broken."""
        found, position = cls(name), 0
        while position + 2 <= len(section):
            length, number = struct.unpack_from("<bb", section, position)
            if length == 0 or number == 0:
                return found
            at = position + 2 + abs(length)
            if at + 2 > len(section):
                break
            (offset,) = struct.unpack_from("<H", section, at)
            title = section[position + 2 : at]
            end = at + offset if offset else at + 2 + _length(section, at + 2, number)
            if not at + 2 <= end <= len(section):
                break
            found.records.append(_Record(length, number, title, section[at + 2 : end]))
            if offset == 0:
                return found
            position = end
        raise InputFileError(f"The parameters of '{name}' end nowhere: nothing is added to such a file.")

    def section(self) -> bytes:
        """The bytes of the section behind its prefix."""
        return b"".join(record.packed() for record in self.records) + b"\0\0"

    def has(self, group: str, name: str) -> bool:
        """Whether there is such a parameter."""
        return self._find(group, name) is not None

    def texts(self, group: str, name: str) -> list[bytes]:
        """The texts of a parameter without blanks around them; none where there is no such one."""
        shaped = self._value(group, name)
        if shaped is None or shaped[0] != _CHARACTER:
            return []
        width = max(shaped[1][0] if shaped[1] else 1, 1)
        return [shaped[2][i : i + width].strip(b" \0") for i in range(0, len(shaped[2]), width)]

    def continued(self, group: str, name: str) -> list[bytes]:
        """The texts of a parameter and of its continuations NAME2, NAME3 ..."""
        listed, number = self.texts(group, name), 2
        while more := self.texts(group, f"{name}{number}"):
            listed += more
            number += 1
        return listed

    def numbers(self, group: str, name: str) -> list[int]:
        """The integers of a parameter."""
        shaped = self._value(group, name)
        if shaped is None or shaped[0] not in (1, _INTEGER):
            return []
        return [int(x) for x in np.frombuffer(shaped[2], dtype="<i2" if shaped[0] == _INTEGER else "u1")]

    def floats(self, group: str, name: str) -> list[float]:
        """The floats of a parameter."""
        shaped = self._value(group, name)
        if shaped is None or shaped[0] != _FLOAT:
            return []
        return [float(x) for x in np.frombuffer(shaped[2], dtype="<f4")]

    def put(self, group: str, name: str, kind: int, dims: Sequence[int], data: bytes) -> None:
        """Give a parameter a new value; it and its group are made where there is none. Its description stays."""
        body = struct.pack("<bB", kind, len(dims)) + bytes(dims) + data
        record = self._find(group, name)
        if record is None:
            number = self._group(group)
            self.records.append(_Record(len(name), number, name.encode("ascii"), body + b"\0"))
            return
        record.rest = body + (record.rest[_shape(record.rest)[1] :] or b"\0")

    def _group(self, name: str) -> int:
        """The number of a group, which is made where there is none."""
        for record in self.records:
            if record.number < 0 and record.title == name:
                return -record.number
        used = {abs(record.number) for record in self.records}
        number = next((n for n in range(1, 128) if n not in used), None)
        if number is None:
            raise InputFileError(f"'{self.name}' has 127 groups of parameters, which is all a C3D file can hold.")
        self.records.append(_Record(len(name), -number, name.encode("ascii"), b"\0"))
        return number

    def _find(self, group: str, name: str) -> _Record | None:
        numbers = {-record.number for record in self.records if record.number < 0 and record.title == group}
        return next((r for r in self.records if r.number in numbers and r.title == name), None)

    def _value(self, group: str, name: str) -> Shaped | None:
        record = self._find(group, name)
        return None if record is None else _shape(record.rest)[0]


def _shape(rest: bytes) -> tuple[Shaped, int]:
    """Kind, dimensions and bytes of a parameter, and where its description begins."""
    kind, count = struct.unpack_from("<bB", rest, 0)
    dims = tuple(rest[2 : 2 + count])
    size = int(np.prod(dims, dtype=np.int64)) * abs(kind)
    begin = 2 + count
    return (kind, dims, rest[begin : begin + size]), begin + size


def _length(section: bytes, at: int, number: int) -> int:
    """Bytes of a record behind its offset, told by itself."""
    if number < 0:
        return 1 + (section[at] if at < len(section) else 0)
    if at + 2 > len(section):
        return 0
    end = _shape(section[at:])[1]
    return end + 1 + (section[at + end] if at + end < len(section) else 0)


def texts(words: Sequence[bytes], scalar: bool = False) -> Shaped:
    """Texts as the value of a parameter: all as long as the longest."""
    width = max([len(word) for word in words] + [1])
    dims = (width,) if scalar else (width, len(words))
    return _CHARACTER, dims, b"".join(word.ljust(width) for word in words)


def integers(values: Sequence[int], scalar: bool = False) -> Shaped:
    """Integers of 16 bits as the value of a parameter."""
    data = np.array([value & 0xFFFF for value in values], dtype="<u2").tobytes()
    return _INTEGER, () if scalar else (len(values),), data
