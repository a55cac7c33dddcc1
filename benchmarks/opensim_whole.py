"""A whole walk in OpenSim's tools and in biodyn, in one run: python benchmarks/opensim_whole.py [--opensim PYTHON] [--turns N]

The walk is simulated, 10 s at 100 Hz. OpenSim gets the model, markers and forces that biodyn exports, and a static trial, and in
a process of its own scales the model, places its markers (ScaleTool), fits the walk (InverseKinematicsTool) and solves for the
torques (InverseDynamicsTool): nothing but torques. biodyn reads the C3D files and does the same work: its preset "opensim", in
which the static trial scales the body and places markers, a filter of the same cut-off, fit, inverse dynamics. Then what
OpenSim's tools do not do, with nothing but torques too: the filter on a body that the walk corrects, and one estimate of motion
and forces; then all that biodyn gives: bands, checks, other algorithms' torques, tables, figures and report. In a warm process,
and as a command of its own.
PYTHON is an interpreter with opensim 4.6, by default that of BIODYN_OPENSIM. Seconds of the clock and of the processor: the
latter hold on a busy machine.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

_HIGHEST_HZ = 6.0  # what OpenSim's own examples filter the coordinates with


def theirs(folder: Path) -> None:
    """Scale, fit and solve with OpenSim's tools; write the seconds of each."""
    import opensim as osim
    from opensim_fit import _marker_task, _scale

    osim.Logger.setLevelString("Warn")
    os.chdir(folder)
    task = json.loads(Path("task.json").read_text())
    spent = {}

    def timed(name: str, work: Callable[[], Any]) -> None:
        begin = time.process_time()
        work()
        spent[name] = time.process_time() - begin

    def fitted() -> None:
        tool = osim.InverseKinematicsTool()
        tool.set_model_file("placed.osim")
        tool.setMarkerDataFileName("markers.trc")
        tool.setStartTime(task["start_s"])
        tool.setEndTime(task["end_s"])
        tool.setOutputMotionFileName("ik.mot")
        tool.set_report_errors(False)
        for marker in task["markers"]:
            tool.get_IKTaskSet().cloneAndAppend(_marker_task(marker["label"], 1.0))
        assert tool.run()

    def solved() -> None:
        tool = osim.InverseDynamicsTool()
        tool.setModelFileName("placed.osim")
        tool.setCoordinatesFileName("ik.mot")
        tool.setLowpassCutoffFrequency(_HIGHEST_HZ)
        tool.setExternalLoadsFileName("external_loads.xml")
        tool.setStartTime(task["start_s"])
        tool.setEndTime(task["end_s"])
        muscles = osim.ArrayStr()
        muscles.append("Muscles")
        tool.setExcludedForces(muscles)
        tool.setResultsDir(".")
        tool.setOutputGenForceFileName("torques.sto")
        assert tool.run()

    timed("scale", lambda: _scale(folder, task))
    timed("inverse kinematics", fitted)
    timed("inverse dynamics", solved)
    spent["rows"] = osim.TimeSeriesTable("torques.sto").getNumRows()
    Path("spent.json").write_text(json.dumps(spent))


def _task(result: Any, folder: Path) -> None:
    """Write what OpenSim needs into a folder: biodyn's export, the static trial, and what to scale by."""
    from biodyn.io import read
    from biodyn.io.formats.trc import write_trc
    from biodyn.recording import Markers

    result.export("opensim", folder)
    (folder / "model.osim").rename(folder / "generic.osim")
    analysis = result.analysis
    static = read(analysis.static.path).markers
    labels = [marker.label for marker in analysis.model.markers]
    standing = np.nanmean(static.positions[:, [static.labels.index(label) for label in labels]], axis=0)
    still = np.repeat((standing @ analysis.R_WL.T)[None], 3, axis=0)
    write_trc(folder / "static.trc", Markers(tuple(labels), still, 100.0))
    by_body: dict[str, list[int]] = {}
    for number, marker in enumerate(analysis.model.markers):
        by_body.setdefault(marker.body, []).append(number)
    measures = []
    for body, own in by_body.items():
        if len(own) > 1:
            pair = max(combinations(own, 2), key=lambda two: float(np.linalg.norm(standing[two[0]] - standing[two[1]])))
            names = [labels[number] for number in pair]
            measures.append({"name": body, "pairs": [names], "bodies": [body], "axes": "XYZ"})
    time_s = result.joint_angles["time_s"].to_numpy()
    task = {
        "mass_kg": analysis.subject.mass_kg,
        "measures": measures,
        "markers": [{"label": label, "static_weight": 1.0} for label in labels],
        "start_s": float(time_s[0]),
        "end_s": float(time_s[-1]),
    }
    (folder / "task.json").write_text(json.dumps(task))


