"""What motion and measured forces disagree about: as recorded first, then what the estimate left and what it moved for that."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from biodyn.output.report.section import Data
from biodyn.output.report.trial_page import SECTIONS, TrialPage
from biodyn.output.report.words import decimal, signed

# Coordinates shown: those whose torque changed most.
_SHOWN = 12
_MASSES, _LEAST_PERCENT = 6, 0.05  # of segments' masses, and the least change
_TEMPLATE = """
<p class="quiet small">Raw: what must be added at the pelvis to make the fitted motion agree with the measured forces; the checks of this report
judge it. As believed: what the estimate of motion and forces leaves, by the error of the balance that it finds; the torques of the legs come from it. Left: after
the last step, the nearest motion in balance. What was moved for that stands below; a residual that vanishes
while little is moved was noise, one that takes much is a fault to look for.</p>
<div class="scroll"><table><thead><tr><th>residual at the pelvis, RMS</th><th class="number">raw</th>{% if unclosed %}<th class="number">as believed</th>{% endif %}<th class="number">left</th></tr></thead><tbody>
<tr><td>force (N)</td><td class="number">{{ number(estimate.residual_raw.force_rms_n) }}</td>{% if unclosed %}<td class="number">{{ number(unclosed.force_rms_n) }}</td>{% endif %}<td class="number">{{ number(estimate.residual_left.force_rms_n) }}</td></tr>
<tr><td>moment (Nm)</td><td class="number">{{ number(estimate.residual_raw.moment_rms_nm) }}</td>{% if unclosed %}<td class="number">{{ number(unclosed.moment_rms_nm) }}</td>{% endif %}<td class="number">{{ number(estimate.residual_left.moment_rms_nm) }}</td></tr>
</tbody></table></div>
<p class="small">Markers of the model were moved by {{ number(estimate.markers_moved_mm.rms, 2) }} mm RMS ({{ number(estimate.markers_moved_mm.largest) }} mm at most), the
body's mass by {{ number(estimate.mass_change_kg, 2) }} kg; plate forces up to {{ number(estimate.force_cutoff_hz, 0) }} Hz were used.</p>
{% if estimate.mass_centres %}
<div class="scroll"><table><thead><tr><th>mass centre of</th><th class="number">forward (cm)</th><th class="number">up</th><th class="number">right</th><th class="number">SD before</th></tr></thead><tbody>
{% for row in estimate.mass_centres %}
<tr><td>{{ row.segment }}</td>{% for value in row.shift_cm %}<td class="number">{{ signed(value) }}</td>{% endfor %}<td class="number">{{ number(row.sd_cm) }}</td></tr>
{% endfor %}
</tbody></table></div>
{% endif %}
{% if masses %}<p class="small">Masses of segments were changed by {% for name, percent in masses %}{{ signed(percent) }} % ({{ name }}){% if not loop.last %}, {% endif %}{% endfor %}.</p>
{% endif %}
{% if estimate.get("plates") %}
<div class="scroll"><table><thead><tr><th>force plate</th>{% for axis in estimate.plates[0].shift_cm %}<th class="number">beside its place along {{ axis }} (cm)</th>{% endfor %}<th class="number">reads too much (%)</th></tr></thead><tbody>
{% for row in estimate.plates %}
<tr><td>{{ row.plate }}</td>{% for axis, value in row.shift_cm.items() %}<td class="number">{{ signed(value) }} &plusmn; {{ number(row.shift_sd_cm[axis]) }}</td>{% endfor %}<td class="number">{{ signed(row.gain_percent) }} &plusmn; {{ number(row.gain_sd_percent) }}</td></tr>
{% endfor %}
</tbody></table></div>
<p class="small">Forces are {{ signed(estimate.force_delay.delay_ms) }} ms late (&plusmn; {{ number(estimate.force_delay.sd_ms) }}). What is expected of plates draws
these numbers towards 0: a larger fault is found in part. The torques are without what was found; forces in tables and figures stay as measured.{% if estimate.get("constants_from_walks", 1) > 1 %} Mass centres, mass and plates were found
from {{ estimate.constants_from_walks }} walks of the session together.{% endif %}</p>
{% endif %}
<div class="scroll"><table><thead><tr><th>coordinate</th><th class="number">moved, RMS (deg)</th><th class="number">at most</th><th class="number">torque changed, RMS (Nm)</th><th class="number">its 1 SD (Nm)</th></tr></thead><tbody>
{% for name, row in coordinates %}
<tr><td>{{ name }}</td><td class="number">{{ number(row.moved_rms_deg, 2) }}</td><td class="number">{{ number(row.moved_max_deg) }}</td><td class="number">{{ number(row.torque_change_rms_nm) }}</td><td class="number">{{ number(row.torque_sd_rms_nm) }}</td></tr>
{% endfor %}
</tbody></table></div>
<p class="small quiet">Every coordinate: <span class="mono">tables/estimate</span>; every frame: <span class="mono">tables/residuals</span>.</p>
"""


@SECTIONS.section("residuals", place=78, title="Residuals", folded=True, template=_TEMPLATE)
def residuals(page: TrialPage) -> Data | None:
    """Raw residual first, then what the estimate left and moved; None where the fitted motion stands."""
    estimate: Mapping[str, Any] | None = page.record.get("estimate")
    if not estimate:
        return None
    rows = sorted(estimate["coordinates"].items(), key=lambda row: -(row[1]["torque_change_rms_nm"] or 0.0))
    return {
        "estimate": estimate,
        "coordinates": rows[:_SHOWN],
        "masses": _masses(estimate),
        "number": _number,
        "signed": signed,
        "unclosed": estimate.get("residual_unclosed"),
    }


def _masses(estimate: Mapping[str, Any]) -> list[tuple[str, float]]:
    """Segments whose mass was changed most; none where the masses stayed."""
    rows = [(row["segment"], row["change_percent"]) for row in estimate.get("segment_masses", [])]
    return [row for row in sorted(rows, key=lambda row: -abs(row[1])) if abs(row[1]) >= _LEAST_PERCENT][:_MASSES]


def _number(value: float | None, digits: int = 1) -> str:
    return "-" if value is None else decimal(value, digits)
