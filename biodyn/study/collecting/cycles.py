"""Write the gait cycles of one trial as `cycles.parquet`: rows of the data set of a study, with reasons for missing values."""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from biodyn.analysis import TrialAnalysis
from biodyn.checks.trial_facts import residual_limits
from biodyn.conventions import CYCLE_POINTS, SIDE_NAMES, SIDES, WHOLE_CYCLE, IntArray, Side
from biodyn.errors import ResultError, printable_text
from biodyn.library.toml_files import load_table
from biodyn.output.store.folder import RECORD_NAME, manifest_entries
from biodyn.output.store.result_reader import read_record
from biodyn.output.tables.csv import spreadsheet_text
from biodyn.output.tables.gait import trial_parameters
from biodyn.output.tables.parquet_tables import encode_words
from biodyn.processing.dynamics.inverse_dynamics import distal_feet, distally_unknown_frames
from biodyn.processing.gait.cycle_values import CycleValues
from biodyn.processing.gait.spatiotemporal import CycleSignal
from biodyn.processing.signals.filtering import finite_rms
from biodyn.recording import GroundReaction
from biodyn.study.plan import PlannedTrial
from biodyn.study.trial_record import CYCLES_NAME, STRIDES_NAME, TrialRecord, read_strides
from biodyn.trial.result import TrialResult

# -- columns of the data set

SCHEMA_VERSION: Final = 1

#: Dictionary encoding, because texts repeat over thousands of rows.
WORD: Final = pa.dictionary(pa.int32(), pa.string())

#: Labels of the plan, which are added when trials are collected, so that a new label needs no new analysis.
LABELS: Final = ("subject", "session", "condition", "group", "site", "trial")
#: Labels that data sets of earlier versions lack: "" in all of their rows.
LATER_LABELS: Final = ("site",)

#: The rows of `TrialResult.gait_cycles`, then whether the value is known, and the reason if it is not.
CYCLE_FIELDS: Final = (
    pa.field("cycle", pa.int32(), nullable=False),
    pa.field("side", WORD, nullable=False),
    pa.field("percent", pa.float32(), nullable=False),  # 0, 1, ... 100: exact in single precision
    pa.field("variable", WORD, nullable=False),
    pa.field("value", pa.float64()),  # missing values are null
    pa.field("unit", WORD, nullable=False),
    pa.field("valid", pa.bool_(), nullable=False),
    pa.field("reason", WORD, nullable=False),  # "" if valid
)
CYCLE_COLUMNS: Final = tuple(field.name for field in CYCLE_FIELDS)

DATA_SET_SCHEMA: Final = pa.schema([*(pa.field(name, WORD, nullable=False) for name in LABELS), *CYCLE_FIELDS])
DATA_SET_COLUMNS: Final = tuple(DATA_SET_SCHEMA.names)
#: Text columns, in the order of the data set.
WORD_COLUMNS: Final = tuple(field.name for field in DATA_SET_SCHEMA if field.type == WORD)
#: Columns with row-group statistics, by which a reader skips other subjects; computing them is slower than encoding.
STATISTICS_COLUMN: Final = "subject"

UNITS_NOTE: Final = (
    "value is in the unit of its row: angles deg, moments Nm/kg, powers W/kg, ground reaction in body weights (BW); "
    "percent of the gait cycle from foot strike (0) to the next of the same side (100)"
)
CYCLE_SCHEMA: Final = pa.schema(CYCLE_FIELDS)

#: Decimals of stored values (microdegrees, microwatts per kilogram), finer than their accuracy.
DECIMALS: Final = 6
_VALUE: Final = CYCLE_COLUMNS.index("value")
_STORED_SCHEMA: Final = CYCLE_SCHEMA.set(_VALUE, pa.field("value_in_last_decimals", pa.int64()))

# -- write


def write_cycles(result: TrialResult, folder: Path) -> None:
    """Write `cycles.parquet` into an existing folder."""
    write_cycle_table(cycle_table(result), folder)


