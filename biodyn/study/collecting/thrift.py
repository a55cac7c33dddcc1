"""Thrift's compact protocol, as far as the table of contents of a Parquet file needs it: structures as bytes.

Source: Apache Thrift, "Thrift compact protocol encoding" (thrift-compact-protocol.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

_I32: Final = 5
_I64: Final = 6
_BINARY: Final = 8
_LIST: Final = 9
_STRUCT: Final = 12
_MOST_SHORT = 15  # fields a header counts on by, and entries of a list, in half a byte


@dataclass(frozen=True)
class Encoded:
    """A value as bytes, and its kind in the protocol."""

    kind: int
    content: bytes


def i32(value: int) -> Encoded:
    """A whole number of 32 bits."""
    return Encoded(_I32, _zigzag(value))


def i64(value: int) -> Encoded:
    """A whole number of 64 bits."""
    return Encoded(_I64, _zigzag(value))


def binary(value: str | bytes) -> Encoded:
    """A text or bytes."""
    content = value.encode() if isinstance(value, str) else value
    return Encoded(_BINARY, varint(len(content)) + content)


def several(values: Sequence[Encoded], kind: int = _STRUCT) -> Encoded:
    """A list; `kind` of its entries where there are none."""
    kind = values[0].kind if values else kind
    short = len(values) < _MOST_SHORT
    head = bytes([len(values) << 4 | kind]) if short else bytes([0xF0 | kind]) + varint(len(values))
    return Encoded(_LIST, head + b"".join(value.content for value in values))


def struct(fields: Mapping[int, Encoded]) -> Encoded:
    """A structure of fields by their numbers, which rise."""
    return Encoded(_STRUCT, b"".join(_fields(fields.items())))


def _fields(fields: Iterable[tuple[int, Encoded]]) -> Iterable[bytes]:
    last = 0
    for number, value in fields:
        assert last < number <= last + _MOST_SHORT
        yield bytes([(number - last) << 4 | value.kind]) + value.content
        last = number
    yield b"\0"


def varint(value: int) -> bytes:
    """A whole number that is not negative, seven bits a byte, the lowest first."""
    parts = bytearray()
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    parts.append(value)
    return bytes(parts)


def _zigzag(value: int) -> bytes:
    return varint((value << 1) ^ (value >> 63))
