"""No text of a table is a formula to a spreadsheet, and reading it back gives the text."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from biodyn.output.tables.csv import original_text, read_csv, spreadsheet_text, write_csv

FORMULAS = [
    '=HYPERLINK("http://x","y")',
    "+1+cmd|' /C calc'!A0",
    "-2+3",
    "@SUM(A1)",
    "\tx",
    "\rx",
    "'=1",
    "''@x",
    "=",
    "+",
]
PLAIN = ["walk", "'quoted'", "'s", "-5", "+3.5", "-1e-3", "-", "a=b", "", "1", "'", "−5"]


@pytest.mark.parametrize("text", FORMULAS)
def test_a_formula_becomes_a_text(text: str) -> None:
    assert spreadsheet_text(text)[0] == "'"
    assert original_text(spreadsheet_text(text)) == text


@pytest.mark.parametrize("text", PLAIN)
def test_other_texts_stay(text: str) -> None:
    assert spreadsheet_text(text) == text
    assert original_text(text) == text


def test_a_table_is_written_without_formulas_and_read_back(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {"=label": FORMULAS, "kind": pd.Categorical(FORMULAS), "plain": [*PLAIN, ""][: len(FORMULAS)], "number": -1.5}
    )
    write_csv(frame, tmp_path / "t.csv")
    raw = pd.read_csv(tmp_path / "t.csv", dtype=str)
    for name in ("'=label", "kind"):
        assert not any(cell[0] in "=+-@\t\r" for cell in raw[name])
    assert list(raw["number"]) == ["-1.5"] * len(FORMULAS)
    back = read_csv(tmp_path / "t.csv")
    assert list(back["=label"]) == FORMULAS
    assert list(back["kind"]) == FORMULAS
    np.testing.assert_array_equal(back["number"], frame["number"])
