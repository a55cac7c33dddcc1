"""Where the bodies are and how they move; steps on the configuration manifold."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from biodyn.conventions import FloatArray
from biodyn.kernels import kinematics, manifold
from biodyn.kernels.joints import FREE, SPHERICAL
from biodyn.rigid_body.frames import of_bodies, state, workspace
from biodyn.rigid_body.multibody import Multibody


def body_poses(mb: Multibody, q: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return R_WB (T, B, 3, 3) and p_WB (T, B, 3) m of all bodies for q (T, nq).

    Raises ModelError for a wrong shape or infinite numbers; NaN gives NaN in its frame.
    """
    (positions,) = state(mb, q)
    frames, n = positions.shape[0], mb.tree.parent.shape[0]
    R, p = np.empty((frames, 9 * n)), np.empty((frames, 3 * n))
    kinematics.poses(mb.tree, positions, R, p, workspace(kinematics.work_size(mb.tree)))
    return of_bodies(mb, R.reshape(frames, n, 3, 3)), of_bodies(mb, p.reshape(frames, n, 3))


def _motion(mb: Multibody, q: ArrayLike, v: ArrayLike, vdot: ArrayLike | None) -> tuple[FloatArray, FloatArray]:
    positions, rates, accelerations = state(mb, q, v=v, vdot=np.zeros_like(np.asarray(v)) if vdot is None else vdot)
    frames, n = positions.shape[0], mb.tree.parent.shape[0]
    velocity, acceleration = np.empty((frames, 6 * n)), np.empty((frames, 6 * n))
    work = workspace(kinematics.work_size(mb.tree))
    kinematics.motion(mb.tree, positions, rates, accelerations, velocity, acceleration, work)
    return of_bodies(mb, velocity.reshape(frames, n, 6)), of_bodies(mb, acceleration.reshape(frames, n, 6))


def body_velocities(mb: Multibody, q: ArrayLike, v: ArrayLike) -> FloatArray:
    """Return the spatial velocities (T, B, 6), [omega; v of the body origin] in body axes, rad/s and m/s.

    q (T, nq), v (T, nv). Featherstone 2008, eq. 5.8.
    """
    return _motion(mb, q, v, None)[0]


def body_accelerations(mb: Multibody, q: ArrayLike, v: ArrayLike, vdot: ArrayLike) -> FloatArray:
    """Return the spatial accelerations (T, B, 6), [angular; linear] about the body origin in body axes.

    q (T, nq), v, vdot (T, nv); gravity is not added. The classical acceleration of the body origin is the linear
    part + omega x v (Featherstone 2008, eq. 2.46).
    """
    return _motion(mb, q, v, vdot)[1]


def integrate(mb: Multibody, q: ArrayLike, v_dt: ArrayLike) -> FloatArray:
    """Return the configurations (T, nq) reached from q (T, nq) by the steps v dt (T, nv) in body axes.

    Rotations by the exponential map, free joints along the screw of the constant body-frame twist.
    """
    positions, steps = state(mb, q, v_dt=v_dt)
    result = np.empty_like(positions)
    manifold.integrate(mb.tree, positions, steps, result)
    return result


def difference(mb: Multibody, q0: ArrayLike, q1: ArrayLike) -> FloatArray:
    """Return the steps (T, nv) with integrate(q0, step) = q1, rotations the shorter way; q0, q1 (T, nq)."""
    (start,), (end,) = state(mb, q0), state(mb, q1)
    start, end = (np.ascontiguousarray(a) for a in np.broadcast_arrays(start, end))
    steps = np.empty((start.shape[0], mb.nv))
    manifold.difference(mb.tree, start.copy(), end.copy(), steps)
    return steps


def random_configuration(mb: Multibody, rng: np.random.Generator, frames: int = 1, spread: float = 1.0) -> FloatArray:
    """Return configurations q (frames, nq): rotations uniform, one-axis coordinates uniform within their limits.

    Where a limit is missing, `spread` (rad or m) stands for it, from the other limit or from 0; places of free joints
    are uniform within +-spread m. rng: from `numpy.random.default_rng(seed)`.
    """
    tree = mb.tree
    q = np.empty((frames, mb.nq))
    for i in range(tree.parent.shape[0]):
        at, kind = int(tree.idx_q[i]), int(tree.kind[i])
        if kind in (FREE, SPHERICAL):
            if kind == FREE:
                q[:, at : at + 3] = rng.uniform(-spread, spread, size=(frames, 3))
                at += 3
            turns = rng.normal(size=(frames, 4))  # a normal vector points everywhere alike
            q[:, at : at + 4] = turns / np.linalg.norm(turns, axis=1, keepdims=True)
        elif tree.nv[i] == 1:
            low, high = mb.lower[tree.idx_v[i]], mb.upper[tree.idx_v[i]]
            if not np.isfinite(low):
                low = min(-spread, high - spread)
            if not np.isfinite(high):
                high = max(spread, low + spread)
            q[:, at] = rng.uniform(low, high, size=frames)
    return q
