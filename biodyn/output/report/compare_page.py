"""report.html of a comparison: two walks in one 3-D view, their curves with one cursor, and where and why they differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup

from biodyn.comparison.differences import UNEXPLAINED, Difference
from biodyn.comparison.segments import PLANES
from biodyn.conventions import SIDE_NAMES, SIDES, FloatArray
from biodyn.output.figures.curves import (
    CycleCurves,
    bands_first,
    nan_statistics,
    percent_axis,
    time_axis,
    unit_words,
    value_axis,
)
from biodyn.output.figures.description import Area, Axis, Bars, Figure, Key, Layer, Line, Panel
from biodyn.output.figures.style import LEVEL_COLORS, SIDE_COLORS
from biodyn.output.figures.svg import Described, standard_grid, standard_names, svg
from biodyn.output.figures.trial import TrialView
from biodyn.output.report.numbers import rounded
from biodyn.output.report.page import Fact, Frame, Section, framed, page_environment, resource, script_json
from biodyn.output.report.scene import (
    MOST_BYTES,
    PERSON_COLORS,
    SCENE_TEMPLATE,
    drawn_words,
    scene_context,
    scene_of,
    scene_person,
)
from biodyn.output.tables.on_request import causes_in
from biodyn.variables import PERCENT, is_known, variable
from biodyn.variables.meaning import positive_about_transverse_axis

#: Curves of two in a page; filled with what `pair_curves` returns.
CURVES_TEMPLATE = '{% include "multi_trial_view.html.j2" %}'
_SEVERAL = (
    "The button or key o lays the persons over each other, pelvis on pelvis, or side by side; by gait cycle, all are at the same "
    "per cent of a cycle. Arrows of persons over each other have the person's colour."
)
_ONE_PLACE = "Both analyses stand in the same place of the laboratory, at the same time."


@dataclass(frozen=True)
class MeanCurve:
    """Mean and standard deviation (101,) over the cycles of a side, in the clinical sign, with their unit."""

    mean: FloatArray
    sd: FloatArray
    unit: str


#: By variable and side.
Means = Mapping[str, Mapping[str, MeanCurve]]


def means_of(curves: Mapping[str, Mapping[str, CycleCurves]]) -> dict[str, dict[str, MeanCurve]]:
    """Return the means of a trial's cycles, of those that it has."""
    return {
        name: {side: MeanCurve(*nan_statistics(own.values), own.unit) for side, own in sides.items() if len(own.values)}
        for name, sides in curves.items()
    }


def multi_trial_scene(
    views: Mapping[str, TrialView], one_place: bool = False, most_bytes: int = MOST_BYTES
) -> dict[str, Any] | None:
    """Return what the template of a 3-D view of several walks, by name, is filled with; None where nobody has a pose.

    Parameters: `one_place` see `scene_of`, `most_bytes` of all of them.
    """
    share = most_bytes // max(len(views), 1)
    persons = [
        scene_person(view.arrays, view.tables, view.record.get("contacts"), name, share) for name, view in views.items()
    ]
    scene = scene_of(persons, one_place)
    if scene is None:
        return None
    on_poses = any(view.record["static"].get("source") == "poses" for view in views.values())
    person = next((one for one in scene["persons"] if one["ghost"] is not None), scene["persons"][0])
    words = drawn_words(person, on_poses, len(person["plates"]), filtered=None)
    several = len(scene["persons"]) > 1
    said = f"{words} {_ONE_PLACE if one_place else _SEVERAL}" if several else words
    seen = f"The motion of {' and '.join(one['name'] for one in scene['persons'])}, with force plates and ground reaction forces"
    return scene_context(scene, seen, said, hidden_dots=on_poses)


def scene_markup(context: Mapping[str, Any]) -> Markup:
    """Return the markup of a 3-D view of what its template is filled with."""
    return Markup(page_environment().from_string(SCENE_TEMPLATE).render(context))


