"""The unit of plates' moments, against their lever: a foot stands some centimetres from where a plate has its origin.

Files say N mm of moments in N m, say the opposite, or say nothing; of all plates or of one. A thousandfold too small, the
horizontal moments of a step have a lever of a tenth of a millimetre about the sensor; too large, of many metres. No foot and no
plate makes either. A pole that calibrates a plate may stand as near to its centre: its force comes from one point, and where it
tilts, the moment about a sensor below the surface changes with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

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
# A force from one point has a lever about it that stays; it wanders by less than this share of the lever about the sensor.
_WANDERS = 0.5


@dataclass(frozen=True)
class _Lever:
    """Lever of a plate's loads about the sensor, RMS, and how far that about the surface wanders, standard deviation; m."""

    size_m: float
    wanders_m: float

    @property
    def factor(self) -> float:
        """What the moments ask to be multiplied with, by themselves."""
        if _TOO_LONG_M[0] < self.size_m < _TOO_LONG_M[1]:
            return _FACTORS[1]
        short = _TOO_SHORT_M[0] < self.size_m < _TOO_SHORT_M[1]
        return _FACTORS[0] if short and self.wanders_m > _WANDERS * self.size_m else 1.0


def corrected_moments(plates: Sequence[ForcePlate]) -> tuple[tuple[ForcePlate, ...], tuple[Diagnostic, ...]]:
    """Return the plates with moments in Nm, and what was corrected: each plate by its own loads.

    Plates that nobody stepped on and off again say nothing: they follow the others where these agree.
    """
    levers = [_lever(plate) if plate.type in _WITH_MOMENTS else None for plate in plates]
    factors = {lever.factor for lever in levers if lever is not None}
    shared = factors.pop() if len(factors) == 1 else 1.0
    chosen = [shared if lever is None else lever.factor for lever in levers]
    moments = [plate.type in _WITH_MOMENTS for plate in plates]
    wrong = [n for n, factor in enumerate(chosen) if factor != 1.0 and moments[n]]
    scaled = tuple(_scaled(plate, factor) for plate, factor in zip(plates, chosen, strict=True))
    whole = len(wrong) == sum(moments)
    notes = []
    for factor in _FACTORS:
        own = [n for n in wrong if chosen[n] == factor]
        told = [lever.size_m for n in own if (lever := levers[n]) is not None]
        if told:
            notes.append(_note(told, factor, [] if whole else [plates[n].number for n in own]))
    return scaled if notes else tuple(plates), tuple(notes)


def _lever(plate: ForcePlate) -> _Lever | None:
    """Lever of the horizontal moments of the loads; None without a load or where noise is as large."""
    outputs = plate.outputs
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
    lever, direction = (known[loaded, columns] / known[loaded, 2:3] for columns in (slice(3, 5), slice(0, 2)))
    # M_surface = M_sensor + F x ORIGIN, with either sign of ORIGIN; what stays does not wander
    tilted = plate.origin[2] * direction[:, ::-1] * (1.0, -1.0)
    wanders = min(_rms(at - at.mean(axis=0)) for at in (lever + tilted, lever - tilted))
    return _Lever(moment / _rms(known[loaded, 2:3]), wanders)


def _rms(rows: FloatArray) -> float:
    return float(np.sqrt(np.mean(np.sum(rows**2, axis=1))))


def _scaled(plate: ForcePlate, factor: float) -> ForcePlate:
    """The plate with its three moments times the factor."""
    if plate.type not in _WITH_MOMENTS or factor == 1.0:
        return plate
    factors = np.where(np.arange(6) < 3, 1.0, factor)
    if plate.cal_matrix is None:
        return replace(plate, channels=plate.channels * factors)
    return replace(plate, cal_matrix=plate.cal_matrix * factors[:, None])


def _note(levers: Sequence[float], factor: float, numbers: Sequence[int]) -> Diagnostic:
    """`numbers` of the plates, none where it is all of them."""
    lever = float(np.median(levers))
    which = f"force plate {numbers[0]}" if len(numbers) == 1 else "the force plates"
    if len(numbers) > 1:
        which = f"force plates {', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"
    return Diagnostic(
        "moment-unit-corrected",
        "warning",
        f"In the unit that the file gives them, the moments of {which} have a lever of {lever:.2g} m, which no foot on "
        f"a plate has; they are used {'1000 times larger' if factor > 1.0 else 'as a thousandth'}: {lever * factor:.2g} m.",
        value=lever,
        limit=_TOO_SHORT_M[1] if factor > 1.0 else _TOO_LONG_M[0],
        unit="m",
        hint="Correct ANALOG:UNITS (or ANALOG:SCALE) of the moment channels in the export settings: N and Nmm are usual.",
    )
