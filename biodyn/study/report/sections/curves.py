"""Mean curves over the cycle of every comparison, and where they differ."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from biodyn.conventions import SIDES
from biodyn.output.figures.svg import svg
from biodyn.output.report.page import Data
from biodyn.study.report.curve_figures import TEST_KEY, View, display_figures, group_figure, test_letters
from biodyn.study.report.means import BOTH
from biodyn.study.report.source import parts_of, rows_of
from biodyn.study.report.study_page import SECTIONS, StudyPage
from biodyn.study.report.table import Table, Value, table
from biodyn.study.report.words import Names, number, probability, side_words, unit, versus
from biodyn.variables import variable

_MOST_VIEWS = 8  # comparisons drawn; more are in the tables
_TEMPLATE = """
{{ sentences(notes("group_curves")) }}
{{ sentences(notes("spm")) }}
{% if more %}<p class="small">{{ more }} more comparisons are not drawn: group/group_curves.csv, group/spm_curves.csv.</p>{% endif %}
{% for view in views %}
{% if views | length > 1 %}<details{{ " open" if loop.first }}><summary><b>{{ view.title }}</b></summary>{% endif %}
{% for line in view.tests %}<p class="small">{{ line }}</p>{% endfor %}
{% for title, name in view.shown %}<h3>{{ title }}</h3>{{ picture(name) }}{% endfor %}
{% if view.clusters %}<h3>Significant clusters (SPM)</h3>{{ table(view.clusters, view.clusters.rows | length > 30) }}
<p class="small quiet">Bold: also after correction over all curves. A dark bar below a panel marks a part of the cycle in which the statistic exceeds its threshold; signs are those of the figures; the effect is a difference, or a slope.</p>{% endif %}
{% if views | length > 1 %}</details>{% endif %}
{% endfor %}
"""


@SECTIONS.section(
    "curves", place=60, title="Curves over the gait cycle", link="Curves", css="new-page", template=_TEMPLATE
)
def curves(page: StudyPage) -> Data | None:
    """Figures, tests and clusters of every comparison; None where there is no curve."""
    if not page.views:
        return None
    figures: dict[str, Markup] = {}
    drawn: list[dict[str, Any]] = []
    for number_of_view, view in enumerate(page.views[:_MOST_VIEWS]):
        own = {f"{number_of_view} {title}": (title, figure) for title, figure in _figures(page, view)}
        figures |= {name: figure for name, (_, figure) in own.items()}
        drawn.append(
            {
                "title": view.title,
                "shown": [(title, name) for name, (title, _) in own.items()],
                "tests": [page.names.spoken(line) for line in test_lines(view)],
                "clusters": cluster_table(view, page.names, page.options.alpha),
            }
        )
    return {"views": drawn, "more": max(len(page.views) - _MOST_VIEWS, 0), "figures": figures}


def _figures(page: StudyPage, view: View) -> list[tuple[str, Markup]]:
    return [
        (
            str(one["title"]),
            svg(group_figure(page.curves, view, one["panels"], page.norms, f"{one['title']}, {view.title}")),
        )
        for one in display_figures()
        if any(name in page.curves.units for name in one["panels"])
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
            "" if r.side == BOTH else side_words(r.side), f"{r.start_percent:.0f} to {r.end_percent:.0f}",
            probability(r.p_cluster), probability(r.p_adjusted), number(sign * r.mean_effect, r.unit), unit(r.unit),
            number(sign * r.peak), number(r.threshold), f"{r.subjects:.0f}",
        ))  # fmt: skip
    heads = ("test", "variable", "side", "#% of the cycle", "#p", "#p of the curve, corrected", "#mean effect there",
             "unit", "#peak statistic", "#threshold", "#n")  # fmt: skip
    return table(heads, rows, strong)


def test_lines(view: View) -> list[str]:
    """What each row below the panels compares, and how many curves differ in it."""
    if not len(view.tests):
        return []
    found = []
    letters = test_letters(view.tests)
    for key, rows in parts_of(view.tests, *TEST_KEY):
        _, within, comparison, side = key
        curves = rows["variable"].nunique()
        beyond = rows[rows["start_percent"].notna()]["variable"].nunique()
        first = rows.iloc[0]
        where = f" in {within}" if within and first["factor"] == "predictor" else ""
        sides = "" if side == BOTH else f", {side_words(side)} side"
        found.append(
            f"{letters[key]}: {versus(comparison)}{where}{sides} ({first['test']}, n {first['subjects']:.0f}): "
            f"{beyond} of {curves} curves beyond the threshold."
        )
    return found
