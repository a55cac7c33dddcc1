"""Marker tracking error through the trial, and the markers that fit worst, against the limits."""

from __future__ import annotations

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.output.figures.description import Axis, Bars, Figure, Key, Line, Panel, Points, Rule
from biodyn.output.figures.ground import time_axis
from biodyn.output.figures.style import DASHED
from biodyn.output.figures.trial import figure
from biodyn.output.figures.values import TrialValues
from biodyn.processing.signals.rms import rms

_CAPTION = "Marker tracking error: distance between measured and model markers."
_OF_POSES = "Pose tracking error: distance between a segment's measured origin and the model's."
_WORST = 15
_MM = 1000.0


@figure("marker_errors", place=40, needs=("marker_errors",), section="fit")
def marker_errors(trial: TrialValues) -> Figure | None:
    """RMS and worst marker of every frame, RMS and largest error of the worst markers, mm; None where none was followed."""
    on_poses = trial.record["static"].get("source") == "poses"
    title, things = ("Pose tracking error", "segments") if on_poses else ("Marker tracking error", "markers")
    table, settings = trial.tables["marker_errors"], trial.record["settings"]["limits"]
    limits = (settings["marker_rms_m"] * _MM, settings["marker_max_m"] * _MM)
    labels = [name for name in table.columns if name not in ("time_s", "rms")]
    if not labels:
        return None
    error = table[labels].to_numpy(dtype=np.float64) * _MM
    time_s = table["time_s"].to_numpy()
    worst = np.max(np.where(np.isfinite(error), error, 0.0), axis=1) if labels else np.zeros(len(time_s))
    through = Panel(
        title,
        time_axis(time_s),
        Axis("mm", limits=(0.0, 1.12 * max(float(worst.max(initial=0.0)), limits[1])), grid=True),
        (
            Line(time_s, worst, "muted", 1.3),
            Line(time_s, table["rms"].to_numpy() * _MM, "ink", 2.2),
            *(Rule(limit, "y", "limit", 1.2, DASHED) for limit in limits),
        ),
    )
    keys = (
        Key("RMS of the frame", "ink", width=2.2),
        Key("largest error of the frame", "muted", width=1.3),
        Key(f"limits: RMS {limits[0]:.0f} mm, max {limits[1]:.0f} mm", "limit", width=1.2, dash=DASHED),
    )
    panels = (through, _worst_panel(labels, error, limits, things))
    return Figure(title, panels, keys, 2, height=258.0, caption=_OF_POSES if on_poses else _CAPTION)


def _worst_panel(labels: list[str], error: FloatArray, limits: tuple[float, float], things: str) -> Panel:
    of_marker = rms(error.T)
    order = [i for i in np.argsort(np.nan_to_num(-of_marker)) if np.isfinite(of_marker[i])][:_WORST][::-1]
    rows = np.arange(float(len(order)))
    peaks = np.nanmax(error[:, order], axis=0) if order else np.empty(0)
    return Panel(
        f"Largest tracking errors ({len(order)} of {len(labels)} {things})",
        Axis("mm: bar RMS, dot max", limits=(0.0, 1.05 * max(*limits, float(peaks.max(initial=0.0)))), grid=True),
        Axis(limits=(-0.6, max(len(order), 1) - 0.4), ticks=tuple((float(r), labels[i]) for r, i in enumerate(order))),
        (
            Bars(rows, np.zeros(len(order)), of_marker[order], 0.65, "bar", lying=True),
            Points(peaks, rows, "ink", 4.5),
            *(Rule(limit, "x", "limit", 1.2, DASHED) for limit in limits),
        ),
    )
