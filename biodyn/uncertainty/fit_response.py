"""How the fitted configuration answers to its markers: the derivative of the least-squares minimum.

At the minimum the gradient g(xi, y, p) vanishes, so a small change of markers y or of the model p moves the configuration by
    dxi = -H^-1 (dg/dy dy + dg/dp dp),   g = sum w J^T (x - y),   H = sum w (J^T J + (x - y) . d2x)
(implicit function theorem). xi are steps along the coordinates of v. The curvature term is that of Newton's method in the fit.
The equations of an estimate of motion and forces are Gauss-Newton's and have none: its answer is that of sum w J^T J. At a
straight knee, where these tell little of the hip's rotation, the curvature can take away all that is left.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from biodyn.conventions import BoolArray, FloatArray
from biodyn.model.body_model import SubjectModel
from biodyn.model.observability import LEAST_LEVER_M, levers_through
from biodyn.processing.kinematics.visibility import BRIDGE_WEIGHT, visibility_weights
from biodyn.rigid_body import Multibody, body_poses, joint_jacobians
from biodyn.rigid_body.jacobians import on_path
from biodyn.uncertainty.steadied import Stretch, pulls, stretches_of

# As in `kinematics.methods.least_squares`: a marker with less than half its weight no longer counts as seeing a coordinate;
# postures change little within some frames.
_HALF_FADED = 0.5
_JUDGED_EVERY_FRAMES = 4
_CYCLIC = ((0, 1, 2), (1, 2, 0), (2, 0, 1))
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
    return model.marker_places(*body_poses(model.multibody, q))


def fit_response(
    model: SubjectModel,
    q: FloatArray,
    seen_at: FloatArray,
    weights: FloatArray,
    held: FloatArray | None = None,
    curved: bool = True,
    add: Callable[[FloatArray], None] | None = None,
) -> FitResponse:
    """Return the derivative of the fit for q (T, nq), markers seen at (T, M, 3) m, weights (T, M), 0 where unseen.

    held: (T, nv) weights that hold coordinates which markers do not see, or hardly, see `held_coordinates`.
    curved: with the curvature of the fit's cost; False = of Gauss-Newton's equations.
    add: adds to W J (T, nv, 3, M) what else pulls as markers move (`towards.Towards`).
    """
    mb = model.multibody
    frames, nv = len(q), mb.nv
    before = _before(mb)
    moved = before[:, mb.tree.idx_v[mb.link_of_body[model.marker_arrays()[0]]]]  # (nv, M)
    places = marker_places(model, q)
    about = places.mean(axis=1)  # sums of squares about a point far away would lose digits
    x, error = places - about[:, None], np.where((weights[..., None] > 0.0) & curved, places - seen_at, 0.0)
    columns = _about(joint_jacobians(mb, q), about)
    H = _hessian(before, columns, moved, x, weights, error)
    diagonal = np.arange(nv)
    pinned = _at_limit(model, q)
    H[pinned] = 0.0
    H.transpose(0, 2, 1)[pinned] = 0.0
    H[:, diagonal, diagonal] += np.where(pinned, 1.0, 1e-8)  # keeps blind directions invertible
    H[:, diagonal, diagonal] += model.pulls()
    if held is not None:
        H[:, diagonal, diagonal] += held
    inverse: FloatArray = np.asarray(np.linalg.inv(H))
    free = ~pinned
    inverse *= free[:, :, None] & free[:, None, :]
    pulled = _pulled(columns, moved, x, weights)
    if add is not None:
        add(pulled)
    by_markers = inverse.astype(np.float32) @ pulled.reshape(frames, nv, -1)
    return FitResponse(np.asarray(inverse), by_markers.reshape(frames, nv, 3, -1))


def _about(columns: FloatArray, point: FloatArray) -> FloatArray:
    """Columns (T, 6, nv), [angular; linear at the world origin], about a point (T, 3) instead."""
    moved = columns.copy()
    for a, b, c in _CYCLIC:
        moved[:, 3 + a] += columns[:, b] * point[:, c, None] - columns[:, c] * point[:, b, None]
    return moved


def _pulled(columns: FloatArray, moved: FloatArray, x: FloatArray, weights: FloatArray) -> FloatArray:
    """W J (T, nv, 3, M) of the markers at x (T, M, 3), in single precision; moved (nv, M): which coordinates move which."""
    single = columns.astype(np.float32)[..., None]
    omega, origin = single[:, :3], single[:, 3:]
    xT = x.transpose(0, 2, 1).astype(np.float32)[:, :, None, :]  # (T, 3, 1, M)
    share = moved.astype(np.float32) * weights.astype(np.float32)[:, None, :]  # (T, nv, M)
    J = np.empty((*share.shape[:2], 3, share.shape[2]), dtype=np.float32)  # markers last: every step runs along memory
    for a, b, c in _CYCLIC:
        np.multiply(origin[:, a] + omega[:, b] * xT[:, c] - omega[:, c] * xT[:, b], share, out=J[:, :, a])
    return J  # type: ignore[return-value]


def held_coordinates(
    model: SubjectModel,
    q: FloatArray,
    visibility: FloatArray,
    ramp_frames: int,
    rate_hz: float,
    steady_lever_m: float,
) -> tuple[FloatArray, tuple[Stretch, ...]]:
    """Return the weights (T, nv) with which the fit holds coordinates to a curve through the frames around.

    Those that no marker sees, for markers' visibility (T, M), 0 to 1: bridged by a curve through both sides, so the answer to the
    markers changes smoothly from seen to held. A switch from one frame to the next would show in the accelerations of the answer.
    And those that are steadied in some stretches, which are returned, too (`steadied`).
    """
    visible = visibility >= _HALF_FADED
    whole = levers_through(model, q, np.ones_like(visible), _JUDGED_EVERY_FRAMES)
    lever = whole if visible.all() else levers_through(model, q, visible, _JUDGED_EVERY_FRAMES)
    held = np.zeros((len(q), model.multibody.nv))
    columns = [coordinate.v_index for coordinate in model.coordinates]
    held[:, columns] = BRIDGE_WEIGHT * (1.0 - visibility_weights(~(lever < LEAST_LEVER_M), ramp_frames))
    solved: BoolArray = np.asarray(np.isfinite(q).all(axis=1))
    stretches = stretches_of(model, whole, steady_lever_m, rate_hz, solved)
    return np.maximum(held, pulls(stretches, *held.shape)), stretches


@lru_cache(maxsize=4)
def _before(mb: Multibody) -> FloatArray:
    """1 where a coordinate (nv,) is of a joint before or at that of another (nv,), else 0; asked for some frames at a time."""
    bodies = [int(np.flatnonzero(mb.link_of_body == link)[0]) for link in mb.tree.dof_link]
    return np.stack([on_path(mb, body) for body in bodies], axis=1).astype(np.float64)


def _hessian(
    before: FloatArray, columns: FloatArray, moved: FloatArray, x: FloatArray, weights: FloatArray, error: FloatArray
) -> FloatArray:
    """Sum of w (J^T J + e . d2x) (T, nv, nv) over the markers at x (T, M, 3), in axes of World.

    J_i . J_j is the inertia that the markers beyond both joints have about them, weights for masses, and for i before or at j on
    a path e . d2x/dq_i dq_j = omega_i . (J_j x e). So both are made of sums over the markers beyond j: of w, w x, w x x^T,
    w e and w x e^T.
    """
    pull, heavy = weights[..., None] * error, weights[..., None] * x
    parts = [
        weights[..., None],
        heavy,
        *((part[..., None] * x[:, :, None]).reshape(*weights.shape, 9) for part in (heavy, pull)),
    ]
    sums = (moved @ np.concatenate([*parts, pull], axis=2)).transpose(2, 0, 1)  # (25, T, nv)
    mass, h, second, crossed, F = sums[0], sums[1:4], sums[4:13].reshape(3, 3, *sums.shape[1:]), sums[13:22], sums[22:]
    crossed = crossed.reshape(second.shape)  # [e, x]
    omega, origin = columns[:, :3].transpose(1, 0, 2), columns[:, 3:].transpose(1, 0, 2)
    spread, along = second[0, 0] + second[1, 1] + second[2, 2], crossed[0, 0] + crossed[1, 1] + crossed[2, 2]
    loads = np.empty((6, *mass.shape))
    for a, b, c in _CYCLIC:
        turned = (spread - along) * omega[a]
        for k in range(3):
            turned += (crossed[k, a] - second[a, k]) * omega[k]
        loads[a] = turned + h[b] * origin[c] - h[c] * origin[b] + origin[b] * F[c] - origin[c] * F[b]
        loads[3 + a] = mass * origin[a] + omega[b] * h[c] - omega[c] * h[b]
    product = columns.transpose(0, 2, 1) @ loads.transpose(1, 0, 2)  # (T, i, j): s_i . loads_j
    whole = product * np.triu(before) + np.triu(before, 1).T * product.transpose(0, 2, 1)
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
