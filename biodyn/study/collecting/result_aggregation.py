"""Collect the results of all trials of a study: study.parquet, study.csv and summary.csv, in the order of the plan."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, TextIO

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from biodyn.conventions import CYCLE_POINTS, SIDE_NAMES
from biodyn.diagnostics import Diagnostic
from biodyn.errors import ResultError
from biodyn.library.toml_files import load_table
from biodyn.output.tables.csv import read_csv, spreadsheet_text
from biodyn.study.collecting.cycles import (
    DATA_SET_COLUMNS,
    DATA_SET_SCHEMA,
    DECIMALS,
    LABELS,
    SCHEMA_VERSION,
    STATISTICS_COLUMN,
    SUMMARY_NAME,
    UNITS_NOTE,
    WORD_COLUMNS,
    read_cycle_table,
    summary_file,
    summary_row,
)
from biodyn.study.collecting.data_set_reader import DATA_SET_NAME, data_set_path
from biodyn.study.plan import PlannedTrial, StudyPlan
from biodyn.study.running.task import program_version
from biodyn.study.trial_record import (
    TrialRecord,
    count_with_noun,
    excluded_trials,
    exclusion_finding,
    read_trial_record,
)
from biodyn.trial.export.sheets import MOST_COLUMNS, MOST_ROWS, write_workbook

TEXT_NAME = "study.csv"
#: A row group contains trials of one subject and ends with the trial that exceeds this number of rows.
ROW_GROUP_ROWS = 1_000_000
#: A larger data set is written as study.parquet only (20 million rows are 1.5 GB of text).
MOST_TEXT_ROWS = 20_000_000

#: A trial and its rows of the data set.
TrialRows = tuple[PlannedTrial, pa.Table]


@dataclass(frozen=True)
class CollectionSummary:
    """Summary of a collected data set.

    Attributes:
        with_cycles: number of trials with rows in the data set.
        rows: number of rows of the data set.
        files: name, number of rows and description of every file, for study.json.
        diagnostics: findings for the reader.
    """

    with_cycles: int
    rows: int
    files: tuple[dict[str, Any], ...]
    diagnostics: tuple[Diagnostic, ...]


def collect_results(plan: StudyPlan, out: Path, *, include_failed: bool = False) -> CollectionSummary:
    """Collect the results of the trials in `out/trials` into the data set and the summary.

    Equal trials give equal bytes. Files are renamed when all are complete; older files are kept until then. Rows of trials that
    failed their checks have a reason instead of values, unless `include_failed`. Only one row group (`ROW_GROUP_ROWS`) is in
    memory, independent of the number of trials.
    """
    source = _TrialRowReader(plan, out, include_failed)
    rows = 0
    with write_files_together(out, (DATA_SET_NAME, TEXT_NAME, SUMMARY_NAME)) as parts:
        with ExitStack() as opened:
            data_set = opened.enter_context(open_data_set(parts[DATA_SET_NAME], program_version()))
            text = opened.enter_context(parts[TEXT_NAME].open("w", encoding="utf-8", newline=""))
            text.write(",".join(DATA_SET_COLUMNS) + "\n")
            add_summary = opened.enter_context(summary_file(parts[SUMMARY_NAME]))
            for table in row_groups(source.iterate_trials(add_summary)):
                data_set.write_table(table, row_group_size=max(table.num_rows, 1))
                rows += table.num_rows
                if rows <= MOST_TEXT_ROWS:
                    write_csv_rows(table, text)
        if rows > MOST_TEXT_ROWS:
            parts[TEXT_NAME].unlink(missing_ok=True)
    notes = list(source.notes)
    excluded = exclusion_finding(source.excluded, len(plan.trials))
    notes += [excluded] if excluded else []
    notes += [_excluded_values_finding(source)] if source.impossible_cycles else []
    if rows > MOST_TEXT_ROWS:
        notes.append(_omitted_table_finding(TEXT_NAME, rows))
    files = tuple(_file_entries(out, len(plan.trials), rows))
    return CollectionSummary(source.with_cycles, rows, files, tuple(notes))


@contextmanager
def write_files_together(out: Path, names: Sequence[str]) -> Iterator[dict[str, Path]]:
    """Yield temporary paths by final name; they are renamed at the end, and old files that were not rewritten are removed.

    On an error they are removed and older files are kept. Raises ResultError if they cannot be written.
    """
    parts = {name: out / f".{name}.part" for name in names}
    try:
        for part in parts.values():
            part.unlink(missing_ok=True)  # left by a killed run
        yield parts
        for name, part in parts.items():
            if part.exists():
                os.replace(part, out / name)
            else:
                (out / name).unlink(missing_ok=True)
    except OSError as error:
        raise ResultError(
            f"The results in '{out}' cannot be written: {error.strerror or error}.",
            "Free disk space or choose another --out, and run the study again; finished trials are kept.",
        ) from error
    finally:
        for part in parts.values():
            part.unlink(missing_ok=True)


# -- trials


class _TrialRowReader:
    """Reader of the rows of all trials in the order of the plan, which counts the trials and cycles for the findings."""

    def __init__(self, plan: StudyPlan, out: Path, include_failed: bool) -> None:
        self._plan, self._out = plan, out
        self._left_out = excluded_trials(plan, out, include_failed)
        self.excluded: dict[tuple[str, str], str] = {}
        self.with_cycles = 0
        self.impossible_cycles = self.impossible_trials = 0
        self.notes: list[Diagnostic] = []

    def iterate_trials(self, add_summary: Callable[[Mapping[str, Any]], object]) -> Iterator[TrialRows]:
        """Yield the rows of every trial with a result.

        add_summary: called with the row of summary.csv of every trial, including failed ones.
        """
        for trial in self._plan.trials:
            folder, rows = self._out / trial.folder, None
            record = read_trial_record(folder)
            if record is not None and not record.failed:
                try:
                    rows = read_cycle_table(folder)
                except ResultError as error:
                    record = self._mark_as_unreadable(f"{trial.subject}, {trial.trial}", record, error)
            excluded = "" if record is None else self._left_out.get((trial.subject, trial.trial), "")
            add_summary(summary_row(trial, record, excluded))
            metrics = {} if record is None else record.metrics
            impossible = sum(int(metrics.get(f"impossible_cycles_{name}") or 0) for name in SIDE_NAMES.values())
            self.impossible_cycles += impossible
            self.impossible_trials += impossible > 0
            if rows is None:
                continue
            if excluded:
                self.excluded[(trial.subject, trial.trial)] = excluded
                # values of a trial with another activity are valid
                if record is not None and record.status == "fail":
                    rows = replace_values_by_reason(rows, excluded)
            self.with_cycles += rows.num_rows > 0
            yield trial, rows

    def _mark_as_unreadable(self, who: str, record: TrialRecord, error: ResultError) -> TrialRecord:
        self.notes.append(Diagnostic("trial-unreadable", "error", f"{who}: {error.message}", hint=error.hint))
        return replace(
            record, status="failed", error=type(error).__name__, reason=error.message, hint=error.hint, metrics={}
        )


def replace_values_by_reason(rows: pa.Table, reason: str) -> pa.Table:
    """Return the rows of an excluded trial, with the reason instead of values."""
    missing = {
        "value": pa.nulls(rows.num_rows, pa.float64()),
        "valid": pa.array(np.zeros(rows.num_rows, dtype=bool)),
        "reason": _constant_column(reason, rows.num_rows),
    }
    columns = {name: missing.get(name, rows[name]) for name in rows.column_names}
    return pa.table(columns, schema=rows.schema)


def row_groups(trials: Iterable[TrialRows], rows: int = ROW_GROUP_ROWS) -> Iterator[pa.Table]:
    """Yield tables (`DATA_SET_SCHEMA`) of trials of one subject; each ends with the trial that exceeds `rows` rows."""
    waiting: list[pa.Table] = []
    subject, count = "", 0
    for trial, table in trials:
        if waiting and (count >= rows or trial.subject != subject):
            yield _concatenate_tables(waiting)
            waiting, count = [], 0
        if table.num_rows:
            waiting.append(add_labels(trial, table))
            subject, count = trial.subject, count + table.num_rows
    if waiting:
        yield _concatenate_tables(waiting)


def add_labels(trial: PlannedTrial, rows: pa.Table) -> pa.Table:
    """Return the rows of a trial with columns for the labels of the plan, such as subject and condition (`DATA_SET_SCHEMA`)."""
    labels = {name: _constant_column(getattr(trial, name), rows.num_rows) for name in LABELS}
    return pa.table({**labels, **{name: rows[name] for name in rows.column_names}}, schema=DATA_SET_SCHEMA)


def _constant_column(word: str, rows: int) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, dtype=np.int32)), pa.array([word], pa.string()))


def _concatenate_tables(tables: Sequence[pa.Table]) -> pa.Table:
    """Concatenate tables so that each text column has a single dictionary."""
    return pa.concat_tables(tables).unify_dictionaries().combine_chunks()


# -- files


def open_data_set(path: Path, version: str) -> pq.ParquetWriter:
    """Open study.parquet for writing; each table is written as one row group."""
    metadata = {"biodyn_version": version, "biodyn_schema_version": str(SCHEMA_VERSION), "biodyn_units": UNITS_NOTE}
    # plain encoding and snappy compression are supported by every reader of Parquet
    return pq.ParquetWriter(
        path,
        DATA_SET_SCHEMA.with_metadata(metadata),
        compression={name: "none" if name == "value" else "snappy" for name in DATA_SET_SCHEMA.names},
        use_dictionary=list(WORD_COLUMNS),
        write_statistics=[STATISTICS_COLUMN],
    )


def write_csv_rows(table: pa.Table, stream: TextIO) -> None:
    """Append rows (`DATA_SET_SCHEMA`) to study.csv, with empty cells for missing values and empty texts.

    Numbers have enough digits to restore the same value.
    """
    # Rows that are converted at once, which limits the memory.
    rows_per_part = 100_000
    for begin in range(0, table.num_rows, rows_per_part):
        part = table.slice(begin, rows_per_part).combine_chunks()
        lines = pc.binary_join_element_wise(*(csv_cells(column) for column in part.columns), ",")
        stream.write("\n".join(lines.to_pylist()) + "\n")


def csv_cells(column: pa.ChunkedArray) -> pa.Array:
    """Return a column as CSV cells (RFC 4180) that spreadsheet programs do not interpret as formulas."""
    values = column.combine_chunks()
    if not pa.types.is_dictionary(values.type):
        return pc.fill_null(pc.cast(values, pa.string()), "")
    return pa.array([quote_csv_cell(word) for word in values.dictionary.to_pylist()], pa.string()).take(values.indices)


def quote_csv_cell(word: str) -> str:
    """Return a text as a CSV cell, quoted if necessary."""
    word = spreadsheet_text(word)
    return '"' + word.replace('"', '""') + '"' if frozenset('",\r\n') & set(word) else word


# -- findings


def _excluded_values_finding(source: _TrialRowReader) -> Diagnostic:
    return Diagnostic(
        "cycle-impossible",
        "warning",
        f"Values beyond physiological limits: in {count_with_noun(source.impossible_cycles, 'cycle')} of "
        f"{count_with_noun(source.impossible_trials, 'trial')}. These values and those that depend on them are invalid and "
        f"excluded from all group results.",
        value=float(source.impossible_cycles),
        hint="study.parquet states the reason in each row; the findings of the trials list the values.",
    )


def _omitted_table_finding(name: str, rows: int) -> Diagnostic:
    return Diagnostic(
        "study-table-left-out",
        "info",
        f"{name} was not written: the data set has {rows:,} rows (limit {MOST_TEXT_ROWS:,}); study.parquet has all of them.",
        value=float(rows),
        limit=float(MOST_TEXT_ROWS),
        hint="Read study.parquet with pandas, R (arrow) or DuckDB.",
    )


def _file_entries(out: Path, trials: int, rows: int) -> Iterator[dict[str, Any]]:
    yield {"name": DATA_SET_NAME, "rows": rows, "content": "every value of every gait cycle, tidy"}
    if (out / TEXT_NAME).exists():
        yield {"name": TEXT_NAME, "rows": rows, "content": "the same data as text"}
    yield {"name": SUMMARY_NAME, "rows": trials, "content": "one row per trial: status, reason and summary metrics"}


WIDE_NAME = "study_wide.csv"
XLSX_NAME = "study.xlsx"


def export_tables(plan: StudyPlan, out: Path) -> tuple[Diagnostic, ...]:
    """Write study_wide.csv and study.xlsx from the outputs of `collect_results` and the group analysis; return findings.

    Equal tables give equal bytes. The files are renamed when both are complete.
    """
    data_set = data_set_path(out)
    rows = pq.read_metadata(data_set).num_rows
    notes: list[Diagnostic] = []
    with write_files_together(out, (WIDE_NAME, XLSX_NAME)) as parts:
        if rows <= MOST_TEXT_ROWS:
            write_wide_csv(data_set, parts[WIDE_NAME])
        else:
            notes.append(_omitted_table_finding(WIDE_NAME, rows))
        sentences = write_xlsx(out, parts[XLSX_NAME], plan.name, program_version())
        notes += [Diagnostic("study-table-left-out", "info", sentence) for sentence in sentences]
    return tuple(notes)


# -- study_wide.csv

KEYS = (*LABELS, "cycle", "side", "variable", "unit")
WIDE_COLUMNS: Final = (*KEYS, *(f"p{percent:03d}" for percent in range(CYCLE_POINTS)))


def write_wide_csv(data_set: Path, path: Path) -> None:
    """Write every curve of a data set as one line of CSV (empty cells for missing values)."""
    with pq.ParquetFile(data_set) as file, path.open("w", encoding="utf-8", newline="") as stream:
        stream.write(",".join(WIDE_COLUMNS) + "\n")
        for number in range(file.num_row_groups):
            table = file.read_row_group(number, columns=[*KEYS, "percent", "value"]).combine_chunks()
            if table.num_rows:
                stream.writelines(f"{line}\n" for line in curve_lines(table))


def curve_lines(table: pa.Table) -> list[str]:
    """Return one CSV line per curve of a table with consecutive rows 0-100 % of each curve."""
    percent = table["percent"].to_numpy()
    curves = len(percent) // CYCLE_POINTS
    if not np.array_equal(percent, np.tile(np.linspace(0, 100, CYCLE_POINTS), curves)):
        raise ResultError("A curve of the data set is not given at 0, 1 ... 100 %.", "Collect the study again.")
    heads = table.select(list(KEYS)).take(pa.array(np.arange(0, table.num_rows, CYCLE_POINTS))).combine_chunks()
    rounded = np.round(table["value"].to_numpy(), DECIMALS) + 0.0  # + 0.0 converts -0.0 to 0.0
    texts = pc.fill_null(pc.cast(pa.array(rounded, from_pandas=True), pa.string()), "")
    offsets = pa.array(np.arange(0, len(texts) + 1, CYCLE_POINTS, dtype=np.int32))
    values = pc.binary_join(pa.ListArray.from_arrays(offsets, texts), ",")
    lines: list[str] = pc.binary_join_element_wise(*map(csv_cells, heads.columns), values, ",").to_pylist()
    return lines


# -- study.xlsx

#: Cells of the largest sheet, which takes about 10 s and 10 MB.
MOST_CELLS = 2_000_000


@dataclass(frozen=True)
class Sheet:
    """One table of the Excel workbook."""

    name: str
    columns: tuple[str, ...]
    rows: Iterator[Sequence[Any]]
    count: int

    @property
    def size_problem(self) -> str:
        """Return the reason why a table is too large for an Excel sheet; "" if it is not."""
        if self.count + 1 > MOST_ROWS or len(self.columns) > MOST_COLUMNS:
            size = f"{self.count:,} rows and {len(self.columns):,} columns"
            return f"it has {size} (limit of Excel: {MOST_ROWS:,} x {MOST_COLUMNS:,})"
        if self.count * len(self.columns) > MOST_CELLS:
            return f"it has {self.count * len(self.columns):,} cells (limit {MOST_CELLS:,})"
        return ""


def write_xlsx(out: Path, path: Path, study: str, version: str) -> tuple[str, ...]:
    """Write the tables of a study's output folder as a workbook; equal tables give equal bytes.

    Returns a sentence for each table that is too large for a sheet; these are also on the first sheet.
    """
    left_out: list[str] = []
    written: list[str] = []
    tables = []
    for sheet in _read_sheets(out):
        if sheet.size_problem:
            file = _files_of_sheets()[sheet.name]["name"]
            left_out.append(f"Sheet '{sheet.name}' was omitted: {sheet.size_problem}. Its data are in {file}.")
            continue
        written.append(sheet.name)
        tables.append((sheet.name, sheet.columns, sheet.rows))
    write_workbook(path, "README", [*_readme_lines(study, version, written, left_out)], tables, widths=(24,))
    return tuple(left_out)


def _files_of_sheets() -> dict[str, dict[str, str]]:
    """Return name and description of the file of each sheet."""
    return {entry["sheet"]: entry for entry in load_table("study/report")["file"] if "sheet" in entry}


def _read_sheets(out: Path) -> Iterator[Sheet]:
    for name, entry in _files_of_sheets().items():
        file = entry["name"]
        if not (out / file).is_file():
            continue
        if file.endswith(".parquet"):
            yield _subject_curve_sheet(name, out / file)
        else:
            frame = _read_csv(out / file)
            yield Sheet(name, tuple(frame.columns), frame.itertuples(index=False, name=None), len(frame))


def _read_csv(path: Path) -> pd.DataFrame:
    """Read a CSV table; labels are kept as texts ("007" is a name), empty cells are missing values."""
    return read_csv(path, dtype=dict.fromkeys(LABELS, str), keep_default_na=False, na_values=[""])


def _subject_curve_sheet(name: str, path: Path) -> Sheet:
    """Return the sheet of mean curves, with one column per percent of the cycle; row groups are read one at a time."""
    keys = ("subject", "session", "condition", "group", "side", "variable", "unit")
    file = pq.ParquetFile(path)
    columns = (*keys, *(f"p{percent:03d}" for percent in range(101)))

    def iterate_rows() -> Iterator[Sequence[Any]]:
        for number in range(file.num_row_groups):
            table = file.read_row_group(number)
            heads = table.select(list(keys)).take(np.arange(0, table.num_rows, CYCLE_POINTS)).to_pylist()
            means = table["mean"].to_numpy().reshape(-1, CYCLE_POINTS)
            for head, mean in zip(heads, means, strict=True):
                yield [*(head[key] for key in keys), *mean.tolist()]

    return Sheet(name, columns, iterate_rows(), file.metadata.num_rows // CYCLE_POINTS)


def _readme_lines(
    study: str, version: str, written: Sequence[str], left_out: Sequence[str]
) -> Iterator[tuple[str, str]]:
    yield "study", study
    yield "made by", f"biodyn {version}"
    yield "units", UNITS_NOTE
    yield "empty cell", "not measured or not computable; never zero"
    yield "all values", "study.parquet (and study.csv): one row per value; study_wide.csv: one row per curve"
    for name in written:
        entry = _files_of_sheets()[name]
        yield f"sheet '{name}'", f"{entry['text']} (from {entry['name']})"
    for sentence in left_out:
        yield "left out", sentence
