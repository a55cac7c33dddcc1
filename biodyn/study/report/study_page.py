"""report.html: what happened, what failed, what can be trusted, what was found, how it was done."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from biodyn.output.report.page import Data, Fact, Frame, Sections, framed, resource
from biodyn.study.group.options import AnalysisOptions
from biodyn.study.report.curve_figures import Norm, View, views
from biodyn.study.report.findings import Findings, outcome
from biodyn.study.report.means import CurveMeans
from biodyn.study.report.methods import PACKAGE, RunFacts
from biodyn.study.report.source import StudySource
from biodyn.study.report.words import Names

#: What the templates of a study's sections may use beside `lamp`, `state` and `picture`.
MACROS = '{% from "study_macros.html.j2" import table, folded, sentences %}'


@dataclass(frozen=True)
class StudyPage:
    """What the sections of a study's page are made of: its folder, and what went through its trials and subjects once.

    Attributes:
        findings, facts: of all trials' records. curves: means over the subjects. parameters: means of every subject.
    """

    source: StudySource
    findings: Findings
    facts: RunFacts
    curves: CurveMeans
    parameters: pd.DataFrame
    norms: tuple[Norm, ...]
    names: Names

    @cached_property
    def options(self) -> AnalysisOptions:
        """The choices of the group analysis."""
        return AnalysisOptions.model_validate(self.source.group["options"])

    @cached_property
    def views(self) -> list[View]:
        """The comparisons of curves, as they are drawn; none where no trial has a cycle."""
        cells = self.curves.cells
        return list(views(cells, self.table("spm"))) if cells else []

    def table(self, name: str) -> pd.DataFrame:
        """A table of the group results, without columns where it was not written."""
        return self.source.table(name)

    def notes(self, *sections: str) -> list[str]:
        """What the group results say of these sections, in words."""
        return [self.names.spoken(note) for note in self.source.notes(*sections)]

    def context(self) -> Data:
        """What every section may use."""
        return {"figures": {}, "notes": self.notes}


#: The sections of a study's page.
SECTIONS: Sections[StudyPage] = Sections("biodyn.study.report.sections", (PACKAGE,), MACROS)


def study_page(page: StudyPage) -> str:
    """Return the page of the whole study."""
    record = page.source.record
    frame = Frame(
        title=f"{record['name']} – study report",
        heading=record["name"],
        line=outcome(page.source.trials),
        outcome=True,
        facts=[Fact(label, value) for label, value in study_facts(page)],
        program=record["program"],
        foot="This page needs no network.",
        style=resource("study.css", PACKAGE),
        script=resource("sorting.js", PACKAGE),
    )
    return framed(frame, SECTIONS.of(page))


def study_facts(page: StudyPage) -> list[tuple[str, str]]:
    """Words and numbers of the head."""
    trials = page.source.trials
    rows = [
        ("Subjects", str(len(page.source.subjects))),
        ("Trials", f"{sum(t.done for t in trials)} of {len(trials)} analysed"),
    ]
    for label, values in (
        ("Groups", [t.group for t in trials]), ("Conditions", [t.condition for t in trials]),
        ("Sessions", [t.session for t in trials]),
    ):  # fmt: skip
        words = list(dict.fromkeys(value for value in values if value))
        if words:
            rows.append((label, ", ".join(words)))
    cycles = page.table("cycles")
    if len(cycles):
        rows.append(("Cycles", f"{len(cycles):,}"))
    return rows
