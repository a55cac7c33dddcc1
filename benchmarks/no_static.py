"""Models without a static trial, against those with one and against the truth: `python benchmarks/no_static.py [FOLDER ...]`.

Simulated people (1.1 to 2.0 m, wands off by 8 degrees, markers by 3.5 mm along each axis, hips off by the error of a regression,
skin that moves): joint centres against the true ones, and how much of the torques' difference from the truth the bands hold.
Real walks: every one with its static trial, with nothing but itself, and with nothing but itself and no stored joint offsets.
The numbers of what is assumed (joint_offsets.toml, magnitudes.toml) were looked for on the first seeds; other seeds report.
"""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from common import RECORDED, Record, Stopwatch, files_below, parser_of, recordings_at_hand
from simulator import Person, SimulatedTrial, simulate_trial, solve_walk, write_c3d
from simulator.uncertain import covered
from simulator.wands import Placement, worn_by
from support.several import read_many

from biodyn.analysis import TrialAnalysis
from biodyn.conventions import FloatArray
from biodyn.errors import BiodynError
from biodyn.model.body_model import SubjectModel
from biodyn.recording import Recording
from biodyn.rigid_body import body_poses
from biodyn.session import typical_motion_m
from biodyn.trial.run import analyse_trial
from biodyn.trial.trial_files import NO_STATIC, TrialFiles, read_files

JOINTS = {"hip": "femur", "knee": "tibia", "ankle": "calcn"}
MOMENTS = ("hip_flexion", "hip_adduction", "hip_rotation", "knee_angle", "ankle_angle")
HEIGHTS_M = (1.1, 1.25, 1.4, 1.55, 1.7, 1.8, 1.9, 2.0)
_WALKING_M = 0.3

Centres = Mapping[str, FloatArray]


def main() -> None:
    """Print both tables."""
    parser = parser_of(__doc__, folders=True, seed=101, count=8)
    parser.add_argument("--wand-deg", type=float, default=Placement.wand_deg)
    parser.add_argument("--landmark-mm", type=float, default=1e3 * Placement.landmark_m)
    arguments = parser.parse_args()
    asked = {name: value for name, value in vars(arguments).items() if name != "folders"}
    record, watch = Record("no_static", asked), Stopwatch()
    placement = Placement(1e-3 * arguments.landmark_mm, arguments.wand_deg)
    show_simulated(range(arguments.seed, arguments.seed + arguments.count), placement, record)
    show_real(files_below(*(arguments.folders or recordings_at_hand())), record)
    record.add("whole run", watch.seconds)
    record.close()


# -- simulated people ---------------------------------------------------------------------------------------------------


def show_simulated(seeds: range, placement: Placement, record: Record) -> None:
    """Joint centres against the true ones, torques and bands, with and without the static trial."""
    errors: dict[tuple[str, str], list[float]] = defaultdict(list)
    for seed in seeds:
        with tempfile.TemporaryDirectory() as name:
            truth, walk, static = recorded(seed, placement, Path(name))
            for way, source in (("static", static), ("none", NO_STATIC)):
                for key, value in _errors(analyse_trial(walk, source), truth).items():
                    errors[way, key].append(value)
        print(f"seed {seed}, {truth.body.person.height_m:.2f} m: {_line(errors)}")
    print("\nsimulated, RMS over people: joint centres mm, torques Nm/kg, share of frames inside the 95 % bands")
    for (way, key), values in sorted(errors.items()):
        many = np.array(values)
        total = float(many.mean()) if key.startswith("inside") else float(np.sqrt(np.mean(many**2)))
        print(f"{way:7s} {key:24s} {total:8.3f}   largest {many.max():8.3f}")
        record.add(f"simulated, {way}: {key}", total, "")


def recorded(seed: int, placement: Placement, folder: Path) -> tuple[SimulatedTrial, Path, Path]:
    """One person's truth, walk and static trial; everything follows from the seed."""
    rng = np.random.default_rng(seed)
    height = HEIGHTS_M[seed % len(HEIGHTS_M)]
    person = Person(
        f"Person{seed}",
        height_m=height,
        mass_kg=float(rng.normal(22.0, 2.0)) * height**2,
        sex="mean",
        leg_length=float(rng.normal(1.0, 0.03)),
        breadth=float(rng.normal(1.0, 0.06)),
    )
    options = replace(
        RECORDED, speed_m_s=0.95 * float(np.sqrt(height)), stride_s=0.83 * float(np.sqrt(height)), seed=seed
    )
    walk = solve_walk(worn_by(person, placement, rng), options.speed_m_s, options.stride_s)
    trials = {kind: simulate_trial(person, options, kind, walk) for kind in ("walk", "static")}
    for kind, trial in trials.items():
        write_c3d(folder / f"{kind}.c3d", trial)
    return trials["walk"], folder / "walk.c3d", folder / "static.c3d"


