"""Pages of a study, of a subject, of a session and of a change between two sessions: content of their sections, and frames."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from biodyn.conventions import CYCLE_POINTS, SIDE_NAMES, BoolArray
from biodyn.diagnostics import STATUS_WORDS
from biodyn.errors import ResultError
from biodyn.output.figures.curves import unit_label
from biodyn.output.figures.style import apply_side_colors
from biodyn.output.figures.svg import standard_page_variables
from biodyn.output.report.comparison_page import CURVES_TEMPLATE, MeanCurve, Means, paired_curve_values
from biodyn.output.report.page import Data, Fact, Frame, Section, Sections, load_resource, render_page, render_section
from biodyn.output.report.pdf_report import Letterhead, is_biodyn_pdf
from biodyn.output.report.scene import MOST_BYTES, SCENE_TEMPLATE
from biodyn.output.report.trial_page import subject_facts
from biodyn.output.store.folder import PAPER_NAME, replace_file, replace_folder, subject_page_test
from biodyn.study.collecting.data_set_reader import iterate_subjects
from biodyn.study.collecting.data_set_reader import read_subject_names as subjects_with_cycles
from biodyn.study.group.group_data import FOLDER_NAME, SUBJECT_CURVES_NAME, mean_covariates
from biodyn.study.group.statistics.session_means import NAME as SESSION_MEANS
from biodyn.study.group.statistics.session_means import SCORE
from biodyn.study.group.subject_cycles import (
    CYCLE_VALUES,
    SubjectCycles,
    mean_curves,
    representative_walks,
    subject_cycles,
)
from biodyn.study.options import AnalysisOptions, recorded_options
from biodyn.study.report.aggregation import PACKAGE, CurveMeans, Findings, RunFacts, outcome_sentence, parameter_means
from biodyn.study.report.figures import (
    ComparisonView,
    NormBand,
    comparison_views,
    display_figures,
    norm_bands_from_table,
    norm_keys,
    norm_layers,
    session_scene,
    typical_walk,
    walks_scene,
)
from biodyn.study.report.report_inputs import (
    DisplayNames,
    StudySource,
    Table,
    Trial,
    iterate_rows,
    make_table,
    mean_sd_text,
    number_text,
)
from biodyn.study.trial_record import STRIDES_NAME, count_with_noun, read_strides, remove_trials
from biodyn.variables import NormCovariates, variable
from biodyn.variables.norms import read_covariates

if TYPE_CHECKING:
    from biodyn.study.session_change import SessionChange


#: Macros of the templates of a study's sections, in addition to `lamp`, `state` and `picture`.
MACROS = '{% from "study_macros.html.j2" import table, folded, sentences %}'


@dataclass(frozen=True)
class StudyPage:
    """Source of the sections of the page of a study: its folder, and results aggregated over its trials and subjects.

    Attributes:
        findings, facts: from the records of all trials. curves: means over the subjects. parameters: means of every subject.
    """

    source: StudySource
    findings: Findings
    facts: RunFacts
    curves: CurveMeans
    parameters: pd.DataFrame
    norms: tuple[NormBand, ...]
    names: DisplayNames

    @cached_property
    def options(self) -> AnalysisOptions:
        """Return the options of the group analysis."""
        return recorded_options(self.source.group["options"])

    @cached_property
    def views(self) -> list[ComparisonView]:
        """Return the comparisons of curves in the order of the page; empty if no trial has a gait cycle."""
        cells = self.curves.cells
        return list(comparison_views(cells, self.table("spm"))) if cells else []

    def table(self, name: str) -> pd.DataFrame:
        """Return a table of the group results; without columns if it was not written."""
        return self.source.table(name)

    def notes(self, *sections: str) -> list[str]:
        """Return the notes of the group results on these sections, with titles instead of names of variables."""
        return [self.names.replace_identifiers(note) for note in self.source.notes(*sections)]

    def context(self) -> Data:
        """Return the values that the templates of all sections use, by name."""
        return {"figures": {}, "notes": self.notes}


#: The sections of a study's page.
STUDY_SECTIONS: Sections[StudyPage] = Sections("biodyn.study.report.sections", (PACKAGE,), MACROS, "study_")


def render_study_page(page: StudyPage) -> str:
    """Return the page of the whole study as HTML."""
    name, line = page.source.record["name"], outcome_sentence(page.source.trials)
    facts, sections = study_facts(page), STUDY_SECTIONS.fill(page)
    return _render_frame(page.source, f"{name} – study report", name, line, facts, sections)


def _render_frame(
    source: StudySource, title: str, heading: str, line: str, facts: Sequence[Fact], sections: Sequence[Section]
) -> str:
    """Return a page as HTML: head with title and facts, then the sections; `line`: outcome in the head, "" = none."""
    frame = Frame(
        title=title,
        heading=heading,
        line=line,
        outcome=bool(line),
        facts=facts,
        program=source.record["program"],
        foot="This page needs no network; links lead to the results of the trials.",
        up=("", "") if line else ("../report.html", source.record["name"]),
        style=load_resource("study.css", PACKAGE),
        script=load_resource("sorting.js", PACKAGE),
    )
    return str(apply_side_colors(render_page(frame, sections), source.report_setting("colors")))


def study_facts(page: StudyPage) -> list[Fact]:
    """Return the facts in the head of the page of a study."""
    rows = [Fact("Subjects", str(len(page.source.subjects))), *_label_facts(page.source.trials)]
    cycles = len(page.table("cycles"))
    return [*rows, Fact("Cycles", f"{cycles:,}")] if cycles else rows


def _label_facts(trials: Sequence[Trial]) -> list[Fact]:
    """Return the number of analysed trials, and their groups, conditions and sessions."""
    facts = [Fact("Trials", f"{sum(trial.has_result for trial in trials)} of {len(trials)} analysed")]
    for name in ("group", "condition", "session"):
        labels = list(dict.fromkeys(filter(None, (getattr(trial, name) for trial in trials))))
        if labels:
            facts.append(Fact(f"{name.capitalize()}{'s' if len(labels) > 1 else ''}", ", ".join(labels)))
    return facts


@dataclass(frozen=True)
class SubjectPage:
    """Source of the sections of the page of a subject.

    Attributes:
        data: cycles of the subject, None if no trial has any.
        tables: rows of the subject in the tables cycles, symmetry and gait_scores of OUT/group, and means of the parameters.
        source: the study's folder. base: relative path from the page to this folder. reports: trials with a report.
        score_notes: sentences on the reference of the scores.
        norm_covariates: properties of the person, which determine the norms; norm_setting: setting [analysis] norms.
        means, mean_notes: session_means.csv of a study of one person, and its notes.
        scene: data of the 3-D view of the walks of a session; None without a view.
    """

    subject: str
    trials: Sequence[Trial]
    data: SubjectCycles | None
    tables: Mapping[str, pd.DataFrame]
    norms: Sequence[NormBand]
    names: DisplayNames
    source: StudySource
    base: str = "../"
    reports: frozenset[str] = frozenset()
    score_notes: Sequence[str] = ()
    norm_covariates: NormCovariates | None = None
    norm_setting: str = "auto"
    means: pd.DataFrame = field(default_factory=pd.DataFrame)
    mean_notes: Sequence[str] = ()
    scene: Mapping[str, Any] | None = None

    @cached_property
    def representative_names(self) -> frozenset[str]:
        """Return the names of the representative walks, one for each session and condition."""
        warned = [trial.trial for trial in self.trials if trial.status != "pass"]
        return frozenset(representative_walks(self.tables["cycles"], warned).values())

    def context(self) -> Data:
        """Return the values that the templates of all sections use, by name."""
        return {"figures": {}, "base": self.base}


#: The sections of a subject's page.
SUBJECT_SECTIONS: Sections[SubjectPage] = Sections("biodyn.study.report.sections", (PACKAGE,), MACROS, "subject_")


def render_subject_page(page: SubjectPage) -> str:
    """Return the page of a subject as HTML."""
    title = f"{page.subject} – {page.source.record['name']}"
    return _render_frame(page.source, title, page.subject, "", trial_facts(page.trials), SUBJECT_SECTIONS.fill(page))


def trial_facts(trials: Sequence[Trial]) -> list[Fact]:
    """Return the facts in the head of the page of a subject."""
    facts_shown = _label_facts(trials)
    done = [trial for trial in trials if trial.has_result]
    for label, name, form in (
        ("Body mass", "subject_mass_kg", "{:.1f} kg"),
        ("Body height", "subject_height_m", "{:.2f} m"),
    ):
        values = list(
            dict.fromkeys(form.format(trial.metric(name)) for trial in done if np.isfinite(trial.metric(name)))
        )
        facts_shown += [Fact(label, ", ".join(values))] if values else []
    speed = np.array([trial.metric("speed_m_s") for trial in done])
    known = speed[np.isfinite(speed)]
    if len(known):
        spread = known.std(ddof=1) if len(known) > 1 else np.nan
        facts_shown.append(Fact("Walking speed", f"{mean_sd_text(known.mean(), spread, '')} m/s"))
    return facts_shown


_OF_STUDY = ("warnings", "repeatability", "left-out", "methods", "files")


def render_session_page(page: StudyPage, person: SubjectPage) -> str:
    """Return the page of a session as HTML."""
    name, sections = page.source.record["name"], [*SUBJECT_SECTIONS.fill(person), *STUDY_SECTIONS.fill(page, _OF_STUDY)]
    head = session_facts(page, person)
    return _render_frame(page.source, f"{name} – session report", name, session_outcome(person), head, sections)


def session_facts(page: StudyPage, person: SubjectPage) -> list[Fact]:
    """Return the subject record of the first analysed walk, and the facts of the walks."""
    done = [trial for trial in person.trials if trial.has_result]
    subject = subject_facts(page.source.run_record(done[0])) if done else []
    labels = {fact.label for fact in subject}
    return [*subject, *(fact for fact in trial_facts(person.trials) if fact.label not in labels)]


def session_outcome(person: SubjectPage) -> str:
    """Return a sentence with the number of walks and how many have each outcome."""
    counts = {word: sum(trial.status == status for trial in person.trials) for status, word in STATUS_WORDS.items()}
    words = [f"{count} {word}" for word, count in counts.items() if count]
    failed = sum(not trial.has_result for trial in person.trials)
    words += [f"{failed} without result"] if failed else []
    count = len(person.trials)
    return f"{count_with_noun(count, 'walk')}: {', '.join(words)}."


_TABLE = (
    MACROS
    + """{{ sentences(notes) }}{{ table(rows, rows.rows | length > 30) }}
