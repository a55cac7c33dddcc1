"""Collect the results of all trials of a study: study.parquet, study.csv and summary.csv, in the order of the plan."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from biodyn.conventions import SIDE_NAMES
from biodyn.diagnostics import Diagnostic
from biodyn.errors import ResultError
from biodyn.output.tables.csv import spreadsheet_text
from biodyn.study.collecting.cycles import (
    DATA_SET_COLUMNS,
    DATA_SET_SCHEMA,
    LABELS,
    SCHEMA_VERSION,
    STATISTICS_COLUMN,
    UNITS_NOTE,
    WORD_COLUMNS,
    read_cycle_table,
)
from biodyn.study.collecting.metrics import SUMMARY_NAME, SummaryFile, summary_row
from biodyn.study.collecting.options import OutputOptions
from biodyn.study.collecting.read import DATA_SET_NAME
from biodyn.study.plan import PlannedTrial, StudyPlan
from biodyn.study.record import TrialRecord, excluded_trials, exclusion_finding, read_record, trial_failed
from biodyn.study.running.program import program_version

TEXT_NAME = "study.csv"
#: A row group has trials of one subject and is closed with the trial that takes it beyond this many rows.
ROW_GROUP_ROWS = 1_000_000
#: A larger data set is written as study.parquet only (20 million rows are 1.5 GB of text).
MOST_TEXT_ROWS = 20_000_000
# Rows of text that are made at once: bounds the memory.
_TEXT_ROWS = 100_000

#: A trial and its rows.
TrialRows = tuple[PlannedTrial, pa.Table]


@dataclass(frozen=True)
class CollectedStudy:
    """What was collected.

    Attributes:
        folder: of the study's results.
        trials: planned; with_cycles: of those, trials that have rows in the data set.
        rows: of the data set.
        files: name, rows and a sentence of every file, for study.json.
        diagnostics: everything a reader should know.
    """

    folder: Path
    trials: int
    with_cycles: int
    rows: int
    files: tuple[dict[str, Any], ...]
    diagnostics: tuple[Diagnostic, ...]


def collect(
    plan: StudyPlan, out: Path, options: OutputOptions | None = None, *, include_failed: bool = False
) -> CollectedStudy:
    """Collect what the trials wrote to `out/trials` and return what there is.

    The same trials give the same bytes. The files take their names when all are whole; until then older ones stay.
    Trials whose checks failed have rows without values that say so, unless `include_failed`.
    Memory holds one row group (`ROW_GROUP_ROWS`), whatever the number of trials.
    """
    options = options or OutputOptions()
    source = _Source(plan, out, include_failed)
    rows = 0
    with written_together(out, (DATA_SET_NAME, TEXT_NAME, SUMMARY_NAME)) as parts:
        with ExitStack() as opened:
            data_set = opened.enter_context(closing(DataSetFile(parts[DATA_SET_NAME], program_version())))
            text = opened.enter_context(closing(TextFile(parts[TEXT_NAME]))) if options.csv else None
            source.summary = opened.enter_context(closing(SummaryFile(parts[SUMMARY_NAME])))
            for table in row_groups(source.trials()):
                data_set.add(table)
                rows += table.num_rows
                if text is not None and rows <= MOST_TEXT_ROWS:
                    text.add(table)
        if rows > MOST_TEXT_ROWS:
            parts[TEXT_NAME].unlink(missing_ok=True)
    notes = list(source.notes)
    excluded = exclusion_finding(source.excluded, len(plan.trials))
    notes += [excluded] if excluded else []
    notes += [_impossible(source)] if source.impossible_cycles else []
    if options.csv and rows > MOST_TEXT_ROWS:
        notes.append(_too_long(rows))
    return CollectedStudy(
        out, len(plan.trials), source.with_cycles, rows, tuple(_files(out, len(plan.trials), rows)), tuple(notes)
    )


@contextmanager
def written_together(out: Path, names: Sequence[str]) -> Iterator[dict[str, Path]]:
    """Yield temporary siblings by name; they take their names at the end, and a name that was not written is removed.

    On an error they are removed and older files stay. Raises ResultError where the disk does not take them.
    """
    parts = {name: out / f".{name}.part" for name in names}
    try:
        for part in parts.values():
            part.unlink(missing_ok=True)  # of a run that was killed
        yield parts
        for name, part in parts.items():
            if part.exists():
                os.replace(part, out / name)
            else:
                (out / name).unlink(missing_ok=True)
    except OSError as error:
        raise ResultError(
            f"The results in '{out}' cannot be written: {error.strerror or error}.",
            "Make room or choose another --out, and run the study again: trials that are done are kept.",
        ) from error
    finally:
        for part in parts.values():
            part.unlink(missing_ok=True)


# -- trials


class _Source:
    """The rows of the trials in the order of the plan; the summary is written on the way."""

    def __init__(self, plan: StudyPlan, out: Path, include_failed: bool) -> None:
        self._plan, self._out = plan, out
        self._left_out = excluded_trials(plan, out, include_failed)
        self.excluded: dict[tuple[str, str], str] = {}
        self.summary: SummaryFile
        self.with_cycles = 0
        self.impossible_cycles = self.impossible_trials = 0
        self.notes: list[Diagnostic] = []

    def trials(self) -> Iterator[TrialRows]:
        """Yield every trial that has a result; failed ones are in the summary only."""
        for trial in self._plan.trials:
            folder, rows = self._out / trial.folder, None
            record = read_record(folder)
            if record is not None and not record.failed:
                try:
                    rows = read_cycle_table(folder)
                except ResultError as error:
                    record = self._unreadable(f"{trial.subject}, {trial.trial}", record, error)
            excluded = "" if record is None else self._left_out.get((trial.subject, trial.trial), "")
            self.summary.add(summary_row(trial, record, excluded))
            self._count_impossible(record)
            if rows is None:
                continue
            if excluded:
                self.excluded[(trial.subject, trial.trial)] = excluded
                if record is not None and trial_failed(record):  # another activity is no reason to doubt a value
                    rows = without_values(rows, excluded)
            self.with_cycles += rows.num_rows > 0
            yield trial, rows

    def _count_impossible(self, record: TrialRecord | None) -> None:
        metrics = {} if record is None else record.metrics
        count = sum(int(metrics.get(f"impossible_cycles_{name}") or 0) for name in SIDE_NAMES.values())
        self.impossible_cycles += count
        self.impossible_trials += count > 0

    def _unreadable(self, who: str, record: TrialRecord, error: ResultError) -> TrialRecord:
        self.notes.append(
            Diagnostic("trial-unreadable", "error", f"{who}: {error.message}", hint=error.hint),
        )
        return replace(
            record, status="failed", error=type(error).__name__, reason=error.message, hint=error.hint, metrics={}
        )


def without_values(rows: pa.Table, reason: str) -> pa.Table:
    """The rows of a trial that must not be used: no value, the reason in each."""
    missing = {
        "value": pa.nulls(rows.num_rows, pa.float64()),
        "valid": pa.array(np.zeros(rows.num_rows, dtype=bool)),
        "reason": _constant(reason, rows.num_rows),
    }
    columns = {name: missing.get(name, rows[name]) for name in rows.column_names}
    return pa.table(columns, schema=rows.schema)


def row_groups(trials: Iterable[TrialRows], rows: int = ROW_GROUP_ROWS) -> Iterator[pa.Table]:
    """Yield the rows of the trials (`DATA_SET_SCHEMA`), those of one subject together, `rows` rows or little more at a time."""
    waiting: list[pa.Table] = []
    subject, count = "", 0
    for trial, table in trials:
        if waiting and (count >= rows or trial.subject != subject):
            yield _joined(waiting)
            waiting, count = [], 0
        if table.num_rows:
            waiting.append(with_labels(trial, table))
            subject, count = trial.subject, count + table.num_rows
    if waiting:
        yield _joined(waiting)


def with_labels(trial: PlannedTrial, rows: pa.Table) -> pa.Table:
    """The rows of a trial with what the plan says of it (`DATA_SET_SCHEMA`)."""
    labels = {name: _constant(getattr(trial, name), rows.num_rows) for name in LABELS}
    return pa.table({**labels, **{name: rows[name] for name in rows.column_names}}, schema=DATA_SET_SCHEMA)


def _constant(word: str, rows: int) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, dtype=np.int32)), pa.array([word], pa.string()))


def _joined(tables: Sequence[pa.Table]) -> pa.Table:
    """One table, each text column with one list of words."""
    return pa.concat_tables(tables).unify_dictionaries().combine_chunks()


# -- files


class DataSetFile:
    """study.parquet while it is written: the trials of a call to `add` are a row group."""

    def __init__(self, path: Path, version: str) -> None:
        metadata = {
            "biodyn_version": version,
            "biodyn_schema_version": str(SCHEMA_VERSION),
            "biodyn_units": UNITS_NOTE,
        }
        # plain and snappy: what every reader of Parquet understands
        self._writer = pq.ParquetWriter(
            path,
            DATA_SET_SCHEMA.with_metadata(metadata),
            compression={name: "none" if name == "value" else "snappy" for name in DATA_SET_SCHEMA.names},
            use_dictionary=list(WORD_COLUMNS),
            write_statistics=[STATISTICS_COLUMN],
        )

    def add(self, table: pa.Table) -> None:
        """Write rows of one subject, as `row_groups` gives them, as one row group."""
        self._writer.write_table(table, row_group_size=max(table.num_rows, 1))

    def close(self) -> None:
        """Finish the file."""
        self._writer.close()


class TextFile:
    """study.csv while it is written: UTF-8, a header line, missing values and empty texts are empty cells.

    Numbers have as many digits as it takes to read the same number back.
    """

    def __init__(self, path: Path) -> None:
        self._stream = path.open("w", encoding="utf-8", newline="")
        self._stream.write(",".join(DATA_SET_COLUMNS) + "\n")

    def add(self, table: pa.Table) -> None:
        """Write rows (`DATA_SET_SCHEMA`)."""
        for begin in range(0, table.num_rows, _TEXT_ROWS):
            part = table.slice(begin, _TEXT_ROWS).combine_chunks()
            lines = pc.binary_join_element_wise(*(text_cells(column) for column in part.columns), ",")
            self._stream.write("\n".join(lines.to_pylist()) + "\n")

    def close(self) -> None:
        """Finish the file."""
        self._stream.close()


def text_cells(column: pa.ChunkedArray) -> pa.Array:
    """A column as CSV cells (RFC 4180) that no spreadsheet takes for formulas."""
    values = column.combine_chunks()
    if not pa.types.is_dictionary(values.type):
        return pc.fill_null(pc.cast(values, pa.string()), "")
    return pa.array([quoted(word) for word in values.dictionary.to_pylist()], pa.string()).take(values.indices)


def quoted(word: str) -> str:
    """A word as a CSV cell."""
    word = spreadsheet_text(word)
    return '"' + word.replace('"', '""') + '"' if frozenset('",\r\n') & set(word) else word


# -- findings


def _impossible(source: _Source) -> Diagnostic:
    return Diagnostic(
        "cycle-impossible",
        "warning",
        f"Values beyond physiological limits: in {_count(source.impossible_cycles, 'cycle')} of "
        f"{_count(source.impossible_trials, 'trial')}. They and what depends on them are not valid, and in no group result.",
        value=float(source.impossible_cycles),
        hint="study.parquet has the reason in each row; the findings of the trials name the values.",
    )


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _too_long(rows: int) -> Diagnostic:
    return Diagnostic(
        "study-table-left-out",
        "info",
        f"study.csv was not written: the data set has {rows:,} rows (limit {MOST_TEXT_ROWS:,}); study.parquet has all of them.",
        value=float(rows),
        limit=float(MOST_TEXT_ROWS),
        hint="Read study.parquet with pandas, R (arrow) or DuckDB.",
    )


def _files(out: Path, trials: int, rows: int) -> Iterator[dict[str, Any]]:
    yield {"name": DATA_SET_NAME, "rows": rows, "content": "every value of every gait cycle, tidy"}
    if (out / TEXT_NAME).exists():
        yield {"name": TEXT_NAME, "rows": rows, "content": "the same as text"}
    yield {"name": SUMMARY_NAME, "rows": trials, "content": "one row per trial: status, reason and summary metrics"}
