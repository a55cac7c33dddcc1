"""Further statistics of a study (mixed models, symmetry, repeatability, tables without a section), methods and files."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from biodyn.output.figures.curves import unit_words
from biodyn.output.report.page import Data
from biodyn.study.report.aggregate import report_table, study_methods
from biodyn.study.report.pages import STUDY_SECTIONS, StudyPage
from biodyn.study.report.source import (
    MISSING,
    Names,
    Table,
    condition_words,
    number,
    parts_of,
    probability,
    rows_of,
    side_words,
    spread,
    table,
)

_TEMPLATE = """
{{ sentences(notes("mixed_models")) }}
{% if effects %}{{ folded("Effects", effects, true) }}{{ folded("Coefficients", coefficients) }}{% endif %}
"""


@STUDY_SECTIONS.section("mixed", place=80, title="Mixed models", link="Mixed models", template=_TEMPLATE)
def mixed_models(page: StudyPage) -> Data | None:
    """Return effects and coefficients, or None."""
    effects, coefficients = mixed_tables(page.table("mixed_models"), page.names, page.options.alpha)
    if not page.views or not (effects or page.notes("mixed_models")):
        return None
    tables = {"effects": effects, "coefficients": coefficients}
    return tables if effects else {**tables, "link": ""}


def mixed_tables(models: pd.DataFrame, names: Names, alpha: float) -> tuple[Table, Table]:
    """Whole effects (tests) and coefficients of the mixed models."""
    if not len(models):
        return table((), ()), table((), ())
    effects = models[models["kind"] == "effect"]
    strong = [i for i, p in enumerate(effects["p_adjusted"]) if p < alpha]
    tests = table(
        ("parameter", "effect", "#F", "#degrees of freedom", "#p", "#p corrected", "#between subjects, SD",
         "#within, SD", "unit", "#values"),
        [
            (
                names.title(r.parameter), _term(r.term), number(r.statistic), f"{r.df1:g}, {r.df2:.3g}", probability(r.p),
                probability(r.p_adjusted), number(r.subject_sd, r.unit), number(r.residual_sd, r.unit), unit_words(r.unit),
                f"{r.observations:.0f}",
            )
            for r in rows_of(effects)
        ],
        strong,
    )  # fmt: skip
    terms = table(
        ("parameter", "term", "unit", "#estimate", "#confidence interval", "#p"),
        [
            (
                names.title(r.parameter), _term(r.term), unit_words(r.unit), number(r.estimate, r.unit),
                f"{number(r.low, r.unit)} to {number(r.high, r.unit)}", probability(r.p),
            )
            for r in rows_of(models[models["kind"] != "effect"])
        ],
    )  # fmt: skip
    return tests, terms


def _term(term: str) -> str:
    return term.replace(":", " × ")


_SYMMETRY_TEMPLATE = """
{{ sentences(notes("symmetry")) }}
{% for title, rows in tables %}{{ folded(title, rows, loop.first) }}{% endfor %}
"""


@STUDY_SECTIONS.section("symmetry", place=90, title="Symmetry", link="Symmetry", template=_SYMMETRY_TEMPLATE)
def symmetry(page: StudyPage) -> Data | None:
    """Return a table of the parameters and one of the curves, or None."""
    rows, names = page.table("symmetry"), page.names
    made = [
        ("Parameters", symmetry_table(rows, names, page.options.compared_parameters, "parameter")),
        ("Curves", symmetry_table(rows, names, None, "curve")),
    ]
    tables = [entry for entry in made if entry[1]]
    if not page.views or not (tables or page.notes("symmetry")):
        return None
    return {"tables": tables} if tables else {"tables": tables, "link": ""}


def symmetry_table(symmetry: pd.DataFrame, names: Names, shown: Sequence[str] | None, kind: str) -> Table:
    """Means over subjects of the symmetry of parameters or curves, by condition and group."""
    if not len(symmetry):
        return table((), ())
    rows_of_kind = symmetry[symmetry["kind"] == kind]
    if shown is not None:
        rows_of_kind = rows_of_kind[rows_of_kind["name"].isin(shown)]
    rows = []
    condition_of = condition_words(rows_of_kind)
    for (name, condition, group), part in parts_of(rows_of_kind, "name", "condition", "group"):
        of = str(part["unit"].iloc[0])
        subject = part.groupby("subject", sort=False)[["right", "left", "difference", "symmetry_index"]].mean()
        mean, sd = subject.mean(), subject.std()
        rows.append((
            names.title(name), condition_of[condition], group, unit_words(of), spread(mean["right"], sd["right"], of),
            spread(mean["left"], sd["left"], of), spread(mean["difference"], sd["difference"], of),
            spread(mean["symmetry_index"], sd["symmetry_index"], "%"), str(len(subject)),
        ))  # fmt: skip
    difference = "#right − left" if kind == "parameter" else "#right − left, RMS over the cycle"
    heads = (kind, "condition", "group", "unit", "#right", "#left", difference, "#symmetry index (%)", "#subjects")
    return table(heads, rows)


_REPEATABILITY_TEMPLATE = """
{{ sentences(notes("repeatability")) }}
{% for title, rows in tables %}{{ folded(title, rows, loop.first) }}{% endfor %}
"""


@STUDY_SECTIONS.section(
    "repeatability", place=100, title="Repeatability", link="Repeatability", template=_REPEATABILITY_TEMPLATE
)
def repeatability(page: StudyPage) -> Data | None:
    """Return a table per level, of parameters and of curves, or None."""
    rows = page.table("repeatability")
    made = []
    for level in dict.fromkeys(rows["level"]) if len(rows) else ():
        for kind, words in (("parameter", "parameters"), ("curve", "curves")):
            shown = page.options.compared_parameters if kind == "parameter" else None
            part = repeatability_table(rows, page.names, shown, kind, level)
            made.append((f"Between {level}: {words}", part))
    tables = [entry for entry in made if entry[1]]
    if not page.views or not (tables or page.notes("repeatability")):
        return None
    return {"tables": tables} if tables else {"tables": tables, "link": ""}


def repeatability_table(
    values: pd.DataFrame, names: Names, shown: Sequence[str] | None, kind: str, level: str
) -> Table:
    """SEM, MDC, CMC and ICC of parameters or curves, within or between sessions."""
    if not len(values):
        return table((), ())
    selected = values[(values["kind"] == kind) & (values["level"] == level)]
    condition_of = condition_words(values)
    if shown is not None:
        selected = selected[selected["name"].isin(shown)]
    heads = (kind, "condition", "side", "unit", "#mean", "#SD", "#SEM", "#MDC95", "#CMC", "#ICC(2,1)", "#95 % interval",
             "#ICC(3,1)", "#subjects", "#measurements")  # fmt: skip
    rows = [
        (
            names.title(r.name), condition_of[r.condition], side_words(r.side), unit_words(r.unit), number(r.mean, r.unit),
            number(r.sd, r.unit), number(r.sem, r.unit), number(r.mdc95, r.unit), number(r.cmc), number(r.icc_2_1),
            f"{number(r.icc_2_1_low)} to {number(r.icc_2_1_high)}" if np.isfinite(r.icc_2_1) else "", number(r.icc_3_1),
            _count(r.subjects), _count(r.measurements),
        )
        for r in rows_of(selected)
    ]  # fmt: skip
    return table(heads, rows)


def _count(count: float) -> str:
    """A count."""
    return f"{count:.0f}" if np.isfinite(count) else MISSING


_FURTHER_STATISTICS_TEMPLATE = """
{% for name, title, rows in tables %}
{{ sentences(notes(name)) }}{{ folded(title, rows, rows.rows | length <= 12) }}
<p class="small quiet">All of it: <span class="mono">group/{{ name }}.csv</span></p>
{% endfor %}
"""


@STUDY_SECTIONS.section(
    "further", place=125, title="Further statistics", link="Further", template=_FURTHER_STATISTICS_TEMPLATE
)
def further_statistics(page: StudyPage) -> Data | None:
    """Return a table for each file of group/ that is not in the list of files, or None."""
    known = {entry["name"] for entry in report_table()["file"]}
    written = [str(name) for name in page.source.group.get("files", ())]
    additional = [
        name.removesuffix(".csv") for name in written if name.endswith(".csv") and f"group/{name}" not in known
    ]
    tables = [(name, page.table(name)) for name in additional]
    found = [(name, name.replace("_", " ").capitalize(), shown(frame)) for name, frame in tables if len(frame)]
    return {"tables": found} if found else None


def shown(frame: pd.DataFrame) -> Table:
    """The first rows of a table, numbers with three digits."""
    max_rows = 200  # more are in the file
    numeric = {name: pd.api.types.is_numeric_dtype(column) for name, column in frame.items()}
    heads = [f"#{name}" if numeric[name] else str(name) for name in frame]
    rows = [
        [_cell(value, numeric[name]) for name, value in zip(frame, row, strict=True)]
        for row in frame.head(max_rows).itertuples(index=False, name=None)
    ]
    return table(heads, rows)


def _cell(value: object, is_number: bool) -> str:
    if value is None or pd.isna(value):  # type: ignore[call-overload]
        return "–"
    return f"{value:.3g}" if is_number else str(value)


_METHODS_TEMPLATE = """
{% for heading, text in methods.paragraphs %}<p><b>{{ heading }}.</b> {{ text }}</p>{% endfor %}
<h3>Sources</h3>
<ol class="small">{% for reference in methods.references %}<li>{{ reference }}</li>{% endfor %}</ol>
<p class="small quiet">Versions: {% for package, version in versions.items() %}{{ package }} {{ version }}{{ ", " if not loop.last }}{% endfor %}.</p>
"""


@STUDY_SECTIONS.section(
    "methods", place=140, title="Methods", link="Methods", css="new-page", template=_METHODS_TEMPLATE
)
def methods(page: StudyPage) -> Data | None:
    """The methods as they are written from the records of the trials; None where no trial has a result."""
    written = study_methods(page.source, page.facts)
    return None if written is None else {"methods": written, "versions": page.facts.versions}


_FILES_TEMPLATE = """
<table><tbody>{% for file, text in files %}<tr><td class="mono nowrap">{{ file }}</td><td>{{ text }}</td></tr>{% endfor %}</tbody></table>
"""


@STUDY_SECTIONS.section("files", place=150, title="Files", link="Files", template=_FILES_TEMPLATE)
def files(page: StudyPage) -> Data:
    """The files that are there, explained."""
    written = ("report.html",) if page.source.one_session else ("report.html", "subjects")
    listed = []
    for entry in report_table()["file"]:
        if entry["name"] in written or (page.source.out / entry["name"]).exists():
            listed.append((entry.get("shown", entry["name"]), entry["text"]))
    return {"files": listed}


_NO_RESULTS_TEMPLATE = """
<p>No trial has a gait cycle: averages and comparisons are not possible.</p>
"""


@STUDY_SECTIONS.section("results", place=130, title="No results", template=_NO_RESULTS_TEMPLATE)
def no_results(page: StudyPage) -> Data | None:
    """None where there are curves."""
    return None if page.views else {}
