"""FORCE_PLATFORM:FPCOPPOLY: the manufacturer's correction of a plate's centre of pressure, whatever way it was written."""

from __future__ import annotations

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.recording.plates import CopCorrection

COUNT = 12
_MM = 1e-3  # Kistler's coefficients are for millimetres
# Kistler's plates err by up to 30 mm about their sensors; a polynomial in the wrong unit or order by metres.
_LARGEST_M = 0.05


def cop_correction(
    number: int, values: FloatArray, dims: list[int], half_sides: FloatArray, unit: float
) -> tuple[CopCorrection | None, tuple[Diagnostic, ...]]:
    """Return the correction of plate `number`, None where the file has none, and a finding where it makes no sense.

    values: (12,) as stored, none or all 0 where there is no correction; dims: of the parameter; half_sides: (2,) m of the plate;
    unit: metres a unit of the corners. Written by plate, then by coordinate or by power: dims tell. Lengths are in mm or in the
    unit of the corners: that in which the correction is a small one.
    """
    if values.size != COUNT or not values.any():
        return None, ()
    by_power = len(dims) >= 2 and dims[0] == 2
    stored = values.reshape(6, 2).T if by_power else values.reshape(2, 6)
    sizes = []
    for length in dict.fromkeys((_MM, unit)):
        correction = CopCorrection.of_unit(stored, length, half_sides)
        sizes.append(correction.largest())
        if sizes[-1] <= _LARGEST_M:
            return correction, ()
    size = float(np.nanmin(sizes)) if np.isfinite(sizes).any() else float("inf")
    note = Diagnostic(
        "plate-cop-correction-unused",
        "warning",
        f"FORCE_PLATFORM:FPCOPPOLY of plate {number} would move its centre of pressure between the sensors by up to "
        f"{1e3 * size:.3g} mm; it is not used.",
        value=size,
        limit=_LARGEST_M,
        unit="m",
        hint="Enter the coefficients of the plate's calibration sheet in the capture software and export the trial again.",
    )
    return None, (note,)
