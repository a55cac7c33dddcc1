"""Are the bands of the torques right? `python benchmarks/uncertainty.py [--runs 200] [--seeds 100] [--method auto]`

First against Monte Carlo on sample data: the same errors drawn at random and sent through filter, fit and inverse dynamics; each
source by itself and all together (of a filtered motion: `--method` says nothing there). Then against the truth: simulated people
whose joints, masses, skin and plates differ from what the analysis believes; how often is the true torque inside the 95 % band?
Then the cost.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from common import Record, parser_of, sample_walks, someone, take_turns, tell
from common.coverage import Rows, add_covered, add_placed, print_covered, share_covered
from simulator.repeated_errors import spread
from simulator.uncertain import record_unlike

from biodyn.trial.run import analyse_trial
from biodyn.uncertainty.propagation_inputs import load_magnitudes
from biodyn.uncertainty.torque_bands import SOURCES, torque_uncertainty

_FILTERED = {"signals": {"method": "butterworth"}}
_SAMPLE = sample_walks()[0]
_AGREEMENT = 0.10
_LEAST_NM = 0.02  # smaller standard deviations matter to nobody


def monte_carlo(runs: int, seed: int, record: Record) -> None:
    """Print linear against drawn standard deviations (rms over the frames), one row per coordinate and source."""
    analysis = analyse_trial(_SAMPLE, settings=_FILTERED)
    inputs = analysis.propagation
    assert inputs is not None
    found = torque_uncertainty(inputs, load_magnitudes(), subtract_noise=False)
    print(f"{_SAMPLE.name}: rms over frames of 1 SD (Nm), linear / Monte Carlo of {runs} runs")
    for sources in (*((name,) for name in SOURCES), SOURCES):
        drawn = spread(inputs, load_magnitudes(), found.noise_m, sources, runs, seed)
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
        tell(f"{title}: {within} of {compared} torques within {100 * _AGREEMENT:.0f} %")
        record.add(f"{title}: torques farther off than {100 * _AGREEMENT:.0f} %", compared - within, "torques")


def coverage(seeds: int, first: int, method: str, record: Record) -> None:
    """Print how often the true torque lies in the 95 % band, one row per kind of coordinate, over all frames of all people."""
    magnitudes = load_magnitudes()
    rows: Rows = {}
    places: Rows = {}
    for seed in range(first, first + seeds):
        person, options = someone(seed)
        with tempfile.TemporaryDirectory() as folder:
            truth, walk, static = record_unlike(person, options, magnitudes, Path(folder))
            analysis = analyse_trial(walk, static, settings={"signals": {"method": method}})
        add_covered(rows, analysis, truth)
        add_placed(places, analysis, truth)
    print(f"\nTrue torque inside the 95 % band, {seeds} simulated people (seeds {first} to {first + seeds - 1})")
    print_covered(rows)
    share = share_covered(row for found in rows.values() for row in found)
    print(f"all torques: {share:.1f} %")
    record.add("true torque inside the band", share, "% of the frames, 95 expected")
    print(
        "\nTrue joint centre inside its 95 % band, along each axis of World (the band has the largest extent: 95 or more)"
    )
    print_covered(places, "joint of", "mm")
    share = share_covered(row for found in places.values() for row in found)
    print(f"all joints: {share:.1f} %")
    record.add("true joint centre inside the band", share, "% of the frames and axes, 95 or more expected")


def cost(record: Record) -> None:
    """Print seconds of the bands and of the whole analysis, warm."""
    analysis = analyse_trial(_SAMPLE, settings=_FILTERED)
    inputs = analysis.propagation
    assert inputs is not None
    timings = take_turns(
        {
            "bands": lambda: torque_uncertainty(inputs, load_magnitudes()),
            "analysis with bands": lambda: analyse_trial(_SAMPLE, settings=_FILTERED),
        },
        turns=3,
    )
    print(f"\nA trial of {len(analysis.time_s)} frames: " + ", ".join(f"{name} {t}" for name, t in timings.items()))
    for name, timing in timings.items():
        record.add(name, timing)


def main() -> None:
    """Run all."""
    parser = parser_of(__doc__, seeds=100, seed=1)
    parser.add_argument("--runs", type=int, default=200, help="of the Monte Carlo comparison, drawn from --seed")
    parser.add_argument("--first", type=int, default=10001, help="first seed of the people of --seeds")
    parser.add_argument("--method", default="auto", help="signals.method of the analyses of --seeds")
    arguments = parser.parse_args()
    record = Record("uncertainty", vars(arguments))
    if arguments.runs:
        monte_carlo(arguments.runs, arguments.seed, record)
    if arguments.seeds:
        coverage(arguments.seeds, arguments.first, arguments.method, record)
    cost(record)
    record.close()


if __name__ == "__main__":
    main()
