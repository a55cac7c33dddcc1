"""Collect the results of all trials of a study: study.parquet, study.csv and summary.csv, in the order of the plan."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from biodyn.conventions import SIDE_NAMES
from biodyn.diagnostics import Diagnostic
from biodyn.errors import ResultError
from biodyn.study.collecting.atomic_files import written_beside
from biodyn.study.collecting.data_set import DataSetFile, Shard, joined, row_groups, without_values
from biodyn.study.collecting.options import OutputOptions
from biodyn.study.collecting.read import DATA_SET_NAME
from biodyn.study.collecting.readable import require_readable
from biodyn.study.collecting.shard import Curves, read_curves
from biodyn.study.collecting.summary import SUMMARY_NAME, SummaryFile, summary_row
from biodyn.study.collecting.text import DataSetText
from biodyn.study.exclusion import excluded_trials, exclusion_finding, trial_failed
from biodyn.study.plan import StudyPlan
from biodyn.study.record import TrialRecord, read_record
from biodyn.study.running.program import program_version

TEXT_NAME = "study.csv"
_READERS = 2
_AHEAD = 16  # trials that are read before their turn

#: Record of a trial, and its curves, none, or why they cannot be used.
_Found = tuple[TrialRecord | None, Curves | ResultError | None]


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
    Memory holds two row groups (`data_set.ROW_GROUP_ROWS`), whatever the number of trials.
    """
    options = options or OutputOptions()
    source = _Source(plan, out, include_failed)
    with written_beside(out, (DATA_SET_NAME, TEXT_NAME, SUMMARY_NAME)) as parts:
        with ExitStack() as opened:
            data_set = opened.enter_context(closing(DataSetFile(parts[DATA_SET_NAME], program_version())))
            text = opened.enter_context(closing(DataSetText(parts[TEXT_NAME]))) if options.csv else None
            source.summary = opened.enter_context(closing(SummaryFile(parts[SUMMARY_NAME])))
            rows = _write(source, data_set, text, options.csv_max_rows)
        if not options.csv or rows > options.csv_max_rows:
            parts[TEXT_NAME].unlink(missing_ok=True)
    notes = list(source.notes)
    excluded = exclusion_finding(source.excluded, len(plan.trials))
    notes += [excluded] if excluded else []
    notes += [_impossible(source)] if source.impossible_cycles else []
    if options.csv and rows > options.csv_max_rows:
        notes.append(_too_long(rows, options.csv_max_rows))
    return CollectedStudy(
        out, len(plan.trials), source.with_cycles, rows, tuple(_files(out, len(plan.trials), rows)), tuple(notes)
    )


def _found_in(folder: Path) -> _Found:
    """Record and curves of a trial's folder; no curves where there is no result, the error where it is damaged."""
    record = read_record(folder)
    if record is None or record.failed:
        return record, None
    try:
        curves = read_curves(folder)
        require_readable(folder)
    except ResultError as error:
        return record, error
    return record, curves


class _Source:
    """The shards of the trials in the order of the plan; the summary is written on the way."""

    def __init__(self, plan: StudyPlan, out: Path, include_failed: bool) -> None:
        self._plan, self._out = plan, out
        self._left_out = excluded_trials(plan, out, include_failed)
        self.excluded: dict[tuple[str, str], str] = {}
        self.summary: SummaryFile
        self.with_cycles = 0
        self.impossible_cycles = self.impossible_trials = 0
        self.notes: list[Diagnostic] = []

    def shards(self) -> Iterator[Shard]:
        """Yield every trial that has a result; failed ones are in the summary only."""
        for trial, (record, curves) in zip(self._plan.trials, self._read(), strict=True):
            if isinstance(curves, ResultError) and record is not None:
                record = self._unreadable(f"{trial.subject}, {trial.trial}", record, curves)
            excluded = "" if record is None else self._left_out.get((trial.subject, trial.trial), "")
            self.summary.add(summary_row(trial, record, excluded))
            self._count_impossible(record)
            if not isinstance(curves, Curves):
                continue
            if excluded:
                self.excluded[(trial.subject, trial.trial)] = excluded
                if record is not None and trial_failed(record):  # another activity is no reason to doubt a value
                    curves = without_values(curves, excluded)
            self.with_cycles += curves.rows > 0
            yield Shard(trial, curves)

    def _read(self) -> Iterator[_Found]:
        """What the trials left, in their order; the next ones are read meanwhile."""
        ahead: deque[Future[_Found]] = deque()
        with ThreadPoolExecutor(_READERS) as readers:
            try:
                for trial in self._plan.trials:
                    ahead.append(readers.submit(_found_in, self._out / trial.folder))
                    if len(ahead) > _AHEAD:
                        yield ahead.popleft().result()
                while ahead:
                    yield ahead.popleft().result()
            finally:
                for waiting in ahead:
                    waiting.cancel()

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


def _write(source: _Source, data_set: DataSetFile, text: DataSetText | None, most_text_rows: int) -> int:
    """Write all row groups; returns the rows.

    Encoding takes longest and is done by one thread for one row group after the other: while it works on one, the next one is
    read and joined here.
    """
    rows = 0
    with ThreadPoolExecutor(max_workers=2) as threads:
        running: list[Future[None]] = []
        for shards in row_groups(source.shards()):
            table = joined(shards)
            _finish(running)
            rows += table.num_rows
            running = [threads.submit(data_set.add, table)]
            if text is not None and rows <= most_text_rows:
                running.append(threads.submit(text.add, table))
        _finish(running)
    return rows


def _finish(running: list[Future[None]]) -> None:
    for future in running:
        future.result()


def _impossible(source: _Source) -> Diagnostic:
    return Diagnostic(
        "cycles-impossible",
        "warning",
        f"Values beyond physiological limits: in {_count(source.impossible_cycles, 'cycle')} of "
        f"{_count(source.impossible_trials, 'trial')}. They and what depends on them are not valid, and in no group result.",
        value=float(source.impossible_cycles),
        hint="study.parquet has the reason in each row; the findings of the trials name the values.",
    )


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _too_long(rows: int, most: int) -> Diagnostic:
    return Diagnostic(
        "study-csv-left-out",
        "info",
        f"study.csv was not written: the data set has {rows:,} rows (limit {most:,}); study.parquet holds all of them.",
        value=float(rows),
        limit=float(most),
        hint="Set [output] csv_max_rows higher to get it, or read study.parquet with pandas, R (arrow) or DuckDB.",
    )


def _files(out: Path, trials: int, rows: int) -> Iterator[dict[str, Any]]:
    yield {"name": DATA_SET_NAME, "rows": rows, "content": "every value of every gait cycle, tidy"}
    if (out / TEXT_NAME).exists():
        yield {"name": TEXT_NAME, "rows": rows, "content": "the same as text"}
    yield {"name": SUMMARY_NAME, "rows": trials, "content": "one row per trial: status, reason and summary metrics"}
