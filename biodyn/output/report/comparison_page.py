"""Report of a comparison: both walks in one 3-D view, curves with a common cursor, and differences with their causes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup

from biodyn.comparison.differences import UNEXPLAINED, Difference
from biodyn.comparison.segments import PLANES
from biodyn.conventions import SIDE_NAMES, SIDES, FloatArray
from biodyn.output.figures.curves import CycleCurves, percent_axis, sort_bands_first, time_axis, unit_label, value_axis
from biodyn.output.figures.description import Area, Axis, Bars, Figure, Key, Layer, Line, Panel
from biodyn.output.figures.style import LEVEL_COLORS, SIDE_COLORS, apply_side_colors, report_setting
from biodyn.output.figures.svg import Described, render_svg, standard_grid, standard_page_variables
from biodyn.output.figures.trial import TrialView
from biodyn.output.report.formatted_parameters import round_for_page
from biodyn.output.report.page import Fact, Frame, Section, load_resource, render_page, render_section, script_json
from biodyn.output.report.scene import (
    MOST_BYTES,
    PERSON_COLORS,
    SCENE_TEMPLATE,
    scene_context,
    scene_explanation,
    scene_person,
    scene_values,
)
from biodyn.output.tables.optional_tables import ordered_causes
from biodyn.variables import PERCENT, is_known_variable, variable
from biodyn.variables.cycle_parameters import nan_statistics
from biodyn.variables.gait_variables import positive_about_transverse_axis

#: Template for the curves of two trials, filled with the values of `paired_curve_values`.
CURVES_TEMPLATE = '{% include "multi_trial_view.html.j2" %}'
_SEVERAL = (
    "The button or the key o superimposes the persons at the pelvis, or shows them side by side. By gait cycle, all persons are "
    "shown at the same per cent of the cycle. Arrows of superimposed persons have the colour of the person."
)
_ONE_PLACE = "Both analyses are shown at the same position in the laboratory and at the same time."


@dataclass(frozen=True)
class MeanCurve:
    """Mean and standard deviation (101,) over the cycles of a side, in clinical signs, with unit."""

    mean: FloatArray
    sd: FloatArray
    unit: str


#: By variable and side.
Means = Mapping[str, Mapping[str, MeanCurve]]


def mean_curves(curves: Mapping[str, Mapping[str, CycleCurves]]) -> dict[str, dict[str, MeanCurve]]:
    """Return the mean curves of a trial, without empty ones."""
    return {
        name: {side: MeanCurve(*nan_statistics(c.values), c.unit) for side, c in sides.items() if len(c.values)}
        for name, sides in curves.items()
    }


def multi_trial_scene(
    views: Mapping[str, TrialView], one_place: bool = False, most_bytes: int = MOST_BYTES
) -> dict[str, Any] | None:
    """Return the values for the 3-D view of several walks by name; None if no walk has a pose.

    Parameters: `one_place`: see `scene_values`; `most_bytes`: limit of the size of all walks together.
    """
    share = most_bytes // max(len(views), 1)
    persons = [
        scene_person(view.arrays, view.tables, view.record.get("contacts"), name, share) for name, view in views.items()
    ]
    scene = scene_values(persons, one_place)
    if scene is None:
        return None
    on_poses = any(view.record["static"].get("source") == "poses" for view in views.values())
    person = next((person for person in scene["persons"] if person["ghost"] is not None), scene["persons"][0])
    words = scene_explanation(person, on_poses, len(person["plates"]), filtered=None)
    several = len(scene["persons"]) > 1
    words = f"{words} {_ONE_PLACE if one_place else _SEVERAL}" if several else words
    names = " and ".join(person["name"] for person in scene["persons"])
    alt = f"The motion of {names}, with force plates and ground reaction forces"
    return scene_context(scene, alt, words, hidden_dots=on_poses)


def paired_curve_values(
    names: tuple[str, str],
    means: tuple[Means, Means],
    cycles: Sequence[Sequence[Any]],
    behind: Callable[[str], Sequence[Layer]] = lambda _: (),
    keys: Sequence[Key] = (),
) -> dict[str, Any] | None:
    """Return the values for `CURVES_TEMPLATE`: the standard page of two trials, one grid per side; None without common curves.

    Parameters: `cycles`: side, start and end, s, of each cycle of the first person in the 3-D view; `behind`: function that
    returns the layers of the norms of a variable; `keys`: their legend.
    """
    first, other = means
    shared = [name for name in standard_page_variables() if _common_sides(first, other, name)]
    if not shared:
        return None
    legend = [Key(name, color, width=2.0) for name, color in zip(names, PERSON_COLORS, strict=False)]

    def side_grid(side: str) -> Markup:
        known = [name for name in shared if side in _common_sides(first, other, name)]
        return standard_grid(known, lambda name: _mean_panel(name, side, means, behind(name)), [*legend, *keys])

    grids = [(side, SIDE_NAMES[side], drawn) for side in SIDES if (drawn := side_grid(side))]
    return {
        "grids": grids,
        "store": script_json(cursor_data(names, shared, means, cycles)),
        "script": load_resource("cursor.js"),
    }


def _common_sides(first: Means, other: Means, name: str) -> list[str]:
    return [side for side in SIDES if side in first.get(name, {}) and side in other.get(name, {})]


def _mean_panel(name: str, side: str, means: tuple[Means, Means], behind: Sequence[Layer]) -> Described:
    shown, layers = variable(name), list(behind)
    words = [f"{shown.title}, {SIDE_NAMES[side]}"]  # type: ignore[index]
    for curves, color in zip(means, PERSON_COLORS, strict=False):
        curve = curves[name][side]
        layers.append(Line(PERCENT, curve.mean, color, 2.0))
        if np.isfinite(curve.sd).any():
            layers.append(Area(PERCENT, curve.mean - curve.sd, curve.mean + curve.sd, color, 0.16))
        if np.isfinite(curve.mean).any():
            words.append(f"{np.nanmin(curve.mean):.3g} to {np.nanmax(curve.mean):.3g}")
    unit = means[0][name][side].unit
    return Panel(shown.title, percent_axis(), value_axis(shown, unit), sort_bands_first(layers)), "; ".join(words)


def cursor_data(
    names: Sequence[str], shared: Sequence[str], means: Sequence[Means], cycles: Sequence[Sequence[Any]]
) -> dict[str, Any]:
    """Return the values that the cursor displays: the variables `shared` by all `means`, and the names of the trials.

    A single trial has the name "". `cycles`: side, start and end, s, of the first person in the 3-D view.
    """
    listing = []
    for name in shared:
        entry = variable_entry(name, next(iter(means[0][name].values())).unit)
        trials = [
            {side: {"mean": round_for_page(curve.mean, entry["digits"])} for side, curve in trial[name].items()}
            for trial in means
        ]
        listing.append({**entry, **({"each": trials} if len(trials) > 1 else trials[0])})
    return {
        "variables": listing,
        "sides": cursor_sides(),
        "cycles": [list(cycle) for cycle in cycles],
        "names": list(names),
    }


def variable_entry(name: str, unit: str) -> dict[str, Any]:
    """Return name, title, axis label and decimals of a variable for the scripts of a page."""
    known = variable(name)
    return {
        "name": name,
        "label": known.title if is_known_variable(name) else name,
        "axis": f"{unit_label(unit)}, {known.positive} +",
        "digits": 1 if unit == "deg" else 3,
    }


def cursor_sides() -> dict[str, dict[str, str]]:
    """Return name and colour of each side for the scripts of a page."""
    return {side: {"name": SIDE_NAMES[side], "color": SIDE_COLORS[side]} for side in SIDES}


def differences_figure(
    differences: Sequence[Difference],
    time_s: FloatArray,
    names: tuple[str, str],
    max_curves: int = 12,
    max_bars: int = 8,
    min_share: float = 0.01,
) -> Figure:
    """Draw curves, and RMS differences divided by cause. The largest differences and causes of at least `min_share` are drawn."""
    moments = [difference for difference in differences if difference.quantity == "moment"] or list(differences)
    panels = [
        Panel(
            _difference_title(moment),
            time_axis(time_s, "time (s)"),
            Axis(_unit_and_sign(moment), holds=(0.0,), grid=True),
            (Line(time_s, moment.first, "ink", 2.0), Line(time_s, moment.other, "limit", 1.8)),
            corner=f"RMS {moment.rms:.2g} {moment.unit}",
        )
        for moment in _largest_differences(
            [moment for moment in moments if moment.plane == moments[0].plane], max_curves
        )
    ]
    causes = [
        cause
        for cause in ordered_causes(moments)
        if cause == UNEXPLAINED or any(abs(moment.shares.get(cause, 0.0)) > min_share for moment in moments)
    ]
    colors = dict(zip(causes, (*LEVEL_COLORS, "#0072B2", "#D55E00", "#8c6d31", "#b3de69", "#999999"), strict=False))
    keys = (
        Key(names[0], "ink", width=2.0),
        Key(names[1], "limit", width=1.8),
        *(Key(cause, color, "area") for cause, color in colors.items()),
    )
    divided = [moment for moment in moments if moment.shares]
    for plane in dict.fromkeys(moment.plane for moment in divided):
        panels.append(
            _difference_bars(
                _largest_differences([moment for moment in divided if moment.plane == plane], max_bars), colors
            )
        )
    return Figure("Differences and their causes", tuple(panels), keys, columns=3)


def _largest_differences(differences: Sequence[Difference], count: int) -> list[Difference]:
    """Return the largest differences in their original order."""
    order = sorted(range(len(differences)), key=lambda i: -differences[i].rms)[:count]
    return [differences[i] for i in sorted(order)]


def _difference_title(difference: Difference) -> str:
    if difference.is_coordinate_torque:
        return difference.title
    side = SIDE_NAMES.get(difference.side, "")
    return f"{side} {difference.joint}, {difference.plane} {difference.quantity}".strip()


def _unit_and_sign(difference: Difference) -> str:
    """Return the unit, and the meaning of positive values if it is known."""
    positive = positive_about_transverse_axis(difference.joint) if difference.plane == PLANES[0] else ""
    return f"{difference.unit}, {positive} +" if positive else difference.unit


def _difference_bars(rows: Sequence[Difference], colors: dict[str, str]) -> Panel:
    """Draw a horizontal bar per difference, as long as its RMS and divided by causes; negative shares are left of zero."""
    at = -np.arange(len(rows), dtype=np.float64)
    positive, negative = np.zeros(len(rows)), np.zeros(len(rows))
    layers = []
    for cause, color in colors.items():
        length = np.array([row.rms * row.shares.get(cause, 0.0) for row in rows])
        base = np.where(length >= 0.0, positive, negative)
        layers.append(Bars(at, base, base + length, 0.75, color, horizontal=True))
        positive, negative = positive + np.maximum(length, 0.0), negative + np.minimum(length, 0.0)
    ticks = tuple((float(y), f"{row.joint} {row.side.upper()}".strip()) for y, row in zip(at, rows, strict=True))
    return Panel(
        f"RMS by cause, {rows[0].plane}",
        Axis(f"{rows[0].unit}; negative: offsets other causes", holds=(0.0,), grid=True),
        Axis("", limits=(float(at[-1]) - 0.7, 0.7), ticks=ticks),
        tuple(layers),
    )


def render_comparison_page(
    names: tuple[str, str],
    views: Sequence[TrialView],
    one_recording: bool,
    lines: Sequence[str],
    rows: Sequence[tuple[str, str, str, str]],
    figure: Figure,
    program: str,
) -> str:
    """Return the page of a comparison.

    Parameters: `names`: names of the two results; `views`: stored values of those results that biodyn computed;
    `one_recording`: True if both are analyses of the same recording; `lines`: summary; `rows`: table of differences; `figure`:
    figure of the causes; `program`: version of biodyn.
    """
    listing = '<ul class="causes">{% for line in lines %}<li>{{ line }}</li>{% endfor %}</ul>'
    summary = render_section("summary", "Differences and causes", listing, lines=lines)
    distinct = names if names[0] != names[1] else (f"{names[0]} (first)", f"{names[1]} (second)")
    sections: list[Section] = [summary]
    if len(views) == len(names):
        by_name = dict(zip(distinct, views, strict=True))
        scene = multi_trial_scene(by_name, one_recording, most_bytes=len(views) * MOST_BYTES)
        if scene is not None:
            sections.insert(0, render_section("scene", "Both in 3-D", SCENE_TEMPLATE, css="scene", **scene))
        first, other = (mean_curves(view.curves) for view in views)
        cycles = views[0].tables["spatiotemporal"][["side", "start_s", "end_s"]].astype({"side": str})
        curves = paired_curve_values(distinct, (first, other), cycles.to_numpy().tolist())
        if curves is not None:
            sections.append(render_section("curves", "Curves over the gait cycle", CURVES_TEMPLATE, **curves))
    drawing = "<figure>{{ drawn }}</figure>"
    sections.append(render_section("causes", "Causes", drawing, drawn=render_svg(figure), folded=len(sections) > 1))
    table = '{% from "macros.html.j2" import table %}{{ table(heads, rows, "tight") }}'
    heads = ("difference in", "#RMS", "#RMS of the first", "causes")
    cells = [(*row[:3], row[3] or "–") for row in rows]
    sections.append(render_section("differences", "All differences", table, heads=heads, rows=cells, folded=True))
    frame = Frame(
        title="Comparison",
        heading="Comparison",
        line="",
        facts=[Fact("First", names[0]), Fact("Second", names[1])],
        program=program,
        foot="This page needs no network.",
    )
    colors = report_setting(views[0].record, "colors") if views else ""
    return str(apply_side_colors(render_page(frame, sections), colors))
