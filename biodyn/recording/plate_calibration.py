"""Calibration of force plates: the errors of corners and channels of each plate, in memory and as a TOML file.

Let F, M_S be the reaction computed from the channels (plate axes, about the surface centre S of the stored corners), C the
sensitivity matrix, and d and exp(theta) the shift and rotation of the plate (laboratory axes). Then

    [F'; M'] = C [F; M_S],    corner' = S + d + exp(theta) (corner - S)

[F'; M'] is the reaction in the axes of the corrected plate, about its corrected surface centre.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.errors import PlateError, ResultError, SettingsError, printable_text
from biodyn.geometry.rotations import matrices_from_axis_angle
from biodyn.library.toml_files import UserFile, read_user_toml, toml_text
from biodyn.recording.plates import ForcePlate

CalibrationMethod = Literal["pole", "walks"]


@dataclass(frozen=True, eq=False)
class PlateCorrection:
    """Errors of one plate and their standard deviations, in laboratory axes of the recordings, m and rad.

    Attributes:
        number: plate number in the recordings.
        corners: (4, 3) m before the correction; they identify the plate.
        shift, turn: (3,) each, shift and rotation vector (about the surface centre) of the plate relative to its stored
            corners.
        sensitivity: (6, 6) C of this module, plate axes, N and Nm. Standard deviations are NaN for assumed entries.
        cop_error, direction_error: RMS error before and after the correction; NaN if not measured.
    """

    number: int
    corners: FloatArray
    shift: FloatArray
    turn: FloatArray
    sensitivity: FloatArray
    shift_sd: FloatArray
    turn_sd: FloatArray
    sensitivity_sd: FloatArray
    cop_error: tuple[float, float] = (math.nan, math.nan)
    direction_error: tuple[float, float] = (math.nan, math.nan)

    @property
    def corrected_corners(self) -> FloatArray:
        """Return the corners (4, 3) m after the correction."""
        centre = self.corners.mean(axis=0)
        return centre + self.shift + (self.corners - centre) @ rotation_matrix(self.turn).T

    @property
    def summary_text(self) -> str:
        """Return a text with the sizes of shift, rotation and largest gain, and the error of the centre of pressure."""
        gain = 100.0 * (np.diag(self.sensitivity) - 1.0)
        text = (
            f"plate {self.number}: shift {1e3 * np.linalg.norm(self.shift):.1f} mm, rotation "
            f"{np.degrees(np.linalg.norm(self.turn)):.2f} degrees, largest gain {gain[np.argmax(np.abs(gain))]:+.1f} %"
        )
        if np.isfinite(self.cop_error).all():
            text += (
                f", error of the centre of pressure {1e3 * self.cop_error[0]:.1f} -> {1e3 * self.cop_error[1]:.1f} mm"
            )
        return text

    def correct_plate(self, plate: ForcePlate) -> ForcePlate:
        """Return the plate with corrected corners and sensitivity."""
        centre = plate.corners.mean(axis=0)
        corners = centre + self.shift + (plate.corners - centre) @ rotation_matrix(self.turn).T
        return replace(plate, corners=corners, sensitivity=self.sensitivity)

    def as_dict(self) -> dict[str, Any]:
        """Return the entries of the plate in the calibration file, in its units: mm, degrees, N and Nm."""
        return {
            "number": self.number,
            "corners_mm": 1e3 * self.corners,
            "shift_mm": 1e3 * self.shift,
            "shift_sd_mm": 1e3 * self.shift_sd,
            "turn_deg": np.degrees(self.turn),
            "turn_sd_deg": np.degrees(self.turn_sd),
            "sensitivity": self.sensitivity,
            "sensitivity_sd": self.sensitivity_sd,
            "cop_error_mm": 1e3 * np.array(self.cop_error),
            "direction_error_deg": np.degrees(self.direction_error),
        }


@dataclass(frozen=True, eq=False)
class PlateCalibration:
    """Corrections of all plates of a laboratory.

    Attributes:
        date: date of the measurement. method: "pole" (`biodyn plates`) or "walks".
        sources: name and SHA-256 of each recording.
        plates: one correction per plate. file: file from which it was read, None for a new calibration.
    """

    date: datetime.date
    method: CalibrationMethod
    sources: tuple[tuple[str, str], ...]
    plates: tuple[PlateCorrection, ...]
    file: UserFile | None = None

    @classmethod
    def read(cls, path: str | Path) -> PlateCalibration:
        """Read a calibration file; raises SettingsError with the name of a missing or invalid entry."""
        file = read_user_toml(path, "plate calibration", SettingsError, "Create one with 'biodyn plates'.")
        try:
            return cls._from_file(file)
        except (KeyError, TypeError, ValueError) as error:
            problem = f"has no entry {error}" if isinstance(error, KeyError) else f"has an invalid entry ({error})"
            raise SettingsError(
                f"The plate calibration '{file.path}' {problem}.", "Create it again with 'biodyn plates'."
            ) from error

    @classmethod
    def _from_file(cls, file: UserFile) -> PlateCalibration:
        content = file.content
        if not isinstance(content["date"], datetime.date):
            raise TypeError(f"date: expected a date such as 2026-01-31, found {content['date']!r}")
        if content["method"] not in get_args(CalibrationMethod):
            raise ValueError(f"method: expected one of {get_args(CalibrationMethod)}, found {content['method']!r}")
        sources = tuple((str(entry["file"]), str(entry["sha256"])) for entry in content.get("source", ()))
        plates = tuple(_read_correction(entry) for entry in content["plate"])
        if not plates:
            raise ValueError("no plate")
        return cls(content["date"], content["method"], sources, plates, file)

    def write(self, path: str | Path) -> None:
        """Write the calibration as TOML; ResultError if the file cannot be written."""
        lines = [
            "# Calibration of force plates (biodyn run ... --plates FILE).",
            "# Laboratory axes. Sensitivity: plate axes, force in N and moment about the surface centre in Nm; nan: assumed.",
            f"date = {self.date.isoformat()}",
            f"method = {toml_text(self.method)}",
        ]
        tables = [("source", {"file": printable_text(name), "sha256": sha256}) for name, sha256 in self.sources]
        tables += [("plate", plate.as_dict()) for plate in self.plates]
        for name, table in tables:
            lines += ["", f"[[{name}]]", *(f"{key} = {toml_text(value)}" for key, value in table.items())]
        try:
            Path(path).write_text("\n".join([*lines, ""]), encoding="utf-8")
        except OSError as error:
            raise ResultError(f"'{path}' cannot be written: {error.strerror}.", "Choose another --out.") from error

    def correct_plates(self, plates: Sequence[ForcePlate], tolerance_m: float = 5e-3) -> tuple[ForcePlate, ...]:
        """Return the corrected plates of a recording (laboratory axes); plates without a correction are unchanged.

        Raises PlateError if no plate has a correction, if stored corners differ by more than `tolerance_m` from those of the
        calibration, or if they are closer to the corrected ones (the recording was already corrected).
        """
        corrections = {plate.number: plate for plate in self.plates}
        if not any(plate.number in corrections for plate in plates):
            raise PlateError(
                f"{self.title} has no correction for plate {', '.join(str(p.number) for p in plates) or '(none)'} of the "
                "recording.",
                "Use the calibration of these plates.",
            )
        return tuple(
            _require_matching_plate(corrections[plate.number], plate, tolerance_m, self.title).correct_plate(plate)
            if plate.number in corrections
            else plate
            for plate in plates
        )

    @property
    def title(self) -> str:
        """Return a text with file name, method and date of the calibration, for messages."""
        name = "The plate calibration" if self.file is None else f"The plate calibration {self.file.name}"
        return f"{name} ({self.method}, {self.date.isoformat()})"

    def correction_finding(self, plates: Sequence[ForcePlate]) -> Diagnostic:
        """Return the finding that states the corrections applied to these plates."""
        numbers = {plate.number for plate in plates}
        used = [plate for plate in self.plates if plate.number in numbers]
        unchecked = sorted(numbers - {plate.number for plate in used})
        rest = f" It has no correction for plate {', '.join(map(str, unchecked))}." if unchecked else ""
        largest = max(float(np.linalg.norm(plate.shift)) for plate in used)
        text = f"{self.title} is applied: {'; '.join(plate.summary_text for plate in used)}.{rest}"
        return Diagnostic("plate-cop-corrected", "info", text, value=largest, unit="m")

    def record(self, numbers: Sequence[int]) -> dict[str, Any]:
        """Return the date, the method and the sizes of the corrections of these plates, for `run.json`."""
        used = [plate for plate in self.plates if plate.number in numbers]
        entries = [
            {key: value for key, value in plate.as_dict().items() if not key.startswith(("corners", "sensitivity"))}
            | {"gain_percent": 100.0 * (np.diag(plate.sensitivity) - 1.0)}
            for plate in used
        ]
        return {
            "date": self.date.isoformat(),
            "method": self.method,
            "words": f"{self.date.isoformat()}, by {'a pole' if self.method == 'pole' else 'walks'}: "
            f"{'; '.join(plate.summary_text for plate in used)}",
            "not_checked": sorted(set(numbers) - {plate.number for plate in used}),
            "plates": entries,
        }


def rotation_matrix(turn: FloatArray) -> FloatArray:
    """Return the rotation matrix (3, 3) of a rotation vector (3,) in rad."""
    angle = float(np.linalg.norm(turn))
    return np.eye(3) if angle == 0.0 else matrices_from_axis_angle(turn / angle, angle)


def _require_matching_plate(
    correction: PlateCorrection, plate: ForcePlate, tolerance_m: float, title: str
) -> PlateCorrection:
    """Return the correction; raise PlateError if it belongs to a plate at another position."""
    distance = float(np.linalg.norm(plate.corners - correction.corners, axis=1).max())
    if not distance <= tolerance_m:
        raise PlateError(
            f"{title} does not fit the recording: the corners of plate {plate.number} differ by {1e3 * distance:.1f} mm "
            f"(at most {1e3 * tolerance_m:g} mm).",
            "Use a calibration of the same laboratory set-up, or repeat the pole trials.",
        )
    corrected = float(np.linalg.norm(plate.corners - correction.corrected_corners, axis=1).max())
    if corrected < distance:
        raise PlateError(
            f"{title} does not fit the recording: the corners of plate {plate.number} are already corrected in the file.",
            "Analyse without --plates, or repeat the pole trials with the new corners.",
        )
    return correction


def _read_correction(entry: Mapping[str, Any]) -> PlateCorrection:
    def read_values(name: str, *shape: int) -> FloatArray:
        array = np.array(entry[name], dtype=np.float64)
        if array.shape != shape:
            raise ValueError(f"{name}: expected {' x '.join(map(str, shape))} numbers")
        if not (name.endswith(("_sd", "_error_mm", "_error_deg", "_sd_mm", "_sd_deg")) or np.isfinite(array).all()):
            raise ValueError(f"{name}: expected finite numbers")
        return array

    before_mm, after_mm = read_values("cop_error_mm", 2) if "cop_error_mm" in entry else (math.nan, math.nan)
    before_deg, after_deg = (
        read_values("direction_error_deg", 2) if "direction_error_deg" in entry else (math.nan, math.nan)
    )
    return PlateCorrection(
        number=int(entry["number"]),
        corners=1e-3 * read_values("corners_mm", 4, 3),
        shift=1e-3 * read_values("shift_mm", 3),
        turn=np.radians(read_values("turn_deg", 3)),
        sensitivity=read_values("sensitivity", 6, 6),
        shift_sd=1e-3 * read_values("shift_sd_mm", 3),
        turn_sd=np.radians(read_values("turn_sd_deg", 3)),
        sensitivity_sd=read_values("sensitivity_sd", 6, 6),
        cop_error=(1e-3 * float(before_mm), 1e-3 * float(after_mm)),
        direction_error=(math.radians(before_deg), math.radians(after_deg)),
    )
