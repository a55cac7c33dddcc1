"""The whole trial through time: forces, contacts, angles, moments."""

from __future__ import annotations

from biodyn.output.report.section import Data
from biodyn.output.report.trial_page import SECTIONS, TrialPage

_TEMPLATE = """
{{ pictures("trial") }}
"""


@SECTIONS.section("trial", place=60, title="The whole trial", folded=True, template=_TEMPLATE)
def whole_trial(page: TrialPage) -> Data | None:
    """The figure says all."""
    return {} if page.figures_in.get("trial") else None
