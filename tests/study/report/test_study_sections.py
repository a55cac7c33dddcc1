"""A section of a study's or a subject's page is one file, as on a trial's page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.added_files import added_file
from support.made_folder import MadeTrial, made_folder

from biodyn.study.report import write_study_report
from biodyn.study.report.pages import STUDY_SECTIONS, SUBJECT_SECTIONS

OF_STUDY = """
from biodyn.study.report.pages import STUDY_SECTIONS
from biodyn.study.report.report_inputs import make_table

TEMPLATE = "{{ sentences(notes('group_curves')) }}{{ folded('Trials by subject', rows, true) }}"


@STUDY_SECTIONS.section("counts", place=45, title="Counts", link="Counts", template=TEMPLATE)
def counts(page):
    subjects = page.source.subjects.items()
    return {"rows": make_table(("subject", "#trials"), [(subject, str(len(own))) for subject, own in subjects])}
"""
OF_SUBJECT = """
from biodyn.study.report.pages import SUBJECT_SECTIONS


@SUBJECT_SECTIONS.section("who", place=5, title="Who", template="<p>{{ who }}</p>")
def who(page):
    return {"who": page.subject} if page.subject == "S02" else None
"""


@pytest.mark.slow
def test_a_file_more_is_a_section_more(tmp_path: Path) -> None:
    out = made_folder(tmp_path / "out", [MadeTrial("S01", "a"), MadeTrial("S02", "a"), MadeTrial("S02", "b")])
    before = (out / "report.html").read_text(encoding="utf-8")
    with (
        added_file(STUDY_SECTIONS, tmp_path / "one", "counts", OF_STUDY),
        added_file(SUBJECT_SECTIONS, tmp_path / "two", "who", OF_SUBJECT),
    ):
        page = write_study_report(out).read_text(encoding="utf-8")
    section = re.search(r'<section id="counts">(.*?)</section>\n', page, re.S)
    assert section is not None
    assert "Trials by subject (2)" in section[1]
    assert '<a href="#failures">Failures</a><a href="#counts">Counts</a>' in page
    subjects = {path.stem: path.read_text(encoding="utf-8") for path in (out / "subjects").iterdir()}
    assert "<p>S02</p>" in subjects["S02"]
    assert subjects["S02"].index('id="who"') < subjects["S02"].index('id="trials"')
    assert 'id="who"' not in subjects["S01"]
    assert write_study_report(out).read_text(encoding="utf-8") == before


def test_two_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="two sections are called 'quality'"):
        STUDY_SECTIONS.section("quality", place=1, template="")(lambda page: {})
    assert "quality" not in SUBJECT_SECTIONS
