"""The moment about the vertical through the centre of pressure, of tables that do not say about which point their moments are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from biodyn.conventions import BoolArray, FloatArray

_UNITS = (1.0, 1e-3)  # N m, N mm
# RMS across the floor that may be left, Nm: centres of pressure are written to the millimetre; and as a share of what is left
# where the stored moments are taken for nothing.
_ACROSS_NM, _ACROSS_SHARE = 2.0, 0.1
#: No foot twists a plate like that, Nm.
LARGEST_FREE_NM = 200.0


@dataclass(frozen=True)
class FreeMoment:
    """What was found.

    Attributes:
        moment: (T,) N m about the axis `up` through the centre of pressure. about: (3,) m the point of the stored moments, None
            where they are about the centre of pressure itself, or about no one point: `told` is False then, and moment 0.
    """

    moment: FloatArray
    about: FloatArray | None
    told: bool = True


def free_moment(force: FloatArray, moment: FloatArray, pressure: FloatArray, loaded: BoolArray, up: int) -> FreeMoment:
    """Return the free moment of (T, 3) forces N at the centres of pressure `pressure` m, of stored moments in N m or N mm.

    On a floor across the axis `up` (0, 1, 2) no moment acts at the centre of pressure but the free one. What is left of the
    stored one across tells the one fixed point it is about, and its unit; where none explains it, it is about the centre of
    pressure or not told. Asked are the rows `loaded` (T,); of the others the numbers mean no more than what is stored there.
    """
    across = [axis for axis in range(3) if axis != up]
    F, p, M = force[loaded], pressure[loaded], moment[loaded]
    if not len(F):
        return FreeMoment(np.zeros(len(force)), None)
    # stored = free + (p - about) x F, and about x F = -[F]x about
    rows = np.zeros((len(F), 3, 3))
    for a, b, c in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        rows[:, a, b], rows[:, a, c] = F[:, c], -F[:, b]
    level = rows[:, across].reshape(-1, 3)
    lever = np.cross(p, F)[:, across].ravel()

    def fitted(unit: float) -> tuple[float, FloatArray]:
        """What is left across, RMS Nm, and the point that leaves least."""
        wanted = lever - unit * M[:, across].ravel()
        about: FloatArray = np.linalg.lstsq(level, wanted, rcond=None)[0].astype(np.float64)
        return float(np.sqrt(np.mean((level @ about - wanted) ** 2))), about

    enough = max(_ACROSS_NM, _ACROSS_SHARE * fitted(0.0)[0])
    (left, about), unit = min(((fitted(unit), unit) for unit in _UNITS), key=lambda one: one[0][0])
    if left <= enough:
        whole = unit * moment - np.cross(pressure - about, force)
        return FreeMoment(whole[:, up], about)
    unit = next(unit for unit in _UNITS if np.abs(unit * M[:, up]).max() < LARGEST_FREE_NM or unit == _UNITS[-1])
    if float(np.sqrt(np.mean((unit * M[:, across]) ** 2))) <= _ACROSS_NM:
        return FreeMoment(unit * moment[:, up], None)
    return FreeMoment(np.zeros(len(force)), None, told=False)
