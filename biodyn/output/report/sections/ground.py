"""Ground reaction force and the paths of the centre of pressure."""

from __future__ import annotations

from biodyn.output.report.section import Data
from biodyn.output.report.trial_page import SECTIONS, TrialPage

_TEMPLATE = """
{{ picture("ground_reaction", "GRF of each foot in body weights: through the trial, and over the stances measured from foot strike to foot off.") }}
{{ picture("centre_of_pressure", "Plates seen from above: foot outlines at mid-contact and paths of the centre of pressure.") }}
"""


@SECTIONS.section(
    "ground",
    place=50,
    title="Ground reaction force (GRF)",
    link="Ground reaction",
    css="new-page",
    template=_TEMPLATE,
)
def ground(page: TrialPage) -> Data:
    """Both figures say all."""
    return {}
