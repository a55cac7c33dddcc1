"""How the fitted configuration answers to its markers: the derivative of the least-squares minimum.

At the minimum the gradient g(xi, y, p) vanishes, so a small change of markers y or of the model p moves the configuration by
    dxi = -H^-1 (dg/dy dy + dg/dp dp),   g = sum w J^T (x - y),   H = sum w (J^T J + (x - y) . d2x)
(implicit function theorem). xi are steps along the coordinates of v. The curvature term is that of Newton's method in the fit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from biodyn.conventions import BoolArray, FloatArray
from biodyn.model.observability import LEAST_LEVER_M
from biodyn.model.subject import SubjectModel
from biodyn.rigid_body import body_poses, joint_jacobians
from biodyn.rigid_body.jacobians import on_path

# The fit holds what no marker sees as firmly as a marker of weight 1 at a lever of 10 cm would (`kinematics.bridge`).
_HELD = 0.01
# Closer to its limit than this a coordinate rests on it, rad.
_AT_LIMIT = 1e-6


@dataclass(frozen=True)
class FitResponse:
    """Derivative of the fit over some frames.

    Attributes:
        inverse_hessian: (T, nv, nv), zero for coordinates at a limit.
        by_markers: (T, nv, M, 3) step of the configuration for a marker's step in World axes, rad or m a m.
    """

    inverse_hessian: FloatArray
    by_markers: FloatArray


def marker_places(model: SubjectModel, q: FloatArray) -> FloatArray:
    """Return where the model has its markers (T, M, 3) in World, for q (T, nq)."""
    links, p_LM, _ = model.marker_arrays()
    R, p = body_poses(model.multibody, q)
    return np.asarray(p[:, links] + np.einsum("tmij,mj->tmi", R[:, links], p_LM))


def fit_response(model: SubjectModel, q: FloatArray, seen_at: FloatArray, weights: FloatArray) -> FitResponse:
    """Return the derivative of the fit for q (T, nq), markers seen at (T, M, 3) m, weights (T, M), 0 where unseen."""
    mb = model.multibody
    frames, nv = len(q), mb.nv
    links = model.marker_arrays()[0]
    moved = np.stack([on_path(mb, int(link)) for link in links], axis=1).astype(np.float64)  # (nv, M)
    x = marker_places(model, q)
    columns = joint_jacobians(mb, q)  # (T, 6, nv), [angular; linear at the world origin]
    omega, origin = columns[:, :3, :, None], columns[:, 3:, :, None]
    xT = x.transpose(0, 2, 1)[:, :, None, :]  # (T, 3, 1, M)
    J = np.empty((frames, nv, len(links), 3))
    for a, b, c in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        J[..., a] = (origin[:, a] + omega[:, b] * xT[:, c] - omega[:, c] * xT[:, b]) * moved
    error = np.where(weights[..., None] > 0.0, x - seen_at, 0.0) * weights[..., None]
    flat = J.reshape(frames, nv, -1)
    weighted = flat * np.repeat(weights, 3, axis=1)[:, None, :]
    H = weighted @ flat.transpose(0, 2, 1) + _curvature(model, J, error, columns[:, :3])
    diagonal = np.arange(nv)
    pinned = _at_limit(model, q)
    H[pinned] = 0.0
    H.transpose(0, 2, 1)[pinned] = 0.0
    H[:, diagonal, diagonal] += np.where(pinned, 1.0, 1e-8)  # keeps blind directions invertible
    inverse: FloatArray = np.asarray(np.linalg.inv(H))
    blind = inverse[:, diagonal, diagonal] > LEAST_LEVER_M**-2
    blind[:, :6] = False
    if blind.any():
        H[:, diagonal, diagonal] += _HELD * blind
        rows = blind.any(axis=1)
        inverse[rows] = np.linalg.inv(H[rows])
    free = ~pinned
    inverse *= free[:, :, None] & free[:, None, :]
    return FitResponse(np.asarray(inverse), np.asarray((inverse @ weighted).reshape(J.shape)))


def _curvature(model: SubjectModel, J: FloatArray, error: FloatArray, omega: FloatArray) -> FloatArray:
    """Second-order term of the Hessian (T, nv, nv): e . d2x/dq_i dq_j = omega_i . (J_j x e) for i before or at j on a path."""
    mb = model.multibody
    turning = np.stack(
        [
            np.einsum("tjm,tm->tj", J[..., b], error[..., c]) - np.einsum("tjm,tm->tj", J[..., c], error[..., b])
            for b, c in ((1, 2), (2, 0), (0, 1))
        ],
        axis=2,
    )
    product = np.einsum("tai,tja->tij", omega, turning)
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
    return pinned
