"""Closed loops and contacts: constraints K(q) vdot = -k, their dynamics and the forces they need.

A constraint is fixed to two bodies, or to a body and the world: some components of the motion of one point against
the other, in axes fixed to the second, are kept zero. Constrained accelerations solve (Featherstone 2008, eq. 8.10)
    M vdot + bias = tau + K^T lambda,   K vdot = -k - 2 a (K v) - a^2 (error)         (Baumgarte 1972)
Redundant constraints (a planar loop in space, two flat feet) are allowed: of all lambda that give the same motion the
smallest, weighted, is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

from biodyn.conventions import FloatArray
from biodyn.errors import ModelError
from biodyn.rigid_body.dynamics import Indices, bias_forces, inverse_dynamics
from biodyn.rigid_body.frames import state
from biodyn.rigid_body.jacobians import jacobian, jacobian_rate_times_v
from biodyn.rigid_body.motion import body_poses, body_velocities
from biodyn.rigid_body.multibody import Multibody
from biodyn.rigid_body.whole_body import mass_matrix

# Constraints count as redundant below this fraction of the largest singular value of K M^-1 K^T.
RANK_TOLERANCE = 1e-10
#: Stabilisation time of drift, s (Featherstone 2008, section 8.3): errors decay as with critical damping of this time.
STABILISATION_TIME_S = 0.1

_WELD = (True, True, True, True, True, True)


@dataclass(frozen=True, eq=False)
class Constraint:
    """What holds two bodies together.

    Attributes:
        body: the moving body; against: the other body, None = world.
        point: (3,) m in the body's axes. R_BK, or identity: axes of the constraint in the body.
        place, R_AK: (3,) m and (3, 3), where point and axes coincide with on the other body (world) when satisfied.
        fixed: which of [rotation x, y, z; translation x, y, z] (constraint axes of the other body) are held.
            Contact of a point: last three; a loop closed by a hinge about z: all but the third.
        stabilisation_time_s: drift decays within this time; None = no stabilisation.
    """

    body: str
    against: str | None
    point: FloatArray = field(default_factory=lambda: np.zeros(3))
    place: FloatArray = field(default_factory=lambda: np.zeros(3))
    R_BK: FloatArray = field(default_factory=lambda: np.eye(3))
    R_AK: FloatArray = field(default_factory=lambda: np.eye(3))
    fixed: tuple[bool, bool, bool, bool, bool, bool] = _WELD
    stabilisation_time_s: float | None = STABILISATION_TIME_S

    def __post_init__(self) -> None:
        for name, shape in (("point", (3,)), ("place", (3,)), ("R_BK", (3, 3)), ("R_AK", (3, 3))):
            values = np.array(getattr(self, name), dtype=np.float64)
            if values.shape != shape or not np.isfinite(values).all():
                raise ModelError(f"{name} of the constraint on '{self.body}' must be finite with shape {shape}.")
            object.__setattr__(self, name, values)
        if len(self.fixed) != 6 or not any(self.fixed):
            raise ModelError(f"The constraint on '{self.body}' must fix some of its six components.")
        if self.stabilisation_time_s is not None and not self.stabilisation_time_s > 0:
            raise ModelError(f"The stabilisation time of the constraint on '{self.body}' must be positive, or None.")


def point_contact(body: str, point: ArrayLike, place_W: ArrayLike) -> Constraint:
    """Return the constraint that keeps a point of the body (body axes, m) at a place in the world (m)."""
    return Constraint(body, None, np.asarray(point), np.asarray(place_W), fixed=(False, False, False, True, True, True))


@dataclass(frozen=True)
class ConstraintState:
    """The stacked constraints: K (T, c, nv), k (T, c) = dK/dt v, velocity error K v (T, c), position error (T, c)."""

    K: FloatArray
    k: FloatArray
    rate: FloatArray
    error: FloatArray
    decay: FloatArray  # (c,) 1/s, 0 = no stabilisation


def constraint_state(mb: Multibody, constraints: Sequence[Constraint], q: ArrayLike, v: ArrayLike) -> ConstraintState:
    """Return K, k and the errors of all constraints at q (T, nq), v (T, nv)."""
    positions, rates = state(mb, q, v=v)
    R_WB, p_WB = body_poses(mb, positions)
    twist = body_velocities(mb, positions, rates)
    frames = len(positions)
    blocks: list[tuple[FloatArray, FloatArray, FloatArray]] = []
    decay: list[float] = []
    for one in constraints:
        b = mb.body_index(one.body)
        held = np.flatnonzero(one.fixed)
        x = p_WB[:, b] + R_WB[:, b] @ one.point
        J = jacobian(mb, positions, b, one.point)
        accelerated = jacobian_rate_times_v(mb, positions, rates, b, one.point)
        if one.against is None:
            R_WA, place = np.broadcast_to(np.eye(3), (frames, 3, 3)), np.broadcast_to(one.place, (frames, 3))
            turning = np.zeros((frames, 3))
        else:
            a = mb.body_index(one.against)
            R_WA, place = R_WB[:, a], p_WB[:, a] + R_WB[:, a] @ one.place
            # the point of the other body that is now where the constrained point is
            over = np.einsum("tji,tj->ti", R_WA, x - p_WB[:, a])
            turning = np.einsum("tij,tj->ti", R_WA, twist[:, a, :3])
            shift = x - place
            Ja = jacobian(mb, positions, a, one.place)
            Ja[:, 3:] += np.cross(Ja[:, :3], shift[:, :, None], axisa=1, axisb=1, axisc=1)
            J = J - Ja
            accelerated = accelerated - _point_acceleration(mb, positions, rates, a, over)
        R_WK = R_WA @ one.R_AK
        relative = np.einsum("tij,tj->ti", J, rates)
        # components in axes that turn with the other body: d/dt (R^T u) = R^T (du - w x u); the second w x u is the
        # point moving over the other body (Coriolis)
        correction = np.cross(turning, relative[:, 3:])
        accelerated = accelerated - np.concatenate([np.cross(turning, relative[:, :3]), 2.0 * correction], axis=1)
        into = np.zeros((frames, 6, 6))
        into[:, :3, :3] = into[:, 3:, 3:] = R_WK.transpose(0, 2, 1)
        turned = Rotation.from_matrix(R_WK.transpose(0, 2, 1) @ R_WB[:, b] @ one.R_BK).as_rotvec()
        away = np.einsum("tji,tj->ti", R_WK, x - place)
        blocks.append(
            (
                (into @ J)[:, held],
                np.einsum("tij,tj->ti", into, accelerated)[:, held],
                np.concatenate([turned, away], axis=1)[:, held],
            )
        )
        decay += [0.0 if one.stabilisation_time_s is None else 1.0 / one.stabilisation_time_s] * len(held)
    K = np.concatenate([block[0] for block in blocks], axis=1)
    return ConstraintState(
        K=K,
        k=np.concatenate([block[1] for block in blocks], axis=1),
        rate=np.einsum("tcj,tj->tc", K, rates),
        error=np.concatenate([block[2] for block in blocks], axis=1),
        decay=np.array(decay),
    )


def _point_acceleration(mb: Multibody, q: FloatArray, v: FloatArray, body: int, points: FloatArray) -> FloatArray:
    """Return dJ/dt v (T, 6) of points (T, 3) in body axes that differ from frame to frame."""
    at_origin = jacobian_rate_times_v(mb, q, v, body)
    R_WB, _ = body_poses(mb, q)
    w = np.einsum("tij,tj->ti", R_WB[:, body], body_velocities(mb, q, v)[:, body, :3])
    r = np.einsum("tij,tj->ti", R_WB[:, body], points)
    at_origin[:, 3:] += np.cross(at_origin[:, :3], r) + np.cross(w, np.cross(w, r))
    return at_origin


def _multipliers(A: FloatArray, right: FloatArray) -> FloatArray:
    """Return the smallest lambda with A lambda = right for symmetric semidefinite A (T, c, c)."""
    return np.einsum("tij,tj->ti", np.linalg.pinv(A, rcond=RANK_TOLERANCE, hermitian=True), right)


def constrained_dynamics(
    mb: Multibody,
    constraints: Sequence[Constraint],
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    wrenches: ArrayLike | None = None,
    wrench_bodies: Indices | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Return vdot (T, nv) and the constraint forces lambda (T, c), stacked over the constraints' held components.

    tau (T, nv) and wrenches as for `forward_dynamics`; lambda acts on the body along the constraint's axes, N and N m.
    """
    positions, rates, forces = state(mb, q, v=v, tau=tau)
    held = constraint_state(mb, constraints, positions, rates)
    free = forces - bias_forces(mb, positions, rates, wrenches, wrench_bodies)
    K_T = held.K.transpose(0, 2, 1)
    solved = np.linalg.solve(mass_matrix(mb, positions), np.concatenate([K_T, free[:, :, None]], axis=2))
    wanted = -held.k - 2.0 * held.decay * held.rate - held.decay**2 * held.error
    lambdas = _multipliers(held.K @ solved[:, :, :-1], wanted - np.einsum("tcj,tj->tc", held.K, solved[:, :, -1]))
    return solved[:, :, -1] + np.einsum("tjc,tc->tj", solved[:, :, :-1], lambdas), lambdas


