"""A force plate as stored in a file, and the manufacturer's correction of its centre of pressure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from biodyn.conventions import FloatArray, Side

if TYPE_CHECKING:
    import pandas as pd

#: Powers of the corrected coordinate and of the other one, in the order of the coefficients.
POWERS = np.array([[3, 4], [3, 2], [3, 0], [1, 4], [1, 2], [1, 0]])


@dataclass(frozen=True)
class CopCorrection:
    """Kistler's polynomial for the error of the centre of pressure due to bending of the plate.

    For measured x, dx = (P1 y^4 + P2 y^2 + P3) x^3 + (P4 y^4 + P5 y^2 + P6) x, and the true position is x - dx; for y with x
    and y exchanged and other coefficients. It is odd in one coordinate and even in the other, so the signs of the axes do not
    matter.
    Source: Kistler, Multicomponent Force Plate for Biomechanics Type 9287C, instruction manual, section 8.4.3.

    Because the powers grow fast beyond the sensors, corrected positions are limited to the plate.

    Attributes:
        coefficients: (2, 6) for x and y, lengths in m. half_sides: (2,) m, half side lengths of the plate.
    """

    coefficients: FloatArray
    half_sides: FloatArray

    @classmethod
    def from_length_unit(cls, coefficients: FloatArray, length_m: float, half_sides: FloatArray) -> CopCorrection:
        """Return the correction from coefficients (2, 6) for a length unit of `length_m` metres; half_sides: (2,) m."""
        return cls(coefficients * length_m ** (1.0 - POWERS.sum(axis=1)), half_sides)

    def errors(self, places: FloatArray) -> FloatArray:
        """Return the errors (T, 2) m of measured centres of pressure (T, 2) m relative to the plate centre; NaN is kept."""
        within = np.maximum(self.half_sides, np.abs(places))
        corrected = places - self._polynomials(np.clip(places, -self.half_sides, self.half_sides))
        return np.asarray(places - np.clip(corrected, -within, within))

    def largest_error(self) -> float:
        """Return the largest error (m) between the sensors: within 0.6 of the half sides."""
        x, y = (np.linspace(-0.6 * half, 0.6 * half, 21) for half in self.half_sides)
        return float(np.abs(self._polynomials(np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2))).max())

    def _polynomials(self, places: FloatArray) -> FloatArray:
        x, y = places.T
        terms = [a[:, None] ** POWERS[:, 0] * b[:, None] ** POWERS[:, 1] for a, b in ((x, y), (y, x))]
        return np.column_stack(
            [term @ coefficients for term, coefficients in zip(terms, self.coefficients, strict=True)]
        )


def plate_sides(corners: FloatArray) -> FloatArray:
    """Return the side lengths (2,) of a plate along x and y, in the unit of its corners (4, 3) (see `ForcePlate`)."""
    return np.asarray(np.linalg.norm([corners[0] - corners[1], corners[0] - corners[3]], axis=1))


@dataclass(frozen=True)
class ForcePlate:
    """One force plate as stored: channels in N and Nm (CoP channels of type 1 in m), geometry in laboratory axes.

    Attributes:
        number: 1-based number in the file.
        type: C3D FORCE_PLATFORM:TYPE.
        corners: (4, 3) m, in C3D order (+x+y, -x+y, -x-y, +x-y in plate axes).
        origin: (3,) m, FORCE_PLATFORM:ORIGIN of this plate, plate axes.
        channels: (Ta, C) analog samples at `rate_hz`, scaled to physical units; offset not removed.
        rate_hz: analog samples per second; an integer multiple of the marker rate.
        cal_matrix: (6, C) for types 4 and 5, (C, C) for types 6 and 7, in SI units; None for all other types.
        zero_frames: first and last marker frame (0-based, inclusive) of the unloaded baseline, None if not stated.
        channel_labels: the analog labels, for messages.
        outlined: whether `corners` are those of the plate. False for forces of a table without corners: `corners` then enclose
            the centre of pressure and do not indicate the edges of the plate.
        cop_correction: the manufacturer's correction of the centre of pressure, None if the file has none.
        side: side of the foot on which the force acts according to the file, None if not stated.
        sensitivity: (6, 6) correction of force and moment about the surface centre, see `plate_calibration`; None for none.
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
        """Return the channels, multiplied by the calibration matrix if there is one: (Ta, 6) or (Ta, C)."""
        return self.channels if self.cal_matrix is None else self.channels @ self.cal_matrix.T

    def to_frame(self) -> pd.DataFrame:
        """Return a table: time_s, then the channels as stored, N, Nm or m; offsets are not removed."""
        import pandas as pd

        names = self.channel_labels or tuple(f"channel_{number + 1}" for number in range(self.channels.shape[1]))
        frame = pd.DataFrame(self.channels, columns=list(names))
        frame.insert(0, "time_s", np.arange(len(self.channels)) / self.rate_hz, allow_duplicates=True)
        return frame

    def select_frames(self, first: int, stop: int, marker_rate_hz: float) -> ForcePlate:
        """Return the samples of the marker frames from `first` to before `stop`."""
        begin, end = (round(frame * self.rate_hz / marker_rate_hz) for frame in (first, stop))
        zero = self.zero_frames
        is_inside = zero is not None and first <= zero[0] and zero[1] < stop
        kept = (zero[0] - first, zero[1] - first) if zero is not None and is_inside else None
        return replace(self, channels=self.channels[begin:end], zero_frames=kept)

    def rotated(self, R: FloatArray) -> ForcePlate:
        """Return the same plate with its corners multiplied by R (3, 3)."""
        return replace(self, corners=self.corners @ R.T)
