"""The inertia of a segment, and how inertias are moved and added."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from biodyn.conventions import FloatArray


@dataclass(frozen=True)
class Inertia:
    """Rigid-body inertia in body axes: mass kg, centre of mass (3,) m from the body origin, tensor (3, 3) kg m2 about it."""

    mass: float
    com: FloatArray
    tensor: FloatArray

    def moved(self, R: FloatArray, p: FloatArray) -> Inertia:
        """The same inertia seen from axes in which this body has rotation R (3, 3) and origin p (3,)."""
        return Inertia(self.mass, R @ self.com + p, R @ self.tensor @ R.T)

    def __add__(self, other: Inertia) -> Inertia:
        mass = self.mass + other.mass
        if mass == 0.0:
            return Inertia(0.0, np.zeros(3), np.zeros((3, 3)))
        com = (self.mass * self.com + other.mass * other.com) / mass
        tensor = self.tensor + other.tensor
        for part in (self, other):
            d = part.com - com
            tensor = tensor + part.mass * ((d @ d) * np.eye(3) - np.outer(d, d))
        return Inertia(mass, com, tensor)


ZERO_INERTIA = Inertia(0.0, np.zeros(3), np.zeros((3, 3)))
