"""The unit of the plates' geometry: corners by the size of plates, ORIGIN by where plates have their sensors.

Writers state one unit and write corners, ORIGIN, or those of one plate in another: metres in a file of millimetres.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic, plates_in_words
from biodyn.io.plate_size import ANY_PLATE_M, FACTORS, PLATE_M, SizedPlate, are_plates, best_agreement, within
from biodyn.io.pressure_unit import unit_under_feet
from biodyn.recording import ForcePlate

# Types whose ORIGIN holds the half distances of four sensors, and those that do not use it.
_FOUR_SENSORS, _WITHOUT_ORIGIN = (3, 6, 7), (1,)
# Sensors lie 16 to 101 mm below the surface on the shared plates (0: not told); nobody builds one 1 mm or half a metre deep.
_ANY_DEPTH_M, _DEPTH_M = (0.001, 0.5), (0.008, 0.2)
# Half distances of four sensors as a share of the plate's half sides: they are within it, and not all in its middle.
_ANY_HALF, _HALF = (0.02, 2.0), (0.3, 1.2)


class PlateUnit(NamedTuple):
    """Metres per file unit of a plate's corners and of its ORIGIN; of moments that state no unit, N times `moments` metres."""

    corners: float
    origin: float
    moments: float


def plate_units(
    text: str,
    stated: float,
    corrected: float,
    plates: Sequence[SizedPlate],
    markers_m: FloatArray,
) -> tuple[Mapping[int, PlateUnit], tuple[Diagnostic, ...]]:
    """The units of the plates by number, none of a plate that has no possible size, and what was corrected.

    `plates`: read as if the file unit were the metre. `text`, `stated`: the file's unit and its metres; `corrected`:
    those of the markers; markers_m: (T, M, 3) m.
    """
    corners, notes = _corner_units(text, stated, corrected, plates, markers_m)
    origins, origin_notes = _origin_units(stated, corners, plates)
    moments = _moment_units(stated, corners, origins, plates, markers_m)
    units = {number: PlateUnit(unit, origins[number], moments[number]) for number, unit in corners.items()}
    return units, (*notes, *origin_notes)


# -- corners --------------------------------------------------------------------------------------------------------


def _corner_units(
    text: str,
    stated: float,
    corrected: float,
    plates: Sequence[SizedPlate],
    markers_m: FloatArray,
) -> tuple[dict[int, float], tuple[Diagnostic, ...]]:
    """Metres a unit of each plate's corners: the stated unit, that of the markers, or the one under which feet are on it."""
    fits = {unit: [are_plates([plate.sides], unit, ANY_PLATE_M) for plate in plates] for unit in (stated, corrected)}
    unit = next((unit for unit, fit in fits.items() if all(fit)), max(fits, key=lambda unit: sum(fits[unit])))
    units = {plate.number: unit for plate, fit in zip(plates, fits[unit], strict=True) if fit}
    others = [plate for plate, fit in zip(plates, fits[unit], strict=True) if not fit]
    if not others:
        return units, ()
    numbers = [plate.number for plate in others]
    own, note = _other_unit(text, stated, "" if not units else plates_in_words(numbers), others, markers_m)
    if own is not None:
        units |= dict.fromkeys(numbers, own)
    return units, (note,)


def _other_unit(
    text: str, stated: float, which: str, plates: Sequence[SizedPlate], markers_m: FloatArray
) -> tuple[float | None, Diagnostic]:
    """The unit that makes plates of corners which are none in the stated one; `which`: "" for all of the file."""
    sides = [plate.sides for plate in plates]
    size = " x ".join(f"{side * stated:.3g}" for side in sides[0])
    possible = [stated * f for f in FACTORS if are_plates(sides, stated * f, PLATE_M)]
    best = possible[0] if len(possible) == 1 else None
    evidence = "no other unit gives a plate"
    if len(possible) > 1:
        best = best_agreement([(unit, markers_m, unit) for unit in possible], plates)
        evidence = "the feet are then on the plates while those are loaded"
    what = which or "The force plates"
    if best is None:
        sizes = " or ".join(f"{sides[0][0] * u:.2f} x {sides[0][1] * u:.2f} m" for u in possible) or "no possible size"
        return None, Diagnostic(
            "plate-size",
            "error",
            f"{what} would measure {size} m in the unit that POINT:UNITS states ('{text}'), another unit gives "
            f"{sizes}: {'' if which else 'the plates are '}not used.",
            hint="Correct FORCE_PLATFORM:CORNERS or POINT:UNITS, and export the trial again.",
        )
    return best, Diagnostic(
        "plate-unit-corrected",
        "warning",
        f"{what} would measure {size} m in the unit that POINT:UNITS states ('{text}'); {best:.4g} m a unit is "
        f"used for the corners instead (factor {best / stated:.4g}): {sides[0][0] * best:.2f} x {sides[0][1] * best:.2f} m, "
        f"{evidence}.",
        value=float(sides[0].max() * stated),
        limit=ANY_PLATE_M[1] if float(sides[0].max()) * stated > ANY_PLATE_M[1] else ANY_PLATE_M[0],
        unit="m",
        hint="Correct FORCE_PLATFORM:CORNERS in the export settings.",
    )


