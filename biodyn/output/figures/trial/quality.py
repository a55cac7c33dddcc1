"""Describe figures of tracking errors, residuals, contributions to moments, other coordinates, sensitivity and replays."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from biodyn.conventions import AXES, CYCLE_POINTS, SIDE_NAMES, SIDES, FloatArray
from biodyn.model.from_library.user_tables import table_catalogue
from biodyn.output.figures.curves import (
    display_table,
    lowest_panel_labels,
    percent_axis,
    shade_unmeasured,
    time_axis,
    value_axis,
)
from biodyn.output.figures.description import Axis, Bars, Figure, Key, Layer, Line, Panel, Points, Rule, Shade
from biodyn.output.figures.style import DASHED, DOTTED, ordered_level_colors
from biodyn.output.figures.trial import TrialView, figure
from biodyn.output.tables.table_access import table_used_once
from biodyn.processing.gait.cycles import normalise_to_cycle
from biodyn.processing.signals.filtering import finite_rms
from biodyn.variables import PERCENT, coordinate_title, variable
from biodyn.variables.cycle_parameters import nan_statistics
from biodyn.verification.contributions import CONTRIBUTIONS
from biodyn.verification.replay import OpenLoopReplay

_CAPTION = "Marker tracking error: distance between measured and model markers."
_OF_POSES = "Pose tracking error: distance between the measured and the model origin of a segment."


@figure("marker_errors", place=40, needs=("marker_errors",), section="fit")
def marker_error_figure(trial: TrialView) -> Figure | None:
    """Return RMS and largest error of every frame, and of the worst markers, mm; None without fitted markers."""
    on_poses = trial.record["static"].get("source") == "poses"
    title, things = ("Pose tracking error", "segments") if on_poses else ("Marker tracking error", "markers")
    table, settings = trial.tables["marker_errors"], trial.record["settings"]["limits"]
    limits = (settings["marker_rms_m"] * 1000.0, settings["marker_max_m"] * 1000.0)
    labels = [name for name in table.columns if name not in ("time_s", "rms")]
    if not labels:
        return None
    error = table[labels].to_numpy(dtype=np.float64) * 1000.0
    time_s = table["time_s"].to_numpy()
    worst = np.max(np.where(np.isfinite(error), error, 0.0), axis=1) if labels else np.zeros(len(time_s))
    through = Panel(
        title,
        time_axis(time_s),
        Axis("mm", limits=(0.0, 1.12 * max(float(worst.max(initial=0.0)), limits[1])), grid=True),
        (
            Line(time_s, worst, "muted", 1.3),
            Line(time_s, table["rms"].to_numpy() * 1000.0, "ink", 2.2),
            *(Rule(limit, "y", "limit", 1.2, DASHED) for limit in limits),
        ),
    )
    keys = (
        Key("RMS of the frame", "ink", width=2.2),
        Key("largest error of the frame", "muted", width=1.3),
        Key(f"limits: RMS {limits[0]:.0f} mm, max {limits[1]:.0f} mm", "limit", width=1.2, dash=DASHED),
    )
    panels = (through, _largest_error_panel(labels, error, limits, things))
    return Figure(title, panels, keys, 2, height=258.0, caption=_OF_POSES if on_poses else _CAPTION)


def _largest_error_panel(labels: list[str], error: FloatArray, limits: tuple[float, float], things: str) -> Panel:
    of_marker = finite_rms(error.T)
    order = [i for i in np.argsort(np.nan_to_num(-of_marker)) if np.isfinite(of_marker[i])][:15][::-1]
    rows = np.arange(float(len(order)))
    peaks = np.nanmax(error[:, order], axis=0) if order else np.empty(0)
    return Panel(
        f"Largest tracking errors ({len(order)} of {len(labels)} {things})",
        Axis("mm: bar RMS, dot max", limits=(0.0, 1.05 * max(*limits, float(peaks.max(initial=0.0)))), grid=True),
        Axis(limits=(-0.6, max(len(order), 1) - 0.4), ticks=tuple((float(r), labels[i]) for r, i in enumerate(order))),
        (
            Bars(rows, np.zeros(len(order)), of_marker[order], 0.65, "bar", horizontal=True),
            Points(peaks, rows, "ink", 4.5),
            *(Rule(limit, "x", "limit", 1.2, DASHED) for limit in limits),
        ),
    )


_RESIDUAL_CAPTION = "Pelvis residual force and moment (about the pelvis origin): zero for perfect data."
_OF_ESTIMATE = " Computed from the fitted motion and measured forces, as in the checks; thin: after the estimate."
_RAW = "raw_fx_N"  # columns of the table `residuals`, if motion and forces were estimated together
_AXIS_NAMES = {"x": "x forward", "y": "y up", "z": "z right"}


@figure("residual", place=50, needs=("joint_torques", "ground_reaction"), section="fit")
def residual_figure(trial: TrialView) -> Figure | None:
    """Return components and magnitude of the residual; grey if a contact was not measured; None without forces or feet."""
    table = trial.tables["joint_torques"]
    if trial.record["static"].get("source") == "model" and not table["residual_fx_N"].notna().any():
        return None
    limits = trial.record["residual_limits"]
    panels = (
        _residual_panel(trial, "Pelvis residual force", "f", "N", limits["force_n"]),
        _residual_panel(trial, "Pelvis residual moment", "m", "Nm", limits["moment_nm"]),
    )
    keys = (
        *(Key(words, axis, width=1.5) for axis, words in _AXIS_NAMES.items()),
        Key("magnitude", "ink", width=2.2),
        *((Key("after the estimate", "muted", width=1.0),) if _has_raw_residual(trial) else ()),
        Key("limit of the RMS", "limit", width=1.2, dash=DASHED),
        Key("not measured", "unknown", "area"),
    )
    return Figure(
        "Pelvis residual",
        panels,
        keys,
        2,
        height=232.0,
        caption=_RESIDUAL_CAPTION + (_OF_ESTIMATE if _has_raw_residual(trial) else ""),
    )


def _has_raw_residual(trial: TrialView) -> bool:
    """Return whether motion and forces were estimated together, so that the residual before the estimate is assessed."""
    return "residuals" in trial.tables and _RAW in trial.tables["residuals"]


def _residual_panel(trial: TrialView, title: str, letter: str, unit: str, limit: float | None) -> Panel:
    raw = _has_raw_residual(trial)
    table = trial.tables["residuals" if raw else "joint_torques"]
    first = "raw" if raw else "residual"
    vector = table[[f"{first}_{letter}{axis}_{unit}" for axis in AXES]].to_numpy()
    size, time_s = np.linalg.norm(vector, axis=1), table["time_s"].to_numpy()
    known = bool(np.isfinite(vector).any())
    layers: list[Layer] = []
    if limit is not None and np.isfinite(limit):
        layers.append(Shade(((-limit, limit),), "allowed", "y"))
        layers += [Rule(sign * limit, "y", "limit", 1.2, DASHED) for sign in (-1.0, 1.0)]
    layers.append(shade_unmeasured(trial.tables["ground_reaction"], trial.sides))
    layers += [Line(time_s, vector[:, i], axis, 1.3) for i, axis in enumerate(_AXIS_NAMES)]
    layers.append(Line(time_s, size, "ink", 2.2))
    if raw:
        remaining = table[[f"left_{letter}{axis}_{unit}" for axis in AXES]].to_numpy()
        layers.append(Line(time_s, np.linalg.norm(remaining, axis=1), "muted", 1.0))
    return Panel(
        title,
        time_axis(time_s),
        Axis(unit, grid=True),
        tuple(layers),
        corner=f"RMS {finite_rms(size):.1f} {unit}, peak {np.nanmax(size):.1f} {unit}" if known else "",
        note="" if known else "the GRF of both feet was never known at the same time",
    )


_PARTS_CAPTION = (
    "Contributions to the sagittal moments, mean over the cycles. Gravity: weight of the segments distal to the joint. "
    "Inertia: mass matrix times accelerations. Velocity: Coriolis and centrifugal terms. Ground: ground reaction. "
    "The contributions sum to the moment."
)
_COLORS = dict(zip(CONTRIBUTIONS, ("x", "y", "z", "muted"), strict=True))


@figure("torque_parts", place=60, needs=("joint_torque_parts", "spatiotemporal"), section="consistency")
def torque_contribution_figure(trial: TrialView) -> Figure | None:
    """Return the mean over the cycles of every contribution and their sum, Nm/kg, with one row per side and one column per
    moment."""
    if not trial.curves:
        return None
    moments = display_table()["overview"]["moments"]
    labels = lowest_panel_labels("gait cycle (%)", len(SIDES) * len(moments), len(moments))
    table = table_used_once(trial.tables, "joint_torque_parts")
    shown = [
        (side, moment, trial.coordinate(moment.removesuffix("_moment"), side)) for side in SIDES for moment in moments
    ]
    wanted = {coordinate for *_, (coordinate, _) in shown}
    table = table[table["coordinate"].isin(wanted)]
    by_name = {str(name): block for name, block in table.groupby("coordinate", observed=True)}
    panels = [
        _contribution_panel(trial, sign, by_name.get(coordinate), moment, side, label)
        for (side, moment, (coordinate, sign)), label in zip(shown, labels, strict=True)
    ]
    keys = [Key(name, color, width=1.8) for name, color in _COLORS.items()] + [Key("sum", "ink", width=2.6)]
    return Figure("Contributions to the moments", tuple(panels), tuple(keys), len(moments), caption=_PARTS_CAPTION)


def _contribution_panel(
    trial: TrialView, sign: float, block: pd.DataFrame | None, moment: str, side: str, label: str
) -> Panel:
    shown = variable(moment)
    note, layers = "not in this skeleton", []
    if block is not None:
        cycles = trial.tables["spatiotemporal"]
        on_side = cycles[cycles["side"].astype(str) == side]
        curves = _mean_contributions(block, on_side, sign * shown.clinical_factor(side) / trial.mass_kg)
        note = "no valid cycle"
        if np.isfinite(curves[CONTRIBUTIONS[0]]).any():
            note = ""
            layers = [Line(PERCENT, curve, _COLORS[name]) for name, curve in curves.items()]
            layers.append(Line(PERCENT, np.sum(list(curves.values()), axis=0), "ink", 2.6))
    title = f"{shown.title}, {SIDE_NAMES[side]}"
    return Panel(title, percent_axis(label), value_axis(shown, "Nm/kg"), tuple(layers), note=note)


def _mean_contributions(block: pd.DataFrame, cycles: pd.DataFrame, factor: float) -> dict[str, FloatArray]:
    series = {str(name): part for name, part in block.groupby("part", observed=True)}
    time_s = series[CONTRIBUTIONS[0]]["time_s"].to_numpy(dtype=float)
    rate_hz = (len(time_s) - 1) / (time_s[-1] - time_s[0])
    signal = np.column_stack([series[name]["value"].to_numpy(dtype=float) for name in CONTRIBUTIONS])
    bounds = cycles[["start_s", "end_s"]].to_numpy(dtype=float)
    if not len(bounds):
        return {name: np.full(len(PERCENT), np.nan) for name in CONTRIBUTIONS}
    curves = np.stack([normalise_to_cycle(signal, rate_hz, start, end) for start, end in bounds])
    return {name: factor * nan_statistics(curves[..., k])[0] for k, name in enumerate(CONTRIBUTIONS)}


_COORDINATES_CAPTION = (
    "Coordinates of the model that other figures do not show, with their torques, in the names and signs of the model."
)


@figure("own_coordinates", place=72, needs=("joint_angles", "joint_torques"), section="trial")
def further_coordinates_figure(trial: TrialView) -> Figure | None:
    """Return one row per coordinate: value and torque over time; None for library skeletons, or if other figures show all of
    them."""
    if "own_coordinates" not in trial.arrays:
        return None
    shown = {name for entry in display_table()["figure"] for name in entry["panels"]}
    known = {name for name, entry in trial.record["model"]["variables"].items() if entry["variable"] in shown}
    time_s = trial.tables["joint_angles"]["time_s"].to_numpy(dtype=float)
    rows = []
    for name, turns in zip(trial.arrays["own_coordinates"], trial.arrays["own_rotational"], strict=True):
        units = ("deg", "Nm") if turns else ("m", "N")
        values = trial.tables["joint_angles"][f"{name}_{units[0]}"].to_numpy(dtype=float)
        moves = float(values.max() - values.min()) > 0.0 if len(values) else False
        if str(name) not in known and moves:
            rows.append((str(name), units, values))
    rows = rows[:12]
    if not rows:
        return None
    panels = []
    for (name, units, values), label in zip(rows, lowest_panel_labels("time (s)", len(rows), 1), strict=True):
        torque = trial.tables["joint_torques"][f"{name}_{units[1]}"].to_numpy(dtype=float)
        for title, unit, curve in ((name, units[0], values), (f"{name}, torque", units[1], torque)):
            panels.append(Panel(title, time_axis(time_s, label), Axis(unit, grid=True), (Line(time_s, curve, "ink"),)))
    return Figure("Further coordinates of the model", tuple(panels), (), 2, height=118.0, caption=_COORDINATES_CAPTION)


_SENSITIVITY_CAPTION = "Mean moments of one side with every level of each factor; black: the reported analysis."


@figure("sensitivity", place=80, needs=("sensitivity",), section="sensitivity")
def sensitivity_figure(trial: TrialView) -> Figure | None:
    """Return mean curves of some moments with every level of every factor, for the side with more known values.

    The curves of the main analysis are first in the table.
    """
    table = trial.tables["sensitivity"]
    heads = table.iloc[::CYCLE_POINTS][["factor", "level", "side", "variable"]].astype(str)
    if not len(heads):
        return None
    values = table["value"].to_numpy(dtype=np.float64).reshape(-1, CYCLE_POINTS)
    curves = dict(zip(heads.itertuples(index=False, name=None), values, strict=True))
    base, base_level = heads.iloc[0][["factor", "level"]]
    factors = [factor for factor in dict.fromkeys(heads["factor"]) if factor != base]
    side = max(SIDES, key=lambda side: int(np.isfinite(values[(heads["side"] == side).to_numpy()]).sum()))
    moments = display_table()["overview"]["moments"]
    panels = []
    for factor in factors:
        levels = list(dict.fromkeys(heads.loc[heads["factor"] == factor, "level"]))
        colors = dict(zip(levels, ordered_level_colors(len(levels)), strict=True))
        keys = [Key(level_title(level).split(" (")[0], color) for level, color in colors.items()]
        legend = (factor.replace("_", " "), (*keys, Key(base_level, "ink", width=2.4)))
        for column, moment in enumerate(moments):
            shown = variable(moment)
            sign, base_curve = shown.clinical_factor(side), curves.get((base, base_level, side, moment))
            lines = [] if base_curve is None else [
                Line(PERCENT, sign * curves[factor, level, side, moment], color, 1.6)
                for level, color in colors.items()
                if (factor, level, side, moment) in curves
            ] + [Line(PERCENT, sign * base_curve, "ink", 2.4)]  # fmt: skip
            panels.append(
                Panel(
                    f"{shown.title}, {SIDE_NAMES[side]}",
                    percent_axis("gait cycle (%)" if factor == factors[-1] else ""),
                    value_axis(shown, "Nm/kg"),
                    tuple(lines),
                    note="" if lines else "no valid cycle",
                    legend=None if column else legend,
                )
            )
    return Figure("Sensitivity to modelling choices", tuple(panels), columns=len(moments), caption=_SENSITIVITY_CAPTION)


def level_title(level: str) -> str:
    """Return the title of a level if it is an entry of the library, else the level."""
    return next((title for _, entries in table_catalogue() for name, title in entries if name == level), level)


_METHOD_NAMES = {"euler": "semi-implicit Euler", "rk4": "Runge-Kutta 4", "solve_ivp": "adaptive (DOP853)"}


def drift_figure(cases: Mapping[str, OpenLoopReplay], rate_hz: float, angle_deg: float) -> Figure:
    """Return the median and largest joint error of all windows over the time since their start, logarithmic."""
    keys = (
        Key("median window", "x", width=2.6),
        Key("worst window", "y", width=2.0),
        Key(f"{angle_deg:g} degrees", "limit", width=1.2, dash=DASHED),
        Key("every replay within the limit", "muted", width=1.2, dash=DOTTED),
    )
    panels = tuple(_drift_panel(case, replayed, rate_hz, angle_deg) for case, replayed in cases.items())
    return Figure("Drift without feedback", panels, keys, len(cases), height=258.0)


def _drift_panel(case: str, found: OpenLoopReplay, rate_hz: float, angle_deg: float) -> Panel:
    part = found.deviation
    time_s = np.arange(part.joint_rad.shape[1]) / rate_hz
    error = np.degrees(np.where(np.isnan(part.joint_rad), np.inf, part.joint_rad))
    inside = np.where(part.inside, error, np.nan)
    median, worst = (np.full(len(time_s), np.nan) for _ in range(2))
    for k in np.flatnonzero(part.inside.any(axis=0)):
        median[k], worst[k] = np.median(inside[part.inside[:, k], k]), np.max(inside[part.inside[:, k], k])
    low = np.nanmin(np.append(_positive_values(median[1:]), angle_deg))
    return Panel(
        case,
        time_axis(time_s, "time since start of the window (s)"),
        Axis("joint angle error, degrees", limits=(max(low, 1e-12) / 3.0, 180.0), log=True, grid=True),
        (
            Rule(angle_deg, "y", "limit", 1.3, DASHED),
            Rule(found.prediction_horizon_s, "x", "muted", 1.2, DOTTED),
            Line(time_s[1:], _positive_values(worst[1:]), "y", 2.0),
            Line(time_s[1:], _positive_values(median[1:]), "x", 2.6),
        ),
    )


def feedback_figure(table: pd.DataFrame) -> Figure:
    """Return the recorded torque and the feedback of tracking, for the coordinates with the largest torques."""
    peaks = table.assign(size=table["recorded_Nm"].abs()).groupby("coordinate", observed=True)["size"].max()
    names = list(peaks.sort_values(ascending=False).index[:6])
    panels = []
    for name, label in zip(names, lowest_panel_labels("time (s)", len(names)), strict=True):
        rows = table[table["coordinate"] == name]
        time_s = rows["time_s"].to_numpy(dtype=np.float64)
        feedback = rows["feedback_Nm"].to_numpy(dtype=np.float64)
        panels.append(
            Panel(
                coordinate_title(str(name)),
                time_axis(time_s, label),
                Axis("Nm, as in the tables", holds=(0.0,), grid=True),
                (
                    Line(time_s, rows["recorded_Nm"].to_numpy(dtype=np.float64), "muted", 1.9),
                    Line(time_s, feedback, "limit", 1.9),
                ),
                corner=f"feedback ≤ {np.nanmax(np.abs(feedback)):.2g} Nm",
            )
        )
    keys = (Key("recorded", "muted", width=1.9), Key("feedback", "limit", width=1.9))
    return Figure("Tracked replay", tuple(panels), keys)


def _positive_values(values: FloatArray) -> FloatArray:
    return np.where(np.isfinite(values) & (values > 0.0), values, np.nan)