def write_cycle_table(table: pa.Table, folder: Path) -> None:
    """Write rows of `CYCLE_SCHEMA` as `cycles.parquet` into an existing folder.

    Values are rounded to `DECIMALS` and stored as integers, which takes a third of the size of floating-point numbers.
    """
    counts = np.rint(table["value"].to_numpy() * 10.0**DECIMALS)
    column = pa.array(counts, from_pandas=True).cast(pa.int64())
    table = table.cast(CYCLE_SCHEMA).set_column(_VALUE, _STORED_SCHEMA.field(_VALUE), column)
    texts = [field.name for field in CYCLE_FIELDS if field.type == WORD]
    pq.write_table(
        table,
        folder / CYCLES_NAME,
        compression="zstd",
        compression_level=9,
        use_dictionary=[*texts, "percent"],
        column_encoding={table.column_names[_VALUE]: "BYTE_STREAM_SPLIT"},
        write_statistics=False,
    )


def cycle_table(result: TrialResult) -> pa.Table:
    """Return the rows of a result (`CYCLE_SCHEMA`), curve by curve, without rounding."""
    analysis = result.analysis
    reasons = FrameReasons(analysis)
    rate_hz = analysis.recording.markers.rate_hz
    codes = [cycle_reason_codes(reasons, cycle, rate_hz).T.reshape(-1) for cycle in analysis.cycles]
    frame = result.view.tables["gait_cycles"]
    value = pa.array(frame["value"].to_numpy(dtype=np.float64), from_pandas=True)
    of_rows = np.concatenate([np.empty(0, dtype=np.int64), *codes])
    columns = {
        "cycle": pa.array(frame["cycle"].to_numpy(dtype=np.int32)),
        "side": _text_column(frame["side"]),
        "percent": pa.array(frame["percent"].to_numpy(dtype=np.float32)),
        "variable": _text_column(frame["variable"]),
        "value": value,
        "unit": _text_column(frame["unit"]),
        "valid": value.is_valid(),
        "reason": encode_words(of_rows, reasons.words),
    }
    return pa.table(columns, schema=CYCLE_SCHEMA)


def _text_column(texts: pd.Series) -> pa.DictionaryArray:
    """Return a column of categories as text."""
    return encode_words(texts.cat.codes.to_numpy(), texts.cat.categories)


# -- reasons


_UNSEEN = "markers missing"
_NO_ACCELERATION = "too close to the end of the recording or of a gap"
_OTHER = "not computed"


