"""Poses, velocities, accelerations and Jacobians of bodies, steps on the configuration manifold, and stick figures."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from biodyn.conventions import FloatArray, IntArray
from biodyn.errors import ModelError
from biodyn.kernels import dynamics, kinematics
from biodyn.rigid_body.argument_checks import checked_array, checked_state, zero_workspace
from biodyn.rigid_body.multibody import Multibody


def body_poses(mb: Multibody, q: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return R_WB (T, B, 3, 3) and p_WB (T, B, 3) m of all bodies for q (T, nq).

    Raises ModelError for a wrong shape or infinite numbers. A frame with NaN has the result NaN.
    """
    (positions,) = checked_state(mb, q)
    frames, n = positions.shape[0], mb.tree.parent.shape[0]
    R, p = np.empty((frames, 9 * n)), np.empty((frames, 3 * n))
    kinematics.fill_link_poses(mb.tree, positions, R, p, zero_workspace(kinematics.work_size(mb.tree)))
    return R.reshape(frames, n, 3, 3), p.reshape(frames, n, 3)


def _body_motion(mb: Multibody, q: ArrayLike, v: ArrayLike, vdot: ArrayLike | None) -> tuple[FloatArray, FloatArray]:
    positions, rates, accelerations = checked_state(
        mb, q, v=v, vdot=np.zeros_like(np.asarray(v)) if vdot is None else vdot
    )
    frames, n = positions.shape[0], mb.tree.parent.shape[0]
    velocity, acceleration = np.empty((frames, 6 * n)), np.empty((frames, 6 * n))
    work = zero_workspace(kinematics.work_size(mb.tree))
    kinematics.fill_link_motion(mb.tree, positions, rates, accelerations, velocity, acceleration, work)
    return velocity.reshape(frames, n, 6), acceleration.reshape(frames, n, 6)


def body_velocities(mb: Multibody, q: ArrayLike, v: ArrayLike) -> FloatArray:
    """Return the spatial velocities (T, B, 6), [omega; v of the body origin] in body axes, rad/s and m/s.

    q (T, nq), v (T, nv). Featherstone 2008, eq. 5.8.
    """
    return _body_motion(mb, q, v, None)[0]


def body_accelerations(mb: Multibody, q: ArrayLike, v: ArrayLike, vdot: ArrayLike) -> FloatArray:
    """Return the spatial accelerations (T, B, 6), [angular; linear] about the body origin in body axes.

    q (T, nq), v, vdot (T, nv); gravity is not added. The classical acceleration of the body origin is the linear
    part + omega x v (Featherstone 2008, eq. 2.46).
    """
    return _body_motion(mb, q, v, vdot)[1]


def integrate(mb: Multibody, q: ArrayLike, v_dt: ArrayLike) -> FloatArray:
    """Return the configurations (T, nq) reached from q (T, nq) by steps v dt (T, nv) in body axes.

    Rotations use the exponential map; free joints follow the screw motion of the constant body-frame twist.
    """
    positions, steps = checked_state(mb, q, v_dt=v_dt)
    result = np.empty_like(positions)
    kinematics.integrate(mb.tree, positions, steps, result)
    return result


def difference(mb: Multibody, q0: ArrayLike, q1: ArrayLike) -> FloatArray:
    """Return the steps (T, nv) with integrate(q0, step) = q1 for q0, q1 (T, nq); rotations are by at most half a turn."""
    (start,), (end,) = checked_state(mb, q0), checked_state(mb, q1)
    start, end = (np.ascontiguousarray(a) for a in np.broadcast_arrays(start, end))
    steps = np.empty((start.shape[0], mb.nv))
    kinematics.difference(mb.tree, start.copy(), end.copy(), steps)
    return steps


def coordinate_rates(mb: Multibody, q: ArrayLike, v: ArrayLike) -> FloatArray:
    """Return dq/dt (T, nq) for q (T, nq) and v (T, nv); quaternion rates are q (0, omega) / 2."""
    positions, rates = checked_state(mb, q, v=v)
    result = np.empty_like(positions)
    kinematics.coordinate_rates(mb.tree, positions, rates, result)
    return result


def joint_jacobians(mb: Multibody, q: ArrayLike) -> FloatArray:
    """Return the motion axes (T, 6, nv) of all joints, [angular; linear at the world origin] in world axes, for q (T, nq).

    The spatial velocity of a body, about the world origin, is the sum of s_j v_j over the coordinates on its path.
    Featherstone 2008, eq. 4.7 (in world coordinates).
    """
    (positions,) = checked_state(mb, q)
    J = np.empty((len(positions), 6 * mb.nv))
    dynamics.joint_columns(mb.tree, positions, J, zero_workspace(dynamics.work_size(mb.tree, 6 * mb.nv)))
    return J.reshape(-1, 6, mb.nv)