<p class="small quiet">MDC95: smallest change between the two means that exceeds the variation between the walks
(Student's t). Bold: larger changes.</p>"""
)


def render_change_page(change: SessionChange) -> str:
    """Return the page of the change between two sessions as HTML."""
    scores = change.table[change.table["kind"] == SCORE]
    scores = scores.sort_values("name", key=lambda names: names != "gps", kind="stable")  # the summary first
    others = change.table[change.table["kind"] != SCORE]
    before, after = change.names
    sections = [
        _table_section("scores", "Gait scores", "Scores", scores, change.notes),
        *_curve_and_scene_sections(change),
        _table_section("parameters", "Parameters", "Parameters", others),
    ]
    head = [Fact("Before", before), Fact("After", after)]
    return _render_frame(
        change.after, f"{before} and {after} – change", f"{before} → {after}", _change_summary(change), head, sections
    )


def _table_section(name: str, title: str, link: str, rows: pd.DataFrame, notes: Sequence[str] = ()) -> Section:
    return render_section(name, title, _TABLE, link=link, packages=(PACKAGE,), rows=changes_table(rows), notes=notes)


def _change_summary(change: SessionChange) -> str:
    known = change.table[change.table["beyond_mdc95"] != ""]
    beyond = int((known["beyond_mdc95"] == "yes").sum())
    return f"{beyond} of {len(known)} numbers changed by more than MDC95."


