"""Files for people who work with SPSS or Excel: study_wide.csv and study.xlsx."""

from __future__ import annotations

import re
import shutil
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from openpyxl import Workbook
from openpyxl.cell import WriteOnlyCell
from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE
from openpyxl.styles import Font

from biodyn.conventions import CYCLE_POINTS
from biodyn.diagnostics import Diagnostic
from biodyn.errors import ResultError
from biodyn.output.tables.csv import read_csv
from biodyn.study.collecting.collection import MOST_TEXT_ROWS, text_cells, written_together
from biodyn.study.collecting.cycles import DECIMALS, LABELS, UNITS_NOTE
from biodyn.study.collecting.options import OutputOptions
from biodyn.study.collecting.read import data_set_path
from biodyn.study.plan import StudyPlan
from biodyn.study.running.program import program_version

WIDE_NAME = "study_wide.csv"
XLSX_NAME = "study.xlsx"


def export(plan: StudyPlan, out: Path, options: OutputOptions | None = None) -> tuple[Diagnostic, ...]:
    """Write study_wide.csv and study.xlsx from what `collect` and the group analysis wrote; return what a reader
    should know.

    The same tables give the same bytes. The files take their names when both are whole.
    """
    options = options or OutputOptions()
    data_set = data_set_path(out)
    rows = pq.read_metadata(data_set).num_rows
    notes: list[Diagnostic] = []
    with written_together(out, (WIDE_NAME, XLSX_NAME)) as parts:
        if options.wide and rows <= MOST_TEXT_ROWS:
            write_wide(data_set, parts[WIDE_NAME])
        elif options.wide:
            notes.append(
                Diagnostic(
                    "study-table-left-out",
                    "info",
                    f"{WIDE_NAME} was not written: the data set has {rows:,} rows (limit {MOST_TEXT_ROWS:,}).",
                    value=float(rows),
                    limit=float(MOST_TEXT_ROWS),
                    hint="Read study.parquet.",
                )
            )
        if options.xlsx:
            sentences = write_xlsx(out, parts[XLSX_NAME], plan.name, program_version())
            notes += [Diagnostic("study-table-left-out", "info", sentence) for sentence in sentences]
    return tuple(notes)


# -- study_wide.csv

KEYS = (*LABELS, "cycle", "side", "variable", "unit")
WIDE_COLUMNS: Final = (*KEYS, *(f"p{percent:03d}" for percent in range(CYCLE_POINTS)))


def write_wide(data_set: Path, path: Path) -> int:
    """Write every curve of a data set as one line of CSV and return their number; missing values are empty cells."""
    count = 0
    with pq.ParquetFile(data_set) as file, path.open("w", encoding="utf-8", newline="") as stream:
        stream.write(",".join(WIDE_COLUMNS) + "\n")
        for number in range(file.num_row_groups):
            table = file.read_row_group(number, columns=[*KEYS, "percent", "value"]).combine_chunks()
            if table.num_rows:
                stream.writelines(f"{line}\n" for line in curve_lines(table))
                count += table.num_rows // CYCLE_POINTS
    return count


def curve_lines(table: pa.Table) -> list[str]:
    """Return the lines of a table whose rows go curve by curve, 0-100 % (as they are written)."""
    percent = table["percent"].to_numpy()
    curves = len(percent) // CYCLE_POINTS
    if not np.array_equal(percent, np.tile(np.linspace(0, 100, CYCLE_POINTS), curves)):
        raise ResultError("A curve of the data set is not 0, 1 ... 100 %.", "Collect the study again.")
    heads = table.select(list(KEYS)).take(pa.array(np.arange(0, table.num_rows, CYCLE_POINTS))).combine_chunks()
    rounded = np.round(table["value"].to_numpy(), DECIMALS) + 0.0  # + 0.0 turns -0.0 into 0.0
    texts = pc.fill_null(pc.cast(pa.array(rounded, from_pandas=True), pa.string()), "")
    offsets = pa.array(np.arange(0, len(texts) + 1, CYCLE_POINTS, dtype=np.int32))
    values = pc.binary_join(pa.ListArray.from_arrays(offsets, texts), ",")
    lines: list[str] = pc.binary_join_element_wise(*map(text_cells, heads.columns), values, ",").to_pylist()
    return lines


