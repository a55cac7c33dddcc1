"""The gait cycles of one trial as `cycles.parquet`: rows of the data set of a study, with a reason for every missing value."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from biodyn.analysis import TrialAnalysis
from biodyn.conventions import CYCLE_POINTS, SIDE_NAMES, IntArray, Side
from biodyn.errors import ResultError
from biodyn.output.store.folder import RECORD_NAME, listed_files
from biodyn.output.store.read import read_record
from biodyn.processing.dynamics.solve import distal_feet, lost_distally
from biodyn.processing.gait.cycle_values import CycleValues
from biodyn.processing.gait.spatiotemporal import CycleSignal
from biodyn.recording import GroundReaction
from biodyn.study.record import CYCLES_NAME, STRIDES_NAME, read_strides
from biodyn.trial.result import TrialResult

# -- columns of the data set

SCHEMA_VERSION: Final = 1

#: Texts repeat over thousands of rows: a row holds the number of its word.
WORD: Final = pa.dictionary(pa.int32(), pa.string())

#: What the plan says of a trial; added when the trials are collected, so that a new label needs no new analysis.
LABELS: Final = ("subject", "session", "condition", "group", "site", "trial")
#: Of these, what data sets of earlier versions do not hold: "" in all of their rows.
LATER_LABELS: Final = ("site",)

#: Row for row `TrialResult.gait_cycles`, then whether the value is known and, if not, why.
CYCLE_FIELDS: Final = (
    pa.field("cycle", pa.int32(), nullable=False),
    pa.field("side", WORD, nullable=False),
    pa.field("percent", pa.float32(), nullable=False),  # 0, 1, ... 100: exact in single precision
    pa.field("variable", WORD, nullable=False),
    pa.field("value", pa.float64()),  # missing is null, which every reader understands as missing
    pa.field("unit", WORD, nullable=False),
    pa.field("valid", pa.bool_(), nullable=False),
    pa.field("reason", WORD, nullable=False),  # "" where valid
)
CYCLE_COLUMNS: Final = tuple(field.name for field in CYCLE_FIELDS)

DATA_SET_SCHEMA: Final = pa.schema([*(pa.field(name, WORD, nullable=False) for name in LABELS), *CYCLE_FIELDS])
DATA_SET_COLUMNS: Final = tuple(DATA_SET_SCHEMA.names)
#: Columns of words, in the order of the data set.
WORD_COLUMNS: Final = tuple(field.name for field in DATA_SET_SCHEMA if field.type == WORD)
#: Alike in all rows of a row group, which holds trials of one subject: a reader sees from them what it can skip.
PRUNING_COLUMNS: Final = ("subject", "group")
#: Of these, that whose smallest and largest word each row group's statistics tell: to find them takes longer than to encode it.
STATISTICS_COLUMN: Final = "subject"

UNITS_NOTE: Final = (
    "value is in the unit of its row: angles deg, moments Nm/kg, powers W/kg, ground reaction in body weights (BW); "
    "percent of the gait cycle from foot strike (0) to the next of the same side (100)"
)
CYCLE_SCHEMA: Final = pa.schema(CYCLE_FIELDS)

#: Microdegrees, microwatts per kilogram: finer than any of it is known.
DECIMALS: Final = 6

# -- write


def write_cycles(result: TrialResult, folder: Path) -> None:
    """Write `cycles.parquet` into an existing folder, values rounded to `DECIMALS`."""
    table = cycle_table(result)
    values = np.round(table["value"].to_numpy(), DECIMALS) + 0.0  # + 0.0 turns -0.0 into 0.0
    column = pa.array(values, from_pandas=True)
    write_cycle_table(table.set_column(CYCLE_COLUMNS.index("value"), CYCLE_SCHEMA.field("value"), column), folder)


def write_cycle_table(table: pa.Table, folder: Path) -> None:
    """Write rows of `CYCLE_SCHEMA` as `cycles.parquet` into an existing folder."""
    pq.write_table(table.cast(CYCLE_SCHEMA), folder / CYCLES_NAME, compression="zstd", write_statistics=False)


def cycle_table(result: TrialResult) -> pa.Table:
    """Return the rows of a result (`CYCLE_SCHEMA`), curve by curve, with full numbers."""
    analysis = result.analysis
    reasons = FrameReasons(analysis)
    rate_hz = analysis.recording.markers.rate_hz
    numbers: list[int] = []
    sides: list[str] = []
    signals: list[CycleSignal] = []
    values: list[np.ndarray] = [np.empty((0, CYCLE_POINTS))]
    codes: list[np.ndarray] = [np.empty((0, CYCLE_POINTS), dtype=np.int64)]
    for cycle in analysis.cycles:
        values.append(cycle.curves.T)
        codes.append(cycle_reasons(reasons, cycle, rate_hz).T)
        signals += cycle.signals
        numbers += [cycle.cycle.number + 1] * len(cycle.signals)
        sides += [cycle.cycle.side] * len(cycle.signals)
    value = pa.array(np.concatenate(values).reshape(-1), from_pandas=True)
    percent = np.tile(np.linspace(0.0, 100.0, CYCLE_POINTS, dtype=np.float32), len(numbers))
    columns = {
        "cycle": pa.array(np.repeat(np.array(numbers, dtype=np.int32), CYCLE_POINTS)),
        "side": _of_rows(sides),
        "percent": pa.array(percent),
        "variable": _of_rows([signal.variable for signal in signals]),
        "value": value,
        "unit": _of_rows([signal.unit for signal in signals]),
        "valid": value.is_valid(),
        "reason": _dictionary(np.concatenate(codes).reshape(-1), reasons.words),
    }
    return pa.table(columns, schema=CYCLE_SCHEMA)


def _of_rows(texts: list[str]) -> pa.DictionaryArray:
    """The text of every curve in each of its rows."""
    words = list(dict.fromkeys(texts))
    place = {word: code for code, word in enumerate(words)}
    return _dictionary(np.repeat([place[text] for text in texts], CYCLE_POINTS), words)


def _dictionary(codes: np.ndarray, words: list[str]) -> pa.DictionaryArray:
    """Texts by code, the words that occur only, in the order of their first row."""
    used, first, places = np.unique(codes.astype(np.int32), return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(used), dtype=np.int32)
    rank[order] = np.arange(len(used), dtype=np.int32)
    return pa.DictionaryArray.from_arrays(
        pa.array(rank[places]), pa.array([words[used[k]] for k in order], pa.string())
    )


# -- reasons


_UNSEEN = "markers missing"
_NO_ACCELERATION = "too close to the end of the recording or of a gap"
_OTHER = "not computed"


class FrameReasons:
    """For every signal and frame the reason why it is unknown, as a number of `words`; 0 (no reason) is "".

    Numbers that differ from trial to trial (a distance, a time) stay in the trial's own tables: reasons can be counted.
    """

    def __init__(self, analysis: TrialAnalysis) -> None:
        self._analysis = analysis
        self._frames = len(analysis.time_s)
        self.words: list[str] = ["", _OTHER]
        reaction = analysis.reaction
        self._ground = {side: self._contact_codes(side, reaction.as_measured) for side in reaction.wrench}
        self._loads = {side: self._contact_codes(side, reaction) for side in reaction.wrench}
        sides: list[Side] = [side for side in analysis.reaction.wrench if side in analysis.model.sole_body]
        self._feet = distal_feet(analysis.model, sides)
        self._kept: dict[tuple[str, str, int], IntArray] = {}

    def of(self, signal: CycleSignal, side: Side) -> IntArray:
        """Return the codes (T,) of a signal of that side's `cycle_signals`."""
        if signal.kind == "ground":
            return self._ground[side]
        # A load does not depend on its own coordinate but on all beyond its joint.
        key = (signal.kind, signal.body, signal.coordinate if signal.kind == "angle" else -1)
        if key not in self._kept:
            self._kept[key] = self._load(signal.body) if signal.kind == "load" else self._angle(signal)
        return self._kept[key]

    def _angle(self, signal: CycleSignal) -> IntArray:
        fit = self._analysis.fit
        unseen = ~fit.solved
        if signal.coordinate >= 0:
            unseen = unseen | fit.lost[:, signal.coordinate]
        return np.where(unseen, self.code(_UNSEEN), 0)

    def _load(self, body: str) -> IntArray:
        fit = self._analysis.fit
        codes = np.zeros(self._frames, dtype=np.int64)
        for side in self._feet[body]:
            codes = self._both(codes, self._loads[side])
        codes[~fit.reliable] = self.code(_NO_ACCELERATION)
        codes[~fit.solved | lost_distally(fit, body)] = self.code(_UNSEEN)
        return codes

    def _both(self, first: IntArray, second: IntArray) -> IntArray:
        """Codes of both reasons, where there are two."""
        codes = np.where(first > 0, first, second)
        two = (first > 0) & (second > 0)
        for a, b in np.unique(np.stack([first[two], second[two]], axis=1), axis=0):
            codes[two & (first == a) & (second == b)] = self.code(f"{self.words[a]}; {self.words[b]}")
        return codes

    def _contact_codes(self, side: Side, reaction: GroundReaction) -> IntArray:
        foot = f"{SIDE_NAMES[side]} foot"
        short = {
            f"plate {c.plate}: {c.reason}": f"contact of the {foot} with plate {c.plate} {c.decision}"
            for c in self._analysis.contacts
        }
        texts = reaction.reason[side]
        return np.array([self.code(short.get(text, text)) for text in texts], dtype=np.int64)

    def code(self, text: str) -> int:
        """Number of a reason in `words`; a new one is added."""
        if text not in self.words:
            self.words.append(text)
        return self.words.index(text)


