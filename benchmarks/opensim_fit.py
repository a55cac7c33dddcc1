"""OpenSim's Scale and Inverse Kinematics tools on one walk, in an interpreter that has `opensim`: see marker_rms.py.

    python opensim_fit.py FOLDER        reads FOLDER/task.json and FOLDER/task.npz, writes FOLDER/fitted.npz

It knows nothing of biodyn: the task names markers, bodies, generic places, pairs to scale by, and the files' model. Both
tools run as a user of theirs runs them: model scaled by distances between markers of the static trial, its markers moved to
where the static pose has them (MarkerPlacer), then one inverse kinematics of the walk with equal weights.
"""

from __future__ import annotations

import json
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import opensim as osim

_SHIPPED = "OpenSim_Setup/Model_Pose2Sim_simple.osim"


def main() -> None:
    folder = Path(sys.argv[1])
    task, arrays = json.loads((folder / "task.json").read_text()), dict(np.load(folder / "task.npz"))
    osim.Logger.setLevelString("Warn")
    generic = osim.Model(str(task["model"] or _shipped_model()))
    _add_markers(generic, task)
    if not any(marker["body"].startswith("toes") for marker in task["markers"]):
        for side in "rl":  # no marker sees the toes
            _lock(generic, f"mtp_angle_{side}")
    if not task["clamped"]:
        for coordinate in generic.updCoordinateSet():
            coordinate.set_clamped(False)
    generic.finalizeConnections()
    generic.printToXML(str(folder / "generic.osim"))
    write_trc(folder / "static.trc", task["static_labels"], np.repeat(arrays["static"][None], 3, axis=0), 100.0)
    write_trc(folder / "walk.trc", task["walk_labels"], arrays["walk"], task["rate_hz"])
    _scale(folder, task)
    labels, places = _fit(folder, task, len(arrays["walk"]))
    np.savez(folder / "fitted.npz", labels=np.array(labels), places=places)


def _shipped_model() -> Path:
    found = find_spec("Pose2Sim")
    if found is None or not found.submodule_search_locations:
        sys.exit("No model: name an .osim file, or install pose2sim without its dependencies beside opensim.")
    return Path(next(iter(found.submodule_search_locations))) / _SHIPPED


def _lock(model: Any, name: str) -> None:
    for coordinate in model.updCoordinateSet():
        if coordinate.getName() == name:
            coordinate.set_locked(True)


def _add_markers(model: Any, task: dict[str, Any]) -> None:
    bodies = {body.getName() for body in model.getBodySet()}
    for marker in task["markers"]:
        if marker["body"] in bodies:
            body = model.getBodySet().get(marker["body"])
            added = osim.Marker(marker["label"], body, osim.Vec3(*marker["generic_m"]))
            model.addMarker(added)


def write_trc(path: Path, labels: list[str], places: Any, rate_hz: float) -> None:
    """Write (T, M, 3) m; an unseen marker is left empty."""
    head = [
        f"PathFileType\t4\t(X/Y/Z)\t{path.name}",
        "DataRate\tCameraRate\tNumFrames\tNumMarkers\tUnits\tOrigDataRate\tOrigDataStartFrame\tOrigNumFrames",
        f"{rate_hz:g}\t{rate_hz:g}\t{len(places)}\t{len(labels)}\tm\t{rate_hz:g}\t1\t{len(places)}",
        "Frame#\tTime\t" + "\t\t\t".join(labels) + "\t\t",
        "\t\t" + "\t".join(f"{axis}{i + 1}" for i in range(len(labels)) for axis in "XYZ"),
        "",
    ]
    rows = []
    for t, frame in enumerate(places):
        cells = [f"{value:.7f}" if np.isfinite(value) else "" for value in frame.ravel()]
        rows.append("\t".join([str(t + 1), f"{t / rate_hz:.6f}", *cells]))
    path.write_text("\n".join(head + rows) + "\n")


def _range(first: float, last: float) -> Any:
    values = osim.ArrayDouble(0.0, 2)
    values.set(0, first)
    values.set(1, last)
    return values


