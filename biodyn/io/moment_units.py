"""The unit of plates' moments, against their lever: a foot stands some centimetres from where a plate has its origin.

Files say N mm of moments in N m, say the opposite, or say nothing. A thousandfold too small, the horizontal moments of a step
have a lever of a tenth of a millimetre about the sensor; too large, of many metres. No foot and no plate makes either.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.recording import ForcePlate

# Types with moments among their channels, or behind their calibration matrix.
_WITH_MOMENTS = (2, 4, 5)
# Levers (RMS of a load, m) that a thousandfold makes of the second range: from a foot in the middle, whose force runs through a
# sensor some centimetres below it, to the farther end of a treadmill.
_TOO_SHORT_M, _TOO_LONG_M = (5e-6, 5e-4), (10.0, 3e3)
_FACTORS = (1e3, 1e-3)
# A load stands out by this; beside it, the moments are this much smaller than in it, or they are noise.
_LOADED_N, _LOADED_SHARE = 100.0, 0.3
_OVER_NOISE = 5.0


def corrected_moments(plates: Sequence[ForcePlate]) -> tuple[tuple[ForcePlate, ...], tuple[Diagnostic, ...]]:
    """Return the plates with moments in Nm, and what was corrected: all of a file's plates or none.

    Plates that nobody stepped on and off again say nothing. Where loaded plates contradict each other nothing is changed.
    """
    levers = [lever for plate in plates if plate.type in _WITH_MOMENTS and (lever := _lever_m(plate)) is not None]
    for (low, high), factor in zip((_TOO_SHORT_M, _TOO_LONG_M), _FACTORS, strict=True):
        if levers and all(low < lever < high for lever in levers):
            return tuple(_scaled(plate, factor) for plate in plates), (_note(levers, factor, high),)
    return tuple(plates), ()


def _lever_m(plate: ForcePlate) -> float | None:
    """RMS of the horizontal moments of the loads over that of their force, m; None without a load or where noise is as large."""
    outputs = plate.channels if plate.cal_matrix is None else plate.channels @ plate.cal_matrix.T
    known = outputs[np.isfinite(outputs).all(axis=1)]
    if not len(known):
        return None
    low, high = np.percentile(known[:, 2], [2.0, 98.0])
    rest = low if abs(low) < abs(high) else high
    loaded = np.abs(known[:, 2] - rest) > _LOADED_SHARE * (high - low)
    empty = np.abs(known[:, 2] - rest) < 0.1 * _LOADED_SHARE * (high - low)
    if high - low < _LOADED_N or loaded.sum() < 3 or empty.sum() < 3:
        return None
    known = known - np.median(known[empty], axis=0)
    moment = _rms(known[loaded, 3:5])
    if moment <= _OVER_NOISE * _rms(known[empty, 3:5]):
        return None
    return moment / _rms(known[loaded, 2:3])


def _rms(rows: FloatArray) -> float:
    return float(np.sqrt(np.mean(np.sum(rows**2, axis=1))))


def _scaled(plate: ForcePlate, factor: float) -> ForcePlate:
    """The plate with its three moments times the factor."""
    if plate.type not in _WITH_MOMENTS:
        return plate
    factors = np.where(np.arange(6) < 3, 1.0, factor)
    if plate.cal_matrix is None:
        return replace(plate, channels=plate.channels * factors)
    return replace(plate, cal_matrix=plate.cal_matrix * factors[:, None])


def _note(levers: Sequence[float], factor: float, limit: float) -> Diagnostic:
    lever = float(np.median(levers))
    return Diagnostic(
        "moment-unit-corrected",
        "warning",
        f"In the unit that the file gives them, the moments of the force plates have a lever of {lever:.2g} m, which no foot on "
        f"a plate has; they are used {'1000 times larger' if factor > 1.0 else 'as a thousandth'}: {lever * factor:.2g} m.",
        value=lever,
        limit=limit,
        unit="m",
        hint="Correct ANALOG:UNITS (or ANALOG:SCALE) of the moment channels in the export settings: N and Nmm are usual.",
    )
