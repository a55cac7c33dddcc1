"""Calibrate force plates from pole trials (`biodyn plates`)."""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from biodyn.conventions import STANDARD_GRAVITY_M_S2, FloatArray
from biodyn.errors import PlateError, SettingsError
from biodyn.estimation.plates_from_pole import (
    Placement,
    PlateResult,
    PlateSignal,
    Pole,
    PoleRecording,
    estimate_plates,
    find_pole,
    remaining_errors,
    resting_loads,
)
from biodyn.io import read
from biodyn.processing.signals.filtering import butterworth_lowpass
from biodyn.processing.signals.plate_wrenches import frame_samples, plate_axes, plate_wrench
from biodyn.processing.signals.world_frame import find_world
from biodyn.recording import ForcePlate, PlateCalibration, Recording


@dataclass(frozen=True, eq=False)
class PlateCheck:
    """A calibration from pole trials, and its details.

    Attributes:
        calibration: calibration of every plate with enough placements; `calibration.write(path)` writes it.
        results: one result per plate. refused: one sentence per plate without enough placements.
        pole: the pole with its markers. pole_mass_kg: given mass of the pole, kg.
    """

    calibration: PlateCalibration
    results: tuple[PlateResult, ...]
    refused: tuple[str, ...]
    pole: Pole
    placements: tuple[Placement, ...]
    pole_mass_kg: float | None

    def lines(self) -> list[str]:
        """Return the pole, the calibration of each plate and the assumptions as lines for the screen."""
        lines = [
            f"Pole: markers {', '.join(self.pole.labels)}; tip {1e3 * self.pole.length:.0f} mm from the farthest marker; "
            + ("mass estimated." if self.pole_mass_kg is None else f"{self.pole_mass_kg:g} kg.")
        ]
        for result in self.results:
            lines += _result_lines(result)
        lines += [f"Not calibrated: {problem}" for problem in self.refused]
        if not all(result.has_known_load for result in self.results):
            lines.append(
                "A common gain of all channels cannot be determined with a pole; it requires a known load (--known-mass)."
            )
        lines.append(
            "Assumptions: the pole is rigid, uniform and pushed at its upper end; its tip neither slips nor transmits a moment."
        )
        return lines

    def rms_errors(self, calibration: PlateCalibration) -> dict[int, tuple[float, float]]:
        """Return the RMS errors of centre of pressure (m) and direction (rad) in these trials with another calibration, by
        plate.

        Raises PlateError if the calibration does not fit the recordings.
        """
        calibration.correct_plates([_result_plate(result) for result in self.results])
        corrections = {correction.number: correction for correction in calibration.plates}
        errors = {}
        for result in self.results:
            number = result.correction.number
            if number in corrections:
                placements = [q for q in self.placements if q.plate.number == number]
                inputs = (placements, self.pole, self.pole_mass_kg, result.nuisance)
                errors[number] = remaining_errors(*inputs, corrections[number])
        return errors

    def error_lines(self, calibration: PlateCalibration) -> list[str]:
        """Return one line per plate with the errors in these trials with another calibration."""
        return [
            f"With {calibration.title}, errors on plate {number}: centre of pressure {1e3 * cop:.1f} mm, direction "
            f"{math.degrees(direction):.2f} degrees (RMS)."
            for number, (cop, direction) in self.rms_errors(calibration).items()
        ]


def calibrate_plates(
    trials: str | Path | Sequence[str | Path],
    pole_mass_kg: float | None = None,
    known_mass_kg: float | None = None,
    date: datetime.date | None = None,
) -> PlateCheck:
    """Determine position, orientation and sensitivity of force plates from pole trials, as `biodyn plates` does.

    Parameters:
        trials: recordings of a pointed rigid pole with markers, pushed onto the plates and tilted (docs/howto/own_plates.md).
        pole_mass_kg: mass of the pole; None = estimated, which is less accurate.
        known_mass_kg: mass that rests for some seconds on each plate in one of the recordings; None = the common gain of the
            channels of a plate is unchanged.
        date: date of the measurement; None = today.

    Raises PlateError for recordings without plates, pole or enough tilts, InputFileError for files that cannot be read.
    """
    paths = [trials] if isinstance(trials, (str, Path)) else list(trials)
    if not paths:
        raise PlateError("No pole trial was given.", "Give at least one recording.")
    for value, name in ((pole_mass_kg, "pole"), (known_mass_kg, "known load")):
        if value is not None and not (math.isfinite(value) and value > 0.0):
            raise SettingsError(f"The mass of the {name} is {value:g} kg; it must be positive.")
    recordings = [read(path) for path in paths]
    _require_same_plates(recordings)
    signals = [_pole_signals(recording) for recording in recordings]
    load_n = 0.0 if known_mass_kg is None else known_mass_kg * STANDARD_GRAVITY_M_S2
    resting = resting_loads(signals, load_n) if known_mass_kg is not None else {}
    if known_mass_kg is not None and not resting:
        raise PlateError(
            f"No plate carries {known_mass_kg:g} kg at rest for a second in any of the recordings.",
            "Record the known mass on each plate, or omit --known-mass.",
        )
    pole, placements = find_pole(signals)
    results, refused = estimate_plates(placements, pole, pole_mass_kg, resting, load_n)
    sources = tuple((recording.path.name, recording.sha256) for recording in recordings)
    corrections = tuple(result.correction for result in results)
    calibration = PlateCalibration(date or datetime.date.today(), "pole", sources, corrections)
    return PlateCheck(calibration, results, refused, pole, placements, pole_mass_kg)


