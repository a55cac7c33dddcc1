"""The estimate of a model that moves by given coordinates: what it leaves, and whether torques come nearer to the truth.

    python coordinate_estimate.py [--seed 100] [--count 5]

First the walk of OpenSim's residual reduction example (gait2354): residual before and after, what was moved. Then two people
whose motion and torques are consistent to begin with (truth): every coordinate is disturbed (1.5 degrees, 5 mm SD, alike for a
quarter of a second), masses by 5 % and the trunk's mass centre by 2 cm SD, and the torques of 6 Hz and of the estimate are
compared with the truth.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
from common.arguments import parser_of
from common.record import Record
from scipy.ndimage import gaussian_filter1d

from biodyn.io.opensim.external_loads import read_external_loads
from biodyn.io.opensim.storage import read_storage
from biodyn.processing.signals.derivatives import spline_derivatives
from biodyn.rigid_body import Multibody, OpenSimModel, from_osim
from biodyn.trial.bodies.opensim_estimate import balance_motion, require_uniform_times
from biodyn.trial.bodies.opensim_loads import compute_checked_torques, table_loads
from biodyn.trial.bodies.opensim_motion import coordinate_torques, read_coordinates

_DATA = Path(os.environ.get("BIODYN_TEST_DATA", "."))
_SD_RAD, _SD_M, _ALIKE_S = np.radians(1.5), 0.005, 0.25
_MASS_SD, _CENTRE_SD_M = 0.05, 0.02
_JOINTS = ("hip_flexion", "hip_adduction", "hip_rotation", "knee_angle", "ankle_angle")


def main() -> None:
    """Print both parts and store them."""
    parser = parser_of(__doc__, seed=100, count=5)
    arguments = parser.parse_args()
    kept = Record("coordinate_estimate", vars(arguments))
    for name, value in _example().items():
        kept.add(f"residual {name}", value, "Nm, N")
    shares = []
    for subject in ("subject18", "subject19"):
        for seed in range(arguments.seed, arguments.seed + arguments.count):
            found = _disturbed(subject, seed)
            shares.append(found)
            line = ", ".join(f"{name} {a:.2f} -> {b:.2f}" for name, (a, b) in found.items())
            print(f"{subject} {seed}: RMS error Nm, 6 Hz -> estimate: {line}")
    before, after = (np.array([[pair[k] for pair in found.values()] for found in shares]) for k in (0, 1))
    ratio = np.sqrt((after**2).mean(axis=0) / (before**2).mean(axis=0))
    print("share of the error of 6 Hz:", ", ".join(f"{n} {r:.2f}" for n, r in zip(_JOINTS, ratio, strict=True)))
    for name, value in zip(_JOINTS, ratio.tolist(), strict=True):
        kept.add(f"{name}, share of the error of 6 Hz", value, "")
    kept.close()


def _example() -> dict[str, float]:
    folder = _DATA / "opensim" / "core_rra"
    result = coordinate_torques(
        folder / "subject01_walk1_ik.mot",
        folder / "subject01_simbody.osim",
        folder / "subject01_externalForces.xml",
        estimate=True,
    )
    told = result.estimated.record
    print("gait2354 walk: residual RMS before", _short(told["residual_rms_before"]))
    print("               residual RMS after ", _short(result.residual))
    print(
        "               moved RMS, at most ", _short(_largest(told["moved_rms"])), _short(_largest(told["moved_max"]))
    )
    print(
        "               mass of the body   ",
        f"{100 * (result.model.multibody.total_mass_kg / _mass(folder) - 1):+.2f} %",
    )
    print("               mass centres m     ", told["centre_shift_m"])
    return result.residual


def _mass(folder: Path) -> float:
    return from_osim(folder / "subject01_simbody.osim").multibody.total_mass_kg


def _short(values: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:.2f}" for name, value in values.items())


def _largest(values: dict[str, float]) -> dict[str, float]:
    return {unit: max(value for name, value in values.items() if name.endswith(unit)) for unit in ("_deg", "_m")}


def _disturbed(subject: str, seed: int) -> dict[str, tuple[float, float]]:
    """RMS errors (Nm) of the torques at 6 Hz and of the estimate, by joint."""
    folder = _DATA / "opensim" / "arnold2013_synthetic" / subject
    model, table = from_osim(folder / f"{subject}.osim"), read_storage(folder / "coordinates.sto")
    truth = coordinate_torques(
        folder / "coordinates.sto", folder / f"{subject}.osim", folder / "trials/walk2/grf.mot", 0.0
    )
    time_s = require_uniform_times(table.time_s, table.path.name)
    random = np.random.default_rng(seed)
    given = read_coordinates(model, table)[0]
    rate_hz = (len(time_s) - 1) / (time_s[-1] - time_s[0])
    given += _alike(random, given.shape, rate_hz) * [_SD_RAD if c.rotational else _SD_M for c in model.coordinates]
    given = model.apply_couplings(given)
    wrong = _with_other_masses(model, random)
    loads = table_loads(wrong, read_external_loads(folder / "trials/walk2/grf.mot"), time_s)
    estimate = balance_motion(wrong, time_s, given, 6.0, loads)
    filtered = compute_checked_torques(wrong, *spline_derivatives(time_s, given, 6.0), loads)[0]
    found = compute_checked_torques(estimate.model, estimate.q, estimate.v, estimate.vdot, loads)[0]
    names = [c.name for c in model.coordinates]
    inner = slice(10, -10)  # ends of a filter are no news
    errors = {}
    for joint in _JOINTS:
        columns = [names.index(f"{joint}_{side}") for side in "rl"]
        errors[joint] = tuple(
            float(np.sqrt(np.mean((tau - truth.tau)[inner][:, columns] ** 2))) for tau in (filtered, found)
        )
    return errors


def _alike(random: np.random.Generator, shape: tuple[int, int], rate_hz: float) -> np.ndarray:
    noise = gaussian_filter1d(random.standard_normal(shape), 0.5 * _ALIKE_S * rate_hz, axis=0, mode="reflect")
    return noise / noise.std(axis=0)


def _with_other_masses(model: OpenSimModel, random: np.random.Generator) -> OpenSimModel:
    mb = model.multibody
    heaviest = max(range(len(mb.bodies)), key=lambda k: mb.bodies[k].mass_kg)
    bodies = []
    for k, body in enumerate(mb.bodies):
        factor = 1.0 + _MASS_SD * random.standard_normal()
        shift = _CENTRE_SD_M * random.standard_normal(3) if k == heaviest else np.zeros(3)
        bodies.append(
            replace(
                body, mass_kg=body.mass_kg * factor, inertia_com=body.inertia_com * factor, com_m=body.com_m + shift
            )
        )
    return replace(model, coupled=replace(model.coupled, multibody=Multibody(tuple(bodies), mb.gravity_W)))


if __name__ == "__main__":
    main()
