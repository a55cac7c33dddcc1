"""How large plates are, and whether feet are on them while they are loaded: what tells the unit of markers and plates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from biodyn.conventions import BoolArray, FloatArray
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
