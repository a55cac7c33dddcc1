"""The report of a study: what must be in it, for studies of all kinds; that it stands alone and is always the same."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import unquote

import numpy as np
import pytest
from support.made_folder import MadeTrial, made_folder, two_by_two

from biodyn.errors import StudyError
from biodyn.output.figures.description import Area, Axis, Figure, Key, Line, Panel
from biodyn.output.figures.svg import render_svg
from biodyn.study.options import AnalysisOptions
from biodyn.study.plan import StudyFile
from biodyn.study.report import write_study_report
from biodyn.study.report.aggregation import (
    CurveMeans,
    RunFacts,
    group_failures,
    means_over_subjects,
    parameter_means,
    study_methods_text,
)
from biodyn.study.report.report_inputs import DisplayNames, StudySource, mean_sd_text, number_text, p_value_text
from biodyn.trial.result import TrialResult

_VOID = {"meta", "br", "img", "input", "link", "hr"}
_EMPTY_SVG = {"path", "rect"}


class _Page(HTMLParser):
    """Checks nesting; collects headings, links, ids, and what a page would load."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.faults: list[str] = []
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.ids: list[str] = []
        self.headings: list[str] = []
        self.words = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in _VOID:
            self.open.append(tag)
        self._attributes(tag, attrs)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._attributes(tag, attrs)

    def _attributes(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "href" and tag == "a":
                self.links.append(value or "")
            elif name in ("src", "href", "srcset", "data"):
                self.loaded.append(value or "")
            elif name == "id":
                self.ids.append(value or "")
        if tag == "h2":
            self.headings.append("")

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open[-1] != tag:
            self.faults.append(f"</{tag}> in {self.open[-3:]}")
        else:
            self.open.pop()

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("script", "style"):
            self.words += data
        if self.open and self.open[-1] == "h2":
            self.headings[-1] += data


def _page(path: Path) -> _Page:
    page = _Page(path.read_text(encoding="utf-8"))
    assert page.faults == []
    assert page.open == []
    return page


Maker = Callable[[Path], Path]
_DAMAGED = (
    MadeTrial("S01", "bad1", "slow", "patient", error="C3DError", reason="'S01/bad1.c3d' ends after 12 bytes.", hint="Copy it."),
    MadeTrial("S02", "bad2", "slow", "control", error="C3DError", reason="'S02/bad2.c3d' ends after 99 bytes.", hint="Copy it."),
    MadeTrial("S02", "bad3", "fast", "control", error="PlateError", reason="No plate.", hint="Find one."),
)  # fmt: skip


def _in_order(trials: list[MadeTrial]) -> list[MadeTrial]:
    return sorted(trials, key=lambda trial: trial.subject)


@pytest.fixture(scope="module")
def crossed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight subjects, two conditions, two groups, three damaged files, files left out."""
    files = (
        StudyFile(Path("S01/static.c3d"), "static", "It stands."),
        StudyFile(Path("S01/jump.c3d"), "other", "It is no walk."),
        StudyFile(Path("S02/old.c3d"), "excluded", "Wrong shoes."),
    )
    return made_folder(tmp_path_factory.mktemp("crossed") / "out", _in_order([*two_by_two(trials=1), *_DAMAGED]), files)


def test_pages_stand_alone(crossed: Path) -> None:
    for path in [crossed / "report.html", *sorted((crossed / "subjects").glob("*.html"))]:
        page = _page(path)
        assert page.loaded == []
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"""url\(|@import|<script[^>]+src|\bfetch\(|XMLHttpRequest""", text)
        assert not any(link.startswith(("http:", "https:", "//")) for link in page.links)


def test_every_link_leads_somewhere(crossed: Path) -> None:
    pages: dict[Path, _Page] = {}
    for path in [crossed / "report.html", *sorted((crossed / "subjects").glob("*.html"))]:
        page = _page(path)
        assert page.links
        for link in page.links:
            place, _, anchor = link.partition("#")
            target = (path.parent / unquote(place)).resolve() if place else path
            assert target.exists(), link
            if anchor:
                if target not in pages:
                    pages[target] = _page(target)
                assert unquote(anchor) in pages[target].ids, link


def test_failures_come_first_grouped_with_what_to_do(crossed: Path) -> None:
    page = _page(crossed / "report.html")
    assert page.headings[0] == "Failed trials"
    assert "8 subjects, 19 trials: 16 analysed (16 warn); 3 trials failed." in page.words
    assert "… ends after … bytes." in page.words
    for expected in ("S02/bad3.c3d", "'S02/bad2.c3d' ends after 99 bytes.", "What to do: Copy it.", "Find one."):
        assert expected in page.words


def test_sections_stand_in_their_order(crossed: Path) -> None:
    assert _page(crossed / "report.html").headings == [
        "Failed trials",
        "Curves over the gait cycle",
        "Discrete parameters",
        "Mixed models",
        "Symmetry",
        "Repeatability",
        "Movement Analysis Profile and Gait Profile Score",
        "Representative cycles and outliers",
        "Warnings",
        "Quality over all trials",
        "Subjects and trials",
        "Files left out",
        "Methods",
        "Files",
    ]


def test_warnings_are_counted_over_trials(crossed: Path) -> None:
    words = _page(crossed / "report.html").words
    assert "Gap not filled: 16 trials" in words
    assert "Gaps: 16 trials" in words
    assert "Frames fitted" not in words  # fine everywhere


def test_what_was_left_out_says_why(crossed: Path) -> None:
    words = _page(crossed / "report.html").words
    for expected in ("It is no walk.", "S01/jump.c3d", "Wrong shoes.", "by the user"):
        assert expected in words
    assert "It stands." not in words  # a static trial serves the walks


def test_curves_and_tests_are_shown_in_words(crossed: Path) -> None:
    text = (crossed / "report.html").read_text(encoding="utf-8")
    words = _page(crossed / "report.html").words
    for expected in ("Conditions in group patient", "Groups in condition fast", "Hip flexion", "degrees, flexion +"):
        assert expected in words
    # 3 degrees apart in every subject, with a spread of tenths: beyond any threshold
    assert re.search(r"a: (slow − fast|fast − slow) \(paired t test, n 4\): [1-9]\d? of \d+ curves beyond", words)
    assert text.count('class="chart"') > 8
    visible = re.sub(r"<[^>]+>", " ", re.sub(r"(?s)<(script|style).*?</\1>", "", text))
    for raw in ("knee_angle", "hip_flexion", "p_adjusted<", "gvs_"):
        assert raw not in visible, raw


def test_methods_tell_what_ran_and_cite(crossed: Path) -> None:
    words = _page(crossed / "report.html").words
    for expected in (
        "low-pass filtered at 6 Hz",
        "The cut-off was selected for each walk from the noise and the spectrum of the markers",
        "Pataky TC (2010)",
        "Holm S (1979)",
        "Baker R et al. (2009)",
        "16 walks of 8",
    ):
        assert expected in words
    assert "Differences." not in words  # all ran with the same settings


@pytest.mark.parametrize(
    ("source", "fit", "said"),
    [
        ("poses", "none", "Joint centres, axes and fixed angles are means of the poses over the frames of each walk"),
        ("quiet part", "none", "Walks without a static trial were calibrated from quiet standing in them"),
        ("static trial", "session", "fitted to the static trial and all walks of the session together"),
    ],
)
def test_methods_say_what_the_model_came_from(walk_result: TrialResult, source: str, fit: str, said: str) -> None:
    record = walk_result.view.record
    record = {**record, "static": {**record["static"], "source": source}}
    record["settings"] = {**record["settings"], "model": {**record["settings"]["model"], "fit": fit}}
    record["subject_fit"] = None if fit == "none" else record["subject_fit"]
    facts = RunFacts()
    facts.add(SimpleNamespace(subject="S01"), record)  # type: ignore[arg-type]
    source_of_page = SimpleNamespace(
        group={"options": AnalysisOptions().model_dump()}, table=lambda name: {}, notes=lambda *sections: []
    )
    text = " ".join(paragraph for _, paragraph in study_methods_text(source_of_page, facts).paragraphs)  # type: ignore[arg-type, union-attr]
    assert said in text
    assert ("static trial were averaged" in text) is (source == "static trial")
    assert ("Hip joint centres" in text) is (source != "poses")


def test_settings_that_differ_are_said_with_whose_they_are(tmp_path: Path) -> None:
    trials = [
        MadeTrial("S01", "a"), MadeTrial("S01", "b"),
        MadeTrial("S02", "a", settings={"signals": {"cutoff_hz": 10.0}}),
    ]  # fmt: skip
    words = _page(write_study_report(made_folder(tmp_path / "out", trials))).words
    assert "signals: cutoff hz: auto in 2 trials (S01), 10 in 1 trials (S02)" in words
    assert "low-pass filtered at 6 Hz (2 trials), 10 Hz (1 trials)" in words  # what was used, chosen or not


def test_trials_whose_estimate_fell_back_are_told_and_the_others_describe_the_study(walk_result: TrialResult) -> None:
    """The settings say "auto" in all of them: what was used differs."""
    made = dict(walk_result.view.record)
    fallen = {**made, "method": "butterworth", "estimate": None}
    facts = RunFacts()
    for subject, record in (("S01", fallen), ("S02", made), ("S03", made)):
        facts.add(SimpleNamespace(subject=subject), record)  # type: ignore[arg-type]
    assert facts.common_settings.record["method"] == "estimate"
    assert facts.setting_differences() == [
        "signals: method: estimate in 2 trials (S02, S03), butterworth in 1 trials (S01)."
    ]


def test_the_same_results_give_the_same_bytes(crossed: Path, tmp_path: Path) -> None:
    again = tmp_path / "elsewhere" / "copy"
    shutil.copytree(crossed, again)
    shutil.rmtree(again / "subjects")
    write_study_report(again)
    names = sorted(path.relative_to(crossed) for path in [crossed / "report.html", *(crossed / "subjects").iterdir()])
    assert names == sorted(path.relative_to(again) for path in [again / "report.html", *(again / "subjects").iterdir()])
    assert all((crossed / name).read_bytes() == (again / name).read_bytes() for name in names)
    assert not [path for path in again.iterdir() if path.name.startswith(".")]


def test_a_page_of_a_former_subject_is_removed(tmp_path: Path) -> None:
    out = made_folder(tmp_path / "out", [MadeTrial("S01", "a")])
    shutil.copy(out / "subjects" / "S01.html", out / "subjects" / "gone.html")
    (out / "subjects" / "my notes.html").write_text("<p>mine</p>")
    write_study_report(out)
    assert not (out / "subjects" / "gone.html").exists()
    assert (out / "subjects" / "my notes.html").read_text() == "<p>mine</p>"


def test_a_subject_has_its_trials_curves_and_numbers(crossed: Path) -> None:
    page = _page(crossed / "subjects" / "S02.html")
    for expected in (
        "slow01",
        "bad3",
        "No plate.",
        "Find one.",
        "Gaps",
        "Knee flexion",
        "No walk is representative: all of them have warnings.",
        "fast01",
    ):
        assert expected in page.words
    assert "S03" not in page.words
    assert "../trials/S02/slow01/" in page.links
    assert page.headings == [
        "Curves over the gait cycle", "Parameters", "Against norms", "Movement Analysis Profile and Gait Profile Score",
        "Symmetry", "Trials",
    ]  # fmt: skip


def test_names_cannot_become_markup(tmp_path: Path) -> None:
    evil = "<script>alert(1)<&>'\" #%"
    trials = [
        MadeTrial(evil, "x<b>1", condition="<i>fast</i>", group="<u>g"),
        MadeTrial(evil, "y", condition="<i>fast</i>", group="<u>g", error="C3DError", reason="'<img src=x>' is bad.", hint="<a>"),
    ]  # fmt: skip
    out = made_folder(tmp_path / "out", trials, name="</title><script>x")
    for path in (write_study_report(out), out / "subjects" / f"{evil}.html"):
        text = path.read_text(encoding="utf-8")
        page = _page(path)
        assert text.count("<script>") == 1  # ours
        assert "<img" not in text
        assert "<i>" not in text
        assert evil in page.words
        for link in page.links:
            target = unquote(link.partition("#")[0])
            assert not target or (path.parent / target).exists(), link


def test_one_subject_alone(tmp_path: Path) -> None:
    out = made_folder(tmp_path / "out", [MadeTrial("S01", "a"), MadeTrial("S01", "b", offset=1.0)])
    page = _page(write_study_report(out))
    assert page.headings[0] == "Nothing failed"
    assert "1 subject, 2 trials: all analysed" in page.words
    assert "There are no comparisons, because all trials have the same condition and group." in page.words
    assert "right" in page.words
    assert "SPM" not in page.words


def test_all_trials_failed(tmp_path: Path) -> None:
    trials = [
        MadeTrial(f"S{i}", "a", error="C3DError", reason=f"'S{i}/a.c3d' is empty.", hint="Copy it.") for i in range(3)
    ]
    out = made_folder(tmp_path / "out", trials)
    page = _page(write_study_report(out))
    assert page.headings == [
        "Failed trials",
        "No results",
        "No warnings",
        "Subjects and trials",
        "Files",
    ]
    assert "3 subjects, 3 trials: none analysed; 3 trials failed." in page.words
    assert "is empty." in _page(out / "subjects" / "S1.html").words


def test_nothing_but_a_finished_study_is_reported(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="no finished study"):
        write_study_report(tmp_path)


# -- the numbers -------------------------------------------------------------------------------------------------


def test_means_are_those_of_the_group_tables(crossed: Path) -> None:
    """Means for the tables come from parameters.csv alone; the group analysis has its own way to the same numbers."""
    source = StudySource(crossed)
    means = means_over_subjects(parameter_means(crossed / "group" / "parameters.csv", source.table("cycles"), False))
    comparisons = source.table("comparisons")
    pairs = comparisons[(comparisons["factor"] == "condition") & (comparisons["side"] == "mean")]
    assert len(pairs)
    for row in pairs.itertuples():
        own = means[
            (means["parameter"] == row.parameter) & (means["condition"] == row.first) & (means["group"] == row.within)
            & (means["side"] == "mean")
        ]  # fmt: skip
        # both tables are rounded: parameters.csv to six digits
        assert float(own["mean"].iloc[0]) == pytest.approx(row.first_mean, rel=1e-4, abs=1e-4)
        assert float(own["sd"].iloc[0]) == pytest.approx(row.first_sd, rel=1e-3, abs=1e-4)


def test_failures_keep_what_all_reasons_share(crossed: Path) -> None:
    groups = group_failures(StudySource(crossed).trials)
    assert [(group.title, len(group.trials)) for group in groups] == [("… ends after … bytes.", 2), ("No plate.", 1)]


def test_curve_means_ignore_what_is_missing() -> None:
    means = CurveMeans(("knee_angle",))
    assert means.cells == []
    assert means.curve(("", ""), "r", "knee_angle") is None


def test_lines_break_where_values_are_missing() -> None:
    x = np.arange(5.0)
    values = np.array([[1.0, 2.0, np.nan, 4.0, 6.0], [np.nan] * 5])
    whole = np.array([[3.0, 1.0, 0.0, 0.0, 7.0]])
    for curves, runs in ((values, [2, 2]), (whole, [5])):
        panel = Panel("t", Axis("x", ticks=()), Axis("y", ticks=()), (Line(x, curves, "x", 3.3),))
        (line,) = re.findall(r'd="([^"]*)"[^>]*stroke-width="33"', render_svg(Figure("t", (panel,))))
        assert [1 + len(part.split("l")[1].split()) // 2 for part in line.split("M")[1:]] == runs


def test_a_figure_of_nothing_is_a_figure() -> None:
    x = np.linspace(0.0, 100.0, 101)
    empty = np.full(101, np.nan)
    layers = (Line(x, empty, "ink"), Area(x, empty, empty, "ink"))
    panel = Panel("T", Axis(), Axis("y"), layers, note="none")
    assert "none" in render_svg(Figure("alt <", (panel,), (Key("k", "ink"),)))
    assert "alt &lt;" in render_svg(Figure("alt <", (panel,)))
    assert "svg" in render_svg(Figure("nothing", ()))


def test_words_of_numbers() -> None:
    assert number_text(-0.00001, "deg") == "0.0"
    assert number_text(float("nan")) == "–"
    assert mean_sd_text(-1.25, 0.5, "deg") == "−1.2 ± 0.5"
    assert mean_sd_text(1.0, float("nan"), "m") == "1.00"
    assert p_value_text(0.0001) == "< 0.001"
    names = DisplayNames({"power_a2": ("A2", "W/kg")})
    assert names.replace_identifiers("power_a2, knee_angle and of_no_name") == "A2, Knee flexion and of_no_name"
