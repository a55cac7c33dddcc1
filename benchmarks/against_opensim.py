"""Cost of a trial against OpenSim's tools, in one run and in turns: BIODYN_OPENSIM=PYTHON python benchmarks/against_opensim.py

A simulated walk (10 s, 39 markers, 100 frames a second). OpenSim gets biodyn's model of the person and its exported markers and
forces, and runs InverseKinematicsTool and InverseDynamicsTool; its scaling is not counted. Processor time, medians of the turns:
of the tools without the import of OpenSim and of a second `run_trial` in one process (filter alone: the same work; default: with
estimate, bands and checks), and of whole commands in fresh processes with all that they import.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from common import REPOSITORY, Record, environment_of, parser_of, tell, write_session
from simulator import Person, TrialOptions, session

from biodyn.trial.export import export
from biodyn.trial.run import run_trial

_FILTER = {"signals": {"method": "butterworth"}, "uncertainty": {"compute": False}}
_TOOLS = """
import os, sys, time, opensim
opensim.Logger.setLevelString("error")
os.chdir(sys.argv[1])
model = opensim.Model("model.osim")
start = time.process_time()
tool = opensim.InverseKinematicsTool()
tool.set_model_file("model.osim")
tool.setMarkerDataFileName("markers.trc")
table = opensim.TimeSeriesTableVec3("markers.trc")
tool.setStartTime(table.getIndependentColumn()[0])
tool.setEndTime(table.getIndependentColumn()[-1])
tool.setOutputMotionFileName("ik.mot")
names = set(table.getColumnLabels())
for marker in model.getMarkerSet():
    if marker.getName() in names:
        task = opensim.IKMarkerTask()
        task.setName(marker.getName())
        task.setApply(True)
        task.setWeight(1.0)
        tool.get_IKTaskSet().cloneAndAppend(task)
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
                start = time.process_time()
                run_trial(walk_file, static_file, settings=settings)
                costs.setdefault(kind, []).append(time.process_time() - start)
            tools, whole = _command(python, "-c", _TOOLS, str(exported))
            costs.setdefault("OpenSim's tools", []).append(float(tools.split("seconds")[-1]))
            costs.setdefault("OpenSim, whole command", []).append(whole)
            words = (sys.executable, "-m", "biodyn", "run", str(walk_file), "--static", str(static_file))
            _, whole = _command(*words, "--out", str(folder / "result"), "--force")
            costs.setdefault("biodyn run", []).append(whole)
    for kind, seconds in costs.items():
        tell(f"{kind}: {median(seconds):.2f} s")
        record.add(kind, median(seconds), "s of the processor")
    for ours, theirs in (
        ("filter", "OpenSim's tools"),
        ("default", "OpenSim's tools"),
        ("biodyn run", "OpenSim, whole command"),
    ):
        record.add(f"{theirs} / {ours}", median(costs[theirs]) / median(costs[ours]), "larger is better")
    record.close()


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
