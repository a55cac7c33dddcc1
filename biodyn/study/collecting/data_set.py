"""The tidy data set of a study as Parquet: trials are added in the order of the plan, a few at a time are in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from biodyn.conventions import CYCLE_POINTS
from biodyn.study.collecting.schema import (
    CYCLE_COLUMNS,
    DATA_SET_SCHEMA,
    LABELS,
    PRUNING_COLUMNS,
    SCHEMA_VERSION,
    UNITS_NOTE,
    WORD_COLUMNS,
)
from biodyn.study.collecting.shard import Curves, Words
from biodyn.study.plan import PlannedTrial

#: A row group holds trials of one subject and is closed with the trial that takes it beyond this many rows.
ROW_GROUP_ROWS = 1_000_000
# Values between calls into the encoders: the default of 1024 costs a third more time.
_BATCH_ROWS = 65_536
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
    """Return one table of all rows (`DATA_SET_SCHEMA`), with the labels of their trials; a list of words a text column."""
    every = [shard.curves for shard in shards]
    lengths = [curves.rows for curves in every]
    columns: list[pa.Array] = []
    for label in LABELS:
        words: dict[str, int] = {}
        codes = [words.setdefault(getattr(shard.trial, label), len(words)) for shard in shards]
        columns.append(_words(np.repeat(np.array(codes, dtype=np.int32), lengths), words))
    value = np.concatenate([curves.values for curves in every]).reshape(-1)
    valid = np.isfinite(value)
    made = {
        "cycle": pa.array(_of_rows(np.concatenate([curves.cycle for curves in every])), pa.int32()),
        "side": _one_list([curves.side for curves in every]),
        "percent": pa.array(np.tile(_PERCENT, len(value) // CYCLE_POINTS), pa.float32()),
        "variable": _one_list([curves.variable for curves in every]),
        "value": pa.array(value, pa.float64(), mask=~valid),
        "unit": _one_list([curves.unit for curves in every]),
        "valid": pa.array(valid),
        "reason": _reasons(every),
    }
    return pa.table([*columns, *(made[name] for name in CYCLE_COLUMNS)], schema=DATA_SET_SCHEMA)


def _of_rows(values: np.ndarray) -> np.ndarray:
    """The number of every curve for each of its rows."""
    return np.repeat(values.astype(np.int32), CYCLE_POINTS)


def _one_list(texts: Sequence[Words]) -> pa.Array:
    words: dict[str, int] = {}
    return _words(_of_rows(np.concatenate([_places(words, text.words)[text.codes] for text in texts])), words)


def _places(words: dict[str, int], others: Iterable[str]) -> np.ndarray:
    """Places of other words in the list of all, which takes up new ones."""
    return np.array([words.setdefault(word, len(words)) for word in others], dtype=np.int32)


def _reasons(every: Sequence[Curves]) -> pa.Array:
    words: dict[str, int] = {}
    codes = []
    for curves in every:
        place = _places(words, curves.reason_words)
        same = np.array_equal(place, np.arange(len(place)))
        codes.append((curves.reasons if same else place[curves.reasons]).astype(np.int32).reshape(-1))
    return _words(np.concatenate(codes), words)


def _words(codes: np.ndarray, words: Iterable[str]) -> pa.Array:
    # Every code has its word: `read_curves` has looked.
    return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), pa.array(list(words), pa.string()), safe=False)


class DataSetFile:
    """study.parquet while it is written: the trials of a call to `add` are a row group."""

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

    def add(self, shards: Sequence[Shard]) -> None:
        """Write the trials of one subject, as `row_groups` gives them, as one row group."""
        table = joined(shards)
        self._writer.write_table(table, row_group_size=max(table.num_rows, 1))

    def close(self) -> None:
        """Finish the file."""
        self._writer.close()
