"""What stands in the place of the results where no trial has a cycle."""

from __future__ import annotations

from biodyn.output.report.page import Data
from biodyn.study.report.study_page import SECTIONS, StudyPage

_TEMPLATE = """
<p>No trial has a gait cycle: there is nothing to average or compare.</p>
"""


@SECTIONS.section("results", place=130, title="No results", template=_TEMPLATE)
def no_results(page: StudyPage) -> Data | None:
    """None where there are curves."""
    return None if page.views else {}
