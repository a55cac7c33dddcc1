"""Which coordinates the markers that are seen leave open: those that can move, alone or together, while no marker does."""

from __future__ import annotations

from typing import Final

import numpy as np

from biodyn.conventions import BoolArray, FloatArray
from biodyn.model.observability import LEAST_LEVER_M, through_frames
from biodyn.rigid_body.coupling.coupled import CoupledMultibody
from biodyn.rigid_body.coupling.followed import FollowedMarkers
from biodyn.rigid_body.marker_fit import UNDETERMINED, InverseKinematics

# The fit's own limit: of its own curvature, what is left to a coordinate when all others may follow (`kernels.coupled_ik`).
_DETERMINED: Final = 1e-5
_RIDGE: Final = 1e-10
# Frames looked at: which coordinates are open changes with the markers seen, and hardly within a walk.
_MOST_FRAMES: Final = 20
_RIDGE_M2: Final = 1e-8
_JUDGED_EVERY_S: Final = 0.04


def undetermined(
    coupled: CoupledMultibody,
    markers: FollowedMarkers,
    solution: InverseKinematics,
    free: BoolArray,
    pulls: FloatArray,
) -> tuple[int, ...]:
    """Return the places of the coordinates that are open in some of the frames that the fit calls undetermined, one at least.

    free: (n,) coordinates that may move. pulls: (n,) weights of their tasks, as `fit_coordinates` has them.
    """
    frames = np.flatnonzero(solution.status == UNDETERMINED)
    found: set[int] = set()
    looked_at = frames[:: max(1, len(frames) // _MOST_FRAMES)]
    for t, J in zip(looked_at, markers.by_coordinates(coupled, solution.q[looked_at])[..., free], strict=True):
        H = np.einsum("m,mik,mil->kl", markers.weights[t], J, J)
        H += np.diag(pulls[free]) * markers.weights[t].sum()
        found |= set(np.flatnonzero(free)[_open(H)].tolist())
    return tuple(sorted(found))


def root_open(
    coupled: CoupledMultibody,
    markers: FollowedMarkers,
    q: FloatArray,
    free: BoolArray,
    pulls: FloatArray,
    turns: BoolArray,
    rate_hz: float,
) -> BoolArray:
    """Return the frames (T,) of q (T, n) in which the markers seen leave open how a body that hangs on ground is turned.

    As `model.observability.root_unseen`, for an imported model; turns: (n,) coordinates that turn such a body. None where all
    markers together leave it as open.
    """
    visible = markers.weights > 0.0
    turning = np.flatnonzero(turns[free])
    if visible.all() or not len(turning):
        return np.zeros(len(q), dtype=np.bool_)
    weights = np.minimum(markers.weights.max(axis=0), 1.0)

    def judge(q: FloatArray, visible: BoolArray) -> FloatArray:
        J = markers.by_coordinates(coupled, q)[..., free]
        found = []
        for shown in (visible, np.ones_like(visible)):
            H = np.einsum("tm,tmik,tmil->tkl", shown * weights, J, J)
            covariance = np.linalg.inv(H + np.diag(pulls[free] + _RIDGE_M2))
            worst = np.linalg.eigvalsh(covariance[:, turning[:, None], turning])[:, -1]
            found.append(1.0 / np.sqrt(worst))
        return np.stack(found, axis=1)

    lever = through_frames(judge, q, visible, max(round(_JUDGED_EVERY_S * rate_hz), 1))
    return np.asarray((lever[:, 0] < LEAST_LEVER_M) & ~(lever[:, 1] < LEAST_LEVER_M))


def _open(H: FloatArray) -> BoolArray:
    """Coordinates (n,) whose curvature H (n, n) vanishes when the others follow; where none does, the one that keeps least of it.

    The fit judges by the exact curvature, which the markers' distances from their places can make smaller than this.
    """
    own = np.diag(H)
    moves = own > 0.0
    result = ~moves
    scale = np.sqrt(own[moves])
    relative = H[np.ix_(moves, moves)] / scale[:, None] / scale + _RIDGE * np.eye(len(scale))
    left = 1.0 / np.diag(np.linalg.inv(relative))
    result[moves] = left < _DETERMINED
    if not result.any():
        result[np.flatnonzero(moves)[np.argmin(left)]] = True
    return result
