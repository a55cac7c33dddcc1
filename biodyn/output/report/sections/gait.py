"""Spatio-temporal parameters; whose foot loaded which plate."""

from __future__ import annotations

from typing import Any

import pandas as pd

from biodyn.conventions import SIDE_NAMES, SIDES, FloatArray
from biodyn.output.figures.style import SIDE_COLORS
from biodyn.output.report.section import Data
from biodyn.output.report.trial_page import SECTIONS, TrialPage
from biodyn.output.report.words import decimal, evidence_words, parameter_label

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
    if not page.view.values.sides:
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