def changes_table(changes: pd.DataFrame) -> Table:
    """Return values before and after, change, and minimal detectable change; bold if the change is larger."""
    rows: list[tuple[str, ...]] = []
    strong: list[int] = []
    for r in iterate_rows(changes):
        if r.beyond_mdc95 == "yes":
            strong.append(len(rows))
        rows.append(
            (r.title, r.condition, SIDE_NAMES.get(r.side, r.side), unit_label(r.unit), number_text(r.before, r.unit),
             number_text(r.after, r.unit), number_text(r.change, r.unit),
             number_text(r.mdc95, r.unit), number_text(r.published, r.unit))
        )  # fmt: skip
    heads = ("number", "condition", "side", "unit", "#before", "#after", "#change", "#MDC95", "#important (published)")
    return make_table(heads, rows, strong)


def _curve_and_scene_sections(change: SessionChange) -> Iterator[Section]:
    """Yield a 3-D view with one walk of each session, and the curves of both sessions, if available."""
    walks = [
        (name, source, typical_walk(source))
        for name, source in zip(change.names, (change.before, change.after), strict=True)
    ]
    scene = walks_scene([(name, source, walk) for name, source, walk in walks if walk is not None], 2 * MOST_BYTES)
    if scene is not None:
        yield render_section("scene", "Before and after in 3-D", SCENE_TEMPLATE, link="3-D", css="scene", **scene)
    cycles = [] if scene is None else scene["scene"]["persons"][0]["cycles"]
    norms = norm_bands_from_table(change.after.table("normative_bands"))
    curves = paired_curve_values(
        change.names,
        (read_session_means(change.before), read_session_means(change.after)),
        cycles,
        lambda name: norm_layers(norms, name),
        norm_keys(norms, standard_page_variables()),
    )
    if curves is not None:
        yield render_section("curves", "Curves over the gait cycle", CURVES_TEMPLATE, link="Curves", **curves)


