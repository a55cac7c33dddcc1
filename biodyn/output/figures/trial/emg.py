"""EMG of the muscles over the gait cycle."""

from __future__ import annotations

import numpy as np
import pandas as pd

from biodyn.conventions import CYCLE_POINTS, SIDE_NAMES, SIDES
from biodyn.output.figures.curves import COLUMNS, MEAN, foot_off_layer, lowest_panel_labels, percent_axis, side_key
from biodyn.output.figures.description import Axis, Figure, Layer, Line, Panel, Span, Strip
from biodyn.output.figures.drawing import known_runs
from biodyn.output.figures.trial import TrialView, figure
from biodyn.output.tables.gait import DYNAMIC_PEAK
from biodyn.variables import PERCENT

_CAPTION = (
    "Linear envelopes: mean of the cycles (thick) and single cycles (thin). Bars: the muscle is active in at least half of the "
    "cycles of its side."
)


@figure("emg", place=45, needs=("emg",))
def emg_figure(trial: TrialView) -> Figure | None:
    """Return one panel per muscle with the envelopes of both sides and bars of activity; None without a cycle."""
    table = trial.tables["emg"]
    muscles = list(dict.fromkeys(table["muscle"].astype(str)))
    if not muscles:
        return None
    labels = lowest_panel_labels("gait cycle (%)", len(muscles), COLUMNS)
    panels = [
        _muscle_panel(trial, table[table["muscle"] == muscle], muscle, label)
        for muscle, label in zip(muscles, labels, strict=True)
    ]
    keys = tuple(side_key(side) for side in SIDES)
    files = sorted({*table["reference"].astype(str)} - {DYNAMIC_PEAK})
    amplitudes = (
        f"MVC: largest envelope in the maximal voluntary contractions ({', '.join(files)})."
        if files
        else "Amplitudes depend on skin and electrodes: compare them within a muscle and session only."
    )
    caption = f"{_CAPTION} {amplitudes}"
    return Figure("EMG of the muscles", tuple(panels), keys, min(COLUMNS, len(panels)), caption=caption)


def _muscle_panel(trial: TrialView, rows: pd.DataFrame, muscle: str, label: str) -> Panel:
    layers: list[Layer] = []
    strips = []
    contracted = not (rows["reference"] == DYNAMIC_PEAK).any()
    column, factor, unit = ("share_of_reference", 100.0, "% MVC") if contracted else ("envelope_mV", 1.0, "mV")
    for side in SIDES:
        own = rows[rows["side"] == side]
        if own.empty:
            continue
        envelopes, active = (own[name].to_numpy(float).reshape(-1, CYCLE_POINTS) for name in (column, "active"))
        envelopes = factor * envelopes
        color = SIDE_NAMES[side]
        layers += [Line(PERCENT, envelopes, color, 0.8, 0.5), Line(PERCENT, envelopes.mean(axis=0), color, MEAN)]
        layers += foot_off_layer(side, trial.foot_off_percent.get(side, np.nan))
        spans = [
            Span(float(a), float(b - 1), f"active from {a} to {b - 1} % of the cycle")
            for a, b in known_runs(active.mean(axis=0) >= 0.5)
        ]
        strips.append(Strip("active", color, tuple(spans)))
    title = muscle[0].upper() + muscle[1:]
    return Panel(
        title, percent_axis(label), Axis(unit, floor=0.0, holds=(0.0,), grid=True), tuple(layers), tuple(strips)
    )
