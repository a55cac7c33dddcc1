"""Are the bands of the torques right? `python benchmarks/uncertainty.py [--runs 200] [--seeds 20]`

First against Monte Carlo on sample data: the same errors drawn at random and sent through filter, fit and inverse dynamics; each
source by itself and all together. Then against the truth: simulated people whose joints, masses, skin and plates differ from
what the analysis believes; how often is the true torque inside the 95 % band? Then the cost.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np

from biodyn.analysis import TrialAnalysis
from biodyn.processing.tracking import fit_with
from biodyn.processing.uncertainty import SOURCES, load_magnitudes, torque_uncertainty
from biodyn.processing.uncertainty.repeated import Solver, spread
from biodyn.simulation import Person, TrialOptions
from biodyn.simulation.uncertain import covered, record_unlike
from biodyn.workflow import analyse_trial, tracking_options

_WITH_BANDS = {"uncertainty": {"compute": True}}
_SAMPLE = Path(__file__).parents[1] / "sample_data" / "subject01" / "walk01.c3d"
_AGREEMENT = 0.10
_LEAST_NM = 0.02  # smaller standard deviations matter to nobody


def solver_of(analysis: TrialAnalysis) -> Solver:
    """Return the fit with the settings of the analysis."""
    return partial(fit_with, options=tracking_options(analysis.settings))


def monte_carlo(runs: int, seed: int) -> None:
    """Print linear against drawn standard deviations (rms over the frames), a row a coordinate and source."""
    analysis = analyse_trial(_SAMPLE, settings=_WITH_BANDS)
    found = analysis.uncertainty
    assert found is not None
    assert analysis.propagation is not None
    print(f"{_SAMPLE.name}: rms over frames of 1 SD (Nm), linear / Monte Carlo of {runs} runs")
    for sources in (*((name,) for name in SOURCES), SOURCES):
        drawn = spread(analysis.propagation, load_magnitudes(), found.noise_m, sources, solver_of(analysis), runs, seed)
        linear = found.by_source[sources[0]] if len(sources) == 1 else found.total
        title = sources[0] if len(sources) == 1 else "together"
        within = compared = 0
        for column, name in enumerate(found.coordinates):
            known = np.isfinite(drawn[:, column]) & np.isfinite(linear[:, column])
            if not known.any():
                continue
            a, b = (float(np.sqrt(np.mean(sd[known, column] ** 2))) for sd in (linear, drawn))
            if b < _LEAST_NM:
                continue
            compared += 1
            good = abs(a / b - 1.0) <= _AGREEMENT
            within += good
            print(f"  {title:20s} {name:18s} {a:7.3f} / {b:7.3f}  ratio {a / b:5.2f}{'' if good else '  *'}")
        print(f"{title}: {within} of {compared} torques within {100 * _AGREEMENT:.0f} %", flush=True)


def coverage(seeds: int) -> None:
    """Print how often the true torque lies in the 95 % band, a row a coordinate, over all frames of all seeds."""
    magnitudes = load_magnitudes()
    person = Person("Unlike", height_m=1.78, mass_kg=74.0, sex="male")
    inside: dict[str, list[np.ndarray]] = {}
    for seed in range(1, seeds + 1):
        options = TrialOptions(
            forward="-x", noise_mm=1.0, soft_tissue=1.0, gaps=4, force_noise_n=0.7, force_offset_n=2.0, seed=seed
        )
        with tempfile.TemporaryDirectory() as folder:
            truth, walk, static = record_unlike(person, options, magnitudes, Path(folder))
            analysis = analyse_trial(walk, static, settings=_WITH_BANDS)
        assert analysis.uncertainty is not None
        true_of = {coordinate.name: coordinate.v_index for coordinate in truth.body.model.coordinates}
        sd = analysis.uncertainty.total
        for column, coordinate in enumerate(analysis.model.coordinates):
            torque = analysis.dynamics.torques[:, column]
            known = np.isfinite(torque) & np.isfinite(sd[:, column])
            error = torque[known] - truth.tau[known, true_of[coordinate.name]]
            inside.setdefault(coordinate.name, []).append(covered(error, sd[known, column]))
    print(f"\nTrue torque inside the 95 % band, {seeds} simulated people, per cent of frames (and least of a person)")
    for name, parts in inside.items():
        print(
            f"  {name:18s} {100 * np.concatenate(parts).mean():5.1f}  ({100 * min(part.mean() for part in parts):5.1f})"
        )
    everything = np.concatenate([part for parts in inside.values() for part in parts])
    print(f"all torques: {100 * everything.mean():.1f} %")


def cost() -> None:
    """Print seconds of the bands and of the whole analysis, warm."""
    analyse_trial(_SAMPLE)
    start = time.perf_counter()
    analysis = analyse_trial(_SAMPLE, settings=_WITH_BANDS)
    whole = time.perf_counter() - start
    assert analysis.propagation is not None
    start = time.perf_counter()
    torque_uncertainty(analysis.propagation, load_magnitudes())
    print(
        f"\nbands: {time.perf_counter() - start:.2f} s of a trial of {len(analysis.time_s)} frames ({whole:.2f} s in all)"
    )


def main() -> None:
    """Run all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1, help="of the Monte Carlo draws")
    arguments = parser.parse_args()
    if arguments.runs:
        monte_carlo(arguments.runs, arguments.seed)
    if arguments.seeds:
        coverage(arguments.seeds)
    cost()


if __name__ == "__main__":
    main()
