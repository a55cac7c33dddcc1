"""Curves over the cycle to choose from, drawn by the page itself."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from biodyn.conventions import SIDE_NAMES, SIDES, FloatArray
from biodyn.output.figures.curves import CycleCurves, display_table, nan_statistics, unit_words
from biodyn.output.figures.style import BAND, SIDE_COLORS
from biodyn.output.report.page import resource, script_json
from biodyn.output.report.section import Data
from biodyn.output.report.trial_page import SECTIONS, TrialPage
from biodyn.variables import Norms, is_known, variable

_TEMPLATE = """
<p class="quiet">Mean over the cycles of every variable in <span class="mono">tables/gait_cycles</span>.</p>
<label>Variable <select aria-label="variable"></select></label>
{% for side, side_name, color in sides %}<label><input type="checkbox" value="{{ side }}" checked> <span class="dot" style="background:{{ color }}"></span>{{ side_name }}</label>{% endfor %}
{% if band %}<label><input type="checkbox" value="norm" checked> {{ band.short }}</label>{% endif %}
<div class="plot"></div>
<p class="reading" aria-live="polite"></p>
<script type="application/json" id="explorer-data">{{ curves }}</script>
<script>{{ script }}</script>
"""


@SECTIONS.section("explorer", place=30, title="Interactive curves", css="explorer", folded=True, template=_TEMPLATE)
def explorer(page: TrialPage) -> Data | None:
    """The numbers of the chart and its script; nothing without cycles."""
    if not page.curves:
        return None
    band = _band(page.view.values.norms)
    return {
        "band": band,
        "curves": script_json(explorer_data(page.curves, page.tables["spatiotemporal"], band)),
        "script": resource("explorer.js"),
    }


def _band(norms: Sequence[Norms]) -> Norms | None:
    """The first norms whose spread is known."""
    return next((one for one in norms if any(curve.sd is not None for curve in one.curves.values())), None)


def explorer_data(
    curves: Mapping[str, Mapping[str, CycleCurves]], strides: pd.DataFrame, band: Norms | None = None
) -> dict[str, Any]:
    """Mean and spread of every variable over the cycle, rounded, for the page's own chart, and when each cycle was."""
    listing = []
    for name, sides in curves.items():
        if not any(len(curve.values) for curve in sides.values()):
            continue
        shown = variable(name)
        unit = next(iter(sides.values())).unit
        digits = 1 if unit == "deg" else 3
        entry: dict[str, Any] = {
            "name": name,
            "label": shown.title if is_known(name) else name,
            "axis": f"{unit_words(unit)}, {shown.positive} +",
            "digits": digits,
        }
        for side, curve in sides.items():
            mean, sd = nan_statistics(curve.values)
            entry[side] = {"n": len(curve.values), "mean": _rounded(mean, digits), "sd": _rounded(sd, digits)}
        norm = None if band is None else band.curves.get(name)
        half = None if norm is None else norm.half_width
        if norm is not None and half is not None:
            centre = shown.clinical(SIDES[0]) * norm.mean
            entry["norm"] = {"low": _rounded(centre - half, digits), "high": _rounded(centre + half, digits)}
        listing.append(entry)
    sides_data = {side: {"name": SIDE_NAMES[side], "color": SIDE_COLORS[side]} for side in SIDES}
    return {
        "variables": listing,
        "start": display_table()["overview"]["angles"][0],
        "sides": sides_data,
        "cycles": strides[["side", "start_s", "end_s"]].to_numpy().tolist(),
        "band": {"name": "" if band is None else f"{band.short}, {band.band}", "color": BAND},
    }


def _rounded(values: FloatArray, digits: int) -> list[float | None]:
    return [round(value, digits) + 0.0 if math.isfinite(value) else None for value in values.tolist()]
