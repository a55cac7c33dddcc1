"""Common parts of figures: curves over gait cycle and stance, bands, ground reaction."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from biodyn.conventions import SIDE_NAMES, SIDES, FloatArray, IntArray
from biodyn.library.toml_files import load_table
from biodyn.output.figures.description import Area, Axis, Figure, Key, Layer, Line, Panel, Rule, Shade
from biodyn.output.figures.style import DASHED
from biodyn.variables import PERCENT, Norms, Variable, variable
from biodyn.variables.cycle_parameters import nan_statistics


def display_table() -> dict[str, Any]:
    """Return the display table of the library: panels of the figures."""
    return load_table("figures/display")


# Number of cycles from which their standard deviation is drawn instead of single curves.
_SPREAD_FROM = 4
COLUMNS = 3
#: Widths of a mean and of a single curve.
MEAN, SINGLE = 2.3, 0.8


@dataclass(frozen=True)
class CycleCurves:
    """Cycles of one variable and side: values (n, 101) in the shown sign, without empty cycles; unit as in the table."""

    values: FloatArray
    unit: str

    @property
    def mean(self) -> FloatArray:
        """Return the mean (101,) over the cycles with a value, NaN if none has one."""
        return nan_statistics(self.values)[0]


def curves_by_variable(heads: pd.DataFrame, values: FloatArray) -> dict[str, dict[str, CycleCurves]]:
    """Return the curves of the gait cycles as {variable: {side: CycleCurves}}, with the signs of the figures.

    heads, values: from `output.tables.gait.curves_of_cycles`.
    """
    found: dict[str, dict[str, CycleCurves]] = {}
    units = heads["unit"].astype(str).to_numpy()
    rows: dict[tuple[str, str], list[int]] = {}
    for row, key in enumerate(zip(heads["variable"].astype(str), heads["side"].astype(str), strict=True)):
        rows.setdefault(key, []).append(row)
    known = np.asarray(np.isfinite(values).any(axis=1))
    for (name, side), curve_rows in rows.items():
        displayed = values[[row for row in curve_rows if known[row]]] * variable(name).clinical_factor(side)
        found.setdefault(name, {})[side] = CycleCurves(displayed, units[curve_rows[0]])
    return found


def evenly_spaced_rows(count: int) -> IntArray:
    """Return the rows of `count` curves that are drawn singly: all, or `most_single` of display.toml, evenly spaced."""
    return np.linspace(0, count - 1, min(count, display_table()["most_single"])).round().astype(np.int64)


def cycle_figure(
    title: str,
    curves: Mapping[str, Mapping[str, CycleCurves]],
    names: Sequence[str],
    foot_off_percent: Mapping[str, float],
    norms: Sequence[Norms] = (),
    bands: Mapping[str, Mapping[str, FloatArray]] | None = None,
) -> Figure:
    """Return a figure with panels of variables over the gait cycle; variables without cycles are omitted.

    Args:
        curves: from `curves_by_variable`.
        names: variables in the order of the panels.
        foot_off_percent: mean foot off by side, NaN if unknown.
        norms: norms, drawn as a grey band, or as a dashed line if their spread is unknown.
        bands: standard deviation (101,) due to input errors by variable and side, drawn around the mean.
    """
    present = [name for name in names if name in curves] or list(names[:1])
    panels = []
    for name, label in zip(present, lowest_panel_labels("gait cycle (%)", len(present)), strict=True):
        errors = (bands or {}).get(name, {})
        panels.append(cycle_panel(variable(name), curves.get(name, {}), foot_off_percent, norms, label, errors))
    return Figure(title, tuple(panels), cycle_keys(present, norms), min(COLUMNS, len(present)))


def cycle_keys(names: Sequence[str], norms: Sequence[Norms]) -> tuple[Key, ...]:
    """Return the legend of panels of these variables: sides, foot off, and norms that have one of them."""
    return *(side_key(side) for side in SIDES), FOOT_OFF_KEY, *norm_keys(names, norms)


def norm_keys(names: Sequence[str], norms: Sequence[Norms]) -> list[Key]:
    """Return the legend of norms that have one of these variables."""
    keys = []
    for group in norms:
        drawn = [group.curves[name] for name in names if name in group.curves]
        if drawn:
            keys.append(norm_key(f"{group.short}, {group.band}", drawn[0].sd is not None))
    return keys


def lowest_panel_labels(label: str, count: int, columns: int = COLUMNS) -> list[str]:
    """Return the x labels of panels in a grid, which only the lowest panel of a column has."""
    return [label if i + columns >= count else "" for i in range(count)]


def cycle_panel(
    definition: Variable,
    sides: Mapping[str, CycleCurves],
    foot_off_percent: Mapping[str, float],
    norms: Sequence[Norms] = (),
    label: str = "",
    errors: Mapping[str, FloatArray] | None = None,
) -> Panel:
    """Return the panel of one variable: thin cycles, thick mean, number of cycles, foot off, and norms in the background."""
    unit = next((curve.unit for curve in sides.values()), "")
    layers: list[Layer] = []
    for group in norms:
        curve = group.curves.get(definition.name)
        if curve is not None:
            layers.append(norm_layer(definition.clinical_factor(SIDES[0]) * curve.mean, curve.half_width))
    counts = []
    for side in SIDES:
        curves = sides.get(side)
        counts.append(f"{SIDE_NAMES[side][0].upper()} {cycle_count_text(curves)}")
        if curves is not None and len(curves.values):
            layers += _side_layers(side, curves, (errors or {}).get(side))
            layers += foot_off_layer(side, foot_off_percent.get(side, np.nan))
    return Panel(
        definition.title,
        percent_axis(label),
        value_axis(definition, unit),
        sort_bands_first(layers),
        corner="n: " + ", ".join(counts),
        note="" if any(len(curves.values) for curves in sides.values()) else "no valid cycle",
    )


def sort_bands_first(layers: Sequence[Layer]) -> tuple[Layer, ...]:
    """Return the layers with all bands behind all curves."""
    return tuple(sorted(layers, key=lambda layer: not isinstance(layer, Area)))


def _side_layers(side: str, curves: CycleCurves, error: FloatArray | None) -> list[Layer]:
    color, count = SIDE_NAMES[side], len(curves.values)
    mean, sd = nan_statistics(curves.values)
    layers: list[Layer] = []
    around = error if error is not None else sd if count >= _SPREAD_FROM else None
    if around is not None:
        layers.append(Area(PERCENT, mean - around, mean + around, color, 0.18))
    if 1 < count < _SPREAD_FROM or (error is not None and count > 1):
        layers.append(Line(PERCENT, curves.values[evenly_spaced_rows(count)], color, SINGLE, 0.5))
    return [*layers, Line(*break_curve(mean, curves.values), color, MEAN)]


def percent_axis(label: str = "") -> Axis:
    """Return the axis of the gait cycle or of the stance."""
    return Axis(label, limits=(0.0, 100.0))


def value_axis(definition: Variable, unit: str) -> Axis:
    """Return the axis of a variable with unit and positive direction; its fixed scale is extended if the curves need it."""
    return Axis(f"{unit_label(unit)}, {definition.positive} +", holds=(0.0, *definition.scale), grid=True)


def norm_layer(mean: FloatArray, half_width: FloatArray | None) -> Layer:
    """Return the layer of norms in the shown sign: a band, or a line if the spread is unknown."""
    if half_width is None:
        return Line(PERCENT, mean, "norm_line", 1.2, dash=DASHED)
    return Area(PERCENT, mean - half_width, mean + half_width, "norm_band")


def norm_key(words: str, band: bool) -> Key:
    """Return the legend entry of norms."""
    return Key(words, "norm_band", "area") if band else Key(words, "norm_line", width=1.2, dash=DASHED)


def side_key(side: str) -> Key:
    """Return the legend entry of a side."""
    return Key(SIDE_NAMES[side], SIDE_NAMES[side], width=MEAN)


FOOT_OFF_KEY = Key("foot off (in the colour of the side)", "muted", width=1.4)


def foot_off_layer(side: str, percent: float) -> list[Layer]:
    """Return a vertical line at the foot off of a side; empty if unknown."""
    return [Rule(percent, "x", SIDE_NAMES[side], 1.4)] if np.isfinite(percent) else []


def cycle_count_text(curves: CycleCurves | None) -> str:
    """Return the number of cycles of a mean, such as "1-2" if it varies over the cycle."""
    if curves is None or not len(curves.values):
        return "0"
    counts = np.isfinite(curves.values).sum(axis=0)
    low, high = int(counts[counts > 0].min()), int(counts.max())
    return str(high) if low == high else f"{low}-{high}"


def is_stance_known(curves: CycleCurves | None, foot_off_percent: float) -> bool:
    """Return whether the mean curve is known over at least half of the stance.

    Args:
        foot_off_percent: mean foot off of the side; if it is NaN, any known value is sufficient.
    """
    if curves is None or not len(curves.values):
        return False
    known = np.isfinite(curves.mean)
    stance = foot_off_percent >= PERCENT if np.isfinite(foot_off_percent) else known
    return bool(known.any() and known[stance].mean() >= 0.5)


def break_curve(mean: FloatArray, values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return percent and mean with gaps at changes of the number of cycles, which may cause a step."""
    at = np.flatnonzero(np.diff(np.isfinite(values).sum(axis=0))) + 1
    return np.insert(PERCENT, at, np.nan), np.insert(mean, at, np.nan)


