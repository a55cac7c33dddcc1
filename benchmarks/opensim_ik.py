"""Inverse kinematics of OpenSim models: our solution against OpenSim's own, and the time both take in one run.

    BIODYN_OPENSIM=PYTHON python benchmarks/opensim_ik.py [REFERENCE] [DATA]

REFERENCE holds opensim/ik (OpenSim's solutions at accuracy 1e-9), DATA opensim/core_ik and opensim/gait2354_tutorial (set-ups of
OpenSim's tool); defaults are BIODYN_TEST_REFERENCE and BIODYN_TEST_DATA. PYTHON is an interpreter with opensim 4.6, called in a
process of its own (this file again, with --theirs). Printed per problem: largest difference of any angle and any
translation, the squared error of both, milliseconds a frame of OpenSim at its default accuracy 1e-5 and at 1e-9, and of biodyn.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

FRAMES = 150  # of each problem: OpenSim needs a tenth of a second a frame at accuracy 1e-9


def followed(osim: Any, markers: dict[str, float], tasks: dict[str, tuple[float, float]]) -> tuple[Any, Any]:
    """Return OpenSim's weights of markers, and its references of coordinates by (weight, value)."""
    weights = osim.SetMarkerWeights()
    for name, weight in markers.items():
        weights.cloneAndAppend(osim.MarkerWeight(name, weight))
    coordinates = osim.SimTKArrayCoordinateReference()
    for name, (weight, value) in tasks.items():
        one = osim.CoordinateReference(name, osim.Constant(value))
        one.setWeight(weight)
        coordinates.push_back(one)
    return weights, coordinates


def theirs(task: dict[str, Any]) -> None:
    """Run OpenSim's solver on one problem and write its solution, cost and time."""
    import opensim as osim

    osim.Logger.setLevelString("Off")
    model = osim.Model(task["model"])
    state = model.initSystem()
    weights, coordinates = followed(osim, task["markers"], task["coordinates"])
    out: dict[str, Any] = {}
    for accuracy in (1e-5, 1e-9):
        reference = osim.MarkersReference(task["trc"], weights, osim.Units("m"))
        solver = osim.InverseKinematicsSolver(model, reference, coordinates, float("inf"))
        solver.setAccuracy(accuracy)
        times = np.array(reference.getMarkerTable().getIndependentColumn())[task["rows"][0] : task["rows"][1]]
        state.setTime(float(times[0]))
        solver.assemble(state)
        listed = [model.getCoordinateSet().get(k) for k in range(model.getCoordinateSet().getSize())]
        names = [solver.getMarkerNameForIndex(k) for k in range(solver.getNumMarkersInUse())]
        q, errors, spent = np.empty((len(times), len(listed))), [], 0.0
        for t, when in enumerate(times):
            state.setTime(float(when))
            begin = time.perf_counter()
            solver.track(state)
            spent += time.perf_counter() - begin
            q[t] = [one.getValue(state) for one in listed]
            errors.append([solver.computeCurrentSquaredMarkerError(name) for name in names])
        w = np.array([task["markers"][name] for name in names])
        suffix = f"{accuracy:g}"
        out |= {f"q_{suffix}": q, f"cost_{suffix}": np.array(errors) @ w, f"ms_{suffix}": 1e3 * spent / len(times)}
    np.savez(task["out"], names=np.array([one.getName() for one in listed]), **out)


def problems(reference: Path, data: Path) -> dict[str, tuple[Path, Path, Path | None]]:
    """Return model, markers and set-up by name."""
    ik = reference / "opensim" / "ik"
    found: dict[str, tuple[Path, Path, Path | None]] = {
        case: (ik / f"{case}.osim", ik / f"{case}.trc", None) for case in ("lower12", "full22")
    }
    tutorial, core = data / "opensim/gait2354_tutorial", data / "opensim/core_ik"
    setup = tutorial / "subject01_Setup_IK.xml"
    found["gait2354_tutorial"] = (ik / "gait2354.osim", tutorial / "subject01_walk1.trc", setup)
    for name in ("gait2354_IK_Tasks", "gait2354_IK_Tasks_uniform"):
        markers = core / "subject01_synthetic_marker_data.trc"
        found[f"core_ik {name[15:] or 'weighted'}"] = (core / "subject01_simbody.osim", markers, core / f"{name}.xml")
    return found


