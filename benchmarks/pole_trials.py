"""Are planted errors of force plates found in pole trials? `python benchmarks/pole_trials.py [--seeds 3]`

Simulated pole trials (`simulator.pole`) over two plates that are displaced by up to 2 cm, turned by up to 2 degrees, and whose
channels are wrong by up to 5 %: truth against what `biodyn.calibrate_plates` finds, for poles with markers at both ends, above
only, and on a line, rigid and soft. A second trial with another seed measures the centre of pressure after the correction.
Largest errors over all plates and seeds.
"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
from common import Record, Stopwatch, parser_of
from simulator.plates import Plate
from simulator.pole import PlateError, PoleOptions, write_pole_trial

from biodyn.conventions import FloatArray
from biodyn.trial.pole_calibration import PlateCheck, calibrate_plates

POLE_KG, KNOWN_KG = 1.2, 20.0
PLATES = (Plate(2, 0.0), Plate(4, 0.8, turned=True))
CASES = {
    "both ends, rigid": PoleOptions(layout="both ends", softness=0.0),
    "both ends, soft": PoleOptions(layout="both ends"),
    "above only, soft": PoleOptions(layout="above"),
    "on a line, soft": PoleOptions(layout="line"),
    "both ends, soft, hand 1 Nm": PoleOptions(layout="both ends", hand_nm=1.0),
}


def planted(seed: int) -> tuple[PlateError, ...]:
    """Return errors of up to 2 cm, 2 degrees and 5 % for each plate."""
    rng = np.random.default_rng(seed)
    return tuple(
        PlateError(
            rng.choice((-1.0, 1.0), 3) * rng.uniform(0.005, 0.02, 3),
            np.radians(rng.choice((-1.0, 1.0), 3) * rng.uniform(0.5, 2.0, 3)),
            np.diag(1.0 + rng.choice((-1.0, 1.0), 6) * rng.uniform(0.01, 0.05, 6)),
        )
        for _ in PLATES
    )


def deviations(check: PlateCheck, errors: tuple[PlateError, ...]) -> FloatArray:
    """Return the largest deviation from the truth: shift (mm), turn (degrees), gain (%), each in standard deviations too."""
    rows = []
    for result in check.results:
        found, true = result.correction, errors[result.correction.number - 1]
        shift, turn = found.shift - true.shift, np.degrees(found.turn - true.turn)
        gain = np.diag(found.sensitivity - true.sensitivity)
        sds = (found.shift_sd, np.degrees(found.turn_sd), np.diag(found.sensitivity_sd))
        scores = [np.abs(value / sd).max() for value, sd in zip((shift, turn, gain), sds, strict=True)]
        rows.append([1e3 * np.abs(shift).max(), np.abs(turn).max(), 1e2 * np.abs(gain).max(), *scores])
    return np.asarray(np.max(rows, axis=0))


def measure(options: PoleOptions, seed: int, folder: Path) -> tuple[FloatArray, FloatArray]:
    """Return the deviations, and centre of pressure (mm) and direction (degrees) before and after in another trial."""
    errors = planted(seed)
    trial = write_pole_trial(folder / "pole.c3d", PLATES, errors, replace(options, known_mass_kg=KNOWN_KG, seed=seed))
    check = calibrate_plates(trial, POLE_KG, KNOWN_KG)
    second = write_pole_trial(folder / "second.c3d", PLATES, errors, replace(options, places=2, seed=seed + 500))
    other = calibrate_plates(second, POLE_KG)
    before = [1e3 * max(r.correction.cop_error[0] for r in other.results)]
    before.append(np.degrees(max(r.correction.direction_error[0] for r in other.results)))
    after = np.max(list(other.rms_errors(check.calibration).values()), axis=0)
    return deviations(check, errors), np.array([*before, 1e3 * after[0], np.degrees(after[1])])


def main() -> None:
    """Print truth against found of one trial, and the largest deviations of each case."""
    parser = parser_of(__doc__, seeds=3)
    arguments = parser.parse_args()
    record, watch = Record("pole_trials", vars(arguments)), Stopwatch()
    print(
        f"{'largest deviation':28s} shift mm  turn deg  gain %   (in SD)          centre of pressure mm, direction deg"
    )
    with tempfile.TemporaryDirectory() as name:
        for title, options in CASES.items():
            runs = [measure(options, seed, Path(name)) for seed in range(1, arguments.seeds + 1)]
            worst = np.max([run[0] for run in runs], axis=0)
            cop = np.max([run[1] for run in runs], axis=0)
            print(
                f"{title:28s} {worst[0]:8.2f}  {worst[1]:8.3f}  {worst[2]:6.2f}   "
                f"({worst[3]:.1f}, {worst[4]:.1f}, {worst[5]:.1f})"
                f"   {cop[0]:5.1f} -> {cop[2]:.2f} mm, {cop[1]:.2f} -> {cop[3]:.2f} deg",
                flush=True,
            )
            for value, what, unit in zip(
                (*worst[:3], cop[2]),
                ("shift", "turn", "gain", "centre of pressure after"),
                ("mm", "deg", "%", "mm"),
                strict=True,
            ):
                record.add(f"{title}: {what}, largest", float(value), unit)
    record.add("whole run", watch.seconds)
    record.close()


if __name__ == "__main__":
    main()
