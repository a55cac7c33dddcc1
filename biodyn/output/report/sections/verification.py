"""The same frames computed again by independent algorithms, and what the moments are made of."""

from __future__ import annotations

from biodyn.output.report.section import Data
from biodyn.output.report.trial_page import SECTIONS, TrialPage

_TEMPLATE = """
<p>Every frame was computed again by independent algorithms. This verifies that the equations of motion were solved correctly. It does not verify markers, segment masses or plates: see the checks of the data and the pelvis residual.</p>
<div class="scroll"><table><thead><tr><th></th><th>consistency check</th><th>what was compared</th><th class="number">relative error</th><th class="number">limit</th><th class="number">frames</th></tr></thead><tbody>
{% for check in proof.identities %}
<tr><td>{{ lamp("not_assessed" if check.holds is none else ("pass" if check.holds else "fail")) }}</td>
<td><b>{{ check.title }}</b><br><span class="mono small">{{ check.equation }}</span></td>
<td class="small">{{ check.text }}</td>
<td class="number nowrap">{{ "%.1e" % check.relative_error if check.relative_error is not none else "–" }}</td>
<td class="number nowrap">{{ "%.0e" % check.limit }}</td>
<td class="number">{{ check.frames }}</td></tr>
{% endfor %}
</tbody></table></div>
<p class="small quiet">Relative to the largest acceleration of the coordinate (at least that of gravity), to the largest sum of the magnitudes that cancel in the torque, the residual or the power.{% if proof.share_of_trial %} Took {{ "%.0f" % (1000 * proof.seconds) }} ms, {{ "%.0f" % (100 * proof.share_of_trial) }} % of the trial's own computing time.{% endif %}</p>
{{ pictures("consistency") }}
"""


@SECTIONS.section("proof", place=90, title="Verification", folded=True, template=_TEMPLATE)
def verification(page: TrialPage) -> Data | None:
    """What the record keeps of the comparison; None where nothing was compared."""
    proof = page.record.get("proof")
    return {"proof": proof} if proof else None