def constrained_inverse_dynamics(
    mb: Multibody,
    constraints: Sequence[Constraint],
    q: ArrayLike,
    v: ArrayLike,
    vdot: ArrayLike,
    unactuated: ArrayLike,
    weights: ArrayLike | None = None,
    wrenches: ArrayLike | None = None,
    wrench_bodies: Indices | None = None,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return tau (T, nv), constraint forces lambda (T, c) and what no constraint force can supply (T, nv).

    The coordinates `unactuated` (nv,) bool, say a floating base, have no force of their own, so the constraints must
    supply theirs. Where that leaves a choice (double support, closed loops), sum weights_c lambda_c^2 is least;
    weights (c,), ones where omitted.
    """
    idle = np.asarray(unactuated, dtype=np.bool_)
    if idle.shape != (mb.nv,):
        raise ModelError(f"unactuated must have shape ({mb.nv},), found {idle.shape}.")
    required = inverse_dynamics(mb, q, v, vdot, wrenches, wrench_bodies)
    K = constraint_state(mb, constraints, q, v).K
    share = np.ones(K.shape[1]) if weights is None else np.asarray(weights, dtype=np.float64)
    if share.shape != (K.shape[1],) or not (share > 0).all():
        raise ModelError(f"weights must hold {K.shape[1]} positive numbers, one per held component.")
    scaled = K[:, :, idle].transpose(0, 2, 1) / np.sqrt(share)
    lambdas = np.einsum("tci,ti->tc", np.linalg.pinv(scaled, rcond=RANK_TOLERANCE), required[:, idle]) / np.sqrt(share)
    tau = required - np.einsum("tcj,tc->tj", K, lambdas)
    missing = np.where(idle, tau, 0.0)
    return np.where(idle, 0.0, tau), lambdas, missing