class FrameReasons:
    """Reasons why values of a trial are unknown, as codes for each signal and frame.

    A code is the index of the reason in `words`; code 0 is "" (the value is known).

    Reasons contain no trial-specific numbers (distances, times), so that they can be counted over trials.
    """

    def __init__(self, analysis: TrialAnalysis) -> None:
        self._analysis = analysis
        self._frames = len(analysis.time_s)
        self.words: list[str] = ["", _OTHER]
        reaction = analysis.reaction
        self._ground = {side: self._contact_codes(side, reaction.full_bandwidth_reaction) for side in reaction.wrench}
        self._loads = {side: self._contact_codes(side, reaction) for side in reaction.wrench}
        sides: list[Side] = [side for side in analysis.reaction.wrench if side in analysis.model.sole_body]
        self._feet = distal_feet(analysis.model, sides)
        self._kept: dict[tuple[str, str, int], IntArray] = {}

    def signal_codes(self, signal: CycleSignal, side: Side) -> IntArray:
        """Return the codes (T,) of the reasons for unknown values of one signal of a side (from `cycle_signals`)."""
        if signal.kind == "ground":
            return self._ground[side]
        # A load does not depend on its own coordinate but on all distal ones.
        key = (signal.kind, signal.body, signal.coordinate if signal.kind == "angle" else -1)
        if key not in self._kept:
            self._kept[key] = self._load_codes(signal.body) if signal.kind == "load" else self._angle_codes(signal)
        return self._kept[key]

    def _angle_codes(self, signal: CycleSignal) -> IntArray:
        fit = self._analysis.fit
        unseen = ~fit.solved
        if signal.coordinate >= 0:
            unseen = unseen | fit.lost[:, signal.coordinate]
        return np.where(unseen, self.code_of_reason(_UNSEEN), 0)

    def _load_codes(self, body: str) -> IntArray:
        fit = self._analysis.fit
        codes = np.zeros(self._frames, dtype=np.int64)
        for side in self._feet[body]:
            codes = self._combine_codes(codes, self._loads[side])
        codes[~fit.reliable] = self.code_of_reason(_NO_ACCELERATION)
        codes[~fit.solved | distally_unknown_frames(fit, body)] = self.code_of_reason(_UNSEEN)
        return codes

    def _combine_codes(self, first: IntArray, second: IntArray) -> IntArray:
        """Return the codes (T,) of two combined reasons; frames in which both apply have the reason "first; second"."""
        codes = np.where(first > 0, first, second)
        two = (first > 0) & (second > 0)
        for a, b in np.unique(np.stack([first[two], second[two]], axis=1), axis=0):
            codes[two & (first == a) & (second == b)] = self.code_of_reason(f"{self.words[a]}; {self.words[b]}")
        return codes

    def _contact_codes(self, side: Side, reaction: GroundReaction) -> IntArray:
        foot = f"{SIDE_NAMES[side]} foot"
        short = {
            f"plate {c.plate}: {c.reason}": f"contact of the {foot} with plate {c.plate} {c.decision}"
            for c in self._analysis.contacts
        }
        texts = reaction.reason[side]
        return np.array([self.code_of_reason(short.get(text, text)) for text in texts], dtype=np.int64)

    def code_of_reason(self, text: str) -> int:
        """Return the code of a reason, which is added to `words` if it is new."""
        if text not in self.words:
            self.words.append(text)
        return self.words.index(text)


def cycle_reason_codes(reasons: FrameReasons, values: CycleValues, rate_hz: float) -> IntArray:
    """Return the codes (CYCLE_POINTS, k) of k signals over one cycle, 0 for known values.

    A value between two frames is known if the values of both frames are. Non-physiological values have their own reason.
    """
    cycle = values.cycle
    at = np.linspace(cycle.start_s, cycle.end_s, CYCLE_POINTS) * rate_hz
    frames = np.stack([reasons.signal_codes(signal, cycle.side) for signal in values.signals], axis=1)
    # conversion of a frame to seconds and back has a rounding error (as in `normalise`)
    before = np.clip(np.floor(at + 1e-6).astype(np.int64), 0, len(frames) - 1)
    after = np.clip(np.ceil(at - 1e-6).astype(np.int64), 0, len(frames) - 1)
    codes = np.where(frames[before] > 0, frames[before], frames[after])
    for column, words in values.reasons.items():
        codes[:, column] = np.where(codes[:, column] > 0, codes[:, column], reasons.code_of_reason(words))
    codes = np.where(codes > 0, codes, reasons.code_of_reason(_OTHER))
    return np.where(values.is_measured, 0, codes)


# -- read

# Entries of run.json that the report of a study reads, and their types.
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
# Entries that are optional for an imported model, which has its own size and inertias.
_NOT_IMPORTED = (("subject", "height_m"), ("model", "citations", "skeleton", "title"))


def read_cycle_table(folder: Path) -> pa.Table:
    """Return the rows of a trial (`CYCLE_SCHEMA`).

    Raises:
        ResultError: the cycles, the record or the strides of the trial are missing, damaged or of another version. All three
            are checked here, so that damage excludes only this trial from group analysis and report.
    """
    record = _read_valid_record(folder)
    try:
        content = (folder / CYCLES_NAME).read_bytes()
        digest = (manifest_entries(record) or {}).get(CYCLES_NAME, {}).get("sha256")
        if digest is not None and hashlib.sha256(content).hexdigest() != digest:
            raise ValueError("it was modified")
        return decode_cycle_table(content)
    except (OSError, ValueError) as error:  # both are raised by pyarrow
        raise ResultError(
            f"'{CYCLES_NAME}' of trial '{folder.name}' cannot be read.",
            f"Remove the folder '{folder.name}' and run the study again.",
        ) from error


