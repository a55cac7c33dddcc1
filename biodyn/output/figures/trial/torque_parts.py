"""Contributions to the joint torques over the gait cycle."""

from __future__ import annotations

import numpy as np
import pandas as pd

from biodyn.conventions import SIDE_NAMES, SIDES, FloatArray
from biodyn.output.figures.cycles import labels_below, nan_statistics, percent_axis, value_axis
from biodyn.output.figures.description import Figure, Key, Line, Panel
from biodyn.output.figures.display import display_table
from biodyn.output.figures.trial import figure
from biodyn.output.figures.values import TrialValues
from biodyn.processing.gait.cycles import normalise
from biodyn.variables import PERCENT, variable
from biodyn.verification.contributions import CONTRIBUTIONS

_CAPTION = (
    "Contributions to the sagittal moments, mean over the cycles. Gravity: weight of the segments distal to the joint. "
    "Inertia: mass matrix times accelerations. Velocity: Coriolis and centrifugal terms. Ground: ground reaction. "
    "The contributions sum to the moment."
)
_COLORS = dict(zip(CONTRIBUTIONS, ("x", "y", "z", "muted"), strict=True))
_SUFFIX = "_moment"


@figure("torque_parts", place=60, needs=("joint_torque_parts", "spatiotemporal"), section="consistency")
def torque_parts(trial: TrialValues) -> Figure | None:
    """Mean over the cycles of every contribution and of their sum, Nm/kg; a row a side, a column a moment."""
    if not trial.curves:
        return None
    moments = display_table()["overview"]["moments"]
    labels = labels_below("gait cycle (%)", len(SIDES) * len(moments), len(moments))
    table = trial.tables["joint_torque_parts"]
    by_name = {str(name): block for name, block in table.groupby("coordinate", observed=True)}
    panels = [
        _panel(trial, own[1], by_name.get(own[0]), moment, side, label)
        for (side, moment), label in zip(((s, m) for s in SIDES for m in moments), labels, strict=True)
        for own in (trial.coordinate(moment.removesuffix(_SUFFIX), side),)
    ]
    keys = [Key(name, color, width=1.8) for name, color in _COLORS.items()] + [Key("sum", "ink", width=2.6)]
    return Figure("Contributions to the moments", tuple(panels), tuple(keys), len(moments), caption=_CAPTION)


def _panel(trial: TrialValues, sign: float, block: pd.DataFrame | None, moment: str, side: str, label: str) -> Panel:
    shown = variable(moment)
    note, layers = "not in this skeleton", []
    if block is not None:
        cycles = trial.tables["spatiotemporal"]
        own = cycles[cycles["side"].astype(str) == side]
        curves = _mean_curves(block, own, sign * shown.clinical(side) / trial.mass_kg)
        note = "no valid cycle"
        if np.isfinite(curves[CONTRIBUTIONS[0]]).any():
            note = ""
            layers = [Line(PERCENT, curve, _COLORS[name]) for name, curve in curves.items()]
            layers.append(Line(PERCENT, np.sum(list(curves.values()), axis=0), "ink", 2.6))
    title = f"{shown.title}, {SIDE_NAMES[side]}"
    return Panel(title, percent_axis(label), value_axis(shown, "Nm/kg"), tuple(layers), note=note)


def _mean_curves(block: pd.DataFrame, cycles: pd.DataFrame, factor: float) -> dict[str, FloatArray]:
    series = {str(name): part for name, part in block.groupby("part", observed=True)}
    time_s = series[CONTRIBUTIONS[0]]["time_s"].to_numpy(dtype=float)
    rate_hz = (len(time_s) - 1) / (time_s[-1] - time_s[0])
    signal = np.column_stack([series[name]["value"].to_numpy(dtype=float) for name in CONTRIBUTIONS])
    bounds = cycles[["start_s", "end_s"]].to_numpy(dtype=float)
    if not len(bounds):
        return {name: np.full(len(PERCENT), np.nan) for name in CONTRIBUTIONS}
    curves = np.stack([normalise(signal, rate_hz, start, end) for start, end in bounds])
    return {name: factor * nan_statistics(curves[..., k])[0] for k, name in enumerate(CONTRIBUTIONS)}
