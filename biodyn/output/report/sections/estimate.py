"""What the estimates changed and how certain the torques are: balance, residuals, subject's model, uncertainty, sensitivity."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pandas as pd

from biodyn.conventions import SIDE_NAMES, SIDES
from biodyn.output.figures.curves import display_table
from biodyn.output.figures.trial.quality import level_words
from biodyn.output.report.numbers import decimal, signed
from biodyn.output.report.page import Data
from biodyn.output.report.trial_page import SECTIONS, TrialPage
from biodyn.variables import variable

_TEMPLATE = """
<p>Motion, masses and the mass centre of the {{ trunk }} are those that explain the {{ measured }} and the measured forces best together.</p>
<div class="scroll"><table class="small"><thead><tr><th>joint to ground</th><th class="number">residual before, RMS</th><th class="number">left, RMS</th></tr></thead><tbody>
{% for name, before, after in residual %}<tr><td class="mono">{{ name }}</td><td class="number">{{ "%.2f"|format(before) }}</td><td class="number">{{ "%.2f"|format(after) }}</td></tr>
{% endfor %}</tbody></table></div>
<p class="small quiet">Nm for angles, N for lengths.</p>
<div class="scroll"><table class="small"><thead><tr><th>coordinate</th><th class="number">moved, RMS</th><th class="number">at most</th></tr></thead><tbody>
{% for name, rms, most in moved %}<tr><td class="mono">{{ name }}</td><td class="number">{{ "%.3g"|format(rms) }}</td><td class="number">{{ "%.3g"|format(most) }}</td></tr>
{% endfor %}</tbody></table></div>
<p>Masses changed by {{ masses }}. Mass centre of the {{ trunk }}: {{ shift }} mm along the axes of the body.</p>
"""


@SECTIONS.section("balance", place=75, title="What the balance moved", folded=True, template=_TEMPLATE)
def balance(page: TrialPage) -> Data | None:
    """Residual before and after, how far every coordinate was moved, masses; None where coordinates were taken as given."""
    told = page.record.get("balance")
    if told is None:
        return None
    ((trunk, shift),) = told["centre_shift_m"].items()
    changed = sorted(told["mass_change_share"].items(), key=lambda item: -abs(item[1]))
    return {
        "trunk": trunk,
        "measured": "markers" if told.get("from") == "markers" else "given coordinates",
        "residual": [
            (name, before, page.record["residual_rms"].get(name, float("nan")))
            for name, before in told["residual_rms_before"].items()
        ],
        "moved": sorted(
            ((name, rms, told["moved_max"][name]) for name, rms in told["moved_rms"].items()), key=lambda row: -row[1]
        ),
        "masses": ", ".join(f"{100.0 * share:+.1f} % ({name})" for name, share in changed[:4]),
        "shift": ", ".join(f"{1000.0 * one:+.0f}" for one in shift),
    }


# Coordinates shown: those whose torque changed most.
_SHOWN = 12
_MASSES, _LEAST_PERCENT = 6, 0.05  # of segments' masses, and the least change
_TEMPLATE_residuals = """
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


@SECTIONS.section("residuals", place=78, title="Residuals", folded=True, template=_TEMPLATE_residuals)
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
        "number": decimal,
        "signed": signed,
        "unclosed": estimate.get("residual_unclosed"),
    }


def _masses(estimate: Mapping[str, Any]) -> list[tuple[str, float]]:
    """Segments whose mass was changed most; none where the masses stayed."""
    rows = [(row["segment"], row["change_percent"]) for row in estimate.get("segment_masses", [])]
    return [row for row in sorted(rows, key=lambda row: -abs(row[1])) if abs(row[1]) >= _LEAST_PERCENT][:_MASSES]


