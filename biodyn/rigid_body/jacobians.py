"""Jacobians of bodies and points, their rates times v, and the centroidal momentum matrix."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from biodyn.conventions import BoolArray, FloatArray
from biodyn.errors import ModelError
from biodyn.kernels import crba
from biodyn.rigid_body.frames import checked, state, workspace
from biodyn.rigid_body.motion import body_accelerations, body_poses, body_velocities
from biodyn.rigid_body.multibody import Multibody
from biodyn.rigid_body.whole_body import subtree_mass

Axes = Literal["world", "body"]


def _result(frames: int, nv: int, out: FloatArray | None) -> FloatArray:
    shape = (frames, 6, nv)
    if out is None:
        return np.empty(shape)
    if out.shape != shape or out.dtype != np.float64 or not out.flags.c_contiguous:
        raise ModelError(f"out must be a C-ordered float64 array of shape {shape}, found {out.shape} of {out.dtype}.")
    return out


def joint_jacobians(mb: Multibody, q: ArrayLike, out: FloatArray | None = None) -> FloatArray:
    """Return the columns of all joints (T, 6, nv), [angular; linear at the world origin] in world axes, for q (T, nq).

    The spatial velocity of a body, about the world origin, is the sum of s_j v_j over the coordinates on its path.
    out: (T, 6, nv) of an earlier call, filled again. Featherstone 2008, eq. 4.7 (in world coordinates).
    """
    (positions,) = state(mb, q)
    J = _result(positions.shape[0], mb.nv, out)
    flat = J.reshape(len(J), 6 * mb.nv)
    crba.joint_columns(mb.tree, positions, flat, workspace(crba.work_size(mb.tree, 6 * mb.nv)))
    return J


def on_path(mb: Multibody, body: int) -> BoolArray:
    """Return which velocity coordinates (nv,) move the body."""
    return mb.paths[body].copy()


def _index(mb: Multibody, body: int | str) -> int:
    index = mb.body_index(body) if isinstance(body, str) else int(body)
    if not 0 <= index < len(mb.bodies):
        raise ModelError(f"No body with index {index}; the model has {len(mb.bodies)}.")
    return index


def jacobian(
    mb: Multibody,
    q: ArrayLike,
    body: int | str,
    point: ArrayLike | None = None,
    relative_to: int | str | None = None,
    axes: Axes = "world",
) -> FloatArray:
    """Return the geometric Jacobian (T, 6, nv): [omega; velocity of the point] = J v.

    Args:
        body: name or index of the body that moves.
        point: (3,) m, the point in body axes from the body origin; the origin where omitted.
        relative_to: the body whose motion is subtracted: the Jacobian along the path between the two; None = world.
        axes: the result in world or in the moving body's axes.

    Raises ModelError for an unknown body or wrong shapes.
    """
    b = _index(mb, body)
    J = joint_jacobians(mb, q)
    moving = on_path(mb, b).astype(np.float64)
    if relative_to is not None:
        moving -= on_path(mb, _index(mb, relative_to))
    J *= moving
    R_WB, p_WB = body_poses(mb, q)
    x = p_WB[:, b] if point is None else p_WB[:, b] + R_WB[:, b] @ checked(point, (3,), "point")
    J[:, 3:] += np.cross(J[:, :3], x[:, :, None], axisa=1, axisb=1, axisc=1)
    if axes == "body":
        return np.concatenate(
            [R_WB[:, b].transpose(0, 2, 1) @ J[:, :3], R_WB[:, b].transpose(0, 2, 1) @ J[:, 3:]], axis=1
        )
    return J


def jacobian_rate_times_v(
    mb: Multibody, q: ArrayLike, v: ArrayLike, body: int | str, point: ArrayLike | None = None
) -> FloatArray:
    """Return dJ/dt v (T, 6) in world axes: the [angular; classical linear] acceleration of the point at vdot = 0.

    So the acceleration of the point is jacobian(...) vdot + this. Arguments as for `jacobian`.
    """
    b = _index(mb, body)
    R_WB, _ = body_poses(mb, q)
    velocity = body_velocities(mb, q, v)[:, b]
    acceleration = body_accelerations(mb, q, v, np.zeros_like(np.asarray(v, dtype=np.float64)))[:, b]
    x = np.zeros(3) if point is None else checked(point, (3,), "point")
    w, dw = velocity[:, :3], acceleration[:, :3]
    # classical acceleration: that of the origin + dw x x + w x (w x x)
    linear = acceleration[:, 3:] + np.cross(w, velocity[:, 3:]) + np.cross(dw, x) + np.cross(w, np.cross(w, x))
    return np.concatenate(
        [np.einsum("tij,tj->ti", R_WB[:, b], dw), np.einsum("tij,tj->ti", R_WB[:, b], linear)], axis=1
    )


def centroidal_momentum_matrix(mb: Multibody, q: ArrayLike, out: FloatArray | None = None) -> FloatArray:
    """Return A (T, 6, nv): [angular momentum about the centre of mass; linear momentum] = A v, world axes.

    out: (T, 6, nv) of an earlier call, filled again. Orin, Goswami & Lee 2013, doi 10.1007/s10514-013-9341-4.
    """
    (positions,) = state(mb, q)
    A = _result(positions.shape[0], mb.nv, out)
    work = workspace(crba.work_size(mb.tree, 6 * mb.nv))
    crba.momentum_matrix(mb.tree, subtree_mass(mb.tree), positions, A.reshape(len(A), 6 * mb.nv), work)
    return A
