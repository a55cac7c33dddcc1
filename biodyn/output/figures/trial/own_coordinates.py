"""Coordinates of an imported model that no other figure shows: those that are no variable here, and of the joint to ground."""

from __future__ import annotations

from biodyn.output.figures.cycles import labels_below
from biodyn.output.figures.description import Axis, Figure, Line, Panel
from biodyn.output.figures.display import display_table
from biodyn.output.figures.ground import time_axis
from biodyn.output.figures.trial import figure
from biodyn.output.figures.values import TrialValues

_MOST = 12  # of a page
_CAPTION = (
    "Coordinates of the model that no other figure shows, with their torques; names and signs are the model's own."
)


@figure("own_coordinates", place=72, needs=("joint_angles", "joint_torques"), section="trial")
def own_coordinates(trial: TrialValues) -> Figure | None:
    """A row a coordinate: value and torque through the trial; None on biodyn's model, and where all are shown elsewhere."""
    if "own_coordinates" not in trial.arrays:
        return None
    shown = {name for entry in display_table()["figure"] for name in entry["panels"]}
    known = {name for name, entry in trial.record["model"]["variables"].items() if entry["variable"] in shown}
    time_s = trial.tables["joint_angles"]["time_s"].to_numpy(dtype=float)
    rows = []
    for name, turns in zip(trial.arrays["own_coordinates"], trial.arrays["own_rotational"], strict=True):
        units = ("deg", "Nm") if turns else ("m", "N")
        values = trial.tables["joint_angles"][f"{name}_{units[0]}"].to_numpy(dtype=float)
        moves = float(values.max() - values.min()) > 0.0 if len(values) else False
        if str(name) not in known and moves:
            rows.append((str(name), units, values))
    rows = rows[:_MOST]
    if not rows:
        return None
    panels = []
    for (name, units, values), label in zip(rows, labels_below("time (s)", len(rows), 1), strict=True):
        torque = trial.tables["joint_torques"][f"{name}_{units[1]}"].to_numpy(dtype=float)
        for title, unit, curve in ((name, units[0], values), (f"{name}, torque", units[1], torque)):
            panels.append(Panel(title, time_axis(time_s, label), Axis(unit, grid=True), (Line(time_s, curve, "ink"),)))
    return Figure("Further coordinates of the model", tuple(panels), (), 2, height=118.0, caption=_CAPTION)