_TEMPLATE_subject_fit = """
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
    template=_TEMPLATE_subject_fit,
)
def subject_fit(page: TrialPage) -> Data | None:
    """A row a joint centre, an axis, a marker; None where nothing was fitted."""
    fit: Mapping[str, Any] | None = page.record.get("subject_fit")
    if not fit:
        return None
    return {
        "fit": fit,
        "signed": signed,
        "before": decimal(fit["marker_rms_before_mm"]),
        "after": decimal(fit["marker_rms_after_mm"]),
        "files": [
            {
                "name": row["name"],
                "use": row["use"],
                "frames": row["frames"],
                "before": decimal(row["marker_rms_before_mm"]),
                "after": decimal(row["marker_rms_after_mm"]),
            }
            for row in fit.get("files", ())
        ],
        "centres": [
            {
                "segment": row["segment"],
                "size": decimal(math.hypot(*row["shift_mm"])),
                "shift": [signed(value) for value in row["shift_mm"]],
                "prior": ", ".join(decimal(value) for value in row["prior_sd_mm"]),
                "sd": ", ".join(decimal(value) for value in row["sd_mm"]),
            }
            for row in fit["joint_centres"]
        ],
        "markers": [
            {
                "label": row["label"],
                "segment": row["segment"],
                "size": decimal(math.hypot(*row["shift_mm"])),
                "off": decimal(math.hypot(*row["off_mm"])),
                "before": decimal(row["rms_before_mm"]),
                "after": decimal(row["rms_after_mm"]),
            }
            for row in fit["markers"]
        ],
    }


# Torques smaller than this in the whole trial matter to nobody, Nm; their shares would only confuse.
_LEAST_PEAK_NM = 1.0
_TEMPLATE_uncertainty = """
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
    template=_TEMPLATE_uncertainty,
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


_TEMPLATE_sensitivity = """
{{ pictures("sensitivity") }}
<div class="scroll"><table><thead><tr><th>factor</th><th>level</th>{% for label in heads.values() %}<th class="number">{{ label }} (%)</th>{% endfor %}</tr></thead><tbody>
{% for row in rows %}
<tr><td>{{ row.factor }}</td><td>{{ row.level }}</td>{% for name in heads %}<td class="number">{{ row.cells.get(name, "–") }}</td>{% endfor %}</tr>
{% endfor %}
</tbody></table></div>
<p class="small quiet">Change of the peak / rms change over the cycle, per cent of the peak, mean of both sides. All moments: <span class="mono">tables/sensitivity</span>
and <span class="mono">tables/sensitivity_summary</span>.</p>
"""


@SECTIONS.section(
    "sensitivity", place=120, title="Sensitivity to modelling choices", folded=True, template=_TEMPLATE_sensitivity
)
def sensitivity(page: TrialPage) -> Data | None:
    """A row a level; None where the trial was analysed once only."""
    rows = sensitivity_rows(page.tables)
    return {"rows": rows, "heads": sensitivity_heads()} if rows else None


def sensitivity_rows(tables: Mapping[str, pd.DataFrame]) -> list[dict[str, Any]]:
    """One row per level: change of the peak and rms change of the overview's moments, per cent of the peak, mean of the sides.

    Empty where the trial was analysed once only.
    """
    summary = tables.get("sensitivity_summary")
    if summary is None or summary.empty:
        return []
    moments = display_table()["overview"]["moments"]
    rows = []
    for (factor, level), block in summary.groupby(["factor", "level"], observed=True, sort=False):
        cells = {}
        for moment in moments:
            own = block[block["variable"].astype(str) == moment]
            if len(own):
                peak, rms = own["peak_change_percent"].mean(), own["rms_change_percent"].mean()
                cells[moment] = f"{peak:+.1f} / {rms:.1f}"
        rows.append({"factor": str(factor).replace("_", " "), "level": level_words(str(level)), "cells": cells})
    return rows


def sensitivity_heads() -> dict[str, str]:
    """Words for the columns of `sensitivity_rows` by variable."""
    return {moment: variable(moment).title for moment in display_table()["overview"]["moments"]}
