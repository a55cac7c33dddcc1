"""Ground reaction force and the paths of the centre of pressure."""

from __future__ import annotations

from biodyn.output.report.section import Data
from biodyn.output.report.trial_page import SECTIONS, TrialPage

_TEMPLATE = """
{{ pictures("ground") }}
"""


@SECTIONS.section(
    "ground",
    place=50,
    title="Ground reaction force (GRF)",
    folded=True,
    template=_TEMPLATE,
)
def ground(page: TrialPage) -> Data | None:
    """Both figures say all."""
    return {} if page.figures_in.get("ground") else None
