"""Do several walks of a session tell more of the body and the plates than one? `python benchmarks/session_estimate.py`.

A simulated person (`rough_walks.py`) walks several times over the same plates, which stand elsewhere than in the file and read
too much or too little. The first walk is analysed on the model of the session, with what is constant found from itself alone and
from all walks. A row each: error of the plates' places and gains, of the trunk's mass centre (of its mean place in the
laboratory), and of the torques.
"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
from common import Record, Table, parser_of, tell
from rough_walks import TORQUES, errors, rms, series_of, true_series
from simulator.files import write_c3d
from simulator.rough import drawn_strike, with_impacts
from simulator.rough_walks import RoughRecording, class_of, rough_recording
from simulator.styles import style_of
from simulator.trial import simulate_trial
from simulator.walking import Walk, solve_walk

from biodyn.analysis import TrialAnalysis
from biodyn.conventions import FloatArray
from biodyn.model.body_model import SubjectModel
from biodyn.rigid_body import body_poses
from biodyn.trial.run import analyse_trial

# Speeds against the first walk's; strides are as long, so that the plates stay where they are.
FASTER = (1.0, 0.96, 1.04, 0.92, 1.08)
_ITERATIONS = 20


def session_of(seed: int, walks: int) -> list[RoughRecording]:
    """Return walks of one person over the same plates."""
    first = rough_recording(class_of(seed), seed)
    motion, options = first.motion, first.truth.options
    assert isinstance(motion, Walk)
    found = [first]
    for number, factor in enumerate(FASTER[1:walks], start=1):
        speed, stride = factor * options.speed_m_s, options.stride_s / factor
        smooth = solve_walk(motion.body, speed, stride, _ITERATIONS, style=style_of("usual", speed))
        other = with_impacts(smooth, drawn_strike(seed + 1000 * number))
        own = replace(options, speed_m_s=speed, stride_s=stride, plates=first.truth.plates)
        truth = simulate_trial(motion.body.person, own, "walk", other)
        found.append(replace(first, motion=other, truth=truth))
    return found


def write(recordings: list[RoughRecording], folder: Path) -> list[Path]:
    """Write the walks and the static trial of the first."""
    first = recordings[0]
    write_c3d(folder / "static.c3d", replace(first.static, plates=first.filed), events=False)
    paths = []
    for number, recording in enumerate(recordings):
        paths.append(folder / f"walk{number + 1:02d}.c3d")
        write_c3d(paths[-1], replace(recording.truth, plates=first.filed), events=False)
    return paths


def trunk_centre(model: SubjectModel, q: FloatArray) -> FloatArray:
    """Place (T, 3) of the mass centre of the heaviest segment."""
    body = max(model.bodies, key=lambda one: one.inertia.mass)
    R, p = body_poses(model.multibody, q)
    R_WB, p_WB = model.body_poses(R, p, body.definition.name)
    return np.asarray(p_WB + R_WB @ body.inertia.com)


def measured(analysis: TrialAnalysis, recording: RoughRecording) -> list[float]:
    """Errors: place of the plates, mm, gain, %, trunk's mass centre, mm, the torques, Nm/kg."""
    account, truth = analysis.estimate, recording.truth
    assert account is not None
    gains = truth.options.force_gain * np.random.default_rng([truth.options.seed, 17]).normal(size=len(truth.plates))
    place, gain = [], []
    for error in account.plates.errors:
        true, filed = (plates[error.number - 1].corners_W[0] for plates in (truth.plates, recording.filed))
        axes_W = analysis.R_WL[:, ["xyz".index(axis) for axis in account.plates.axes]].T
        place += (error.shift_m - axes_W @ (true - filed)).tolist()
        gain.append(error.gain - gains[error.number - 1])
    apart = trunk_centre(analysis.model, analysis.fit.motion.q) - trunk_centre(truth.body.model, truth.q)
    mass = truth.body.person.mass_kg
    found, wanted = series_of(analysis, mass), true_series(recording)
    known = {name: np.isfinite(values) for name, values in found.torque.items() if name in wanted.torque}
    by_torque = errors(found, wanted, known)
    return [
        1e3 * float(np.sqrt(np.mean(np.square(place)))),
        1e2 * float(np.sqrt(np.mean(np.square(gain)))),
        1e3 * float(np.linalg.norm(np.nanmean(apart, axis=0))),
        *(rms([by_torque[torque]]) for torque in TORQUES),
    ]


def main() -> None:
    """Print a row for every number of walks."""
    parser = parser_of(__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=[101, 106, 110], help="people")
    parser.add_argument("--walks", type=int, default=5, help="of the session, at most 5")
    arguments = parser.parse_args()
    record = Record("session_estimate", vars(arguments))
    heads = ["person", "walks", "place mm", "gain %", "trunk mm", *TORQUES]
    table, sums = Table(heads), dict[int, list[list[float]]]()
    for seed in arguments.seeds:
        with tempfile.TemporaryDirectory() as name:
            recordings = session_of(seed, arguments.walks)
            paths = write(recordings, Path(name))
            for together in (False, True):
                settings = {
                    "signals": {"method": "estimate"},
                    "model": {"fit": "session"},
                    "estimation": {"session": together},
                }
                analysis = analyse_trial(
                    paths[0],
                    Path(name) / "static.c3d",
                    settings=settings,
                    torques_only=True,
                    companions=paths[1:],
                )
                row = measured(analysis, recordings[0])
                assert analysis.estimate is not None
                walks = analysis.estimate.walks
                table.row(f"{seed} {recordings[0].name}", str(walks), *(f"{value:.3f}" for value in row))
                sums.setdefault(walks, []).append(row)
    for walks, rows in sums.items():
        mean = np.mean(rows, axis=0)
        tell(f"{walks} walks: " + ", ".join(f"{head} {value:.3f}" for head, value in zip(heads[2:], mean, strict=True)))
        record.add(f"{walks} walks: place of the plates", float(mean[0]), "mm")
    record.close()


if __name__ == "__main__":
    main()
