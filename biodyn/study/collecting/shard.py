"""The gait cycles of one trial as `cycles.arrow`: what the data set of the study is collected from."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

from biodyn.study.collecting.reasons import FrameReasons, cycle_reasons
from biodyn.study.collecting.schema import SHARD_SCHEMA, WORD
from biodyn.study.record import CYCLES_NAME
from biodyn.trial.result import TrialResult


def write_cycles(result: TrialResult, folder: Path) -> None:
    """Write `cycles.arrow` (Arrow IPC file, `SHARD_SCHEMA`) into an existing folder."""
    write_table(cycles_table(result), folder)


def write_table(table: pa.Table, folder: Path) -> None:
    """Write a table of `SHARD_SCHEMA` as `cycles.arrow` into an existing folder."""
    with pa.OSFile(str(folder / CYCLES_NAME), "wb") as sink, pa.ipc.new_file(sink, SHARD_SCHEMA) as writer:
        writer.write_table(table)


def cycles_table(result: TrialResult) -> pa.Table:
    """Return the rows of `result.gait_cycles` with `valid` and `reason`; missing values are null."""
    frame = result.gait_cycles
    value = frame["value"].to_numpy()
    valid = np.isfinite(value)
    codes, words = _reason_codes(result)
    return pa.table(
        [
            pa.array(frame["cycle"].to_numpy(), pa.int32()),
            _words(frame["side"]),
            pa.array(frame["percent"].to_numpy(), pa.float32()),
            _words(frame["variable"]),
            pa.array(value, pa.float64(), mask=~valid),
            _words(frame["unit"]),
            pa.array(valid),
            pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), pa.array(words, pa.string())),
        ],
        schema=SHARD_SCHEMA,
    )


def _words(column: pd.Series) -> pa.Array:
    categories = pa.array([str(word) for word in column.cat.categories], pa.string())
    codes = pa.array(column.cat.codes.to_numpy(), pa.int32())
    return pa.DictionaryArray.from_arrays(codes, categories).cast(WORD)


def _reason_codes(result: TrialResult) -> tuple[np.ndarray, list[str]]:
    """Codes a row of `gait_cycles`, and their words: only those that occur, in the order of their first row."""
    reasons = FrameReasons(result.analysis)
    rate_hz = result.analysis.recording.markers.rate_hz
    codes = [cycle_reasons(reasons, values, rate_hz).T.reshape(-1) for values in result.analysis.cycles]
    joined = np.concatenate(codes) if codes else np.empty(0, dtype=np.int64)
    used, first = np.unique(joined, return_index=True)
    order = used[np.argsort(first)]
    place = np.zeros(len(reasons.words), dtype=np.int64)
    place[order] = np.arange(len(order))
    return place[joined], [reasons.words[code] for code in order]
