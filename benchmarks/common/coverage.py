"""How often the true torques and joint centres of simulated people lie in their 95 % bands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from simulator.trial import SimulatedTrial
from simulator.uncertain import covered

from biodyn.analysis import TrialAnalysis
from biodyn.conventions import FloatArray
from biodyn.rigid_body.kinematics import StickFigure

#: Of each kind of coordinate, a row a trial and side: share inside, mean square of error and of band, frames.
Rows = dict[str, list[tuple[float, float, float, int]]]


def add_covered(rows: Rows, analysis: TrialAnalysis, truth: SimulatedTrial) -> None:
    """Add the rows of a trial whose truth is known."""
    assert analysis.uncertainty is not None
    true_of = {coordinate.name: coordinate.v_index for coordinate in truth.body.model.coordinates}
    sd = analysis.uncertainty.total
    for column, coordinate in enumerate(analysis.model.coordinates):
        torque = analysis.dynamics.torques[:, column]
        known = np.isfinite(torque) & np.isfinite(sd[:, column])
        if not known.any():
            continue
        error = torque[known] - truth.tau[known, true_of[coordinate.name]]
        inside = covered(error, sd[known, column])
        row = (float(inside.mean()), float(np.mean(error**2)), float(np.mean(sd[known, column] ** 2)), int(known.sum()))
        rows.setdefault(coordinate.name.removesuffix(f"_{coordinate.side}"), []).append(row)


def add_powers(rows: Rows, analysis: TrialAnalysis, truth: SimulatedTrial) -> None:
    """Add the rows of the joint powers of a trial whose truth is known."""
    bands = analysis.uncertainty
    assert bands is not None
    true_of = true_powers(truth)
    power_of = {
        f"{load.joint}_{load.side}" if load.side else load.joint: load.power for load in analysis.dynamics.joints
    }
    for name, sd in zip(bands.joints, bands.total_power.T, strict=True):
        known = np.isfinite(power_of[name]) & np.isfinite(sd)
        if known.any() and name in true_of:
            error = (power_of[name] - true_of[name])[known]
            inside = covered(error, sd[known])
            row = (float(inside.mean()), float(np.mean(error**2)), float(np.mean(sd[known] ** 2)), int(known.sum()))
            rows.setdefault(name.removesuffix("_r").removesuffix("_l"), []).append(row)


def true_powers(truth: SimulatedTrial) -> dict[str, FloatArray]:
    """Return the power (T,) W of each joint by name with its side, the knee's own turns and glides included."""
    powers: dict[str, FloatArray] = {}
    for coordinate in truth.body.model.coordinates:
        of_coordinate = truth.tau[:, coordinate.v_index] * truth.v[:, coordinate.v_index]
        powers[coordinate.joint] = powers.get(coordinate.joint, 0.0) + of_coordinate
    return powers


def add_placed(rows: Rows, analysis: TrialAnalysis, truth: SimulatedTrial) -> None:
    """Add where the joints truly were; an axis of World a row."""
    found = analysis.uncertainty
    assert found is not None
    assert found.places is not None
    mb, frames = analysis.model.multibody, found.places.frames
    figure, true = StickFigure.from_posture(mb), StickFigure.from_posture(truth.body.model.multibody)
    names, true_names = (
        [tree.bodies[body].name for body in own.bodies]
        for own, tree in ((figure, mb), (true, truth.body.model.multibody))
    )
    here = figure.points_in_configuration(mb, analysis.fit.motion.q[frames])
    there = true.points_in_configuration(truth.body.model.multibody, truth.q[frames])
    for k, name in enumerate(names):
        error, sd = here[:, k] - there[:, true_names.index(name)], found.places.sd_m[:, k]
        for axis in error.T:
            kind = name.rpartition("_")[0] or name
            row = (float(covered(axis, sd).mean()), float(np.mean(axis**2)), float(np.mean(sd**2)), len(frames))
            rows.setdefault(kind, []).append(row)


def print_covered(
    rows: Mapping[str, list[tuple[float, float, float, int]]], what: str = "coordinate", unit: str = "Nm"
) -> None:
    """Print a line for every kind of coordinate, or joint."""
    scale = 1000.0 if unit == "mm" else 1.0
    print(f"  {what:18s} per cent of frames (standard error)   rms error, {unit}   rms band, 1 SD, {unit}")
    for name, found in rows.items():
        inside, error2, sd2, frames = np.array(found).T
        share, doubt = 100 * np.average(inside, weights=frames), 100 * inside.std() / np.sqrt(len(inside))
        rms = [scale * np.sqrt(np.average(values, weights=frames)) for values in (error2, sd2)]
        print(f"  {name:18s} {share:5.1f} ({doubt:3.1f}) {rms[0]:25.2f} {rms[1]:15.2f}")


def share_covered(rows: Iterable[tuple[float, float, float, int]]) -> float:
    """Per cent of all frames of some rows in which the true torque lies in the band."""
    inside, _, _, frames = np.array(list(rows)).T
    return 100 * float(np.average(inside, weights=frames))
