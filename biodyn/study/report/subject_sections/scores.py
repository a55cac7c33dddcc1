"""Movement Analysis Profile and Gait Profile Score of a subject."""

from __future__ import annotations

from biodyn.output.report.section import Data
from biodyn.study.report.sections.scores import score_table
from biodyn.study.report.subject_page import SECTIONS, SubjectPage

_TEMPLATE = """
{{ table(scores) }}
<p class="small quiet">Degrees; the reference is named in the study's report.</p>
"""


@SECTIONS.section(
    "scores", place=50, title="Movement Analysis Profile and Gait Profile Score", link="Gait scores", template=_TEMPLATE
)
def scores(page: SubjectPage) -> Data | None:
    """Scores by session, condition and side; None where there are none."""
    found = score_table(page.tables.scores, page.names, of_one=True)
    return {"scores": found} if found else None
