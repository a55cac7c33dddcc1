"""Scaling of OpenSim models: factors, masses and placed markers against OpenSim's ScaleTool, in one run of both.

    BIODYN_OPENSIM=PYTHON python benchmarks/opensim_scale.py [DATA]

Its MarkerPlacer stops its fit of the standing pose early and offers no accuracy to set, so three poses of OpenSim are compared:
Its MarkerPlacer stops its fit of the standing pose early and offers no accuracy to set, so three poses of OpenSim's are compared:
the tool's own, and what its solver finds at accuracy 1e-9 from the model's default pose and from biodyn's. Weights of 1000
beside 1 let it stop before the optimum too; the objective of each pose is printed.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from opensim_ik import followed

CASES = {
    "core_scale": (
        "osim_corpus/Applications__Scale__tests__resources__gait2354_simbody.osim",
        "core_scale/subject01_Setup_Scale.xml",
    ),
    "gait2354_tutorial": ("gait2354_tutorial/gait2354_simbody.osim", "gait2354_tutorial/gait2354_Setup_Scale.xml"),
}
SHARED = ("gait2354_tutorial/gait2354_Scale_MarkerSet.xml", "core_scale/subject01_static.trc")


def theirs(task: dict[str, Any]) -> None:
    """Run OpenSim's tool, and its solver on the scaled model to accuracy 1e-9."""
    import opensim as osim

    osim.Logger.setLevelString("Off")
    os.chdir(task["folder"])
    osim.ScaleTool(task["setup"]).run()
    model = osim.Model("subject01_scaledOnly.osim")
    state = model.initSystem()
    weights, coordinates = followed(osim, task["weights"], task["tasks"])
    listed = model.getCoordinateSet()
    poses = []
    for accuracy, start in ((1e-9, None), (1e-9, task["pose"])):
        for name, value in (start or {}).items():
            model.getCoordinateSet().get(name).setValue(state, value, False)
        reference = osim.MarkersReference(task["mean"], weights, osim.Units("m"))
        solver = osim.InverseKinematicsSolver(model, reference, coordinates, float("inf"))
        solver.setAccuracy(accuracy)
        state.setTime(0.0)
        solver.assemble(state)
        for _ in range(3):
            solver.track(state)
        poses.append({listed.get(k).getName(): listed.get(k).getValue(state) for k in range(listed.getSize())})
    Path("poses.json").write_text(json.dumps(poses))


def compared(name: str, data: Path, interpreter: str) -> None:
    """Print the lines of one case."""
    from simulator.trc_writer import write_trc

    from biodyn.io.opensim.tool_setups import read_scale_setup
    from biodyn.processing.calibration.model_scaling import StandingMarkers
    from biodyn.recording import Markers
    from biodyn.rigid_body import from_osim
    from biodyn.trial.bodies.opensim_inputs import read_points, scale_by_setup

    model, setup = (data / one for one in CASES[name])
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        for one in (setup, *(data / file for file in SHARED)):
            shutil.copy(one, place)
        shutil.copy(model, place / "gait2354_simbody.osim")
        ours = scale_by_setup(place / "gait2354_simbody.osim", place / setup.name)
        asked = read_scale_setup(place / setup.name)
        points = read_points(place / "subject01_static.trc", ours.model)
        standing = StandingMarkers(points.labels, points.positions, points.time_s).select_time_range(
            asked.place_range_s
        )
        mean = standing.mean()
        write_trc(place / "mean.trc", Markers(points.labels, np.repeat(mean[None], 3, axis=0), 100.0), first_frame=1)
        own = {one.name: one for one in ours.model.coordinates}
        tasks = {
            one.name: (one.weight, own[one.name].default if one.value is None else one.value) for one in asked.tasks
        }
        task = {"folder": folder, "setup": setup.name, "weights": asked.weights, "tasks": tasks, "mean": "mean.trc"}
        alone = _fitted(place / "gait2354_simbody.osim", place / setup.name, standing)
        task["pose"] = alone
        (place / "task.json").write_text(json.dumps(task))
        subprocess.run([interpreter, __file__, "--theirs", str(place / "task.json")], check=True)
        tool, bare = from_osim(place / "subject01_simbody.osim"), from_osim(place / "subject01_scaledOnly.osim")
        poses = json.loads((place / "poses.json").read_text())
        applied = (place / "subject01_scaleSet_applied.xml").read_text()
    found = [
        _placed(bare, np.array([[pose[one.name] for one in bare.coordinates]]), mean, points.labels) for pose in poses
    ]
    costs = [_cost(bare, pose, mean, points.labels, asked.weights, tasks) for pose in poses]
    factors = {}
    for block in applied.split("<Scale>")[1:]:
        values = np.array(block.split("<scales>")[1].split("</scales>")[0].split(), dtype=float)
        factors[block.split("<segment>")[1].split("</segment>")[0].strip()] = values
    placed = {marker.name: np.array(marker.place_m) for marker in ours.model.markers}
    tools = {marker.name: np.array(marker.place_m) for marker in tool.markers}
    off = max(np.abs(np.array(ours.record["factors"].get(body, np.ones(3))) - f).max() for body, f in factors.items())
    masses = [
        abs(a.mass_kg - tool.multibody.bodies[tool.multibody.body_index(a.name)].mass_kg)
        for a in ours.model.multibody.bodies
    ]
    default = tool.default_configuration()[None]
    M, theirs_M = (one.coupled.mass_matrix(default) for one in (ours.model, tool))
    far = [max(1e3 * float(np.linalg.norm(placed[k] - there[k])) for k in placed) for there in (*found, tools)]
    ours_cost = _cost(bare, alone, mean, points.labels, asked.weights, tasks)
    print(
        f"{name:18s} factors {off:.1e}  mass {max(masses):.1e} kg  M {np.abs(M - theirs_M).max() / theirs_M.max():.1e}\n"
        f"    cost: biodyn {ours_cost:.8e}, OpenSim from default {costs[0]:.8e}, from biodyn's pose {costs[1]:.8e}\n"
        f"    farthest placed marker: OpenSim from default {far[0]:.4f} mm, from biodyn's pose {far[1]:.6f} mm, "
        f"tool {far[2]:.2f} mm"
    )


