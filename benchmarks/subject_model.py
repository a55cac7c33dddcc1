"""How near joint centres come to the truth of simulated people: `python benchmarks/subject_model.py [--count 30] [--seed 3000]`.

People of 1.1-2.0 m whose hips lie beside the regression (with the marker placement its published error against CT: 12.3 +-
5.9 mm), with legs of unequal length, markers 1 cm (RMS) beside their landmarks and skin that moves with the joints, most on
the thigh, partly all markers of a segment together. Seen in a static trial and one walk; in five walks at 1.0-1.6 m/s; in these
and functional trials of both legs (star and arc of the hip, flexion of the knee). Errors of the hip, knee and ankle centres
(distance in the standing person) of the static trial alone, and of the fitted model; how they compare with the standard
deviations that the fit states; marker errors; seconds.

Then the bound: what is left to an estimator who knows everything of how these people are made but the draws themselves, the
directions and shapes of the skin's movement among them (`support.centre_bound`). Then, with BIODYN_TEST_DATA, two published
OpenSim models whose joint centres are known.

The priors in library/body/subject_fit.toml were chosen on seeds below 1000; the default reports others.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
from common import Record, Stopwatch, Table, parser_of, tell
from simulator.wearing import Scatter, Worn
from support.centre_bound import centre_bound
from support.people import JOINTS, RATE_HZ, SPEEDS, errors_m, functional_of, person_of, scaling_of

from biodyn.conventions import FloatArray
from biodyn.geometry.points import rigid_fit
from biodyn.io.recording_reader import read
from biodyn.model.body_model import StaticFigure, SubjectModel
from biodyn.model.from_library.markersets import recognise_marker_set
from biodyn.model.from_library.scaling import ScalingOptions, SubjectScaling
from biodyn.model.from_library.skeleton_recipes import load_skeleton
from biodyn.processing.calibration.subject_fit.subject_model_fit import fit_subject
from biodyn.processing.calibration.subject_fit.unknowns import CalibrationTrial, CalibrationUse
from biodyn.recording import Markers

SETS = (("plug_in_gait_lower", "lower_limb"), ("plug_in_gait_full", "full_body"))
SEEN = ("one walk", "five walks", "five walks, functional")
_BOUND_PEOPLE = 4


def main() -> None:
    parser = parser_of(__doc__, count=30, seed=3000, only="")
    parser.add_argument("--skin", type=float, default=1.0, help="size of the skin's movement")
    arguments = parser.parse_args()
    record = Record("subject_model", vars(arguments))
    scatter = Scatter(skin=arguments.skin)
    seeds = range(arguments.seed, arguments.seed + arguments.count)
    table = Table(("marker set", "seen", "joint", "static: RMS mm", "fitted: RMS mm", "95 % mm", "error / stated SD"))
    for marker_set in SETS:
        if arguments.only in marker_set[0]:
            people = [_Person.seen(seed, marker_set, scatter) for seed in seeds]
            for seen in SEEN:
                _report(table, record, marker_set[0], seen, people)
    tell()
    bounds = Table(("marker set", "seen", "joint", "bound: RMS mm", "forward, up, sideways"))
    for seen in (SEEN[0], SEEN[2]):
        found = [centre_bound(seed, *SETS[0], scatter, seen == SEEN[2]) for seed in seeds[:_BOUND_PEOPLE]]
        for joint, segment in JOINTS.items():
            axes = np.sqrt(np.mean([np.square(one[f"{segment}_{side}"]) for one in found for side in "rl"], axis=0))
            whole = 1e3 * float(np.linalg.norm(axes))
            bounds.row(SETS[0][0], seen, joint, f"{whole:.1f}", ", ".join(f"{1e3 * value:.1f}" for value in axes))
            record.add(f"{seen}: {joint} centre, bound", whole, "mm")
    models = Path(os.environ.get("BIODYN_TEST_DATA", ".")) / "opensim" / "arnold2013_synthetic"
    if models.is_dir():
        tell()
        published_models(models, record)
    record.close()


@dataclass(frozen=True)
class _Person:
    """A simulated person with the model of the static trial, and all that was seen."""

    person: Worn
    scaling: SubjectScaling
    model: SubjectModel
    trials: Mapping[str, list[CalibrationTrial]]

    @classmethod
    def seen(cls, seed: int, marker_set: tuple[str, str], scatter: Scatter) -> _Person:
        walks = [person_of(seed, *marker_set, scatter, pace) for pace in range(len(SPEEDS))]
        walked = [_trial(walk, "walk") for walk in walks]
        moved = [_trial(one, "functional") for one in functional_of(seed, *marker_set, scatter)]
        trials = dict(zip(SEEN, (walked[:1], walked, walked + moved), strict=True))
        scaling = scaling_of(walks[0])
        return cls(walks[0], scaling, scaling.model()[0], trials)


def _trial(person: Worn, use: CalibrationUse) -> CalibrationTrial:
    return CalibrationTrial(Markers(person.labels, person.markers, RATE_HZ), use=use)


def _report(table: Table, record: Record, marker_set: str, seen: str, people: list[_Person]) -> None:
    before, after, ratio = defaultdict(list), defaultdict(list), defaultdict(list)
    marker_mm, seconds = [], []
    for one in people:
        soft = frozenset(role.label for role in one.scaling.mapping.roles if role.soft)
        watch = Stopwatch()
        found = fit_subject(one.trials[seen], one.model, one.scaling, soft)
        seconds.append(watch.seconds)
        assert found is not None
        fitted, result = found.model, found
        static = StaticFigure.from_model(one.model)
        start, end = errors_m(static, one.person), errors_m(StaticFigure.from_model(fitted), one.person)
        for joint, segment in JOINTS.items():
            for name in (f"{segment}_r", f"{segment}_l"):
                before[joint].append(start[name])
                after[joint].append(end[name])
                axes = static.R_WB[static.parent[name]]
                ratio[joint].append(axes.T @ end[name] / result.centre_sd_m()[name])
        marker_mm.append(1e3 * np.array([result.rms_before_m, result.rms_after_m]))
    for joint in JOINTS:
        size = 1e3 * np.linalg.norm(after[joint], axis=1)
        old = 1e3 * np.linalg.norm(before[joint], axis=1)
        axes = np.sqrt(np.mean(np.square(ratio[joint]), axis=0))
        table.row(
            marker_set,
            seen,
            joint,
            f"{np.sqrt(np.mean(old**2)):.1f}",
            f"{np.sqrt(np.mean(size**2)):.1f}",
            f"{np.percentile(size, 95):.1f}",
            "/".join(f"{value:.2f}" for value in axes),
        )
        record.add(f"{marker_set}, {seen}: {joint} centre, RMS", float(np.sqrt(np.mean(size**2))), "mm")
    mean = np.mean(marker_mm, axis=0)
    tell(f"{marker_set}, {seen}: marker RMS {mean[0]:.1f} -> {mean[1]:.1f} mm; fit {np.median(seconds):.2f} s (median)")
    record.add(f"{marker_set}, {seen}: fit, median", float(np.median(seconds)))


def true_centres(model_file: Path, points: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
    """Return (3,) m in World, by segment, the joint centres of an OpenSim model whose markers lie at `points` (3,) m.

    Its markers are fixed to its bodies, so three of a body give the body's pose; femur and tibia begin at hip and knee.
    """
    root = ElementTree.parse(model_file).getroot()
    own: dict[str, dict[str, FloatArray]] = defaultdict(dict)
    for marker in root.iter("Marker"):
        body = marker.findtext("socket_parent_frame", "").rpartition("/")[2]
        own[body][marker.get("name", "")] = np.array(marker.findtext("location", "").split(), dtype=float)
    found = {}
    for side in "rl":
        for body, segment in (("femur", "femur"), ("tibia", "tibia"), ("tibia", "calcn")):
            places = own[f"{body}_{side}"]
            labels = [label for label in places if label in points]
            R, p = rigid_fit(np.array([places[n] for n in labels]), np.array([points[n] for n in labels]))
            at = _ankle_in_tibia(root, side) if segment == "calcn" else np.zeros(3)
            found[f"{segment}_{side}"] = p + R @ at
    return found


def _ankle_in_tibia(root: ElementTree.Element, side: str) -> FloatArray:
    joint = next(j for j in root.iter("PinJoint") if j.get("name") == f"ankle_{side}")
    frame = next(
        f for f in joint.iter("PhysicalOffsetFrame") if f.findtext("socket_parent", "").endswith(f"tibia_{side}")
    )
    return np.array(frame.findtext("translation", "").split(), dtype=float)


def published_models(folder: Path, record: Record) -> None:
    """Models with known centres that walk (no static trial: the frame with the straightest legs stands for one)."""
    table = Table(("model", "joint", "static frame: mm", "fitted: mm"))
    for model_file in sorted(folder.glob("*/*.osim")):
        walk = next(model_file.parent.glob("trials/*/markers.trc"))
        markers = read(walk).markers
        keep = [i for i, label in enumerate(markers.labels) if not label.endswith("JC")]
        labels = tuple(markers.labels[i] for i in keep)
        positions = markers.positions[:, keep]
        standing = int(np.argmax(positions[:, labels.index("RASI"), 1] + positions[:, labels.index("LASI"), 1]))
        points = dict(zip(labels, positions[standing], strict=True))
        facts = json.loads((model_file.parent / "_subject.json").read_text())
        options = ScalingOptions(
            facts["massKg"], facts["heightM"], facts["sex"], {}, "de_leva_1996", "harrington_2007", 0.007, False
        )
        scaling = SubjectScaling(
            load_skeleton("full_body"), recognise_marker_set(labels), points, frozenset(labels), options
        )
        start, _ = scaling.model()
        found = fit_subject([CalibrationTrial(Markers(labels, positions, markers.rate_hz))], start, scaling)
        assert found is not None
        true = true_centres(model_file, points)
        for joint, segment in JOINTS.items():
            sizes = []
            for model in (start, found.model):
                at = StaticFigure.from_model(model).p_WB
                error = [1e3 * np.linalg.norm(at[f"{segment}_{side}"] - true[f"{segment}_{side}"]) for side in "rl"]
                sizes.append(" / ".join(f"{value:.1f}" for value in error))
                if model is found.model:
                    record.add(f"{model_file.stem}: {joint} centre, worse side", max(error), "mm")
            table.row(model_file.stem, joint, *sizes)
        tell(f"{model_file.stem}: marker RMS {1e3 * found.rms_before_m:.1f} -> {1e3 * found.rms_after_m:.1f} mm")


if __name__ == "__main__":
    main()