# -- study.xlsx

MAX_ROWS, MAX_COLUMNS = 1_048_576, 16_384  # Excel's, header included
#: A larger table is no sheet: about 10 s, 10 MB.
MOST_CELLS = 2_000_000
_LONGEST_TEXT = 32_767
_TABLES = {
    "summary": "summary.csv",
    "parameters": "group/parameters_wide.csv",
    "comparisons": "group/comparisons.csv",
    "mixed models": "group/mixed_models.csv",
    "spm clusters": "group/spm.csv",
    "symmetry": "group/symmetry.csv",
    "repeatability": "group/repeatability.csv",
    "gait scores": "group/gait_scores.csv",
}
_ABOUT = {
    "summary": "one row per trial: status, reason, quality, summary metrics; units in the names of the columns",
    "parameters": "discrete parameters, one row per subject; all cycles one by one: group/parameters.csv",
    "subject curves": "mean curves of each subject over 0-100 % of the gait cycle, one row per variable",
    "comparisons": "tests of the discrete parameters between conditions and groups",
    "mixed models": "linear mixed models of the discrete parameters, the subject as random effect",
    "spm clusters": "stretches of the gait cycle in which curves differ (statistical parametric mapping)",
    "symmetry": "left against right",
    "repeatability": "how well cycles and sessions repeat: SEM, MDC, CMC, ICC",
    "gait scores": "movement analysis profile and gait profile score",
}
_CURVES = "subject curves"
_EPOCH = datetime(2000, 1, 1)


@dataclass(frozen=True)
class Sheet:
    """One table of the workbook."""

    name: str
    columns: tuple[str, ...]
    rows: Iterator[Sequence[Any]]
    count: int

    @property
    def too_large(self) -> str:
        """Why it cannot be a sheet; "" if it can."""
        if self.count + 1 > MAX_ROWS or len(self.columns) > MAX_COLUMNS:
            size = f"{self.count:,} rows and {len(self.columns):,} columns"
            return f"it has {size}; Excel holds {MAX_ROWS:,} x {MAX_COLUMNS:,}"
        if self.count * len(self.columns) > MOST_CELLS:
            return f"it has {self.count * len(self.columns):,} cells (limit {MOST_CELLS:,})"
        return ""


def write_xlsx(out: Path, path: Path, study: str, version: str) -> tuple[str, ...]:
    """Write the tables found in a study's output folder as a workbook; the same tables give the same bytes.

    Returns a sentence for each table that is too large for a sheet; the workbook's first sheet says it too.
    """
    book = Workbook(write_only=True)
    book.properties.creator = "biodyn"
    book.properties.created = _EPOCH
    readme = book.create_sheet("README")
    left_out: list[str] = []
    written: list[str] = []
    for sheet in _sheets(out):
        why = sheet.too_large
        if why:
            left_out.append(f"Sheet '{sheet.name}' was left out: {why}; read {_source(sheet.name)}.")
            continue
        written.append(sheet.name)
        page = book.create_sheet(sheet.name)
        page.freeze_panes = "A2"
        page.append([_cell(page, name, bold=True) for name in sheet.columns])
        for row in sheet.rows:
            page.append([_cell(page, value) for value in row])
    readme.column_dimensions["A"].width = 24
    for line in _readme(study, version, written, left_out):
        readme.append([_cell(readme, value) for value in line])
    raw = path.with_name(f"{path.name}.raw")
    try:
        book.save(raw)
        _without_times(raw, path)
    finally:
        raw.unlink(missing_ok=True)
    return tuple(left_out)


