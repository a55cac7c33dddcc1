"""How often the bands of an imported model's torques hold what its inputs' errors do: `python model_bands.py [--draws N]`.

Needs the recordings (BIODYN_TEST_DATA). Errors of all sources are drawn with seeds that the bands do not use, the walk is
analysed with them, and the share of frames within two standard deviations is counted by coordinate.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import numpy as np

from biodyn.trial.bodies import opensim as model_analysis
from biodyn.trial.bodies.opensim import run_on_model
from biodyn.trial.request import TrialRequest, trial_request
from biodyn.uncertainty.monte_carlo_bands import (
    ImportedInputs,
    marker_noise,
    monte_carlo_torque_bands,
    perturbed_inputs,
    recompute_draw,
)
from biodyn.uncertainty.propagation_inputs import load_magnitudes
from biodyn.uncertainty.settings import UncertaintySettings

_FIRST_SEED = 1000


def inputs_of(request: TrialRequest) -> ImportedInputs:
    """What the bands of a walk are made of: caught on its way."""
    caught: list[ImportedInputs] = []
    kept = model_analysis.monte_carlo_torque_bands
    model_analysis.monte_carlo_torque_bands = lambda trial, settings: caught.append(trial)
    try:
        run_on_model(request)
    finally:
        model_analysis.monte_carlo_torque_bands = kept
    return caught[0]


def coverage(trial: ImportedInputs, draws: int) -> dict[str, float]:
    """Share of frames, by coordinate, in which drawn errors of all sources stay within two standard deviations."""
    bands = monte_carlo_torque_bands(trial, UncertaintySettings())
    magnitudes = load_magnitudes()
    noise_m = marker_noise(trial, magnitudes)
    columns = [[c.name for c in trial.model.osim.coordinates].index(name) for name in bands.coordinates]
    inside = []
    for seed in range(_FIRST_SEED, _FIRST_SEED + draws):
        rng, error = np.random.default_rng(seed), np.zeros_like(trial.tau)
        for changes in perturbed_inputs(trial, magnitudes, noise_m, seed).values():
            for share, drawn in changes:
                change = recompute_draw(trial, drawn)[1] - trial.tau
                if share < 1.0:  # one draw of the whole source
                    error += change
                    break
                error += rng.normal() * change
        known = np.isfinite(bands.total)
        inside.append(np.where(known, np.abs(error[:, columns]) <= 2.0 * bands.total, np.nan))
    return dict(zip(bands.coordinates, np.nanmean(inside, axis=(0, 1)).tolist(), strict=True))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=40)
    data = Path(os.environ["BIODYN_TEST_DATA"]) / "opensim"
    tutorial = data / "gait2354_tutorial"
    model, forces = data / "core_ik/subject01_simbody.osim", tutorial / "subject01_walk1_grf.xml"
    request = trial_request(tutorial / "subject01_walk1.trc", model=model, forces=forces)
    found = coverage(inputs_of(request), parser.parse_args().draws)
    for name, share in found.items():
        print(f"{name:20s} {100 * share:5.1f} %")
    print(f"{'all':20s} {100 * np.nanmean(list(found.values())):5.1f} %")
