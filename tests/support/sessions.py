"""A simulated session as files, and ways to spoil them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from simulator import SimulatedTrial, write_c3d
from simulator.c3d_writer import C3dContent
from simulator.c3d_writer import write_c3d as write_content


@dataclass(frozen=True)
class Laboratory:
    """A simulated session on disk; `static` and `walk` are its files, `trials` what they were written from."""

    folder: Path
    trials: Mapping[str, SimulatedTrial]

    @property
    def static(self) -> Path:
        return self.folder / "static.c3d"

    @property
    def walk(self) -> Path:
        return self.folder / "walk.c3d"

    def copy(self, folder: Path, **changed: SimulatedTrial | None) -> Laboratory:
        """Write the session into another folder, with trials changed (`static=`, `walk=`) or left out (None)."""
        folder.mkdir(parents=True, exist_ok=True)
        trials = {kind: trial for kind, trial in {**self.trials, **changed}.items() if trial is not None}
        for kind, trial in trials.items():
            write_c3d(folder / f"{kind}.c3d", trial)
        return Laboratory(folder, trials)


def renamed(trial: SimulatedTrial, pattern: str) -> SimulatedTrial:
    """The trial with its markers named after `pattern`, e.g. "M{}"."""
    return replace(trial, labels=tuple(pattern.format(i) for i in range(len(trial.labels))))


def shown(trial: SimulatedTrial, count: int) -> SimulatedTrial:
    """The trial with its first markers only."""
    return replace(trial, labels=trial.labels[:count], markers=trial.markers[:, :count])


def unloaded(trial: SimulatedTrial) -> SimulatedTrial:
    """The trial with nobody on the plates."""
    return replace(trial, components=tuple(np.zeros_like(c) for c in trial.components))


def cut(trial: SimulatedTrial, first: int, last: int) -> SimulatedTrial:
    """Frames first to last (exclusive) of the trial, without stored events."""
    ratio = len(trial.components[0]) // len(trial.time_s)
    return replace(
        trial,
        time_s=trial.time_s[first:last],
        markers=trial.markers[first:last],
        components=tuple(c[first * ratio : last * ratio] for c in trial.components),
        events=(),
    )


def hidden(trial: SimulatedTrial, first: int, last: int) -> SimulatedTrial:
    """The trial with every marker out of sight in frames first to last (exclusive)."""
    markers = trial.markers.copy()
    markers[first:last] = np.nan
    return replace(trial, markers=markers)


def without_plates(path: Path, trial: SimulatedTrial) -> None:
    """Write the trial's markers alone."""
    subject: dict[str, Any] = {"USED": 1, "NAMES": [trial.body.person.name], "IS_STATIC": 0}
    positions = 1e3 * trial.markers @ trial.options.R_LW.T
    screen = {"X_SCREEN": trial.options.forward.upper(), "Y_SCREEN": trial.options.up.upper()}
    write_content(
        path,
        C3dContent(
            list(trial.labels), positions, trial.options.rate_hz, parameters={"POINT": screen, "SUBJECTS": subject}
        ),
    )


def without_parameter(path: Path, name: str) -> None:
    """Make a parameter of a C3D file unknown: its name is overwritten."""
    data = path.read_bytes()
    key = name.upper().encode()
    spelled = key if key in data else name.encode()
    assert spelled in data, f"{path} stores no {name}"
    path.write_bytes(data.replace(spelled, b"X" * len(spelled)))