def _fitted(model: Path, setup: Path, standing: Any) -> dict[str, float]:
    """Return biodyn's standing pose of the scaled model, before its markers are placed."""
    from biodyn.io.opensim.tool_setups import IkSetup, read_scale_setup
    from biodyn.rigid_body.osim.model import build_model, read_model_document
    from biodyn.rigid_body.osim.scaling import add_marker_elements, scale_model
    from biodyn.trial.bodies.opensim_inputs import fit_standing_pose, scale_by_setup

    asked = read_scale_setup(setup)
    factors = {k: np.array(v) for k, v in scale_by_setup(model, setup).record["factors"].items()}
    document = scale_model(
        add_marker_elements(read_model_document(model)[0], asked.markers), factors, asked.mass_kg, asked.keep_shares
    )
    q = fit_standing_pose(document, standing, IkSetup(setup, asked.weights, asked.tasks))
    return {one.name: float(value) for one, value in zip(build_model(document).coordinates, q, strict=True)}


def _placed(model: Any, q: Any, mean: Any, labels: tuple[str, ...]) -> dict[str, Any]:
    """Return the places on their bodies of markers seen at `mean` (M, 3), in a pose."""
    R, p = model.coupled.body_poses(q)
    at = {m.name: model.multibody.body_index(m.body) for m in model.markers if m.name in labels and m.body is not None}
    return {name: R[0, b].T @ (mean[labels.index(name)] - p[0, b]) for name, b in at.items()}


def _cost(model: Any, pose: dict[str, float], mean: Any, labels: tuple[str, ...], weights: Any, tasks: Any) -> float:
    """Return the objective of OpenSim's fit at a pose."""
    q = np.array([[pose[one.name] for one in model.coordinates]])
    there = _placed(model, q, mean, labels)
    off = {m.name: float(np.sum((there[m.name] - np.array(m.place_m)) ** 2)) for m in model.markers if m.name in there}
    total = sum(weights[name] for name in off if name in weights)
    return sum(weights[name] * off[name] for name in off if name in weights) / total + sum(
        weight * (pose[name] - value) ** 2 for name, (weight, value) in tasks.items()
    )


def main() -> None:
    if sys.argv[1:2] == ["--theirs"]:
        theirs(json.loads(Path(sys.argv[2]).read_text()))
        return
    interpreter = os.environ.get("BIODYN_OPENSIM")
    if not interpreter:
        sys.exit("Set BIODYN_OPENSIM to an interpreter that has opensim 4.6.")
    data = Path(sys.argv[1] if len(sys.argv) > 1 else os.environ["BIODYN_TEST_DATA"]) / "opensim"
    for name in CASES:
        compared(name, data, interpreter)


if __name__ == "__main__":
    main()
