"""The unit of lengths: what the file states, against the size of the body, the size of the plates, and feet on plates.

Exporters state one unit and write another, for the points, the corners of the plates, or both. What a person and a plate
can measure tells; where two factors remain possible, feet that are on a plate while it is loaded do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from biodyn.conventions import BoolArray, FloatArray
from biodyn.diagnostics import Diagnostic, plates_in_words
from biodyn.errors import InputFileError
from biodyn.geometry.points import all_finite
from biodyn.io.names import letters
from biodyn.recording import ForcePlate
from biodyn.recording.plates import sides_of

#: Factors between units and slips: mm, cm and m; millimetres and inches.
FACTORS = (1e-3, 1.0 / 25.4, 0.1, 10.0, 25.4, 1e3)
#: Sides of plates, m: not to be doubted, and what a corrected unit must give (belts of treadmills are the longest).
ANY_PLATE_M = (0.1, 4.0)
PLATE_M = (0.2, 3.0)
# A marker of a foot on a plate is lower than this over it, and not farther than this beside it.
_FOOT_HEIGHT_M, _BESIDE_M = 0.15, 0.05
_LOADED_N, _LOADED_SHARE = 100.0, 0.3
_FRAMES = 300
# Share of the frames, loaded and unloaded alike, in which feet and plates agree; and the lead that decides.
_AGREES, _LEAD = 0.75, 0.1


@dataclass(frozen=True)
class SizedPlate:
    """A plate in file units with its sides (2,), and the marker frames in which it is loaded, None = unknown."""

    plate: ForcePlate
    sides: FloatArray
    loaded: BoolArray | None

    @property
    def number(self) -> int:
        """As in the file."""
        return self.plate.number


def sized_plate(plate: ForcePlate, frames: int) -> SizedPlate:
    """Return sides and loads of a plate that was read as if the file unit were the metre; `frames` of the markers."""
    return SizedPlate(plate, sides_of(plate.corners), _loaded(plate, frames))


def are_plates(sides: Sequence[FloatArray], factor: float, allowed: tuple[float, float]) -> bool:
    """Return whether all sides (2,) times the factor are within the allowed range."""
    return all(
        within(float(side.min()) * factor, allowed) and within(float(side.max()) * factor, allowed) for side in sides
    )


def _loaded(plate: ForcePlate, frames: int) -> BoolArray | None:
    """Marker frames in which the plate is clearly loaded, by the force along its normal; None where it never is."""
    outputs = plate.outputs
    force = outputs[:, 4:8].sum(axis=1) if plate.type == 3 else outputs[:, 2]
    force = force[np.minimum(np.arange(frames) * len(force) // max(frames, 1), len(force) - 1)]
    known = force[np.isfinite(force)]
    if not len(known):
        return None
    low, high = np.percentile(known, [2.0, 98.0])
    if high - low < _LOADED_N:
        return None
    rest = low if abs(low) < abs(high) else high
    loaded = np.abs(np.nan_to_num(force, nan=rest) - rest) > _LOADED_SHARE * (high - low)
    return loaded if 3 <= np.count_nonzero(loaded) <= frames - 3 else None


# -- feet on plates -------------------------------------------------------------------------------------------------


def best_agreement(candidates: Sequence[tuple[float, FloatArray, float]], plates: Sequence[SizedPlate]) -> float | None:
    """Return the candidate (value, markers in m, metres a unit of the plates) under which feet are on loaded plates, if clear."""
    scores = [(_agreement(markers, plates, unit), value) for value, markers, unit in candidates]
    scores.sort(reverse=True)
    clear = scores[0][0] >= _AGREES and scores[0][0] >= scores[1][0] + _LEAD
    return scores[0][1] if clear else None


def _agreement(markers_m: FloatArray, plates: Sequence[SizedPlate], unit: float) -> float:
    """Mean share of loaded frames with, and of unloaded frames without, a marker low over the plate; 0 if none tells."""
    rows = np.arange(0, len(markers_m), max(1, len(markers_m) // _FRAMES))
    shares = []
    for plate in plates:
        if plate.loaded is None or not (plate.loaded[rows].any() and (~plate.loaded[rows]).any()):
            continue
        _, over = low_markers(plate, unit, markers_m[rows])
        there, loaded = np.asarray(over.any(axis=1)), plate.loaded[rows]
        shares.append(0.5 * (there[loaded].mean() + (~there[~loaded]).mean()))
    return float(np.mean(shares)) if shares else 0.0


def low_markers(plate: SizedPlate, unit: float, markers_m: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Return where markers (T, M, 3) m are from the middle of a plate along its x and y (T, M, 2), m, and which are low over it.

    `unit`: metres a unit of the corners.
    """
    corners = plate.plate.corners * unit
    x, y = (corners[0] - corners[1]), (corners[0] - corners[3])
    axes = np.stack([x / np.linalg.norm(x), y / np.linalg.norm(y)])
    local = (markers_m - corners.mean(axis=0)) @ axes.T
    height = np.abs((markers_m - corners.mean(axis=0)) @ np.cross(axes[0], axes[1]))
    with np.errstate(invalid="ignore"):
        over = (np.abs(local) < plate.sides * unit / 2.0 + _BESIDE_M).all(axis=2) & (height < _FOOT_HEIGHT_M)
    return local, over


