"""The tidy data set of a study as Parquet: trials are added in the order of the plan, a few at a time are in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from biodyn.conventions import CYCLE_POINTS
from biodyn.study.collecting.schema import (
    DATA_SET_SCHEMA,
    LABELS,
    SCHEMA_VERSION,
    STATISTICS_COLUMN,
    UNITS_NOTE,
    WORD_COLUMNS,
)
from biodyn.study.collecting.shard import Curves, Words
from biodyn.study.plan import PlannedTrial

#: A row group holds trials of one subject and is closed with the trial that takes it beyond this many rows.
ROW_GROUP_ROWS = 1_000_000
# Values between calls into the encoders: the default of 1024 costs a third more time.
_BATCH_ROWS = 65_536
# Columns that are the same in many trials, of some 200 kB each.
_KEPT = 16
_PERCENT: Final = np.linspace(0.0, 100.0, CYCLE_POINTS, dtype=np.float32)


class Shard(NamedTuple):
    """A trial and its curves."""

    trial: PlannedTrial
    curves: Curves


def without_values(curves: Curves, reason: str) -> Curves:
    """The curves of a trial that must not be used: no value, the reason in each."""
    return replace(
        curves,
        values=np.full_like(curves.values, np.nan),
        reasons=np.ones(curves.values.shape, dtype=np.int64),
        reason_words=("", reason),
    )


def row_groups(shards: Iterable[Shard], rows: int = ROW_GROUP_ROWS) -> Iterator[list[Shard]]:
    """Yield the shards that have rows, those of one subject together, of `rows` rows or little more."""
    waiting: list[Shard] = []
    count = 0
    for shard in shards:
        if waiting and (count >= rows or shard.trial.subject != waiting[0].trial.subject):
            yield waiting
            waiting, count = [], 0
        if shard.curves.rows:
            waiting.append(shard)
            count += shard.curves.rows
    if waiting:
        yield waiting


def joined(shards: Sequence[Shard]) -> pa.Table:
    """Return one table of all rows (`DATA_SET_SCHEMA`), with the labels of their trials.

    A trial is a chunk: what is made for its rows stays in the processor's own memory. The chunks of a text column have one list
    of words.
    """
    every = [shard.curves for shard in shards]
    labels = {name: _label([getattr(shard.trial, name) for shard in shards], every) for name in LABELS}
    values = [_nullable(curves.values.reshape(-1)) for curves in every]
    made = {
        "cycle": [pa.array(_of_rows(curves.cycle), pa.int32()) for curves in every],
        "side": _one_list([curves.side for curves in every]),
        "percent": [_percent(len(curves.cycle)) for curves in every],
        "variable": _one_list([curves.variable for curves in every]),
        "value": values,
        "unit": _one_list([curves.unit for curves in every]),
        "valid": [value.is_valid() for value in values],
        "reason": _reasons(every),
    }
    return pa.table(
        {name: pa.chunked_array(chunks) for name, chunks in (labels | made).items()}, schema=DATA_SET_SCHEMA
    )


def _nullable(values: np.ndarray) -> pa.Array:
    """Numbers (N,) as they lie in memory, those that are not finite as null."""
    known = np.packbits(np.isfinite(values), bitorder="little")  # as Arrow marks what is there
    return pa.Array.from_buffers(pa.float64(), len(values), [pa.py_buffer(known), pa.py_buffer(values)])


@lru_cache(maxsize=_KEPT)
def _percent(curves: int) -> pa.Array:
    """Percent of the cycle in every row of so many curves."""
    return pa.array(np.tile(_PERCENT, curves), pa.float32())


@lru_cache(maxsize=_KEPT)
def _same(code: int, rows: int) -> pa.Array:
    return pa.array(np.full(rows, code, dtype=np.int32))


def _label(found: Sequence[str], every: Sequence[Curves]) -> list[pa.Array]:
    """One word for all rows of a trial."""
    words: dict[str, int] = {}
    codes = [words.setdefault(word, len(words)) for word in found]
    return _words([_same(code, curves.rows) for code, curves in zip(codes, every, strict=True)], words)


def _of_rows(values: np.ndarray) -> np.ndarray:
    """The number of every curve for each of its rows."""
    return np.repeat(values.astype(np.int32), CYCLE_POINTS)


def _one_list(texts: Sequence[Words]) -> list[pa.Array]:
    words: dict[str, int] = {}
    return _words([pa.array(_of_rows(_places(words, text.words)[text.codes])) for text in texts], words)


def _places(words: dict[str, int], others: Iterable[str]) -> np.ndarray:
    """Places of other words in the list of all, which takes up new ones."""
    return np.array([words.setdefault(word, len(words)) for word in others], dtype=np.int32)


def _reasons(every: Sequence[Curves]) -> list[pa.Array]:
    words: dict[str, int] = {}
    codes = []
    for curves in every:
        place = _places(words, curves.reason_words)
        same = np.array_equal(place, np.arange(len(place)))
        found = curves.reasons if same else np.take(place, curves.reasons)
        codes.append(pa.array(found.astype(np.int32, copy=False).reshape(-1)))
    return _words(codes, words)


def _words(codes: Sequence[pa.Array], words: Iterable[str]) -> list[pa.Array]:
    listed = pa.array(list(words), pa.string())
    # Every code has its word: `read_curves` has looked.
    return [pa.DictionaryArray.from_arrays(one, listed, safe=False) for one in codes]


class DataSetFile:
    """study.parquet while it is written: the trials of a call to `add` are a row group."""

    def __init__(self, path: Path, version: str) -> None:
        metadata = {
            "biodyn_version": version,
            "biodyn_schema_version": str(SCHEMA_VERSION),
            "biodyn_units": UNITS_NOTE,
        }
        # Plain and snappy: what every reader of Parquet understands; Zstandard saves a quarter and takes a third longer. In the
        # values snappy finds a sixteenth and takes a fifth of their time: they are left as they are.
        self._writer = pq.ParquetWriter(
            path,
            DATA_SET_SCHEMA.with_metadata(metadata),
            compression={name: "none" if name == "value" else "snappy" for name in DATA_SET_SCHEMA.names},
            use_dictionary=list(WORD_COLUMNS),
            write_statistics=[STATISTICS_COLUMN],
            write_batch_size=_BATCH_ROWS,
        )

    def add(self, table: pa.Table) -> None:
        """Write the trials of one subject, as `row_groups` gives them and `joined` has joined them, as one row group."""
        self._writer.write_table(table, row_group_size=max(table.num_rows, 1))

    def close(self) -> None:
        """Finish the file."""
        self._writer.close()
