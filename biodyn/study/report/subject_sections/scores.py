"""Movement Analysis Profile and Gait Profile Score of a subject."""

from __future__ import annotations

import pandas as pd

from biodyn.output.figures.description import Figure
from biodyn.output.figures.svg import svg
from biodyn.output.report.page import Data
from biodyn.study.group.statistics.gait_scores import BOTH_SIDES
from biodyn.study.group.statistics.session_means import SCORE
from biodyn.study.report.bar_figures import profile_figure
from biodyn.study.report.sections.scores import score_table
from biodyn.study.report.source import rows_of
from biodyn.study.report.subject_page import SECTIONS, SubjectPage
from biodyn.study.report.table import Table, table
from biodyn.study.report.words import number, side_words

_TEMPLATE = """
{{ picture("profile") }}
{{ table(scores) }}
{{ sentences(notes) }}
{% if errors %}<h3>Error of the scores</h3>{{ table(errors) }}{% endif %}
{{ sentences(mean_notes) }}
"""


@SECTIONS.section(
    "scores", place=50, title="Movement Analysis Profile and Gait Profile Score", link="Gait scores", template=_TEMPLATE
)
def scores(page: SubjectPage) -> Data | None:
    """Scores by session, condition and side; None where there are none."""
    found = score_table(page.tables.scores, page.names, of_one=True)
    if not found:
        return None
    figures = {"profile": svg(profile(page))}
    errors = error_table(page.means)
    return {
        "scores": found,
        "notes": page.score_notes,
        "figures": figures,
        "errors": errors,
        "mean_notes": page.mean_notes,
    }


def profile(page: SubjectPage) -> Figure:
    """The scores as bars, a panel a condition."""
    scores = page.tables.scores
    cells = list(dict.fromkeys(zip(scores["condition"], scores["group"], strict=True)))
    return profile_figure(scores, cells, page.names, page.means)


def error_table(means: pd.DataFrame) -> Table:
    """Scores of the mean over the walks of a session, with SEM and MDC95; empty where one walk tells none."""
    if not len(means):
        return table((), ())
    own = means[(means["kind"] == SCORE) & means["sem"].notna()]
    rows = [
        (r.title, r.session, r.condition, "both" if r.side == BOTH_SIDES else side_words(r.side), f"{r.walks:.0f}",
         number(r.mean, "deg"), number(r.sem), number(r.mdc95))
        for r in rows_of(own)
    ]  # fmt: skip
    heads = ("score", "session", "condition", "side", "#walks", "#score (degrees)", "#SEM", "#MDC95")
    return table(heads, rows)