def read_session_means(source: StudySource) -> Means:
    """Return mean and SD over the cycles of the first condition by variable and side, in the clinical sign."""
    frame = pd.read_parquet(source.out / FOLDER_NAME / SUBJECT_CURVES_NAME)
    curves: dict[str, dict[str, MeanCurve]] = {}
    for (name, side), rows in frame.groupby(["variable", "side"], sort=False, observed=True):
        first = rows.iloc[:CYCLE_POINTS]
        sign = variable(str(name)).clinical_factor(str(side))
        mean, sd = sign * first["mean"].to_numpy(float), first["sd"].to_numpy(float)
        curves.setdefault(str(name), {})[str(side)] = MeanCurve(mean, sd, str(first["unit"].iloc[0]))
    return curves


REPORT_NAME, SUBJECTS_NAME = "report.html", "subjects"


def write_study_report(out: Path, paper: Letterhead | None = None) -> Path:
    """Write OUT/report.html and OUT/subjects/<subject>.html from the results in OUT; return the path of report.html.

    The report of a session is the page of its person. `paper`: letterhead of OUT/report.pdf; without one no PDF is written,
    and the PDF of an earlier report is removed, because its numbers may differ from the page.

    Equal results give equal pages. Older pages are kept until the new ones are complete.

    Raises StudyError if OUT has no finished study, ResultError for a report.pdf that biodyn did not write.
    """
    from biodyn.study.report.pdf_reports import session_pdf, study_pdf  # which import this module

    source = StudySource(Path(out))
    pdf_path = source.out / PAPER_NAME
    if paper is not None and pdf_path.exists() and not is_biodyn_pdf(pdf_path):
        raise ResultError(f"'{pdf_path}' was not written by biodyn and is not replaced.", "Move it to another folder.")
    page = _collect_page_data(source)
    if source.is_single_session:
        people = list(_iterate_subject_pages(page))
        text = render_session_page(page, people[0])
        pages = None if paper is None else session_pdf(page, people[0], paper)
    else:
        with replace_folder(source.out / SUBJECTS_NAME, subject_page_test) as folder:
            for person in _iterate_subject_pages(page):
                (folder / f"{person.subject}.html").write_text(render_subject_page(person), encoding="utf-8")
        text = render_study_page(page)
        pages = None if paper is None else study_pdf(page, paper)
    if pages is not None:
        replace_file(pdf_path, pages)
    elif is_biodyn_pdf(pdf_path):
        pdf_path.unlink()
    replace_file(source.out / REPORT_NAME, text.encode())
    return source.out / REPORT_NAME


def _collect_page_data(source: StudySource) -> StudyPage:
    findings, facts = Findings(), RunFacts()
    for trial in source.trials:
        if trial.has_result:
            record = source.run_record(trial)
            findings.add(trial, record)
            facts.add(trial, record)
    options = source.group["options"]
    parameters = parameter_means(
        source.out / "group" / "parameters.csv", source.table("cycles"), options["outliers"] == "leave_out"
    )
    variables = [str(name) for figure in display_figures() for name in figure["panels"]] + standard_page_variables()
    names = DisplayNames({entry["name"]: (entry["title"], entry["unit"]) for entry in source.group["parameters"]})
    curves = CurveMeans(tuple(dict.fromkeys(variables)))
    norms = norm_bands_from_table(source.table("normative_bands"))
    return StudyPage(source, findings, facts, curves, parameters, norms, names)


