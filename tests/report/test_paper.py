"""The report on paper: a few pages, every word of them text, whatever names and sentences come from outside."""

from __future__ import annotations

import dataclasses
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from biodyn.cli import app
from biodyn.errors import ResultError, SettingsError
from biodyn.output.figures.description import Axis, Figure, Line, Panel
from biodyn.output.figures.drawing import SMALL_HEIGHT, SMALL_WIDTH
from biodyn.output.figures.trial import TrialView
from biodyn.output.report.pdf_report import (
    Letterhead,
    PdfWriter,
    is_biodyn_pdf,
    read_letterhead,
    requested_letterhead,
    trial_pdf,
    typeset_pages,
)
from biodyn.trial.result import TrialResult

pypdf = pytest.importorskip("pypdf", reason="pip install 'biodyn[test]'")
pytest.importorskip("fpdf", reason="pip install 'biodyn[pdf]'")

_HEAD = Letterhead(
    "Laboratory {{ 7*7 }} <b>North</b>",
    "Street $x_1$ 1",
    '=HYPERLINK("x")',
    {"<i>Referred</i>": "__Dr.__ \u202eX"},
    "Dr. *Y*",
)
_NAME = "<script>alert(1)</script> **Müller** __Ω__ \u5f20\u4f1f %s \u202eABC \udcff"


def _pages(data: bytes) -> list[Any]:
    return list(pypdf.PdfReader(io.BytesIO(data)).pages)


def _words(page: Any) -> str:
    """Text without blanks: where a line is broken is not the question."""
    return "".join(page.extract_text().split())


def _with(view: TrialView, **entries: Any) -> TrialView:
    return dataclasses.replace(view, record={**view.record, **entries})


def _strokes(page: Any) -> Iterator[tuple[float, float]]:
    """Every point that lines and shapes of a page go through, in points."""
    for x, y in re.findall(rb"(-?[\d.]+) (-?[\d.]+) [ml]\s", page.get_contents().get_data()):
        yield float(x), float(y)


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
        diagnostics=[note] * 150,
    )
    no_curves = {**view.tables, "gait_cycles": view.tables["gait_cycles"].iloc[:0]}
    return _pages(trial_pdf(dataclasses.replace(view, tables=no_curves), _HEAD))


@pytest.fixture(scope="module")
def walk_pdf(walk_result: TrialResult) -> bytes:
    """The report of a walk as it is."""
    return trial_pdf(walk_result.view)


@pytest.fixture(scope="module")
def walk_pages(walk_pdf: bytes) -> list[Any]:
    """Its pages."""
    return _pages(walk_pdf)


@pytest.mark.slow
def test_hostile_names_are_text(hostile: list[Any]) -> None:
    first = _words(hostile[0])
    for text in (
        _HEAD.laboratory,
        _HEAD.address,
        _HEAD.contact,
        "<script>alert(1)</script>**Müller**__Ω__\\u5f20\\u4f1f%s",
        "<i>Referred</i>",
        "__Dr.__",
    ):
        assert "".join(text.split()) in first
    assert "Verdict:fail" in first
    assert "[red]mend[/red]it" in first
    assert "Date,signature:Dr.*Y*" in "".join(map(_words, hostile))
    assert not any(page.get("/Annots") for page in hostile)  # no link to anywhere


@pytest.mark.slow
def test_what_does_not_fit_is_counted(hostile: list[Any]) -> None:
    checks = "".join(_words(page) for page in hostile[1:])
    left = re.search(r"END(\d+)moreentries:seereport.html", checks)
    assert left is not None
    assert checks.count("END") + int(left[1]) == 150


def test_a_walk_on_three_pages(walk_result: TrialResult, walk_pages: list[Any]) -> None:
    pages = walk_pages
    assert len(pages) == 3
    record = walk_result.view.record
    assert f"bodymass{record['subject']['mass_kg']:.1f}kg" in _words(pages[0]).lower()
    for check in record["checks"]:
        assert "".join(f"{check['title']}:{check['text']}".split()) in _words(pages[2])
    for title in (
        "Knee flexion",
        "Foot progression angle",
        "Hip extension moment",
        "Ankle rotation moment",
        "Ankle power",
    ):
        assert "".join(title.split()) in _words(pages[1])
    assert "Againstnorms" in _words(pages[2])
    assert "EMGofthemuscles" not in "".join(map(_words, pages))
    # curves are vectors
    assert not pages[1].images
    assert sum(1 for _ in _strokes(pages[1])) > 5000


@pytest.mark.slow
def test_without_norms_the_reason_is_given_once(walk_result: TrialResult) -> None:
    reasons = ["Person: age is unknown.", "No norms are shown."]
    pages = _pages(trial_pdf(_with(walk_result.view, norms={"shown": [], "reasons": reasons})))
    assert "".join(map(_words, pages)).count("Nonormsareshown") == 1
    assert "Againstnorms" not in _words(pages[2])


