"""Markers on a coupled multibody: where they are, and how its coordinates move them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from biodyn.conventions import FloatArray, IntArray
from biodyn.rigid_body.coupling.coupled import CoupledMultibody

_STEP: Final = 1e-6  # rad, m: half the digits of a double
_MOST_ROWS: Final = 20_000  # of one call: memory stays small


@dataclass(frozen=True, eq=False)
class FollowedMarkers:
    """M markers: bodies (M,), places (M, 3) m on them, weights (T, M), 0 where a marker is not seen."""

    bodies: IntArray
    places: FloatArray
    weights: FloatArray

    def positions(self, coupled: CoupledMultibody, q: FloatArray) -> FloatArray:
        """Return where the markers are (T, M, 3) m in the configurations q (T, n)."""
        found = np.empty((len(q), len(self.bodies), 3))
        for start in range(0, len(q), _MOST_ROWS):
            at = slice(start, start + _MOST_ROWS)
            R, p = coupled.body_poses(q[at])
            found[at] = np.einsum("tmij,mj->tmi", R[:, self.bodies], self.places) + p[:, self.bodies]
        return found

    def by_coordinates(self, coupled: CoupledMultibody, q: FloatArray) -> FloatArray:
        """Return the derivatives (T, M, 3, n) of the markers' positions in the configurations q (T, n)."""
        frames, n = q.shape
        found = np.empty((frames, len(self.bodies), 3, n))
        for k in range(n):
            step = np.zeros(n)
            step[k] = _STEP
            found[..., k] = (self.positions(coupled, q + step) - self.positions(coupled, q - step)) / (2.0 * _STEP)
        return found