def _iterate_subject_pages(page: StudyPage) -> Iterator[SubjectPage]:
    """Yield the page of each subject in order, and add the subject to the group means."""
    source = page.source
    rows = {name: _rows_by_subject(page.table(name)) for name in ("cycles", "symmetry", "gait_scores")}
    rows["parameters"] = _rows_by_subject(page.parameters)
    leave_out = source.group["options"]["outliers"] == "leave_out"
    notes = page.notes("gait_scores")
    with_cycles, frames = set(subjects_with_cycles(source.out)), iterate_subjects(source.out, CYCLE_VALUES)
    for subject, trials in source.subjects.items():
        tables = {name: rows_of_subject(subject) for name, rows_of_subject in rows.items()}
        data = cycles_with_strides(source, next(frames)) if subject in with_cycles else None
        if data is not None:
            if data.subject != subject:
                raise ResultError(
                    f"The data set and the summary have different orders: '{data.subject}', '{subject}'.",
                    "Run the study again: trials that are done are kept.",
                )
            odd = cycle_flags(data, tables["cycles"], "outlier") if leave_out else None
            page.curves.add(data, mean_curves(data, odd))
        # from an edited summary; the path could be outside the folder
        if subject.startswith(".") or set(subject) & set("/\\\0"):
            raise ResultError(
                f"'{subject}' is not a valid subject name.", "Run the study again: trials that are done are kept."
            )
        reports = frozenset(trial.trial for trial in trials if (source.out / trial.folder / REPORT_NAME).is_file())
        base = "" if source.is_single_session else "../"
        yield SubjectPage(
            subject, trials, data, tables, page.norms, page.names, source, base, reports, notes,
            norm_covariates=_mean_covariates(source, trials), norm_setting=str(source.group["options"]["norms"]),
            means=page.table(SESSION_MEANS), mean_notes=source.notes(SESSION_MEANS),
            scene=session_scene(source, trials) if source.is_single_session else None,
        )  # fmt: skip


def _mean_covariates(source: StudySource, trials: Sequence[Trial]) -> NormCovariates | None:
    """Return the mean properties of a person over the walks that are in the group results; None if there are none."""
    counted = [trial for trial in trials if trial.has_result and not trial.excluded]
    return mean_covariates([read_covariates(source.run_record(trial), trial.metric("speed_m_s")) for trial in counted])


def cycles_with_strides(source: StudySource, frame: pd.DataFrame) -> SubjectCycles | None:
    """Return those cycles of a subject that are in the group results, with their stride parameters; None if there are none."""
    excluded = [trial.trial for trial in source.subjects[str(frame["subject"].iloc[0])] if trial.excluded]
    frame = remove_trials(frame, excluded)
    if not len(frame):
        return None
    data = subject_cycles(frame)
    strides = {
        (trial.trial, side, cycle): values
        for trial in source.subjects[data.subject]
        if trial.has_result
        for (side, cycle), values in read_strides(source.out / trial.folder / STRIDES_NAME).items()
    }
    return data.with_strides(strides)


def _rows_by_subject(table: pd.DataFrame) -> Callable[[str], pd.DataFrame]:
    places = table.groupby("subject", sort=False).indices if len(table) else {}
    return lambda subject: table.iloc[places[subject]] if subject in places else table.iloc[:0]


def cycle_flags(data: SubjectCycles, table: pd.DataFrame, name: str) -> BoolArray:
    """Return the values (N,) of a Boolean column of cycles.csv for the N cycles of a subject."""
    rows = table[table[name]] if len(table) else table
    marked = {(r.trial, int(r.cycle), r.side) for r in iterate_rows(rows)}
    keys = zip(data.cycles["trial"], data.cycles["cycle"], data.cycles["side"], strict=True)
    return np.array([(trial, int(cycle), side) in marked for trial, cycle, side in keys], dtype=bool)
