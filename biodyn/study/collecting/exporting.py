"""Files for people who work with SPSS or Excel: study_wide.csv and study.xlsx."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq

from biodyn.diagnostics import Diagnostic
from biodyn.study.collecting.atomic_files import written_beside
from biodyn.study.collecting.options import OutputOptions
from biodyn.study.collecting.read import data_set_path
from biodyn.study.collecting.wide import write_wide
from biodyn.study.collecting.xlsx import write_xlsx
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
    with written_beside(out, (WIDE_NAME, XLSX_NAME)) as parts:
        if options.wide and rows <= options.csv_max_rows:
            write_wide(data_set, parts[WIDE_NAME], options.wide_percent_step, options.wide_variables)
        elif options.wide:
            notes.append(
                Diagnostic(
                    "study-wide-left-out",
                    "info",
                    f"{WIDE_NAME} was not written: the data set has {rows:,} rows (limit {options.csv_max_rows:,}).",
                    value=float(rows),
                    limit=float(options.csv_max_rows),
                    hint="Set [output] csv_max_rows higher to get it, or read study.parquet.",
                )
            )
        if options.xlsx:
            sentences = write_xlsx(out, parts[XLSX_NAME], plan.name, program_version(), options.xlsx_max_cells)
            notes += [Diagnostic("xlsx-sheet-left-out", "info", sentence) for sentence in sentences]
    return tuple(notes)
