"""How alike both sides are."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from biodyn.output.report.page import Data
from biodyn.study.report.source import parts_of
from biodyn.study.report.study_page import SECTIONS, StudyPage
from biodyn.study.report.table import Table, TitledTable, table
from biodyn.study.report.words import Names, condition_words, spread, unit

_TEMPLATE = """
{{ sentences(notes("symmetry")) }}
{% for one in tables %}{{ folded(one.title, one.table, not one.long) }}{% endfor %}
"""


@SECTIONS.section("symmetry", place=90, title="Symmetry", link="Symmetry", template=_TEMPLATE)
def symmetry(page: StudyPage) -> Data | None:
    """A table of the parameters, one of the curves; None where there is nothing to say of them."""
    own, names = page.table("symmetry"), page.names
    made = [
        TitledTable("Parameters", symmetry_table(own, names, page.options.compared_parameters, "parameter")),
        TitledTable("Curves", symmetry_table(own, names, None, "curve"), True),
    ]
    tables = [one for one in made if one.table]
    if not page.views or not (tables or page.notes("symmetry")):
        return None
    return {"tables": tables} if tables else {"tables": tables, "link": ""}


def symmetry_table(symmetry: pd.DataFrame, names: Names, shown: Sequence[str] | None, kind: str) -> Table:
    """Means over subjects of the symmetry of parameters or curves, by condition and group."""
    if not len(symmetry):
        return table((), ())
    own = symmetry[symmetry["kind"] == kind]
    if shown is not None:
        own = own[own["name"].isin(shown)]
    rows = []
    condition_of = condition_words(own)
    for (name, condition, group), part in parts_of(own, "name", "condition", "group"):
        of = str(part["unit"].iloc[0])
        subject = part.groupby("subject", sort=False)[["right", "left", "difference", "symmetry_index"]].mean()
        mean, sd = subject.mean(), subject.std()
        rows.append((
            names.title(name), condition_of[condition], group, unit(of), spread(mean["right"], sd["right"], of),
            spread(mean["left"], sd["left"], of), spread(mean["difference"], sd["difference"], of),
            spread(mean["symmetry_index"], sd["symmetry_index"], "%"), str(len(subject)),
        ))  # fmt: skip
    difference = "#right − left" if kind == "parameter" else "#right − left, RMS over the cycle"
    heads = (kind, "condition", "group", "unit", "#right", "#left", difference, "#symmetry index (%)", "#subjects")
    return table(heads, rows)
