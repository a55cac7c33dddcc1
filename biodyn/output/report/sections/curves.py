"""The 3-D view, curves over the gait cycle (standard page, further panels, powers by plane), and sections that show figures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from biodyn.conventions import SIDE_NAMES, SIDES, WHOLE_CYCLE, FloatArray, Side
from biodyn.output.figures.curves import (
    CycleCurves,
    count_words,
    cycle_keys,
    cycle_panel,
    display_table,
    nan_statistics,
    percent_axis,
    stance_known,
    unit_words,
)
from biodyn.output.figures.description import Axis, Line, Panel
from biodyn.output.figures.style import BAND, SIDE_COLORS
from biodyn.output.figures.svg import Described, further_grid, standard_grid, standard_names
from biodyn.output.report.numbers import decimal, rounded
from biodyn.output.report.page import Data, resource, script_json
from biodyn.output.report.scene import SCENE_TEMPLATE, SEEN, drawn_words, scene_context
from biodyn.output.report.trial_page import SECTIONS, TrialPage
from biodyn.variables import PERCENT, Norms, is_known, variable

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
        "ranges": curve_ranges(page.curves, shown, page.view.foot_off_percent),
    }


def described(page: TrialPage, name: str) -> Described:
    """The panel of a variable as the trial has it, and its extremes in words."""
    values, sides = page.view, page.curves[name]
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


_TEMPLATE_standard = """
<p class="quiet small">Over the gait cycle, 0 and 100 %: foot strike. Thick: mean, thin: single cycles ({{ counted }}).{% if shaded %} Shaded: one
standard deviation of the input errors.{% endif %} Moments are internal, net, by body mass. Upright lines in the colour of a side:
the moment that the 3-D view shows, or the pointer's place.</p>
<div class="standard-page" tabindex="0" role="group" aria-label="Curves over the gait cycle; left and right arrow move the cursor">
{{ grid }}
{% if not normed %}<p class="small quiet">No norms stand behind these curves; <a href="#norms">Norms</a> says why.</p>{% endif %}
<p class="reading small" aria-live="polite"></p>
</div>
<script>{{ script }}</script>
"""


@SECTIONS.section(
    "standard",
    place=16,
    title="Motion and loads over the gait cycle",
    link="Curves",
    css="new-page standard",
    template=_TEMPLATE_standard,
)
def standard(page: TrialPage) -> Data | None:
    """The grid with its legend; None without cycles."""
    curves = page.curves
    known = [name for name in standard_names() if name in curves]
    if not known:
        return None
    values = page.view

    return {
        "grid": standard_grid(known, lambda name: described(page, name), cycle_keys(known, values.norms)),
        "counted": counted_words(curves),
        "normed": any(name in norms.curves for norms in values.norms for name in known),
        "shaded": any(name in values.bands for name in known),
        "script": resource("cursor.js"),
    }


def counted_words(curves: Mapping[str, Mapping[str, CycleCurves]]) -> str:
    """How many cycles motion and loads have on each side: "motion: right 2, left 2; loads: right 1 (2 in part), left 2".

    A cycle counts whose stance and swing are known; without its stance it is there in part. Its end may lack: the next strike is
    the first moment of a stance that need not meet a plate.
    """
    rows = display_table()["standard"]
    found = []
    for part in ("motion", "loads"):
        names = [name for row in rows if row["side"] == part for name in row["panels"] if name in curves]
        if names:
            found.append(f"{part}: {', '.join(_counted(curves, names, side) for side in SIDES)}")
    return "; ".join(found)


def _counted(curves: Mapping[str, Mapping[str, CycleCurves]], names: Iterable[str], side: Side) -> str:
    shares = [np.isfinite(curves[name][side].values).mean(axis=1) for name in names if side in curves[name]]
    whole = _range(int((own >= WHOLE_CYCLE).sum()) for own in shares)
    parts = _range(int((own < WHOLE_CYCLE).sum()) for own in shares)
    return f"{SIDE_NAMES[side]} {whole}" + (f" ({parts} in part)" if parts != "0" else "")


def _range(counts: Iterable[int]) -> str:
    own = sorted(set(counts)) or [0]
    return str(own[0]) if len(own) == 1 else f"{own[0]} to {own[-1]}"


_TEMPLATE_explorer = """
<p class="quiet">Mean over the cycles of every variable in <span class="mono">tables/gait_cycles</span>.</p>
<label>Variable <select aria-label="variable"></select></label>
{% for side, side_name, color in sides %}<label><input type="checkbox" value="{{ side }}" checked> <span class="dot" style="background:{{ color }}"></span>{{ side_name }}</label>{% endfor %}
{% if band %}<label><input type="checkbox" value="norm" checked> {{ band.short }}</label>{% endif %}
<div class="plot"></div>
<p class="reading" aria-live="polite"></p>
<script type="application/json" id="explorer-data">{{ curves }}</script>
<script>{{ script }}</script>
"""


@SECTIONS.section(
    "explorer", place=30, title="Interactive curves", css="explorer", folded=True, template=_TEMPLATE_explorer
)
def explorer(page: TrialPage) -> Data | None:
    """The numbers of the chart and its script; nothing without cycles."""
    if not page.curves:
        return None
    band = _band(page.view.norms)
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
            entry[side] = {"n": len(curve.values), "mean": rounded(mean, digits), "sd": rounded(sd, digits)}
        norm = None if band is None else band.curves.get(name)
        half = None if norm is None else norm.half_width
        if norm is not None and half is not None:
            centre = shown.clinical(SIDES[0]) * norm.mean
            entry["norm"] = {"low": rounded(centre - half, digits), "high": rounded(centre + half, digits)}
        listing.append(entry)
    sides_data = {side: {"name": SIDE_NAMES[side], "color": SIDE_COLORS[side]} for side in SIDES}
    return {
        "variables": listing,
        "start": display_table()["overview"]["angles"][0],
        "sides": sides_data,
        "cycles": strides[["side", "start_s", "end_s"]].to_numpy().tolist(),
        "band": {"name": "" if band is None else f"{band.short}, {band.band}", "color": BAND},
    }


_LEAST_W_KG = 0.05  # of a joint in any plane: below it is nothing that anybody reads
_PLANES = ("sagittal", "frontal", "transverse")
_TEMPLATE_power_parts = """
<p class="quiet small">Mean over the cycles, right blue, left orange. Torque times rate of the joint's axes in each plane, divided by body mass,
generation +; the parts add up to the joint's power.{% if small %} Joints of less than {{ least }} W/kg are left out: {{ small }}.{% endif %}</p>
{{ grid }}
"""


@SECTIONS.section("power-parts", place=19, title="Joint powers by plane", folded=True, template=_TEMPLATE_power_parts)
def power_parts(page: TrialPage) -> Data | None:
    """Panels of the joints that turn in more than one plane; None without cycles, and for results of before."""
    if "joint_power_parts" not in page.tables or not page.curves:
        return None
    table, strides = page.tables["joint_power_parts"], page.tables["spatiotemporal"]
    cycles: dict[str, FloatArray] = {
        side: strides.loc[strides["side"].astype(str) == side, ["start_s", "end_s"]].to_numpy(dtype=np.float64)
        for side in SIDES
    }
    powers = [name for name in page.curves if name.endswith("_power") and is_known(name)]
    powers.sort(key=lambda name: name not in standard_names())  # hip, knee and ankle first
    curves = {
        f"{name}-{plane}": own
        for name in powers
        for plane in _PLANES
        if (own := _means(table, cycles, name.removesuffix("_power"), plane, page.view.mass_kg))
    }
    parts = {power: [name for name in curves if name.startswith(f"{power}-")] for power in powers}
    several = {power: names for power, names in parts.items() if len(names) > 1}
    if not several:
        return None
    largest = {
        power: max(float(np.nanmax(np.abs(mean))) for name in names for mean in curves[name].values())
        for power, names in several.items()
    }
    # a row a joint: a joint of two planes leaves its third place empty
    shown = [name for power, names in several.items() if largest[power] >= _LEAST_W_KG for name in _row(names)]
    small = [variable(power).title.removesuffix(" power").lower() for power in several if largest[power] < _LEAST_W_KG]
    return {
        "grid": further_grid(shown, lambda name: _panel(name, curves[name])),
        "small": ", ".join(small),
        "least": _LEAST_W_KG,
    }


def _row(names: list[str]) -> list[str]:
    return [*names, *[""] * (len(_PLANES) - len(names))]


def _means(
    table: pd.DataFrame, cycles: Mapping[str, FloatArray], joint: str, plane: str, mass_kg: float
) -> dict[str, FloatArray]:
    """Mean (101,) over the `cycles`, begin and end (n, 2) by side, W/kg; sides without the column, or without a known value, are left out."""
    found: dict[str, FloatArray] = {}
    time_s = table["time_s"].to_numpy(dtype=np.float64)
    for side in SIDES:
        column = next((name for name in (f"{joint}_{side}_{plane}_W", f"{joint}_{plane}_W") if name in table), None)
        if column is None or not len(cycles[side]):
            continue
        values = table[column].to_numpy(dtype=np.float64) / mass_kg
        whole = [
            np.interp(start + (end - start) * PERCENT / 100.0, time_s, values)  # what is unknown stays so
            for start, end in cycles[side]
        ]
        mean = nan_statistics(np.stack(whole))[0]
        if np.isfinite(mean).any():
            found[side] = mean
    return found


def _panel(name: str, sides: dict[str, FloatArray]) -> Described:
    power, _, plane = name.partition("-")
    title = f"{variable(power).title}, {plane}"
    words = [
        f"{SIDE_NAMES[side]}: {np.nanmin(mean):.3g} to {np.nanmax(mean):.3g}"  # type: ignore[index]
        for side, mean in sides.items()
    ]
    layers = tuple(Line(PERCENT, mean, SIDE_NAMES[side], 2.0) for side, mean in sides.items())  # type: ignore[index]
    return Panel(title, percent_axis(), Axis("W/kg", holds=(0.0,), grid=True), layers), "; ".join([title, *words])


# Sections of figures: anchor, which is the section that the figures name, place on the page and title.
_OF_FIGURES = (("trial", 60, "The whole trial"), ("fit", 70, "Marker tracking error and pelvis residual"))


@SECTIONS.section("scene", place=15, title="The walk in 3-D", link="3-D", css="scene beside", template=SCENE_TEMPLATE)
def scene(page: TrialPage) -> Data | None:
    """What moves and the script that draws it; None where the result does not hold it."""
    data = page.scene
    if data is None:
        return None
    (person,) = data["persons"]
    plates = len(page.view.arrays["plate_numbers"])
    words = drawn_words(person, page.is_on_poses, plates, filtered=not page.record.get("estimate"))
    return scene_context(data, SEEN, words, hidden_dots=page.is_on_poses)


@SECTIONS.section("own_figures", place=75, folded=True, template="{{ picture(name) }}")
def own_figures(page: TrialPage) -> list[Data]:
    """A section for every figure that names none, under the figure's title."""
    return [{"name": name, "title": page.view.figures[name].title} for name in page.figures_in.get("", ())]


def _figures_of(name: str) -> Callable[[TrialPage], Data | None]:
    """Return what fills a section of figures; None where there is none of them."""
    return lambda page: {"name": name} if page.figures_in.get(name) else None


for _name, _place, _title in _OF_FIGURES:
    _section = SECTIONS.section(_name, place=_place, title=_title, folded=True, template="\n{{ pictures(name) }}\n")
    _section(_figures_of(_name))
