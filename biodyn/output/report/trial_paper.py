"""A trial's result on paper: person and verdict, the standard page of curves, checks and methods; four A4 pages at most."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from biodyn.conventions import SIDE_NAMES, SIDES
from biodyn.diagnostics import STATUS_WORDS
from biodyn.output.figures.curves import cycle_keys, display_table
from biodyn.output.figures.svg import standard_names
from biodyn.output.figures.trial import TrialView
from biodyn.output.report.page import Fact
from biodyn.output.report.paper import Paper, PaperHead, check_sentence, set_pages
from biodyn.output.report.sections.curves import counted_words, described
from biodyn.output.report.sections.gait import numbers_against_norms, parameter_rows
from biodyn.output.report.sections.verdict import verdict_sentence
from biodyn.output.report.trial_page import TrialPage, analysis_facts, head_facts


def trial_paper(view: TrialView, head: PaperHead | None = None) -> bytes:
    """Return the pages of a result as PDF.

    Raises ResultError where the library for it is not installed.
    """
    record, page = view.record, TrialPage(view, {})
    file = record["input"]["file"]

    def write(paper: Paper) -> bool:
        paper.page()
        _first(paper, page)
        fits = paper.count == 1
        _curves(paper, page)
        _numbers(paper, page)
        _checks(paper, page)
        paper.signature()
        return fits and paper.count <= 3 + paper.longer

    foot = f"{file} · biodyn {record['versions']['biodyn']}"
    return set_pages(f"{record['subject']['name']}, {file}", foot, head or PaperHead(), write)


def _first(paper: Paper, page: TrialPage) -> None:
    """Person, verdict with what decided it, spatio-temporal parameters, and what the numbers rest on."""
    record = page.record
    paper.laboratory()
    paper.title(record["subject"]["name"], 15.0)
    paper.facts([_labelled(fact) for fact in head_facts(page)])
    paper.title(f"Verdict: {STATUS_WORDS[record['verdict']]}", 13.0)
    paper.paragraph(verdict_sentence(record))
    paper.list([check_sentence(cause) for cause in record.get("verdict_checks") or ()])
    paper.title("Spatio-temporal parameters")
    _parameters(paper, page)
    paper.title("How it was computed")
    paper.facts([_labelled(fact) for fact in analysis_facts(page)], with_head=False)
    paper.paragraph("Methods, sources and every number: report.html, run.json and tables/ of the result.", smaller=1.0)


def _parameters(paper: Paper, page: TrialPage) -> None:
    rows = parameter_rows(page.tables["spatiotemporal"])
    if not rows:
        paper.paragraph("No gait cycle was found in this trial.")
        return
    heads = ("", "unit", *(f"#{SIDE_NAMES[side]}" for side in SIDES))
    cells = [(row["label"], row["unit"], *(_mean(row[side]) for side in SIDES)) for row in rows]
    paper.table(heads, cells, (80, 40, 30, 30))
    counts = ", ".join(f"{SIDE_NAMES[side]} {page.cycle_counts[side]}" for side in SIDES)
    paper.paragraph(f"Mean ± standard deviation over the cycles ({counts}).", smaller=1.5)


def _labelled(fact: Fact) -> tuple[str, str]:
    return fact.label, f"{fact.value} ({fact.note})" if fact.note else fact.value


def _mean(value: Mapping[str, Any] | None) -> str:
    if value is None:
        return "–"
    return f"{value['mean']} ± {value['sd']}" if value["sd"] else str(value["mean"])


def _curves(paper: Paper, page: TrialPage) -> None:
    """The standard page; without cycles the figures through time, one below the other."""
    values = page.view
    known = [name for name in standard_names() if name in page.curves]
    if known:
        shaded = " Shaded: one standard deviation of the input errors." if set(known) & set(values.bands) else ""
        normed = any(name in norms.curves for norms in values.norms for name in known)
        below = (
            f"0 and 100 %: foot strike. Thick: mean, thin: single cycles ({counted_words(page.curves)}).{shaded} Moments are "
            "internal net moments, normalised to body mass."
        )
        if not normed:
            below += f" No norms are shown behind these curves. {' '.join(values.norm_reasons)}"
        paper.curves(
            "Motion and loads over the gait cycle", known, lambda name: described(page, name),
            cycle_keys(known, values.norms), below,
        )  # fmt: skip
        return
    names = [entry["name"] for entry in display_table()["figure"]]
    figures = [page.view.figures[name] for name in names if name in page.view.figures]
    if figures:
        paper.page()
        paper.title("Angles, moments and powers through time")
    for count, figure in zip(range(len(figures), 0, -1), figures, strict=True):
        paper.figure(figure, paper.rest / count)


def _numbers(paper: Paper, page: TrialPage) -> None:
    """Numbers against norms, with which norms these are."""
    paper.page()
    rows = numbers_against_norms(page)
    values = page.view
    if not rows and not values.norms:
        return
    paper.title("Against norms")
    for reason in values.norm_reasons:
        paper.paragraph(reason)
    if rows:
        heads = ("", "unit", *(f"#{SIDE_NAMES[side]}" for side in SIDES), "#norm: mean (95 % of subjects)", "norm of")
        cells = [(row.title, row.unit_text, *map(row.text, SIDES), row.norm_text, row.source) for row in rows]
        paper.table(heads, cells, (56, 17, 17, 17, 40, 33))
        if any("↑" in text or "↓" in text for cell in cells for text in cell):
            paper.paragraph("↑ ↓: outside the range of 95 % of the subjects of the norm.", smaller=1.5)
    for group in values.norms:
        paper.paragraph(f"{group.words}: {group.citation}. Licence: {group.licence}.", smaller=1.5)


def _checks(paper: Paper, page: TrialPage) -> None:
    """Every check, and the warnings."""
    record = page.record
    paper.title("All checks")
    paper.list([check_sentence(check) for check in record["checks"]])
    warnings = [note for note in record["diagnostics"] if note["severity"] != "info"]
    if warnings:
        paper.title("Warnings")
        paper.list([f"{note['message']} {note.get('hint') or ''}" for note in warnings])
