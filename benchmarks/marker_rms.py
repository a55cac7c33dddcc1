"""Marker errors of biodyn beside those of OpenSim's Scale and Inverse Kinematics tools, on the same walks. By hand:

    python -m venv OTHER; OTHER/bin/pip install opensim; OTHER/bin/pip install --no-deps pose2sim     (once)
    python benchmarks/marker_rms.py --opensim OTHER/bin/python [--model FILE.osim] [FOLDER ...]       or BIODYN_OPENSIM=...

OpenSim runs in an interpreter of its own (`opensim_fit.py`). Both get the same trajectories (labels mended, gaps filled,
smoothed, World axes) and the same standing pose, and are judged by the same markers in the same frames, every marker alike.

Made to suit OpenSim: its full-body model by Rajagopal et al. 2016 (doi 10.1109/TBME.2016.2586891) as pose2sim ships it, with
the coordinates biodyn's legs have and more elsewhere; markers on the model at the places its authors' marker sets give;
scaled by the distances its own set-ups use, left and right apart; every marker put where the static trial has it; equal
weights in the walk, which is what makes the mean error least. It is run twice: with the markers alone, and with hip, knee and
ankle centres (the static trial's, biodyn's regressions) as points of the static trial besides, as many laboratories do.
The smaller of the two errors counts. A third run without the limits of its joints can be asked for (--free).

biodyn twice, too: with the static trial's model alone, as OpenSim has it, and with the model fitted over the walk, which is
the default. The second is judged on the walk it was fitted to; it shows what the fit leaves, not more.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from common import Record, Stopwatch, Table, parser_of, real_recordings, tell, walks_below

from biodyn.conventions import FloatArray
from biodyn.errors import BiodynError
from biodyn.model.static_figure import StaticFigure
from biodyn.processing.kinematics.fit import Fit
from biodyn.trial.run import analyse_trial
from biodyn.trial.state import TrialState
from biodyn.trial.steps import STEPS, inverse_kinematics, with_step

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
CENTRES = {"femur": (0.0, 0.0, 0.0), "tibia": (0.0, 0.0, 0.0), "calcn": None}  # the ankle: talus
# The usual pairs: of gait2354's and OpenCap's scale set-ups. {s} is a side; the first pairs whose markers are there are taken.
MEASURES = (
    ("pelvis width", ("pelvis",), "Z", ((("hip_r", "hip_l"),), (("asis_r", "asis_l"),))),
    (
        "pelvis depth",
        ("pelvis",),
        "XY",
        ((("asis_r", "psis_r"), ("asis_l", "psis_l")), (("asis_r", "sacrum"), ("asis_l", "sacrum"))),
    ),
    ("thigh {s}", ("femur_{s}",), "XYZ", ((("hip_{s}", "knee_{s}"),), (("asis_{s}", "knee_lateral_{s}"),))),
    ("shank {s}", ("tibia_{s}", "talus_{s}"), "XYZ", ((("knee_{s}", "ankle_{s}"),), (("knee_lateral_{s}", "ankle_lateral_{s}"),))),
    ("foot {s}", ("calcn_{s}", "toes_{s}"), "XYZ", ((("heel_{s}", "toe_{s}"),), (("heel_{s}", "met5_{s}"),), (("ankle_lateral_{s}", "toe_{s}"),))),
    ("trunk", ("torso",), "XY", ((("c7", "sacrum"),), (("c7", "psis_r"), ("c7", "psis_l")), (("acromion_r", "asis_r"), ("acromion_l", "asis_l")))),
    ("shoulders", ("torso",), "Z", ((("acromion_r", "acromion_l"),),)),
    ("upper arm {s}", ("humerus_{s}",), "XYZ", ((("acromion_{s}", "elbow_lateral_{s}"),),)),
    ("forearm {s}", ("ulna_{s}", "radius_{s}", "hand_{s}"), "XYZ", ((("elbow_lateral_{s}", "wrist_radial_{s}"), ("elbow_lateral_{s}", "wrist_ulnar_{s}")), (("elbow_lateral_{s}", "wrist_ulnar_{s}"),))),
)  # fmt: skip


@dataclass(frozen=True)
class Kept:
    """What biodyn fitted a walk with: the trajectories (T, M, 3) m of its markers, and its errors (T, M) m."""

    trial: TrialState
    labels: tuple[str, ...]
    walk: FloatArray
    errors_m: FloatArray


def main() -> None:
    parser = parser_of(__doc__, folders=True)
    parser.add_argument("--opensim", default=os.environ.get("BIODYN_OPENSIM", ""), help="interpreter with opensim")
    parser.add_argument("--model", default="", help="an .osim file in place of pose2sim's")
    parser.add_argument("--free", action="store_true", help="a third run of OpenSim without the limits of its joints")
    arguments = parser.parse_args()
    if not arguments.opensim:
        sys.exit("Name an interpreter that has opensim: --opensim PYTHON or BIODYN_OPENSIM (see --help how to make one).")
    record, watch = Record("marker_rms", vars(arguments)), Stopwatch()
    warnings.simplefilter("ignore", RuntimeWarning)
    variants = {"markers": (False, True), "with centres": (True, True)}
    if arguments.free:
        variants["without limits"] = (True, False)
    heads = [f"OpenSim, {name}" for name in variants]
    table = Table(("walk", "markers", "frames", *heads, "biodyn, static", "biodyn", "biodyn / OpenSim", "static: legs alone"))
    ratios: dict[str, list[float]] = {"biodyn": [], "biodyn, static": [], "legs": [], "legs, static": []}
    for folder in arguments.folders or [real_recordings() / "gait"]:
        for path in walks_below(folder):
            name = str(path.relative_to(folder))
            try:
                fitted, static = kept(path, "trial"), kept(path, "none")
            except BiodynError as error:
                table.row(name, error)
                continue
            row = compared(fitted, static, list(variants.values()), arguments.opensim, arguments.model)
            for key, values in ratios.items():
                values.append(row.ratio(key))
            table.row(name, *row.cells())
    tell()
    for key, values in ratios.items():
        tell(f"{key} / OpenSim (the better of its runs): median {np.median(values):.2f}, {min(values):.2f} to {max(values):.2f}, lower on {sum(v < 1 for v in values)} of {len(values)} walks")
        record.add(f"{key} / OpenSim, median", float(np.median(values)), "times")
    record.add("whole run", watch.seconds)
    record.close()


def kept(path: Path, fit: str) -> Kept:
    """Analyse a walk as far as torques and keep what its skeleton was fitted to."""
    states: list[TrialState] = []

    def keeping(trial: TrialState) -> None:
        inverse_kinematics(trial)
        states.append(trial)

    analysis = analyse_trial(
        path, settings={"model": {"fit": fit}}, steps=with_step(STEPS, "inverse kinematics", keeping), torques_only=True
    )
    markers, found = states[0].signals.markers, analysis.fit
    at = [markers.labels.index(label) for label in found.labels]
    return Kept(states[0], found.labels, markers.positions[:, at], found.marker_error)


@dataclass(frozen=True)
class Compared:
    """RMS in mm by what fitted it, over all markers and over those of pelvis and legs."""

    markers: int
    frames: int
    opensim: tuple[tuple[float, float], ...]
    static: tuple[float, float]
    fitted: tuple[float, float]

    def ratio(self, key: str) -> float:
        part = 1 if key.startswith("legs") else 0
        mine = self.static if key.endswith("static") else self.fitted
        return mine[part] / min(errors[part] for errors in self.opensim)

    def cells(self) -> Iterable[object]:
        yield from (self.markers, self.frames)
        yield from (f"{errors[0]:.1f}" for errors in self.opensim)
        yield from (f"{self.static[0]:.1f}", f"{self.fitted[0]:.1f}", f"{self.ratio('biodyn'):.2f}")
        yield f"{min(errors[1] for errors in self.opensim):.1f} / {self.static[1]:.1f} / {self.fitted[1]:.1f}"


def compared(fitted: Kept, static: Kept, variants: list[tuple[bool, bool]], python: str, model: str) -> Compared:
    """Run OpenSim on what biodyn was given, and judge all by the markers and frames that all have."""
    labels = [label for label in fitted.labels if label in static.labels]
    mine = [kept.errors_m[:, [kept.labels.index(label) for label in labels]] for kept in (static, fitted)]
    theirs = []
    for with_centres, clamped in variants:
        found, places = opensim_places(static, labels, with_centres, clamped, python, model)
        error = np.full(mine[0].shape, np.nan)
        for column, label in enumerate(labels):
            if label in found:
                true = static.walk[:, static.labels.index(label)]
                error[:, column] = np.linalg.norm(places[:, found.index(label)] - true, axis=1)
        theirs.append(error)
    seen = np.all([np.isfinite(error) for error in (*mine, *theirs)], axis=0)
    body = {marker.label: marker.body for marker in static.trial.model.markers}
    legs = np.array([body[label].split("_")[0] in ("pelvis", "femur", "tibia", "calcn") for label in labels])

    def told(error: FloatArray) -> tuple[float, float]:
        return _rms_mm(error[seen]), _rms_mm(error[:, legs][seen[:, legs]])

    return Compared(
        int(seen.any(axis=0).sum()), int(seen.any(axis=1).sum()), tuple(map(told, theirs)), told(mine[0]), told(mine[1])
    )


def _rms_mm(errors_m: FloatArray) -> float:
    return 1000.0 * float(np.sqrt(np.mean(errors_m**2)))


def opensim_places(
    kept: Kept, labels: list[str], with_centres: bool, clamped: bool, python: str, model: str
) -> tuple[list[str], FloatArray]:
    """Return the labels that OpenSim fitted and where its model has them, (T, M, 3) m."""
    task, static = task_of(kept, labels, with_centres, clamped)
    task["model"] = str(Path(model).resolve()) if model else ""
    walk = kept.walk[:, [kept.labels.index(label) for label in task["walk_labels"]]]
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "task.json").write_text(json.dumps(task))
        np.savez(Path(folder) / "task.npz", walk=walk, static=static)
        script = Path(__file__).with_name("opensim_fit.py")
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        done = subprocess.run(
            [python, str(script), folder], cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode:
            sys.exit(f"OpenSim stopped: {done.stderr.strip() or done.stdout.strip()}")
        found = np.load(Path(folder) / "fitted.npz")
        return [str(label) for label in found["labels"]], found["places"]


def task_of(kept: Kept, labels: list[str], with_centres: bool, clamped: bool) -> tuple[dict[str, Any], FloatArray]:
    """What OpenSim is asked to do, and the standing points (M, 3) m."""
    trial = kept.trial
    landmark = {role.label: role.landmark for role in trial.mapping.roles}
    segment = {role.label: role.body for role in trial.mapping.roles}
    segment |= {marker.label: marker.body for marker in trial.model.markers}
    points = dict(trial.standing.points)
    markers = [
        _marker(label, landmark.get(label, ""), segment[label], label in labels)
        for label in points
        if label in labels or landmark.get(label, "").rpartition("_")[0] in ("knee_medial", "ankle_medial")
    ]
    named = {landmark[label]: label for label in points if landmark.get(label)}
    if with_centres:
        figure = StaticFigure.of(trial.scaling.model()[0])
        for side in "rl":
            for joint, name, body in (("hip", "femur", "femur"), ("knee", "tibia", "tibia"), ("ankle", "calcn", "talus")):
                label = f"centre_of_{joint}_{side}"
                points[label] = figure.p_WB[f"{name}_{side}"]
                named[f"{joint}_{side}"] = label
                markers.append(
                    {"label": label, "body": f"{body}_{side}", "generic_m": (0.0, 0.0, 0.0), "static_weight": 1.0}
                )
    static_labels = [marker["label"] for marker in markers]
    task = {
        "markers": markers,
        "measures": list(_measures(named, set(static_labels))),
        "static_labels": static_labels,
        "walk_labels": [label for label in labels if label in static_labels],
        "rate_hz": trial.rate_hz,
        "mass_kg": trial.mass_kg or 70.0,
        "clamped": clamped,
    }
    return task, np.array([points[label] for label in static_labels])


def _marker(label: str, landmark: str, segment: str, moving: bool) -> dict[str, Any]:
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
    for name, bodies, axes, choices in MEASURES:
        for side in "rl" if "{s}" in name else ("",):
            for pairs in choices:
                asked = [tuple(named.get(mark.format(s=side), "") for mark in pair) for pair in pairs]
                found = [pair for pair in asked if there.issuperset(pair)]
                if found:
                    yield {
                        "name": name.format(s=side),
                        "bodies": [body.format(s=side) for body in bodies],
                        "axes": list(axes),
                        "pairs": found,
                    }
                    break


if __name__ == "__main__":
    main()
