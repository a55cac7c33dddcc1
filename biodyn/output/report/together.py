"""Several walks together: their persons in one 3-D view, and the means of two over the gait cycle with one cursor for both."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup

from biodyn.conventions import SIDE_NAMES, SIDES, FloatArray
from biodyn.output.figures.curves import (
    CycleCurves,
    bands_first,
    nan_statistics,
    percent_axis,
    unit_words,
    value_axis,
)
from biodyn.output.figures.description import Area, Key, Layer, Line, Panel
from biodyn.output.figures.style import SIDE_COLORS
from biodyn.output.figures.svg import Described, standard_grid, standard_names
from biodyn.output.report.page import page_environment, resource, script_json
from biodyn.output.report.scene import MOST_BYTES, PERSON_COLORS, scene_of, scene_person
from biodyn.output.report.sections.scene import drawn_words, scene_context
from biodyn.output.report.view import TrialView
from biodyn.variables import PERCENT, is_known, variable

#: A 3-D view in a page.
SCENE_TEMPLATE = '{% include "scene.html.j2" %}'
#: Curves of two in a page; filled with what `pair_curves` returns.
CURVES_TEMPLATE = '{% include "together.html.j2" %}'
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


def together_scene(
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
    """Return what the cursor's script reads out: the variables `shared` by all of `means`, which have these names.

    One alone has the name "". `cycles`: side, start and end, s, of the first person in the 3-D view.
    """
    listing = []
    for name in shared:
        shown, unit = variable(name), next(iter(means[0][name].values())).unit
        digits = 1 if unit == "deg" else 3
        of_each = [{side: {"mean": _rounded(curve.mean, digits)} for side, curve in one[name].items()} for one in means]
        listing.append(
            {
                "name": name,
                "label": shown.title if is_known(name) else name,
                "axis": f"{unit_words(unit)}, {shown.positive} +",
                "digits": digits,
                **({"each": of_each} if len(of_each) > 1 else of_each[0]),
            }
        )
    sides = {side: {"name": SIDE_NAMES[side], "color": SIDE_COLORS[side]} for side in SIDES}
    return {"variables": listing, "sides": sides, "cycles": [list(one) for one in cycles], "names": list(names)}


def _rounded(values: FloatArray, digits: int) -> list[float | None]:
    return [round(value, digits) + 0.0 if np.isfinite(value) else None for value in values.tolist()]
