"""How far the torques can be trusted, and which source of error dominates which torque."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from biodyn.conventions import SIDE_NAMES, SIDES
from biodyn.output.figures.curves import display_table
from biodyn.output.report.section import Data
from biodyn.output.report.trial_page import SECTIONS, TrialPage
from biodyn.variables import variable

# Torques smaller than this in the whole trial matter to nobody, Nm; their shares would only confuse.
_LEAST_PEAK_NM = 1.0
_TEMPLATE = """
<p class="quiet small">One standard deviation of each torque, from the errors of its inputs (rms over the frames with a torque), and how its variance is
made up. Two standard deviations hold about 95 % of what the true torque may be. Every frame and source: <span class="mono">tables/joint_torques_sd</span>;
sizes of the errors and their sources: <span class="mono">run.json</span>, "uncertainty". Errors that are not in this list, such as joints that are no hinges, are not covered.</p>
<div class="scroll"><table><thead><tr><th>torque</th><th class="number">peak (Nm)</th><th class="number">1 SD (Nm)</th><th class="number">largest</th><th class="number">% of peak</th>
{% for source, title in record.uncertainty.sources.items() %}<th class="number">{{ title }} (%)</th>{% endfor %}</tr></thead><tbody>
{% for row in rows %}
<tr><td>{{ row.label }}</td><td class="number">{{ row.peak }}</td><td class="number">{{ row.sd }}</td><td class="number">{{ row.largest }}</td><td class="number">{{ row.share }}</td>
{% for source in record.uncertainty.sources %}<td class="number">{% if source == row.largest_source %}<b>{{ row.sources[source] }}</b>{% else %}{{ row.sources[source] }}{% endif %}</td>{% endfor %}</tr>
{% endfor %}
</tbody></table></div>
<p class="small quiet">{% if record.uncertainty.turn_noise_deg is defined %}Noise of this trial's poses: {{ "%.2f" % record.uncertainty.marker_noise_mm }} mm
along and {{ "%.2f" % record.uncertainty.turn_noise_deg }} degrees about an axis.{% else %}Marker noise of this trial: {{ "%.2f" % record.uncertainty.marker_noise_mm }} mm an axis.{% endif %}</p>
"""


@SECTIONS.section(
    "uncertainty",
    place=110,
    title="How far the torques can be trusted",
    link="Uncertainty",
    folded=True,
    template=_TEMPLATE,
)
def uncertainty(page: TrialPage) -> Data | None:
    """A row a torque; None where the bands were not computed."""
    rows = uncertainty_rows(page.record.get("uncertainty"))
    return {"rows": rows} if rows else None


def uncertainty_rows(record: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """Rows for the report, of the torques its figures show: label, peak, standard deviation, per cent of the variance."""
    shown = {name for figure in display_table()["figure"] for name in figure["panels"]}
    rows = []
    for name, entry in (record or {}).get("coordinates", {}).items():
        side = next((side for side in SIDES if name.endswith(f"_{side}")), "")
        curve = f"{name.removesuffix(f'_{side}') if side else name}_moment"
        if curve not in shown or entry["peak_nm"] < _LEAST_PEAK_NM:
            continue
        variance = sum(value**2 for value in entry["by_source_rms_nm"].values()) or 1.0
        rows.append(
            {
                "label": variable(curve).title + (f", {SIDE_NAMES[side]}" if side else ""),
                "peak": f"{entry['peak_nm']:.1f}",
                "sd": f"{entry['sd_rms_nm']:.1f}",
                "largest": f"{entry['sd_largest_nm']:.1f}",
                "share": f"{100.0 * entry['sd_rms_nm'] / entry['peak_nm']:.0f}",
                "sources": {
                    source: f"{100.0 * value**2 / variance:.0f}" for source, value in entry["by_source_rms_nm"].items()
                },
                "largest_source": entry["largest_source"],
            }
        )
    return rows
