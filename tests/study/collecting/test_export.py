"""The files for SPSS and Excel hold the data set's numbers, fit into Excel and are the same bytes every time."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import openpyxl
import pandas as pd
import pytest
from support.study_folder import StudyFolder

from biodyn.study.collecting import collect_results, export_tables, read_cycles
from biodyn.study.collecting import result_aggregation as exporting
from biodyn.study.collecting.cycles import DECIMALS
from biodyn.study.collecting.result_aggregation import WIDE_COLUMNS, Sheet
from biodyn.trial.export.sheets import MOST_COLUMNS, MOST_ROWS


@pytest.fixture
def collected(study_folder: StudyFolder) -> StudyFolder:
    collect_results(study_folder.plan, study_folder.out)
    group = study_folder.out / "group"
    group.mkdir()
    (group / "comparisons.csv").write_text("parameter,p,note\nspeed,0.01,=1+1\nknee,,\x07bell\n", encoding="utf-8")
    (group / "parameters_wide.csv").write_text("subject,group,speed\n007,a,1.25\nZoë,ß,\n", encoding="utf-8")
    return study_folder


def sheet(out: Path, name: str) -> list[tuple[object, ...]]:
    """Rows of a sheet, each as long as the longest: openpyxl ends a row with its last cell that is not empty."""
    rows = list(openpyxl.load_workbook(out / "study.xlsx", read_only=True)[name].iter_rows(values_only=True))
    width = max(len(row) for row in rows)
    return [(*row, *(None,) * (width - len(row))) for row in rows]


def test_a_line_of_the_wide_file_is_a_curve_of_the_data_set(collected: StudyFolder) -> None:
    export_tables(collected.plan, collected.out)
    wide = pd.read_csv(collected.out / "study_wide.csv", dtype={"group": str, "condition": str})
    rows = read_cycles(collected.out)
    assert tuple(wide.columns) == WIDE_COLUMNS
    assert len(wide) == len(rows) // 101
    values = rows["value"].to_numpy().reshape(len(wide), -1)
    # rounded to so many digits after the point
    np.testing.assert_allclose(wide.iloc[:, -values.shape[1] :], values, rtol=0, atol=0.5001 * 10**-DECIMALS)
    heads = rows.iloc[::101]
    for name in ("subject", "condition", "trial", "cycle", "side", "variable", "unit"):
        assert wide[name].astype(str).tolist() == heads[name].astype(str).tolist()


def test_the_workbook_holds_summary_and_group_results(collected: StudyFolder) -> None:
    assert export_tables(collected.plan, collected.out) == ()
    book = openpyxl.load_workbook(collected.out / "study.xlsx", read_only=True)
    assert book.sheetnames == ["README", "summary", "parameters", "comparisons"]  # no sheet without its table
    header, *rows = sheet(collected.out, "summary")
    assert len(rows) == len(collected.plan.trials)
    column = header.index("status")
    assert [row[column] for row in rows].count("failed") == 1
    speed = header.index("speed_m_s")
    done = [row[speed] for row in rows if row[column] == "warn"]
    assert done == pytest.approx([collected.metrics["speed_m_s"]] * len(done), rel=1e-5)  # six digits
    assert [row[speed] for row in rows if row[column] == "failed"] == [None]  # an empty cell, no zero
    assert sheet(collected.out, "parameters")[1:] == [("007", "a", 1.25), ("Zoë", "ß", None)]


def test_a_text_is_never_a_formula(collected: StudyFolder) -> None:
    export_tables(collected.plan, collected.out)
    page = openpyxl.load_workbook(collected.out / "study.xlsx")["comparisons"]
    assert page["C2"].value == "=1+1"
    assert page["C2"].data_type == "s"
    assert page["C3"].value == " bell"  # a character Excel does not take
    assert page["B3"].value is None


def test_two_exports_are_the_same_bytes(collected: StudyFolder) -> None:
    names = ("study_wide.csv", "study.xlsx")
    export_tables(collected.plan, collected.out)
    first = [(collected.out / name).read_bytes() for name in names]
    time.sleep(2.1)  # the time stamps of a zip archive count two seconds
    export_tables(collected.plan, collected.out)
    assert [(collected.out / name).read_bytes() for name in names] == first
    assert not list(collected.out.glob(".*.part*"))


def test_what_is_too_large_is_left_out_and_said(collected: StudyFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporting, "MOST_CELLS", 10)
    monkeypatch.setattr(exporting, "MOST_TEXT_ROWS", 10)
    notes = export_tables(collected.plan, collected.out)
    assert [note.code for note in notes] == ["study-table-left-out", "study-table-left-out"]
    assert not (collected.out / "study_wide.csv").exists()
    said = [row for row in sheet(collected.out, "README") if row[0] == "left out"]
    assert len(said) == 1
    assert "summary" in str(said[0][1])
    rows = Sheet("", ("a",), iter(()), MOST_ROWS)
    columns = Sheet("", ("a",) * (MOST_COLUMNS + 1), iter(()), 1)
    assert "limit of Excel" in rows.size_problem
    assert "limit of Excel" in columns.size_problem
    monkeypatch.undo()
    assert not Sheet("", ("a",) * MOST_COLUMNS, iter(()), 1).size_problem


def test_a_study_without_any_cycle_is_exported_too(study_folder: StudyFolder) -> None:
    failed = tuple(t for t in study_folder.plan.trials if t not in study_folder.done)
    plan = replace(study_folder.plan, trials=failed)
    collect_results(plan, study_folder.out)
    export_tables(plan, study_folder.out)
    assert len(pd.read_csv(study_folder.out / "study_wide.csv")) == 0
    assert len(sheet(study_folder.out, "summary")) == 1 + len(failed)
