"""How repeatable the measurements are, within and between sessions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from biodyn.output.report.page import Data
from biodyn.study.report.source import rows_of
from biodyn.study.report.study_page import SECTIONS, StudyPage
from biodyn.study.report.table import Table, TitledTable, table
from biodyn.study.report.words import MISSING, Names, condition_words, number, side_words, unit

_TEMPLATE = """
{{ sentences(notes("repeatability")) }}
{% for one in tables %}{{ folded(one.title, one.table, loop.first) }}{% endfor %}
"""


@SECTIONS.section("repeatability", place=100, title="Repeatability", link="Repeatability", template=_TEMPLATE)
def repeatability(page: StudyPage) -> Data | None:
    """A table a level, of parameters and of curves; None where there is nothing to say of them."""
    own = page.table("repeatability")
    made = []
    for level in dict.fromkeys(own["level"]) if len(own) else ():
        for kind, words in (("parameter", "parameters"), ("curve", "curves")):
            shown = page.options.compared_parameters if kind == "parameter" else None
            part = repeatability_table(own, page.names, shown, kind, level)
            made.append(TitledTable(f"Between {level}: {words}", part, True))
    tables = [one for one in made if one.table]
    if not page.views or not (tables or page.notes("repeatability")):
        return None
    return {"tables": tables} if tables else {"tables": tables, "link": ""}


def repeatability_table(found: pd.DataFrame, names: Names, shown: Sequence[str] | None, kind: str, level: str) -> Table:
    """SEM, MDC, CMC and ICC of parameters or curves, within or between sessions."""
    if not len(found):
        return table((), ())
    own = found[(found["kind"] == kind) & (found["level"] == level)]
    condition_of = condition_words(found)
    if shown is not None:
        own = own[own["name"].isin(shown)]
    heads = (kind, "condition", "side", "unit", "#mean", "#SD", "#SEM", "#MDC95", "#CMC", "#ICC(2,1)", "#95 % interval",
             "#ICC(3,1)", "#subjects", "#measurements")  # fmt: skip
    rows = [
        (
            names.title(r.name), condition_of[r.condition], side_words(r.side), unit(r.unit), number(r.mean, r.unit),
            number(r.sd, r.unit), number(r.sem, r.unit), number(r.mdc95, r.unit), number(r.cmc), number(r.icc_2_1),
            f"{number(r.icc_2_1_low)} to {number(r.icc_2_1_high)}" if np.isfinite(r.icc_2_1) else "", number(r.icc_3_1),
            _count(r.subjects), _count(r.measurements),
        )
        for r in rows_of(own)
    ]  # fmt: skip
    return table(heads, rows)


def _count(count: float) -> str:
    """A count."""
    return f"{count:.0f}" if np.isfinite(count) else MISSING
