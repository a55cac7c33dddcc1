"""Write sessions and studies as PDF: the main contents of their pages with curves as vector graphics."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from biodyn.conventions import SIDES
from biodyn.output.figures.style import text_width
from biodyn.output.report.pdf_report import ARROWS, Letterhead, PdfWriter, typeset_pages
from biodyn.study.group.statistics.gait_scores import BOTH_SIDES
from biodyn.study.group.statistics.session_means import SCORE
from biodyn.study.options import load_study_table
from biodyn.study.report.aggregation import group_exclusions, group_failures, means_over_subjects, outcome_sentence
from biodyn.study.report.figures import ComparisonView, available_variables, group_keys, group_panel, profile_figure
from biodyn.study.report.pages import StudyPage, SubjectPage, session_facts, session_outcome, study_facts
from biodyn.study.report.report_inputs import Table, Trial, iterate_rows, make_table, number_text
from biodyn.study.report.sections.results import comparison_tables, parameter_table, test_lines
from biodyn.study.report.sections.subject import (
    OUTCOMES,
    condition_curves,
    norm_comparisons,
    outlier_texts,
    parameter_tables,
    representative_walk_text,
    score_profile_figure,
)

_MORE = "Methods, sources, repeatability and every number: report.html and the tables."
_PROFILE_MM = 62.0  # height of the bars of one condition, mm


def session_pdf(page: StudyPage, person: SubjectPage, head: Letterhead | None = None) -> bytes:
    """Return the PDF of a session.

    Raises ResultError if the PDF library is not installed.
    """
    curves = condition_curves(person)

    def write_pages(paper: PdfWriter) -> None:
        paper.begin_page()
        _write_subject(paper, page, person)
        for part in curves:
            below = f"0 and 100 %: foot strike. {part.cycle_counts}. Moments are internal net moments, normalised to body mass."
            title = f"Motion and loads over the gait cycle{f': {part.title}' if len(curves) > 1 else ''}"
            paper.draw_curve_grid(title, part.standard_variables, part.describe_panel, part.legend_keys, below)
        paper.begin_page()
        _write_scores(paper, person)
        _write_findings(paper, page)
        _write_parameters(paper, person)
        paper.write_paragraph(_MORE, smaller=1.0)

    return _typeset_study(page, head, write_pages)


def _typeset_study(page: StudyPage, head: Letterhead | None, write: Callable[[PdfWriter], None]) -> bytes:
    """Return the PDF of a session or study, with its name in the title and footer."""
    name, program = str(page.source.record["name"]), page.source.record["program"]
    colors = page.source.report_setting("colors")
    return typeset_pages(name, f"{name} · biodyn {program}", head or Letterhead(), write, colors)


def _write_subject(paper: PdfWriter, page: StudyPage, person: SubjectPage) -> None:
    """Write subject, outcomes of the walks, stride parameters, and numbers relative to norms."""
    paper.write_letterhead()
    paper.write_title(str(page.source.record["name"]), 15.0)
    paper.write_facts([replace(fact, note="") for fact in session_facts(page, person)])
    paper.write_title(session_outcome(person), 12.0)
    heads = ("walk", "condition", "outcome", "why", "#speed (m/s)", "#cycles R, L")
    walks = [_walk_row(trial, trial.trial in person.representative_names) for trial in person.trials]
    _write_table(paper, make_table(heads, walks))
    paper.write_paragraph(representative_walk_text(person), smaller=1.5)
    means = person.tables["parameters"]
    for title, rows in parameter_tables(means[_is_stride_parameter(means)], person.names, person.means):
        paper.write_title(_heading("Time and distance", title))
        _write_table(paper, rows)
    paper.write_paragraph("Mean ± standard deviation over the cycles (number of cycles).", smaller=1.5)
    for part in norm_comparisons(person):
        paper.write_title(_heading("Against norms", part["title"]))
        paper.write_paragraph(" ".join(part["reasons"]), smaller=1.0)
        if part["sources"]:
            _write_table(paper, replace(part["rows"], rows=tuple(row for row in part["rows"].rows if row[-1])))
            paper.write_paragraph(ARROWS, smaller=1.5)
        for source in part["sources"]:
            paper.write_paragraph(source, smaller=2.5)
    paper.draw_signature_line()


def _is_stride_parameter(means: pd.DataFrame) -> pd.Series:
    """Return a mask of the rows with times, distances and other stride parameters."""
    strides = [
        definition["name"]
        for definition in load_study_table("parameters")["parameter"]
        if definition["operation"] == "stride"
    ]
    return means["parameter"].isin(strides)


def _heading(words: str, part: str) -> str:
    """Return a heading with the session and condition `part` appended if there are several."""
    return words if part == "All cycles" else f"{words}: {part}"


def _walk_row(trial: Trial, typical: bool) -> tuple[str, ...]:
    why = trial.reason or trial.metrics.get("checks_failed") or trial.metrics.get("checks_warn") or ""
    if trial.excluded:
        why = f"{why} Excluded from group results: {trial.excluded}.".strip()
    counts = [str(trial.metrics.get(f"cycles_{side}", 0)) for side in ("right", "left")]
    cycles = ", ".join(counts) if trial.has_result else "–"
    name = f"{trial.trial} (representative)" if typical else trial.trial
    outcome, speed = OUTCOMES.get(trial.status, trial.status), number_text(trial.metric("speed_m_s"))
    return name, trial.session_and_condition, outcome, why, speed, cycles


def _write_scores(paper: PdfWriter, person: SubjectPage) -> None:
    """Write the gait profile of a person as bars, and tables of the gait scores with SEM and MDC95."""
    if not len(person.tables["gait_scores"]):
        return
    paper.write_title("Movement Analysis Profile and Gait Profile Score")
    figure = score_profile_figure(person)
    paper.draw_figure(figure, _PROFILE_MM * len(figure.panels))
    for condition, score_rows in _score_tables(person.means):
        if condition:
            paper.write_paragraph(condition, bold=True)
        _write_table(paper, score_rows)
    for note in (*person.score_notes, *person.mean_notes):
        paper.write_paragraph(note, smaller=1.5)


def _score_tables(means: pd.DataFrame) -> Iterator[tuple[str, Table]]:
    """Yield one table per condition: scores of both sides with SEM and MDC95."""
    scores = means[means["kind"] == SCORE] if len(means) else means
    for condition in dict.fromkeys(scores["condition"]) if len(scores) else ():
        by_name = {(r.name, r.side): r for r in iterate_rows(scores[scores["condition"] == condition])}
        titles = {r.name: r.title for r in by_name.values()}
        rows = [
            (title, *(cell for side in (*SIDES, BOTH_SIDES) for cell in _score_cells(by_name.get((name, side)))))
            for name, title in titles.items()
        ]
        heads = [f"#{words}" for side in ("right", "left", "both") for words in (side, "SEM", "MDC95")]
        yield condition, Table(("score (degrees or points)", *heads), tuple(rows))


def _score_cells(row: object) -> tuple[str, str, str]:
    if row is None:
        return "", "", ""
    return number_text(row.mean, "deg"), number_text(row.sem), number_text(row.mdc95)  # type: ignore[attr-defined]


def _write_findings(paper: PdfWriter, page: StudyPage) -> None:
    """Write the findings of the checks with an example, and the findings of the whole study."""
    findings = page.findings.with_severity("error", "warning")
    paper.write_title("Findings" if findings else "All checks passed in all trials with results.")
    several = len(page.source.trials) > 1
    paper.write_list(
        [
            f"{finding.title}{f' ({finding.count} of {len(page.source.trials)} trials)' if several else ''}: "
            f"{finding.example} {finding.hint}"
            for finding in findings
        ]
    )
    doubts = [
        f"{page.names.replace_identifiers(finding['message'])} {finding['hint']}"
        for finding in page.source.record["diagnostics"]
    ]
    if doubts:
        paper.write_title("About all trials together")
        paper.write_list(doubts)


def _write_parameters(paper: PdfWriter, person: SubjectPage) -> None:
    """Write all parameters that are not on the first page, and the outliers."""
    if len(person.tables["cycles"]) and (odd := outlier_texts(person.tables["cycles"])):
        paper.write_title("Outlier cycles")
        paper.write_list(odd)
    means = person.tables["parameters"]
    for title, rows in parameter_tables(means[~_is_stride_parameter(means)], person.names, person.means):
        paper.write_title(_heading("Parameters", title))
        _write_table(paper, rows)


def study_pdf(page: StudyPage, head: Letterhead | None = None) -> bytes:
    """Return the PDF of a study: outcome and failures, parameters and scores, group curves.

    Raises ResultError if the PDF library is not installed.
    """

    def write_pages(paper: PdfWriter) -> None:
        paper.begin_page()
        paper.write_letterhead()
        paper.write_title(str(page.source.record["name"]), 15.0)
        paper.write_facts(study_facts(page))
        paper.write_title(outcome_sentence(page.source.trials), 12.0)
        _write_missing_trials(paper, page)
        _write_findings(paper, page)
        _write_group_numbers(paper, page)
        paper.write_paragraph(_MORE, smaller=1.0)
        paper.draw_signature_line()
        for view in page.views[:1]:
            _write_group_curves(paper, page, view)

    return _typeset_study(page, head, write_pages)


def _write_missing_trials(paper: PdfWriter, page: StudyPage) -> None:
    """Write the trials without a result and those excluded from group results."""
    trials = page.source.trials
    for title, groups in (
        ("Trials without a result", group_failures(trials)),
        ("Not in the group results", group_exclusions(trials)),
    ):
        if groups:
            paper.write_title(title)
            paper.write_list([f"{len(group.trials)}: {group.title} {group.hint}" for group in groups])


def _write_group_curves(paper: PdfWriter, page: StudyPage, view: ComparisonView) -> None:
    """Write the standard page of the group: mean and SD between subjects."""
    known = available_variables(page.curves, view, list(page.curves.units))
    below = " ".join(
        [
            "0 and 100 %: foot strike. Moments are internal net moments, normalised to body mass.",
            *map(page.names.replace_identifiers, test_lines(view)),
        ]
    )
    more = len(page.views) - 1
    if more:
        below += f" {more} more comparisons: report.html."
    paper.draw_curve_grid(
        f"Group curves over the gait cycle{f': {view.title}' if view.title else ''}",
        known,
        lambda name: (group_panel(page.curves, view, name, page.norms), ""),
        group_keys(page.curves, view, known, page.norms),
        below,
    )


def _write_group_numbers(paper: PdfWriter, page: StudyPage) -> None:
    """Write parameters, comparisons and scores of the group."""
    cells = page.curves.cells
    shown = [name for name in page.options.compared_parameters if name in page.names.parameters]
    numbers = parameter_table(means_over_subjects(page.parameters), page.names, shown, cells)
    if numbers:
        paper.write_title("Discrete parameters")
        _write_table(paper, numbers)
        paper.write_paragraph("Mean ± standard deviation between subjects (number of subjects).", smaller=1.5)
    compared = comparison_tables(page.table("comparisons"), page.names, page.options.alpha)
    for title, rows in compared:
        paper.write_title(title)
        _write_table(paper, rows)
    if compared:
        paper.write_paragraph(
            f"*: p corrected below {page.options.alpha:g}. Difference: second minus first.", smaller=1.5
        )
    scores = page.table("gait_scores")
    if len(scores):
        paper.write_title("Movement Analysis Profile and Gait Profile Score")
        figure = profile_figure(scores, cells, page.names)
        paper.draw_figure(figure, _PROFILE_MM * len(figure.panels))
        for note in page.notes("gait_scores"):
            paper.write_paragraph(note, smaller=1.5)


def _write_table(paper: PdfWriter, content: Table) -> None:
    """Write a table of the page; rows that are bold on the page have a star."""
    if content:
        rows = [
            (f"{row[0]} *", *row[1:]) if number in content.strong else row for number, row in enumerate(content.rows)
        ]
        paper.write_table(content.heads, rows, _column_widths(content, paper.width_in_letters))


def _column_widths(content: Table, room: float) -> Sequence[float]:
    """Return the widths of the columns for their texts, in font sizes; the widest is reduced until all fit into `room`."""
    padding, least, most = 0.6, 10.0, 25.0
    words = [max(head.removeprefix("#").split(), key=len, default="") for head in content.heads]
    widths = [
        min(max(text_width(word, 1.0, True), *(text_width(str(cell), 1.0) for cell in cells)), most) + padding
        for word, *cells in zip(words, *content.rows, strict=True)
    ]
    excess = max(sum(widths) - room, 0.0)
    widths[np.argmax(widths)] = max(max(widths) - excess, least)
    return widths
