"""Results of a study: curves with their tests, parameters and comparisons, gait scores, outliers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
from markupsafe import Markup

from biodyn.conventions import SIDES
from biodyn.output.figures.curves import unit_words
from biodyn.output.figures.svg import svg
from biodyn.output.report.page import Data
from biodyn.study.group.registry import MEAN_OF_SIDES
from biodyn.study.group.statistics.gait_scores import score_variables
from biodyn.study.report.aggregate import Cell, over_subjects
from biodyn.study.report.figures import (
    TEST_KEY,
    View,
    cell_words,
    display_figures,
    group_figure,
    profile_figure,
    test_letters,
)
from biodyn.study.report.pages import STUDY_SECTIONS, StudyPage
from biodyn.study.report.source import (
    MISSING,
    Names,
    Table,
    TitledTable,
    Value,
    level_words,
    link,
    number,
    parts_of,
    probability,
    rows_of,
    side_words,
    spread,
    subject_link,
    table,
    versus,
)
from biodyn.variables import variable

_TEMPLATE = """
{{ sentences(notes("group_curves")) }}
{{ sentences(notes("spm")) }}
{% if more %}<p class="small">{{ more }} more comparisons are not drawn: group/group_curves.csv, group/spm_curves.csv.</p>{% endif %}
{% for view in views %}
{% if views | length > 1 %}<details{{ " open" if loop.first }}><summary><b>{{ view.title }}</b></summary>{% endif %}
{% for line in view.tests %}<p class="small">{{ line }}</p>{% endfor %}
{% for title, name in view.shown %}<h3>{{ title }}</h3>{{ picture(name) }}{% endfor %}
{% if view.clusters %}<h3>Significant clusters (SPM)</h3>{{ table(view.clusters, view.clusters.rows | length > 30) }}
<p class="small quiet">Bold: also after correction over all curves. A dark bar below a panel marks a part of the cycle in which the statistic exceeds its threshold; signs as in the figures; the effect is a difference, or a slope.</p>{% endif %}
{% if views | length > 1 %}</details>{% endif %}
{% endfor %}
"""


@STUDY_SECTIONS.section(
    "curves", place=60, title="Curves over the gait cycle", link="Curves", css="new-page", template=_TEMPLATE
)
def curves(page: StudyPage) -> Data | None:
    """Return figures, tests and clusters of every comparison, or None."""
    max_views = 8  # comparisons drawn; more are in the tables
    if not page.views:
        return None
    figures: dict[str, Markup] = {}
    drawn: list[dict[str, Any]] = []
    for number_of_view, view in enumerate(page.views[:max_views]):
        view_figures = {f"{number_of_view} {title}": (title, figure) for title, figure in _figures(page, view)}
        figures |= {name: figure for name, (_, figure) in view_figures.items()}
        drawn.append(
            {
                "title": view.title,
                "shown": [(title, name) for name, (title, _) in view_figures.items()],
                "tests": [page.names.spoken(line) for line in test_lines(view)],
                "clusters": cluster_table(view, page.names, page.options.alpha),
            }
        )
    return {"views": drawn, "more": max(len(page.views) - max_views, 0), "figures": figures}


def _figures(page: StudyPage, view: View) -> list[tuple[str, Markup]]:
    return [
        (
            str(entry["title"]),
            svg(group_figure(page.curves, view, entry["panels"], page.norms, f"{entry['title']}, {view.title}")),
        )
        for entry in display_figures()
        if any(name in page.curves.units for name in entry["panels"])
    ]


def cluster_table(view: View, names: Names, alpha: float) -> Table:
    """The supra-threshold parts of the curves of a view; signs as in the figures."""
    tests = view.tests
    if not len(tests):
        return table((), ())
    letters = test_letters(tests)
    rows: list[tuple[Value, ...]] = []
    strong: list[int] = []
    for r in rows_of(tests[tests["start_percent"].notna()]):
        # differences and slopes have a direction, F has none
        sign = 1.0 if "anova" in r.family else variable(r.variable).clinical(SIDES[0])
        if r.p_adjusted < alpha:
            strong.append(len(rows))
        rows.append((
            letters[tuple(getattr(r, name) for name in TEST_KEY)], names.title(r.variable),
            "" if r.side == MEAN_OF_SIDES else side_words(r.side), f"{r.start_percent:.0f} to {r.end_percent:.0f}",
            probability(r.p_cluster), probability(r.p_adjusted), number(sign * r.mean_effect, r.unit), unit_words(r.unit),
            number(sign * r.peak), number(r.threshold), f"{r.subjects:.0f}",
        ))  # fmt: skip
    heads = ("test", "variable", "side", "#% of the cycle", "#p", "#p of the curve, corrected", "#mean effect there",
             "unit", "#peak statistic", "#threshold", "#n")  # fmt: skip
    return table(heads, rows, strong)


def test_lines(view: View) -> list[str]:
    """What each row below the panels compares, and how many curves differ in it."""
    if not len(view.tests):
        return []
    rows_shown = []
    letters = test_letters(view.tests)
    for key, rows in parts_of(view.tests, *TEST_KEY):
        _, within, comparison, side = key
        curves = rows["variable"].nunique()
        beyond = rows[rows["start_percent"].notna()]["variable"].nunique()
        first = rows.iloc[0]
        where = f" in {within}" if within and first["factor"] == "predictor" else ""
        sides = "" if side == MEAN_OF_SIDES else f", {side_words(side)} side"
        rows_shown.append(
            f"{letters[key]}: {versus(comparison)}{where}{sides} ({first['test']}, n {first['subjects']:.0f}): "
            f"{beyond} of {curves} curves beyond the threshold."
        )
    return rows_shown


_PARAMETERS_TEMPLATE = """
{{ sentences(notes("parameters")) }}
{% if main %}{{ table(main) }}{% endif %}
<p class="small quiet">Mean ± standard deviation between subjects (number of subjects). Definitions: docs/studies.md and group/group.json.</p>
{% if rest %}{{ folded("All other parameters", rest) }}{% endif %}
<h3>Comparisons</h3>
{% set unsaid = notes("comparisons") | reject("in", notes("spm")) | list %}{# what the curves have not said already #}
{{ sentences(unsaid if unsaid or comparisons else notes("comparisons")) }}
{% for title, rows in comparisons %}{{ folded(title, rows, loop.first) }}{% endfor %}
{% if comparisons %}<p class="small quiet">Bold: p corrected below {{ "%g" % alpha }}. Difference: second minus first.</p>{% endif %}
"""


@STUDY_SECTIONS.section(
    "parameters",
    place=70,
    title="Discrete parameters",
    link="Parameters",
    css="new-page",
    template=_PARAMETERS_TEMPLATE,
)
def parameters(page: StudyPage) -> Data | None:
    """Return means (compared parameters first) and comparisons, or None."""
    means, cells = over_subjects(page.parameters), page.curves.cells
    shown = [name for name in page.options.compared_parameters if name in page.names.parameters]
    rest = [name for name in page.names.parameters if name not in shown]
    tables = {
        "main": parameter_table(means, page.names, shown, cells),
        "rest": parameter_table(means, page.names, rest, cells),
    }
    if not any(tables.values()):
        return None
    alpha = page.options.alpha
    comparisons = comparison_sections(page.table("comparisons"), page.names, alpha)
    return {**tables, "comparisons": comparisons, "alpha": alpha}


def parameter_table(means: pd.DataFrame, names: Names, shown: Sequence[str], cells: Sequence[Cell]) -> Table:
    """Mean ± SD between subjects of each parameter: one column per condition and group, or a side where there is one."""
    columns = [(cell_words(cell, cells), cell, MEAN_OF_SIDES) for cell in cells]
    if len(cells) == 1:
        columns = [(side_words(side), cells[0], side) for side in (*SIDES, MEAN_OF_SIDES)]
    statistics = {
        (row.parameter, row.condition, row.group, row.side): row for row in rows_of(means) if row.parameter in shown
    }
    rows = []
    for name in shown:
        title, of = names.parameters.get(name, (name, ""))
        values = [statistics.get((name, *cell, side)) for _, cell, side in columns]
        if not any(values):
            continue
        texts = [MISSING if v is None else f"{spread(v.mean, v.sd, of)} ({v.subjects:.0f})" for v in values]
        rows.append((title, unit_words(of), *texts))
    return table(("parameter", "unit", *(f"#{words}" for words, _, _ in columns)), rows)


def comparison_sections(comparisons: pd.DataFrame, names: Names, alpha: float) -> list[TitledTable]:
    """A table a comparison: means of both, difference with its interval, effect size, p; several levels at once: F."""
    if not len(comparisons):
        return []
    sections: list[TitledTable] = []
    for (_, within, comparison, side), rows in parts_of(comparisons, "family", "within", "comparison", "side"):
        pair = bool((rows["second"] != "").any())
        first = rows.iloc[0]
        title = f"{first['test'][:1].upper()}{first['test'][1:]}: {versus(comparison)}" + (
            f" ({within})" if within else ""
        )
        title += "" if side == MEAN_OF_SIDES else f", {side_words(side)} side"
        strong = [i for i, p in enumerate(rows["p_adjusted"]) if p < alpha]
        made = _pair_table(rows, names, strong) if pair else _several_table(rows, names, strong)
        sections.append((title, made))
    return sections


def _pair_table(rows: pd.DataFrame, names: Names, strong: Sequence[int]) -> Table:
    first = rows.iloc[0]
    heads = (
        "parameter", "unit", f"#{level_words(first['first'], 'name')}", f"#{level_words(first['second'], 'name')}",
        "#difference (interval)", f"#{_effect(first['effect_size'])}", "#p", "#p corrected", "#p of ranks", "#n",
    )  # fmt: skip
    cells = [
        (
            names.title(r.parameter), unit_words(r.unit), spread(r.first_mean, r.first_sd, r.unit),
            spread(r.second_mean, r.second_sd, r.unit), _interval(r), number(r.effect), probability(r.p),
            probability(r.p_adjusted), probability(r.rank_p), f"{r.subjects:.0f}",
        )
        for r in rows_of(rows)
    ]  # fmt: skip
    return table(heads, cells, strong)


def _interval(row: Any) -> str:
    low, high = number(row.low, row.unit), number(row.high, row.unit)
    return f"{number(row.difference, row.unit)} ({low} to {high})"


def _several_table(rows: pd.DataFrame, names: Names, strong: Sequence[int]) -> Table:
    effect = _effect(rows.iloc[0]["effect_size"])
    heads = ("parameter", "unit", "#F", "#degrees of freedom", f"#effect size ({effect})", "#p", "#p corrected",
             "#p of ranks", "#subjects")  # fmt: skip
    cells = [
        (
            names.title(r.parameter), unit_words(r.unit), number(r.statistic), f"{r.df1:g}, {r.df2:.3g}", number(r.effect),
            probability(r.p), probability(r.p_adjusted), probability(r.rank_p), f"{r.subjects:.0f}",
        )
        for r in rows_of(rows)
    ]  # fmt: skip
    return table(heads, cells, strong)


def _effect(name: object) -> str:
    return {"dz": "Cohen's dz", "g": "Hedges' g"}.get(str(name), str(name) or "none")


_SCORES_TEMPLATE = """
{{ sentences(notes("gait_scores")) }}
{% if scores %}{{ picture("profile") }}{{ folded("Scores of every subject", scores) }}{% endif %}
"""


@STUDY_SECTIONS.section(
    "scores",
    place=110,
    title="Movement Analysis Profile and Gait Profile Score",
    link="Gait scores",
    css="new-page",
    template=_SCORES_TEMPLATE,
)
def scores(page: StudyPage) -> Data | None:
    """Return the profile and the scores of every subject, or None."""
    gait_scores = page.table("gait_scores")
    if not page.views or not (len(gait_scores) or page.notes("gait_scores")):
        return None
    if not len(gait_scores):
        return {"scores": None, "link": ""}
    figures = {"profile": svg(profile_figure(gait_scores, page.curves.cells, page.names))}
    return {"scores": score_table(gait_scores, page.names), "figures": figures}


def score_table(scores: pd.DataFrame, names: Names, of_one: bool = False) -> Table:
    """Scores of every subject, or `of_one`, by session, condition and side."""
    nine = score_variables()
    labels = [*(names.title(score_variable.variable) for score_variable in nine), "GPS"]
    columns = [*(f"gvs_{score_variable.name}" for score_variable in nine), "gps"]
    rows = [
        (
            *(() if of_one else (link(subject_link(r["subject"]), r["subject"]), r["group"])), r["session"],
            r["condition"], "both" if r["side"] == "both" else side_words(r["side"]),
            *(number(r[column], "deg") for column in columns),
        )
        for r in scores.to_dict("records")
    ]  # fmt: skip
    heads = (*(() if of_one else ("subject", "group")), "session", "condition", "side")
    return table((*heads, *(f"#{label}" for label in labels)), rows)


_CYCLES_TEMPLATE = """
{{ sentences(notes("cycles")) }}
{% if outliers %}{{ table(outliers, outliers.rows | length > 30) }}{% endif %}
<p class="small quiet">The representative cycle of every subject, condition and side is drawn bold on the subject's page; all are in group/cycles.csv.</p>
"""


@STUDY_SECTIONS.section(
    "cycles", place=120, title="Representative cycles and outliers", link="Outliers", template=_CYCLES_TEMPLATE
)
def cycles(page: StudyPage) -> Data | None:
    """Return the outliers, or None."""
    outliers = outlier_table(page.table("cycles"))
    if not page.views or not (outliers or page.notes("cycles")):
        return None
    return {"outliers": outliers} if outliers else {"outliers": outliers, "link": ""}


def outlier_table(cycles: pd.DataFrame) -> Table:
    """Cycles unlike the others of their subject, the farthest first."""
    if not len(cycles):
        return table((), ())
    odd = cycles[cycles["outlier"]].assign(times=lambda t: t["distance"] / t["limit"])
    odd = odd.sort_values("times", ascending=False, kind="stable")
    rows = [
        (
            link(subject_link(r.subject), r.subject), r.session, r.condition, r.trial, side_words(r.side), f"{r.cycle:.0f}",
            f"{r.distance:.3f}", f"{r.limit:.3f}",
        )
        for r in rows_of(odd)
    ]  # fmt: skip
    heads = ("subject", "session", "condition", "trial", "side", "#cycle", "#distance to the median cycle", "#limit")
    return table(heads, rows)
