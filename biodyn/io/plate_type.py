"""A plate whose channels are not those of the type that the file declares: moments read as places, or places as moments.

Types 1 and 2 have six channels each and differ in the fourth and fifth: the centre of pressure, or the moments about the level
axes. A moment grows with the load and is small while a foot comes and goes; a centre of pressure is then at the heel or the toes,
as far from the plate's middle as ever. That tells them apart, whatever their unit.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.recording import ForcePlate
from biodyn.recording.plates import sides_of

_PLACES, _MOMENTS = 1, 2  # types with the centre of pressure, with moments
# Light and heavy loads, as shares of the largest; a plate that is never loaded so much tells nothing.
_LIGHT, _HEAVY, _LEAST_N, _LEAST_SAMPLES = (0.05, 0.2), 0.6, 100.0, 10
_LEAST_LOAD_S = 0.05  # of a step, on average: what comes and goes faster is noise
# Size of both channels in light loads over that in heavy ones. 81 plates of public recordings: moments .09 to .34 (under a pole
# .74), centres of pressure .71 to 1.4.
_GROWS, _STAYS = 0.45, 0.6
_INSIDE = 0.9  # share of the heavy samples in which the other reading puts the centre of pressure on the plate
_LEAST_PLACE_M = 0.005  # moments in Nm are larger than places in m: read as such they are no longer any
_UNITS = (1.0, 1e3)  # moments in N mm or N m, read as mm


def mistaken_types(plates: Sequence[ForcePlate]) -> tuple[Diagnostic, ...]:
    """Return a finding for every plate whose channels are those of the other type of 1 and 2, by its own steps."""
    return tuple(
        _note(plate) for plate in plates if plate.type in (_PLACES, _MOMENTS) and plate.outlined and _is_mistaken(plate)
    )


def _is_mistaken(plate: ForcePlate) -> bool:
    known = plate.channels[np.isfinite(plate.channels[:, :5]).all(axis=1)]
    if not len(known):
        return False
    low, high = np.percentile(known[:, 2], [2.0, 98.0])
    rest = low if abs(low) < abs(high) else high
    load = np.abs(known[:, 2] - rest)
    largest = float(high - low)
    light = (load > _LIGHT[0] * largest) & (load < _LIGHT[1] * largest)
    heavy = load > _HEAVY * largest
    if largest < _LEAST_N or min(light.sum(), heavy.sum()) < _LEAST_SAMPLES:
        return False
    loads = 1 + int((np.diff(heavy.astype(np.int8)) > 0).sum())
    if heavy.sum() < _LEAST_LOAD_S * plate.rate_hz * loads:
        return False
    told = known[:, 3:5]
    if plate.type == _PLACES:
        levers = told[heavy][:, ::-1] * (-1.0, 1.0) / known[heavy, 2:3]
        grows = _rms(told[light]) < _GROWS * _rms(told[heavy])
        return grows and any(_on_plate(plate, unit * levers) for unit in _UNITS)
    stays = _rms(told[light]) > _STAYS * _rms(told[heavy])
    return stays and _rms(told[heavy]) > _LEAST_PLACE_M and _on_plate(plate, told[heavy])


def _rms(rows: FloatArray) -> float:
    """Of two columns, without the few samples that are none: a plate that is left reads places far away."""
    return float(np.sqrt(np.median(np.sum(rows**2, axis=1))))


def _on_plate(plate: ForcePlate, places: FloatArray) -> bool:
    """Whether most of the places (n, 2) m from the middle, plate axes, lie on the plate."""
    return bool((np.abs(places) < sides_of(plate.corners) / 2.0).all(axis=1).mean() > _INSIDE)


def _note(plate: ForcePlate) -> Diagnostic:
    other = _MOMENTS if plate.type == _PLACES else _PLACES
    channels = ", ".join(plate.channel_labels[3:5]) or "4, 5"
    says = "grow with the load, as moments do" if other == _MOMENTS else "stay as large in light loads, as places do"
    return Diagnostic(
        "plate-type",
        "error",
        f"Plate {plate.number} is declared as type {plate.type}, but its channels are those of type {other}: {channels} {says}. "
        "Nothing was changed: its centre of pressure and moments are wrong.",
        value=float(plate.type),
        limit=float(other),
        hint=f"Set FORCE_PLATFORM:TYPE of this plate to {other} in the capture software and export the trial again.",
        about=f"plate {plate.number}",
    )
