"""Store tables of study trials as Parquet files, with a tenth of the size of CSV and the same numbers. Requires pyarrow.

Numbers are stored as integer multiples of their last decimal, bytes of equal weight together, compressed by Zstandard. Packed
tables of version 0.2 (`tables/<name>.packed`) are only read, until version 0.4.
"""

from __future__ import annotations

import io
import json
import zlib
from collections.abc import Callable, Mapping, Sequence
from inspect import signature
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd

from biodyn.errors import ResultError
from biodyn.output.tables.csv import DECIMALS

_DECIMALS_KEY = b"biodyn_decimals"
_INSTALL = "Install: pip install 'biodyn[study]', or set [output] tables = \"csv\"."


def require_pyarrow() -> None:
    """Raise ResultError if pyarrow is not installed."""
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError as error:
        raise ResultError(
            "Packed tables require pyarrow, which the basic installation does not include.", _INSTALL
        ) from error


def to_parquet(frame: pd.DataFrame, decimals: int = DECIMALS, coarser: Mapping[str, int] | None = None) -> bytes:
    """Return a table as the bytes of a Parquet file.

    Args:
        frame: the table. Missing numbers and empty texts are missing.
        decimals: decimals of the numbers, as in CSV. coarser: smaller numbers of decimals, by column.
    """
    require_pyarrow()
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {str(name): _encode_column(values, decimals, coarser or {}) for name, values in frame.items()}
    scales = {name: column.decimals for name, column in columns.items() if column.decimals is not None}
    schema = pa.schema([(name, column.kind) for name, column in columns.items()])
    content, rows_of_group = io.BytesIO(), 2**20
    # one page per group, because equal components of different axis systems are then stored once
    options = signature(pq.ParquetWriter.__init__).parameters
    # older versions of pyarrow do not limit the rows of a page
    most_rows = {"max_rows_per_page": rows_of_group} if "max_rows_per_page" in options else {}
    with pq.ParquetWriter(
        content,
        schema,
        compression="zstd",
        compression_level=3,
        use_dictionary=[name for name, column in columns.items() if pa.types.is_dictionary(column.kind)],
        column_encoding={n: "BYTE_STREAM_SPLIT" for n, c in columns.items() if pa.types.is_int64(c.kind)},
        write_statistics=False,
        store_schema=False,
        data_page_size=16 * rows_of_group,
        **most_rows,
    ) as writer:
        for first in range(0, max(len(frame), 1), rows_of_group):  # one group at a time, which bounds the memory
            group = slice(first, first + rows_of_group)
            writer.write_table(pa.table([column.encode(group) for column in columns.values()], schema))
        writer.add_key_value_metadata({_DECIMALS_KEY: json.dumps(scales)})
    return content.getvalue()


class _EncodedColumn(NamedTuple):
    """Column of a packed table: type of its values, function that returns some of its rows, and decimals of its integers."""

    kind: Any
    encode: Callable[[slice], Any]
    decimals: int | None = None


def _encode_column(values: pd.Series, decimals: int, coarser: Mapping[str, int]) -> _EncodedColumn:
    """Return how to encode a column, see `to_parquet`."""
    import pyarrow as pa

    if pd.api.types.is_float_dtype(values.dtype):
        numbers, digits = values.to_numpy(dtype=np.float64, na_value=np.nan), coarser.get(str(values.name), decimals)
        scale = 10.0**digits
        with np.errstate(over="ignore"):
            ends = np.fmin.reduce(numbers, initial=0.0), np.fmax.reduce(numbers, initial=0.0)
            largest = float(np.rint(max(-ends[0], ends[1]) * scale))
        if largest < 2.0**53:

            def encode_counts(rows: slice) -> Any:
                counts = np.rint(numbers[rows] * scale)
                missing = np.isnan(counts)
                return pa.array(np.where(missing, 0.0, counts).astype(np.int64), mask=missing)

            return _EncodedColumn(pa.int64(), encode_counts, digits)
        return _EncodedColumn(pa.float64(), lambda rows: pa.array(np.round(numbers[rows], digits), from_pandas=True))
    if pd.api.types.is_bool_dtype(values.dtype):
        return _EncodedColumn(pa.bool_(), lambda rows: pa.array(values.to_numpy()[rows]))
    if pd.api.types.is_integer_dtype(values.dtype):
        return _EncodedColumn(pa.int64(), lambda rows: pa.array(values.to_numpy()[rows].astype(np.int64)))
    categories = values.astype("category").cat
    words = categories.categories.astype(object)
    codes = np.where(np.append(words != "", False)[categories.codes], categories.codes, -1)
    return _EncodedColumn(pa.dictionary(pa.int32(), pa.string()), lambda rows: encode_words(codes[rows], words))


def encode_words(codes: np.ndarray, words: Sequence[str] | pd.Index[Any]) -> Any:
    """Return the word of each code (-1: missing) as a column; its dictionary has only used words, in the order of first use."""
    import pyarrow as pa

    used = pa.array(codes, mask=codes < 0).dictionary_encode()
    return pa.DictionaryArray.from_arrays(used.indices, pa.array(words, pa.string()).take(used.dictionary))


