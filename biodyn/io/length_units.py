"""The unit of lengths: what the file states, against the size of the body, the size of the plates, and feet on plates.

Exporters state one unit and write another, for the points, the corners of the plates, or both. What a person and a plate
can measure tells; where two factors remain possible, feet that are on a plate while it is loaded do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.errors import InputFileError
from biodyn.geometry.points import all_finite
from biodyn.io.names import letters
from biodyn.io.plate_size import (
    ANY_PLATE_M,
    FACTORS,
    PLATE_M,
    SizedPlate,
    are_plates,
    best_agreement,
    sized_plate,
    within,
)
from biodyn.io.plate_units import PlateUnit, plate_units
from biodyn.recording import ForcePlate

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
            "length-unit-guessed",
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
        "length-unit-corrected",
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