def unit_label(unit: str) -> str:
    """Return a unit as written on an axis."""
    return {"deg": "degrees", "BW": "body weights"}.get(unit, unit)


TORQUE_SD, POWER_SD = "_Nm_sd", "_W_sd"
_VARIABLE_OF = {TORQUE_SD: "_moment", POWER_SD: "_power"}
#: Standard deviation (101,) by variable of the gait cycles and side.
Bands = dict[str, dict[str, FloatArray]]


def cycle_bands(
    standard_deviations: pd.DataFrame, spatiotemporal: pd.DataFrame, mass_kg: float, variables: Container[str]
) -> Bands:
    """Return the standard deviation of every torque or power over the cycle, averaged over the cycles of each side, Nm/kg or
    W/kg.

    The largest errors (joint centres, plates, inertias) are equal in all cycles and are not reduced by averaging.
    `standard_deviations`: table `joint_torques_sd` or `joint_powers_sd`. `variables`: requested variables; columns
    of single error sources do not match any.
    """
    time_s = standard_deviations["time_s"].to_numpy(dtype=np.float64)
    sides = spatiotemporal["side"].astype(str).to_numpy()
    bounds = spatiotemporal[["start_s", "end_s"]].to_numpy(dtype=np.float64)
    at_s: dict[str, list[FloatArray]] = {
        side: [start + 0.01 * PERCENT * (end - start) for start, end in bounds[sides == side]] for side in SIDES
    }
    bands: Bands = {}
    for column in map(str, standard_deviations.columns):
        ending = next((ending for ending in _VARIABLE_OF if column.endswith(ending)), "")
        name = column.removesuffix(ending)
        column_side = next((side for side in SIDES if name.endswith(f"_{side}")), "")
        variable = f"{name.removesuffix(f'_{column_side}') if column_side else name}{_VARIABLE_OF.get(ending, '')}"
        if not ending or variable not in variables:
            continue
        values = standard_deviations[column].to_numpy(dtype=np.float64) / mass_kg
        for side in SIDES if not column_side else (column_side,):
            curves = [np.interp(at, time_s, values) for at in at_s[side]]
            if curves and np.isfinite(curves).any():
                bands.setdefault(variable, {})[side] = nan_statistics(np.array(curves))[0]
    return bands


