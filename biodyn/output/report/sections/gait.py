"""Numbers of the gait: spatio-temporal parameters, contacts, ground reaction, numbers against norms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from biodyn.conventions import SIDE_NAMES, SIDES, FloatArray
from biodyn.output.figures.style import SIDE_COLORS
from biodyn.output.report.numbers import NumberRow, decimal, evidence_words, number_rows, parameter_label
from biodyn.output.report.page import Data
from biodyn.output.report.trial_page import SECTIONS, TrialPage
from biodyn.variables.norm_choice import walker_of

_NOT_PARAMETERS = ("side", "cycle", "start_s", "foot_off_s", "end_s")
_FORCE_SUFFIX = "_BW"
_PARAMETERS = """
{% if parameters %}
{{ by_side("parameter", parameters) }}
<p class="small quiet">{{ counts }}. Mean{% if several %} ± standard deviation{% endif %} over the cycles. A step belongs to the foot whose strike ends it.</p>
{% else %}
<p class="quiet">There is no gait cycle in this trial.</p>
{% endif %}
"""
_CONTACTS = """
<div class="scroll"><table><thead><tr><th>plate</th><th>foot</th><th>time (s)</th><th>decision</th></tr></thead><tbody>
{% for row in contacts %}
<tr><td>{{ row.plate }}</td>
<td>{% if row.color %}<span class="dot" style="background:{{ row.color }}"></span>{% endif %}{{ row.side }}</td>
<td class="mono nowrap">{{ row.time }}</td>
<td><span class="tag {{ row.decision }}">{{ row.decision }}</span> <span class="small">{{ row.reason }}</span>
{% if row.evidence %}<details class="small"><summary>evidence</summary>{{ row.evidence | join("; ") }}</details>{% endif %}</td></tr>
{% else %}
<tr><td colspan="4" class="quiet">No plate was loaded.</td></tr>
{% endfor %}
</tbody></table></div>
"""


@SECTIONS.section("gait", place=15.5, title="Gait parameters", link="Parameters", template=_PARAMETERS)
def gait(page: TrialPage) -> Data | None:
    """A row a parameter; beside the scene where there is one; None of a body without a foot that is known."""
    if not page.view.sides:
        return None
    return {
        "css": "beside" if page.scene is not None else "",
        "parameters": parameter_rows(page.tables["spatiotemporal"]),
        "several": max(page.cycle_counts.values()) > 1,
        "counts": "Cycles: " + ", ".join(f"{SIDE_NAMES[side]} {page.cycle_counts[side]}" for side in SIDES),
    }


@SECTIONS.section("contacts", place=40, title="Foot-plate contacts", folded=True, template=_CONTACTS)
def contacts(page: TrialPage) -> Data:
    """A row a contact with how it was decided."""
    return {"contacts": contact_rows(page.tables["contacts"])}


def parameter_rows(spatiotemporal: pd.DataFrame, *, peaks: bool = False) -> list[dict[str, Any]]:
    """Mean ± SD and number of cycles of every spatio-temporal parameter, one column per side; or of the peaks of the force."""
    rows = []
    own = {side: spatiotemporal[spatiotemporal["side"].astype(str) == side] for side in SIDES}
    for name in spatiotemporal.columns:
        if name in _NOT_PARAMETERS or str(name).endswith(_FORCE_SUFFIX) is not peaks:
            continue
        label, unit = parameter_label(str(name))
        row: dict[str, Any] = {"label": label, "unit": unit}
        if not spatiotemporal[name].notna().any():
            continue  # double support in running, flight in walking, everything where nobody steps
        for side in SIDES:
            row[side] = _mean_sd(own[side][name].dropna().to_numpy(dtype=float), unit)
        rows.append(row)
    return rows


def _mean_sd(values: FloatArray, unit: str) -> dict[str, Any] | None:
    if not len(values):
        return None
    digits = 3 if unit == "BW" else 1 if unit.startswith("%") or unit in ("degrees", "steps/min") else 2
    sd = decimal(values.std(ddof=1), digits) if len(values) > 1 else ""
    return {"mean": decimal(values.mean(), digits), "sd": sd, "n": len(values)}


def contact_rows(contacts: pd.DataFrame) -> list[dict[str, Any]]:
    """Contacts as shown: times, decision, reason, and the evidence in words."""
    evidence = [
        name for name in contacts.columns if name not in ("plate", "side", "start_s", "end_s", "decision", "reason")
    ]
    rows = []
    for contact in contacts.to_dict("records"):
        side = str(contact["side"]) if isinstance(contact["side"], str) else ""
        known = [(name, float(contact[name])) for name in evidence if pd.notna(contact[name])]
        rows.append(
            {
                "plate": int(contact["plate"]),
                "side": SIDE_NAMES.get(side, "–"),
                "color": SIDE_COLORS.get(side, ""),
                "time": f"{contact['start_s']:.2f} – {contact['end_s']:.2f}",
                "decision": str(contact["decision"]),
                "reason": contact["reason"] if isinstance(contact["reason"], str) else "",
                "evidence": [evidence_words(str(name), value) for name, value in known],
            }
        )
    return rows


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


_TEMPLATE_norms = """
{% for reason in reasons %}<p class="small">{{ reason }}</p>{% endfor %}
{% if rows %}
<div class="scroll"><table><thead><tr><th>parameter</th><th>unit</th>
{% for side, side_name, color in sides %}<th class="number">{{ side_name }}</th>{% endfor %}
<th class="number">norm: mean (95 % of people)</th><th>norm of</th></tr></thead><tbody>
{% for row in rows %}
<tr><td>{{ row.title }}</td><td>{{ row.unit_text }}</td>
{% for side, side_name, color in sides %}<td class="number">{{ row.text(side) }}</td>{% endfor %}
<td class="number nowrap">{{ row.norm_text }}</td><td>{{ row.whose }}</td></tr>
{% endfor %}
</tbody></table></div>
<p class="small quiet">{% if leg %}Dimensionless: lengths by leg length l ({{ leg }}), times by √(l/g), speed by √(g l) (Hof 1996). {% endif %}Peaks and ranges are those of a side's mean curve. ↑ ↓: beyond the range of 95 % of the norm's people.</p>
{% endif %}
{% for norm in norms %}<p class="small quiet">{{ norm.words }}, {{ norm.band }}: {{ norm.citation }}. Licence: {{ norm.licence }}.</p>{% endfor %}
"""


@SECTIONS.section("norms", place=22, title="Norms", link="Norms", folded=True, template=_TEMPLATE_norms)
def norms(page: TrialPage) -> Data:
    """The choice in words, the table of numbers, and the sources."""
    values = page.view
    walker = walker_of(page.record, values.speed_m_s)
    source = page.record["subject"].get("leg_length_source", "not known")
    stored = "" if walker.leg_length_m else ", 0.530 of the body height"
    return {
        "reasons": values.norm_reasons,
        "rows": numbers_against_norms(page),
        "norms": values.norms,
        "leg": "" if not np.isfinite(walker.leg_m) else f"{walker.leg_m:.3f} m{stored or f', {source}'}",
    }


def numbers_against_norms(page: TrialPage) -> list[NumberRow]:
    """Dimensionless parameters of the stride, and every number that the walk's norms know; none where nobody walked."""
    values = page.view
    if not values.walking or not np.isfinite(values.speed_m_s):
        return []
    strides = page.tables["spatiotemporal"]
    sides = strides["side"].astype(str)
    means = {str(side): _means(strides[sides == side]) for side in SIDES}
    curves = {name: {side: one.mean for side, one in found.items()} for name, found in page.curves.items()}
    return number_rows(means, curves, walker_of(page.record, values.speed_m_s), values.norms)


def _means(strides: pd.DataFrame) -> dict[str, float]:
    """Mean of every number of these strides."""
    return {str(name): float(value) for name, value in strides.mean(numeric_only=True).items()}
