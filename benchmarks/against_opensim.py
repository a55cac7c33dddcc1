"""Cost of a trial against OpenSim's tools, in one run and in turns: BIODYN_OPENSIM=PYTHON python benchmarks/against_opensim.py

A simulated walk (10 s, 39 markers, 100 frames a second). OpenSim gets biodyn's model of the person and its exported markers and
forces, and runs ScaleTool (scaling by marker distances and marker placement, on the first tenth of a second),
InverseKinematicsTool and InverseDynamicsTool. Processor time, medians of the turns: of the tools without the import of OpenSim;
of a second `run_trial` in one process; of whole commands in fresh processes with all that they import. "same work" counts the
steps of `run_trial` that the tools do as well: reading, filters, scaling, inverse kinematics and dynamics. "filter" is a whole
analysis without estimate and bands; "default" includes both, and all checks.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

from common import REPOSITORY, Record, environment_of, parser_of, tell, write_session
from simulator import Person, TrialOptions, session

from biodyn.trial.export import export
from biodyn.trial.run import run_trial
from biodyn.trial.steps import STEPS, Step

_FILTER = {"signals": {"method": "butterworth"}, "uncertainty": {"compute": False}}
_SAME_WORK = ("reading", "signals", "scaling", "calibration", "inverse kinematics", "inverse dynamics")
_TOOLS = """
import os, sys, time, opensim
opensim.Logger.setLevelString("error")
os.chdir(sys.argv[1])
model = opensim.Model("model.osim")
table = opensim.TimeSeriesTableVec3("markers.trc")
times = table.getIndependentColumn()
names = set(table.getColumnLabels())
bodies = {}
for marker in model.getMarkerSet():
    if marker.getName() in names:
        bodies.setdefault(os.path.basename(marker.getParentFrameName()), []).append(marker.getName())

def set_tasks(tasks):
    for name in sorted(names):
        task = opensim.IKMarkerTask()
        task.setName(name)
        task.setApply(True)
        task.setWeight(1.0)
        tasks.cloneAndAppend(task)

start = time.process_time()
span = opensim.ArrayDouble(times[0], 2)
span.set(1, times[0] + 0.1)
tool = opensim.ScaleTool()
tool.setSubjectMass(float(sys.argv[2]))
tool.getGenericModelMaker().setModelFileName("model.osim")
scaler, placer = tool.getModelScaler(), tool.getMarkerPlacer()
for part in (scaler, placer):
    part.setApply(True)
    part.setMarkerFileName("markers.trc")
    part.setTimeRange(span)
order, axes = opensim.ArrayStr(), opensim.ArrayStr()
order.append("measurements")
scaler.setScalingOrder(order)
for axis in "XYZ":
    axes.append(axis)
for body, markers in bodies.items():
    if len(markers) > 1:
        measurement, scale = opensim.Measurement(), opensim.BodyScale()
        measurement.setName(body)
        measurement.getMarkerPairSet().cloneAndAppend(opensim.MarkerPair(*markers[:2]))
        scale.setName(body)
        scale.setAxisNames(axes)
        measurement.getBodyScaleSet().cloneAndAppend(scale)
        measurement.setApply(True)
        scaler.addMeasurement(measurement)
set_tasks(placer.getIKTaskSet())
placer.setOutputModelFileName("scaled.osim")
assert tool.run()
tool = opensim.InverseKinematicsTool()
tool.set_model_file("model.osim")
tool.setMarkerDataFileName("markers.trc")
tool.setStartTime(times[0])
tool.setEndTime(times[-1])
tool.setOutputMotionFileName("ik.mot")
set_tasks(tool.get_IKTaskSet())
assert tool.run()
assert opensim.InverseDynamicsTool("inverse_dynamics_setup.xml").run()
print("seconds", time.process_time() - start)
"""


def main() -> None:
    """Print medians of both sides and their ratios."""
    parser = parser_of(__doc__)
    parser.add_argument("--turns", type=int, default=3)
    options = parser.parse_args()
    record = Record("against_opensim", {"turns": options.turns})
    python = os.environ["BIODYN_OPENSIM"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        person = Person("S01", height_m=1.78, mass_kg=74.0, sex="male")
        static, walk = session(person, TrialOptions(strides=9.1, noise_mm=1.0, soft_tissue=1.0, seed=1))
        walk_file, static_file = write_session(folder, static, walk)
        exported = export(run_trial(walk_file, static_file), "opensim", folder / "opensim").folder
        run_trial(walk_file, static_file, settings=_FILTER)
        costs: dict[str, list[float]] = {}
        for _ in range(options.turns):
            for kind, settings in (("filter", _FILTER), ("default", {})):
                seconds: dict[str, float] = {}
                start = time.process_time()
                run_trial(walk_file, static_file, settings=settings, steps=[_timed(step, seconds) for step in STEPS])
                costs.setdefault(kind, []).append(time.process_time() - start)
                if kind == "filter":
                    costs.setdefault("same work", []).append(sum(seconds[name] for name in _SAME_WORK))
            tools, whole = _command(python, "-c", _TOOLS, str(exported), str(person.mass_kg))
            costs.setdefault("OpenSim's tools", []).append(float(tools.split("seconds")[-1]))
            costs.setdefault("OpenSim, whole command", []).append(whole)
            words = (sys.executable, "-m", "biodyn", "run", str(walk_file), "--static", str(static_file))
            _, whole = _command(*words, "--out", str(folder / "result"), "--force")
            costs.setdefault("biodyn run", []).append(whole)
    for kind, seconds in costs.items():
        tell(f"{kind}: {median(seconds):.2f} s")
        record.add(kind, median(seconds), "s of the processor")
    for ours, theirs in (
        ("same work", "OpenSim's tools"),
        ("filter", "OpenSim's tools"),
        ("default", "OpenSim's tools"),
        ("biodyn run", "OpenSim, whole command"),
    ):
        record.add(f"{theirs} / {ours}", median(costs[theirs]) / median(costs[ours]), "larger is better")
    record.close()


def _timed(step: Step, seconds: dict[str, float]) -> Step:
    """Return the step, which writes its processor time (s) to `seconds`."""

    def run(stage: Any) -> Any:
        start = time.process_time()
        result = step.run(stage)
        seconds[step.name] = time.process_time() - start
        return result

    return replace(step, run=run)


def _command(*words: str) -> tuple[str, float]:
    """Return the output and the processor time (s) of a command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(words, env=environment_of(REPOSITORY), capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise RuntimeError(done.stderr[-1000:])
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return done.stdout, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main()