#: Legend entry of `shade_unmeasured`.
UNMEASURED_KEY = Key("a foot was on the floor outside the plates", "unknown", "area")


def force_column_name(name: str, side: str) -> str:
    """Return the column of the ground reaction table for a variable and side."""
    stem, _, axis = name.rpartition("_")
    return f"{stem}_{side}_{axis}_N"


def measured_stances(events: pd.DataFrame, ground_reaction: pd.DataFrame, side: str) -> Iterator[tuple[float, float]]:
    """Yield strike and off (s) of the stances of a side with completely known ground reaction."""
    on_side = events[events["side"].astype(str) == side].sort_values("time_s")
    times, kinds = on_side["time_s"].to_numpy(), on_side["event"].astype(str).to_numpy()
    frame_s = ground_reaction["time_s"].to_numpy()
    measured = ground_reaction[f"measured_{side}"].to_numpy(dtype=bool)
    loaded = np.isfinite(ground_reaction[f"centre_of_pressure_{side}_x_m"].to_numpy())
    for i in range(len(on_side) - 1):
        if (kinds[i], kinds[i + 1]) != ("foot_strike", "foot_off"):
            continue
        rows = (frame_s >= times[i]) & (frame_s <= times[i + 1])
        # known and loaded for most of the stance, because a stance off the plates has a known force of zero
        if rows.any() and measured[rows].all() and loaded[rows].mean() > 0.8:
            yield float(times[i]), float(times[i + 1])


