"""Right against left."""

from __future__ import annotations

import pandas as pd

from biodyn.output.report.page import Data
from biodyn.study.report.subject_page import SECTIONS, SubjectPage
from biodyn.study.report.table import Table, table
from biodyn.study.report.words import Names, number, unit

_TEMPLATE = """
{{ folded("Right against left", symmetry) }}
<p class="small quiet">Of curves: root mean square of right minus left over the cycle.</p>
"""


@SECTIONS.section("symmetry", place=40, title="Symmetry", link="Symmetry", template=_TEMPLATE)
def symmetry(page: SubjectPage) -> Data | None:
    """Parameters and curves; None where there is nothing to compare."""
    found = symmetry_table(page.tables.symmetry, page.names)
    return {"symmetry": found} if found else None


def symmetry_table(symmetry: pd.DataFrame, names: Names) -> Table:
    """Right against left, every session and condition."""
    rows = [
        (
            names.title(r["name"]) + (", curve" if r["kind"] == "curve" else ""), r["session"], r["condition"],
            unit(r["unit"]), number(r["right"], r["unit"]), number(r["left"], r["unit"]),
            number(r["difference"], r["unit"]), number(r["symmetry_index"], "%"), number(r["symmetry_angle"], "%"),
        )
        for r in symmetry.to_dict("records")
    ]  # fmt: skip
    heads = ("parameter or curve", "session", "condition", "unit", "#right", "#left", "#right − left",
             "#symmetry index (%)", "#symmetry angle (%)")  # fmt: skip
    return table(heads, rows)
