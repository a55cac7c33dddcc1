"""Inverse and forward dynamics over frames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, overload

import numpy as np
from numpy.typing import ArrayLike

from biodyn.conventions import FloatArray, IntArray
from biodyn.kernels import aba, rnea
from biodyn.rigid_body.frames import external, of_bodies, state, workspace
from biodyn.rigid_body.loads import Passive
from biodyn.rigid_body.multibody import Multibody

Indices = Sequence[int] | IntArray


@overload
def inverse_dynamics(
    mb: Multibody,
    q: ArrayLike,
    v: ArrayLike,
    vdot: ArrayLike,
    wrenches: ArrayLike | None = None,
    wrench_bodies: Indices | None = None,
    joint_wrenches: Literal[False] = False,
    passive: Passive | None = None,
) -> FloatArray: ...


@overload
def inverse_dynamics(
    mb: Multibody,
    q: ArrayLike,
    v: ArrayLike,
    vdot: ArrayLike,
    wrenches: ArrayLike | None = None,
    wrench_bodies: Indices | None = None,
    *,
    joint_wrenches: Literal[True],
    passive: Passive | None = None,
) -> tuple[FloatArray, FloatArray]: ...


def inverse_dynamics(
    mb: Multibody,
    q: ArrayLike,
    v: ArrayLike,
    vdot: ArrayLike,
    wrenches: ArrayLike | None = None,
    wrench_bodies: Indices | None = None,
    joint_wrenches: bool = False,
    passive: Passive | None = None,
) -> FloatArray | tuple[FloatArray, FloatArray]:
    """Return the generalised forces tau (T, nv) that make the motion (recursive Newton-Euler algorithm).

    Args:
        q, v, vdot: (T, nq), (T, nv), (T, nv); a quaternion joint's vdot is the derivative of its v components.
        wrenches: (T, K, 6) F_Wo_W, [moment; force] about the world origin in world axes, N m and N, acting ON the
            bodies with index wrench_bodies (K,).
        joint_wrenches: return also the wrenches (T, B, 6) that each joint hands from its parent to its body,
            [moment; force] about the body origin in body axes.
        passive: dampers and springs in the joints, whose forces tau then need not supply.

    Returns tau, dual to v: N m for angles, N for travel, [moment; force] in body axes for a free joint. NaN in a
    frame gives NaN in that frame. Raises ModelError for wrong shapes, indices or infinite numbers.
    Featherstone 2008, Table 5.1.
    """
    positions, rates, accelerations = state(mb, q, v=v, vdot=vdot)
    frames, n = positions.shape[0], mb.tree.parent.shape[0]
    loads, path, start = external(mb, frames, wrenches, wrench_bodies)
    tau = np.empty((frames, mb.nv))
    transmitted = np.empty((frames if joint_wrenches else 0, n, 6))
    work = workspace(rnea.work_size(mb.tree))
    rnea.inverse_dynamics(mb.tree, positions, rates, accelerations, loads, path, start, tau, transmitted, work)
    if passive is not None:
        tau -= passive.forces(mb, positions, rates)
    return (tau, of_bodies(mb, transmitted)) if joint_wrenches else tau


def bias_forces(
    mb: Multibody,
    q: ArrayLike,
    v: ArrayLike,
    wrenches: ArrayLike | None = None,
    wrench_bodies: Indices | None = None,
) -> FloatArray:
    """Return the bias forces (T, nv), tau at vdot = 0: Coriolis, centrifugal, gravity (and the wrenches, if given)."""
    return inverse_dynamics(mb, q, v, np.zeros_like(np.asarray(v, dtype=np.float64)), wrenches, wrench_bodies)


def gravity_forces(mb: Multibody, q: ArrayLike) -> FloatArray:
    """Return the forces (T, nv) that hold the bodies still against gravity at q (T, nq)."""
    still = np.zeros((np.shape(q)[0], mb.nv))
    return inverse_dynamics(mb, q, still, still)


def coriolis_forces(mb: Multibody, q: ArrayLike, v: ArrayLike) -> FloatArray:
    """Return the Coriolis and centrifugal forces C(q, v) v (T, nv): the bias without gravity."""
    return bias_forces(replace(mb, gravity_W=(0.0, 0.0, 0.0)), q, v)


def forward_dynamics(
    mb: Multibody,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    wrenches: ArrayLike | None = None,
    wrench_bodies: Indices | None = None,
    passive: Passive | None = None,
) -> FloatArray:
    """Return the accelerations vdot (T, nv) under the forces tau (T, nv) (articulated-body algorithm).

    Arguments as for `inverse_dynamics`. A massless body at the end of a chain has no defined acceleration: its frame
    gives NaN or infinity. Featherstone 2008, Table 7.1.
    """
    positions, rates, forces = state(mb, q, v=v, tau=tau)
    if passive is not None:
        forces = forces + passive.forces(mb, positions, rates)
    loads, path, start = external(mb, positions.shape[0], wrenches, wrench_bodies)
    vdot = np.empty((positions.shape[0], mb.nv))
    work = workspace(aba.work_size(mb.tree))
    aba.forward_dynamics(mb.tree, positions, rates, forces, loads, path, start, vdot, work)
    return vdot
