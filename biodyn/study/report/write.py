"""Writes the report of a study: once through its trials, once through its subjects, a page at a time."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from biodyn.conventions import BoolArray
from biodyn.errors import ResultError
from biodyn.output.figures.svg import standard_names
from biodyn.output.report.paper import PaperHead, is_own_paper
from biodyn.output.store.folder import PAPER_NAME, replacing, subject_pages
from biodyn.study.collecting.read import iterate_subjects
from biodyn.study.collecting.read import subjects as subjects_with_cycles
from biodyn.study.group.curves import mean_curves
from biodyn.study.group.registry import mean_walker
from biodyn.study.group.statistics.session_means import NAME as SESSION_MEANS
from biodyn.study.group.subject_cycles import CYCLE_VALUES, SubjectCycles, subject_cycles
from biodyn.study.record import STRIDES_NAME, read_strides, without_trials
from biodyn.study.report.aggregate import CurveMeans, Findings, RunFacts, parameter_means
from biodyn.study.report.figures import display_figures, norms_of
from biodyn.study.report.pages import StudyPage, SubjectPage, SubjectTables, session_page, study_page, subject_page
from biodyn.study.report.papers import session_paper, study_paper
from biodyn.study.report.scenes import session_scene
from biodyn.study.report.source import StudySource, Trial, rows_of
from biodyn.study.report.table import Names
from biodyn.variables import Walker
from biodyn.variables.norm_choice import walker_of

REPORT_NAME, SUBJECTS_NAME = "report.html", "subjects"


def write_study_report(out: Path, paper: PaperHead | None = None) -> Path:
    """Write OUT/report.html and OUT/subjects/<subject>.html from what OUT holds; returns the path of report.html.

    A session has one person, and report.html is the person's page. `paper`: write OUT/report.pdf too, with this head; without
    one a PDF of an earlier report is taken away, as it would tell other numbers than the page.
    The same results give the same pages. Older pages stay until the new ones are whole.

    Raises ResultError where OUT holds no finished study, or a report.pdf that biodyn did not write.
    """
    source = StudySource(Path(out))
    _require_own(source.out / PAPER_NAME, paper)
    found = _gather(source)
    if source.one_session:
        people = list(_people(found))
        text = session_page(found, people[0])
        pages = None if paper is None else session_paper(found, people[0], paper)
    else:
        with replacing(source.out / SUBJECTS_NAME, subject_pages) as folder:
            for person in _people(found):
                (folder / f"{person.subject}.html").write_text(subject_page(person), encoding="utf-8")
        text = study_page(found)
        pages = None if paper is None else study_paper(found, paper)
    if pages is not None:
        _replace(source.out / PAPER_NAME, pages)
    elif is_own_paper(source.out / PAPER_NAME):
        (source.out / PAPER_NAME).unlink()
    return _replace(source.out / REPORT_NAME, text.encode())


def _replace(page: Path, content: bytes) -> Path:
    """Write a file beside its place, and then into it."""
    part = page.with_name(f".{page.name}.part")
    part.write_bytes(content)
    os.replace(part, page)
    return page


def _require_own(page: Path, paper: PaperHead | None) -> None:
    if paper is not None and page.exists() and not is_own_paper(page):
        raise ResultError(f"'{page}' is not biodyn's: it will not be replaced.", "Move it away, and try again.")


def _gather(source: StudySource) -> StudyPage:
    findings, facts = Findings(), RunFacts()
    for trial in source.trials:
        if trial.done:
            record = source.run_record(trial)
            findings.add(trial, record)
            facts.add(trial, record)
    options = source.group["options"]
    parameters = parameter_means(
        source.out / "group" / "parameters.csv", source.table("cycles"), options["outliers"] == "leave_out"
    )
    variables = [str(name) for figure in display_figures() for name in figure["panels"]] + standard_names()
    names = Names({entry["name"]: (entry["title"], entry["unit"]) for entry in source.group["parameters"]})
    curves = CurveMeans(tuple(dict.fromkeys(variables)))
    norms = norms_of(source.table("normative_bands"))
    return StudyPage(source, findings, facts, curves, parameters, norms, names)


def _people(found: StudyPage) -> Iterator[SubjectPage]:
    """One person after the other; the group's means grow on the way."""
    source = found.source
    rows = {name: _by_subject(found.table(name)) for name in ("cycles", "symmetry", "gait_scores")}
    rows["parameters"] = _by_subject(found.parameters)
    leave_out = source.group["options"]["outliers"] == "leave_out"
    study = {"name": source.record["name"], "program": source.record["program"]}
    notes = found.notes("gait_scores")
    with_cycles, frames = set(subjects_with_cycles(source.out)), iterate_subjects(source.out, CYCLE_VALUES)
    for subject, trials in source.subjects.items():
        own = SubjectTables(*(rows[name](subject) for name in ("cycles", "parameters", "symmetry", "gait_scores")))
        data = with_strides(source, next(frames)) if subject in with_cycles else None
        if data is not None:
            if data.subject != subject:
                raise ResultError(
                    f"The data set and the summary have different orders: '{data.subject}', '{subject}'.",
                    "Run the study again: trials that are done are kept.",
                )
            odd = _flags(data, own.cycles) if leave_out else None
            found.curves.add(data, mean_curves(data, odd))
        if subject.startswith(".") or set(subject) & set(
            "/\\\0"
        ):  # of a summary that somebody edited: it may lead anywhere
            raise ResultError(
                f"'{subject}' is no name of a subject.", "Run the study again: trials that are done are kept."
            )
        reports = frozenset(trial.trial for trial in trials if (source.out / trial.folder / REPORT_NAME).is_file())
        base = "" if source.one_session else "../"
        yield SubjectPage(
            subject, trials, data, own, found.norms, found.names, study, base, reports, notes,
            walker=_walker(source, trials), norm_setting=str(source.group["options"]["norms"]),
            means=found.table(SESSION_MEANS), mean_notes=source.notes(SESSION_MEANS),
            scene=session_scene(source, trials) if source.one_session else None,
        )  # fmt: skip


