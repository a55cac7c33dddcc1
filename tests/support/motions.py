"""Motions other than level walking, solved once: `python tests/support/motions.py` solves them again and stores them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
from simulator import Body, Person, SimulatedTrial, TrialOptions, embody, write_c3d
from simulator.kinds import SCENES, Scene
from simulator.motions import PlannedMotion, planned_motion, solve_motion
from simulator.scenes import record_scene
from simulator.trial import standing

from biodyn.analysis import TrialAnalysis
from biodyn.trial.run import analyse_trial

QUICK = {"uncertainty": {"compute": False}}

PERSON = Person("Mover", height_m=1.75, mass_kg=72.0, sex="male")
OPTIONS = TrialOptions(forward="-x", rate_hz=100.0)
_STORED = Path(__file__).parent / "data" / "motions.npz"


@dataclass(frozen=True)
class Recorded:
    """A scene with the static trial and the trial that were recorded of it."""

    scene: Scene
    static: SimulatedTrial
    trial: SimulatedTrial

    def analysed(self, folder: Path) -> TrialAnalysis:
        """Write both files and analyse them."""
        folder.mkdir(parents=True, exist_ok=True)
        write_c3d(folder / "static.c3d", self.static)
        write_c3d(folder / "trial.c3d", self.trial, events=False)
        return analyse_trial(folder / "trial.c3d", folder / "static.c3d", settings=QUICK)


@cache
def mover() -> Body:
    """The person."""
    return embody(PERSON)


@cache
def recorded(name: str, noise_mm: float = 0.0) -> Recorded:
    """The recording of a scene by its name."""
    body, options = mover(), replace(OPTIONS, noise_mm=noise_mm)
    scene = SCENES[name](body)
    return Recorded(
        scene, standing(body, options, scene.plates), record_scene(scene, stored_motion(name, scene), options)
    )


def stored_motion(name: str, scene: Scene) -> PlannedMotion:
    """The solved motion of a scene, on the plates of `scene`."""
    with np.load(_STORED) as stored:
        return planned_motion(mover(), scene.plan, stored[name].astype(np.float64))


def main() -> None:
    """Solve every scene and store the coefficients: whatever they are, forces and torques belong to them exactly."""
    body = mover()
    solved = {name: solve_motion(body, make(body).plan) for name, make in SCENES.items()}
    coefficients = {name: found.spline.coefficients.astype(np.float32) for name, found in solved.items()}
    np.savez_compressed(_STORED, **coefficients)


if __name__ == "__main__":
    main()
