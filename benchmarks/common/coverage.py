"""How often the true torques of simulated people lie in their 95 % bands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from biodyn.analysis import TrialAnalysis
from biodyn.simulation.trial import SimulatedTrial
from biodyn.simulation.uncertain import covered

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


def print_covered(rows: Mapping[str, list[tuple[float, float, float, int]]]) -> None:
    """Print a line for every kind of coordinate."""
    print("  coordinate         per cent of frames (standard error)   rms error, Nm   rms band, 1 SD, Nm")
    for name, found in rows.items():
        inside, error2, sd2, frames = np.array(found).T
        share, doubt = 100 * np.average(inside, weights=frames), 100 * inside.std() / np.sqrt(len(inside))
        rms = [np.sqrt(np.average(values, weights=frames)) for values in (error2, sd2)]
        print(f"  {name:18s} {share:5.1f} ({doubt:3.1f}) {rms[0]:25.2f} {rms[1]:15.2f}")


def share_covered(rows: Iterable[tuple[float, float, float, int]]) -> float:
    """Per cent of all frames of some rows in which the true torque lies in the band."""
    inside, _, _, frames = np.array(list(rows)).T
    return 100 * float(np.average(inside, weights=frames))
