"""Figures over the gait cycle: one for every entry of library/figures/display.toml."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from biodyn.output.figures.cycles import cycle_figure
from biodyn.output.figures.description import Figure
from biodyn.output.figures.display import display_table
from biodyn.output.figures.over_time import figure_over_time
from biodyn.output.figures.trial import Describe, figure
from biodyn.output.figures.values import TrialValues

_SHADED = " Shaded: one standard deviation of the input errors (see Uncertainty)."


def over_cycle(entry: Mapping[str, Any]) -> Describe:
    """Return what describes the figure of an entry; None where the skeleton has none of its variables."""

    def describe(trial: TrialValues) -> Figure | None:
        names = entry["panels"]
        if not trial.curves:
            return figure_over_time(trial, entry["title"], names)
        if not any(name in trial.curves for name in names):
            return None
        drawn = cycle_figure(entry["title"], trial.curves, names, trial.foot_off_percent, trial.norms, trial.bands)
        shaded = _SHADED if any(name in trial.bands and name in trial.curves for name in names) else ""
        return replace(drawn, caption=entry["caption"] + shaded)

    return describe


for _place, _entry in enumerate(display_table()["figure"]):
    figure(_entry["name"], 10 + 0.01 * _place, ("gait_cycles", "spatiotemporal", "ground_reaction"), "cycles")(
        over_cycle(_entry)
    )
