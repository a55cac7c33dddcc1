"""Figures over the gait cycle, a section each, with the extremes of their mean curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from biodyn.conventions import SIDES
from biodyn.output.figures.cycles import CycleCurves, unit_words
from biodyn.output.figures.display import display_table
from biodyn.output.report.section import Data
from biodyn.output.report.trial_page import SECTIONS, TrialPage
from biodyn.variables import variable

# Of the figures that the navigation names: anchor and word.
_LINKS = {
    "joint_angles": ("angles", "Angles"),
    "joint_torques": ("torques", "Torques"),
    "joint_powers": ("powers", "Powers"),
}
_TEMPLATE = """
{{ picture(figure) }}
{% if ranges %}
<details><summary>Largest and smallest values of the mean curves</summary>
<div class="scroll"><table><thead><tr><th>variable</th><th>unit</th>
{% for side, side_name, color in sides %}
<th class="number">{{ side_name }} largest (at %)</th><th class="number">{{ side_name }} smallest (at %)</th>
{% endfor %}
</tr></thead><tbody>
{% for row in ranges %}
<tr><td>{{ row.label }}</td><td>{{ row.unit }}</td>
{% for side, side_name, color in sides %}
{% set own = row[side] %}
{% if own %}
<td class="number">{{ own.max }} ({{ own.max_at }}){{ "*" if not own.whole }}</td>
<td class="number">{{ own.min }} ({{ own.min_at }}){{ "*" if not own.whole }}</td>
{% else %}
<td class="number">–</td><td class="number">–</td>
{% endif %}
{% endfor %}
</tr>
{% endfor %}
</tbody></table></div><p class="small quiet">* the curve was not measured over the whole cycle.</p></details>
{% endif %}
"""


@SECTIONS.section("curves", place=16, template=_TEMPLATE)
def curves(page: TrialPage) -> list[Data]:
    """A section for every figure over the cycle that was drawn."""
    found: list[Data] = []
    for figure in display_table()["figure"]:
        name = figure["name"]
        if name not in page.figures:
            continue
        anchor, link = _LINKS.get(name, (name, ""))
        found.append(
            {
                "name": anchor,
                "title": figure["title"],
                "link": link,
                "css": "" if found else "new-page",
                "figure": name,
                "ranges": curve_ranges(page.curves, figure["panels"]),
            }
        )
    return found


def curve_ranges(curves: Mapping[str, Mapping[str, CycleCurves]], names: Sequence[str]) -> list[dict[str, Any]]:
    """Largest and smallest value of each side's mean curve, with the per cent of the cycle at which it occurs."""
    rows = []
    for name in names:
        if name not in curves:
            continue
        shown, unit = variable(name), next(iter(curves[name].values())).unit
        row: dict[str, Any] = {"label": shown.title, "unit": f"{unit_words(unit)}, {shown.positive} +"}
        for side in SIDES:
            curve = curves[name].get(side)
            if curve is None or not np.isfinite(curve.mean).any():
                row[side] = None
                continue
            # Rounded, so that of two equal peaks the first is named whether the numbers come from memory or from files.
            mean, digits = np.round(curve.mean, 4), 1 if unit == "deg" else 2
            high, low = int(np.nanargmax(mean)), int(np.nanargmin(mean))
            row[side] = {
                "max": f"{mean[high]:.{digits}f}",
                "max_at": high,
                "min": f"{mean[low]:.{digits}f}",
                "min_at": low,
                # Extremes of a curve that is not whole need not be those of the gait.
                "whole": bool(np.isfinite(mean).all()),
            }
        rows.append(row)
    return rows
