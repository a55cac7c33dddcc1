"""The unit of lengths: what the file states, against the size of the body, the size of the plates, and feet on plates.

Exporters state one unit and write another, for the points, the corners of the plates, or both. What a person and a plate
can measure tells; where two factors remain possible, feet that are on a plate while it is loaded do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from biodyn.conventions import BoolArray, FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.errors import InputFileError
from biodyn.io.names import letters
from biodyn.recording import ForcePlate

# Units and slips between them: mm, cm and m; millimetres and inches.
_FACTORS = (1e-3, 1.0 / 25.4, 0.1, 10.0, 25.4, 1e3)
_THOUSANDS = (1e-3, 1e3)
# A person's markers span a good part of their height in every frame. Outside the first range no person is measured; a
# corrected unit must give the second one: from the hips of a small child to an arm held over the head.
_ANY_BODY_M = (0.25, 3.5)
_BODY_M = (0.45, 2.6)
_OF_HEIGHT = (0.45, 1.3)  # the same as a share of the height stored in the file
# Sides of plates: not to be doubted, and what a corrected unit must give (belts of treadmills are the longest).
_ANY_PLATE_M = (0.1, 4.0)
_PLATE_M = (0.2, 3.0)
# Fewer markers may be a wand or a calibration frame; a thousandfold is wrong for those too.
_FEWEST_MARKERS, _FEWEST_OF_A_PERSON = 4, 10
_TRIMMED = 0.1  # markers at either end that may be outliers
# A marker of a foot on a plate is lower than this over it, and not farther than this beside it.
_FOOT_HEIGHT_M, _BESIDE_M = 0.15, 0.05
_LOADED_N, _LOADED_SHARE = 100.0, 0.3
_FRAMES = 300
# Share of the frames, loaded and unloaded alike, in which feet and plates agree; and the lead that decides.
_AGREES, _LEAD = 0.75, 0.1


@dataclass(frozen=True)
class LengthUnit:
    """Metres per file unit of the markers and of the plate geometry; NaN where the plates' is not known."""

    markers: float
    plates: float
    diagnostics: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True)
class _Plate:
    """A plate in file units: its sides (2,), corners (4, 3), and the marker frames in which it is loaded, None = unknown."""

    sides: FloatArray
    corners: FloatArray
    loaded: BoolArray | None


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
    geometry = [_geometry(plate, len(markers)) for plate in plates]
    if stated is None:
        unit = next((u for u in (0.001, 1.0, 0.01) if _within(span * u, _ANY_BODY_M)), 0.001)
        note = Diagnostic(
            "length-unit-guessed",
            "warning",
            f"{entry} is '{text}', which is no known unit; {unit:g} m a unit is taken from the body's size.",
            value=span * unit,
            unit="m",
        )
        plate_unit, notes = _plate_unit(text, unit, unit, geometry, markers * unit)
        return LengthUnit(unit, plate_unit, (note, *notes))
    factor, notes = _marker_factor(name, entry, text, stated, markers, spans, geometry, height_m)
    plate_unit, plate_notes = _plate_unit(text, stated, stated * factor, geometry, markers * stated * factor)
    return LengthUnit(stated * factor, plate_unit, (*notes, *plate_notes))


# -- markers --------------------------------------------------------------------------------------------------------


