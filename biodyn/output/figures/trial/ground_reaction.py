"""Ground reaction force on each foot through the trial, and over each measured stance."""

from __future__ import annotations

from dataclasses import replace

from biodyn.conventions import SIDES
from biodyn.output.figures.cycles import COLUMNS, cycle_panel, labels_below, side_key, value_axis
from biodyn.output.figures.description import Figure, Panel
from biodyn.output.figures.display import display_table
from biodyn.output.figures.ground import UNMEASURED_KEY, force_lines, stance_curves, time_axis, unmeasured
from biodyn.output.figures.trial import figure
from biodyn.output.figures.values import TrialValues
from biodyn.variables import variable

_LAYOUT = display_table()["stance_figure"]
_CAPTION = (
    "GRF of each foot in body weights: through the trial, and over the stances measured from foot strike to foot off."
)


@figure(_LAYOUT["name"], place=20, needs=("ground_reaction", "events"), section="ground")
def ground_reaction(trial: TrialValues) -> Figure | None:
    """Trial above, stance below, in body weights; None without a foot that is known."""
    if not trial.sides:
        return None
    names, ground = _LAYOUT["panels"], trial.tables["ground_reaction"]
    stances = stance_curves(trial.tables["events"], ground, names, trial.weight_n)
    above, below = [], []
    for name, label in zip(names, labels_below("stance (%)", len(names)), strict=True):
        shown = variable(name)
        lines = force_lines(ground, name, trial.weight_n)
        x = time_axis(lines[0].x)
        above.append(
            Panel(f"{shown.title}, trial", x, value_axis(shown, "BW"), (unmeasured(ground, trial.sides), *lines))
        )
        stance = replace(shown, title=f"{shown.title}, stance")
        below.append(cycle_panel(stance, stances[name], {}, label=label))
    keys = (*(side_key(side) for side in SIDES), UNMEASURED_KEY)
    return Figure(_LAYOUT["title"], (*above, *below), keys, min(COLUMNS, len(names)), caption=_CAPTION)
