"""The plates from above: foot outlines at mid-contact and paths of the centre of pressure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from biodyn.conventions import SIDE_NAMES, SIDES, FloatArray
from biodyn.output.figures.cycles import MEAN
from biodyn.output.figures.description import Axis, Figure, Key, Layer, Line, Outline, Panel, Points, Text
from biodyn.output.figures.ground import seen_from_above
from biodyn.output.figures.style import DASHED
from biodyn.output.figures.trial import figure
from biodyn.output.figures.values import TrialValues

_CAPTION = "Plates seen from above: foot outlines at mid-contact and paths of the centre of pressure."
_MARGIN_M = 0.15
_WIDTH, _LOWEST, _HIGHEST = 926.0, 165.0, 355.0  # of the plot, pixels
_LETTERS_M = 0.015  # between the edge of a plate and its number


@figure("centre_of_pressure", place=30, needs=("ground_reaction", "contacts"), section="ground")
def centre_of_pressure(trial: TrialValues) -> Figure | None:
    """Every plate with its number, every contact with the outline of its foot, assigned ones with their path.

    None of a model whose forces are given: there are no plates to stand on.
    """
    if trial.record["static"].get("source") == "model" and not len(trial.arrays["plate_numbers"]):
        return None
    numbers, corners_W = trial.arrays["plate_numbers"].tolist(), trial.arrays["plate_corners_W"]
    plates = dict(zip(numbers, corners_W, strict=True))
    corners = np.concatenate([seen_from_above(plate) for plate in plates.values()]) if plates else np.zeros((1, 2))
    low, high = corners.min(axis=0) - _MARGIN_M, corners.max(axis=0) + _MARGIN_M
    layers: list[Layer] = []
    outlined = trial.arrays.get("plate_outlined", np.ones(len(plates), dtype=bool))
    for (number, plate), known in zip(plates.items(), outlined.tolist(), strict=True):
        if known:
            layers.append(Outline(seen_from_above(plate), "plate_edge", fill="plate"))
        x, y = seen_from_above(plate).min(axis=0) + _LETTERS_M
        layers.append(Text(float(x), float(y), f"plate {number}" + ("" if known else " (edges not known)")))
    for contact, outlines in zip(trial.tables["contacts"].to_dict("records"), _outlines(trial), strict=False):
        layers += _contact(trial, contact, outlines, low, high)
    panel = Panel(
        "Centre of pressure (top view)",
        Axis("forward, direction of World X (m)", limits=(float(low[0]), float(high[0])), grid=True),
        Axis("to the left (m)", limits=(float(low[1]), float(high[1])), grid=True),
        tuple(layers),
        note="" if plates else "no plate",
        equal=True,
    )
    keys = [Key(f"{SIDE_NAMES[side]} (dot: strike)", SIDE_NAMES[side], width=MEAN, point=True) for side in SIDES]
    keys.append(Key("foot outline of a contact that was not used", "limit", width=1.5, dash=DASHED))
    height = float(np.clip(_WIDTH * (high[1] - low[1]) / (high[0] - low[0]), _LOWEST, _HIGHEST))
    return Figure("Centre of pressure", (panel,), tuple(keys), 1, height, caption=_CAPTION)


def _outlines(trial: TrialValues) -> list[FloatArray]:
    """Outlines (2, K, 3) m in World of the right and the left sole, contact by contact."""
    found = list(trial.arrays["contact_soles_W"])
    unknown = np.full((len(SIDES), 1, 3), np.nan)
    return found + [unknown] * (len(trial.tables["contacts"]) - len(found))


def _contact(
    trial: TrialValues, contact: Mapping[Any, Any], outlines: FloatArray, low: FloatArray, high: FloatArray
) -> list[Layer]:
    side, assigned = str(contact["side"]), str(contact["decision"]) == "assigned"
    color = SIDE_NAMES.get(side, "limit") if assigned else "limit"
    layers: list[Layer] = []
    for of_side, outline_W in zip(SIDES, outlines, strict=True):
        outline = seen_from_above(outline_W)
        wanted = side not in SIDES or of_side == side
        if (
            wanted
            and np.isfinite(outline).all()
            and ((low <= outline.mean(axis=0)) & (outline.mean(axis=0) <= high)).all()
        ):
            layers.append(Outline(outline, color, opacity=0.8, dash=() if assigned else DASHED))
    if assigned and side in SIDES:
        ground = trial.tables["ground_reaction"]
        time_s = ground["time_s"].to_numpy()
        rows = (time_s >= contact["start_s"]) & (time_s <= contact["end_s"])
        path = ground.loc[rows, [f"centre_of_pressure_{side}_{axis}_m" for axis in "xyz"]].to_numpy()
        x, y = seen_from_above(path).T
        layers.append(Line(x, y, color, MEAN))
        start = np.flatnonzero(np.isfinite(x) & np.isfinite(y))[:1]
        layers.append(Points(x[start], y[start], color))
    return layers
