"""subjects/<subject>.html: trials, curves of all cycles, parameters, symmetry, scores of one subject."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from biodyn.output.report.page import Data, Fact, Frame, Sections, framed, resource
from biodyn.study.group.subject_cycles import SubjectCycles
from biodyn.study.report.curve_figures import Norm
from biodyn.study.report.methods import PACKAGE
from biodyn.study.report.source import Trial
from biodyn.study.report.study_page import MACROS
from biodyn.study.report.words import Names, spread
from biodyn.variables import Walker


@dataclass(frozen=True)
class SubjectTables:
    """The rows of one subject: cycles.csv, parameter means, symmetry.csv, gait_scores.csv."""

    cycles: pd.DataFrame
    parameters: pd.DataFrame
    symmetry: pd.DataFrame
    scores: pd.DataFrame


@dataclass(frozen=True)
class SubjectPage:
    """What the sections of a subject's page are made of.

    Attributes:
        data: its cycles, None where no trial has any. tables: its rows of the group results.
        study: name and program version. base: from the page to the study's folder. reports: trials with a report.
        score_notes: what the scores are compared with, in words.
        walker: the person, by whom norms are chosen; norm_setting: as [analysis] norms.
        means: session_means.csv of a study of one person, mean_notes: what is said of it.
        scene: of the walks of a session, what the template of a 3-D view is filled with.
    """

    subject: str
    trials: Sequence[Trial]
    data: SubjectCycles | None
    tables: SubjectTables
    norms: Sequence[Norm]
    names: Names
    study: Mapping[str, Any]
    base: str = "../"
    reports: frozenset[str] = frozenset()
    score_notes: Sequence[str] = ()
    walker: Walker | None = None
    norm_setting: str = "auto"
    means: pd.DataFrame = field(default_factory=pd.DataFrame)
    mean_notes: Sequence[str] = ()
    scene: Mapping[str, Any] | None = None

    def context(self) -> Data:
        """What every section may use."""
        return {"figures": {}, "base": self.base}


#: The sections of a subject's page.
SECTIONS: Sections[SubjectPage] = Sections("biodyn.study.report.subject_sections", (PACKAGE,), MACROS)


def subject_page(page: SubjectPage) -> str:
    """Return the page of a subject."""
    frame = Frame(
        title=f"{page.subject} – {page.study['name']}",
        heading=page.subject,
        line="",
        facts=[Fact(label, value) for label, value in facts(page.trials)],
        program=page.study["program"],
        foot="This page needs no network; links lead to the results of the trials beside it.",
        up=("../report.html", page.study["name"]),
        style=resource("study.css", PACKAGE),
        script=resource("sorting.js", PACKAGE),
    )
    return framed(frame, SECTIONS.of(page))


def facts(trials: Sequence[Trial]) -> list[tuple[str, str]]:
    """Words and numbers of the head."""
    found = [("Trials", f"{sum(trial.done for trial in trials)} of {len(trials)} analysed")]
    group = next((trial.group for trial in trials if trial.group), "")
    conditions = list(dict.fromkeys(trial.condition for trial in trials if trial.condition))
    sessions = list(dict.fromkeys(trial.session for trial in trials if trial.session))
    found += [("Group", group)] if group else []
    found += [("Conditions", ", ".join(conditions))] if conditions else []
    found += [("Sessions", ", ".join(sessions))] if sessions else []
    done = [trial for trial in trials if trial.done]
    for label, name, form in (
        ("Body mass", "subject_mass_kg", "{:.1f} kg"),
        ("Body height", "subject_height_m", "{:.2f} m"),
    ):
        values = list(
            dict.fromkeys(form.format(trial.number(name)) for trial in done if np.isfinite(trial.number(name)))
        )
        found += [(label, ", ".join(values))] if values else []
    speed = np.array([trial.number("speed_m_s") for trial in done])
    if np.isfinite(speed).any():
        known = speed[np.isfinite(speed)]
        found.append(
            ("Walking speed", f"{spread(known.mean(), known.std(ddof=1) if len(known) > 1 else np.nan, '')} m/s")
        )
    return found
