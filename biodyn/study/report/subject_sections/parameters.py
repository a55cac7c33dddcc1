"""Discrete parameters of a subject, by session and condition."""

from __future__ import annotations

from typing import Any

import pandas as pd

from biodyn.conventions import SIDES
from biodyn.output.report.section import Data
from biodyn.study.report.source import parts_of, rows_of
from biodyn.study.report.subject_page import SECTIONS, SubjectPage
from biodyn.study.report.table import Table, table
from biodyn.study.report.words import Names, side_words, spread, unit

_TEMPLATE = """
{% for title, data in parameters %}{{ folded(title, data, loop.first) }}{% endfor %}
<p class="small quiet">Mean ± standard deviation over the cycles (number of cycles).</p>
"""


@SECTIONS.section("parameters", place=30, title="Parameters", link="Parameters", template=_TEMPLATE)
def parameters(page: SubjectPage) -> Data | None:
    """A table a session and condition; None where there is none."""
    found = parameter_tables(page.tables.parameters, page.names)
    return {"parameters": found} if found else None


def parameter_tables(means: pd.DataFrame, names: Names) -> list[tuple[str, Table]]:
    """Mean ± SD over the cycles of each side; a table a session and condition."""
    found = []
    for (session, condition), rows in parts_of(means, "session", "condition"):
        by_name: dict[str, dict[str, Any]] = {}
        for row in rows_of(rows):
            by_name.setdefault(row.parameter, {})[row.side] = row
        cells = []
        for name, sides in by_name.items():
            title, of = names.parameters.get(name, (name, ""))
            texts = [
                f"{spread(sides[side].mean, sides[side].sd, of)} ({sides[side].cycles:.0f})" if side in sides else "–"
                for side in SIDES
            ]
            cells.append((title, unit(of), *texts))
        title = ", ".join(filter(None, (session, condition))) or "All cycles"
        found.append((title, table(("parameter", "unit", *(f"#{side_words(side)}" for side in SIDES)), cells)))
    return found
