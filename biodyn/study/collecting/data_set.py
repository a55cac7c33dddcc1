"""The tidy data set of a study as Parquet: trials are added in the order of the plan, a few at a time are in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from biodyn.conventions import CYCLE_POINTS
from biodyn.errors import ResultError
from biodyn.study.collecting.schema import (
    CYCLE_COLUMNS,
    DATA_SET_SCHEMA,
    LABELS,
    PRUNING_COLUMNS,
    SCHEMA_VERSION,
    SHARD_SCHEMA,
    UNITS_NOTE,
    WORD_COLUMNS,
)
from biodyn.study.plan import PlannedTrial
from biodyn.study.record import CYCLES_NAME

#: A row group holds trials of one subject and is closed with the trial that takes it beyond this many rows.
ROW_GROUP_ROWS = 1_000_000
# Values between calls into the encoders: the default of 1024 costs a third more time.
_BATCH_ROWS = 65_536


class Shard(NamedTuple):
    """A trial and its rows (`SHARD_SCHEMA`)."""

    trial: PlannedTrial
    rows: pa.Table


def read_shard(folder: Path) -> pa.Table:
    """Return the rows of a trial's `cycles.arrow`, mapped into memory; ResultError if it is damaged or of another version."""
    path = folder / CYCLES_NAME
    hint = f"Remove the folder '{folder.name}' and run the study again."
    try:
        table = pa.ipc.open_file(pa.memory_map(str(path))).read_all()
    except (OSError, pa.ArrowException) as error:
        raise ResultError(f"'{CYCLES_NAME}' of trial '{folder.name}' cannot be read.", hint) from error
    if not table.schema.equals(SHARD_SCHEMA, check_metadata=True):
        raise ResultError(f"'{CYCLES_NAME}' of trial '{folder.name}' has other columns than this version writes.", hint)
    if not _is_whole(table):
        raise ResultError(f"'{CYCLES_NAME}' of trial '{folder.name}' is damaged.", hint)
    return table


def without_values(rows: pa.Table, reason: str) -> pa.Table:
    """The rows of a trial (`SHARD_SCHEMA`) that must not be used: no value, not valid, the reason in each."""
    count = rows.num_rows
    columns = {name: rows[name] for name in rows.column_names}
    columns["value"] = pa.chunked_array([pa.nulls(count, pa.float64())])
    columns["valid"] = pa.chunked_array([pa.array(np.zeros(count, dtype=bool))])
    columns["reason"] = pa.chunked_array([_words(np.zeros(count, dtype=np.int32), [reason])])
    return pa.table(columns, schema=rows.schema)


def _is_whole(table: pa.Table) -> bool:
    """True for curves of 101 values each, every word in its list, and no number that is none."""
    try:
        table.validate(full=True)
    except pa.ArrowException:
        return False
    if any(table[field.name].null_count for field in SHARD_SCHEMA if not field.nullable):
        return False
    if table.num_rows % CYCLE_POINTS:
        return False
    value = table["value"].to_numpy()
    percent = table["percent"].to_numpy().reshape(-1, CYCLE_POINTS)
    known = table["valid"].to_numpy()
    return bool(
        np.array_equal(np.isfinite(value), known)
        and np.array_equal(percent, np.broadcast_to(np.arange(CYCLE_POINTS, dtype=percent.dtype), percent.shape))
    )


def row_groups(shards: Iterable[Shard], rows: int = ROW_GROUP_ROWS) -> Iterator[pa.Table]:
    """Yield the shards joined to tables (`DATA_SET_SCHEMA`) of one subject each, of `rows` rows or little more."""
    waiting: list[Shard] = []
    count = 0
    for shard in shards:
        if waiting and (count >= rows or shard.trial.subject != waiting[0].trial.subject):
            yield joined(waiting)
            waiting, count = [], 0
        if shard.rows.num_rows:
            waiting.append(shard)
            count += shard.rows.num_rows
    if waiting:
        yield joined(waiting)


def joined(shards: Sequence[Shard]) -> pa.Table:
    """Return one table of all rows, with the labels of their trials; every text column has one list of words."""
    lengths = [shard.rows.num_rows for shard in shards]
    columns: list[pa.Array | pa.ChunkedArray] = []
    for label in LABELS:
        words: dict[str, int] = {}
        codes = [words.setdefault(getattr(shard.trial, label), len(words)) for shard in shards]
        columns.append(_words(np.repeat(np.array(codes, dtype=np.int32), lengths), words))
    for name in CYCLE_COLUMNS:
        chunks = [chunk for shard in shards for chunk in shard.rows[name].chunks]
        if name in WORD_COLUMNS:
            columns.append(_one_list(chunks))
        else:
            columns.append(pa.chunked_array(chunks, DATA_SET_SCHEMA.field(name).type))
    return pa.table(columns, schema=DATA_SET_SCHEMA)


def _one_list(chunks: Sequence[pa.DictionaryArray]) -> pa.Array:
    words: dict[str, int] = {}
    codes = []
    for chunk in chunks:
        place = np.array([words.setdefault(word, len(words)) for word in chunk.dictionary.to_pylist()], dtype=np.int32)
        own = chunk.indices.to_numpy(zero_copy_only=True)
        codes.append(own if np.array_equal(place, np.arange(len(place))) else place[own])
    return _words(np.concatenate(codes), words)


def _words(codes: np.ndarray, words: Iterable[str]) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), pa.array(list(words), pa.string()))


class DataSetFile:
    """study.parquet while it is written; a table a row group."""

    def __init__(self, path: Path, version: str) -> None:
        metadata = {
            "biodyn_version": version,
            "biodyn_schema_version": str(SCHEMA_VERSION),
            "biodyn_units": UNITS_NOTE,
        }
        # Plain and snappy: what every reader of Parquet understands; better packing saves a quarter and little time.
        self._writer = pq.ParquetWriter(
            path,
            DATA_SET_SCHEMA.with_metadata(metadata),
            compression="snappy",
            use_dictionary=list(WORD_COLUMNS),
            write_statistics=list(PRUNING_COLUMNS),
            write_batch_size=_BATCH_ROWS,
        )

    def add(self, table: pa.Table) -> None:
        """Write a table of `row_groups` as one row group."""
        self._writer.write_table(table, row_group_size=max(table.num_rows, 1))

    def close(self) -> None:
        """Finish the file."""
        self._writer.close()
