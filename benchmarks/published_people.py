"""Torques on biodyn's own body beside those of published OpenSim people: `python benchmarks/published_people.py [FOLDER ...]`.

A folder holds people as `SUBJECT/trials/NAME/markers.trc` and `grf.mot` beside `SUBJECT/id.sto`: a walk whose markers, ground
forces and torques follow from one model with residuals of about 1 N. biodyn reads the markers and the forces alone and scales
its own body without a static trial, so its bones, joint centres (the model's knee is no hinge) and masses are others. A row
each coordinate, both sides and all people together: correlation (median), RMS difference and mean difference in Nm/kg, and how
many of the frames lie within two standard deviations of biodyn's band. Without a folder: arnold2013_synthetic of
BIODYN_TEST_DATA.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import numpy as np
from common import Record, Stopwatch, Table, parser_of, real_recordings, tell

from biodyn.analysis import TrialAnalysis
from biodyn.conventions import SIDES, FloatArray
from biodyn.io.opensim.storage import Storage, read_storage
from biodyn.trial.run import analyse_trial

COORDINATES = ("hip_flexion", "hip_adduction", "hip_rotation", "knee_angle", "ankle_angle")
METHODS: dict[str, dict[str, dict[str, str]]] = {
    "estimate": {},
    "butterworth:auto": {"signals": {"method": "butterworth"}},
}


def main() -> None:
    """Print one table: coordinates down, methods across."""
    parser = parser_of(__doc__, folders=True)
    arguments = parser.parse_args()
    record, watch = Record("published_people", vars(arguments)), Stopwatch()
    folders = arguments.folders or [real_recordings() / "opensim" / "arnold2013_synthetic"]
    people = [path for folder in folders for path in sorted(Path(folder).rglob("id.sto"))]
    found: dict[tuple[str, str], list[tuple[FloatArray, FloatArray, FloatArray]]] = defaultdict(list)
    for torques in people:
        walk = next(torques.parent.rglob("markers.trc"))
        for method, settings in METHODS.items():
            analysis = analyse_trial(walk, forces=walk.with_name("grf.mot"), settings=settings)
            theirs = read_storage(torques)
            for name in COORDINATES:
                for side in SIDES:
                    found[name, method].append(_beside(analysis, theirs, f"{name}_{side}"))
    tell(f"{len(people)} people")
    table = Table(("coordinate", *(f"{method}: r, RMS, mean, % in band" for method in METHODS)))
    for name in COORDINATES:
        cells = []
        for method in METHODS:
            parts = found[name, method]
            r = float(np.median([np.corrcoef(ours, true)[0, 1] for ours, true, _ in parts]))
            off = np.concatenate([ours - true for ours, true, _ in parts])
            within = np.concatenate([np.abs(ours - true) <= 2.0 * sd for ours, true, sd in parts])
            rms = float(np.sqrt(np.mean(off**2)))
            cells.append(f"{r:.3f}, {rms:.3f}, {off.mean():+.3f}, {100 * within.mean():.0f}")
            record.add(f"{name}, {method}: RMS", rms, "Nm/kg")
        table.row(name, *cells)
    record.add("whole run", watch.seconds)
    record.close()


def _beside(analysis: TrialAnalysis, theirs: Storage, name: str) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Torques (T,) Nm/kg of biodyn and of the published model where biodyn has one, and biodyn's standard deviation."""
    column = [coordinate.name for coordinate in analysis.model.coordinates].index(name)
    ours, known = analysis.dynamics.torques[:, column], analysis.dynamics.torque_valid[:, column]
    time_s = analysis.recording.start_s + analysis.time_s
    true = np.interp(time_s, theirs.time_s, theirs.column(f"{name}_moment"))
    assert analysis.uncertainty is not None  # the bands are on
    sd = analysis.uncertainty.total[:, column]
    mass_kg = analysis.subject.mass_kg
    return ours[known] / mass_kg, true[known] / mass_kg, sd[known] / mass_kg


if __name__ == "__main__":
    main()
