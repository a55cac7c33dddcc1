"""Do other laboratories' marker sets give true torques? `python benchmarks/marker_sets.py [--only cast,ior] [--classes smooth]`.

Simulated people walk in Plug-in Gait's markers and then, with the same bones, motion and forces, in every outfit of
`benchmarks/simulator/outfits.toml`: marker sets of the library and laboratories' own labels. Static trial and two walks of each
are written as C3D files and analysed without any settings. A row each: as what the markers were recognised; labels that were
given another landmark or segment than they have, or none; RMS error of the torques (Nm/kg, both sides and walks, frames that
biodyn calls valid) and its ratio to that of the same people in Plug-in Gait, full or lower body as the outfit has trunk
markers or not; RMS error of the joint centres, mm; verdicts.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from common import Record, Stopwatch, Table, parser_of, tell
from simulator.files import write_c3d
from simulator.outfits import load_outfit, outfit_names, patches
from simulator.rough_walks import RoughRecording, rough_recording
from simulator.trial import SimulatedTrial

from biodyn.analysis import TrialAnalysis
from biodyn.conventions import SIDES, FloatArray
from biodyn.errors import BiodynError
from biodyn.model.body_model import SubjectModel
from biodyn.rigid_body import body_poses
from biodyn.trial.run import analyse_trial

#: What an outfit is held against: the set that shows as much of the body.
WHOLE, LOWER = "plug_in_gait_full", "plug_in_gait_lower"
CLASSES = ("smooth", "usual_0_5_mm")
SEEDS = (40, 41, 42)
TORQUES = ("hip_flexion", "hip_adduction", "knee_angle", "ankle_angle")
CENTRES = {"hip": "femur", "knee": "tibia", "ankle": "calcn"}
_LATER_STRIDES = 0.3


@dataclass
class Tally:
    """What became of one outfit; squares: sum and number of squared errors by torque (Nm/kg) and joint centre (m)."""

    squares: dict[str, list[float]] = field(default_factory=dict)
    recognised: Counter[str] = field(default_factory=Counter)
    mistaken: Counter[str] = field(default_factory=Counter)
    verdicts: Counter[str] = field(default_factory=Counter)
    causes: Counter[str] = field(default_factory=Counter)

    def add(self, name: str, errors: FloatArray) -> None:
        """Add errors (F,)."""
        sums = self.squares.setdefault(name, [0.0, 0.0])
        sums[0] += float(np.sum(errors**2))
        sums[1] += errors.size

    def rms(self, name: str) -> float:
        """Root of the mean square."""
        total, count = self.squares.get(name, [0.0, 0.0])
        return float(np.sqrt(total / count)) if count else float("nan")


def session_of(recording: RoughRecording, outfit: str, kept: bool) -> list[RoughRecording]:
    """Return the two walks of a person in an outfit."""
    if outfit in (WHOLE, LOWER):
        options = replace(recording.truth.options, lead_in=recording.truth.options.lead_in - _LATER_STRIDES)
        worn = recording if outfit == WHOLE else recording.lower_body()
        return [worn, worn.recorded_again(options)]
    return [recording.wearing(outfit, kept=kept, later_strides=later) for later in (0.0, _LATER_STRIDES)]


def base_of(outfit: str) -> str:
    """Return what shows as much of the body as the outfit: the legs alone, or more."""
    if outfit in (WHOLE, LOWER):
        return outfit
    shown = {patch.body for patch in patches(load_outfit(outfit)).values()}
    return WHOLE if "torso" in shown else LOWER


def write(folder: Path, walks: Sequence[RoughRecording]) -> list[Path]:
    """Write static.c3d and the walks; return the walks' paths."""
    filed = [replace(walk.truth, plates=walk.filed) for walk in walks]
    write_c3d(folder / "static.c3d", replace(walks[0].static, plates=walks[0].filed), events=False)
    paths = []
    for number, trial in enumerate(filed, start=1):
        paths.append(folder / f"walk{number:02d}.c3d")
        write_c3d(paths[-1], trial, events=False)
    return paths


def measure(analysis: TrialAnalysis, truth: SimulatedTrial, tally: Tally) -> None:
    """Add the errors of one analysed walk."""
    mass_kg = truth.body.person.mass_kg
    true_of = {coordinate.name: coordinate for coordinate in truth.body.model.coordinates}
    for column, coordinate in enumerate(analysis.model.coordinates):
        base = coordinate.name.rpartition("_")[0]
        torque = analysis.dynamics.torques[:, column]
        valid = analysis.dynamics.torque_valid[:, column] & np.isfinite(torque)
        if base in TORQUES:
            tally.add(base, (torque[valid] - truth.tau[valid, true_of[coordinate.name].v_index]) / mass_kg)
    found, true = centres(analysis.model, analysis.fit.motion.q), centres(truth.body.model, truth.q)
    for joint, segment in CENTRES.items():
        for side in SIDES:
            name = f"{segment}_{side}"
            if name in found:
                away = (found[name] - true[name])[np.isfinite(found[name]).all(axis=1)]
                tally.add(joint, np.linalg.norm(away, axis=1))