def _spent(command: list[str]) -> tuple[float, float]:
    """Seconds of the clock and of the processor that a command takes."""
    before, begin = os.times(), time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    lasted, after = time.perf_counter() - begin, os.times()
    mine = after.children_user + after.children_system - before.children_user - before.children_system
    return lasted, mine


def main() -> None:
    """Print seconds of both, and how many times one is the other."""
    from common import Record, parser_of
    from trial import _long_walk

    import biodyn
    from biodyn.trial.run import analyse_trial

    parser = parser_of(__doc__)
    parser.add_argument("--opensim", default=os.environ.get("BIODYN_OPENSIM", ""), metavar="PYTHON")
    parser.add_argument("--turns", type=int, default=3, help="runs of biodyn; OpenSim runs once")
    asked = parser.parse_args()
    if not asked.opensim:
        sys.exit("Name an interpreter with opensim 4.6: --opensim PYTHON, or BIODYN_OPENSIM.")
    record = Record("opensim_whole", {"turns": asked.turns})
    seconds: dict[str, list[tuple[float, float]]] = {}
    with tempfile.TemporaryDirectory() as place:
        walk, static = _long_walk(Path(place))
        result = biodyn.run_trial(walk, static)
        exported = Path(place) / "opensim"
        _task(result, exported)
        own = [asked.opensim, __file__, "--theirs", str(exported)]
        seconds["OpenSim: scale, kinematics, dynamics"] = [_spent(own)]
        steps = json.loads((exported / "spent.json").read_text())
        own_model = {"signals": {"method": "butterworth", "cutoff_hz": _HIGHEST_HZ}}
        for turn in range(asked.turns + 1):
            before, begin = time.process_time(), time.perf_counter()
            analyse_trial(walk, static, preset="opensim", torques_only=True)
            same = (time.perf_counter() - begin, time.process_time() - before)
            before, begin = time.process_time(), time.perf_counter()
            analyse_trial(walk, static, settings=own_model, torques_only=True)
            filtered = (time.perf_counter() - begin, time.process_time() - before)
            before, begin = time.process_time(), time.perf_counter()
            analyse_trial(walk, static, torques_only=True)
            bare = (time.perf_counter() - begin, time.process_time() - before)
            before, begin = time.process_time(), time.perf_counter()
            analysis = biodyn.run_trial(walk, static)
            middle = (time.perf_counter() - begin, time.process_time() - before)
            analysis.save(Path(place) / f"result {turn}")
            whole = (time.perf_counter() - begin, time.process_time() - before)
            if turn:  # the first loads libraries and kernels
                seconds.setdefault("biodyn, warm: the same work", []).append(same)
                seconds.setdefault("biodyn, warm: a filter, its own model", []).append(filtered)
                seconds.setdefault("biodyn, warm: estimate, nothing but torques", []).append(bare)
                seconds.setdefault("biodyn, warm: torques, bands, checks", []).append(middle)
                seconds.setdefault("biodyn, warm: with tables, figures, report", []).append(whole)
        command = [sys.executable, "-m", "biodyn.cli", "run", str(walk), "--static", str(static), "--quiet", "--out"]
        for turn in range(asked.turns):
            took = _spent([*command, str(Path(place) / f"process {turn}")])
            seconds.setdefault("biodyn, from the shell: everything", []).append(took)
    print("OpenSim, seconds of the processor: " + ", ".join(f"{name} {value:.2f}" for name, value in steps.items()))
    theirs_s = seconds["OpenSim: scale, kinematics, dynamics"][0]
    for name, took in seconds.items():
        clock, processor = (median(values) for values in zip(*took, strict=True))
        times = theirs_s[0] / clock, theirs_s[1] / processor
        print(f"{name:46s} {clock:8.2f} s ({times[0]:.1f} x), processor {processor:8.2f} s ({times[1]:.1f} x)")
        record.add(f"{name}, processor", processor)
        record.add(f"{name}, clock", clock)
        record.add(f"{name}, OpenSim's processor time over it", times[1], "x")
    record.close()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--theirs"]:
        theirs(Path(sys.argv[2]))
    else:
        main()
