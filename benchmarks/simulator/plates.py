"""Force plates of the simulated laboratory: from the wrench on them to the channels a file stores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.errors import PlateError
from biodyn.recording.plates import CopCorrection

TYPES = (1, 2, 3, 4, 5, 6, 7)
# Types whose ORIGIN holds the half distances of four sensors.
FOUR_SENSORS = (3, 6, 7)
_VOLTS = (4, 5, 6, 7)
_INPUTS = {1: 6, 2: 6, 3: 8, 4: 6, 5: 8, 6: 12, 7: 8}
_HALF_DISTANCES_M = (0.2, 0.12)  # of the eight sensors of type 5, which no parameter tells


@dataclass(frozen=True)
class Plate:
    """A level plate, its long side along the walkway.

    Attributes:
        type: 1 (forces and centre of pressure), 2 (forces and moments), 3 (eight forces), 4 (volts and a calibration matrix), 5
            (volts of eight sensors and a matrix to forces and moments), 6 and 7 (volts and a matrix to twelve and eight forces).
        centre_x_m, height_m, centre_z_m: of the surface along World X, Y and Z, m. length_m along X, width_m along Z.
        turned: its x axis points along -X.
        origin_m: ORIGIN of the file (3,): from the sensor's origin to the surface centre, plate axes (types 3, 6, 7:
            the sensors' half distances and that height).
        cop_polynomial: of types 3 and 7, (2, 6) as on Kistler's calibration sheet, for mm: such a plate reads centres of pressure
            that this corrects.
    """

    type: int
    centre_x_m: float
    length_m: float = 0.6
    width_m: float = 0.4
    turned: bool = False
    origin_m: tuple[float, float, float] = (0.0004, -0.0007, -0.041)
    height_m: float = 0.0
    centre_z_m: float = 0.0
    cop_polynomial: tuple[tuple[float, ...], tuple[float, ...]] | None = None

    def __post_init__(self) -> None:
        if self.type not in TYPES:
            raise PlateError(f"A simulated force plate is of type {TYPES}, found {self.type}.")

    @property
    def R_WP(self) -> FloatArray:
        """Plate axes as columns: x along the walkway, z down."""
        sign = -1.0 if self.turned else 1.0
        return np.array([[sign, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, sign, 0.0]])

    @property
    def centre_W(self) -> FloatArray:
        """Surface centre (3,) m."""
        return np.array([self.centre_x_m, self.height_m, self.centre_z_m])

    @property
    def corners_W(self) -> FloatArray:
        """Corners (4, 3) m in the format's order: +x+y, -x+y, -x-y, +x-y of the plate's axes."""
        signs = np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]]) * 0.5
        local = np.column_stack([signs * (self.length_m, self.width_m), np.zeros(4)])
        return self.centre_W + local @ self.R_WP.T

    def covers(self, points_W: FloatArray) -> float:
        """Smallest distance (m) of the points (..., 3) to the plate's edge; negative where one is outside."""
        half = np.array([self.length_m, self.width_m]) / 2.0
        offsets = np.abs(points_W[..., ::2] - self.centre_W[::2])
        return float((half - offsets).min())

    def components(self, wrench_W: FloatArray) -> FloatArray:
        """Force and moment (T, 6) N, Nm at the sensor's origin in plate axes, of wrenches (T, 6) about the world origin."""
        force_W = wrench_W[:, 3:]
        moment_W = wrench_W[:, :3] - np.cross(self.centre_W, force_W)
        force, moment = force_W @ self.R_WP, moment_W @ self.R_WP
        moment = self._bent(force, moment)
        offset = np.array(self.origin_m) * ((0.0, 0.0, 1.0) if self.type in FOUR_SENSORS else (1.0, 1.0, 1.0))
        return np.hstack([force, moment - np.cross(force, offset)])  # M_surface = M_sensor + F x ORIGIN

    def _bent(self, force: FloatArray, moment: FloatArray) -> FloatArray:
        """The moment (T, 3) about the surface centre that a plate with a `cop_polynomial` reads."""
        if self.cop_polynomial is None:
            return moment
        half_sides = np.array([self.length_m, self.width_m]) / 2.0
        correction = CopCorrection.from_length_unit(
            np.array(self.cop_polynomial), 1e-3, half_sides
        )  # the sheet is for mm
        vertical = np.where(np.abs(force[:, 2:]) > 1e-6, force[:, 2:], np.inf)
        true = np.column_stack([-moment[:, 1], moment[:, 0]]) / vertical
        read = true.copy()
        for _ in range(60):  # what is read, corrected, is the true place; each turn leaves a fifth of the rest at most
            read = true + correction.errors(read)
        shift = np.where(np.isfinite(vertical), (read - true) * force[:, 2:], 0.0)
        return moment + np.column_stack([shift[:, 1], -shift[:, 0], np.zeros(len(shift))])

    @property
    def channel_count(self) -> int:
        """How many channels the plate has."""
        return _INPUTS[self.type]

    @property
    def calibrated(self) -> bool:
        """Whether the plate stores volts and a calibration matrix."""
        return self.type in _VOLTS

    def channels(self, components: FloatArray) -> tuple[FloatArray, tuple[str, ...], tuple[str, ...]]:
        """Return the stored channels (T, C), their names and units, of forces and moments (T, 6) at the sensor."""
        if self.type in _VOLTS:
            inverse = np.linalg.pinv(self.calibration())
            values = np.asarray(self._calibrated(components) @ inverse.T, dtype=np.float64)
            return values, tuple(f"V{i + 1}" for i in range(self.channel_count)), ("V",) * self.channel_count
        if self.type == 3:
            return self._eight(components), ("Fx12", "Fx34", "Fy14", "Fy23", "Fz1", "Fz2", "Fz3", "Fz4"), ("N",) * 8
        if self.type == 1:
            return (
                self._with_pressure(components),
                ("Fx", "Fy", "Fz", "Px", "Py", "Tz"),
                ("N", "N", "N", "mm", "mm", "Nmm"),
            )
        return self._in_millimetres(components), ("Fx", "Fy", "Fz", "Mx", "My", "Mz"), ("N",) * 3 + ("Nmm",) * 3

    def calibration(self) -> FloatArray:
        """CAL_MATRIX of a plate of type 4 to 7, N and Nmm per volt, with the crosstalk of real ones.

        Type 5 goes from eight inputs to six outputs through the sum of its sensors.
        """
        gains = {4: [150.0, 150.0, 600.0, 3.0e5, 2.0e5, 1.0e5], 6: [80.0, 80.0, 300.0] * 4}
        diagonal = np.diag(gains.get(self.type, [90.0] * 4 + [320.0] * 4))
        crosstalk = np.random.default_rng(4).normal(scale=0.004, size=diagonal.shape)
        matrix = diagonal + crosstalk * np.sqrt(np.outer(np.diag(diagonal), np.diag(diagonal)))
        return _sum_of_eight(*_HALF_DISTANCES_M) @ matrix if self.type == 5 else matrix

    def _calibrated(self, components: FloatArray) -> FloatArray:
        """What comes out of the calibration matrix (T, outputs), N and Nmm."""
        if self.type == 6:
            return self._twelve(components)
        return self._eight(components) if self.type == 7 else self._in_millimetres(components)

    def _in_millimetres(self, components: FloatArray) -> FloatArray:
        return components * np.array([1.0, 1.0, 1.0, 1e3, 1e3, 1e3])

    def _with_pressure(self, components: FloatArray) -> FloatArray:
        """Forces, centre of pressure on the surface in mm, free moment in Nmm; no place where there is no force."""
        force = components[:, :3]
        moment = components[:, 3:] + np.cross(force, np.array(self.origin_m))
        loaded = np.abs(force[:, 2]) > 1e-6
        vertical = np.where(loaded, force[:, 2], 1.0)
        x = np.where(loaded, -moment[:, 1] / vertical, 0.0)
        y = np.where(loaded, moment[:, 0] / vertical, 0.0)
        twist = moment[:, 2] - (x * force[:, 1] - y * force[:, 0])
        return np.column_stack([force, 1e3 * x, 1e3 * y, 1e3 * twist])

    def _eight(self, components: FloatArray) -> FloatArray:
        a, b = self.origin_m[0], self.origin_m[1]
        fx, fy, fz, mx, my, mz = components.T
        u, w = mx / b, my / a
        return np.column_stack(
            [
                fx / 2 - mz / (4 * b),
                fx / 2 + mz / (4 * b),
                fy / 2 + mz / (4 * a),
                fy / 2 - mz / (4 * a),
                (fz + u - w) / 4,
                (fz + u + w) / 4,
                (fz - u + w) / 4,
                (fz - u - w) / 4,
            ]
        )

    def _twelve(self, components: FloatArray) -> FloatArray:
        """Fx Fy Fz of the sensors 1 to 4: the pairs of `_eight` in halves."""
        x12, x34, y14, y23, z1, z2, z3, z4 = self._eight(components).T
        return np.column_stack([x12 / 2, y14 / 2, z1, x12 / 2, y23 / 2, z2, x34 / 2, y23 / 2, z3, x34 / 2, y14 / 2, z4])


def _sum_of_eight(a: float, b: float) -> FloatArray:
    """Matrix (6, 8) from the forces of eight sensors at (+-a, +-b) m to N and Nmm."""
    z = np.zeros(4)
    return np.array(
        [
            [1, 1, 0, 0, *z],
            [0, 0, 1, 1, *z],
            [0, 0, 0, 0, 1, 1, 1, 1],
            [*z, 1e3 * b, 1e3 * b, -1e3 * b, -1e3 * b],
            [*z, -1e3 * a, 1e3 * a, 1e3 * a, -1e3 * a],
            [-1e3 * b, 1e3 * b, 1e3 * a, -1e3 * a, *z],
        ]
    )
