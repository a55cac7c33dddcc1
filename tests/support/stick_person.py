"""A stick person of sixteen markers walking through the tests of reading, and force plates for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

LABELS = ["LASI", "RASI", "LPSI", "RPSI"] + [s + m for s in "LR" for m in ("THI", "KNE", "TIB", "ANK", "HEE", "TOE")]
# mm, laboratory axes: x across to the right, y ahead, z up
PERSON_MM = np.array(
    [
        [-120, 90, 950],
        [120, 90, 950],
        [-50, -80, 960],
        [50, -80, 960],
        [-180, 20, 700],
        [-130, 20, 500],
        [-170, 0, 300],
        [-120, 0, 90],
        [-100, -50, 50],
        [-110, 130, 45],
        [180, 20, 690],
        [130, 20, 500],
        [170, 0, 310],
        [120, 0, 90],
        [100, -50, 50],
        [110, 130, 45],
    ],
    dtype=float,
)
RATE_HZ = 100.0
#: Writes a C3D file into the test's folder: the fixture `write_c3d` of the tests of reading.
Writer = Callable[..., Path]


def person_mm(frame_count: int = 60, speed_mm_s: float = 0.0) -> np.ndarray:
    """(T, 16, 3) mm: the stick person standing, or gliding ahead."""
    travel = np.arange(frame_count)[:, None, None] / RATE_HZ * np.array([0.0, speed_mm_s, 0.0])
    return PERSON_MM[None] + travel


def plate_parameters(
    kind: int = 2, count: int = 1, channels: int = 6, origin_mm: Sequence[float] = (0.0, 0.0, -40.0)
) -> dict[str, Any]:
    """FORCE_PLATFORM of plates 400 x 600 mm side by side along y, z pointing down (as Vicon and AMTI have it)."""
    corners = np.empty((3, 4, count))
    for p in range(count):
        low, high = 600.0 * p, 600.0 * (p + 1)
        corners[:, :, p] = np.array([[200, high, 0], [200, low, 0], [-200, low, 0], [-200, high, 0]]).T
    return {
        "FORCE_PLATFORM:USED": [count],
        "FORCE_PLATFORM:TYPE": [kind] * count,
        "FORCE_PLATFORM:ZERO": [1, 0],
        "FORCE_PLATFORM:CORNERS": corners,
        "FORCE_PLATFORM:ORIGIN": np.tile(np.asarray(origin_mm, dtype=float)[:, None], (1, count)),
        "FORCE_PLATFORM:CHANNEL": np.arange(1, channels * count + 1).reshape(count, channels).T,
    }
