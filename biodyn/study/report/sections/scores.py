"""Movement Analysis Profile and Gait Profile Score of every subject."""

from __future__ import annotations

import pandas as pd

from biodyn.output.figures.svg import svg
from biodyn.output.report.page import Data
from biodyn.study.group.statistics.gait_scores import score_variables
from biodyn.study.report.bar_figures import profile_figure
from biodyn.study.report.source import subject_link
from biodyn.study.report.study_page import SECTIONS, StudyPage
from biodyn.study.report.table import Table, link, table
from biodyn.study.report.words import Names, number, side_words

_TEMPLATE = """
{{ sentences(notes("gait_scores")) }}
{% if scores %}{{ picture("profile") }}{{ folded("Scores of every subject", scores) }}{% endif %}
"""


@SECTIONS.section(
    "scores",
    place=110,
    title="Movement Analysis Profile and Gait Profile Score",
    link="Gait scores",
    css="new-page",
    template=_TEMPLATE,
)
def scores(page: StudyPage) -> Data | None:
    """The profile and the scores of every subject; None where there is nothing to say of them."""
    own = page.table("gait_scores")
    if not page.views or not (len(own) or page.notes("gait_scores")):
        return None
    if not len(own):
        return {"scores": None, "link": ""}
    figures = {"profile": svg(profile_figure(own, page.curves.cells, page.names))}
    return {"scores": score_table(own, page.names), "figures": figures}


def score_table(scores: pd.DataFrame, names: Names, of_one: bool = False) -> Table:
    """Scores of every subject, or `of_one`, by session, condition and side."""
    nine = score_variables()
    labels = [*(names.title(one.variable) for one in nine), "GPS"]
    columns = [*(f"gvs_{one.name}" for one in nine), "gps"]
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