def stance_curves(
    events: pd.DataFrame, ground_reaction: pd.DataFrame, names: Sequence[str], weight_n: float
) -> dict[str, dict[str, CycleCurves]]:
    """Return the ground forces over 0-100 % of each measured stance, in body weights, with the signs of the figures."""
    time_s = ground_reaction["time_s"].to_numpy()
    found: dict[str, dict[str, CycleCurves]] = {}
    for side in SIDES:
        if f"measured_{side}" not in ground_reaction:
            continue
        stances = list(measured_stances(events, ground_reaction, side))
        for name in names:
            force = (
                ground_reaction[force_column_name(name, side)].to_numpy()
                / weight_n
                * variable(name).clinical_factor(side)
            )
            rows = [np.interp(np.linspace(a, b, len(PERCENT)), time_s, force) for a, b in stances]
            found.setdefault(name, {})[side] = CycleCurves(np.array(rows).reshape(-1, len(PERCENT)), "BW")
    return found


def shade_unmeasured(ground_reaction: pd.DataFrame, sides: Sequence[str] = SIDES) -> Shade:
    """Return grey intervals in which the ground reaction of a side is unknown, bounded halfway between frames."""
    time_s = ground_reaction["time_s"].to_numpy(dtype=np.float64)
    measured = [ground_reaction[f"measured_{side}"].to_numpy(dtype=bool) for side in sides]
    known = np.logical_and.reduce(measured) if measured else np.ones(len(time_s), dtype=bool)
    edges = np.flatnonzero(np.diff(np.concatenate(([False], ~known, [False])).astype(np.int8))).reshape(-1, 2)
    between = np.concatenate((time_s[:1], 0.5 * (time_s[1:] + time_s[:-1]), time_s[-1:]))
    return Shade(tuple((float(between[start]), float(between[end])) for start, end in edges), "unknown")


def time_axis(time_s: FloatArray, label: str = "time (s)") -> Axis:
    """Return the time axis of the whole trial."""
    return Axis(label, limits=(float(time_s[0]), float(time_s[-1])) if len(time_s) > 1 else (0.0, 1.0))


def force_lines(ground_reaction: pd.DataFrame, name: str, weight_n: float) -> list[Line]:
    """Return a component of the force on each foot over time, in body weights and the shown sign."""
    time_s = ground_reaction["time_s"].to_numpy(dtype=np.float64)
    return [
        Line(
            time_s,
            ground_reaction[force_column_name(name, side)].to_numpy() / weight_n * variable(name).clinical_factor(side),
            SIDE_NAMES[side],
        )
        for side in SIDES
        if force_column_name(name, side) in ground_reaction
    ]


def top_view_points(p_W: FloatArray) -> FloatArray:
    """Project World points (..., 3) to the top view (..., 2): forward is to the right of the page, left is up."""
    return np.stack([p_W[..., 0], -p_W[..., 2]], axis=-1)
