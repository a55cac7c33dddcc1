"""A table as Parquet in a tenth of the room of its CSV, with the same numbers: what a study keeps of the tables of its trials.

Numbers are whole multiples of their last written decimal, delta encoded and compressed by Zstandard. Needs pyarrow.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from biodyn.errors import ResultError
from biodyn.output.tables.csv import DECIMALS

_DECIMALS_KEY = b"biodyn_decimals"
_INSTALL = "Install: pip install 'biodyn[study]', or set [output] tables = \"csv\"."
#: Whole numbers below it are exact in a double.
_EXACT = 2.0**53


def require_arrow() -> None:
    """Raise ResultError where pyarrow is not installed."""
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError as error:
        raise ResultError("Packed tables need pyarrow, not part of the plain installation.", _INSTALL) from error


def packed(frame: pd.DataFrame, decimals: int = DECIMALS, coarser: Mapping[str, int] | None = None) -> bytes:
    """Return a table as the bytes of a Parquet file.

    Args:
        frame: the table. Missing numbers and empty texts are missing.
        decimals: of its numbers, as in CSV. coarser: fewer of them, by column.
    """
    require_arrow()
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns: dict[str, Any] = {}
    scales: dict[str, int] = {}
    words: list[str] = []
    for name, values in frame.items():
        name = str(name)
        if pd.api.types.is_float_dtype(values.dtype):
            numbers = values.to_numpy(dtype=np.float64, na_value=np.nan)
            digits = decimals if coarser is None else coarser.get(name, decimals)
            with np.errstate(over="ignore"):
                counts = np.rint(numbers * 10.0**digits)
            if bool((np.isnan(counts) | (np.abs(counts) < _EXACT)).all()):
                scales[name] = digits
                columns[name] = pa.array(counts, from_pandas=True).cast(pa.int64())
            else:
                columns[name] = pa.array(np.round(numbers, digits), from_pandas=True)
        elif pd.api.types.is_bool_dtype(values.dtype):
            columns[name] = pa.array(values.to_numpy())
        elif pd.api.types.is_integer_dtype(values.dtype):
            columns[name] = pa.array(values.to_numpy(dtype=np.int64))
        else:
            texts = values.astype(object)
            columns[name] = pa.array(texts.where(texts != ""), pa.string(), from_pandas=True)
            words.append(name)
    table, content = pa.table(columns), io.BytesIO()
    with pq.ParquetWriter(
        content,
        table.schema,
        compression="zstd",
        use_dictionary=words,
        column_encoding={n: "DELTA_BINARY_PACKED" for n, c in columns.items() if pa.types.is_int64(c.type)},
        write_statistics=False,
        store_schema=False,
    ) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({_DECIMALS_KEY: json.dumps(scales)})
    return content.getvalue()


def unpacked(content: bytes) -> pd.DataFrame:
    """Return the table of `packed`, with the dtypes that its CSV is read with; ValueError where the bytes are none."""
    require_arrow()
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(pa.BufferReader(content))
        table, scales = file.read(), json.loads((file.metadata.metadata or {})[_DECIMALS_KEY])
        return pd.DataFrame({name: _values(table[name], scales.get(name)) for name in table.column_names})
    except (pa.ArrowException, OSError, KeyError, TypeError) as error:
        raise ValueError(f"it is no whole packed table ({error})") from error


def _values(column: Any, decimals: int | None) -> np.ndarray:
    import pyarrow as pa

    if pa.types.is_string(column.type):
        if column.null_count == len(column):
            return np.full(len(column), np.nan)
        return np.array([np.nan if word is None else word for word in column.to_pylist()], dtype=object)
    if decimals is None:
        return column.to_numpy()
    unit = 10**decimals
    if column.null_count:
        return column.cast(pa.float64()).to_numpy() / float(unit)
    counts = column.to_numpy()
    # as CSV is read: whole numbers are integers
    return counts / float(unit) if (counts % unit).any() else counts // unit