def pair_curves(
    names: tuple[str, str],
    means: tuple[Means, Means],
    cycles: Sequence[Sequence[Any]],
    behind: Callable[[str], Sequence[Layer]] = lambda _: (),
    keys: Sequence[Key] = (),
) -> dict[str, Any] | None:
    """Return what `CURVES_TEMPLATE` is filled with: the standard page of both, a grid a side; None where they share no curve.

    Parameters: `cycles` side, start, end of the first person in the 3-D view; `behind` layers of norms of a variable, with their
    `keys`.
    """
    first, other = means
    shared = [name for name in standard_names() if _sides(first, other, name)]
    if not shared:
        return None
    legend = [Key(name, color, width=2.0) for name, color in zip(names, PERSON_COLORS, strict=False)]

    def grid(side: str) -> Markup:
        known = [name for name in shared if side in _sides(first, other, name)]
        return standard_grid(known, lambda name: _panel(name, side, means, behind(name)), [*legend, *keys])

    grids = [(side, SIDE_NAMES[side], drawn) for side in SIDES if (drawn := grid(side))]
    return {
        "grids": grids,
        "store": script_json(cursor_data(names, shared, means, cycles)),
        "script": resource("cursor.js"),
    }


def _sides(first: Means, other: Means, name: str) -> list[str]:
    return [side for side in SIDES if side in first.get(name, {}) and side in other.get(name, {})]


def _panel(name: str, side: str, means: tuple[Means, Means], behind: Sequence[Layer]) -> Described:
    shown, layers = variable(name), list(behind)
    words = [f"{shown.title}, {SIDE_NAMES[side]}"]  # type: ignore[index]
    for one, color in zip(means, PERSON_COLORS, strict=False):
        curve = one[name][side]
        layers.append(Line(PERCENT, curve.mean, color, 2.0))
        if np.isfinite(curve.sd).any():
            layers.append(Area(PERCENT, curve.mean - curve.sd, curve.mean + curve.sd, color, 0.16))
        if np.isfinite(curve.mean).any():
            words.append(f"{np.nanmin(curve.mean):.3g} to {np.nanmax(curve.mean):.3g}")
    unit = means[0][name][side].unit
    return Panel(shown.title, percent_axis(), value_axis(shown, unit), bands_first(layers)), "; ".join(words)


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
            {side: {"mean": rounded(curve.mean, entry["digits"])} for side, curve in trial[name].items()}
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
        "label": known.title if is_known(name) else name,
        "axis": f"{unit_words(unit)}, {known.positive} +",
        "digits": 1 if unit == "deg" else 3,
    }


def cursor_sides() -> dict[str, dict[str, str]]:
    """Return name and colour of each side for the scripts of a page."""
    return {side: {"name": SIDE_NAMES[side], "color": SIDE_COLORS[side]} for side in SIDES}


_MORE_COLORS = ("#0072B2", "#D55E00", "#8c6d31", "#b3de69", "#999999")
# More would not be read: those that differ most are drawn.
_MOST_CURVES, _MOST_BARS = 12, 8
# Causes below this share of every row are not drawn.
_LEAST = 0.01


def differences_figure(found: Sequence[Difference], time_s: FloatArray, names: tuple[str, str]) -> Figure:
    """Curves above, RMS differences in parts below."""
    moments = [one for one in found if one.quantity == "moment"] or list(found)
    curves = [one for one in moments if one.plane == moments[0].plane]
    largest = sorted(curves, key=lambda one: -one.rms)[:_MOST_CURVES]
    curves = [one for one in curves if any(one is other for other in largest)]
    panels = [
        Panel(
            _title(one),
            time_axis(time_s, "time (s)"),
            Axis(_unit_and_sign(one), holds=(0.0,), grid=True),
            (Line(time_s, one.first, "ink", 2.0), Line(time_s, one.other, "limit", 1.8)),
            corner=f"RMS {one.rms:.2g} {one.unit}",
        )
        for one in curves
    ]
    causes = [
        c for c in causes_in(moments) if c == UNEXPLAINED or any(abs(o.shares.get(c, 0.0)) > _LEAST for o in moments)
    ]
    colors = dict(zip(causes, (*LEVEL_COLORS, *_MORE_COLORS), strict=False))
    rows = [one for one in moments if one.shares]
    keys = (
        Key(names[0], "ink", width=2.0),
        Key(names[1], "limit", width=1.8),
        *(Key(cause, colors[cause], "area") for cause in causes if cause in colors),
    )
    for plane in dict.fromkeys(one.plane for one in rows):
        own = sorted((one for one in rows if one.plane == plane), key=lambda one: -one.rms)[:_MOST_BARS]
        panels.append(_bars([one for one in rows if any(one is other for other in own)], colors))
    return Figure("Differences and their causes", tuple(panels), keys, columns=3)


def _title(one: Difference) -> str:
    if one.of_coordinate:
        return one.title
    return f"{SIDE_NAMES.get(one.side, '')} {one.joint}, {one.plane} {one.quantity}".strip()


