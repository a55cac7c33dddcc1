"""Discrete parameters of a subject, by session and condition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from biodyn.conventions import SIDES
from biodyn.output.report.page import Data
from biodyn.study.group.statistics.session_means import PARAMETER
from biodyn.study.report.source import parts_of, rows_of
from biodyn.study.report.subject_page import SECTIONS, SubjectPage
from biodyn.study.report.table import Table, table
from biodyn.study.report.words import Names, number, side_words, spread, unit

_TEMPLATE = """
{% for title, data in parameters %}{{ folded(title, data, loop.first) }}{% endfor %}
<p class="small quiet">Mean ± standard deviation over the cycles (number of cycles).{% if errors %} MDC95: the smallest change between the means of two such sessions that the walks do not explain.{% endif %}</p>
"""


@SECTIONS.section("parameters", place=30, title="Parameters", link="Parameters", template=_TEMPLATE)
def parameters(page: SubjectPage) -> Data | None:
    """A table a session and condition; None where there is none."""
    found = parameter_tables(page.tables.parameters, page.names, page.means)
    return {"parameters": found, "errors": len(page.means) > 0} if found else None


def parameter_tables(means: pd.DataFrame, names: Names, errors: pd.DataFrame) -> list[tuple[str, Table]]:
    """Mean ± SD over the cycles of each side; a table a session and condition.

    `errors`: session_means.csv of one person, whose MDC95 stands beside; empty where there is none.
    """
    found = []
    detectable = _detectable(errors)
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
            least = [number(detectable.get((session, condition, side, name), np.nan), of) for side in SIDES]
            cells.append((title, unit(of), *texts, *least))
        title = ", ".join(filter(None, (session, condition))) or "All cycles"
        heads = [*(f"#{side_words(side)}" for side in SIDES), *(f"#MDC95 {side_words(side)}" for side in SIDES)]
        found.append((title, table(("parameter", "unit", *heads), cells)))
    return found


def _detectable(errors: pd.DataFrame) -> dict[tuple[str, str, str, str], float]:
    """MDC95 by session, condition, side and parameter."""
    if not len(errors):
        return {}
    own = errors[errors["kind"] == PARAMETER]
    return {(r.session, r.condition, r.side, r.name): float(r.mdc95) for r in rows_of(own)}
