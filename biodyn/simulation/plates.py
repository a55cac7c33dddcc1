"""Force plates of the simulated laboratory: from the wrench on them to the channels a file stores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.errors import PlateError

TYPES = (2, 3, 4)


@dataclass(frozen=True)
class Plate:
    """A level plate, its long side along the walkway.

    Attributes:
        type: 2 (forces and moments), 3 (eight forces), 4 (volts and a calibration matrix).
        centre_x_m, height_m, centre_z_m: of the surface along World X, Y and Z, m. length_m along X, width_m along Z.
        turned: its x axis points along -X.
        origin_m: ORIGIN of the file (3,): from the sensor's origin to the surface centre, plate axes (type 3: the
            sensors' half distances and that height).
    """

    type: int
    centre_x_m: float
    length_m: float = 0.6
    width_m: float = 0.4
    turned: bool = False
    origin_m: tuple[float, float, float] = (0.0004, -0.0007, -0.041)
    height_m: float = 0.0
    centre_z_m: float = 0.0

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
        offset = np.array(self.origin_m) * ((0.0, 0.0, 1.0) if self.type == 3 else (1.0, 1.0, 1.0))
        return np.hstack([force, moment - np.cross(force, offset)])  # M_surface = M_sensor + F x ORIGIN

    def channels(self, components: FloatArray) -> tuple[FloatArray, tuple[str, ...], tuple[str, ...]]:
        """Return the stored channels (T, C), their names and units, of forces and moments (T, 6) at the sensor."""
        if self.type == 3:
            return self._eight(components), ("Fx12", "Fx34", "Fy14", "Fy23", "Fz1", "Fz2", "Fz3", "Fz4"), ("N",) * 8
        names = ("Fx", "Fy", "Fz", "Mx", "My", "Mz")
        millimetres = components * np.array([1.0, 1.0, 1.0, 1e3, 1e3, 1e3])
        if self.type == 2:
            return millimetres, names, ("N",) * 3 + ("Nmm",) * 3
        return np.linalg.solve(self.calibration(), millimetres.T).T, names, ("V",) * 6

    def calibration(self) -> FloatArray:
        """CAL_MATRIX (6, 6) of a type 4 plate, N and Nmm per volt, with the crosstalk of real ones."""
        diagonal = np.diag([150.0, 150.0, 600.0, 3.0e5, 2.0e5, 1.0e5])
        crosstalk = np.random.default_rng(4).normal(scale=0.004, size=(6, 6))
        scale = np.sqrt(np.outer(np.diag(diagonal), np.diag(diagonal)))
        return diagonal + crosstalk * scale

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