def _unit_and_sign(one: Difference) -> str:
    """The unit, and what is positive where that is known: of the torque of a coordinate its name tells."""
    positive = positive_about_transverse_axis(one.joint) if one.plane == PLANES[0] else ""
    return f"{one.unit}, {positive} +" if positive else one.unit


def _bars(rows: Sequence[Difference], colors: dict[str, str]) -> Panel:
    """One lying bar a row, as long as the RMS difference, cut by its shares; negative shares lie left of zero."""
    at = -np.arange(len(rows), dtype=np.float64)
    right, left = np.zeros(len(rows)), np.zeros(len(rows))
    layers = []
    for cause, color in colors.items():
        size = np.array([one.rms * one.shares.get(cause, 0.0) for one in rows])
        base = np.where(size >= 0.0, right, left)
        layers.append(Bars(at, base, base + size, 0.75, color, lying=True))
        right, left = right + np.maximum(size, 0.0), left + np.minimum(size, 0.0)
    ticks = tuple((float(y), f"{one.joint} {one.side.upper()}".strip()) for y, one in zip(at, rows, strict=True))
    unit = rows[0].unit
    return Panel(
        f"RMS by cause, {rows[0].plane}",
        Axis(f"{unit}; negative: offsets other causes", holds=(0.0,), grid=True),
        Axis("", limits=(float(at[-1]) - 0.7, 0.7), ticks=ticks),
        tuple(layers),
    )


_SUMMARY = """<ul class="causes">{% for line in lines %}<li>{{ line }}</li>{% endfor %}</ul>"""
_DIFFERENCES = """
<div class="scroll"><table class="tight"><thead>
<tr><th>difference in</th><th class="number">RMS</th><th class="number">RMS of the first</th><th>causes</th></tr></thead><tbody>
{% for what, rms, size, why in rows %}
<tr><td>{{ what }}</td><td class="number">{{ rms }}</td><td class="number">{{ size }}</td><td>{{ why or "–" }}</td></tr>
{% endfor %}
</tbody></table></div>
"""
_FIGURE = "<figure>{{ drawn }}</figure>"


def compare_page(
    names: tuple[str, str],
    views: Sequence[TrialView],
    one_recording: bool,
    lines: Sequence[str],
    rows: Sequence[tuple[str, str, str, str]],
    figure: Figure,
    program: str,
) -> str:
    """Return the page.

    Parameters: `names` of the two; `views` of those that are results, none of other software's files; `one_recording` whether
    they are analyses of the same; `lines` the summary, `rows` of the differences, `figure` of the causes, `program` version of
    biodyn.
    """
    summary = _section("summary", "Where they differ, and why", _SUMMARY, lines=lines)
    sections: list[Section] = []
    by_name = dict(zip(_distinct(names), views, strict=False))
    if len(views) == len(names):
        scene = multi_trial_scene(by_name, one_recording, most_bytes=len(views) * MOST_BYTES)
        if scene is not None:
            sections.append(_section("scene", "Both in 3-D", SCENE_TEMPLATE, **scene))
        sections.append(summary)
        first, other = (means_of(view.curves) for view in views)
        cycles = (
            views[0].tables["spatiotemporal"][["side", "start_s", "end_s"]].astype({"side": str}).to_numpy().tolist()
        )
        curves = pair_curves(_distinct(names), (first, other), cycles)
        if curves is not None:
            sections.append(_section("curves", "Curves over the gait cycle", CURVES_TEMPLATE, **curves))
    else:
        sections.append(summary)
    sections.append(_section("causes", "Causes", _FIGURE, drawn=svg(figure), folded=len(sections) > 1))
    sections.append(_section("differences", "All differences", _DIFFERENCES, rows=rows, folded=True))
    frame = Frame(
        title="Comparison",
        heading="Comparison",
        line="",
        facts=[Fact("First", names[0]), Fact("Second", names[1])],
        program=program,
        foot="This page needs no network.",
    )
    return framed(frame, sections)


def _distinct(names: tuple[str, str]) -> tuple[str, str]:
    """Two names that differ."""
    return names if names[0] != names[1] else (f"{names[0]} (first)", f"{names[1]} (second)")


def _section(name: str, title: str, template: str, folded: bool = False, **data: object) -> Section:
    body = Markup(page_environment().from_string(template).render(data))
    return Section(
        name, title, body, link=title.partition(",")[0], css="scene" if name == "scene" else "", folded=folded
    )
