"""The estimate of a model that follows markers: what it leaves, and whether torques come nearer to the truth.

    python marker_estimate.py [--seed 100] [--count 5] [--sd 0.02]

First walks of OpenSim's (gait2354 tutorial, arnold2013): residual before and after, what was moved. Then two people whose
motion, forces and torques are consistent to begin with (truth): their markers move against the skin (random curves of the
stride as `library/uncertainty` has them) and have noise (--noise, mm), masses are off by 5 %, the trunk's mass centre by 2 cm SD.
Torques of the filtered fit, at each of some cut-offs, and of the estimate are compared with the truth. Where a share is
below 1, the estimate is better than the best cut-off of all, chosen by the truth for each joint by itself.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from common.arguments import parser_of
from common.record import Record
from coordinate_estimate import _JOINTS, _short, _with_other_masses

from biodyn.io.opensim.external_loads import read_external_loads
from biodyn.processing.kinematics.opensim_inverse_kinematics import fit_to_markers
from biodyn.processing.signals.derivatives import spline_derivatives
from biodyn.processing.signals.smoothing.spline import choose_cutoff
from biodyn.rigid_body import OpenSimModel, from_osim
from biodyn.trial.bodies.opensim_estimate import balance_fit
from biodyn.trial.bodies.opensim_inputs import read_points
from biodyn.trial.bodies.opensim_loads import compute_checked_torques, table_loads
from biodyn.trial.bodies.opensim_motion import coordinate_torques, fit_model_to_markers, torques_of_fitted_model
from biodyn.uncertainty.propagation_inputs import Magnitudes, load_magnitudes

_DATA = Path(os.environ.get("BIODYN_TEST_DATA", ".")) / "opensim"
_CUTOFFS_HZ = (4.0, 5.0, 6.0, 8.0, 10.0, 15.0, 20.0)


def main() -> None:
    """Print both parts and store them."""
    parser = parser_of(__doc__, seed=100, count=5)
    parser.add_argument("--noise", type=float, default=0.5)
    parser.add_argument("--people", nargs="+", default=["subject18", "subject19"])
    arguments = parser.parse_args()
    kept = Record("marker_estimate", vars(arguments))
    for name, value in _walks().items():
        kept.add(name, value, "Nm, N")
    found = []
    for subject in arguments.people:
        for seed in range(arguments.seed, arguments.seed + arguments.count):
            found.append(_disturbed(subject, seed, 1e-3 * arguments.noise))
            print(
                subject,
                seed,
                "best cut-off",
                np.round(found[-1][:-1].min(axis=0), 2),
                "estimate",
                np.round(found[-1][-1], 2),
            )
    pooled = np.sqrt(np.mean(np.square(found), axis=0))  # (cut-offs and estimate, joints)
    for hz, row in zip([f"{hz:g} Hz" for hz in _CUTOFFS_HZ] + ["estimate"], pooled, strict=True):
        print(f"{hz:>8}: RMS error Nm:", ", ".join(f"{n} {e:.2f}" for n, e in zip(_JOINTS, row, strict=True)))
    for name, value in zip(_JOINTS, (pooled[-1] / pooled[:-1].min(axis=0)).tolist(), strict=True):
        print(f"{name}: {value:.2f} of the error of the best cut-off")
        kept.add(f"{name}, share of the error of the best cut-off", value, "")
    kept.close()


def _walks() -> dict[str, float]:
    tutorial, arnold = _DATA / "gait2354_tutorial", _DATA / "arnold2013_synthetic/subject18"
    files = {
        "gait2354": (
            tutorial / "subject01_walk1.trc", _DATA / "core_ik/subject01_simbody.osim", tutorial / "subject01_walk1_grf.xml",
        ),
        "core_ik": (
            _DATA / "core_ik/subject01_synthetic_marker_data.trc", _DATA / "core_ik/subject01_simbody.osim",
            _DATA / "core_rra/subject01_externalForces.xml",
        ),
        "arnold2013": (arnold / "trials/walk2/markers.trc", arnold / "subject18.osim", arnold / "trials/walk2/grf.mot"),
    }  # fmt: skip
    told = {}
    for name, (walk, model, forces) in files.items():
        result = torques_of_fitted_model(fit_model_to_markers(walk, model, forces), estimate=True)
        found = result.estimated.record
        print(f"{name}: residual RMS before", _short(found["residual_rms_before"]))
        print(f"{' ' * len(name)}  residual RMS after ", _short(result.residual))
        largest = {unit: max(v for n, v in found["moved_rms"].items() if n.endswith(unit)) for unit in ("_deg", "_m")}
        print(f"{' ' * len(name)}  moved RMS, at most ", _short(largest), "mass centre m", found["centre_shift_m"])
        told |= {f"{name}, residual {part}": value for part, value in result.residual.items()}
    return told


def _disturbed(subject: str, seed: int, noise_m: float) -> np.ndarray:
    """RMS errors (cut-offs and estimate, joints) of the torques, Nm."""
    folder = _DATA / "arnold2013_synthetic" / subject
    model, walk = from_osim(folder / f"{subject}.osim"), folder / "trials/walk2"
    truth = coordinate_torques(folder / "coordinates.sto", folder / f"{subject}.osim", walk / "grf.mot", 0.0)
    random = np.random.default_rng(seed)
    points = read_points(walk / "markers.trc", model)
    rows = np.searchsorted(truth.time_s, points.time_s - 1e-6)
    known = (rows < len(truth.time_s)) & (
        np.abs(truth.time_s[np.minimum(rows, len(truth.time_s) - 1)] - points.time_s) < 1e-6
    )
    time_s, rows = points.time_s[known], rows[known]
    q, names = truth.q[rows], [m.name for m in model.markers if m.body is not None and m.name in points.labels]
    wrong = _with_other_masses(model, random)
    x = _on_skin(model, names, q, time_s, random, load_magnitudes())
    x += noise_m * random.standard_normal(x.shape)
    fit = fit_to_markers(wrong, names, x, time_s)
    start_hz = choose_cutoff(x, points.recording.markers.rate_hz).cutoff_hz
    loads = table_loads(wrong, read_external_loads(walk / "grf.mot"), time_s)
    found, _, _ = balance_fit(wrong, fit, time_s, start_hz, loads)
    every = [compute_checked_torques(wrong, *spline_derivatives(time_s, fit.q, hz), loads)[0] for hz in _CUTOFFS_HZ]
    every.append(compute_checked_torques(found.model, found.q, found.v, found.vdot, loads)[0])
    coordinates, inner = [c.name for c in model.coordinates], slice(10, -10)  # ends of a filter are no news
    errors = []
    for tau in every:
        away = (tau - truth.tau[rows])[inner]
        columns = [[coordinates.index(f"{joint}_{side}") for side in "rl"] for joint in _JOINTS]
        errors.append([float(np.sqrt(np.nanmean(away[:, two] ** 2))) for two in columns])
    return np.array(errors)


def _on_skin(
    model: OpenSimModel,
    names: list[str],
    q: np.ndarray,
    time_s: np.ndarray,
    random: np.random.Generator,
    magnitudes: Magnitudes,
) -> np.ndarray:
    """Positions (T, M, 3) m of the markers that move against the bone along random curves of the stride."""
    R, p = model.coupled.body_poses(q)
    places = {m.name: m for m in model.markers}
    usual = float(np.median(list(magnitudes.soft_tissue_m.values())))
    x = np.empty((len(q), len(names), 3))
    for k, name in enumerate(names):
        marker = places[name]
        b = model.multibody.body_index(str(marker.body))
        sd = magnitudes.soft_tissue_m.get(str(marker.body), usual)
        local = np.array(marker.place_m) + np.zeros((len(q), 3))
        for harmonic, share in enumerate(magnitudes.shares):
            angle = 2.0 * np.pi * harmonic * time_s / magnitudes.stride_s
            for wave in (np.cos(angle), np.sin(angle)):
                local += np.sqrt(share) * sd * wave[:, None] * random.standard_normal(3)
        x[:, k] = np.einsum("tij,tj->ti", R[:, b], local) + p[:, b]
    return x


if __name__ == "__main__":
    main()
