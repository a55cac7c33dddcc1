"""Moment curves with other choices, one row of panels per factor."""

from __future__ import annotations

import numpy as np

from biodyn.conventions import CYCLE_POINTS, SIDE_NAMES, SIDES
from biodyn.model.from_library.catalogue import catalogue
from biodyn.output.figures.cycles import percent_axis, value_axis
from biodyn.output.figures.description import Figure, Key, Legend, Line, Panel
from biodyn.output.figures.display import display_table
from biodyn.output.figures.style import shades
from biodyn.output.figures.trial import figure
from biodyn.output.figures.values import TrialValues
from biodyn.variables import PERCENT, variable

_CAPTION = "Mean moments of one side with every level of each factor; black: the analysis as it is reported here."


@figure("sensitivity", place=80, needs=("sensitivity",), section="sensitivity")
def sensitivity(trial: TrialValues) -> Figure | None:
    """Mean curves of some moments with every level of every factor, of the side that is known over more of the cycle.

    The table's own curves, the analysis as it was, come first in it.
    """
    table = trial.tables["sensitivity"]
    heads = table.iloc[::CYCLE_POINTS][["factor", "level", "side", "variable"]].astype(str)
    if not len(heads):
        return None
    values = table["value"].to_numpy(dtype=np.float64).reshape(-1, CYCLE_POINTS)
    curves = dict(zip(heads.itertuples(index=False, name=None), values, strict=True))
    base, base_level = heads.iloc[0][["factor", "level"]]
    factors = [factor for factor in dict.fromkeys(heads["factor"]) if factor != base]
    side = max(SIDES, key=lambda one: int(np.isfinite(values[(heads["side"] == one).to_numpy()]).sum()))
    moments = display_table()["overview"]["moments"]
    panels = []
    for factor in factors:
        levels = list(dict.fromkeys(heads.loc[heads["factor"] == factor, "level"]))
        colors = dict(zip(levels, shades(len(levels)), strict=True))
        keys = [Key(level_words(level).split(" (")[0], color) for level, color in colors.items()]
        legend = Legend(factor.replace("_", " "), (*keys, Key(base_level, "ink", width=2.4)))
        for column, moment in enumerate(moments):
            shown = variable(moment)
            sign, own = shown.clinical(side), curves.get((base, base_level, side, moment))
            lines = [] if own is None else [
                Line(PERCENT, sign * curves[factor, level, side, moment], color, 1.6)
                for level, color in colors.items()
                if (factor, level, side, moment) in curves
            ] + [Line(PERCENT, sign * own, "ink", 2.4)]  # fmt: skip
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
    return Figure("Sensitivity to modelling choices", tuple(panels), columns=len(moments), caption=_CAPTION)


def level_words(level: str) -> str:
    """Title of a level that is an entry of the library; others speak for themselves."""
    return next((title for _, entries in catalogue() for name, title in entries if name == level), level)