def within(value: float, limits: tuple[float, float]) -> bool:
    """Return whether a value lies within limits."""
    return limits[0] <= value <= limits[1]


# Types whose ORIGIN holds the half distances of four sensors, and those that do not use it.
_FOUR_SENSORS, _WITHOUT_ORIGIN = (3, 6, 7), (1,)
# Sensors are 16 to 101 mm below the surface of the shared plates.
_DEPTH_M = (0.008, 0.2)
# Half distances of four sensors as a share of the plate's half sides: they are within it, and not all in its middle.
_HALF = (0.3, 1.2)


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
    units = {}
    for plate in plates:
        if plate.number in corners:
            unit = corners[plate.number]
            origin = _origin_unit(plate, unit, stated)
            # moments that state no unit are in N times the stated one; of corrected corners, in that of ORIGIN
            units[plate.number] = PlateUnit(unit, origin, unit if unit == stated else origin)
    return units, notes


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
            "plate-not-used",
            "error",
            f"{what} would measure {size} m in the unit that POINT:UNITS states ('{text}'), another unit gives "
            f"{sizes}: {'' if which else 'the plates are '}not used.",
            hint="Correct FORCE_PLATFORM:CORNERS or POINT:UNITS, and export the trial again.",
        )
    return best, Diagnostic(
        "unit-corrected",
        "warning",
        f"{what} would measure {size} m in the unit that POINT:UNITS states ('{text}'); {best:.4g} m a unit is "
        f"used for the corners instead (factor {best / stated:.4g}): {sides[0][0] * best:.2f} x {sides[0][1] * best:.2f} m, "
        f"{evidence}.",
        value=float(sides[0].max() * stated),
        limit=ANY_PLATE_M[1] if float(sides[0].max()) * stated > ANY_PLATE_M[1] else ANY_PLATE_M[0],
        unit="m",
        hint="Correct FORCE_PLATFORM:CORNERS in the export settings.",
    )


# -- ORIGIN and moments ---------------------------------------------------------------------------------------------


def _origin_unit(sized: SizedPlate, corners: float, stated: float) -> float:
    """Metres a unit of ORIGIN: that of the corners, or the stated one where corrected corners give no sensor a possible place."""
    plate, half_m = sized.plate, 0.5 * sized.sides * corners
    if corners == stated or plate.type in _WITHOUT_ORIGIN or not np.any(plate.origin):
        return corners
    return next((unit for unit in (corners, stated) if _is_sensor_place(plate, half_m, unit)), corners)


def _is_sensor_place(plate: ForcePlate, half_m: FloatArray, unit: float) -> bool:
    """Whether ORIGIN in this unit puts the sensors where plates have them."""
    origin = np.abs(plate.origin) * unit
    if plate.type in _FOUR_SENSORS:
        return all(within(value, _HALF) for value in origin[:2] / half_m)
    # beside the centre no farther than the plate reaches
    return within(float(origin[2]), _DEPTH_M) and bool((origin[:2] <= half_m.max() * _HALF[1]).all())


_THOUSANDS = (1e-3, 1e3)
# A person's markers span a good part of their height in every frame. Outside the first range no person is measured; a
# corrected unit must give the second one: from the hips of a small child to an arm held over the head.
_ANY_BODY_M = (0.25, 3.5)
_BODY_M = (0.45, 2.6)
_OF_HEIGHT = (0.45, 1.3)  # the same as a share of the height stored in the file
# Fewer markers may be a wand or a calibration frame; a thousandfold is wrong for those too.
_FEWEST_MARKERS, _FEWEST_OF_A_PERSON = 4, 10
_TRIMMED = 0.1  # markers at either end that may be outliers


@dataclass(frozen=True)
class LengthUnit:
    """Metres per file unit of the markers, and of the plates, by number, whose geometry gives a plate in some unit."""

    markers: float
    plates: Mapping[int, PlateUnit]
    diagnostics: tuple[Diagnostic, ...] = ()


