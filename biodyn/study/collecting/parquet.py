"""A Parquet file of columns that are known as runs: a few bytes a run, where a general encoder looks at every row.

Of the fourteen columns of the data set all but the value and whether it is known repeat in runs of 101 rows and more.
Arrow's encoder takes them row by row, 3.5 ms of processor time a trial of 46,700 rows with the making of those rows; this
takes a tenth. The file is plain Parquet (dictionary pages, data pages of version 1, snappy) and says of itself what Arrow
says, so that pandas gets categories. Source: Apache Parquet, parquet.thrift, Encodings.md.
"""

from __future__ import annotations

import base64
import struct as packing
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import BinaryIO, Final

import numpy as np
import pyarrow as pa

from biodyn.study.collecting.runs import Runs, bits_of, run_bytes, runs_of
from biodyn.study.collecting.thrift import Encoded, binary, i32, i64, several, struct, varint

_MAGIC: Final = b"PAR1"
_PLAIN, _RLE, _RLE_DICTIONARY = 0, 3, 8  # Encoding
_DATA_PAGE, _DICTIONARY_PAGE = 0, 2  # PageType
_UNCOMPRESSED, _SNAPPY = 0, 1  # CompressionCodec
_UTF8 = 0  # ConvertedType
_GROUP = 8  # codes that are packed together
#: Rows of one page of values: a megabyte, as Arrow's.
_PAGE_ROWS = 1 << 17


@dataclass(frozen=True)
class Chunk:
    """A column of one row group, encoded: `write_group` puts it into the file.

    Attributes:
        pages: headers and contents in the order of the file; the first is the dictionary where there is one.
        rows: of the column. plain_bytes: of the pages before they were compressed, headers too.
        codec: of the pages. dictionary: bytes of the dictionary's page, 0 where there is none.
        smallest, largest: words between which all others lie; None where that is not said. missing: rows without value.
    """

    pages: Sequence[bytes | pa.Buffer]
    rows: int
    plain_bytes: int
    codec: int = _UNCOMPRESSED
    dictionary: int = 0
    smallest: bytes | None = None
    largest: bytes | None = None
    missing: int = 0


def word_chunk(runs: Runs, words: Sequence[str], range_told: bool = False) -> Chunk:
    """A column of texts; `range_told`: the file says its smallest and largest word."""
    content = [word.encode() for word in words]
    plain = b"".join(packing.pack("<I", len(word)) + word for word in content)
    ends = (min(content), max(content)) if range_told else (None, None)
    return _coded(plain, len(words), run_bytes(runs, bits_of(len(words))), len(runs), ends)


def number_chunk(runs: Runs) -> Chunk:
    """A column of whole numbers of 32 bits; the codes of the runs are the numbers themselves."""
    numbers, codes = np.unique(runs.codes, return_inverse=True)
    coded = run_bytes(Runs(runs.lengths, codes), bits_of(len(numbers)))
    return _coded(numbers.astype("<i4").tobytes(), len(numbers), coded, len(runs))