def jacobian(mb: Multibody, q: ArrayLike, body: int | str, point: ArrayLike | None = None) -> FloatArray:
    """Return the geometric Jacobian (T, 6, nv) in world axes: [omega; velocity of the point] = J v.

    point: (3,) m in axes of the body, from its origin; None = the origin. Raises ModelError for an unknown body or wrong shapes.
    """
    b = mb.body_index(body) if isinstance(body, str) else int(body)
    if not 0 <= b < len(mb.bodies):
        raise ModelError(f"No body has the index {b}; the model has {len(mb.bodies)} bodies.")
    J = joint_jacobians(mb, q) * mb.moving_coordinates[b]
    R_WB, p_WB = body_poses(mb, q)
    x = p_WB[:, b] if point is None else p_WB[:, b] + R_WB[:, b] @ checked_array(point, (3,), "point")
    J[:, 3:] += np.cross(J[:, :3], x[:, :, None], axisa=1, axisb=1, axisc=1)
    return J


@dataclass(frozen=True, eq=False)
class StickFigure:
    """Points for drawing a tree as sticks: the joint and the distal end of each of the B bodies that have mass.

    Attributes:
        bodies: (B,) indices of the bodies in the tree, parents first. ends_m: (B, 3) distal ends in body axes.
        carried: for each body, the indices in `bodies` of the bodies attached to it; massless links between them are skipped.
    """

    bodies: IntArray
    ends_m: FloatArray
    carried: tuple[tuple[int, ...], ...]

    @classmethod
    def from_posture(cls, mb: Multibody, q: FloatArray | None = None) -> StickFigure:
        """Return the figure of a tree; the posture q (nq,) should be realistic if joints also move along axes.

        An end is the mean of the distal joints of the body, but at least as far beyond its mass centre as its proximal joint is
        before it.
        """
        heavy = [i for i, body in enumerate(mb.bodies) if body.mass_kg > 0.0]
        held: dict[int, list[int]] = {i: [] for i in heavy}
        for i in heavy[1:]:
            parent = int(mb.parents[i])
            while parent not in held:
                parent = int(mb.parents[parent])
            held[parent].append(i)
        R_W, p_W = (values[0][heavy] for values in body_poses(mb, (mb.neutral_q() if q is None else q)[None]))
        carried = tuple(tuple(heavy.index(child) for child in held[i]) for i in heavy)
        share = np.zeros((len(heavy), len(heavy)))
        for row, children in zip(share, carried, strict=True):
            row[list(children)] = 1.0 / max(len(children), 1)
        ends = ((share @ p_W - share.sum(axis=1)[:, None] * p_W)[:, None] @ R_W)[:, 0]
        beyond = 2.0 * np.array([mb.bodies[i].com_m for i in heavy])
        near = np.linalg.norm(ends, axis=1) < np.linalg.norm(beyond, axis=1)
        return cls(np.array(heavy, dtype=np.int64), np.where(near[:, None], beyond, ends), carried)

    def points(self, R_W: FloatArray, p_W: FloatArray) -> FloatArray:
        """Return the points (T, 2 B, 3) m, joints first, for the poses (T, ...) of all bodies of the tree."""
        ends = p_W[:, self.bodies] + np.einsum("tbij,bj->tbi", R_W[:, self.bodies], self.ends_m)
        return np.concatenate([p_W[:, self.bodies], ends], axis=1)

    def points_in_configuration(self, mb: Multibody, q: FloatArray) -> FloatArray:
        """Return the points (T, 2 B, 3) m for the configurations q (T, nq)."""
        return self.points(*body_poses(mb, q))

    def jacobians(self, mb: Multibody, q: FloatArray) -> FloatArray:
        """Return the derivatives (T, 2 B, 3, nv) of the points with respect to the coordinates, m/rad or m/m, for q (T, nq)."""
        columns = joint_jacobians(mb, q)[:, None]  # (T, 1, 6, nv), about the world's origin
        x = self.points_in_configuration(mb, q)[..., None]
        moves = mb.moving_coordinates[self.bodies].astype(np.float64)
        omega = columns[:, :, :3]
        turned = np.stack(
            [omega[:, :, b] * x[:, :, c] - omega[:, :, c] * x[:, :, b] for b, c in ((1, 2), (2, 0), (0, 1))], axis=2
        )
        return np.asarray((columns[:, :, 3:] + turned) * np.concatenate([moves, moves])[None, :, None])