def length_unit(
    name: str,
    text: str,
    known: Mapping[str, float],
    markers: FloatArray,
    plates: Sequence[ForcePlate],
    height_m: float | None,
    entry: str = "POINT:UNITS",
) -> LengthUnit:
    """The unit of points and of plates, corrected where what the file states gives no person or no plate.

    Args:
        name: of the file, for messages. text: the unit as stored; known: letters of a unit -> metres.
        markers: (T, M, 3) file units. plates: read as if the file unit were the metre. height_m: stored, None = not.
        entry: of the file, that states the unit, for messages.

    Raises InputFileError where the markers' unit is wrong and two corrections are possible.
    """
    stated = known.get(letters(text))
    spans = _spans(markers)
    span = spans[0]
    geometry = [sized_plate(plate, len(markers)) for plate in plates]
    if stated is None:
        unit = next((u for u in (0.001, 1.0, 0.01) if within(span * u, _ANY_BODY_M)), 0.001)
        note = Diagnostic(
            "unit-corrected",
            "warning",
            f"{entry} is '{text}', which is no known unit; {unit:g} m a unit is taken from the body's size.",
            value=span * unit,
            unit="m",
        )
        units, notes = plate_units(text, unit, unit, geometry, markers * unit)
        return LengthUnit(unit, units, (note, *notes))
    factor, notes = _marker_factor(name, entry, text, stated, markers, spans, geometry, height_m)
    units, plate_notes = plate_units(text, stated, stated * factor, geometry, markers * stated * factor)
    return LengthUnit(stated * factor, units, (*notes, *plate_notes))


# -- markers --------------------------------------------------------------------------------------------------------


def _marker_factor(
    name: str,
    entry: str,
    text: str,
    stated: float,
    markers: FloatArray,
    spans: tuple[float, float],
    plates: Sequence[SizedPlate],
    height_m: float | None,
) -> tuple[float, tuple[Diagnostic, ...]]:
    """Factor on the stated unit of the markers, 1 where a person fits it or nothing better is known."""
    span, trimmed = spans[0] * stated, spans[1] * stated
    wrong = (max(span, trimmed) < _ANY_BODY_M[0]) or (min(span, trimmed) > _ANY_BODY_M[1])
    if not wrong or markers.shape[1] < _FEWEST_MARKERS:
        return 1.0, ()
    # Nothing but people is measured with so many markers over many metres; hands and tools are small. Where plates or a
    # body height are stored, the file is of a person.
    person = markers.shape[1] >= _FEWEST_OF_A_PERSON and (span > _ANY_BODY_M[1] or bool(plates) or height_m is not None)
    factors = FACTORS if person else _THOUSANDS
    possible = [f for f in factors if within(span * f, _ANY_BODY_M if f in _THOUSANDS else _BODY_M)]
    evidence = [f"the body then spans {{:.2f}} m instead of {span:.3g} m"]
    if len(possible) > 1 and height_m:
        fitting = [f for f in possible if within(span * f / height_m, _OF_HEIGHT)]
        if fitting and len(fitting) < len(possible):
            possible = fitting
            evidence.append(f"the file stores a height of {height_m:.2f} m")
    sides = [plate.sides * stated for plate in plates]
    if len(possible) > 1 and sides and not are_plates(sides, 1.0, ANY_PLATE_M):
        fitting = [f for f in possible if are_plates(sides, f, PLATE_M)]
        if fitting and len(fitting) < len(possible):
            possible = fitting
            evidence.append("the plates have a possible size with the same factor")
    if len(possible) > 1 and sides and are_plates(sides, 1.0, PLATE_M):
        best = best_agreement([(f, markers * stated * f, stated) for f in possible], plates)
        if best is not None:
            possible = [best]
            evidence.append("the feet are then on the plates while those are loaded")
    if len(possible) > 1:
        sizes = " or ".join(f"{span * f:.2f} m (factor {f:.3g})" for f in possible)
        raise InputFileError(
            f"The markers of '{name}' would span {span:.3g} m in the unit that {entry} states ('{text}'); a person could "
            f"span {sizes}, and nothing in the file tells which.",
            f"Correct {entry} or export the trial again in millimetres.",
        )
    if not possible:
        return 1.0, ()
    factor = possible[0]
    note = Diagnostic(
        "unit-corrected",
        "warning",
        f"{entry} says '{text}', but then the markers would span {span:.3g} m; {stated * factor:.4g} m a unit is used "
        f"instead (factor {factor:.4g}): {'; '.join(evidence).format(span * factor)}.",
        value=span,
        limit=_ANY_BODY_M[1] if span > _ANY_BODY_M[1] else _ANY_BODY_M[0],
        unit="m",
        hint=f"Correct {entry} in the export settings.",
    )
    return factor, (note,)


def _spans(markers: FloatArray) -> tuple[float, float]:
    """Largest extent of the markers in a typical frame, file units: of all, and without the share `_TRIMMED` at either end.

    0 where two markers are never seen together.
    """
    frames = markers[:: max(1, markers.shape[0] // 50)]
    seen = all_finite(frames)
    counts = seen.sum(axis=1)
    extents = []
    for count in np.unique(counts[counts >= 2]):  # frames with equally many markers at once
        alike = counts == count
        points = frames[alike][seen[alike]].reshape(-1, count, 3)
        first, low, high, last = np.quantile(points, [0.0, _TRIMMED, 1.0 - _TRIMMED, 1.0], axis=1)
        extents.append(np.stack([(last - first).max(axis=1), (high - low).max(axis=1)]))
    if not extents:
        return 0.0, 0.0
    with np.errstate(over="ignore"):  # the mean of two damaged ones
        whole, trimmed = np.median(np.concatenate(extents, axis=1), axis=1)
    return float(whole), float(trimmed)
