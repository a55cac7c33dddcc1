"""Which coordinates the markers that are seen leave open: those that can move, alone or together, while no marker does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from biodyn.conventions import BoolArray, FloatArray, IntArray
from biodyn.rigid_body.coupling.coupled import CoupledMultibody
from biodyn.rigid_body.marker_fit import UNDETERMINED, InverseKinematics

# The fit's own limit: of its own curvature, what is left to a coordinate when all others may follow (`kernels.coupled_ik`).
_DETERMINED: Final = 1e-5
_RIDGE: Final = 1e-10
_STEP: Final = 1e-6  # rad, m
# Frames looked at: which coordinates are open changes with the markers seen, and hardly within a walk.
_MOST_FRAMES: Final = 20


@dataclass(frozen=True, eq=False)
class FollowedMarkers:
    """The M markers of a fit: bodies (M,), places (M, 3) m on them, weights (T, M), 0 where a marker is not seen."""

    bodies: IntArray
    places: FloatArray
    weights: FloatArray

    def positions(self, coupled: CoupledMultibody, q: FloatArray) -> FloatArray:
        """Return where the markers are (T, M, 3) m in the configurations q (T, n)."""
        R, p = coupled.body_poses(q)
        return np.asarray(np.einsum("tmij,mj->tmi", R[:, self.bodies], self.places) + p[:, self.bodies])

    def by_coordinates(self, coupled: CoupledMultibody, q: FloatArray) -> FloatArray:
        """Return the derivatives (M, 3, n) of the markers' positions in one configuration q (n,)."""
        n = len(q)
        turned = np.concatenate([q + _STEP * np.eye(n), q - _STEP * np.eye(n)])
        x = self.positions(coupled, turned)
        return np.asarray((x[:n] - x[n:]) / (2.0 * _STEP)).transpose(1, 2, 0)


def undetermined(
    coupled: CoupledMultibody,
    markers: FollowedMarkers,
    solution: InverseKinematics,
    free: BoolArray,
    pulls: FloatArray,
) -> tuple[int, ...]:
    """Return the places of the coordinates that are open in some of the frames that the fit calls undetermined.

    free: (n,) coordinates that may move. pulls: (n,) weights of their tasks, as `fit_coordinates` has them.
    """
    frames = np.flatnonzero(solution.status == UNDETERMINED)
    found: set[int] = set()
    for t in frames[:: max(1, len(frames) // _MOST_FRAMES)]:
        J = markers.by_coordinates(coupled, solution.q[t])[:, :, free]
        H = np.einsum("m,mik,mil->kl", markers.weights[t], J, J)
        H += np.diag(pulls[free]) * markers.weights[t].sum()
        found |= set(np.flatnonzero(free)[_open(H)].tolist())
    return tuple(sorted(found))


def _open(H: FloatArray) -> BoolArray:
    """Coordinates (n,) whose curvature H (n, n) vanishes when the others follow."""
    own = np.diag(H)
    moves = own > 0.0
    result = ~moves
    scale = np.sqrt(own[moves])
    relative = H[np.ix_(moves, moves)] / scale[:, None] / scale + _RIDGE * np.eye(len(scale))
    result[moves] = 1.0 / np.diag(np.linalg.inv(relative)) < _DETERMINED
    return result