def cycle_reasons(reasons: FrameReasons, values: CycleValues, rate_hz: float) -> IntArray:
    """Return the codes (CYCLE_POINTS, k) of the k signals over one cycle, 0 where there is a number.

    A point between two frames is known where both are; what was known and no person can walk has that reason.
    """
    cycle = values.cycle
    at = np.linspace(cycle.start_s, cycle.end_s, CYCLE_POINTS) * rate_hz
    frames = np.stack([reasons.of(signal, cycle.side) for signal in values.signals], axis=1)
    # A strike found at a frame may come back from seconds a rounding error beside it (as in `normalise`).
    before = np.clip(np.floor(at + 1e-6).astype(np.int64), 0, len(frames) - 1)
    after = np.clip(np.ceil(at - 1e-6).astype(np.int64), 0, len(frames) - 1)
    codes = np.where(frames[before] > 0, frames[before], frames[after])
    for column, words in values.excluded.reasons.items():
        codes[:, column] = np.where(codes[:, column] > 0, codes[:, column], reasons.code(words))
    codes = np.where(codes > 0, codes, reasons.code(_OTHER))
    return np.where(values.measured, 0, codes)


# -- read

# Entries of run.json that the report of a study reads, and their kind.
_READ: Mapping[tuple[str, ...], type | tuple[type, ...]] = {
    ("versions",): dict,
    ("plates",): list,
    ("checks",): list,
    ("diagnostics",): list,
    ("input", "rate_hz"): (int, float),
    ("subject", "mass_kg"): (int, float),
    ("subject", "height_m"): (int, float),
    ("subject", "sex"): str,
    ("marker_set", "title"): str,
    ("marker_set", "fitted"): list,
    ("model", "degrees_of_freedom"): int,
    ("model", "citations", "skeleton", "title"): str,
}
# Entries that an imported model need not have: it came with its size and its inertias.
_NOT_IMPORTED = (("subject", "height_m"), ("model", "citations", "skeleton", "title"))


