"""The unit of moments that state none, where the plates' corners are in another unit than the file says.

Then two units are likely for them, that of the corners and the stated one, and both may give levers that plates have. Only in the
right one is the centre of pressure where a foot is while the plate is loaded.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.io.plate_size import SizedPlate, low_markers
from biodyn.recording import ForcePlate

# Types with moments among their channels or behind their matrix, and the one with places of the pressure.
_WITH_MOMENTS, _WITH_PLACES = (2, 4, 5), 1
# Under a foot with markers on heel and toes, the pressure is this near to one of them (median); in a unit ten times larger or
# smaller it lies beside the plate or stays about its middle.
_NEAR_M, _LEAD = 0.12, 1.5


def unit_under_feet(
    sized: SizedPlate, corners_m: float, candidates: Sequence[float], markers_m: FloatArray
) -> float | None:
    """The candidate, metres a unit, that puts the pressure under a foot, and the first one only if none is clearly nearer.

    None where the feet do not tell. corners_m: metres a unit of the corners; markers_m: (T, M, 3) m.
    """
    apart = {unit: _apart_m(sized, corners_m, unit, markers_m) for unit in candidates}
    best = min(apart, key=lambda unit: apart[unit])
    if apart[candidates[0]] <= _LEAD * apart[best]:
        best = candidates[0]
    return best if apart[best] < _NEAR_M else None


def _apart_m(sized: SizedPlate, corners_m: float, unit: float, markers_m: FloatArray) -> float:
    """Median distance from the pressure to the nearest low marker over the surface, m; infinite where nothing tells it."""
    levers = _levers(sized.plate)
    if levers is None or sized.loaded is None:
        return float("inf")
    rows = np.flatnonzero(sized.loaded)
    samples = np.minimum(rows * len(levers) // len(markers_m), len(levers) - 1)
    local, low = low_markers(sized, corners_m, markers_m[rows])
    apart = np.linalg.norm(local - unit * levers[samples, None, :], axis=2)
    nearest = np.min(np.where(low, apart, np.inf), axis=1, initial=np.inf)
    known = nearest[np.isfinite(nearest)]
    return float(np.median(known)) if len(known) else float("inf")


def _levers(plate: ForcePlate) -> FloatArray | None:
    """Where the vertical force acts from the sensor along the plate's x and y (Ta, 2), file units; None of other types.

    What a shear force adds about a sensor some centimetres below the surface is less than a centimetre.
    """
    if plate.type == _WITH_PLACES:
        return plate.channels[:, 3:5]
    if plate.type not in _WITH_MOMENTS:
        return None
    outputs = plate.outputs
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.stack([-outputs[:, 4], outputs[:, 3]], axis=1) / outputs[:, 2:3]