def _sheets(out: Path) -> Iterator[Sheet]:
    for name, file in _TABLES.items():
        if (out / file).is_file():
            frame = _read(out / file)
            rows = (list(row) for row in frame.itertuples(index=False, name=None))
            yield Sheet(name, tuple(frame.columns), rows, len(frame))
        if name == "parameters" and (out / _source(_CURVES)).is_file():
            yield _subject_curves(out / _source(_CURVES))


def _source(name: str) -> str:
    return "group/subject_curves.parquet" if name == _CURVES else _TABLES[name]


def _read(path: Path) -> pd.DataFrame:
    """A CSV table; labels stay texts ("007" is a name), empty cells are missing."""
    header = pd.read_csv(path, nrows=0).columns
    texts = {name: str for name in LABELS if name in header}
    return read_csv(path, dtype=texts, keep_default_na=False, na_values=[""])


def _subject_curves(path: Path) -> Sheet:
    """Mean curves with one column per percent; read a row group at a time."""
    keys = ("subject", "session", "condition", "group", "side", "variable", "unit")
    file = pq.ParquetFile(path)
    columns = (*keys, *(f"p{percent:03d}" for percent in range(101)))

    def rows() -> Iterator[Sequence[Any]]:
        for number in range(file.num_row_groups):
            table = file.read_row_group(number)
            heads = table.select(list(keys)).take(np.arange(0, table.num_rows, CYCLE_POINTS)).to_pylist()
            means = table["mean"].to_numpy().reshape(-1, CYCLE_POINTS)
            for head, mean in zip(heads, means, strict=True):
                yield [*(head[key] for key in keys), *mean.tolist()]

    return Sheet(_CURVES, columns, rows(), file.metadata.num_rows // CYCLE_POINTS)


def _cell(page: Any, value: Any, bold: bool = False) -> Any:
    """A value as Excel takes it: missing is an empty cell, a text is a text even if it begins with "="."""
    if value is None or (isinstance(value, (float, np.floating)) and not np.isfinite(value)):
        return None
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str):
        value = ILLEGAL_CHARACTERS_RE.sub(" ", value)[:_LONGEST_TEXT]
    if not bold and not (isinstance(value, str) and value.startswith("=")):
        return value
    cell = WriteOnlyCell(page, value=value)
    if isinstance(value, str):
        cell.data_type = "s"
    if bold:
        cell.font = Font(bold=True)
    return cell


def _readme(study: str, version: str, written: Sequence[str], left_out: Sequence[str]) -> Iterator[tuple[str, str]]:
    yield "study", study
    yield "made by", f"biodyn {version}"
    yield "units", UNITS_NOTE
    yield "empty cell", "not measured or not computable; never zero"
    yield "all values", "study.parquet (and study.csv): one row per value; study_wide.csv: one row per curve"
    for name in written:
        yield f"sheet '{name}'", f"{_ABOUT[name]} (from {_source(name)})"
    for sentence in left_out:
        yield "left out", sentence


def _without_times(source: Path, target: Path) -> None:
    """Copy a workbook without the time at which it was written: same tables, same bytes."""
    modified = re.compile(rb"(<dcterms:modified[^>]*>)[^<]*(</dcterms:modified>)")
    stamp = _EPOCH.strftime("%Y-%m-%dT%H:%M:%SZ").encode()
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as new:
        for entry in old.infolist():
            info = zipfile.ZipInfo(entry.filename, _EPOCH.timetuple()[:6])
            info.compress_type = zipfile.ZIP_DEFLATED
            if entry.filename == "docProps/core.xml":
                new.writestr(info, modified.sub(rb"\g<1>" + stamp + rb"\g<2>", old.read(entry)))
                continue
            with old.open(entry) as stream, new.open(info, "w", force_zip64=True) as copy:
                shutil.copyfileobj(stream, copy, 1 << 20)
