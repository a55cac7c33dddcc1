"""How the fitted configuration answers to its markers: the derivative of the least-squares minimum.

At the minimum the gradient g(xi, y, p) vanishes, so a small change of markers y or of the model p moves the configuration by
    dxi = -H^-1 (dg/dy dy + dg/dp dp),   g = sum w J^T (x - y),   H = sum w (J^T J + (x - y) . d2x)
(implicit function theorem). xi are steps along the coordinates of v. The curvature term is that of Newton's method in the fit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from biodyn.conventions import BoolArray, FloatArray
from biodyn.model.body_model import SubjectModel
from biodyn.model.observability import unseen_coordinates
from biodyn.processing.kinematics.visibility import visibility_weights
from biodyn.rigid_body import body_poses, joint_jacobians
from biodyn.rigid_body.jacobians import on_path

# The fit holds what no marker sees as firmly as a marker of weight 1 at a lever of 10 cm would (`kinematics.visibility`).
_HELD = 0.01
# As in `kinematics.methods.least_squares`: a marker with less than half its weight no longer counts as seeing a coordinate;
# postures change little within some frames.
_HALF_FADED = 0.5
_JUDGED_EVERY_FRAMES = 4
# Closer to its limit than this a coordinate rests on it, rad.
_AT_LIMIT = 1e-6


@dataclass(frozen=True)
class FitResponse:
    """Derivative of the fit over some frames.

    Attributes:
        inverse_hessian: (T, nv, nv), zero for coordinates at a limit.
        by_markers: (T, nv, 3, M) step of the configuration for a marker's step along the World axes, rad or m a m; in single
            precision and half the time: a standard deviation needs three digits.
    """

    inverse_hessian: FloatArray
    by_markers: FloatArray


def marker_places(model: SubjectModel, q: FloatArray) -> FloatArray:
    """Return where the model has its markers (T, M, 3) in World, for q (T, nq)."""
    links, p_LM, _ = model.marker_arrays()
    R, p = body_poses(model.multibody, q)
    return np.asarray(p[:, links] + (R[:, links] @ p_LM[:, :, None])[..., 0])


def fit_response(
    model: SubjectModel, q: FloatArray, seen_at: FloatArray, weights: FloatArray, held: FloatArray | None = None
) -> FitResponse:
    """Return the derivative of the fit for q (T, nq), markers seen at (T, M, 3) m, weights (T, M), 0 where unseen.

    held: (T, nv) how much of the pull acts that the fit puts on coordinates which no marker sees, see `held_coordinates`.
    """
    mb = model.multibody
    frames, nv = len(q), mb.nv
    links = model.marker_arrays()[0]
    moved = np.stack([on_path(mb, int(link)) for link in links], axis=1).astype(np.float64)  # (nv, M)
    x = marker_places(model, q)
    columns = joint_jacobians(mb, q)  # (T, 6, nv), [angular; linear at the world origin]
    omega, origin = columns[:, :3, :, None], columns[:, 3:, :, None]
    xT = x.transpose(0, 2, 1)[:, :, None, :]  # (T, 3, 1, M)
    J = np.empty((frames, nv, 3, len(links)))  # markers last: every step below runs along memory
    for a, b, c in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        np.multiply(origin[:, a] + omega[:, b] * xT[:, c] - omega[:, c] * xT[:, b], moved, out=J[:, :, a])
    error = np.where(weights[..., None] > 0.0, x - seen_at, 0.0) * weights[..., None]
    weighted = (J * weights[:, None, None, :]).reshape(frames, nv, -1)
    H = weighted @ J.reshape(frames, nv, -1).transpose(0, 2, 1) + _curvature(model, J, error, columns[:, :3])
    diagonal = np.arange(nv)
    pinned = _at_limit(model, q)
    H[pinned] = 0.0
    H.transpose(0, 2, 1)[pinned] = 0.0
    H[:, diagonal, diagonal] += np.where(pinned, 1.0, 1e-8)  # keeps blind directions invertible
    H[:, diagonal, diagonal] += model.pulls()
    if held is not None:
        H[:, diagonal, diagonal] += _HELD * held
    inverse: FloatArray = np.asarray(np.linalg.inv(H))
    free = ~pinned
    inverse *= free[:, :, None] & free[:, None, :]
    by_markers = inverse.astype(np.float32) @ weighted.astype(np.float32)
    return FitResponse(np.asarray(inverse), by_markers.reshape(J.shape))  # type: ignore[arg-type]


def held_coordinates(model: SubjectModel, q: FloatArray, visibility: FloatArray, ramp_frames: int) -> FloatArray:
    """Return how much (T, nv), 0 to 1, the fit holds coordinates that no marker sees, for markers' visibility (T, M), 0 to 1.

    The fit bridges them by a curve through both sides, so its answer to the markers changes smoothly from seen to held: a
    switch from one frame to the next would show in the accelerations of the answer.
    """
    unseen = unseen_coordinates(model, q, visibility >= _HALF_FADED, _JUDGED_EVERY_FRAMES)
    held = np.zeros((len(q), model.multibody.nv))
    held[:, [coordinate.v_index for coordinate in model.coordinates]] = 1.0 - visibility_weights(~unseen, ramp_frames)
    return held


def _curvature(model: SubjectModel, J: FloatArray, error: FloatArray, omega: FloatArray) -> FloatArray:
    """Second-order term of the Hessian (T, nv, nv): e . d2x/dq_i dq_j = omega_i . (J_j x e) for i before or at j on a path."""
    mb = model.multibody
    pull = error[..., None]  # (T, M, 3, 1)
    turning = np.concatenate(
        [J[:, :, b] @ pull[:, :, c] - J[:, :, c] @ pull[:, :, b] for b, c in ((1, 2), (2, 0), (0, 1))], axis=2
    )
    product = (turning @ omega).transpose(0, 2, 1)  # (T, i, j): omega_i . turning_j
    before = np.stack(
        [on_path(mb, int(np.flatnonzero(mb.link_of_body == link)[0])) for link in mb.tree.dof_link], axis=1
    )
    upper = product * np.triu(before)
    whole = upper + np.triu(before, 1).T * product.transpose(0, 2, 1)
    # The base turns about its own axes: the order of two turns matters, but not at a minimum; both orders' mean is symmetric.
    base = slice(0, 3)
    whole[:, base, base] = 0.5 * (product[:, base, base] + product[:, base, base].transpose(0, 2, 1))
    return np.asarray(whole)


def _at_limit(model: SubjectModel, q: FloatArray) -> BoolArray:
    lower, upper = model.limits()
    pinned = np.zeros((len(q), model.multibody.nv), dtype=bool)
    for coordinate in model.coordinates:
        angle, at = q[:, coordinate.q_index], coordinate.v_index
        pinned[:, at] = (angle < lower[at] + _AT_LIMIT) | (angle > upper[at] - _AT_LIMIT)
    pinned[:, [coordinate.v_index for coordinate in model.assumed]] = True
    return pinned
