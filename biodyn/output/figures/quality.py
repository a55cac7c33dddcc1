"""How well the model fits: marker errors and the base residual against their limits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from biodyn.conventions import AXES, FloatArray
from biodyn.output.figures.ground import shade_unmeasured
from biodyn.output.figures.style import (
    AXIS_COLORS,
    INK,
    LABEL_PT,
    LIMIT,
    MUTED,
    TICK_PT,
    UNKNOWN,
    dress,
    new_figure,
    note,
    panels,
)
from biodyn.processing.signals.rms import rms

_WORST = 15
_MM = 1000.0


def marker_error_figure(marker_errors: pd.DataFrame, rms_limit_m: float, max_limit_m: float) -> Figure:
    """RMS and worst marker through the trial, and the markers that fit worst, in mm against the limits."""
    figure = new_figure(9.4, 3.6)
    time_ax, bar_ax = panels(figure, 1, 2)
    labels = [name for name in marker_errors.columns if name not in ("time_s", "rms")]
    error = marker_errors[labels].to_numpy(dtype=np.float64) * _MM
    time_s = marker_errors["time_s"].to_numpy()
    dress(time_ax, "Marker tracking error", "mm", "time (s)")
    worst = np.max(np.where(np.isfinite(error), error, 0.0), axis=1) if labels else np.zeros(len(time_s))
    time_ax.plot(time_s, worst, color=MUTED, linewidth=0.9)
    time_ax.plot(time_s, marker_errors["rms"].to_numpy() * _MM, color=INK, linewidth=1.6)
    for limit in (rms_limit_m, max_limit_m):
        time_ax.axhline(limit * _MM, color=LIMIT, linewidth=0.8, linestyle=(0, (4, 2)))
    time_ax.set_ylim(0.0, 1.12 * max(float(worst.max(initial=0.0)), max_limit_m * _MM))
    if len(time_s) > 1:
        time_ax.set_xlim(time_s[0], time_s[-1])

    of_marker = rms(error.T)
    order = [i for i in np.argsort(np.nan_to_num(-of_marker)) if np.isfinite(of_marker[i])][:_WORST][::-1]
    rows = np.arange(len(order))
    dress(bar_ax, f"Largest tracking errors ({len(order)} of {len(labels)} markers)", "", "mm: bar RMS, dot max")
    bar_ax.grid(False, axis="y")
    bar_ax.grid(True, axis="x", color="#eef0f2", linewidth=0.6)
    bar_ax.barh(rows, of_marker[order], color="#c3cbd3", height=0.65)
    peaks = np.nanmax(error[:, order], axis=0) if order else np.empty(0)
    bar_ax.plot(peaks, rows, "o", color=INK, markersize=3)
    for limit in (rms_limit_m, max_limit_m):
        bar_ax.axvline(limit * _MM, color=LIMIT, linewidth=0.8, linestyle=(0, (4, 2)))
    bar_ax.set_yticks(rows, [labels[i] for i in order])
    bar_ax.set_ylim(-0.6, max(len(order), 1) - 0.4)
    handles = [
        Line2D([], [], color=INK, linewidth=1.6, label="RMS of the frame"),
        Line2D([], [], color=MUTED, linewidth=0.9, label="largest error of the frame"),
        Line2D(
            [],
            [],
            color=LIMIT,
            linewidth=0.8,
            linestyle=(0, (4, 2)),
            label=f"limits: RMS {rms_limit_m * _MM:.0f} mm, max {max_limit_m * _MM:.0f} mm",
        ),
    ]
    figure.legend(handles=handles, loc="lower center", ncols=3, frameon=False, fontsize=LABEL_PT, labelcolor=INK)
    return figure


def residual_figure(
    joint_torques: pd.DataFrame, ground_reaction: pd.DataFrame, force_limit_n: float, moment_limit_nm: float
) -> Figure:
    """Residual force and moment at the root against their limits; grey where a contact was not measured."""
    figure = new_figure(9.4, 3.3)
    axes = panels(figure, 1, 2)
    time_s = joint_torques["time_s"].to_numpy()
    cases: Sequence[tuple[str, str, str, float]] = (
        ("Pelvis residual force", "f", "N", force_limit_n),
        ("Pelvis residual moment", "m", "Nm", moment_limit_nm),
    )
    for ax, (title, letter, unit, limit) in zip(axes, cases, strict=True):
        dress(ax, title, unit, "time (s)")
        vector = joint_torques[[f"residual_{letter}{axis}_{unit}" for axis in AXES]].to_numpy()
        shade_unmeasured(ax, ground_reaction)
        if np.isfinite(limit):
            ax.axhspan(-limit, limit, color="#e8f3ee", linewidth=0, zorder=0.5)
            for sign in (-1.0, 1.0):
                ax.axhline(sign * limit, color=LIMIT, linewidth=0.8, linestyle=(0, (4, 2)))
        for i in range(3):
            ax.plot(time_s, vector[:, i], color=AXIS_COLORS[i], linewidth=0.9)
        ax.plot(time_s, np.linalg.norm(vector, axis=1), color=INK, linewidth=1.5)
        if len(time_s) > 1:
            ax.set_xlim(time_s[0], time_s[-1])
        if np.isfinite(vector).any():
            size = np.linalg.norm(vector, axis=1)
            text = f"RMS {rms(size):.1f} {unit}, peak {np.nanmax(size):.1f} {unit}"
            ax.text(1.0, 1.03, text, transform=ax.transAxes, ha="right", va="bottom", fontsize=TICK_PT, color=MUTED)
        else:
            note(ax, "GRF of both feet was never known together")
    names = ("x forward", "y up", "z right")
    handles = [
        Line2D([], [], color=color, linewidth=1.2, label=name) for color, name in zip(AXIS_COLORS, names, strict=True)
    ]
    handles.append(Line2D([], [], color=INK, linewidth=1.5, label="magnitude"))
    handles.append(Line2D([], [], color=LIMIT, linewidth=0.8, linestyle=(0, (4, 2)), label="limit of the RMS"))
    handles.append(Line2D([], [], color=UNKNOWN, linewidth=6, label="not measured"))
    figure.legend(handles=handles, loc="lower center", ncols=6, frameon=False, fontsize=LABEL_PT, labelcolor=INK)
    return figure


def magnitude(joint_torques: pd.DataFrame, letter: str, unit: str) -> FloatArray:
    """Magnitude (T,) of the residual force ("f", "N") or moment ("m", "Nm"); NaN where not measured."""
    return np.linalg.norm(joint_torques[[f"residual_{letter}{axis}_{unit}" for axis in AXES]].to_numpy(), axis=1)
