"""Recordings whose file describes the plates otherwise than they are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from simulator import SimulatedTrial
from simulator.c3d_writer import C3dContent
from simulator.c3d_writer import write_c3d as write_content
from simulator.files import analog_channels, trial_parameters

from biodyn.analysis import TrialAnalysis
from biodyn.trial.run import analyse_trial

QUICK = {"uncertainty": {"compute": False}}
Platform = dict[str, np.ndarray]


def described(
    path: Path,
    trial: SimulatedTrial,
    change: Callable[[Platform], None],
    channels_of: Callable[[np.ndarray], np.ndarray] = np.asarray,
    units_of: Callable[[list[str]], list[str]] = list,
) -> None:
    """Write the trial with another description of its plates, and their channels and units changed."""
    channels, labels, units = analog_channels(trial)
    parameters = {group: dict(entries) for group, entries in trial_parameters(trial, True, "").items()}
    change(parameters["FORCE_PLATFORM"])
    write_content(
        path,
        C3dContent(
            list(trial.labels),
            1e3 * trial.markers @ trial.options.R_LW.T,
            trial.options.rate_hz,
            analog=channels_of(channels),
            analog_labels=labels,
            analog_units=units_of(units),
            parameters=parameters,
        ),
    )


def analysed(folder: Path, standing: SimulatedTrial, walking: SimulatedTrial, *changes) -> TrialAnalysis:
    for name, trial in (("static", standing), ("walk", walking)):
        described(folder / f"{name}.c3d", trial, *changes)
    return analyse_trial(folder / "walk.c3d", folder / "static.c3d", settings=QUICK)


def causes(analysis: TrialAnalysis) -> list[str]:
    assert analysis.verdict is not None
    return [cause.code for cause in analysis.verdict.causes]