def read_cycle_table(folder: Path) -> pa.Table:
    """Return the rows of a trial (`CYCLE_SCHEMA`).

    Raises:
        ResultError: the cycles, the record or the strides of the trial are missing, damaged or of another version. The group
            analysis and the report read all three, so a damaged one costs its trial and no more.
    """
    record = _usable_record(folder)
    try:
        content = (folder / CYCLES_NAME).read_bytes()
        digest = (listed_files(record) or {}).get(CYCLES_NAME, {}).get("sha256")
        if digest is not None and hashlib.sha256(content).hexdigest() != digest:
            raise ValueError("it was changed")
        table = pq.read_table(io.BytesIO(content)).combine_chunks()
        if not table.schema.equals(CYCLE_SCHEMA):
            raise ValueError("it has other columns")
    except (OSError, ValueError) as error:  # pyarrow raises both
        raise ResultError(
            f"'{CYCLES_NAME}' of trial '{folder.name}' cannot be read.",
            f"Remove the folder '{folder.name}' and run the study again.",
        ) from error
    return table


def _usable_record(folder: Path) -> Mapping[str, Any]:
    try:
        record = read_record(folder)
    except ResultError as error:
        raise _damaged(folder, error.message) from error
    imported = _entry(record, ("static", "source")) == "model"
    for path, kind in _READ.items():
        if not (imported and path in _NOT_IMPORTED) and not isinstance(_entry(record, path), kind):
            raise _damaged(folder, f"'{RECORD_NAME}' of trial '{folder.name}' has no '{'.'.join(path)}'.")
    read_strides(folder / STRIDES_NAME)
    return record


def _entry(record: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    value: Any = record
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _damaged(folder: Path, message: str) -> ResultError:
    text = message.replace(f"{folder}/", "").replace(str(folder), folder.name)
    return ResultError(text, f"Remove the folder '{folder.name}' and run the study again.")