def _marker_factor(
    name: str,
    entry: str,
    text: str,
    stated: float,
    markers: FloatArray,
    spans: tuple[float, float],
    plates: Sequence[_Plate],
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
    factors = _FACTORS if person else _THOUSANDS
    possible = [f for f in factors if _within(span * f, _ANY_BODY_M if f in _THOUSANDS else _BODY_M)]
    evidence = [f"the body then spans {{:.2f}} m instead of {span:.3g} m"]
    if len(possible) > 1 and height_m:
        fitting = [f for f in possible if _within(span * f / height_m, _OF_HEIGHT)]
        if fitting and len(fitting) < len(possible):
            possible = fitting
            evidence.append(f"the file stores a height of {height_m:.2f} m")
    sides = [plate.sides * stated for plate in plates]
    if len(possible) > 1 and sides and not _are_plates(sides, 1.0, _ANY_PLATE_M):
        fitting = [f for f in possible if _are_plates(sides, f, _PLATE_M)]
        if fitting and len(fitting) < len(possible):
            possible = fitting
            evidence.append("the plates have a possible size with the same factor")
    if len(possible) > 1 and sides and _are_plates(sides, 1.0, _PLATE_M):
        best = _best_agreement([(f, markers * stated * f, stated) for f in possible], plates)
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
    seen = np.asarray(np.isfinite(frames).all(axis=-1))
    counts = seen.sum(axis=1)
    extents = []
    for count in np.unique(counts[counts >= 2]):  # frames with equally many markers at once
        alike = counts == count
        points = frames[alike][seen[alike]].reshape(-1, count, 3)
        first, low, high, last = np.quantile(points, [0.0, _TRIMMED, 1.0 - _TRIMMED, 1.0], axis=1)
        extents.append(np.stack([(last - first).max(axis=1), (high - low).max(axis=1)]))
    if not extents:
        return 0.0, 0.0
    whole, trimmed = np.median(np.concatenate(extents, axis=1), axis=1)
    return float(whole), float(trimmed)


# -- plates ---------------------------------------------------------------------------------------------------------


def _plate_unit(
    text: str, stated: float, corrected: float, plates: Sequence[_Plate], markers_m: FloatArray
) -> tuple[float, tuple[Diagnostic, ...]]:
    """Metres a unit of the plates: the stated unit, that of the markers, or the one under which the feet are on them."""
    sides = [plate.sides for plate in plates]
    for unit in (stated, corrected):
        if not sides or _are_plates(sides, unit, _ANY_PLATE_M):
            return unit, ()
    size = " x ".join(f"{side * stated:.3g}" for side in sides[0])
    possible = [stated * f for f in _FACTORS if _are_plates(sides, stated * f, _PLATE_M)]
    best = possible[0] if len(possible) == 1 else None
    evidence = "no other unit gives a plate"
    if len(possible) > 1:
        best = _best_agreement([(unit, markers_m, unit) for unit in possible], plates)
        evidence = "the feet are then on the plates while those are loaded"
    if best is None:
        sizes = " or ".join(f"{sides[0][0] * u:.2f} x {sides[0][1] * u:.2f} m" for u in possible) or "no possible size"
        note = Diagnostic(
            "plate-size",
            "error",
            f"The force plates would measure {size} m in the unit that POINT:UNITS states ('{text}'), another unit gives "
            f"{sizes}: the plates are not used.",
            hint="Correct FORCE_PLATFORM:CORNERS or POINT:UNITS, and export the trial again.",
        )
        return float("nan"), (note,)
    note = Diagnostic(
        "plate-unit-corrected",
        "warning",
        f"The force plates would measure {size} m in the unit that POINT:UNITS states ('{text}'); {best:.4g} m a unit is "
        f"used for them instead (factor {best / stated:.4g}): {sides[0][0] * best:.2f} x {sides[0][1] * best:.2f} m, "
        f"{evidence}.",
        value=float(sides[0].max() * stated),
        limit=_ANY_PLATE_M[1] if float(sides[0].max()) * stated > _ANY_PLATE_M[1] else _ANY_PLATE_M[0],
        unit="m",
        hint="Correct FORCE_PLATFORM:CORNERS in the export settings.",
    )
    return best, (note,)


def _geometry(plate: ForcePlate, frames: int) -> _Plate:
    corners = plate.corners
    sides = np.array([np.linalg.norm(corners[0] - corners[1]), np.linalg.norm(corners[0] - corners[3])])
    return _Plate(sides, corners, _loaded(plate, frames))


def _are_plates(sides: Sequence[FloatArray], factor: float, allowed: tuple[float, float]) -> bool:
    return all(
        _within(float(side.min()) * factor, allowed) and _within(float(side.max()) * factor, allowed) for side in sides
    )


def _loaded(plate: ForcePlate, frames: int) -> BoolArray | None:
    """Marker frames in which the plate is clearly loaded, by the force along its normal; None where it never is."""
    channels = plate.channels if plate.cal_matrix is None else plate.channels @ plate.cal_matrix.T
    force = channels[:, 4:8].sum(axis=1) if plate.type == 3 else channels[:, 2]
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


def _best_agreement(candidates: Sequence[tuple[float, FloatArray, float]], plates: Sequence[_Plate]) -> float | None:
    """The candidate (value, markers in m, metres a unit of the plates) under which feet are on loaded plates, if clear."""
    scores = [(_agreement(markers, plates, unit), value) for value, markers, unit in candidates]
    scores.sort(reverse=True)
    clear = scores[0][0] >= _AGREES and scores[0][0] >= scores[1][0] + _LEAD
    return scores[0][1] if clear else None


def _agreement(markers_m: FloatArray, plates: Sequence[_Plate], unit: float) -> float:
    """Mean share of loaded frames with, and of unloaded frames without, a marker low over the plate; 0 if none tells."""
    rows = np.arange(0, len(markers_m), max(1, len(markers_m) // _FRAMES))
    shares = []
    for plate in plates:
        if plate.loaded is None or not (plate.loaded[rows].any() and (~plate.loaded[rows]).any()):
            continue
        corners = plate.corners * unit
        x, y = (corners[0] - corners[1]), (corners[0] - corners[3])
        axes = np.stack([x / np.linalg.norm(x), y / np.linalg.norm(y)])
        local = (markers_m[rows] - corners.mean(axis=0)) @ axes.T
        height = np.abs((markers_m[rows] - corners.mean(axis=0)) @ np.cross(axes[0], axes[1]))
        with np.errstate(invalid="ignore"):
            over = (np.abs(local) < plate.sides * unit / 2.0 + _BESIDE_M).all(axis=2) & (height < _FOOT_HEIGHT_M)
        there, loaded = over.any(axis=1), plate.loaded[rows]
        shares.append(0.5 * (there[loaded].mean() + (~there[~loaded]).mean()))
    return float(np.mean(shares)) if shares else 0.0


def _within(value: float, limits: tuple[float, float]) -> bool:
    return limits[0] <= value <= limits[1]