def decode_cycle_table(content: bytes) -> pa.Table:
    """Return the rows (`CYCLE_SCHEMA`) of the bytes of `cycles.parquet`; ValueError or OSError for other bytes."""
    table = pq.read_table(io.BytesIO(content)).combine_chunks()
    if table.schema.equals(_STORED_SCHEMA):
        value = pc.divide(table[_VALUE].cast(pa.float64()), 10.0**DECIMALS)
        return table.set_column(_VALUE, CYCLE_SCHEMA.field(_VALUE), value)
    if not table.schema.equals(CYCLE_SCHEMA):  # version 0.2 stored floating-point numbers
        raise ValueError("it has other columns")
    return table


def _read_valid_record(folder: Path) -> Mapping[str, Any]:
    try:
        record = read_record(folder)
    except ResultError as error:
        raise _damage_error(folder, error.message) from error
    imported = _nested_entry(record, ("static", "source")) == "model"
    for path, kind in _READ.items():
        if not (imported and path in _NOT_IMPORTED) and not isinstance(_nested_entry(record, path), kind):
            raise _damage_error(folder, f"'{RECORD_NAME}' of trial '{folder.name}' has no '{'.'.join(path)}'.")
    read_strides(folder / STRIDES_NAME)
    return record


def _nested_entry(record: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    value: Any = record
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _damage_error(folder: Path, message: str) -> ResultError:
    text = message.replace(f"{folder}/", "").replace(str(folder), folder.name)
    return ResultError(text, f"Remove the folder '{folder.name}' and run the study again.")


Metric = str | int | float | None
DECISIONS = ("assigned", "ambiguous", "rejected")
_FILLED = ("spline", "rigid")
_CYCLE_COUNTS = ("cycles", "kinetic_cycles", "impossible_cycles")


def _peak_columns() -> dict[str, tuple[str, Side]]:
    """Return the parameter and side of each column of peak values, `<name>_<side>_<unit>`."""
    return {
        f"{peak['name']}_{side}_{peak['unit']}": (peak["parameter"], side)
        for peak in load_table("study/summary_metrics")["peak"]
        for side in SIDES
    }


def _stride_means() -> tuple[str, ...]:
    return tuple(load_table("study/summary_metrics")["stride"]["means"])


@lru_cache(maxsize=1)
def metric_columns() -> tuple[str, ...]:
    """Return the ordered names of the metrics, which are the same for every trial."""
    fixed = (
        "activity marker_set subject_mass_kg mass_source subject_height_m height_source static_file rate_hz frames duration_s "
        "method cutoff_hz marker_rms_mm marker_worst_mm marker_worst residual_force_rms_N residual_force_peak_N "
        "residual_force_rms_percent_of_limit residual_moment_rms_Nm residual_moment_peak_Nm "
        "residual_moment_rms_percent_of_limit both_feet_known_percent "
        + " ".join(f"contacts_{decision}" for decision in DECISIONS)
    ).split()
    sided = [f"{kind}_{SIDE_NAMES[side]}" for kind in _CYCLE_COUNTS for side in SIDES]
    findings = "gaps_filled gaps_left longest_gap_s errors warnings checks_failed checks_warn first_error first_warning"
    return (*fixed, *sided, *findings.split(), *_stride_means(), *_peak_columns())


def summary_metrics(result: TrialResult) -> dict[str, Metric]:
    """Return the metrics of a trial by column (`metric_columns`) as JSON values, None if unknown."""
    metrics: dict[str, Any] = {
        **_recording_metrics(result.analysis),
        **_marker_error_metrics(result.analysis),
        **_residual_metrics(result.analysis),
        **_contact_counts(result.analysis),
        **_cycle_counts(result.analysis),
        **_gap_metrics(result.analysis),
        **_finding_metrics(result),
        **_stride_metrics(result),
        **_peak_metrics(result),
    }
    return {name: _json_value(metrics[name]) for name in metric_columns()}


def _recording_metrics(analysis: TrialAnalysis) -> dict[str, Any]:
    subject, markers = analysis.subject, analysis.recording.markers
    return {
        "activity": analysis.activity.kind,
        "marker_set": analysis.mapping.title,
        "subject_mass_kg": subject.mass_kg,
        "mass_source": subject.mass_source,
        "subject_height_m": subject.height_m,
        "height_source": subject.height_source,
        "static_file": _static_file(analysis),
        "rate_hz": markers.rate_hz,
        "frames": markers.frame_count,
        "duration_s": markers.frame_count / markers.rate_hz,
        "method": analysis.method.name,
        "cutoff_hz": analysis.cutoff_hz,
    }


def _static_file(analysis: TrialAnalysis) -> str | None:
    """Return the file name of the static trial.

    For an OpenSim model it is the static trial with which the model was scaled; None if it was not scaled.
    """
    if analysis.imported is None:
        return analysis.static.path.name
    scaled_by = analysis.imported.record["input"].get("static")
    return None if scaled_by is None else str(scaled_by["name"])


def _marker_error_metrics(analysis: TrialAnalysis) -> dict[str, Any]:
    fit = analysis.before_estimate.fit  # errors assessed by the marker check
    labels, error = fit.labels, fit.marker_error
    if analysis.pose_misfit is not None:
        labels, error = analysis.pose_misfit.labels, analysis.pose_misfit.origin_m
    if not np.isfinite(error).any():
        return {"marker_rms_mm": None, "marker_worst_mm": None, "marker_worst": ""}
    worst = int(np.nanargmax(error))
    return {
        "marker_rms_mm": 1000.0 * float(finite_rms(error.reshape(-1))),
        "marker_worst_mm": 1000.0 * float(error.reshape(-1)[worst]),
        "marker_worst": labels[worst % error.shape[1]],
    }


def _residual_metrics(analysis: TrialAnalysis) -> dict[str, Any]:
    analysis = analysis.before_estimate  # the raw residual, which the checks assess
    limits = residual_limits(analysis)
    dynamics = analysis.dynamics
    metrics: dict[str, Any] = {"both_feet_known_percent": 100.0 * float(np.mean(dynamics.residual_valid))}
    for kind, unit, vector, limit in (
        ("force", "N", dynamics.residual_force, limits.force_n),
        ("moment", "Nm", dynamics.residual_moment, limits.moment_nm),
    ):
        size = np.linalg.norm(vector, axis=1)
        size = size[np.isfinite(size)]
        mean = float(np.sqrt(np.mean(size**2))) if len(size) else np.nan
        metrics[f"residual_{kind}_rms_{unit}"] = mean
        metrics[f"residual_{kind}_peak_{unit}"] = float(size.max()) if len(size) else np.nan
        metrics[f"residual_{kind}_rms_percent_of_limit"] = 100.0 * mean / limit
    return metrics


def _contact_counts(analysis: TrialAnalysis) -> dict[str, Any]:
    decisions: list[str] = [contact.decision for contact in analysis.contacts]
    return {f"contacts_{decision}": decisions.count(decision) for decision in DECISIONS}


def _cycle_counts(analysis: TrialAnalysis) -> dict[str, Any]:
    """Return the number of cycles by side: all, those with known loads of the leg, and non-physiological ones."""
    reaction, model = analysis.reaction, analysis.model
    below = distal_feet(model, [side for side in reaction.wrench if side in model.sole_body])
    count = {f"{kind}_{SIDE_NAMES[side]}": 0 for kind in _CYCLE_COUNTS for side in SIDES}
    for values in analysis.cycles:
        cycle, signals = values.cycle, values.signals
        count[f"impossible_cycles_{SIDE_NAMES[cycle.side]}"] += bool(values.faults)
        leg = [s.kind == "ground" or (s.kind == "load" and below[s.body] == [cycle.side]) for s in signals]
        count[f"cycles_{SIDE_NAMES[cycle.side]}"] += 1
        if any(leg) and values.is_measured[:, leg].mean(axis=0).min() >= WHOLE_CYCLE:
            count[f"kinetic_cycles_{SIDE_NAMES[cycle.side]}"] += 1
    return count


def _gap_metrics(analysis: TrialAnalysis) -> dict[str, Any]:
    lengths = [gap.last - gap.first + 1 for gap in analysis.gaps]
    return {
        "gaps_filled": sum(gap.method in _FILLED for gap in analysis.gaps),
        "gaps_left": sum(gap.method not in _FILLED for gap in analysis.gaps),
        "longest_gap_s": max(lengths, default=0) / analysis.recording.markers.rate_hz,
    }


def _finding_metrics(result: TrialResult) -> dict[str, Any]:
    messages = {s: [d.message for d in result.diagnostics if d.severity == s] for s in ("error", "warning")}
    checks = result.verdict.checks
    return {
        "errors": len(messages["error"]),
        "warnings": len(messages["warning"]),
        "checks_failed": "; ".join(check.title for check in checks if check.status == "fail"),
        "checks_warn": "; ".join(check.title for check in checks if check.status == "warn"),
        "first_error": next(iter(messages["error"]), ""),
        "first_warning": next(iter(messages["warning"]), ""),
    }


def _stride_metrics(result: TrialResult) -> dict[str, Any]:
    table = result.view.tables["spatiotemporal"]
    return {name: _finite_mean(table[name].to_numpy(dtype=np.float64)) for name in _stride_means()}


def _peak_metrics(result: TrialResult) -> dict[str, Any]:
    columns, tables = _peak_columns(), result.view.tables
    wanted = [parameter for parameter, _ in columns.values()]
    table = trial_parameters(*result.view.curves_of_cycles, tables["spatiotemporal"], wanted)
    means = table.groupby(["parameter", "side"])["value"].mean().to_dict() if len(table) else {}
    return {column: float(means.get(key, np.nan)) for column, key in columns.items()}


def _finite_mean(values: np.ndarray) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else np.nan


def _json_value(value: Any) -> Metric:
    if isinstance(value, (float, np.floating)):
        return float(value) if np.isfinite(value) else None
    if isinstance(value, np.integer):
        return int(value)
    return value  # type: ignore[no-any-return]


SUMMARY_NAME = "summary.csv"
NOT_RUN = "not run"


def summary_columns() -> tuple[str, ...]:
    """Return the columns of summary.csv, which do not depend on the trials."""
    return (*LABELS, "file", "status", "error", "reason", "hint", "excluded", *metric_columns())


def summary_row(trial: PlannedTrial, record: TrialRecord | None, excluded: str = "") -> dict[str, Any]:
    """Return the row of summary.csv for one trial by column, None for unknown values.

    excluded: reason why the trial is excluded from group results, "" if it is included.
    """
    if record is None:
        outcome = {"status": NOT_RUN, "error": "", "reason": "", "hint": ""}
    else:
        outcome = {name: getattr(record, name) for name in ("status", "error", "reason", "hint")}
    metrics: Mapping[str, Any] = {} if record is None else record.metrics
    labels = {name: getattr(trial, name) for name in LABELS}
    known = {name: metrics.get(name) for name in metric_columns()}
    return {**labels, "file": printable_text(trial.path.as_posix()), **outcome, "excluded": excluded, **known}


@contextmanager
def summary_file(path: Path) -> Iterator[Callable[[Mapping[str, Any]], object]]:
    """Yield a function that appends a row of `summary_row` to a new CSV file."""
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(summary_columns())
        yield lambda row: writer.writerow([_csv_cell(row[name]) for name in summary_columns()])


def _csv_cell(value: Any) -> Any:
    if isinstance(value, str):
        return spreadsheet_text(printable_text(value, keep="\n\t"))
    return f"{value:.6g}" if isinstance(value, float) else value  # six digits exceed the accuracy of all values
