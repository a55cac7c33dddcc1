"""Movement Analysis Profile and Gait Profile Score of a subject."""

from __future__ import annotations

from biodyn.output.report.section import Data
from biodyn.study.report.bar_figures import profile_figure
from biodyn.study.report.sections.scores import score_table
from biodyn.study.report.subject_page import SECTIONS, SubjectPage

_TEMPLATE = """
{{ picture("profile") }}
{{ table(scores) }}
{{ sentences(notes) }}
"""


@SECTIONS.section(
    "scores", place=50, title="Movement Analysis Profile and Gait Profile Score", link="Gait scores", template=_TEMPLATE
)
def scores(page: SubjectPage) -> Data | None:
    """Scores by session, condition and side; None where there are none."""
    found = score_table(page.tables.scores, page.names, of_one=True)
    if not found:
        return None
    cells = list(dict.fromkeys(zip(page.tables.scores["condition"], page.tables.scores["group"], strict=True)))
    figures = {"profile": profile_figure(page.tables.scores, cells, page.names)}
    return {"scores": found, "notes": page.score_notes, "figures": figures}