def cyclic_chunk(values: np.ndarray, rows: int) -> Chunk:
    """A column of numbers of single precision that are `values` (K,) again and again."""
    bits = bits_of(len(values))
    groups = -(-rows // _GROUP)
    head = varint(groups << 1 | 1)
    packed = np.resize(_packed_codes(len(values), bits), groups * bits).tobytes()
    plain = values.astype("<f4").tobytes()
    return _coded(plain, len(values), head + packed, rows, codec=_SNAPPY)


@cache
def _packed_codes(count: int, bits: int) -> np.ndarray:
    """The codes 0, 1, ... count-1 as often as it takes to fill whole bytes, `bits` bits each, the lowest first."""
    codes = np.tile(np.arange(count), _GROUP)
    return np.packbits((codes[:, None] >> np.arange(bits)) & 1, bitorder="little")


def flag_chunk(flags: Sequence[np.ndarray]) -> Chunk:
    """A column of yes and no, given in parts (N,)."""
    rows = sum(len(part) for part in flags)
    content = np.packbits(np.concatenate(flags), bitorder="little").tobytes()
    page, plain = _page(content, rows, _PLAIN, _SNAPPY)
    return Chunk(page, rows, plain, _SNAPPY)


def value_chunk(values: Iterable[np.ndarray], known: Iterable[np.ndarray]) -> Chunk:
    """A column of numbers of double precision, given in parts (N,) of which some may not be `known` (N,)."""
    pages: list[bytes | pa.Buffer] = []
    rows = plain = missing = 0
    for whole, there in zip(values, known, strict=True):
        for begin in range(0, len(whole), _PAGE_ROWS):
            value, flag = whole[begin : begin + _PAGE_ROWS], there[begin : begin + _PAGE_ROWS]
            levels = run_bytes(runs_of(flag.view(np.uint8)), 1)
            stored = value if flag.all() else value[flag]
            content = b"".join((packing.pack("<I", len(levels)), levels, stored.astype("<f8", copy=False).data))
            page, size = _page(content, len(value), _PLAIN, _SNAPPY)
            pages += page
            rows, plain, missing = rows + len(value), plain + size, missing + len(value) - len(stored)
    return Chunk(pages, rows, plain, _SNAPPY, missing=missing)


def _coded(
    dictionary: bytes,
    count: int,
    coded: bytes,
    rows: int,
    ends: tuple[bytes | None, bytes | None] = (None, None),
    codec: int = _UNCOMPRESSED,
) -> Chunk:
    """A dictionary of `count` entries and a page of codes."""
    head = {7: struct({1: i32(count), 2: i32(_PLAIN)})}
    first, first_plain = _with_header(_DICTIONARY_PAGE, dictionary, head, codec)
    page, plain = _page(bytes([bits_of(count)]) + coded, rows, _RLE_DICTIONARY, codec)
    size = sum(len(part) for part in first)
    return Chunk([*first, *page], rows, first_plain + plain, codec, size, *ends)


Page = tuple[list[bytes | pa.Buffer], int]


def _page(content: bytes, rows: int, encoding: int, codec: int) -> Page:
    """A data page: header and content, and their size before compression."""
    head = {5: struct({1: i32(rows), 2: i32(encoding), 3: i32(_RLE), 4: i32(_RLE)})}
    return _with_header(_DATA_PAGE, content, head, codec)


def _with_header(kind: int, content: bytes, head: Mapping[int, Encoded], codec: int) -> Page:
    stored = content if codec == _UNCOMPRESSED else pa.Codec("snappy").compress(content)
    header = struct({1: i32(kind), 2: i32(len(content)), 3: i32(len(stored)), **head}).content
    return [header, stored], len(header) + len(content)


# -- the file ------------------------------------------------------------------------------------------------------------

#: Type, ConvertedType and logical type of Parquet by that of Arrow.
_TYPES: Final[Mapping[pa.DataType, int]] = {
    pa.bool_(): 0,
    pa.int32(): 1,
    pa.float32(): 4,
    pa.float64(): 5,
    pa.string(): 6,
}
_REQUIRED, _OPTIONAL = 0, 1
_VERSION = 2


class ParquetFile:
    """A Parquet file while it is written, a row group at a time; its table of contents comes last.

    Parameters: `schema` of flat columns, texts as dictionaries; its metadata stand in the file. `made_by`: who writes it.
    """

    def __init__(self, path: Path, schema: pa.Schema, made_by: str) -> None:
        self._schema, self._made_by = schema, made_by
        self._groups: list[Encoded] = []
        self._rows = 0
        self._stream: BinaryIO = path.open("wb")
        self._at = self._stream.write(_MAGIC)

    def write_group(self, chunks: Sequence[Chunk]) -> None:
        """Write a row group, a chunk a column of the schema."""
        columns = [self._column(field, chunk) for field, chunk in zip(self._schema, chunks, strict=True)]
        rows = chunks[0].rows
        assert all(chunk.rows == rows for chunk in chunks)
        size = sum(chunk.plain_bytes for chunk in chunks)
        self._groups.append(struct({1: several(columns), 2: i64(size), 3: i64(rows)}))
        self._rows += rows

    def _column(self, field: pa.Field, chunk: Chunk) -> Encoded:
        begin = self._at
        for page in chunk.pages:
            self._at += self._stream.write(page)
        encodings = [_PLAIN, _RLE, _RLE_DICTIONARY] if chunk.dictionary else [_PLAIN, _RLE]
        found = {
            1: i32(_TYPES[_plain_type(field)]),
            2: several([i32(encoding) for encoding in encodings]),
            3: several([binary(field.name)]),
            4: i32(chunk.codec),
            5: i64(chunk.rows),
            6: i64(chunk.plain_bytes),
            7: i64(self._at - begin),
            9: i64(begin + chunk.dictionary),
        }
        if chunk.dictionary:
            found[11] = i64(begin)
        if chunk.smallest is not None and chunk.largest is not None:
            found[12] = struct({3: i64(chunk.missing), 5: binary(chunk.largest), 6: binary(chunk.smallest)})
        return struct({2: i64(0), 3: struct(found)})

    def close(self) -> None:
        """Write the table of contents and finish the file."""
        with self._stream:
            content = self._contents().content
            self._stream.write(content + packing.pack("<I", len(content)) + _MAGIC)

    def _contents(self) -> Encoded:
        root = struct({4: binary("schema"), 5: i32(len(self._schema))})
        # what Arrow looks for: its own schema, by which texts come back as dictionaries
        arrow = base64.b64encode(self._schema.serialize().to_pybytes())
        notes = {**(self._schema.metadata or {}), b"ARROW:schema": arrow}
        in_order = struct({1: struct({})})  # statistics follow the order of the type
        return struct(
            {
                1: i32(_VERSION),
                2: several([root, *(_element(field) for field in self._schema)]),
                3: i64(self._rows),
                4: several(self._groups),
                5: several([struct({1: binary(name), 2: binary(value)}) for name, value in notes.items()]),
                6: binary(self._made_by),
                7: several([in_order] * len(self._schema)),
            }
        )


def _element(field: pa.Field) -> Encoded:
    """A column in the schema of the file."""
    found = {
        1: i32(_TYPES[_plain_type(field)]),
        3: i32(_OPTIONAL if field.nullable else _REQUIRED),
        4: binary(field.name),
    }
    if _plain_type(field) == pa.string():
        found |= {6: i32(_UTF8), 10: struct({1: struct({})})}
    return struct(found)


def _plain_type(field: pa.Field) -> pa.DataType:
    return field.type.value_type if pa.types.is_dictionary(field.type) else field.type
