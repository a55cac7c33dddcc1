"""The report on paper: at most four pages, every word of them text, whatever names and sentences come from outside."""

from __future__ import annotations

import dataclasses
import io
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from biodyn.cli import app
from biodyn.errors import SettingsError
from biodyn.output.report.paper import PaperHead, paper, read_head
from biodyn.output.report.view import TrialView
from biodyn.trial.result import TrialResult

pypdf = pytest.importorskip("pypdf", reason="pip install 'biodyn[pdf]'")
pytest.importorskip("fpdf", reason="pip install 'biodyn[pdf]'")

_HEAD = PaperHead("Laboratory {{ 7*7 }} <b>North</b>", "Street $x_1$ 1", '=HYPERLINK("x")')
_NAME = "<script>alert(1)</script> **Müller** __Ω__ \u5f20\u4f1f %s \u202eABC \udcff"


def _pages(data: bytes) -> list[Any]:
    return list(pypdf.PdfReader(io.BytesIO(data)).pages)


def _words(page: Any) -> str:
    """Text without blanks: where a line is broken is not the question."""
    return "".join(page.extract_text().split())


def _with(view: TrialView, **entries: Any) -> TrialView:
    return dataclasses.replace(view, record={**view.record, **entries})


@pytest.fixture(scope="module")
def hostile(walk_result: TrialResult) -> list[Any]:
    """Pages of a walk whose names and checks are what they should not be."""
    record = walk_result.view.record
    check = {**record["checks"][0], "status": "fail", "text": "much text " * 90, "hint": "[red]mend[/red] it"}
    note = {"severity": "warning", "message": "a long warning " * 12, "hint": "END"}
    view = _with(
        walk_result.view,
        subject={**record["subject"], "name": _NAME},
        input={**record["input"], "file": "x" * 300 + ".c3d"},
        verdict="fail",
        verdict_checks=[check] * 12,
        diagnostics=[note] * 300,
    )
    no_curves = {**view.tables, "gait_cycles": view.tables["gait_cycles"].iloc[:0]}
    return _pages(paper(dataclasses.replace(view, tables=no_curves), _HEAD))


@pytest.fixture(scope="module")
def walk_pages(walk_result: TrialResult) -> list[Any]:
    """Pages of a walk as it is."""
    return _pages(paper(walk_result.view))


@pytest.mark.slow
def test_hostile_names_are_text_and_keep_to_four_pages(hostile: list[Any]) -> None:
    assert len(hostile) <= 4
    first = _words(hostile[0])
    for text in (
        _HEAD.laboratory,
        _HEAD.address,
        _HEAD.contact,
        "<script>alert(1)</script>**Müller**__Ω__\\u5f20\\u4f1f%s",
    ):
        assert "".join(text.split()) in first
    assert "Verdict:fail" in first
    assert "[red]mend[/red]it" in first
    assert not any(page.get("/Annots") for page in hostile)  # no link to anywhere


@pytest.mark.slow
def test_what_does_not_fit_is_counted(hostile: list[Any]) -> None:
    checks = "".join(_words(page) for page in hostile[1:])
    left = re.search(r"END(\d+)morestandinreport.html", checks)
    assert left is not None
    assert checks.count("END") + int(left[1]) == 300


def test_a_walk_on_three_pages(walk_result: TrialResult, walk_pages: list[Any]) -> None:
    pages = walk_pages
    assert len(pages) == 3
    record = walk_result.view.record
    assert f"bodymass{record['subject']['mass_kg']:.1f}kg" in _words(pages[0]).lower()
    for check in record["checks"]:
        assert "".join(f"{check['title']}:{check['text']}".split()) in _words(pages[2])
    for title in ("Knee flexion", "Hip extension moment", "Ankle power"):
        assert "".join(title.split()) in _words(pages[1])
    # curves are vectors, and everything lies on the sheet
    assert not pages[1].images
    assert [float(length) for length in pages[1].mediabox[2:]] == pytest.approx([595.28, 841.89], abs=0.01)


def test_no_text_begins_beyond_the_margins(walk_pages: list[Any]) -> None:
    places: list[tuple[float, float]] = []
    for page in walk_pages:
        page.extract_text(
            visitor_text=lambda text, cm, tm, font, size: (
                places.append((tm[4] * cm[0] + cm[4], tm[5] * cm[3] + cm[5])) if text.strip() else None
            )
        )
    assert len(places) > 100
    assert all(20 < x < 575 and 20 < y < 822 for x, y in places)


@pytest.mark.parametrize(
    ("text", "told"), [("labratory = 'x'", "labratory"), ("address = 3", "address"), ("laboratory =", "TOML")]
)
def test_a_wrong_head_is_refused(tmp_path: Path, text: str, told: str) -> None:
    file = tmp_path / "head.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(SettingsError, match=told):
        read_head(file)


@pytest.mark.slow
def test_on_the_command_line(walk_result: TrialResult, tmp_path: Path, blank_figures: None) -> None:
    folder = walk_result.save(tmp_path / "walk")
    (tmp_path / "head.toml").write_text('laboratory = "Our laboratory"\n', encoding="utf-8")
    refused = CliRunner().invoke(app, ["report", str(folder), "--head", str(tmp_path / "head.toml")])
    assert refused.exit_code == 2
    assert not (folder / "report.pdf").exists()
    done = CliRunner().invoke(app, ["report", str(folder), "--pdf", "--head", str(tmp_path / "head.toml")])
    assert done.exit_code == 0
    assert "Ourlaboratory" in _words(_pages((folder / "report.pdf").read_bytes())[0])
    walk_result.save(folder, force=True)  # the PDF is biodyn's own, and no foreign file in its way
    assert not (folder / "report.pdf").exists()
