"""Marker errors of biodyn beside those of OpenSim's Scale and Inverse Kinematics tools, on the same walks. By hand:

    python -m venv OTHER; OTHER/bin/pip install opensim; OTHER/bin/pip install --no-deps pose2sim     (once)
    python benchmarks/marker_rms.py --opensim OTHER/bin/python [--model FILE.osim] [FOLDER ...]       or BIODYN_OPENSIM=...

OpenSim runs in an interpreter of its own (`opensim_fit.py`). Both get the same trajectories (labels mended, gaps filled,
smoothed, World axes) and the same standing pose, and are judged by the same markers in the same frames, every marker alike.

Made to suit OpenSim: its full-body model by Rajagopal et al. 2016 (doi 10.1109/TBME.2016.2586891) as pose2sim ships it, with
the coordinates that biodyn's legs have and more elsewhere; markers on the model at the places its authors' marker sets give;
scaled by the distances its own set-ups use, left and right apart; every marker put where the static trial has it; equal
weights in the walk, which is what makes the mean error least. Markers of parts that neither model has (shoulder girdle,
trochanter) are left out. It is run three times: with the markers alone; with hip, knee and ankle centres (the static trial's,
biodyn's regressions) as points of the static trial besides, as many laboratories do; and so with pelvis and legs alone. The
smallest of its errors counts. A fourth run without the limits of its joints can be asked for (--free).

biodyn twice, too: with the static trial's model alone, as OpenSim has it, and with the model fitted over the walk, which is
the default. The second is judged on the walk it was fitted to: it shows what the fit leaves. At most FRAMES frames of a walk,
evenly spread, are looked at.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from common import Record, Stopwatch, Table, parser_of, real_recordings, tell, walks_below

from biodyn.conventions import FloatArray
from biodyn.errors import BiodynError
from biodyn.model.body_model import StaticFigure
from biodyn.trial.run import analyse_trial
from biodyn.trial.stages import ScaledTrial, TrackedTrial
from biodyn.trial.steps import STEPS, solve_inverse_kinematics, with_step

# Places on the generic model, right side, m: marker sets of Rajagopal 2016, Hamner 2010 and gait2392 as distributed.
GENERIC = {
    "asis": ("pelvis", (0.010, 0.018, 0.128)),
    "psis": ("pelvis", (-0.155, 0.035, 0.045)),
    "sacrum": ("pelvis", (-0.160, 0.036, 0.0)),
    "knee_lateral": ("femur", (0.0, -0.404, 0.05)),
    "knee_medial": ("femur", (0.0, -0.404, -0.05)),
    "ankle_lateral": ("tibia", (-0.005, -0.3888, 0.053)),
    "ankle_medial": ("tibia", (0.006, -0.3888, -0.038)),
    "heel": ("calcn", (-0.02, 0.02, -0.005)),
    "toe": ("calcn", (0.19, 0.03, 0.0)),
    "met1": ("calcn", (0.205, 0.03, -0.03)),
    "met5": ("calcn", (0.150, 0.022, 0.055)),
    "c7": ("torso", (-0.085, 0.435, 0.0)),
    "suprasternale": ("torso", (0.04, 0.38, 0.0)),
    "xiphoid": ("torso", (0.1, 0.24, 0.0)),
    "t10": ("torso", (-0.1, 0.22, 0.0)),
    "acromion": ("torso", (-0.003, 0.425, 0.13)),
    "elbow_lateral": ("humerus", (0.012, -0.281, 0.038)),
    "elbow_medial": ("humerus", (0.001, -0.284, -0.044)),
    "wrist_radial": ("radius", (0.0, -0.23, 0.05)),
    "wrist_ulnar": ("radius", (-0.022, -0.23, -0.022)),
}
# The usual pairs: of gait2354's and OpenCap's scale set-ups. {s} is a side; of several lines for one thing the first whose
# markers are there counts. Name, bodies, axes, pairs.
FOREARM = "ulna_{s} radius_{s} hand_{s}"
MEASURES = (
    ("pelvis width", "pelvis", "Z", "hip_r hip_l"),
    ("pelvis width", "pelvis", "Z", "asis_r asis_l"),
    ("pelvis depth", "pelvis", "XY", "asis_r psis_r, asis_l psis_l"),
    ("pelvis depth", "pelvis", "XY", "asis_r sacrum, asis_l sacrum"),
    ("thigh {s}", "femur_{s}", "XYZ", "hip_{s} knee_{s}"),
    ("thigh {s}", "femur_{s}", "XYZ", "asis_{s} knee_lateral_{s}"),
    ("shank {s}", "tibia_{s} talus_{s}", "XYZ", "knee_{s} ankle_{s}"),
    ("shank {s}", "tibia_{s} talus_{s}", "XYZ", "knee_lateral_{s} ankle_lateral_{s}"),
    ("foot {s}", "calcn_{s} toes_{s}", "XYZ", "heel_{s} toe_{s}"),
    ("foot {s}", "calcn_{s} toes_{s}", "XYZ", "heel_{s} met5_{s}"),
    ("foot {s}", "calcn_{s} toes_{s}", "XYZ", "ankle_lateral_{s} toe_{s}"),
    ("trunk", "torso", "XY", "c7 sacrum"),
    ("trunk", "torso", "XY", "c7 psis_r, c7 psis_l"),
    ("trunk", "torso", "XY", "acromion_r asis_r, acromion_l asis_l"),
    ("shoulders", "torso", "Z", "acromion_r acromion_l"),
    ("upper arm {s}", "humerus_{s}", "XYZ", "acromion_{s} elbow_lateral_{s}"),
    ("forearm {s}", FOREARM, "XYZ", "elbow_lateral_{s} wrist_radial_{s}, elbow_lateral_{s} wrist_ulnar_{s}"),
    ("forearm {s}", FOREARM, "XYZ", "elbow_lateral_{s} wrist_ulnar_{s}"),
)  # fmt: skip
LEGS = ("pelvis", "femur", "tibia", "calcn")
FRAMES = 100


@dataclass(frozen=True)
class Run:
    """One way of running OpenSim."""

    name: str
    centres: bool = True
    legs: bool = False
    clamped: bool = True


RUNS = (Run("markers alone", centres=False), Run("with centres"), Run("legs with centres", legs=True))


@dataclass(frozen=True)
class Kept:
    """What biodyn fitted a walk with: the trajectories (T, M, 3) m of its markers, and its errors (T, M) m."""

    trial: TrackedTrial
    labels: tuple[str, ...]
    walk: FloatArray
    errors_m: FloatArray


def main() -> None:
    parser = parser_of(__doc__, folders=True)
    parser.add_argument("--opensim", default=os.environ.get("BIODYN_OPENSIM", ""), help="interpreter with opensim")
    parser.add_argument("--model", default="", help="an .osim file in place of pose2sim's")
    parser.add_argument("--free", action="store_true", help="a run of OpenSim without the limits of its joints, too")
    arguments = parser.parse_args()
    if not arguments.opensim:
        sys.exit(
            "Name an interpreter that has opensim: --opensim PYTHON or BIODYN_OPENSIM; --help says how to make one."
        )
    record, watch = Record("marker_rms", vars(arguments)), Stopwatch()
    warnings.simplefilter("ignore", RuntimeWarning)
    runs = (*RUNS, Run("without limits", clamped=False)) if arguments.free else RUNS
    heads = [f"OpenSim, {run.name}" for run in runs]
    tell("RMS in mm: all markers / pelvis and legs")
    table = Table(("walk", "markers", "frames", *heads, "biodyn, static model", "biodyn", "biodyn / OpenSim"))
    ratios: dict[str, list[float]] = {name: [] for name in _RATIOS}
    for folder in arguments.folders or [real_recordings() / "gait"]:
        for path in walks_below(folder):
            name = str(path.relative_to(folder))
            try:
                fitted, static = kept(path, "trial"), kept(path, "none")
            except BiodynError as error:
                table.row(name, error)
                continue
            row = compared(fitted, static, runs, arguments.opensim, arguments.model)
            for key, values in ratios.items():
                values.append(row.ratio(key))
            table.row(name, *row.cells())
    tell()
    for key, values in ratios.items():
        lower = sum(value < 1.0 for value in values)
        spread = f"median {np.median(values):.2f}, {min(values):.2f} to {max(values):.2f}"
        tell(f"{key}, over OpenSim's best run: {spread}, lower on {lower} of {len(values)} walks")
        record.add(f"{key} / OpenSim, median", float(np.median(values)), "times")
    record.add("whole run", watch.seconds)
    record.close()


def kept(path: Path, fit: str) -> Kept:
    """Analyse a walk as far as torques and keep what its skeleton was fitted to."""
    states: list[TrackedTrial] = []

    def keeping(trial: ScaledTrial) -> TrackedTrial:
        states.append(solve_inverse_kinematics(trial))
        return states[-1]

    analysis = analyse_trial(
        path,
        settings={"signals": {"method": "butterworth"}, "model": {"fit": fit}},
        steps=with_step(STEPS, "inverse kinematics", keeping),
        torques_only=True,
    )
    markers, found = states[0].signals.markers, analysis.fit
    at = [markers.labels.index(label) for label in found.labels]
    step = -(-markers.frame_count // FRAMES)
    return Kept(states[0], found.labels, markers.positions[::step, at], found.marker_error[::step])


_RATIOS = {
    "biodyn": ("fitted", 0),
    "biodyn, static model": ("static", 0),
    "biodyn, legs": ("fitted", 1),
    "biodyn, static model, legs": ("static", 1),
}


@dataclass(frozen=True)
class Compared:
    """RMS in mm by what fitted the walk: over all markers, and over those of pelvis and legs."""

    markers: int
    frames: int
    opensim: tuple[tuple[float, float], ...]
    static: tuple[float, float]
    fitted: tuple[float, float]

    def ratio(self, key: str) -> float:
        name, part = _RATIOS[key]
        best = float(np.nanmin([errors[part] for errors in self.opensim]))
        return float(getattr(self, name)[part]) / best

    def cells(self) -> Iterable[object]:
        yield from (self.markers, self.frames)
        for errors in (*self.opensim, self.static, self.fitted):
            yield " / ".join("-" if np.isnan(value) else f"{value:.1f}" for value in errors)
        yield " / ".join(f"{self.ratio(key):.2f}" for key in ("biodyn", "biodyn, legs"))


def compared(fitted: Kept, static: Kept, runs: Sequence[Run], python: str, model: str) -> Compared:
    """Run OpenSim on what biodyn was given, and judge all by the markers and frames that all have."""
    soft = {role.label for role in static.trial.mapping.roles if role.soft}
    labels = [label for label in fitted.labels if label in static.labels and label not in soft]
    body = {marker.label: marker.body for marker in static.trial.model.markers}
    legs = np.array([body[label].split("_")[0] in LEGS for label in labels])
    mine = [kept.errors_m[:, [kept.labels.index(label) for label in labels]] for kept in (static, fitted)]
    theirs = []
    for run in runs:
        asked = [label for label, of_legs in zip(labels, legs, strict=True) if of_legs or not run.legs]
        found, places = opensim_places(static, asked, run, python, model)
        error = np.full(mine[0].shape, np.nan)
        for label in set(found) & set(labels):
            true = static.walk[:, static.labels.index(label)]
            error[:, labels.index(label)] = np.linalg.norm(places[:, found.index(label)] - true, axis=1)
        theirs.append(error)
    whole = [error for run, error in zip(runs, theirs, strict=True) if not run.legs]
    seen = np.all([np.isfinite(error) for error in (*mine, *whole)], axis=0)

    def told(error: FloatArray, of_legs: bool = False) -> tuple[float, float]:
        part = seen[:, legs] & np.isfinite(error[:, legs])
        return np.nan if of_legs and not legs.all() else _rms_mm(error[seen]), _rms_mm(error[:, legs][part])

    opensim = tuple(told(error, run.legs) for run, error in zip(runs, theirs, strict=True))
    return Compared(int(seen.any(axis=0).sum()), int(seen.any(axis=1).sum()), opensim, told(mine[0]), told(mine[1]))


def _rms_mm(errors_m: FloatArray) -> float:
    return 1000.0 * float(np.sqrt(np.mean(errors_m**2)))


def opensim_places(kept: Kept, labels: list[str], run: Run, python: str, model: str) -> tuple[list[str], FloatArray]:
    """Return the labels that OpenSim fitted and where its model has them, (T, M, 3) m."""
    task, static = task_of(kept, labels, run)
    task["model"] = str(Path(model).resolve()) if model else ""
    walk = kept.walk[:, [kept.labels.index(label) for label in task["walk_labels"]]]
    rows = np.isfinite(walk[..., 0]).any(axis=1)  # OpenSim does not read a frame without markers
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "task.json").write_text(json.dumps(task))
        np.savez(Path(folder) / "task.npz", walk=walk[rows], static=static)
        script = Path(__file__).with_name("opensim_fit.py")
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        done = subprocess.run(
            [python, str(script), folder], cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode:
            sys.exit(f"OpenSim stopped: {done.stderr.strip() or done.stdout.strip()}")
        found = np.load(Path(folder) / "fitted.npz")
        places = np.full((len(walk), *found["places"].shape[1:]), np.nan)
        places[rows] = found["places"]
        return [str(label) for label in found["labels"]], places


def task_of(kept: Kept, labels: list[str], run: Run) -> tuple[dict[str, Any], FloatArray]:
    """What OpenSim is asked to do, and the standing points (M, 3) m."""
    trial = kept.trial
    landmark = {role.label: role.landmark for role in trial.mapping.roles}
    segment = {role.label: role.body for role in trial.mapping.roles}
    segment |= {marker.label: marker.body for marker in trial.model.markers}
    points = dict(trial.standing.points)
    markers = [
        _marker(label, landmark.get(label, ""), segment[label])
        for label in points
        if label in labels or landmark.get(label, "").rpartition("_")[0] in ("knee_medial", "ankle_medial")
    ]
    scaling = {role.label for role in trial.mapping.roles if role.landmark and (not run.legs or role.label in labels)}
    markers += [  # the girdle's markers scale trunk and arms, no more
        _marker(label, landmark[label], segment[label]) | {"static_weight": 0.0}
        for label in points
        if label in scaling and landmark[label].startswith("acromion") and label not in labels
    ]
    named = {landmark[label]: label for label in points if landmark.get(label)}
    if run.centres:
        figure = StaticFigure.from_model(trial.scaling.model()[0])
        for side in "rl":
            for joint, segment_of, body in _CENTRES:
                label = f"centre_of_{joint}_{side}"
                points[label] = figure.p_WB[f"{segment_of}_{side}"]
                named[f"{joint}_{side}"] = label
                at_origin = {"generic_m": (0.0, 0.0, 0.0), "static_weight": 1.0}
                markers.append({"label": label, "body": f"{body}_{side}"} | at_origin)
    static_labels = [marker["label"] for marker in markers]
    task = {
        "markers": markers,
        "measures": list(_measures(named, set(static_labels))),
        "static_labels": static_labels,
        "walk_labels": [label for label in labels if label in static_labels],
        "rate_hz": 100.0,
        "mass_kg": trial.mass_kg or 70.0,
        "clamped": run.clamped,
    }
    return task, np.array([points[label] for label in static_labels])


_CENTRES = (
    ("hip", "femur", "femur"),
    ("knee", "tibia", "tibia"),
    ("ankle", "calcn", "talus"),
)  # joint, biodyn's, OpenSim's


def _marker(label: str, landmark: str, segment: str) -> dict[str, Any]:
    """A marker on the generic model; one whose usual place nobody states has no say in the static pose and is put there."""
    stem, _, side = landmark.rpartition("_")
    known = GENERIC.get(stem) if side in ("r", "l") else GENERIC.get(landmark)
    if known is None:
        return {"label": label, "body": segment, "generic_m": (0.0, 0.0, 0.0), "static_weight": 0.0}
    body, (x, y, z) = known
    if side in ("r", "l"):
        body, z = body if body in ("pelvis", "torso") else f"{body}_{side}", z if side == "r" else -z
    return {"label": label, "body": body, "generic_m": (x, y, z), "static_weight": 1.0}


def _measures(named: dict[str, str], there: set[str]) -> Iterable[dict[str, Any]]:
    done: set[str] = set()
    for title, bodies, axes, marks in MEASURES:
        for side in "rl" if "{s}" in title else ("",):
            name = title.format(s=side)
            pairs = [[named.get(mark, "") for mark in pair.split()] for pair in marks.format(s=side).split(", ")]
            found = [pair for pair in pairs if there.issuperset(pair)]
            if found and name not in done:
                done.add(name)
                yield {"name": name, "bodies": bodies.format(s=side).split(), "axes": list(axes), "pairs": found}


if __name__ == "__main__":
    main()
