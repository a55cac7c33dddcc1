"""Discrete parameters: their means, and what differs between conditions and groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from biodyn.conventions import SIDES
from biodyn.output.report.page import Data
from biodyn.study.report.means import BOTH, Cell, over_subjects
from biodyn.study.report.source import parts_of, rows_of
from biodyn.study.report.study_page import SECTIONS, StudyPage
from biodyn.study.report.table import Table, TitledTable, table
from biodyn.study.report.words import MISSING, Names, level_words, number, probability, side_words, spread, unit, versus

_TEMPLATE = """
{{ sentences(notes("parameters")) }}
{% if main %}{{ table(main) }}{% endif %}
<p class="small quiet">Mean ± standard deviation between subjects (number of subjects). Definitions: docs/studies.md and group/group.json.</p>
{% if rest %}{{ folded("All other parameters", rest) }}{% endif %}
<h3>Comparisons</h3>
{% set unsaid = notes("comparisons") | reject("in", notes("spm")) | list %}{# what the curves have not said already #}
{{ sentences(unsaid if unsaid or comparisons else notes("comparisons")) }}
{% for section in comparisons %}{{ folded(section.title, section.table, loop.first) }}{% endfor %}
{% if comparisons %}<p class="small quiet">Bold: p corrected below {{ "%g" % alpha }}. Difference: second minus first.</p>{% endif %}
"""


@SECTIONS.section(
    "parameters", place=70, title="Discrete parameters", link="Parameters", css="new-page", template=_TEMPLATE
)
def parameters(page: StudyPage) -> Data | None:
    """The means, those that are compared first, and the comparisons; None where there is no parameter."""
    means, cells = over_subjects(page.parameters), page.curves.cells
    shown = [name for name in page.options.compared_parameters if name in page.names.parameters]
    rest = [name for name in page.names.parameters if name not in shown]
    found = {
        "main": parameter_table(means, page.names, shown, cells),
        "rest": parameter_table(means, page.names, rest, cells),
    }
    if not any(found.values()):
        return None
    alpha = page.options.alpha
    comparisons = comparison_sections(page.table("comparisons"), page.names, alpha)
    return {**found, "comparisons": comparisons, "alpha": alpha}


def cell_words(cell: Cell, cells: Sequence[Cell]) -> str:
    """A condition and group in words; only what differs between the cells."""
    several = [len({other[i] for other in cells}) > 1 for i in (0, 1)]
    words = [level_words(cell[i], factor) for i, factor in enumerate(("condition", "group")) if several[i]]
    return ", ".join(words)


def parameter_table(means: pd.DataFrame, names: Names, shown: Sequence[str], cells: Sequence[Cell]) -> Table:
    """Mean ± SD between subjects of each parameter: one column per condition and group, or a side where there is one."""
    columns = [(cell_words(cell, cells), cell, BOTH) for cell in cells]
    if len(cells) == 1:
        columns = [(side_words(side), cells[0], side) for side in (*SIDES, BOTH)]
    found = {
        (row.parameter, row.condition, row.group, row.side): row for row in rows_of(means) if row.parameter in shown
    }
    rows = []
    for name in shown:
        title, of = names.parameters.get(name, (name, ""))
        values = [found.get((name, *cell, side)) for _, cell, side in columns]
        if not any(values):
            continue
        texts = [MISSING if v is None else f"{spread(v.mean, v.sd, of)} ({v.subjects:.0f})" for v in values]
        rows.append((title, unit(of), *texts))
    return table(("parameter", "unit", *(f"#{words}" for words, _, _ in columns)), rows)


def comparison_sections(comparisons: pd.DataFrame, names: Names, alpha: float) -> list[TitledTable]:
    """A table a comparison: means of both, difference with its interval, effect size, p; several levels at once: F."""
    if not len(comparisons):
        return []
    found = []
    for (_, within, comparison, side), rows in parts_of(comparisons, "family", "within", "comparison", "side"):
        pair = bool((rows["second"] != "").any())
        first = rows.iloc[0]
        title = f"{first['test'][:1].upper()}{first['test'][1:]}: {versus(comparison)}" + (
            f" ({within})" if within else ""
        )
        title += "" if side == BOTH else f", {side_words(side)} side"
        strong = [i for i, p in enumerate(rows["p_adjusted"]) if p < alpha]
        made = _pair_table(rows, names, strong) if pair else _several_table(rows, names, strong)
        found.append(TitledTable(title, made, True))
    return found


def _pair_table(rows: pd.DataFrame, names: Names, strong: Sequence[int]) -> Table:
    first = rows.iloc[0]
    heads = (
        "parameter", "unit", f"#{level_words(first['first'], 'name')}", f"#{level_words(first['second'], 'name')}",
        "#difference (interval)", f"#{_effect(first['effect_size'])}", "#p", "#p corrected", "#p of ranks", "#n",
    )  # fmt: skip
    cells = [
        (
            names.title(r.parameter), unit(r.unit), spread(r.first_mean, r.first_sd, r.unit),
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
            names.title(r.parameter), unit(r.unit), number(r.statistic), f"{r.df1:g}, {r.df2:.3g}", number(r.effect),
            probability(r.p), probability(r.p_adjusted), probability(r.rank_p), f"{r.subjects:.0f}",
        )
        for r in rows_of(rows)
    ]  # fmt: skip
    return table(heads, cells, strong)


def _effect(name: object) -> str:
    return {"dz": "Cohen's dz", "g": "Hedges' g"}.get(str(name), str(name) or "none")
