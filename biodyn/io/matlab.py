"""Read MATLAB files of version 5 (saved with -v6 or -v7): variables as arrays, texts, lists and records.

SciPy's reader is not used because a damaged file can crash the process. Every size is checked against the available bytes.
A variable or field is read only on request.

Source: MathWorks, "MAT-File Format", level 5: an element has a type, a size and padded data; an array is an element that
contains elements (flags, dimensions, name, contents); cells and structures contain arrays, and any element may be compressed.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from itertools import islice
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from biodyn.io.file_access import ReaderLimits
from biodyn.io.text_decoding import clean_text

MARK: Final = b"MATLAB 5.0 MAT-file"
MARK_73: Final = b"MATLAB 7.3 MAT-file"
_HEADER: Final = 128
_DEEPEST: Final = 16
_NUMBERS: Final = {
    1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8",
}  # fmt: skip
_TEXTS: Final = {2: "utf-8", 4: "utf-16", 16: "utf-8", 17: "utf-16", 18: "utf-32"}


class _ElementType(IntEnum):
    """Codes of MATLAB element types (dimensions, array, compressed) and array classes that are supported."""

    CELL = 1
    STRUCTURE = 2
    TEXT = 4
    DIMENSIONS = 5
    FIRST_NUMBER = 6
    ARRAY = 14
    DEFLATED = 15
    LAST_NUMBER = 15
    OBJECT = 17


#: Value of a variable or field: numbers (in MATLAB's shape), a text, the cells of a list, or the elements of a structure; None
#: for any other type.
Value: TypeAlias = "NDArray[np.float64] | str | list[Value] | tuple[Record, ...] | None"


class MatlabError(ValueError):
    """Error for bytes that are not a valid MATLAB file; the message states the fault."""


#: Type and data of an element.
_Element = tuple[int, memoryview]


@dataclass(frozen=True)
class _ArrayHead:
    """Class, dimensions and name of a stored array; `content` yields the following elements when they are needed."""

    kind: int
    shape: tuple[int, ...]
    name: str
    content: Iterator[_Element]

    @property
    def count(self) -> int:
        return math.prod(self.shape)


class Record(Mapping[str, Value]):
    """The variables of a file or one element of a structure: values by name, each read on request.

    Access to a damaged value raises MatlabError.
    """

    def __init__(self, fields: Mapping[str, memoryview], order: str, depth: int) -> None:
        self._fields, self._order, self._depth = fields, order, depth

    def __getitem__(self, name: str) -> Value:
        return _read_value(_read_array_head(self._fields[name], self._order), self._order, self._depth)

    def __contains__(self, name: object) -> bool:
        return name in self._fields

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def record(self, name: str) -> Record | None:
        """Return the only element of the structure with this name, None for any other value; no other value is read."""
        array = _read_array_head(self._fields[name], self._order)
        if array.kind != _ElementType.STRUCTURE or array.count != 1:
            return None
        return next(iter(_read_records(array, self._order, self._depth)), None)


def is_matlab(head: bytes) -> bool:
    """Return whether the first bytes of a file belong to MATLAB, version 5 or 7.3."""
    return head.startswith((MARK, MARK_73))


def read_variables(content: bytes) -> Record:
    """Return the variables in the bytes of a file, by name.

    Raises MatlabError if the bytes are not of version 5, are truncated or inconsistent.
    """
    if not content.startswith(MARK) or len(content) < _HEADER:
        raise MatlabError("it does not start like a file of version 5")
    order = {b"IM": "<", b"MI": ">"}.get(content[_HEADER - 2 : _HEADER])
    if order is None:
        raise MatlabError("its byte order is not stated")
    variables: dict[str, memoryview] = {}
    most_bytes = min(
        ReaderLimits.MATLAB_BYTES, ReaderLimits.MATLAB_SMALL_BYTES + ReaderLimits.MATLAB_RATIO * len(content)
    )  # of all variables
    for element in _iterate_elements(memoryview(content)[_HEADER:], order):
        inner = _decompress_element(element, order, most_bytes) if element[0] == _ElementType.DEFLATED else element
        most_bytes -= len(inner[1]) if element[0] == _ElementType.DEFLATED else 0
        if inner[0] == _ElementType.ARRAY:
            variables[_read_array_head(inner[1], order).name] = inner[1]
    return Record(variables, order, 0)


def _iterate_elements(data: memoryview, order: str) -> Iterator[_Element]:
    """Yield the consecutive data elements (type and data) of a buffer."""
    at = 0
    while at < len(data):
        if len(data) - at < 8:
            if any(data[at:]):
                raise MatlabError("it ends within an element")
            return
        first, size = (int(word) for word in np.frombuffer(data[at : at + 8], order + "u4"))
        if first >> 16:  # a small element: size and type share a word, and the data follow directly
            kind, size, begin, step = first & 0xFFFF, first >> 16, at + 4, 8
            if size > 4:
                raise MatlabError("an element is larger than the available bytes")
        else:
            kind, begin = first, at + 8
            step = 8 + size + (0 if kind == _ElementType.DEFLATED else -size % 8)
        if size > len(data) - begin:
            raise MatlabError("it ends within an element")
        yield kind, data[begin : begin + size]
        at += step


def _decompress_element(element: _Element, order: str, most_bytes: int) -> _Element:
    inflater = zlib.decompressobj()
    try:
        data = inflater.decompress(element[1], max(most_bytes, 1))
    except zlib.error as error:
        raise MatlabError("a compressed variable is damaged") from error
    if not inflater.eof:
        raise MatlabError("a compressed variable is truncated or larger than any recording")
    inner = list(islice(_iterate_elements(memoryview(data), order), 2))
    if len(inner) != 1:
        raise MatlabError("a compressed variable does not contain an array")
    return inner[0]


def _read_array_head(data: memoryview, order: str) -> _ArrayHead:
    """Return the type, dimensions and unread contents of an array; without bytes, the head of an empty array."""
    if not len(data):
        return _ArrayHead(_ElementType.FIRST_NUMBER, (0, 0), "", iter(()))
    content = _iterate_elements(data, order)
    parts = list(islice(content, 3))
    if len(parts) < 3:
        raise MatlabError("an array has no head")
    kind = _read_first_number(parts[0], order) & 0xFF
    # a table or a time has a name but no dimensions, and its contents are not documented
    if kind == _ElementType.OBJECT:
        return _ArrayHead(kind, (0, 0), bytes(parts[1][1]).decode("latin-1"), iter(()))
    if parts[1][0] != _ElementType.DIMENSIONS:
        raise MatlabError("an array has no dimensions")
    shape = tuple(int(size) for size in _read_numbers(parts[1], order))
    if len(shape) < 2 or min(shape) < 0:
        raise MatlabError("an array has impossible dimensions")
    return _ArrayHead(kind, shape, bytes(parts[2][1]).decode("latin-1"), content)


def _read_value(array: _ArrayHead, order: str, depth: int) -> Value:
    """Return the contents of an array: numbers, a text, a list (cell array) or records (structure)."""
    if depth > _DEEPEST:
        raise MatlabError("it is nested too deeply")
    if array.kind == _ElementType.CELL:
        cells = _require_arrays(array.content, array.count)
        return [_read_value(_read_array_head(cell, order), order, depth + 1) for cell in cells]
    if array.kind == _ElementType.STRUCTURE:
        return _read_records(array, order, depth)
    rest = list(array.content)
    if array.kind == _ElementType.TEXT:
        return _read_text(rest, order)
    if not _ElementType.FIRST_NUMBER <= array.kind <= _ElementType.LAST_NUMBER:
        return None
    numbers = _read_numbers(rest[0], order) if rest else np.empty(0)
    if len(numbers) > ReaderLimits.MATLAB_CELLS:
        raise MatlabError("an array is larger than any recording")
    if len(numbers) != array.count:
        raise MatlabError("the number of values of an array does not match its dimensions")
    return numbers.astype(np.float64).reshape(array.shape, order="F")


def _require_arrays(parts: Iterator[_Element], count: int) -> list[memoryview]:
    """Return the bytes of `count` arrays; MatlabError if their number differs."""
    elements = list(parts)
    if len(elements) != count or any(part[0] != _ElementType.ARRAY for part in elements):
        raise MatlabError("the number of arrays in a list does not match its dimensions")
    return [part[1] for part in elements]


def _read_records(array: _ArrayHead, order: str, depth: int) -> tuple[Record, ...]:
    """Return the elements of a structure array as records."""
    head = list(islice(array.content, 2))
    if len(head) < 2:
        raise MatlabError("a structure has no fields")
    length = _read_first_number(head[0], order)
    names = bytes(head[1][1])
    if not 0 < length <= len(names) + 1 or len(names) % length:
        raise MatlabError("the field names of a structure are invalid")
    fields = [names[k : k + length].split(b"\0", 1)[0].decode("latin-1") for k in range(0, len(names), length)]
    values = _require_arrays(array.content, array.count * len(fields))
    field_values = (values[k : k + len(fields)] for k in range(0, len(values), max(len(fields), 1)))
    return tuple(Record(dict(zip(fields, some, strict=True)), order, depth + 1) for some in field_values)


def _read_text(parts: list[_Element], order: str) -> str:
    if not parts:
        return ""
    encoding = _TEXTS.get(parts[0][0], "latin-1")
    end = {"<": "-le", ">": "-be"}[order] if encoding in ("utf-16", "utf-32") else ""
    return clean_text(bytes(parts[0][1]).decode(encoding + end, errors="replace"))


def _read_numbers(element: _Element, order: str) -> NDArray[np.generic]:
    """Return the numbers of an element as an array."""
    letter = _NUMBERS.get(element[0])
    if letter is None:
        raise MatlabError("numbers have an unknown type")
    size = int(letter[1])
    if len(element[1]) % size:
        raise MatlabError("numbers are truncated")
    return np.frombuffer(element[1], order + letter)


def _read_first_number(element: _Element, order: str) -> int:
    numbers = _read_numbers(element, order)
    if not len(numbers):
        raise MatlabError("an array has no head")
    return int(numbers[0])  # type: ignore[call-overload]
