"""Residual force and moment at the pelvis against their limits."""

from __future__ import annotations

import numpy as np

from biodyn.conventions import AXES
from biodyn.output.figures.description import Axis, Figure, Key, Layer, Line, Panel, Rule, Shade
from biodyn.output.figures.ground import time_axis, unmeasured
from biodyn.output.figures.style import DASHED
from biodyn.output.figures.trial import figure
from biodyn.output.figures.values import TrialValues
from biodyn.processing.signals.rms import rms

_CAPTION = "Pelvis residual force and moment (about the pelvis origin): zero for perfect data."
_OF_ESTIMATE = (
    " Of the fitted motion and the measured forces, as the checks judge it; thin: what the estimate of both leaves."
)
_RAW = "raw_fx_N"  # of the table `residuals`, where motion and forces became one estimate
_AXIS_NAMES = {"x": "x forward", "y": "y up", "z": "z right"}


@figure("residual", place=50, needs=("joint_torques", "ground_reaction"), section="fit")
def residual(trial: TrialValues) -> Figure | None:
    """Components and magnitude; grey where a contact was not measured; None of a model without forces or feet."""
    table = trial.tables["joint_torques"]
    if trial.record["static"].get("source") == "model" and not table["residual_fx_N"].notna().any():
        return None
    limits = trial.record["residual_limits"]
    panels = (
        _panel(trial, "Pelvis residual force", "f", "N", limits["force_n"]),
        _panel(trial, "Pelvis residual moment", "m", "Nm", limits["moment_nm"]),
    )
    keys = (
        *(Key(words, axis, width=1.5) for axis, words in _AXIS_NAMES.items()),
        Key("magnitude", "ink", width=2.2),
        *((Key("left by the estimate", "muted", width=1.0),) if _has_raw(trial) else ()),
        Key("limit of the RMS", "limit", width=1.2, dash=DASHED),
        Key("not measured", "unknown", "area"),
    )
    return Figure(
        "Pelvis residual", panels, keys, 2, height=232.0, caption=_CAPTION + (_OF_ESTIMATE if _has_raw(trial) else "")
    )


def _has_raw(trial: TrialValues) -> bool:
    """Whether motion and forces became one estimate: then the residual that is judged is the one before."""
    return "residuals" in trial.tables and _RAW in trial.tables["residuals"]


def _panel(trial: TrialValues, title: str, letter: str, unit: str, limit: float | None) -> Panel:
    raw = _has_raw(trial)
    table = trial.tables["residuals" if raw else "joint_torques"]
    first = "raw" if raw else "residual"
    vector = table[[f"{first}_{letter}{axis}_{unit}" for axis in AXES]].to_numpy()
    size, time_s = np.linalg.norm(vector, axis=1), table["time_s"].to_numpy()
    known = bool(np.isfinite(vector).any())
    layers: list[Layer] = []
    if limit is not None and np.isfinite(limit):
        layers.append(Shade(((-limit, limit),), "allowed", "y"))
        layers += [Rule(sign * limit, "y", "limit", 1.2, DASHED) for sign in (-1.0, 1.0)]
    layers.append(unmeasured(trial.tables["ground_reaction"], trial.sides))
    layers += [Line(time_s, vector[:, i], axis, 1.3) for i, axis in enumerate(_AXIS_NAMES)]
    layers.append(Line(time_s, size, "ink", 2.2))
    if raw:
        left = table[[f"left_{letter}{axis}_{unit}" for axis in AXES]].to_numpy()
        layers.append(Line(time_s, np.linalg.norm(left, axis=1), "muted", 1.0))
    return Panel(
        title,
        time_axis(time_s),
        Axis(unit, grid=True),
        tuple(layers),
        corner=f"RMS {rms(size):.1f} {unit}, peak {np.nanmax(size):.1f} {unit}" if known else "",
        note="" if known else "GRF of both feet was never known together",
    )