def from_parquet(content: bytes) -> pd.DataFrame:
    """Return the table of `to_parquet`, with the dtypes of its CSV; ValueError for invalid bytes."""
    require_pyarrow()
    import pyarrow as pa
    import pyarrow.parquet as pq

    most_cells = 500_000_000  # joint moments of an hour at 100 frames a second have 270 million
    try:
        file = pq.ParquetFile(pa.BufferReader(content))
        if file.metadata.num_rows * file.metadata.num_columns > most_cells:
            raise OSError("it has more cells than any table of a result")
        table, scales = file.read(use_threads=False), json.loads((file.metadata.metadata or {})[_DECIMALS_KEY])
        return pd.DataFrame({name: _decode_values(table[name], scales.get(name)) for name in table.column_names})
    except (pa.ArrowException, OSError, KeyError, TypeError) as error:
        raise ValueError(f"it is not a complete packed table ({error})") from error


def _decode_values(column: Any, decimals: int | None) -> np.ndarray:
    import pyarrow as pa

    if pa.types.is_string(column.type):
        if column.null_count == len(column):
            return np.full(len(column), np.nan)
        encoded = column.combine_chunks().dictionary_encode()
        words = np.array([*encoded.dictionary.to_pylist(), np.nan], dtype=object)
        return words[encoded.indices.fill_null(len(words) - 1).to_numpy()]
    if decimals is None:
        return column.to_numpy()
    unit = 10**decimals
    if column.null_count:
        return column.cast(pa.float64()).to_numpy() / float(unit)
    counts = column.to_numpy()
    # integer columns, as when read from CSV
    return counts / float(unit) if (counts % unit).any() else counts // unit


MAGIC: Final = b"biodyn packed table 1\n"


def from_packed_version_0_2(content: bytes) -> pd.DataFrame:
    """Return a packed table of version 0.2, with the dtypes of its CSV; ValueError for invalid bytes.

    File: `MAGIC`, then a zlib stream of one line of JSON (`decimals`, `rows`, `columns`, `streams`) and the bytes of all
    columns: integers as differences of some order, folded (0, -1, 1, -2 ... are 0, 1, 2, 3 ...), bytes of equal weight
    together.
    """
    if not content.startswith(MAGIC):
        raise ValueError("it is not a packed table of this version")
    most_bytes = 500_000_000
    try:
        inflater = zlib.decompressobj()
        line, _, body = inflater.decompress(content[len(MAGIC) :], most_bytes).partition(b"\n")
        if not inflater.eof:
            raise ValueError("it is not a complete packed table, or larger than any of a result")
        head = json.loads(line)
        rows, begin, streams = int(head["rows"]), 0, []
        if sum(planes for _, planes in head["streams"]) * rows != len(body):
            raise ValueError("its bytes do not match its columns")
        for order, planes in head["streams"]:
            part = np.frombuffer(body, dtype=np.uint8, count=planes * rows, offset=begin).reshape(planes, rows)
            begin += planes * rows
            folded = np.zeros(rows, dtype=np.uint64)
            for position, plane in enumerate(part):
                folded |= plane.astype(np.uint64) << np.uint64(8 * position)
            counts = (folded >> np.uint64(1)).view(np.int64) ^ -((folded & np.uint64(1)).view(np.int64))
            for number in range(order, 0, -1):
                counts[number - 1 :] = np.cumsum(counts[number - 1 :])
            streams.append(counts)
        return _decode_table_version_0_2(head, streams)
    except (zlib.error, KeyError, TypeError, IndexError, RecursionError) as error:
        raise ValueError(f"it is not a complete packed table ({error})") from error


def _decode_table_version_0_2(head: dict[str, Any], streams: list[np.ndarray]) -> pd.DataFrame:
    entries = head["columns"]
    if not streams:
        return pd.DataFrame({entry["name"]: [] for entry in entries})
    gaps = iter(streams[len(entries) :])
    return pd.DataFrame(
        {
            entry["name"]: _decode_column_version_0_2(
                entry,
                counts,
                10 ** int(entry.get("decimals", head["decimals"])),
                next(gaps) != 0 if entry.get("missing") else None,
            )
            for entry, counts in zip(entries, streams, strict=False)
        }
    )


def _decode_column_version_0_2(entry: dict[str, Any], counts: np.ndarray, unit: int, missing: np.ndarray | None) -> Any:
    kind = entry["kind"]
    if kind == "word":
        if missing is not None and missing.all():
            return np.full(len(counts), np.nan)
        words = np.array([*entry["words"], np.nan], dtype=object)
        return words[counts if missing is None else np.where(missing, len(words) - 1, counts)]
    if kind == "flag":
        return counts != 0
    if kind == "whole":
        return counts
    if kind == "raw":
        return counts.view(np.float64)
    values = counts / float(unit)
    if missing is not None:
        values[missing] = np.nan
    elif not (counts % unit).any():
        return counts // unit
    return values
