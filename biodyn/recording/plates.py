"""A force plate as a file stores it, and the manufacturer's correction of its centre of pressure."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from biodyn.conventions import FloatArray, Side

#: Powers of the corrected and of the other coordinate, in the order of the coefficients.
POWERS = np.array([[3, 4], [3, 2], [3, 0], [1, 4], [1, 2], [1, 0]])


@dataclass(frozen=True)
class CopCorrection:
    """Kistler's polynomial: a plate bends under the load, so that the centre of pressure is read too far out or in.

    For x as measured dx = (P1 y^4 + P2 y^2 + P3) x^3 + (P4 y^4 + P5 y^2 + P6) x, the true place is x - dx; for y with x and y
    exchanged and coefficients of its own. Odd in the one and even in the other, so it is the same whichever way the axes point.
    Source: Kistler, Multicomponent Force Plate for Biomechanics Type 9287C, instruction manual, section 8.4.3.

    Beyond the sensors the powers grow fast: corrected places stay on the plate.

    Attributes:
        coefficients: (2, 6) of x and y, lengths in m. half_sides: (2,) m of the plate.
    """

    coefficients: FloatArray
    half_sides: FloatArray

    @classmethod
    def of_unit(cls, coefficients: FloatArray, length_m: float, half_sides: FloatArray) -> CopCorrection:
        """Return the correction of coefficients (2, 6) for lengths in a unit of `length_m` metres; half_sides (2,) in m."""
        return cls(coefficients * length_m ** (1.0 - POWERS.sum(axis=1)), half_sides)

    def errors(self, places: FloatArray) -> FloatArray:
        """Return how far the measured centres of pressure (T, 2), m from the plate's centre, are off, (T, 2) m; NaN stays."""
        within = np.maximum(self.half_sides, np.abs(places))
        corrected = places - self._polynomials(np.clip(places, -self.half_sides, self.half_sides))
        return np.asarray(places - np.clip(corrected, -within, within))

    def largest(self) -> float:
        """Return the largest value of the polynomials about the sensors, m: within 0.6 of the half sides."""
        x, y = (np.linspace(-0.6 * half, 0.6 * half, 21) for half in self.half_sides)
        return float(np.abs(self._polynomials(np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2))).max())

    def _polynomials(self, places: FloatArray) -> FloatArray:
        x, y = places.T
        terms = [a[:, None] ** POWERS[:, 0] * b[:, None] ** POWERS[:, 1] for a, b in ((x, y), (y, x))]
        return np.column_stack(
            [term @ coefficients for term, coefficients in zip(terms, self.coefficients, strict=True)]
        )


def plate_sides(corners: FloatArray) -> FloatArray:
    """Return the lengths (2,) of a plate along its x and y axes, by its corners (4, 3) in their unit, see `ForcePlate`."""
    return np.asarray(np.linalg.norm([corners[0] - corners[1], corners[0] - corners[3]], axis=1))


@dataclass(frozen=True)
class ForcePlate:
    """One force plate as stored: channels in N and Nm (CoP channels of type 1 in m), geometry in the file's frame.

    Attributes:
        number: 1-based number in the file.
        type: C3D FORCE_PLATFORM:TYPE.
        corners: (4, 3) m, in the C3D order (+x+y, -x+y, -x-y, +x-y of the plate's own axes).
        origin: (3,) m, FORCE_PLATFORM:ORIGIN of this plate, plate axes.
        channels: (Ta, C) analog samples at `rate_hz`, scaled to physical units; offset not removed.
        rate_hz: analog samples per second; an integer multiple of the marker rate.
        cal_matrix: (6, C) of types 4 and 5, (C, C) of types 6 and 7, already for SI units; None for all others.
        zero_frames: first and last marker frame (0-based, inclusive) of the unloaded baseline, None if the file names none.
        channel_labels: the analog labels, for messages.
        outlined: whether `corners` are those of the plate. False: of a table of forces without corners; they are around the
            centre of pressure, and say nothing of the plate's edge.
        cop_correction: of the centre of pressure, where the manufacturer gives one and the file holds it.
        side: of the foot on which the file says that the force acts, None where it does not say.
        sensitivity: (6, 6) correction of force and moment about the surface centre, see `plate_calibration`; None without one.
    """

    number: int
    type: int
    corners: FloatArray
    origin: FloatArray
    channels: FloatArray
    rate_hz: float
    cal_matrix: FloatArray | None = None
    zero_frames: tuple[int, int] | None = None
    channel_labels: tuple[str, ...] = ()
    cop_correction: CopCorrection | None = None
    outlined: bool = True
    side: Side | None = None
    sensitivity: FloatArray | None = None

    @property
    def outputs(self) -> FloatArray:
        """The channels as stored, or what the calibration matrix makes of them where there is one: (Ta, 6) or (Ta, C)."""
        return self.channels if self.cal_matrix is None else self.channels @ self.cal_matrix.T

    def part(self, first: int, stop: int, marker_rate_hz: float) -> ForcePlate:
        """Return the samples of the marker frames from `first` to before `stop`."""
        begin, end = (round(frame * self.rate_hz / marker_rate_hz) for frame in (first, stop))
        zero = self.zero_frames
        is_inside = zero is not None and first <= zero[0] and zero[1] < stop
        kept = (zero[0] - first, zero[1] - first) if zero is not None and is_inside else None
        return replace(self, channels=self.channels[begin:end], zero_frames=kept)

    def rotated(self, R: FloatArray) -> ForcePlate:
        """Return the same plate with its corners multiplied by R (3, 3)."""
        return replace(self, corners=self.corners @ R.T)
