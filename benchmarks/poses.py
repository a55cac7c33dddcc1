"""From measured poses to torques: `python benchmarks/poses.py [--seeds 20]`

The same motion once as markers and once as poses: are the torques the same? Poses as a file holds them: are the angles those of
a direct decomposition of its matrices? Simulated people whose measured poses err by 3 degrees and 15 mm, whose masses and plates
differ from what the analysis believes: how often is the true torque inside the 95 % band?
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from importlib import resources
from pathlib import Path

import ezc3d
import numpy as np
from common import Record, parser_of, someone, tell
from common.coverage import Rows, add_covered, print_covered, share_covered
from simulator import Person, TrialOptions
from simulator.files import write_c3d
from simulator.person import embody
from simulator.poses import PoseNoise, true_poses, with_errors, write_pose_c3d
from simulator.repeated_errors import drawn_inertias
from simulator.trial import SimulatedTrial, session, simulate_trial
from simulator.uncertain import misplaced
from simulator.walking import solve_walk
from support.poses import files_of_its_poses, with_its_segments

from biodyn.library.pose_systems import pose_systems
from biodyn.output.tables.time_series import pose_angles_table
from biodyn.trial.run import analyse_trial
from biodyn.uncertainty.propagation_inputs import Magnitudes, load_magnitudes

_THEIA = pose_systems()[0]
_EXACT = {
    "signals": {"cutoff_hz": 0.0},
    "uncertainty": {"compute": False},
    "model": {"fit": "none"},
}
_TURN_RAD, _ORIGIN_M = float(np.deg2rad(3.0)), 0.015
_LEGS = ("hip", "knee", "ankle", "subtalar")
#: What the measured poses err by: as the table of magnitudes divides it, nothing but an offset, and from frame to frame.
NOISES: Mapping[str, PoseNoise] = {
    "as the table divides it": PoseNoise(_ORIGIN_M, _TURN_RAD, load_magnitudes().pose_shares, 3e-4, 1e-3),
    "offsets alone": PoseNoise(_ORIGIN_M, _TURN_RAD, (1.0,), 3e-4, 1e-3),
    "white noise": PoseNoise(white_m=_ORIGIN_M, white_rad=_TURN_RAD),
}


def same_torques(record: Record) -> None:
    """Print the largest difference between the torques of markers and those of the poses that they were fitted by."""
    static, walk = session(Person("Same", 1.75, 72.0, "male"), TrialOptions())
    with tempfile.TemporaryDirectory() as folder:
        for trial, name in ((walk, "walk.c3d"), (static, "static.c3d")):
            write_c3d(Path(folder) / name, trial)
        markers = analyse_trial(
            Path(folder) / "walk.c3d", Path(folder) / "static.c3d", settings=_EXACT, torques_only=True
        )
        files = files_of_its_poses(markers)
        path = Path(folder) / "walk.c3d"
        poses = analyse_trial(path, files=files, settings=_EXACT, torques_only=True, steps=with_its_segments(markers))
    difference = np.nanmax(np.abs(poses.dynamics.torques - markers.dynamics.torques))
    tell(f"torques of poses against those of markers: {difference:.1e} Nm at most")
    record.add("largest difference of torques, poses against markers", float(difference), "Nm")


def decomposition(record: Record) -> None:
    """Print the largest difference between the table of angles and a decomposition of the matrices that ezc3d reads."""
    _, walk = session(Person("Angles", 1.75, 72.0, "male"), TrialOptions())
    rng = np.random.default_rng(3)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "poses.c3d"
        write_pose_c3d(path, walk, with_errors(true_poses(walk, _THEIA), NOISES["as the table divides it"], 1.1, rng))
        analysis = analyse_trial(path, settings=_EXACT, torques_only=True)
        file = ezc3d.c3d(str(path))
    table, labels = pose_angles_table(analysis), file["parameters"]["ROTATION"]["LABELS"]["value"]
    matrices = file["data"]["rotations"].transpose(3, 2, 0, 1)
    worst = 0.0
    for side, sign in (("r", 1.0), ("l", -1.0)):
        thigh, pelvis = (matrices[:, labels.index(name), :3, :3] for name in (f"{side}_thigh_4X4", "pelvis_4X4"))
        # Theia3D: x right, y forward, z up. Flexion about right, then adduction about forward, then rotation about up.
        R = np.swapaxes(pelvis, 1, 2) @ thigh
        angles = {
            "flexion": np.arctan2(-R[:, 1, 2], R[:, 2, 2]),
            "adduction": sign * np.arcsin(R[:, 0, 2]),
            "rotation": sign * np.arctan2(-R[:, 0, 1], R[:, 0, 0]),
        }
        for name, angle in angles.items():
            worst = max(worst, float(np.abs(table[f"hip_{name}_{side}_deg"] - np.rad2deg(angle)).max()))
    tell(f"angles of the hips against a decomposition of ezc3d's matrices: {worst:.1e} degrees at most")
    record.add("largest difference of angles", worst, "deg")


def recorded(
    person: Person, options: TrialOptions, noise: PoseNoise, magnitudes: Magnitudes, path: Path
) -> SimulatedTrial:
    """Write the poses of a person whose masses and plates are not as believed, and return the truth."""
    rng = np.random.default_rng([options.seed, 4])
    body = embody(person)
    body = replace(body, model=drawn_inertias(body.model, magnitudes, rng))
    truth = simulate_trial(person, options, "walk", solve_walk(body, options.speed_m_s, options.stride_s))
    shifts = magnitudes.centre_of_pressure_m * rng.normal(size=(len(truth.plates), 2))
    plates = tuple(misplaced(p, float(x), float(z)) for p, (x, z) in zip(truth.plates, shifts, strict=True))
    poses = with_errors(true_poses(truth, _THEIA), noise, options.stride_s, rng)
    write_pose_c3d(path, replace(truth, plates=plates), poses)
    return truth


def _table_with(noise: PoseNoise) -> str:
    """Return the library's table of magnitudes with the size of these errors."""
    text = resources.files("biodyn.library").joinpath("uncertainty/magnitudes.toml").read_text(encoding="utf-8")
    before, section, after = text.partition("[pose_errors]")
    after = re.sub(r"(?m)^origin_mm = .*$", f"origin_mm = {1e3 * noise.origin_m}", after, count=1)
    return (
        before
        + section
        + re.sub(r"(?m)^turn_deg = .*$", f"turn_deg = {float(np.rad2deg(noise.turn_rad))}", after, count=1)
    )