# -- ORIGIN ---------------------------------------------------------------------------------------------------------


def _origin_units(
    stated: float, corners: Mapping[int, float], plates: Sequence[SizedPlate]
) -> tuple[dict[int, float], tuple[Diagnostic, ...]]:
    """Metres a unit of each plate's ORIGIN: that of its corners, unless only another one puts sensors where plates have them."""
    units: dict[int, float] = {}
    moved: list[tuple[int, str]] = []
    for sized in plates:
        plate = sized.plate
        if plate.number not in corners:
            continue
        unit = corners[plate.number]
        half_m = 0.5 * sized.sides * unit
        # where the corners have a unit of their own, the one stated is as likely for the rest
        doubted = unit != stated
        own = _origin_unit(plate, half_m, (unit, stated) if doubted else (unit, 1e3 * unit, 1e-3 * unit), doubted)
        units[plate.number] = own
        if own not in (unit, stated):
            moved.append((plate.number, f"{_told(plate, unit)} to {_told(plate, own)}"))
    if not moved:
        return units, ()
    numbers = [number for number, _ in moved]
    note = Diagnostic(
        "origin-unit-corrected",
        "warning",
        f"FORCE_PLATFORM:ORIGIN of {plates_in_words(numbers).lower()} is in another unit than the corners: with "
        f"{units[numbers[0]]:.4g} m a unit it changes from {moved[0][1]}.",
        hint="Correct FORCE_PLATFORM:ORIGIN or CORNERS in the export settings: both are in POINT:UNITS.",
    )
    return units, (note,)


def _origin_unit(plate: ForcePlate, half_m: FloatArray, candidates: Sequence[float], doubted: bool) -> float:
    """The first candidate unless it is impossible (where it is `doubted`, unusual) and another one usual."""
    first, *others = candidates
    if plate.type in _WITHOUT_ORIGIN or not np.any(plate.origin) or _places(plate, half_m, first, usual=doubted):
        return first
    return next((unit for unit in others if _places(plate, half_m, unit, usual=True)), first)


def _places(plate: ForcePlate, half_m: FloatArray, unit: float, usual: bool) -> bool:
    """Whether ORIGIN in this unit puts the sensors where plates have them, or (not `usual`) where they could be."""
    origin = np.abs(plate.origin) * unit
    if plate.type in _FOUR_SENSORS:
        return all(within(value, _HALF if usual else _ANY_HALF) for value in origin[:2] / half_m)
    if not usual:
        return origin[2] == 0.0 or within(float(origin[2]), _ANY_DEPTH_M)
    # beside the centre no farther than the plate reaches
    return within(float(origin[2]), _DEPTH_M) and bool((origin[:2] <= half_m.max() * _HALF[1]).all())


def _told(plate: ForcePlate, unit: float) -> str:
    place = np.abs(plate.origin) * unit * 1000.0
    if plate.type in _FOUR_SENSORS:
        return f"sensors {place[0]:.3g} and {place[1]:.3g} mm beside the centre"
    return f"a sensor {place[2]:.3g} mm below the surface"


# -- moments --------------------------------------------------------------------------------------------------------


def _moment_units(
    stated: float,
    corners: Mapping[int, float],
    origins: Mapping[int, float],
    plates: Sequence[SizedPlate],
    markers_m: FloatArray,
) -> dict[int, float]:
    """Metres a unit of moments that state none: that of the plate's corners where it is the stated one.

    Where it is not, that of ORIGIN, unless only another one puts the pressure under the feet. A plate that does not tell
    follows the others where these agree.
    """
    units = {number: unit if unit == stated else origins[number] for number, unit in corners.items()}
    others = {number: tuple(dict.fromkeys((units[number], stated, unit))) for number, unit in corners.items()}
    doubted = [plate for plate in plates if len(others.get(plate.number, ())) > 1]
    told = {
        plate.number: unit_under_feet(plate, corners[plate.number], others[plate.number], markers_m)
        for plate in doubted
    }
    known = {unit for unit in told.values() if unit is not None}
    for number, unit in told.items():
        shared = next(iter(known)) if len(known) == 1 else None
        units[number] = unit or (shared if shared in others[number] else None) or units[number]
    return units
