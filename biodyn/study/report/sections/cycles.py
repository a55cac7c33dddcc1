"""Cycles unlike the others of their subject."""

from __future__ import annotations

import pandas as pd

from biodyn.output.report.page import Data
from biodyn.study.report.source import rows_of, subject_link
from biodyn.study.report.study_page import SECTIONS, StudyPage
from biodyn.study.report.table import Table, link, table
from biodyn.study.report.words import side_words

_TEMPLATE = """
{{ sentences(notes("cycles")) }}
{% if outliers %}{{ table(outliers, outliers.rows | length > 30) }}{% endif %}
<p class="small quiet">The representative cycle of every subject, condition and side is drawn bold on the subject's page; all are in group/cycles.csv.</p>
"""


@SECTIONS.section("cycles", place=120, title="Representative cycles and outliers", link="Outliers", template=_TEMPLATE)
def cycles(page: StudyPage) -> Data | None:
    """The outliers; None where there is nothing to say of them."""
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
