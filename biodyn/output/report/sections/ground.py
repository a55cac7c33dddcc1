"""Ground reaction force and the paths of the centre of pressure; the peaks of the force in numbers."""

from __future__ import annotations

from biodyn.output.report.section import Data
from biodyn.output.report.sections.gait import parameter_rows
from biodyn.output.report.trial_page import SECTIONS, TrialPage

_TEMPLATE = """
{{ pictures("ground") }}
{% if peaks %}
<div class="scroll">{{ by_side("peak of the stance", peaks) }}</div>
<p class="small quiet">In body weights, at the plates' own rate through 50 Hz; mean over the stances of whole cycles that were measured.</p>
{% endif %}
"""


@SECTIONS.section(
    "ground",
    place=50,
    title="Ground reaction force (GRF)",
    folded=True,
    template=_TEMPLATE,
)
def ground(page: TrialPage) -> Data | None:
    """Both figures, and a row a peak; None without a figure."""
    if not page.figures_in.get("ground"):
        return None
    return {
        "peaks": parameter_rows(page.tables["spatiotemporal"], peaks=True) if "spatiotemporal" in page.tables else []
    }