def _errors(analysis: TrialAnalysis, truth: SimulatedTrial) -> dict[str, float]:
    found = {
        f"centre {joint}": 1e3 * rms(np.linalg.norm(own - true, axis=-1))
        for joint, own, true in _pairs(centres_of(analysis.model, analysis.fit.motion.q), _true_centres(truth))
    }
    uncertainty = analysis.uncertainty
    assert uncertainty is not None
    mass_kg = truth.body.person.mass_kg
    names = [coordinate.name for coordinate in analysis.model.coordinates]
    for moment in MOMENTS:
        off, inside = [], []
        for side in "rl":
            column = names.index(f"{moment}_{side}")
            error = (
                analysis.dynamics.torques[:, column] - truth.tau[:, truth.body.model.coordinate(names[column]).v_index]
            )
            known = np.isfinite(error)
            off.append(error[known])
            inside.append(covered(error[known], uncertainty.total[known, column]))
        found[f"torque {moment}"] = rms(np.concatenate(off)) / mass_kg
        found[f"inside {moment}"] = float(np.concatenate(inside).mean())
    return found


def _true_centres(truth: SimulatedTrial) -> Centres:
    return centres_of(truth.body.model, truth.q)


def _line(errors: Mapping[tuple[str, str], list[float]]) -> str:
    return ", ".join(
        f"{way} {joint} {errors[way, f'centre {joint}'][-1]:.1f}" for way in ("static", "none") for joint in JOINTS
    )


# -- real walks ---------------------------------------------------------------------------------------------------------


def show_real(files: Sequence[Path], record: Record) -> None:
    """Every walk without its static trial against the same walk with it."""
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    for path, read in zip(files, read_many(files), strict=True):
        if not isinstance(read, Recording) or not read.plates or typical_motion_m(read.markers) < _WALKING_M:
            continue
        try:
            reference = analyse_trial(path, torques_only=True)
        except BiodynError as error:
            print(f"{path.name}: {error}")
            continue
        if reference.static.source != "static trial":
            continue
        for way, alone in _without(path):
            other = analyse_trial(path, torques_only=True, files=alone)
            row = _differences(reference, other)
            print(f"{path.name:28s} {way:16s} " + ", ".join(f"{key} {value:.3g}" for key, value in row.items()))
            for key, value in row.items():
                found[way, key].append(value)
    print("\nreal walks, RMS over walks: joint centres mm from those with the static trial, torques Nm/kg")
    for (way, key), values in sorted(found.items()):
        many = np.array(values)
        print(f"{way:16s} {key:24s} {rms(many):8.3f}   median {np.median(many):8.3f}   largest {many.max():8.3f}")
        record.add(f"real, {way}: {key}", rms(many), "")


def _without(path: Path) -> Iterator[tuple[str, TrialFiles]]:
    """The walk alone: with what its file stores, and without the joint offsets."""
    files = read_files(path, NO_STATIC)
    measures = files.walk.subject.measures
    bare = {name: value for name, value in measures.items() if not name.startswith(_OFFSETS)}
    if any(name.startswith("thigh_rotation") for name in measures):
        yield "stored offsets", files
    walk = replace(files.walk, subject=replace(files.walk.subject, measures=bare))
    yield "walk", replace(files, walk=walk, static=walk)


_OFFSETS = ("thigh_rotation", "shank_rotation", "tibial_torsion", "ankle_abduction", "static_")


def _differences(reference: TrialAnalysis, other: TrialAnalysis) -> dict[str, float]:
    ours = centres_of(other.model, other.fit.motion.q)
    theirs = centres_of(reference.model, reference.fit.motion.q)
    row = {f"centre {joint}": 1e3 * rms(np.linalg.norm(a - b, axis=-1)) for joint, a, b in _pairs(ours, theirs)}
    names = [[c.name for c in analysis.model.coordinates] for analysis in (reference, other)]
    for moment in MOMENTS:
        sides = [f"{moment}_{side}" for side in "rl" if all(f"{moment}_{side}" in own for own in names)]
        error = [
            other.dynamics.torques[:, names[1].index(name)] - reference.dynamics.torques[:, names[0].index(name)]
            for name in sides
        ]
        row[f"torque {moment}"] = rms(np.concatenate(error)) / reference.subject.mass_kg if error else float("nan")
    row["marker mm"] = 1e3 * rms(other.fit.marker_error)
    row["marker mm, static"] = 1e3 * rms(reference.fit.marker_error)
    return row


# -- pieces -------------------------------------------------------------------------------------------------------------


def centres_of(model: SubjectModel, q: FloatArray) -> dict[str, FloatArray]:
    """Joint centres (T, 3) m of both legs in World, by segment beyond the joint."""
    R, p = body_poses(model.multibody, q)
    names = [f"{segment}_{side}" for segment in JOINTS.values() for side in "rl"]
    return {name: model.body_poses(R, p, name)[1] for name in names}


def _pairs(ours: Centres, theirs: Centres) -> Iterator[tuple[str, FloatArray, FloatArray]]:
    for joint, segment in JOINTS.items():
        names = [f"{segment}_{side}" for side in "rl"]
        yield joint, np.stack([ours[name] for name in names]), np.stack([theirs[name] for name in names])


def rms(values: FloatArray) -> float:
    """Root mean square of what is known."""
    return float(np.sqrt(np.nanmean(np.square(values))))


if __name__ == "__main__":
    main()
