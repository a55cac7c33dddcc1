"""Walks whose trunk, head or arms nobody marked: what fixing them to the pelvis costs, and what carrying them upright leaves.

    python benchmarks/trunk.py [--cutoff HZ] [FOLDER ...]      without a folder: folder gait of BIODYN_TEST_DATA

Full-body walks are analysed with all markers and again without those above the pelvis (and without parts of them): residual at
the pelvis, and how far the torques of the legs move. Walks with a lower-body set are analysed both ways. RMS of force (N) and
moment (Nm) over the frames in which both feet are measured. Without --cutoff each analysis chooses its own, and one of fewer
markers may choose another.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from common import Record, Stopwatch, parser_of, real_recordings, tell, walks_below

from biodyn.analysis import TrialAnalysis
from biodyn.errors import BiodynError
from biodyn.model.from_library.markersets import recognise_marker_set
from biodyn.model.marker_roles import MarkerRole
from biodyn.processing.signals.filtering import finite_rms, vector_rms
from biodyn.recording import Recording
from biodyn.trial.run import analyse_trial
from biodyn.trial.trial_files import TrialFiles, read_files

Settings = Mapping[str, Mapping[str, Any]]

_LEGS = ("pelvis", "femur", "tibia", "calcn")
_TRUNK = (*_LEGS, "torso")
# An estimate's torques of the legs are in balance with the trunk, too.
_METHOD = "butterworth"
#: Markers that stay, by name of the part of a full-body set.
_KEPT: dict[str, Callable[[MarkerRole], bool]] = {
    "legs": lambda role: role.body.startswith(_LEGS),
    "legs, C7, CLAV": lambda role: role.body.startswith(_LEGS) or role.landmark in ("c7", "suprasternale"),
    "legs, shoulders": lambda role: role.body.startswith(_LEGS) or role.landmark.startswith("acromion"),
    "no head, no arms": lambda role: role.body.startswith(_TRUNK),
    "no arms": lambda role: role.body.startswith((*_TRUNK, "head")),
}


def main() -> None:
    parser = parser_of(__doc__, folders=True)
    parser.add_argument("--cutoff", type=float, help="signals.cutoff_hz of all analyses, Hz")
    arguments = parser.parse_args()
    signals: dict[str, Any] = {"method": _METHOD}
    if arguments.cutoff is not None:
        signals["cutoff_hz"] = arguments.cutoff
    record, watch = Record("trunk", vars(arguments)), Stopwatch()
    warnings.simplefilter("ignore", RuntimeWarning)
    shares: dict[str, list[float]] = {}
    tell(
        f"{'walk':<44} {'markers':<18} {'fixed N / Nm':>14} {'carried N / Nm':>15} {'all N / Nm':>13} {'legs Nm/kg':>11}"
    )
    for folder in arguments.folders or [real_recordings() / "gait"]:
        for path in walks_below(folder):
            try:
                _walk(path, str(path.relative_to(folder)), {"signals": signals}, shares)
            except BiodynError as error:
                tell(f"{path.relative_to(folder)!s:<44} {error}")
    for name, values in shares.items():
        record.add(f"{name}, carried / fixed, median", float(np.median(values)), "")
    record.add("whole run", watch.seconds)
    record.close()


def _walk(path: Path, name: str, filtered: Settings, shares: dict[str, list[float]]) -> None:
    files = read_files(path, None)
    whole = analyse_trial(path, files=files, settings=filtered, torques_only=True)
    if not whole.dynamics.residual_valid.any():
        return
    lower = "torso" in whole.model.locked_segments
    for part, keep in ({"all": lambda role: True} if lower else _KEPT).items():
        kept = files if lower else TrialFiles(_only(files.walk, keep), _only(files.static, keep), files.why)
        own = {"mass_kg": whole.subject.mass_kg, "height_m": whole.subject.height_m}
        fixed, carried = (
            analyse_trial(
                path,
                files=kept,
                torques_only=True,
                settings={**filtered, "inverse_kinematics": {"unseen_segments": how}},
                **own,
            )
            for how in ("fixed", "carried")
        )
        numbers = [_residual(one) for one in (fixed, carried, whole)]
        tell(
            f"{name:<44} {part:<18} {numbers[0][0]:6.1f} / {numbers[0][1]:4.1f}  {numbers[1][0]:6.1f} / {numbers[1][1]:4.1f} "
            + ("" if lower else f"{numbers[2][0]:6.1f} / {numbers[2][1]:4.1f} {_legs(carried, whole):10.4f}")
        )
        group = "lower-body sets" if lower else part
        for i, what in enumerate(("force", "moment")):
            shares.setdefault(f"{group}: {what}", []).append(numbers[1][i] / numbers[0][i])


def _only(recording: Recording, keep: Callable[[MarkerRole], bool]) -> Recording:
    """The recording with those markers alone whose meaning is known and kept."""
    markers = recording.markers
    roles = recognise_marker_set(markers.labels, "auto")
    columns = [i for i, label in enumerate(markers.labels) if (role := roles.role(label)) is not None and keep(role)]
    fewer = replace(markers, labels=tuple(markers.labels[i] for i in columns), positions=markers.positions[:, columns])
    return replace(recording, motion=replace(recording.motion, markers=fewer))


def _residual(analysis: TrialAnalysis) -> tuple[float, float]:
    return vector_rms(analysis.dynamics.residual_force), vector_rms(analysis.dynamics.residual_moment)


def _legs(analysis: TrialAnalysis, whole: TrialAnalysis) -> float:
    """Largest RMS difference of a leg's torque against the analysis with all markers, Nm/kg."""
    names = [coordinate.name for coordinate in whole.model.coordinates]
    found = [
        float(finite_rms(analysis.dynamics.torques[:, i] - whole.dynamics.torques[:, names.index(coordinate.name)]))
        for i, coordinate in enumerate(analysis.model.coordinates)
        if coordinate.body.startswith(_LEGS)
    ]
    return max(found) / whole.subject.mass_kg


if __name__ == "__main__":
    main()