def coverage(title: str, noise: PoseNoise, seeds: int, first: int, record: Record) -> None:
    """Print how often the true torque lies in the 95 % band, one row per kind of coordinate, over all frames of all people."""
    magnitudes = load_magnitudes()
    rows: Rows = {}
    for seed in range(first, first + seeds):
        person, options = someone(seed)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "poses.c3d"
            truth = recorded(person, options, noise, magnitudes, path)
            table = Path(folder) / "magnitudes.toml"
            table.write_text(_table_with(noise), encoding="utf-8")
            analysis = analyse_trial(path, settings={"uncertainty": {"magnitudes": str(table)}})
        add_covered(rows, analysis, truth)
    print(f"\n{title}: true torque inside the 95 % band, {seeds} people (seeds {first} to {first + seeds - 1})")
    print_covered(rows)
    for which, chosen in (
        ("legs", [row for name, found in rows.items() if name.startswith(_LEGS) for row in found]),
        ("all", [row for found in rows.values() for row in found]),
    ):
        share = share_covered(chosen)
        tell(f"{title}, {which}: {share:.1f} %")
        record.add(f"{title}: true torque inside the band, {which}", share, "% of the frames, 95 expected")


def main() -> None:
    """Run all."""
    parser = parser_of(__doc__, seeds=20)
    parser.add_argument("--first", type=int, default=20001, help="first seed of the people of --seeds")
    parser.add_argument("--noise", choices=[*NOISES], help="this one alone")
    arguments = parser.parse_args()
    record = Record("poses", vars(arguments))
    same_torques(record)
    decomposition(record)
    for title, noise in NOISES.items():
        if arguments.seeds and arguments.noise in (None, title):
            coverage(title, noise, arguments.seeds, arguments.first, record)
    record.close()


if __name__ == "__main__":
    main()
