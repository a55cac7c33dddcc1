"""The whole trial on one page: ground reaction with the contacts, main angles and moments."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

import pandas as pd

from biodyn.conventions import SIDE_NAMES, SIDES, FloatArray
from biodyn.output.figures.cycles import labels_below, side_key, unit_words
from biodyn.output.figures.description import Axis, Figure, Key, Layer, Line, Panel, Span, Strip
from biodyn.output.figures.display import display_table
from biodyn.output.figures.ground import UNMEASURED_KEY, force_lines, time_axis, unmeasured
from biodyn.output.figures.trial import figure
from biodyn.output.figures.values import TrialValues
from biodyn.variables import variable

_LAYOUT = display_table()["overview"]
_FORCE = display_table()["stance_figure"]["panels"][0]
_CAPTION = "Bars: foot-plate contacts. Grey: a foot was on the floor outside the plates; its leg has no moments then."
_MOMENT = "_moment"


@figure(
    _LAYOUT["name"], place=70, needs=("joint_angles", "joint_torques", "ground_reaction", "contacts"), section="trial"
)
def whole_trial(trial: TrialValues) -> Figure | None:
    """The vertical force above a bar for every contact with a plate; below, angles (left) and moments (right)."""
    if not trial.sides:
        return None
    ground = trial.tables["ground_reaction"]
    time_s = ground["time_s"].to_numpy()
    outside = unmeasured(ground, trial.sides)
    force = Panel(
        _title(_FORCE), time_axis(time_s), _axis("BW"), (outside, *force_lines(ground, _FORCE, trial.weight_n)),
        contact_strips(trial.tables["contacts"]), span=2,
    )  # fmt: skip
    angles = _panels(trial, _LAYOUT["angles"], "joint_angles", time_s, "deg", 1.0, ())
    moments = _panels(trial, _LAYOUT["moments"], "joint_torques", time_s, "Nm/kg", 1.0 / trial.mass_kg, (outside,))
    pairs = [panel for pair in zip_longest(angles, moments) for panel in pair]
    keys = (*(side_key(side) for side in SIDES), Key("contact not used", "limit", "area"), UNMEASURED_KEY)
    return Figure(_LAYOUT["title"], (force, *pairs), keys, 2, height=118.0, caption=_CAPTION)


def contact_strips(contacts: pd.DataFrame) -> tuple[Strip, ...]:
    """A strip a plate with its contacts: in the colour of the side, red where they were not used."""
    spans: dict[int, list[Span]] = {}
    for contact in contacts.to_dict("records"):
        side, decision = str(contact["side"]), str(contact["decision"])
        color = SIDE_NAMES.get(side, "limit") if decision == "assigned" else "limit"
        words = f"{SIDE_NAMES.get(side, 'no')} foot, {decision}"
        start, end = float(contact["start_s"]), float(contact["end_s"])
        spans.setdefault(int(contact["plate"]), []).append(Span(start, end, words, color))
    return tuple(Strip(f"plate {plate}", "limit", tuple(own)) for plate, own in sorted(spans.items()))


def _panels(
    trial: TrialValues,
    names: Sequence[str],
    of_table: str,
    time_s: FloatArray,
    unit: str,
    factor: float,
    behind: tuple[Layer, ...],
) -> list[Panel]:
    """A panel a variable of which the table has a column on either side."""
    suffix, table = unit.partition("/")[0], trial.tables[of_table]
    columns = {name: {side: trial.coordinate(name.removesuffix(_MOMENT), side) for side in SIDES} for name in names}
    present = [name for name in names if any(f"{own}_{suffix}" in table for own, _ in columns[name].values())]
    panels = []
    for name, label in zip(present, labels_below("time (s)", len(present), 1), strict=True):
        lines = [
            Line(
                time_s,
                sign * variable(name).clinical(side) * factor * table[f"{own}_{suffix}"].to_numpy(),
                SIDE_NAMES[side],
            )
            for side, (own, sign) in columns[name].items()
            if f"{own}_{suffix}" in table
        ]
        panels.append(Panel(_title(name), time_axis(time_s, label), _axis(unit), (*behind, *lines)))
    return panels


def _title(name: str) -> str:
    return f"{variable(name).title} ({variable(name).positive} +)"


def _axis(unit: str) -> Axis:
    return Axis(unit_words(unit), holds=(0.0,), grid=True)
