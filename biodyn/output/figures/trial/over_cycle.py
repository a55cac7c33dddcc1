"""Figures over the gait cycle: one for every entry of library/figures/display.toml."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from biodyn.conventions import SIDE_NAMES, SIDES
from biodyn.output.figures.curves import (
    COLUMNS,
    UNMEASURED_KEY,
    TrialValues,
    cycle_figure,
    display_table,
    labels_below,
    side_key,
    time_axis,
    unit_words,
    unmeasured,
)
from biodyn.output.figures.description import Axis, Figure, Key, Layer, Line, Panel
from biodyn.output.figures.trial import Describe, figure
from biodyn.variables import variable

_CAPTION = "Through the trial: no gait cycles were found in it. Grey: the ground reaction of a foot was not measured."
# Where a variable stands: the end of its name, the table, the end of its column there, and its unit here.
_PLACES = (
    ("_moment", "joint_torques", "_Nm", "Nm/kg"),
    ("_power", "joint_powers", "_W", "W/kg"),
    ("", "joint_angles", "_deg", "deg"),
)


def figure_over_time(trial: TrialValues, title: str, names: Sequence[str]) -> Figure | None:
    """A panel a variable over time; None where the tables hold none of them."""
    found = {name: lines for name in names if (lines := _lines(trial, name))}
    if not found:
        return None
    behind = (unmeasured(trial.tables["ground_reaction"], trial.sides),)
    panels = []
    for (name, lines), label in zip(found.items(), labels_below("time (s)", len(found)), strict=True):
        shown = variable(name)
        y = Axis(unit_words(_table_of(name)[-1]), holds=(0.0,), grid=True)
        layers: tuple[Layer, ...] = (*behind, *lines) if _table_of(name)[0] else lines
        panels.append(Panel(f"{shown.title} ({shown.positive} +)", time_axis(lines[0].x, label), y, layers))
    keys: list[Key] = [*(side_key(side) for side in SIDES), UNMEASURED_KEY]
    return Figure(title, tuple(panels), tuple(keys), min(COLUMNS, len(panels)), caption=_CAPTION)


def _as_named(variable: str, side: str) -> tuple[str, float]:
    return f"{variable}_{side}" if side else variable, 1.0


def _table_of(name: str) -> tuple[str, str, str, str]:
    return next(place for place in _PLACES if name.endswith(place[0]))


def _lines(trial: TrialValues, name: str) -> tuple[Line, ...]:
    ending, table_name, unit_ending, unit = _table_of(name)
    table: pd.DataFrame | None = trial.tables.get(table_name)
    if table is None:
        return ()
    stem, factor = name.removesuffix(ending), 1.0 / trial.mass_kg if unit.endswith("/kg") else 1.0
    own = trial.coordinate if ending != "_power" else _as_named
    columns = {side: own(stem, side) for side in SIDES}
    time_s = table["time_s"].to_numpy(dtype=float)
    lines = [
        Line(
            time_s,
            sign * variable(name).clinical(side) * factor * table[column].to_numpy(dtype=float),
            SIDE_NAMES[side],
        )
        for side, (coordinate, sign) in columns.items()
        if (column := f"{coordinate}{unit_ending}") in table
    ]
    coordinate, sign = own(stem, "")
    if f"{coordinate}{unit_ending}" in table:
        side = SIDES[0]
        values = sign * variable(name).clinical(side) * factor
        lines.append(Line(time_s, values * table[f"{coordinate}{unit_ending}"].to_numpy(dtype=float), SIDE_NAMES[side]))
    return tuple(lines)


_SHADED = " Shaded: one standard deviation of the input errors (see Uncertainty)."


def over_cycle(entry: Mapping[str, Any]) -> Describe:
    """Return what describes the figure of an entry; None where the skeleton has none of its variables."""

    def describe(trial: TrialValues) -> Figure | None:
        names = entry["panels"]
        if not trial.curves:
            return figure_over_time(trial, entry["title"], names)
        if not any(name in trial.curves for name in names):
            return None
        drawn = cycle_figure(entry["title"], trial.curves, names, trial.foot_off_percent, trial.norms, trial.bands)
        shaded = _SHADED if any(name in trial.bands and name in trial.curves for name in names) else ""
        return replace(drawn, caption=entry["caption"] + shaded)

    return describe


for _place, _entry in enumerate(display_table()["figure"]):
    figure(_entry["name"], 10 + 0.01 * _place, ("gait_cycles", "spatiotemporal", "ground_reaction"), "cycles")(
        over_cycle(_entry)
    )
