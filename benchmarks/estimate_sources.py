"""What the torque errors of the estimate are made of: `python benchmarks/estimate_sources.py`.

Rough walks (`rough_walks.py`) are recorded and analysed again without single errors: skin and wobble, noise, plates, the division
of the mass and mass centres, joint centres and axes. A row each: RMS torque error with `signals.method = "estimate"`, as a ratio
to that of the whole recording at 6 Hz, mean of the people. What is left without all of them is smoothing and the knees, which are
no hinges. Last row: what of the true torque lies above the frequency that the estimate's forces go up to at 100 frames a second.
Development people; those of the lower-body set are left out, their upper body has no true model.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from common import Record, Table, parser_of
from rough_walks import (
    BASE,
    TORQUES,
    Series,
    common_frames,
    errors,
    rms,
    series_of,
    settings_of,
    steps_with,
    true_series,
)
from simulator.rough_walks import RoughRecording, class_of, hinged_model, rough_recording

from biodyn.analysis import TrialAnalysis
from biodyn.conventions import FloatArray
from biodyn.estimation.estimate import WIDEST_SHARE_OF_RATE
from biodyn.model.body_model import SubjectModel, with_inertias
from biodyn.processing.signals.filtering import butterworth_lowpass
from biodyn.trial.run import analyse_trial
from biodyn.trial.steps import STEPS

LOWER = "lower_body"
ESTIMATE = "estimate"


@dataclass(frozen=True)
class Without:
    """Which errors a recording and its analysis are free of."""

    skin: bool = False
    noise: bool = False
    plates: bool = False
    masses: bool = False
    centres: bool = False

    @property
    def recorded(self) -> dict[str, bool]:
        """Those of the recording."""
        return {"skin": self.skin, "noise": self.noise, "plates": self.plates}


ROWS = {
    "as recorded": Without(),
    "skin on the bone": Without(skin=True),
    "no noise": Without(noise=True),
    "plates right": Without(plates=True),
    "masses right": Without(masses=True),
    "joint centres right": Without(centres=True),
    "measured without errors": Without(skin=True, noise=True, plates=True),
    "the body right": Without(masses=True, centres=True),
    "all of them": Without(skin=True, noise=True, plates=True, masses=True, centres=True),
}
ABOVE = "of the truth, above the forces' cut-off"


def analysed(recording: RoughRecording, method: str, model: SubjectModel | None) -> TrialAnalysis:
    """Analyse a recording with its own model, or with a given one."""
    with tempfile.TemporaryDirectory() as folder:
        walk, static = recording.write(Path(folder))
        steps = STEPS if model is None else steps_with(model)
        return analyse_trial(walk, static, settings={"signals": settings_of(method)}, steps=steps, torques_only=True)


def model_without(what: Without, fitted: SubjectModel, true: SubjectModel) -> SubjectModel | None:
    """The fitted model with true masses or true joints; None where it is to be fitted."""
    if not what.masses and not what.centres:
        return None
    joints, masses = (true if right else fitted for right in (what.centres, what.masses))
    inertias = {body.definition.name: body.inertia for body in masses.bodies}
    return replace(with_inertias(joints, inertias), mass_kg=masses.mass_kg)


def above(recording: RoughRecording, hz: float, true: Series) -> Series:
    """The true torques through a low-pass filter, at the recording's frames."""
    clean, rate = recording.clean(), recording.truth.options.rate_hz
    every = round(clean.options.rate_hz / rate)
    found = {}
    for name, values in true.torque.items():
        column = next(c.v_index for c in clean.body.model.coordinates if c.name == name)
        passed: FloatArray = butterworth_lowpass(clean.tau[:, column], clean.options.rate_hz, hz)
        found[name] = passed[::every][: len(values)] / clean.body.person.mass_kg
    return Series(found)


def ratios(seed: int) -> dict[str, list[float]]:
    """Errors of every row as ratios to 6 Hz, by torque."""
    name = class_of(seed)
    recording = rough_recording(name, seed)
    true, mass_kg = true_series(recording), recording.truth.body.person.mass_kg
    base = analysed(recording, BASE, None)
    at_6_hz, body = series_of(base, mass_kg), hinged_model(name, seed)
    found = {}
    for row, what in ROWS.items():
        own = recording.without(**what.recorded) if any(what.recorded.values()) else recording
        found[row] = series_of(analysed(own, ESTIMATE, model_without(what, base.model, body)), mass_kg)
    found[ABOVE] = above(recording, WIDEST_SHARE_OF_RATE * recording.truth.options.rate_hz, true)
    rows = {}
    for row, series in found.items():
        known = common_frames([series, at_6_hz], true)
        mine, whole = (errors(one, true, known) for one in (series, at_6_hz))
        rows[row] = [rms([mine[torque]]) / rms([whole[torque]]) for torque in TORQUES]
    return rows


def main() -> None:
    """Print the table."""
    parser = parser_of(__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=[2, 4, 6, 9, 10], help="people")
    arguments = parser.parse_args()
    record, table = Record("estimate_sources", vars(arguments)), Table(["without", *TORQUES])
    people = [ratios(seed) for seed in arguments.seeds if class_of(seed) != LOWER]
    for row in (*ROWS, ABOVE):
        mean = np.mean([one[row] for one in people], axis=0)
        table.row(row, *(f"{value:.2f}" for value in mean))
        for torque, value in zip(TORQUES, mean.tolist(), strict=True):
            record.add(f"{row}: {torque}", value, "of 6 Hz")
    record.close()


if __name__ == "__main__":
    main()
