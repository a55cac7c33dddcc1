"""Moment curves with other choices, one row of panels per factor."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.figure import Figure

from biodyn.conventions import CYCLE_POINTS, SIDE_NAMES, SIDES
from biodyn.model.from_library.catalogue import catalogue
from biodyn.output.figures.style import INK, LABEL_PT, dress, new_figure, note, panel_size_in, panels, zero_line
from biodyn.variables import PERCENT, variable

# Light to dark over the levels of a factor, without the ends that vanish on white or look like the base's ink.
_SHADES = "viridis"
_RANGE = (0.05, 0.85)
# Heights of a panel's title, and of title and legend together, inches.
_TITLE_IN = 0.22
_LEGEND_IN = 0.62


def sensitivity_figure(sensitivity: pd.DataFrame, moments: list[str]) -> Figure:
    """Mean curves of some moments with every level of every factor; the analysis as it was is drawn in black.

    Args:
        sensitivity: table of that name, its own curves first. moments: variables, a column each.

    Of both sides the one is shown whose curves are known over more of the cycle.
    """
    heads = sensitivity.iloc[::CYCLE_POINTS][["factor", "level", "side", "variable"]].astype(str)
    curves = sensitivity["value"].to_numpy(dtype=np.float64).reshape(-1, CYCLE_POINTS)
    rows = {tuple(head): number for number, head in enumerate(heads.itertuples(index=False, name=None))}
    base = heads.iloc[0, 0] if len(heads) else ""
    factors = [factor for factor in dict.fromkeys(heads["factor"]) if factor != base]
    side = max(SIDES, key=lambda one: int(np.isfinite(curves[(heads["side"] == one).to_numpy()]).sum()))
    figure = new_figure(9.4, 0.4 + 2.4 * max(len(factors), 1))
    axes = iter(
        panels(figure, max(len(factors), 1), len(moments), top_in=_LEGEND_IN, down_in=_LEGEND_IN, bottom_in=0.4)
    )
    for factor in factors:
        levels = list(dict.fromkeys(heads.loc[heads["factor"] == factor, "level"]))
        shades = colormaps[_SHADES](np.linspace(*_RANGE, len(levels)))
        for column, moment in enumerate(moments):
            ax, shown = next(axes), variable(moment)
            label = "gait cycle (%)" if factor == factors[-1] else ""
            dress(ax, f"{shown.title}, {SIDE_NAMES[side]}", f"Nm/kg, {shown.positive} +", label)
            ax.set_xlim(0.0, 100.0)
            zero_line(ax)
            own = rows.get((base, heads.iloc[0, 1], side, moment))
            if own is None:
                note(ax, "no valid cycle")
                continue
            sign = shown.clinical(side)
            for level, shade in zip(levels, shades, strict=True):
                row = rows.get((factor, level, side, moment))
                if row is not None:
                    ax.plot(
                        PERCENT, sign * curves[row], color=shade, linewidth=1.1, label=level_words(level).split(" (")[0]
                    )
            ax.plot(PERCENT, sign * curves[own], color=INK, linewidth=1.6, label=heads.iloc[0, 1])
            if column == 0:  # above its row, so that it hides no curve
                ax.legend(
                    title=factor.replace("_", " "),
                    title_fontproperties={"size": LABEL_PT, "weight": "bold"},
                    alignment="left",
                    frameon=False,
                    fontsize=LABEL_PT - 1.0,
                    labelcolor=INK,
                    loc="lower left",
                    bbox_to_anchor=(-0.03, 1.0 + _TITLE_IN / panel_size_in(ax)[1]),
                    ncols=len(levels) + 1,
                    columnspacing=1.2,
                    handlelength=1.2,
                    borderpad=0.0,
                )
    return figure


def level_words(level: str) -> str:
    """Title of a level that is an entry of the library; others speak for themselves."""
    return next((title for _, entries in catalogue() for name, title in entries if name == level), level)
