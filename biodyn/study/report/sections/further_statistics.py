"""Group statistics that have no section of their own: their tables as they are, with what is said of them."""

from __future__ import annotations

import pandas as pd

from biodyn.output.report.page import Data
from biodyn.study.report.methods import report_table
from biodyn.study.report.study_page import SECTIONS, StudyPage
from biodyn.study.report.table import Table, TitledTable, table

_MOST_ROWS = 200  # more are in the file
_SHORT = 12
_TEMPLATE = """
{% for name, one in tables %}
{{ sentences(notes(name)) }}{{ folded(one.title, one.table, not one.long) }}
<p class="small quiet">All of it: <span class="mono">group/{{ name }}.csv</span></p>
{% endfor %}
"""


@SECTIONS.section("further", place=125, title="Further statistics", link="Further", template=_TEMPLATE)
def further_statistics(page: StudyPage) -> Data | None:
    """A table for each file of group/ that the list of files does not know; None where there is none."""
    known = {entry["name"] for entry in report_table()["file"]}
    written = [str(name) for name in page.source.group.get("files", ())]
    own = [name.removesuffix(".csv") for name in written if name.endswith(".csv") and f"group/{name}" not in known]
    tables = [(name, page.table(name)) for name in own]
    found = [
        (name, TitledTable(name.replace("_", " ").capitalize(), shown(frame), len(frame) > _SHORT))
        for name, frame in tables
        if len(frame)
    ]
    return {"tables": found} if found else None


def shown(frame: pd.DataFrame) -> Table:
    """The first rows of a table, numbers with three digits."""
    numeric = {name: pd.api.types.is_numeric_dtype(column) for name, column in frame.items()}
    heads = [f"#{name}" if numeric[name] else str(name) for name in frame]
    rows = [
        [_cell(value, numeric[name]) for name, value in zip(frame, row, strict=True)]
        for row in frame.head(_MOST_ROWS).itertuples(index=False, name=None)
    ]
    return table(heads, rows)


def _cell(value: object, is_number: bool) -> str:
    if value is None or pd.isna(value):  # type: ignore[call-overload]
        return "–"
    return f"{value:.3g}" if is_number else str(value)
