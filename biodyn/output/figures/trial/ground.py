"""Describe the figures of the ground reaction and of the whole trial."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any

import numpy as np
import pandas as pd

from biodyn.conventions import SIDE_NAMES, SIDES, FloatArray, Side, with_side
from biodyn.output.figures.curves import (
    COLUMNS,
    MEAN,
    UNMEASURED_KEY,
    cycle_figure,
    cycle_panel,
    display_table,
    evenly_spaced_rows,
    force_lines,
    lowest_panel_labels,
    shade_unmeasured,
    side_key,
    stance_curves,
    time_axis,
    top_view_points,
    unit_label,
    value_axis,
)
from biodyn.output.figures.description import Axis, Figure, Key, Layer, Line, Outline, Panel, Points, Span, Strip, Text
from biodyn.output.figures.style import DASHED
from biodyn.output.figures.trial import Describe, TrialView, figure
from biodyn.variables import variable

_CAPTION = "Over the trial, without gait cycles. Grey: the ground reaction of a foot was not measured."
# Suffix of a variable, its table, the suffix of its column, and its unit in figures.
_PLACES = (
    ("_moment", "joint_torques", "_Nm", "Nm/kg"),
    ("_power", "joint_powers", "_W", "W/kg"),
    ("", "joint_angles", "_deg", "deg"),
)


def figure_over_time(trial: TrialView, title: str, names: Sequence[str]) -> Figure | None:
    """Return one panel per variable over time; None if the tables contain none of them."""
    panels = _time_panels(trial, names, COLUMNS)
    if not panels:
        return None
    keys: list[Key] = [*(side_key(side) for side in SIDES), UNMEASURED_KEY]
    return Figure(title, tuple(panels), tuple(keys), min(COLUMNS, len(panels)), caption=_CAPTION)


def _time_panels(trial: TrialView, names: Sequence[str], columns: int, both_sides: bool = False) -> list[Panel]:
    """Return one panel over time for each available variable in a grid of `columns`; loads have a grey background if not
    measured.

    `both_sides`: whether to omit variables of the midline.
    """
    available = {name: lines for name in names if (lines := _curve_lines(trial, name, both_sides))}
    outside = shade_unmeasured(trial.tables["ground_reaction"], trial.sides)
    panels = []
    for (name, lines), label in zip(
        available.items(), lowest_panel_labels("time (s)", len(available), columns), strict=True
    ):
        suffix, *_, unit = _variable_source(name)
        layers: tuple[Layer, ...] = (outside, *lines) if suffix else lines
        panels.append(Panel(_panel_title(name), time_axis(lines[0].x, label), _unit_axis(unit), layers))
    return panels


def _variable_source(name: str) -> tuple[str, str, str, str]:
    return next(place for place in _PLACES if name.endswith(place[0]))


def _curve_lines(trial: TrialView, name: str, both_sides: bool) -> tuple[Line, ...]:
    ending, table_name, unit_ending, unit = _variable_source(name)
    table: pd.DataFrame | None = trial.tables.get(table_name)
    if table is None:
        return ()
    stem, factor = name.removesuffix(ending), 1.0 / trial.mass_kg if unit.endswith("/kg") else 1.0
    lines = []
    for side in SIDES if both_sides else (*SIDES, ""):
        coordinate, sign = trial.coordinate(stem, side)
        if ending == "_power":  # column named after the variable, also for an imported model
            coordinate, sign = with_side(stem, side), 1.0
        if (column := f"{coordinate}{unit_ending}") in table:
            shown_side = side or SIDES[0]
            values = sign * variable(name).clinical_factor(shown_side) * factor * table[column].to_numpy(dtype=float)
            lines.append(Line(table["time_s"].to_numpy(dtype=float), values, SIDE_NAMES[shown_side]))
    return tuple(lines)


_SHADED = " Shaded: one standard deviation of the input errors (see Uncertainty)."


def cycle_figure_function(entry: Mapping[str, Any]) -> Describe:
    """Return the function that describes the figure of an entry. The function returns None if the skeleton has none of the
    variables of the entry."""

    def describe_cycle_figure(trial: TrialView) -> Figure | None:
        names = entry["panels"]
        if not trial.curves:
            return figure_over_time(trial, entry["title"], names)
        if not any(name in trial.curves for name in names):
            return None
        drawn = cycle_figure(entry["title"], trial.curves, names, trial.foot_off_percent, trial.norms, trial.bands)
        shaded = _SHADED if any(name in trial.bands and name in trial.curves for name in names) else ""
        return replace(drawn, caption=entry["caption"] + shaded)

    return describe_cycle_figure


for _place, _entry in enumerate(display_table()["figure"]):
    figure(_entry["name"], 10 + 0.01 * _place, ("gait_cycles", "spatiotemporal", "ground_reaction"), "cycles")(
        cycle_figure_function(_entry)
    )


_TOP_VIEW_CAPTION = (
    "Plates seen from above: foot outlines at mid-contact and paths of the centre of pressure, of at most "
    f"{display_table()['most_single']} contacts of each foot with each plate."
)


@figure("centre_of_pressure", place=30, needs=("ground_reaction", "contacts"), section="ground")
def centre_of_pressure_figure(trial: TrialView) -> Figure | None:
    """Return the top view of plates with numbers, foot outlines of contacts, and paths of assigned contacts.

    The result is None for a model with given forces and no plates.
    """
    if trial.record["static"].get("source") == "model" and not len(trial.arrays["plate_numbers"]):
        return None
    numbers, corners_W = trial.arrays["plate_numbers"].tolist(), trial.arrays["plate_corners_W"]
    plates = dict(zip(numbers, corners_W, strict=True))
    corners = np.concatenate([top_view_points(plate) for plate in plates.values()]) if plates else np.zeros((1, 2))
    low, high = corners.min(axis=0) - 0.15, corners.max(axis=0) + 0.15  # margin, m
    layers: list[Layer] = []
    outlined = trial.arrays.get("plate_outlined", np.ones(len(plates), dtype=bool))
    for (number, plate), known in zip(plates.items(), outlined.tolist(), strict=True):
        if known:
            layers.append(Outline(top_view_points(plate), "plate_edge", fill="plate"))
        x, y = top_view_points(plate).min(axis=0) + 0.015  # m from the edge
        layers.append(Text(float(x), float(y), f"plate {number}" + ("" if known else " (edges unknown)")))
    ground = trial.tables["ground_reaction"]
    time_s = ground["time_s"].to_numpy()
    paths = {
        side: top_view_points(ground[[f"centre_of_pressure_{side}_{axis}_m" for axis in "xyz"]].to_numpy())
        for side in SIDES
        if f"centre_of_pressure_{side}_x_m" in ground
    }
    contacts, soles = trial.tables["contacts"], _sole_outlines(trial)
    alike = contacts.groupby(["plate", "side", "decision"], dropna=False, observed=True).indices.values()
    for row in sorted(int(rows[k]) for rows in alike for k in evenly_spaced_rows(len(rows))):
        layers += _contact_layers(time_s, paths, contacts.iloc[row].to_dict(), soles[row], low, high)
    panel = Panel(
        "Centre of pressure (top view)",
        Axis("forward, direction of World X (m)", limits=(float(low[0]), float(high[0])), grid=True),
        Axis("to the left (m)", limits=(float(low[1]), float(high[1])), grid=True),
        tuple(layers),
        note="" if plates else "no plate",
        equal=True,
    )
    keys = [Key(f"{SIDE_NAMES[side]} (dot: strike)", SIDE_NAMES[side], width=MEAN, point=True) for side in SIDES]
    keys.append(Key("foot outline of a contact that was not used", "limit", width=1.5, dash=DASHED))
    height = float(np.clip(926.0 * (high[1] - low[1]) / (high[0] - low[0]), 165.0, 355.0))  # width 926 pixels
    return Figure("Centre of pressure", (panel,), tuple(keys), 1, height, caption=_TOP_VIEW_CAPTION)


def _sole_outlines(trial: TrialView) -> list[FloatArray]:
    """Return the outlines (2, K, 3) m in World of the right and left sole for every contact."""
    outlines = list(trial.arrays["contact_soles_W"])
    unknown = np.full((len(SIDES), 1, 3), np.nan)
    return outlines + [unknown] * (len(trial.tables["contacts"]) - len(outlines))


def _contact_layers(
    time_s: FloatArray,
    paths: Mapping[Side, FloatArray],
    contact: Mapping[Any, Any],
    outlines: FloatArray,
    low: FloatArray,
    high: FloatArray,
) -> list[Layer]:
    """Return the layers of a contact; paths: centre of pressure (T, 2) m of each foot in the top view."""
    side, assigned = str(contact["side"]), str(contact["decision"]) == "assigned"
    color = SIDE_NAMES.get(side, "limit") if assigned else "limit"
    layers: list[Layer] = []
    for of_side, outline_W in zip(SIDES, outlines, strict=True):
        outline = top_view_points(outline_W)
        wanted = side not in SIDES or of_side == side
        if (
            wanted
            and np.isfinite(outline).all()
            and ((low <= outline.mean(axis=0)) & (outline.mean(axis=0) <= high)).all()
        ):
            layers.append(Outline(outline, color, opacity=0.8, dash=() if assigned else DASHED))
    if assigned and side in SIDES:
        first, last = np.searchsorted(time_s, contact["start_s"]), np.searchsorted(time_s, contact["end_s"], "right")
        x, y = paths[side][first:last].T
        layers.append(Line(x, y, color, MEAN))
        start = np.flatnonzero(np.isfinite(x) & np.isfinite(y))[:1]
        layers.append(Points(x[start], y[start], color))
    return layers


_STANCE = display_table()["stance_figure"]
_STANCE_CAPTION = (
    "GRF of each foot in body weights: over the trial, and over the stances measured from foot strike to foot off."
)


@figure(_STANCE["name"], place=20, needs=("ground_reaction", "events"), section="ground")
def ground_reaction_figure(trial: TrialView) -> Figure | None:
    """Return the GRF in body weights over the trial (top) and over stance (bottom); None without a known foot."""
    if not trial.sides:
        return None
    names, ground = _STANCE["panels"], trial.tables["ground_reaction"]
    stances = stance_curves(trial.tables["events"], ground, names, trial.weight_n)
    above, below = [], []
    for name, label in zip(names, lowest_panel_labels("stance (%)", len(names)), strict=True):
        shown = variable(name)
        lines = force_lines(ground, name, trial.weight_n)
        x = time_axis(lines[0].x)
        above.append(
            Panel(f"{shown.title}, trial", x, value_axis(shown, "BW"), (shade_unmeasured(ground, trial.sides), *lines))
        )
        stance = replace(shown, title=f"{shown.title}, stance")
        below.append(cycle_panel(stance, stances[name], {}, label=label))
    keys = (*(side_key(side) for side in SIDES), UNMEASURED_KEY)
    return Figure(_STANCE["title"], (*above, *below), keys, min(COLUMNS, len(names)), caption=_STANCE_CAPTION)


_OVERVIEW = display_table()["overview"]
_FORCE = display_table()["stance_figure"]["panels"][0]
_OVERVIEW_CAPTION = (
    "Bars: foot-plate contacts. Grey: a foot was on the floor outside the plates, and its leg has no moments."
)


@figure(
    _OVERVIEW["name"], place=70, needs=("joint_angles", "joint_torques", "ground_reaction", "contacts"), section="trial"
)
def whole_trial_figure(trial: TrialView) -> Figure | None:
    """Return the vertical force above bars of the plate contacts, and below angles (left) and moments (right)."""
    if not trial.sides:
        return None
    ground = trial.tables["ground_reaction"]
    time_s = ground["time_s"].to_numpy()
    layers: tuple[Layer, ...] = (shade_unmeasured(ground, trial.sides), *force_lines(ground, _FORCE, trial.weight_n))
    strips = contact_strips(trial.tables["contacts"])
    force = Panel(_panel_title(_FORCE), time_axis(time_s), _unit_axis("BW"), layers, strips, span=2)
    angles, moments = (_time_panels(trial, _OVERVIEW[kind], 1, both_sides=True) for kind in ("angles", "moments"))
    pairs = [panel for pair in zip_longest(angles, moments) for panel in pair]
    keys = (*(side_key(side) for side in SIDES), Key("contact not used", "limit", "area"), UNMEASURED_KEY)
    return Figure(_OVERVIEW["title"], (force, *pairs), keys, 2, height=118.0, caption=_OVERVIEW_CAPTION)


def contact_strips(contacts: pd.DataFrame) -> tuple[Strip, ...]:
    """Return one strip per plate with its contacts in the colour of the side, red if not used."""
    spans: dict[int, list[Span]] = {}
    for contact in contacts.to_dict("records"):
        side, decision = str(contact["side"]), str(contact["decision"])
        color = SIDE_NAMES.get(side, "limit") if decision == "assigned" else "limit"
        words = f"{SIDE_NAMES.get(side, 'no')} foot, {decision}"
        start, end = float(contact["start_s"]), float(contact["end_s"])
        spans.setdefault(int(contact["plate"]), []).append(Span(start, end, words, color))
    return tuple(Strip(f"plate {plate}", "limit", tuple(of_plate)) for plate, of_plate in sorted(spans.items()))


def _panel_title(name: str) -> str:
    return f"{variable(name).title} ({variable(name).positive} +)"


def _unit_axis(unit: str) -> Axis:
    return Axis(unit_label(unit), holds=(0.0,), grid=True)
