"""How well the skeleton follows the markers, and what force and moment are left over at the pelvis."""

from __future__ import annotations

from biodyn.output.report.section import Data
from biodyn.output.report.trial_page import SECTIONS, TrialPage

_TEMPLATE = """
{{ pictures("fit") }}
"""


@SECTIONS.section(
    "fit",
    place=70,
    title="Marker tracking error and pelvis residual",
    folded=True,
    template=_TEMPLATE,
)
def fit(page: TrialPage) -> Data | None:
    """Both figures say all."""
    return {} if page.figures_in.get("fit") else None