def test_emg_is_on_paper_as_on_the_page(walk_result: TrialResult) -> None:
    cycle = {"cycle": 1, "side": "r", "label": "RVAS", "percent": np.arange(101.0), "reference": "dynamic peak"}
    curve = {"envelope_mV": np.linspace(0.0, 0.1, 101), "share_of_reference": 0.5, "active": 1.0}
    muscles = [pd.DataFrame({**cycle, **curve, "muscle": name}) for name in ("vasti", "soleus")]
    view = dataclasses.replace(walk_result.view, tables={**walk_result.view.tables, "emg": pd.concat(muscles)})
    page = _words(_pages(trial_pdf(view))[2])
    for words in ("EMG of the muscles", "Vasti", "Soleus", "Linear envelopes: mean of the cycles"):
        assert "".join(words.split()) in page


def test_titles_are_apart_from_the_labels_of_the_row_above(walk_pages: list[Any]) -> None:
    places: dict[str, tuple[float, float]] = {}
    walk_pages[1].extract_text(
        visitor_text=lambda text, cm, tm, font, size: places.setdefault(
            text.strip(), (tm[4] * cm[0] + cm[4], tm[5] * cm[3] + cm[5])
        )
    )
    right, down = (
        abs(places[name][axis] - places["Pelvic tilt"][axis])
        for axis, name in enumerate(("Pelvic obliquity", "Hip flexion"))
    )
    assert down > 1.03 * SMALL_HEIGHT / SMALL_WIDTH * right


def test_nothing_reaches_beyond_the_margins(walk_pages: list[Any]) -> None:
    for page in walk_pages:
        width, height = (float(length) for length in page.mediabox[2:])
        assert sorted((width, height)) == pytest.approx([595.28, 841.89], abs=0.01)
        places: list[tuple[float, float]] = []
        page.extract_text(
            visitor_text=lambda text, cm, tm, font, size, found=places: (
                found.append((tm[4] * cm[0] + cm[4], tm[5] * cm[3] + cm[5])) if text.strip() else None
            )
        )
        assert len(places) > 20
        assert all(20 < x < width - 20 and 20 < y < height - 20 for x, y in [*places, *_strokes(page)])


def test_curves_keep_to_their_grid_where_the_body_has_no_loads(walk_result: TrialResult) -> None:
    # rows of motion alone stand side by side: nothing of them may hang over the edge
    table = walk_result.view.tables["gait_cycles"]
    motion = table[~table["variable"].astype(str).str.contains("moment|power|force")]
    view = dataclasses.replace(walk_result.view, tables={**walk_result.view.tables, "gait_cycles": motion})
    page = _pages(trial_pdf(view))[1]
    assert "Kneeflexion" in _words(page)
    assert "Kneeextensionmoment" not in _words(page)
    assert max(x for x, _ in _strokes(page)) < 841.89 - 20


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("labratory = 'x'", "labratory"),
        ("address = 3", "address"),
        ("laboratory =", "TOML"),
        ("[entries]\na = 1", "entries"),
        ("[entries]\n" + "\n".join(f"a{i} = 'x'" for i in range(40)), "room"),
    ],
)
def test_a_wrong_head_is_refused(tmp_path: Path, text: str, told: str) -> None:
    file = tmp_path / "head.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(SettingsError, match=told):
        read_letterhead(file)


def test_a_pdf_is_refused_in_a_sentence_without_its_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("biodyn.output.report.pdf_report.find_spec", lambda name: None)
    with pytest.raises(ResultError, match="fpdf2"):
        requested_letterhead(True, None)
    assert requested_letterhead(False, None) is None


def test_only_its_own_pdf_is_known_as_such(tmp_path: Path, walk_pdf: bytes) -> None:
    own, other = tmp_path / "own.pdf", tmp_path / "other.pdf"
    own.write_bytes(walk_pdf)
    other.write_bytes(b"%PDF-1.3 /Creator (somebody)")
    assert is_biodyn_pdf(own)
    assert not is_biodyn_pdf(other)
    assert not is_biodyn_pdf(tmp_path / "none.pdf")


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
    walk_result.save(folder, force=True, pdf=True)
    assert len(_pages((folder / "report.pdf").read_bytes())) == 3


@pytest.mark.slow
def test_where_nothing_fits_there_are_more_pages_and_nothing_is_cut() -> None:
    def write(paper: PdfWriter) -> None:
        paper.begin_page()
        for number in range(60):
            paper.write_paragraph(f"sentence {number} of those that must be told. " * 12)

    pages = _pages(typeset_pages("title", "foot", Letterhead(), write))
    text = "".join(map(_words, pages))
    assert len(pages) > 1
    assert all(f"sentence{number}ofthose" in text for number in range(60))


def test_a_figure_is_not_squeezed_into_the_end_of_a_page() -> None:
    panel = Panel("Curve", Axis(), Axis("degrees"), (Line(np.arange(3.0), np.arange(3.0), "ink"),))

    def write(paper: PdfWriter) -> None:
        paper.begin_page()
        while paper.remaining_height > 30.0:
            paper.write_paragraph("a line")
        paper.draw_figure(Figure("One", (panel,)), 100.0)

    pages = _pages(typeset_pages("title", "foot", Letterhead(), write))
    assert len(pages) == 2
    assert "Curve" in _words(pages[1])


def test_a_narrow_column_has_room_for_its_number() -> None:
    def write(paper: PdfWriter) -> None:
        paper.begin_page()
        paper.write_table(("compared", "#n"), [("a and b", "6")], (100, 1))

    assert "6" in _words(_pages(typeset_pages("title", "foot", Letterhead(), write))[0])
