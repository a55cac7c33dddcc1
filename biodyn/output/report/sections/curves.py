"""Curves that the standard page has no room for, the extremes of all mean curves, and curves through time where there is no cycle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from biodyn.conventions import SIDE_NAMES, SIDES
from biodyn.output.figures.curves import CycleCurves, count_words, cycle_panel, display_table, stance_known, unit_words
from biodyn.output.figures.svg import Described, further_grid, standard_names
from biodyn.output.report.section import Data
from biodyn.output.report.trial_page import SECTIONS, TrialPage
from biodyn.output.report.words import decimal
from biodyn.variables import variable

_TEMPLATE = "{{ picture(figure) }}"
_FURTHER = """
{{ grid }}
<h3>Largest and smallest values of the mean curves</h3>
<div class="scroll"><table class="small"><thead><tr><th>variable</th><th>unit</th>
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
</tbody></table></div><p class="small quiet">* the curve was not measured over the whole cycle; – less than half of the stance was.</p>
"""


@SECTIONS.section("curves", place=17, template=_TEMPLATE)
def curves(page: TrialPage) -> list[Data]:
    """Where there is no cycle, a section for every figure of angles, moments and powers through time."""
    return [
        {"name": figure["name"], "title": figure["title"], "figure": figure["name"]}
        for figure in display_table()["figure"]
        if figure["name"] in page.figures
    ]


@SECTIONS.section("further", place=18, title="Trunk and arms, peaks", folded=True, template=_FURTHER)
def further(page: TrialPage) -> Data | None:
    """Panels that the standard page has no room for, and the extremes of all mean curves."""
    names = [name for figure in display_table()["figure"] for name in figure["panels"] if name in page.curves]
    shown = list(dict.fromkeys([name for name in standard_names() if name in page.curves] + names))
    if not shown:
        return None
    return {
        "grid": further_grid(
            [name for name in names if name not in standard_names()], lambda name: described(page, name)
        ),
        "ranges": curve_ranges(page.curves, shown, page.view.values.foot_off_percent),
    }


def described(page: TrialPage, name: str) -> Described:
    """The panel of a variable as the trial has it, and its extremes in words."""
    values, sides = page.view.values, page.curves[name]
    shown = variable(name)
    panel = cycle_panel(shown, sides, values.foot_off_percent, values.norms, "", values.bands.get(name, {}))
    (row,) = curve_ranges({name: sides}, [name], values.foot_off_percent)
    words = [f"{shown.title}, {row['unit']}"]
    for side in SIDES:
        own = row[side]
        if own is None:
            none = "not measured in stance" if side in sides and len(sides[side].values) else "no valid cycle"
            words.append(f"{SIDE_NAMES[side]}: {none}")
        else:
            words.append(
                f"{SIDE_NAMES[side]}, {count_words(sides.get(side))} cycles: highest {own['max']} at {own['max_at']} %, "
                f"lowest {own['min']} at {own['min_at']} %"
            )
    return panel, "; ".join(words)


def curve_ranges(
    curves: Mapping[str, Mapping[str, CycleCurves]], names: Sequence[str], foot_off_percent: Mapping[str, float]
) -> list[dict[str, Any]]:
    """Largest and smallest value of each side's mean curve, with the per cent of the cycle at which it occurs.

    A side is None where its curve is not known in stance.
    """
    rows = []
    for name in names:
        if name not in curves:
            continue
        shown, unit = variable(name), next(iter(curves[name].values())).unit
        row: dict[str, Any] = {"label": shown.title, "unit": f"{unit_words(unit)}, {shown.positive} +"}
        for side in SIDES:
            curve = curves[name].get(side)
            if curve is None or not stance_known(curve, foot_off_percent.get(side, np.nan)):
                row[side] = None
                continue
            # Rounded, so that of two equal peaks the first is named whether the numbers come from memory or from files.
            mean, digits = np.round(curve.mean, 4), 1 if unit == "deg" else 2
            high, low = int(np.nanargmax(mean)), int(np.nanargmin(mean))
            row[side] = {
                "max": decimal(mean[high], digits),
                "max_at": high,
                "min": decimal(mean[low], digits),
                "min_at": low,
                # Extremes of a curve that is not whole need not be those of the gait.
                "whole": bool(np.isfinite(mean).all()),
            }
        rows.append(row)
    return rows
