"""What the walk, or its session, changed of the static trial's model: joint centres, axes, markers, and the marker errors before and after."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from biodyn.output.report.section import Data
from biodyn.output.report.trial_page import SECTIONS, TrialPage
from biodyn.output.report.words import signed

_TEMPLATE = """
<p class="quiet small">Static trial and {{ "walk" if fit.trials == 1 else fit.trials ~ " trials of the session" }} were fitted together. RMS distance of the markers from the model: {{ before }} mm with the
static trial alone, {{ after }} mm fitted ({{ fit.frames }} frames). Shifts lie in the axes of the parent segment (forward, up, right); one standard
deviation (SD) before and after the walk was seen: where both are alike the walk tells nothing, and what is known of people in general stands.</p>
{% if files|length > 1 %}
<div class="scroll"><table><thead><tr><th>file</th><th>what it is</th><th class="number">frames</th><th class="number">marker RMS before (mm)</th><th class="number">after (mm)</th></tr></thead><tbody>
{% for row in files %}
<tr><td>{{ row.name }}</td><td>{{ row.use }}</td><td class="number">{{ row.frames }}</td><td class="number">{{ row.before }}</td><td class="number">{{ row.after }}</td></tr>
{% endfor %}
</tbody></table></div>
{% endif %}
<div class="scroll"><table><thead><tr><th>joint centre of</th><th class="number">shift (mm)</th><th class="number">forward</th><th class="number">up</th><th class="number">right</th><th class="number">SD before</th><th class="number">SD after</th></tr></thead><tbody>
{% for row in centres %}
<tr><td>{{ row.segment }}</td><td class="number">{{ row.size }}</td>{% for value in row.shift %}<td class="number">{{ value }}</td>{% endfor %}<td class="number">{{ row.prior }}</td><td class="number">{{ row.sd }}</td></tr>
{% endfor %}
</tbody></table></div>
{% if fit.axes %}
<div class="scroll"><table><thead><tr><th>axes about the long axis of</th><th class="number">turn (deg)</th><th class="number">SD before</th><th class="number">SD after</th></tr></thead><tbody>
{% for row in fit.axes %}
<tr><td>{{ row.segment }}</td><td class="number">{{ signed(row.turn_deg) }}</td><td class="number">{{ "%.1f" % row.prior_sd_deg }}</td><td class="number">{{ "%.1f" % row.sd_deg }}</td></tr>
{% endfor %}
</tbody></table></div>
{% endif %}
<div class="scroll"><table><thead><tr><th>marker</th><th>on</th><th class="number">shift (mm)</th><th class="number">mean place in the walk, off (mm)</th><th class="number">RMS before (mm)</th><th class="number">RMS after (mm)</th></tr></thead><tbody>
{% for row in markers %}
<tr><td>{{ row.label }}</td><td>{{ row.segment }}</td><td class="number">{{ row.size }}</td><td class="number">{{ row.off }}</td><td class="number">{{ row.before }}</td><td class="number">{{ row.after }}</td></tr>
{% endfor %}
</tbody></table></div>
"""


@SECTIONS.section(
    "subject_fit",
    place=75,
    title="What the walk changed of the subject's model",
    folded=True,
    template=_TEMPLATE,
)
def subject_fit(page: TrialPage) -> Data | None:
    """A row a joint centre, an axis, a marker; None where nothing was fitted."""
    fit: Mapping[str, Any] | None = page.record.get("subject_fit")
    if not fit:
        return None
    return {
        "fit": fit,
        "signed": signed,
        "before": _number(fit["marker_rms_before_mm"]),
        "after": _number(fit["marker_rms_after_mm"]),
        "files": [
            {
                "name": row["name"],
                "use": row["use"],
                "frames": row["frames"],
                "before": _number(row["marker_rms_before_mm"]),
                "after": _number(row["marker_rms_after_mm"]),
            }
            for row in fit.get("files", ())
        ],
        "centres": [
            {
                "segment": row["segment"],
                "size": _number(_length(row["shift_mm"])),
                "shift": [signed(value) for value in row["shift_mm"]],
                "prior": ", ".join(_number(value) for value in row["prior_sd_mm"]),
                "sd": ", ".join(_number(value) for value in row["sd_mm"]),
            }
            for row in fit["joint_centres"]
        ],
        "markers": [
            {
                "label": row["label"],
                "segment": row["segment"],
                "size": _number(_length(row["shift_mm"])),
                "off": _number(_length(row["off_mm"])),
                "before": _number(row["rms_before_mm"]),
                "after": _number(row["rms_after_mm"]),
            }
            for row in fit["markers"]
        ],
    }


def _length(vector: Sequence[float]) -> float:
    return math.hypot(*vector)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"
