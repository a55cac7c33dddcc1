"""What a plate's manufacturer says of the error of its centre of pressure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from biodyn.conventions import FloatArray

#: Powers of the coordinate that is corrected, and of the other one, in the order of the coefficients.
POWERS = np.array([[3, 4], [3, 2], [3, 0], [1, 4], [1, 2], [1, 0]])


@dataclass(frozen=True)
class CopCorrection:
    """Kistler's polynomial: a plate bends under the load, so that the centre of pressure is read too far out or in.

    For x as measured dx = (P1 y^4 + P2 y^2 + P3) x^3 + (P4 y^4 + P5 y^2 + P6) x, the true place is x - dx; for y with x and y
    exchanged and coefficients of its own. Odd in the one and even in the other, so it is the same whichever way the axes point.
    Source: Kistler, Multicomponent Force Plate for Biomechanics Type 9287C, instruction manual, section 8.4.3.

    Beyond the sensors the powers grow fast: no place on the plate is corrected to one beside it.

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
        return np.column_stack([term @ own for term, own in zip(terms, self.coefficients, strict=True)])