def _walker(source: StudySource, trials: Sequence[Trial]) -> Walker | None:
    """The person on average over the walks that count; None where there is none."""
    counted = [trial for trial in trials if trial.done and not trial.excluded]
    return mean_walker([walker_of(source.run_record(trial), trial.number("speed_m_s")) for trial in counted])


def with_strides(source: StudySource, frame: pd.DataFrame) -> SubjectCycles | None:
    """The cycles of a subject that are in the group results; None where there are none."""
    excluded = [trial.trial for trial in source.subjects[str(frame["subject"].iloc[0])] if trial.excluded]
    frame = without_trials(frame, excluded)
    if not len(frame):
        return None
    data = subject_cycles(frame)
    strides = {
        (trial.trial, side, cycle): values
        for trial in source.subjects[data.subject]
        if trial.done
        for (side, cycle), values in read_strides(source.out / trial.folder / STRIDES_NAME).items()
    }
    return data.with_strides(strides)


def _by_subject(table: pd.DataFrame) -> Callable[[str], pd.DataFrame]:
    places = table.groupby("subject", sort=False).indices if len(table) else {}
    return lambda subject: table.iloc[places[subject]] if subject in places else table.iloc[:0]


def _flags(data: SubjectCycles, cycles: pd.DataFrame) -> BoolArray:
    """Which cycles (N,) of the data are outliers."""
    odd = {(r.trial, int(r.cycle), r.side) for r in rows_of(cycles[cycles["outlier"]])}
    keys = zip(data.cycles["trial"], data.cycles["cycle"], data.cycles["side"], strict=True)
    return np.array([(trial, int(cycle), side) in odd for trial, cycle, side in keys], dtype=bool)
