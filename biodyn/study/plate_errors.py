"""Estimate errors of force plates from all walks over them, of several people and in both directions."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.errors import BiodynError, StudyError
from biodyn.estimation.shared_parameters import InformationForm, PlateTest, accepted_plate_errors
from biodyn.estimation.unknown_parameters import GAIN_SD, PLACE_SD_M, TURN_SD_RAD
from biodyn.io import file_sha256
from biodyn.recording.plate_calibration import PlateCalibration, PlateCorrection
from biodyn.study.discovery.definition import StudyDefinition
from biodyn.study.discovery.trial_discovery import discover_trials
from biodyn.study.plan import no_walk_error
from biodyn.study.running.trial_analysis import RecordingCache, planned_trial_request
from biodyn.trial.session_estimates import WalkInformation, are_same_plates
from biodyn.trial.steps import information_of_walk


@dataclass(frozen=True)
class PlatesOfWalks:
    """Errors of force plates estimated from walks.

    Attributes:
        tests: one test for each plate and kind of error, with the verdict.
        calibration: calibration with the accepted errors; None if none was accepted.
        used: walks in the estimate. left_out: one sentence for each walk without information or with other plate positions.
    """

    tests: tuple[PlateTest, ...]
    calibration: PlateCalibration | None
    used: tuple[Path, ...]
    left_out: tuple[str, ...]

    def lines(self) -> list[str]:
        """Return the result as lines of text: number of walks, one line for each plate and kind of error, and the corrections."""
        lines = [f"Walks: {len(self.used)} (below: number in one direction + number in the other)."]
        lines += [f"Excluded: {reason}" for reason in self.left_out]
        for test in self.tests:
            kind = "position" if len(test.names) > 1 else test.names[0].rpartition(", ")[2]
            verdict = test.verdict or "the same error in all walks"
            lines.append(
                f"{test.names[0].partition(',')[0]}, {kind} ({test.walks[0]} + {test.walks[1]} walks): {verdict}"
            )
        return lines + ([] if self.calibration is None else [plate.summary_text for plate in self.calibration.plates])


def estimate_plate_errors(folder: str | Path, progress: Callable[[str], None] | None = None) -> PlatesOfWalks:
    """Estimate the errors of the plates from all walks of a folder, with separate inertias for each person.

    Errors are position, gain and rotation of each plate; `estimation.shared_parameters.plate_tests` defines which are accepted.
    Raises StudyError if no walk of the folder has information, InputFileError if it is not a folder.
    """
    plan = discover_trials(folder, StudyDefinition())
    if not plan.trials:
        raise no_walk_error(plan)
    recordings, first = RecordingCache(), WalkInformation("")
    forms: list[InformationForm] = []
    used: list[Path] = []
    left_out: list[str] = []
    for trial in plan.trials:
        if progress is not None:
            progress(str(trial.path))
        try:
            walk = information_of_walk(planned_trial_request(trial, plan.root, recordings))
        except (BiodynError, OSError) as error:
            walk = WalkInformation(str(getattr(error, "message", error)))
        form = walk.information
        if isinstance(form, str) or walk.corners_L is None:
            left_out.append(f"{trial.path}: {form}")
        elif first.corners_L is not None and not are_same_plates(first.corners_L, walk.corners_L):
            left_out.append(f"{trial.path}: its plates are at other positions than those of {used[0].name}")
        else:
            first = walk if first.corners_L is None else first
            forms.append(form.label_by_person(trial.subject))
            used.append(plan.root / trial.path)
    if first.corners_L is None or first.up_L is None:
        raise StudyError(f"No walk of '{folder}' can be used to estimate plate errors: {left_out[0].rstrip('.')}.")
    tests, errors = accepted_plate_errors(forms)
    corrections = _plate_corrections(errors, first.corners_L, first.numbers, first.up_L)
    calibration = None
    if corrections:
        sources = tuple((path.name, file_sha256(path)) for path in used)
        calibration = PlateCalibration(datetime.date.today(), "walks", sources, corrections)
    return PlatesOfWalks(tuple(tests), calibration, tuple(used), tuple(left_out))


def _plate_corrections(
    errors: dict[str, tuple[float, float]], corners_L: FloatArray, numbers: tuple[int, ...], up_L: FloatArray
) -> tuple[PlateCorrection, ...]:
    """Return a correction for each plate with an accepted error; errors of this plate that were not accepted are 0 with unknown
    standard deviation."""
    corrections = []
    for number, corners in zip(numbers, corners_L, strict=True):
        of_plate = {
            name.partition(", ")[2]: value for name, value in errors.items() if name.startswith(f"plate {number},")
        }
        if not of_plate:
            continue
        shift, shift_sd = np.zeros(3), np.full(3, np.nan)
        for i, axis in enumerate("xyz"):
            if f"place along {axis}" in of_plate:
                shift[i], shift_sd[i] = PLACE_SD_M * np.array(of_plate[f"place along {axis}"])
        turn, turn_sd = TURN_SD_RAD * np.array(of_plate.get("turn", (0.0, math.nan)))
        gain, gain_sd = GAIN_SD * np.array(of_plate.get("gain", (0.0, math.nan)))
        corrections.append(
            PlateCorrection(
                number=number,
                corners=corners,
                shift=shift,
                turn=turn * up_L,
                sensitivity=np.eye(6) / (1.0 + gain),
                shift_sd=shift_sd,
                turn_sd=np.where(np.abs(up_L) > 0.5, turn_sd, np.nan),
                sensitivity_sd=np.where(np.eye(6) > 0.0, gain_sd, np.nan),
            )
        )
    return tuple(corrections)
