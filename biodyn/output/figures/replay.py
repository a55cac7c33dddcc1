"""Figures of a forward replay: drift, feedback torques, convergence of the integrators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from biodyn.output.figures.style import AXIS_COLORS, INK, LABEL_PT, LIMIT, MUTED, dress, new_figure, panels, zero_line
from biodyn.variables import coordinate_title
from biodyn.verification.replay import Convergence, OpenLoop

_FEEDBACK_PANELS = 6
_METHOD_NAMES = {"euler": "semi-implicit Euler", "rk4": "Runge-Kutta 4", "solve_ivp": "adaptive (DOP853)"}


def drift_figure(cases: Mapping[str, OpenLoop], rate_hz: float, angle_deg: float) -> Figure:
    """Median and largest joint error of all windows against the time since their start, logarithmic."""
    figure = new_figure(9.4, 3.6)
    axes = panels(figure, 1, len(cases), bottom_in=0.55)
    for ax, (case, found) in zip(axes, cases.items(), strict=True):
        dress(ax, case, "joint angle error, degrees", "time since start of the window (s)")
        ax.set_yscale("log")
        part = found.deviation
        time_s = np.arange(part.joint_rad.shape[1]) / rate_hz
        error = np.degrees(np.where(np.isnan(part.joint_rad), np.inf, part.joint_rad))
        inside = np.where(part.inside, error, np.nan)
        median, worst = (np.full(len(time_s), np.nan) for _ in range(2))
        for k in np.flatnonzero(part.inside.any(axis=0)):
            median[k], worst[k] = np.median(inside[part.inside[:, k], k]), np.max(inside[part.inside[:, k], k])
        ax.plot(time_s[1:], _finite(worst[1:]), color=AXIS_COLORS[1], linewidth=1.4, label="worst window")
        ax.plot(time_s[1:], _finite(median[1:]), color=AXIS_COLORS[0], linewidth=1.8, label="median window")
        ax.axhline(angle_deg, color=LIMIT, linewidth=0.9, linestyle=(0, (4, 2)))
        ax.axvline(found.prediction_horizon_s, color=MUTED, linewidth=0.8, linestyle=(0, (2, 2)))
        ax.legend(loc="lower right", frameon=False, fontsize=LABEL_PT, labelcolor=INK)
        low = np.nanmin(np.append(_finite(median[1:]), angle_deg))
        ax.set_ylim(max(low, 1e-12) / 3.0, 180.0)
    return figure


def feedback_figure(table: pd.DataFrame) -> Figure:
    """Recorded torque and the feedback that tracking needed, for the coordinates with the largest torques."""
    peaks = table.assign(size=table["recorded_Nm"].abs()).groupby("coordinate", observed=True)["size"].max()
    names = list(peaks.sort_values(ascending=False).index[:_FEEDBACK_PANELS])
    figure = new_figure(9.4, 4.9)
    for i, (ax, name) in enumerate(zip(panels(figure, 2, 3, down_in=0.45), names, strict=False)):
        own = table[table["coordinate"] == name]
        dress(ax, coordinate_title(str(name)), "Nm, as in the tables", "time (s)" if i >= 3 else "")
        zero_line(ax)
        ax.plot(own["time_s"], own["recorded_Nm"], color=MUTED, linewidth=1.3, label="recorded")
        ax.plot(own["time_s"], own["feedback_Nm"], color=LIMIT, linewidth=1.3, label="feedback")
        ax.text(
            1.0,
            1.03,
            f"feedback ≤ {own['feedback_Nm'].abs().max():.2g} Nm",
            transform=ax.transAxes,
            ha="right",
            va="bottom",
            fontsize=LABEL_PT - 1,
            color=MUTED,
        )
    figure.legend(
        *figure.axes[0].get_legend_handles_labels(), loc="lower center", ncols=2, frameon=False, fontsize=LABEL_PT
    )
    return figure


def convergence_figure(found: Sequence[Convergence]) -> Figure:
    """Error at the end of a short window against the work, both logarithmic."""
    figure = new_figure(5.2, 3.6)
    (ax,) = panels(figure, 1, 1, bottom_in=0.55)
    dress(ax, "Convergence", "error, rad or m", "evaluations of the equations of motion a window")
    for case, color in zip(found, AXIS_COLORS, strict=True):
        order = f", order {case.order:.1f}" if np.isfinite(case.order) else ""
        ax.plot(
            case.evaluations,
            case.error,
            color=color,
            marker="o",
            markersize=3.5,
            linewidth=1.3,
            label=f"{_METHOD_NAMES[case.method]}{order}",
        )
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.legend(loc="lower left", frameon=False, fontsize=LABEL_PT, labelcolor=INK)
    return figure


def _finite(values: np.ndarray) -> np.ndarray:
    return np.where(np.isfinite(values) & (values > 0.0), values, np.nan)
