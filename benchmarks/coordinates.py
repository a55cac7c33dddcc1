"""A million rows of given coordinates to torques, residual included, and proof: seconds, and memory while it runs.

    python benchmarks/coordinates.py MODEL.osim [ROWS] [--files]

Coordinates are sums of slow sines inside their ranges at 200 Hz, smoothed at 6 Hz as OpenSim's tool does it; both feet carry a
table of forces (bodies calcn_r and calcn_l, else the last two). With --files the table is written as a .mot and read too,
which is timed apart. Memory is the process's largest resident set before and after the torques.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from biodyn.io.opensim.external_loads import ExternalForce, ExternalForces
from biodyn.io.opensim.storage import Storage
from biodyn.processing.signals.derivatives import spline_derivatives
from biodyn.rigid_body import OpenSimModel, from_osim
from biodyn.trial.bodies.opensim_loads import PROOF_LIMIT, compute_checked_torques, table_loads
from biodyn.trial.bodies.opensim_motion import coordinate_torques

RATE_HZ = 200.0


def swinging(model: OpenSimModel, rows: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return times (T,) and coordinates (T, n), rad and m."""
    rng, time_s = np.random.default_rng(seed), np.arange(rows) / RATE_HZ
    q = np.empty((rows, len(model.coordinates)))
    for k, one in enumerate(model.coordinates):
        low, high = max(one.lower, -0.8), min(one.upper, 0.8)
        middle, half = (0.5 * (low + high), 0.4 * (high - low)) if high > low else (one.default, 0.0)
        q[:, k] = middle + half * np.sin(2.0 * np.pi * rng.uniform(0.5, 1.2) * time_s + rng.uniform(0.0, 6.0))
    return time_s, q


def pushing(model: OpenSimModel, time_s: np.ndarray) -> ExternalForces:
    """Return forces under two feet at the rows' own times."""
    named = [body for body in model.multibody.body_names if "/" not in body]
    feet = [name if name in named else named[-1 - k] for k, name in enumerate(("calcn_r", "calcn_l"))]
    names, values, loads = [], [], []
    for k, foot in enumerate(feet):
        columns = {what: tuple(f"{foot}_{what}{axis}" for axis in "xyz") for what in ("v", "p", "m")}
        step = np.maximum(np.sin(2.0 * np.pi * time_s + k * np.pi), 0.0)
        for what, scale in (("v", (50.0, 800.0, 20.0)), ("p", (0.1, 0.0, 0.1)), ("m", (0.0, 5.0, 0.0))):
            names += columns[what]
            values += [one * step for one in scale]
        loads.append(ExternalForce(foot, foot, columns["v"], columns["p"], columns["m"], "ground", "ground"))
    return ExternalForces(tuple(loads), Storage(Path("forces"), tuple(names), time_s, np.stack(values, axis=1), None))


def main() -> None:
    files = "--files" in sys.argv
    given = [one for one in sys.argv[1:] if not one.startswith("--")]
    model, rows = from_osim(given[0]), int(float(given[1])) if len(given) > 1 else 1_000_000
    for count in (2_000, rows):  # the first one compiles
        time_s, q = swinging(model, count)
        forces = pushing(model, time_s)
        before = _megabytes()
        begin, cpu = time.perf_counter(), time.process_time()
        motion = spline_derivatives(time_s, q, 6.0)
        smoothed = time.perf_counter()
        smooth_mb = _megabytes()
        _, proof = compute_checked_torques(model, *motion, table_loads(model, forces, time_s))
        end = time.perf_counter()
        if count == rows:
            print(
                f"{rows} rows, {len(model.coordinates)} coordinates: {end - begin:.1f} s (of one processor "
                f"{time.process_time() - cpu:.1f} s; smoothing {smoothed - begin:.1f} s, torques "
                f"and proof {end - smoothed:.1f} s), proof {proof:.0e} (limit {PROOF_LIMIT:.0e}); memory "
                f"{before:.0f} MB with inputs ({q.nbytes / 1e6:.0f} MB a table), {smooth_mb:.0f} MB smoothed, "
                f"{_megabytes():.0f} MB at the end"
            )
    if files:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "motion.mot"
            head = "x\ninDegrees=no\nendheader\n" + "\t".join(["time", *(one.name for one in model.coordinates)])
            np.savetxt(path, np.column_stack([time_s, q]), fmt="%.8g", delimiter="\t", header=head, comments="")
            begin = time.perf_counter()
            coordinate_torques(path, given[0])
            print(f"reading and all steps {time.perf_counter() - begin:.1f} s")


def _megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0


if __name__ == "__main__":
    main()
