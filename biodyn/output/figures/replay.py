"""Figures of a forward replay: drift, feedback torques, convergence of the integrators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from biodyn.conventions import FloatArray
from biodyn.output.figures.curves import labels_below, time_axis
from biodyn.output.figures.description import Axis, Figure, Key, Line, Panel, Points, Rule
from biodyn.output.figures.style import DASHED, DOTTED
from biodyn.variables import coordinate_title
from biodyn.verification.replay import Convergence, OpenLoop

_METHOD_NAMES = {"euler": "semi-implicit Euler", "rk4": "Runge-Kutta 4", "solve_ivp": "adaptive (DOP853)"}


def drift_figure(cases: Mapping[str, OpenLoop], rate_hz: float, angle_deg: float) -> Figure:
    """Median and largest joint error of all windows against the time since their start, logarithmic."""
    keys = (
        Key("median window", "x", width=2.6),
        Key("worst window", "y", width=2.0),
        Key(f"{angle_deg:g} degrees", "limit", width=1.2, dash=DASHED),
        Key("every replay within the limit", "muted", width=1.2, dash=DOTTED),
    )
    panels = tuple(_drift_panel(case, replayed, rate_hz, angle_deg) for case, replayed in cases.items())
    return Figure("Drift without feedback", panels, keys, len(cases), height=258.0)


def _drift_panel(case: str, found: OpenLoop, rate_hz: float, angle_deg: float) -> Panel:
    part = found.deviation
    time_s = np.arange(part.joint_rad.shape[1]) / rate_hz
    error = np.degrees(np.where(np.isnan(part.joint_rad), np.inf, part.joint_rad))
    inside = np.where(part.inside, error, np.nan)
    median, worst = (np.full(len(time_s), np.nan) for _ in range(2))
    for k in np.flatnonzero(part.inside.any(axis=0)):
        median[k], worst[k] = np.median(inside[part.inside[:, k], k]), np.max(inside[part.inside[:, k], k])
    low = np.nanmin(np.append(_finite(median[1:]), angle_deg))
    return Panel(
        case,
        time_axis(time_s, "time since start of the window (s)"),
        Axis("joint angle error, degrees", limits=(max(low, 1e-12) / 3.0, 180.0), log=True, grid=True),
        (
            Rule(angle_deg, "y", "limit", 1.3, DASHED),
            Rule(found.prediction_horizon_s, "x", "muted", 1.2, DOTTED),
            Line(time_s[1:], _finite(worst[1:]), "y", 2.0),
            Line(time_s[1:], _finite(median[1:]), "x", 2.6),
        ),
    )


def feedback_figure(table: pd.DataFrame) -> Figure:
    """Recorded torque and the feedback that tracking needed, for the coordinates with the largest torques."""
    peaks = table.assign(size=table["recorded_Nm"].abs()).groupby("coordinate", observed=True)["size"].max()
    names = list(peaks.sort_values(ascending=False).index[:6])
    panels = []
    for name, label in zip(names, labels_below("time (s)", len(names)), strict=True):
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


def convergence_figure(cases: Sequence[Convergence]) -> Figure:
    """Error at the end of a short window against the work, both logarithmic."""
    layers: list[Line | Points] = []
    keys = []
    work = np.concatenate([np.asarray(case.evaluations, dtype=np.float64) for case in cases])
    for case, axis in zip(cases, ("x", "y", "z"), strict=True):
        evaluations, error = (np.asarray(values, dtype=np.float64) for values in (case.evaluations, case.error))
        order = f", order {case.order:.1f}" if np.isfinite(case.order) else ""
        layers += [Line(evaluations, error, axis, 1.9), Points(evaluations, error, axis)]
        keys.append(Key(f"{_METHOD_NAMES[case.method]}{order}", axis, width=1.9, point=True))
    panel = Panel(
        "Convergence",
        Axis("evaluations of the equations of motion a window", limits=(work.min() / 1.3, work.max() * 1.3), log=True),
        Axis("error, rad or m", log=True, grid=True),
        tuple(layers),
    )
    return Figure("Convergence of the integrators", (panel,), tuple(keys), 1, height=258.0, width=600.0)


def _finite(values: FloatArray) -> FloatArray:
    return np.where(np.isfinite(values) & (values > 0.0), values, np.nan)