def _require_same_plates(recordings: Sequence[Recording], tolerance_m: float = 1e-3) -> None:
    """Raise PlateError for recordings without plates, or with plates at different positions."""
    corners: dict[int, tuple[FloatArray, str]] = {}
    for recording in recordings:
        if not recording.plates:
            raise PlateError(
                f"'{recording.path.name}' holds no force plate.", "Export the pole trial as C3D with its force plates."
            )
        for plate in recording.plates:
            first, name = corners.setdefault(plate.number, (plate.corners, recording.path.name))
            if np.abs(first - plate.corners).max() > tolerance_m:
                raise PlateError(
                    f"The corners of plate {plate.number} differ between '{name}' and '{recording.path.name}'.",
                    "Give recordings with the same plate positions.",
                )


def _pole_signals(recording: Recording, cutoff_hz: float = 6.0, samples_hz: float = 30.0) -> PoleRecording:
    """Return points and plates of a recording, with the same low-pass filter and at a lower rate, as poles are tilted slowly."""
    markers = recording.markers
    step = max(1, round(markers.rate_hz / samples_hz))
    R_WL = find_world(recording).R_WL
    positions = butterworth_lowpass(markers.positions, markers.rate_hz, cutoff_hz)
    plates = []
    for plate in recording.plates:
        measured = plate_wrench(plate.rotated(R_WL), markers.frame_count, markers.rate_hz)
        wrench_W = butterworth_lowpass(measured.wrench, measured.rate_hz, cutoff_hz)
        at_frames = frame_samples(wrench_W, measured.rate_hz, markers.frame_count, markers.rate_hz)
        moment_L, force_L = at_frames[:, :3] @ R_WL, at_frames[:, 3:] @ R_WL
        axes = plate_axes(plate)
        R_LP, centre = axes.R_WP, axes.p_WS  # plates are in laboratory axes
        about_centre = moment_L - np.cross(centre, force_L)
        reaction = np.hstack([force_L @ R_LP, about_centre @ R_LP])
        plates.append(PlateSignal(plate.number, plate.corners, R_LP, centre, axes.half_sides, reaction[::step]))
    rate_hz = markers.rate_hz / step
    return PoleRecording(recording.path.name, markers.labels, positions[::step], rate_hz, R_WL[1], tuple(plates))


def _result_plate(result: PlateResult) -> ForcePlate:
    """Return a force plate with the corners of a calibration result and no samples."""
    correction = result.correction
    return ForcePlate(correction.number, 2, correction.corners, np.zeros(3), np.zeros((0, 6)), 1.0)


def _result_lines(result: PlateResult) -> list[str]:
    c = result.correction

    def format_values(values: FloatArray, sd: FloatArray, digits: int) -> str:
        return ", ".join(f"{v:+.{digits}f} ± {s:.{digits}f}" for v, s in zip(values, sd, strict=True))

    gains, gain_sd = (100.0 * np.diag(matrix) for matrix in (c.sensitivity - np.eye(6), c.sensitivity_sd))
    shown = ", ".join(
        f"{name} {gain:+.1f}" + (f" ± {sd:.1f}" if np.isfinite(sd) else " (assumed)")
        for name, gain, sd in zip(("Fx", "Fy", "Fz", "Mx", "My", "Mz"), gains, gain_sd, strict=True)
    )
    return [
        f"Plate {c.number}: {result.places} placements, tilts up to {math.degrees(result.tilt):.0f} degrees",
        f"    shift of x, y, z, mm:      {format_values(1e3 * c.shift, 1e3 * c.shift_sd, 1)}",
        f"    rotation about x, y, z, deg: {format_values(np.degrees(c.turn), np.degrees(c.turn_sd), 2)}",
        f"    gain of the channels, %:   {shown}",
        f"    error of the centre of pressure: {1e3 * c.cop_error[0]:.1f} mm before, {1e3 * c.cop_error[1]:.1f} mm after (RMS)",
        f"    error of the direction: {math.degrees(c.direction_error[0]):.2f} degrees before, "
        f"{math.degrees(c.direction_error[1]):.2f} after (RMS)",
    ]
