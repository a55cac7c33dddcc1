"""Determine the unit of length from the stated unit, the size of the person and the size of the force plates.

Some programs state one unit and write another, for the points, the corners of the plates, or both. If the stated unit gives an
impossible size of a person or plate, it is multiplied by the only power of ten that gives a possible size.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic, plate_list_text
from biodyn.geometry.points import all_finite
from biodyn.io.name_tables import keep_letters
from biodyn.recording import ForcePlate
from biodyn.recording.plates import plate_sides

#: Factors between m, cm and mm.
FACTORS = (1e-3, 0.1, 10.0, 1e3)
#: Accepted side lengths of plates, and those required of a corrected unit, m (treadmill belts are the longest plates).
ANY_PLATE_M, PLATE_M = (0.1, 4.0), (0.2, 3.0)
# Accepted largest extent of a person's markers in a frame, and that required of a corrected unit, m: from the hips of a small
# child to an arm above the head.
_ANY_BODY_M, _BODY_M = (0.25, 3.5), (0.45, 2.6)


class PlateUnit(NamedTuple):
    """Metres per file unit of a plate: for its corners, its ORIGIN, and the lever arm of moments without a stated unit."""

    corners: float
    origin: float
    moments: float


@dataclass(frozen=True)
class LengthUnit:
    """Metres per file unit of the markers, and the units of the plates with a possible size, by plate number."""

    markers: float
    plates: Mapping[int, PlateUnit]
    diagnostics: tuple[Diagnostic, ...] = ()


def length_unit(
    text: str,
    known: Mapping[str, float],
    markers: FloatArray,
    plates: Sequence[ForcePlate] = (),
    person: bool = False,
    entry: str = "POINT:UNITS",
) -> LengthUnit:
    """Return the units of points and plates, corrected if the stated unit implies an implausible size of body or plate.

    Args:
        text: stored unit. known: metres per unit, by the letters of the unit. markers: (T, M, 3) file units.
        plates: force plates, read as if the file unit were the metre. person: whether the file stores data of a person.
        entry: name of the file entry that states the unit, for messages.
    """
    stated = known.get(keep_letters(text))
    span = _marker_extent(markers)
    if stated is None:
        unit = next((u for u in (0.001, 1.0, 0.01) if is_within(span * u, _ANY_BODY_M)), 0.001)
        text_of_note = (
            f"The file states '{text}' as {entry}, which is not a known unit; {unit:g} m per unit is assumed from the size "
            f"of the body."
        )
        notes: tuple[Diagnostic, ...] = (
            Diagnostic("unit-corrected", "warning", text_of_note, value=span * unit, unit="m"),
        )
        stated = unit
    else:
        factor, notes = _marker_unit_factor(entry, text, stated, markers, span * stated, person or bool(plates))
        unit = stated * factor
    units, plate_notes = _plate_units(text, stated, unit, plates)
    return LengthUnit(unit, units, (*notes, *plate_notes))


def is_within(value: float, limits: tuple[float, float]) -> bool:
    """Return whether a value is within (lower, upper) limits, inclusive."""
    return limits[0] <= value <= limits[1]


def _marker_unit_factor(
    entry: str, text: str, stated: float, markers: FloatArray, span: float, person: bool
) -> tuple[float, tuple[Diagnostic, ...]]:
    """Return the factor by which the stated unit of the markers must be multiplied, and a note.

    span: extent (m) of the markers in the stated unit. The factor is 1 if this is plausible or if no power of ten makes it so.
    """
    fewest_markers = 4
    fewest_of_a_person = 10  # fewer may be a wand or a calibration frame, whose unit can only be wrong by a thousand
    count, outermost_share = markers.shape[1], 0.1
    too_small = span < _ANY_BODY_M[0]
    too_large = span > _ANY_BODY_M[1] and _marker_extent(markers, outermost_share) * stated > _ANY_BODY_M[1]
    if count < fewest_markers or not (too_small or too_large):
        return 1.0, ()
    # Hands and tools are small; only a person has so many markers over several metres.
    person = count >= fewest_of_a_person and (span > _ANY_BODY_M[1] or person)
    possible = [
        factor
        for factor in FACTORS
        if (person or factor in (FACTORS[0], FACTORS[-1]))
        and is_within(span * factor, _ANY_BODY_M if factor in (FACTORS[0], FACTORS[-1]) else _BODY_M)
    ]
    if not possible:
        return 1.0, ()
    factor = possible[0]
    return factor, (
        Diagnostic(
            "unit-corrected",
            "warning",
            f"The file states '{text}' as {entry}, in which the markers would span {span:.3g} m. Their positions are read with "
            f"{stated * factor:.4g} m per unit instead (factor {factor:.4g}), so that they span {span * factor:.2f} m.",
            value=span,
            limit=_ANY_BODY_M[1] if span > _ANY_BODY_M[1] else _ANY_BODY_M[0],
            unit="m",
            hint=f"Correct {entry} in the export settings.",
        ),
    )


def _marker_extent(markers: FloatArray, outermost_share: float = 0.0) -> float:
    """Return the largest extent of the markers along an axis in a typical frame, file units.

    The fraction `outermost_share` of the markers at each end is ignored. The extent is 0 if no two markers are seen
    together.
    """
    frames = markers[:: max(1, markers.shape[0] // 50)]
    seen = all_finite(frames)
    counts = seen.sum(axis=1)
    extents = []
    for count in np.unique(counts[counts >= 2]):  # frames with the same number of markers are evaluated together
        alike = counts == count
        points = frames[alike][seen[alike]].reshape(-1, count, 3)
        low, high = points.min(axis=1), points.max(axis=1)
        if outermost_share:
            low, high = np.quantile(points, [outermost_share, 1.0 - outermost_share], axis=1)
        extents.append((high - low).max(axis=1))
    if not extents:
        return 0.0
    with np.errstate(over="ignore"):  # mean of two damaged values
        return float(np.median(np.concatenate(extents)))


# -- plates -----------------------------------------------------------------------------------------------------------


def _plate_units(
    text: str, stated: float, of_markers: float, plates: Sequence[ForcePlate]
) -> tuple[dict[int, PlateUnit], tuple[Diagnostic, ...]]:
    """Return the units of the plates by number (none for a plate of impossible size in any unit), and notes on corrections."""
    sides = {plate.number: plate_sides(plate.corners) for plate in plates}
    fits = {unit: [_is_plate_size(sides[p.number], unit, ANY_PLATE_M) for p in plates] for unit in (stated, of_markers)}
    best = next((unit for unit, fit in fits.items() if all(fit)), max(fits, key=lambda unit: sum(fits[unit])))
    corners = {plate.number: best for plate, fit in zip(plates, fits[best], strict=True) if fit}
    others = [plate.number for plate in plates if plate.number not in corners]
    notes: tuple[Diagnostic, ...] = ()
    if others:
        which = plate_list_text(others) if corners else "The force plates"
        corrected, note = _corrected_corner_unit(text, stated, which, [sides[number] for number in others])
        corners |= {} if corrected is None else dict.fromkeys(others, corrected)
        notes = (note,)
    units = {}
    for plate in plates:
        if plate.number in corners:
            unit = corners[plate.number]
            origin = _origin_unit(plate, sides[plate.number], unit, stated)
            # moments without a unit are in N times the stated length unit; with corrected corners, in N times the unit of
            # ORIGIN
            units[plate.number] = PlateUnit(unit, origin, unit if unit == stated else origin)
    return units, notes


def _is_plate_size(sides: FloatArray, unit: float, allowed: tuple[float, float]) -> bool:
    return is_within(float(sides.min()) * unit, allowed) and is_within(float(sides.max()) * unit, allowed)


def _corrected_corner_unit(
    text: str, stated: float, which: str, sides: Sequence[FloatArray]
) -> tuple[float | None, Diagnostic]:
    """Return the unit that gives plates of possible size (None if no power of ten does), and the finding."""
    size = " x ".join(f"{side * stated:.3g}" for side in sides[0])
    unit = next((stated * f for f in FACTORS if all(_is_plate_size(pair, stated * f, PLATE_M) for pair in sides)), None)
    wrong = f"{which} would measure {size} m in the unit that POINT:UNITS states ('{text}')"
    if unit is None:
        return None, Diagnostic(
            "plate-not-used",
            "error",
            f"{wrong}, and no other unit gives a possible size. The plate is not used.",
            hint="Correct FORCE_PLATFORM:CORNERS or POINT:UNITS, and export the trial again.",
        )
    largest_m = float(sides[0].max()) * stated
    return unit, Diagnostic(
        "unit-corrected",
        "warning",
        f"{wrong}. The corners are read with {unit:.4g} m per unit instead (factor {unit / stated:.4g}), which gives "
        f"{sides[0][0] * unit:.2f} x {sides[0][1] * unit:.2f} m.",
        value=largest_m,
        limit=ANY_PLATE_M[1] if largest_m > ANY_PLATE_M[1] else ANY_PLATE_M[0],
        unit="m",
        hint="Correct FORCE_PLATFORM:CORNERS in the export settings.",
    )


def _origin_unit(plate: ForcePlate, sides: FloatArray, corners: float, stated: float) -> float:
    """Return metres per unit of ORIGIN: the unit of the corners, or the stated one if the former gives an impossible position."""
    if corners == stated or plate.type == 1 or not np.any(plate.origin):  # type 1 does not use it
        return corners
    half_m = 0.5 * sides * corners
    return next((unit for unit in (corners, stated) if _is_sensor_position(plate, half_m, unit)), corners)


def _is_sensor_position(plate: ForcePlate, half_m: FloatArray, unit: float) -> bool:
    """Return whether ORIGIN in this unit is a possible sensor position in a plate with half side lengths (2,) m."""
    depth_m = (0.008, 0.2)  # in the available plates the sensors are 16 to 101 mm below the surface
    farthest = 1.2  # share of the half side length
    origin = np.abs(plate.origin) * unit
    # ORIGIN holds half the distances of four sensors: within the plate and not all at its centre
    if plate.type in (3, 6, 7):
        return all(is_within(value, (0.3, farthest)) for value in origin[:2] / half_m)
    return is_within(float(origin[2]), depth_m) and bool((origin[:2] <= half_m.max() * farthest).all())