def centres(model: SubjectModel, q: FloatArray) -> dict[str, FloatArray]:
    """Return the joint centre (T, 3) m of each segment to its parent."""
    R, p = body_poses(model.multibody, q)
    return {name: model.body_poses(R, p, name)[1] for name in model.frames}


def mistaken(analysis: TrialAnalysis, truth: SimulatedTrial) -> list[str]:
    """Labels that were given another landmark or segment than the markers have, or none."""
    sits, roles = truth.body.patches, {role.label: role for role in analysis.mapping.roles}
    worn = analysis.recording.markers.labels
    found = []
    for label, patch in sits.items():
        if label not in worn and label not in roles:
            continue
        role = roles.get(label)
        if role is None:
            found.append(f"{label} ?")
        elif role.body != patch.body or (role.landmark and role.landmark != patch.landmark):
            found.append(f"{label}: {role.landmark or role.body}")
    return found


def run(outfit: str, recordings: Sequence[RoughRecording], count: int, kept: bool) -> Tally:
    """Analyse everybody in one outfit."""
    tally = Tally()
    for recording in recordings:
        walks = session_of(recording, outfit, kept)[:count]
        with tempfile.TemporaryDirectory() as place:
            for path, walk in zip(write(Path(place), walks), walks, strict=True):
                try:
                    analysis = analyse_trial(path, settings={"uncertainty": {"compute": False}})
                except BiodynError as error:
                    tally.verdicts["refused"] += 1
                    tally.causes[error.message] += 1
                    continue
                assert analysis.verdict is not None
                tally.recognised[analysis.mapping.name] += 1
                tally.mistaken.update(mistaken(analysis, walk.truth))
                tally.verdicts[analysis.verdict.status] += 1
                tally.causes.update(cause.text for cause in analysis.verdict.causes)
                measure(analysis, walk.truth, tally)
    return tally


def main() -> None:
    """Print the tables."""
    parser = parser_of(__doc__, only="")
    parser.add_argument("--classes", nargs="+", default=CLASSES, help="of rough_walks.toml")
    parser.add_argument("--people", nargs="+", type=int, default=SEEDS, metavar="SEED", help="seeds of the people")
    parser.add_argument("--walks", type=int, default=2, choices=(1, 2), help="of each person")
    parser.add_argument("--kept", action="store_true", help="calibration markers stay on in the walk")
    parser.add_argument("--tell", action="store_true", help="name what the verdicts rest on")
    arguments = parser.parse_args()
    record, watch = Record("marker_sets", vars(arguments)), Stopwatch()
    names = [
        WHOLE,
        LOWER,
        *(name for name in outfit_names() if any(part in name for part in arguments.only.split(","))),
    ]
    for walk_class in arguments.classes:
        recordings = [rough_recording(walk_class, seed) for seed in arguments.people]
        heads = (
            "outfit",
            "recognised as",
            "mistaken",
            *TORQUES,
            "ratio",
            *(f"{joint} mm" for joint in CENTRES),
            "verdicts",
        )
        table = Table(heads)
        tell(f"\n{walk_class}, seeds {', '.join(map(str, arguments.people))}")
        bases: dict[str, Tally] = {}
        largest: dict[str, float] = {}
        for name in names:
            tally = run(name, recordings, arguments.walks, arguments.kept)
            base = bases.setdefault(base_of(name), tally)
            ratios = [tally.rms(torque) / base.rms(torque) for torque in TORQUES]
            wanted = name if name in (WHOLE, LOWER) else load_outfit(name).recognised_as
            known = ", ".join(f"{n}" + ("" if n == wanted else " (!)") for n in tally.recognised) or "nothing"
            table.row(
                name,
                known,
                ", ".join(tally.mistaken) or "–",
                *(f"{tally.rms(torque):.3f}" for torque in TORQUES),
                " ".join(f"{ratio:.2f}" for ratio in ratios),
                *(f"{1e3 * tally.rms(joint):.1f}" for joint in CENTRES),
                ", ".join(f"{count} {status}" for status, count in tally.verdicts.items()),
            )
            sys.stdout.flush()
            if arguments.tell:
                for text, count in tally.causes.items():
                    tell(f"    {count} x {text}")
            largest = {torque: max(largest.get(torque, 0.0), r) for torque, r in zip(TORQUES, ratios, strict=True)}
        for torque, ratio in largest.items():
            record.add(f"{walk_class}, {torque}: largest error of an outfit", ratio, "times that of Plug-in Gait")
    record.add("whole run", watch.seconds)
    record.close()


if __name__ == "__main__":
    main()