def compared(name: str, model: Path, trc: Path, setup_file: Path | None, interpreter: str) -> None:
    """Print one line for a problem."""
    from biodyn.io import read
    from biodyn.io.opensim.tool_setups import read_ik_setup
    from biodyn.processing.kinematics.opensim_inverse_kinematics import fit_to_markers
    from biodyn.rigid_body import from_osim
    from biodyn.trial.bodies.opensim_inputs import tasks_of_setup

    body, recording = from_osim(model), read(trc)
    time_s = np.arange(min(FRAMES, recording.markers.frame_count)) / recording.markers.rate_hz
    setup = None if setup_file is None else read_ik_setup(setup_file)
    tasks = tasks_of_setup(setup, body, time_s)
    labels, positions = recording.markers.labels, recording.markers.positions[: len(time_s)]
    fit = fit_to_markers(body, labels, positions, time_s, tasks)  # compiles, where that was not done
    spent = []
    for _ in range(3):
        begin = time.perf_counter()
        fit = fit_to_markers(body, labels, positions, time_s, tasks)
        spent.append(time.perf_counter() - begin)
    own = {one.name: one for one in body.coordinates}
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "theirs.npz"
        task = {
            "model": str(model),
            "trc": str(trc),
            "markers": dict(zip(fit.labels, fit.weights.tolist(), strict=True)),
            "coordinates": {
                one: (weight, own[one].default if target is None else float(np.mean(target)))
                for one, (weight, target) in tasks.coordinates.items()
                if one in own
            },
            "rows": (0, len(time_s)),
            "out": str(out),
        }
        (Path(folder) / "task.json").write_text(json.dumps(task))
        subprocess.run([interpreter, __file__, "--theirs", str(Path(folder) / "task.json")], check=True)
        found = dict(np.load(out))
    order = [list(found["names"]).index(one.name) for one in body.coordinates]
    turns = np.array([one.rotational for one in body.coordinates])
    off = np.abs(fit.q - found["q_1e-09"][:, order])
    cost = np.nansum(fit.weights * fit.solution.marker_error**2, axis=1)
    if tasks.coordinates:  # the tasks are a part of what is least, here as there
        names = [one.name for one in body.coordinates]
        for one, (weight, target) in tasks.coordinates.items():
            k = names.index(one)
            goal = own[one].default if target is None else target
            total = weight * fit.weights.sum()
            cost = cost + total * (fit.q[:, k] - goal) ** 2
            for accuracy in ("1e-05", "1e-09"):
                found[f"cost_{accuracy}"] += total * (found[f"q_{accuracy}"][:, order[k]] - goal) ** 2
    more = float((cost - found["cost_1e-09"]).max() / found["cost_1e-09"].max())
    ours_ms = 1e3 * min(spent) / len(time_s)
    print(
        f"{name:26s} {len(time_s):5d} frames  {np.degrees(off[:, turns].max()):.1e} deg  {1e3 * off[:, ~turns].max():.1e} mm  "
        f"ours {cost.mean():.6e}, theirs {found['cost_1e-09'].mean():.6e} m^2, never higher by more than {max(more, 0.0):.0e}  "
        f"OpenSim {float(found['ms_1e-05']):.2f} ms (1e-9: {float(found['ms_1e-09']):.2f}), biodyn {ours_ms:.4f} ms: "
        f"{float(found['ms_1e-05']) / ours_ms:.0f} x"
    )


def main() -> None:
    if sys.argv[1:2] == ["--theirs"]:
        theirs(json.loads(Path(sys.argv[2]).read_text()))
        return
    interpreter = os.environ.get("BIODYN_OPENSIM")
    if not interpreter:
        sys.exit("Set BIODYN_OPENSIM to an interpreter that has opensim 4.6.")
    given = [Path(one) for one in sys.argv[1:]]
    reference = given[0] if given else Path(os.environ["BIODYN_TEST_REFERENCE"])
    data = given[1] if len(given) > 1 else Path(os.environ["BIODYN_TEST_DATA"])
    for name, (model, trc, setup) in problems(reference, data).items():
        compared(name, model, trc, setup, interpreter)


if __name__ == "__main__":
    main()
