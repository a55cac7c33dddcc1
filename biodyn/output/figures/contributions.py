"""Contributions to the joint torques over the gait cycle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from biodyn.conventions import SIDE_NAMES, SIDES
from biodyn.output.figures.cycles import nan_statistics
from biodyn.output.figures.style import AXIS_COLORS, INK, LABEL_PT, MUTED, dress, new_figure, note, panels, zero_line
from biodyn.processing.gait.cycles import normalise
from biodyn.variables import PERCENT, variable
from biodyn.verification.contributions import CONTRIBUTIONS

_COLORS: Final = dict(zip(CONTRIBUTIONS, (AXIS_COLORS[0], AXIS_COLORS[1], AXIS_COLORS[2], MUTED), strict=True))
_SUFFIX: Final = "_moment"


def torque_contributions_figure(
    contributions: pd.DataFrame, spatiotemporal: pd.DataFrame, moments: Sequence[str], mass_kg: float
) -> Figure:
    """Mean over the cycles of every contribution and of their sum, Nm/kg; one row per side, one column per moment.

    Args:
        contributions: table `joint_torque_parts`; spatiotemporal: for the cycles.
        moments: variables of coordinate torques, e.g. those of the overview.
    """
    figure = new_figure(9.4, 4.9)
    axes = iter(panels(figure, len(SIDES), len(moments), down_in=0.45))
    by_name = {str(name): block for name, block in contributions.groupby("coordinate", observed=True)}
    for row, side in enumerate(SIDES):
        own = spatiotemporal[spatiotemporal["side"].astype(str) == side]
        for moment in moments:
            ax, shown = next(axes), variable(moment)
            last = row == len(SIDES) - 1
            dress(
                ax, f"{shown.title}, {SIDE_NAMES[side]}", f"Nm/kg, {shown.positive} +", "gait cycle (%)" if last else ""
            )
            ax.set_xlim(0.0, 100.0)
            zero_line(ax)
            block = by_name.get(f"{moment.removesuffix(_SUFFIX)}_{side}")
            if block is None:
                note(ax, "not in this skeleton")
                continue
            curves = _mean_curves(block, own, shown.clinical(side) / mass_kg)
            if not np.isfinite(curves[CONTRIBUTIONS[0]]).any():
                note(ax, "no valid cycle")
                continue
            for name in CONTRIBUTIONS:
                ax.plot(PERCENT, curves[name], color=_COLORS[name], linewidth=1.3, label=name)
            ax.plot(
                PERCENT, np.sum([curves[name] for name in CONTRIBUTIONS], axis=0), color=INK, linewidth=1.9, label="sum"
            )
    handles = next((ax.get_legend_handles_labels() for ax in figure.axes if ax.get_legend_handles_labels()[0]), None)
    if handles is not None:
        figure.legend(
            *handles, loc="lower center", ncols=len(CONTRIBUTIONS) + 1, frameon=False, fontsize=LABEL_PT, labelcolor=INK
        )
    return figure


def _mean_curves(block: pd.DataFrame, cycles: pd.DataFrame, factor: float) -> dict[str, np.ndarray]:
    series = {str(name): part for name, part in block.groupby("part", observed=True)}
    time_s = series[CONTRIBUTIONS[0]]["time_s"].to_numpy(dtype=float)
    rate_hz = (len(time_s) - 1) / (time_s[-1] - time_s[0])
    signal = np.column_stack([series[name]["value"].to_numpy(dtype=float) for name in CONTRIBUTIONS])
    bounds = cycles[["start_s", "end_s"]].to_numpy(dtype=float)
    if not len(bounds):
        return {name: np.full(len(PERCENT), np.nan) for name in CONTRIBUTIONS}
    curves = np.stack([normalise(signal, rate_hz, start, end) for start, end in bounds])
    return {name: factor * nan_statistics(curves[..., k])[0] for k, name in enumerate(CONTRIBUTIONS)}