def _scale(folder: Path, task: dict[str, Any]) -> None:
    tool = osim.ScaleTool()
    tool.setPathToSubject(f"{folder}/")
    tool.setSubjectMass(task["mass_kg"])
    tool.getGenericModelMaker().setModelFileName("generic.osim")
    scaler = tool.getModelScaler()
    scaler.setApply(True)
    order = osim.ArrayStr()
    order.append("measurements")
    scaler.setScalingOrder(order)
    scaler.setMarkerFileName("static.trc")
    scaler.setTimeRange(_range(0.0, 0.02))
    scaler.setPreserveMassDist(True)
    scaler.setOutputModelFileName("scaled.osim")
    for measure in task["measures"]:
        scaler.addMeasurement(_measurement(measure))
    placer = tool.getMarkerPlacer()
    placer.setApply(True)
    placer.setMarkerFileName("static.trc")
    placer.setTimeRange(_range(0.0, 0.02))
    placer.setOutputModelFileName("placed.osim")
    placer.setMoveModelMarkers(True)
    tasks = placer.getIKTaskSet()
    for marker in task["markers"]:
        if marker["static_weight"]:
            tasks.cloneAndAppend(_marker_task(marker["label"], marker["static_weight"]))
    tool.printToXML(str(folder / "scale.xml"))
    if not osim.ScaleTool(str(folder / "scale.xml")).run():
        sys.exit("OpenSim's ScaleTool failed.")


def _measurement(measure: dict[str, Any]) -> Any:
    found = osim.Measurement()
    found.setName(measure["name"])
    found.setApply(True)
    for first, second in measure["pairs"]:
        found.getMarkerPairSet().cloneAndAppend(osim.MarkerPair(first, second))
    for body in measure["bodies"]:
        scaled = osim.BodyScale()
        scaled.setName(body)
        axes = osim.ArrayStr()
        for axis in measure["axes"]:
            axes.append(axis)
        scaled.setAxisNames(axes)
        found.getBodyScaleSet().cloneAndAppend(scaled)
    return found


def _marker_task(label: str, weight: float) -> Any:
    found = osim.IKMarkerTask()
    found.setName(label)
    found.setApply(True)
    found.setWeight(weight)
    return found


def _fit(folder: Path, task: dict[str, Any], frames: int) -> tuple[list[str], Any]:
    tool = osim.InverseKinematicsTool()
    tool.set_model_file(str(folder / "placed.osim"))
    tool.setMarkerDataFileName(str(folder / "walk.trc"))
    tool.setStartTime(0.0)
    tool.setEndTime((frames - 1) / task["rate_hz"])
    tool.setResultsDir(str(folder))
    tool.setOutputMotionFileName(str(folder / "ik.mot"))
    tool.set_report_errors(True)
    tool.set_report_marker_locations(True)
    for label in task["walk_labels"]:
        tool.get_IKTaskSet().cloneAndAppend(_marker_task(label, 1.0))
    if not tool.run():
        sys.exit("OpenSim's InverseKinematicsTool failed.")
    return _places(next(folder.glob("*ik_model_marker_locations.sto")), task, frames)


def _places(path: Path, task: dict[str, Any], frames: int) -> tuple[list[str], Any]:
    """Where the fitted model has its markers, (T, M, 3) m, NaN where a frame was not solved."""
    table = osim.TimeSeriesTable(str(path))
    columns = list(table.getColumnLabels())
    values = table.getMatrix().to_numpy()
    labels = list(dict.fromkeys(column.rsplit("_", 1)[0] for column in columns))
    places = np.full((frames, len(labels), 3), np.nan)
    rows = np.round(np.array(table.getIndependentColumn()) * task["rate_hz"]).astype(int)
    for column, name in enumerate(columns):
        label, axis = name.rsplit("_", 1)
        places[rows, labels.index(label), "xyz".index(axis.lstrip("t"))] = values[:, column]
    return labels, places


if __name__ == "__main__":
    main()
