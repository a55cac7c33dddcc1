"""Coriolis matrix, regressor of the inertial parameters, derivatives of inverse dynamics, inverse mass matrix."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from biodyn.conventions import FloatArray, IntArray
from biodyn.kernels import coriolis, id_derivatives, rnea
from biodyn.kernels import regressor as regressors
from biodyn.kernels.aba import forward_dynamics as articulated
from biodyn.kernels.aba import work_size
from biodyn.kernels.lanes import WIDTH
from biodyn.kernels.sweep import Sweep
from biodyn.kernels.types import Tree
from biodyn.rigid_body.frames import checked, external, state, workspace
from biodyn.rigid_body.multibody import Multibody


def _sweep(tree: Tree) -> Sweep:
    n, nv = tree.parent.shape[0], tree.dof_link.shape[0]

    def fields(count: int) -> FloatArray:
        return workspace(count * WIDTH)

    return Sweep(
        R_WB=fields(9 * n),
        p_OB=fields(3 * n),
        v=fields(6 * n),
        a=fields(6 * n),
        f=fields(6 * n),
        outer=fields(6 * n),
        inertia=fields(36 * n),
        B=fields(36 * n),
        s=fields(6 * nv),
        rate=fields(6 * nv),
        carried=fields(6 * nv),
        twice=fields(6 * nv),
        origin=fields(3),
        q=fields(nv + n),  # a joint has one number more than rates at most
        qd=fields(nv),
        qdd=fields(nv),
        wrench=fields(6),
    )


def coriolis_matrix(mb: Multibody, q: ArrayLike, v: ArrayLike) -> FloatArray:
    """Return C (T, nv, nv) with C v the Coriolis and centrifugal forces and dM/dt - 2 C skew-symmetric.

    q (T, nq), v (T, nv). Echeandia & Wensing 2021, doi 10.1115/1.4051169.
    """
    positions, rates = state(mb, q, v=v)
    C = np.empty((positions.shape[0], mb.nv * mb.nv))
    coriolis.coriolis_matrix(mb.tree, positions, rates, C, workspace(mb.nv * mb.nv * WIDTH), _sweep(mb.tree))
    return C.reshape(-1, mb.nv, mb.nv)


def inertial_parameters(mb: Multibody) -> FloatArray:
    """Return phi (10 B,): for each body [m, m c (3), I_xx, I_xy, I_xz, I_yy, I_yz, I_zz about the body origin]."""
    tree, rows = mb.tree, mb.link_of_body
    phi = np.concatenate([tree.mass[:, None], tree.first_moment, tree.inertia_origin], axis=1)
    return np.asarray(phi[rows].ravel())


def regressor(mb: Multibody, q: ArrayLike, v: ArrayLike, vdot: ArrayLike, rows: int | None = None) -> FloatArray:
    """Return Y (T, nv, 10 B) with inverse_dynamics = Y @ inertial_parameters, for any inertial parameters.

    q (T, nq), v, vdot (T, nv). rows: of the first generalised forces only, (T, rows, 10 B); None = of all.
    Atkeson, An & Hollerbach 1986, doi 10.1177/027836498600500306.
    """
    positions, rates, accelerations = state(mb, q, v=v, vdot=vdot)
    frames, n = positions.shape[0], mb.tree.parent.shape[0]
    kept = mb.nv if rows is None else rows
    Y = np.empty((frames, kept * 10 * n))

    work = workspace(Y.shape[1] * WIDTH), _sweep(mb.tree)
    regressors.regressor(mb.tree, positions, rates, accelerations, Y, kept, *work)
    if n == len(mb.bodies):
        return Y.reshape(frames, kept, -1)
    by_link = Y.reshape(frames, kept, n, 10)[:, :, mb.link_of_body]
    return np.ascontiguousarray(by_link.reshape(frames, kept, -1))


def effects_of_inertia(mb: Multibody, q: ArrayLike, v: ArrayLike, vdot: ArrayLike, changes: ArrayLike) -> FloatArray:
    """Return what changes (10 B, P) of the `inertial_parameters` do to inverse dynamics, (T, nv, P): `regressor` @ changes.

    One pass of the recursion a change, without forming the regressor: a third of its time for all forces and some forty changes.
    Of the first forces alone the regressor's rows take half of the time of this. Bodies must keep a mass above zero.
    """
    positions, rates, accelerations = state(mb, q, v=v, vdot=vdot)
    tree, rows = mb.tree, mb.link_of_body
    columns = checked(changes, (10 * len(mb.bodies), None), "changes")
    before = inertial_parameters(mb)
    loads, path, start = external(mb, len(positions), None, None)
    result = np.empty((1 + columns.shape[1], len(positions), mb.nv))
    unused, work = np.empty((0, tree.parent.shape[0], 6)), workspace(rnea.work_size(tree))
    changed = tree._replace(
        mass=np.zeros_like(tree.mass),
        first_moment=np.zeros_like(tree.first_moment),
        inertia_origin=np.zeros_like(tree.inertia_origin),
    )
    for change, tau in zip((np.zeros_like(before), *columns.T), result, strict=True):
        own = (before + change).reshape(-1, 10)
        changed.mass[rows], changed.first_moment[rows], changed.inertia_origin[rows] = (
            own[:, 0],
            own[:, 1:4],
            own[:, 4:],
        )
        rnea.inverse_dynamics(changed, positions, rates, accelerations, loads, path, start, tau, unused, work)
    return np.moveaxis(result[1:] - result[0], 0, 2)


def forces_of_wrenches(
    mb: Multibody, q: ArrayLike, wrenches: ArrayLike, wrench_bodies: Sequence[int] | IntArray
) -> FloatArray:
    """Return J^T F (T, nv): what wrenches (T, K, 6) about the world origin on the bodies (K,) do along the coordinates."""
    (positions,) = state(mb, q)
    loads, path, start = external(mb, len(positions), wrenches, wrench_bodies)
    tree = mb.weightless
    still, result = np.zeros((len(positions), mb.nv)), np.empty((len(positions), mb.nv))
    unused, work = np.empty((0, tree.parent.shape[0], 6)), workspace(rnea.work_size(tree))
    rnea.inverse_dynamics(tree, positions, still, still, loads, path, start, result, unused, work)
    return -result  # at rest and without weight, inverse dynamics only undoes the wrenches


def inverse_dynamics_derivatives(
    mb: Multibody,
    q: ArrayLike,
    v: ArrayLike,
    vdot: ArrayLike,
    wrenches: ArrayLike | None = None,
    wrench_bodies: Sequence[int] | IntArray | None = None,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return dtau/dq, dtau/dv and dtau/dvdot = M, each (T, nv, nv), rows tau.

    The derivative by q is that along the steps of `integrate`. The wrenches (T, K, 6) stay as they are in the world.
    Singh, Russell & Wensing 2022, doi 10.1109/LRA.2022.3141194.
    """
    positions, rates, accelerations = state(mb, q, v=v, vdot=vdot)
    frames = positions.shape[0]
    loads, path, start = external(mb, frames, wrenches, wrench_bodies)
    links = path[start[1:] - 1] if len(start) > 1 else np.zeros(0, dtype=np.int64)
    found = [np.empty((frames, mb.nv * mb.nv)) for _ in range(3)]
    work = workspace(id_derivatives.work_size(mb.tree)), _sweep(mb.tree)
    id_derivatives.inverse_dynamics_derivatives(mb.tree, positions, rates, accelerations, loads, links, *found, *work)
    by_q, by_v, by_vdot = (one.reshape(frames, mb.nv, mb.nv) for one in found)
    return by_q, by_v, by_vdot


def inverse_mass_times(mb: Multibody, q: ArrayLike, forces: ArrayLike) -> FloatArray:
    """Return M(q)^-1 f (T, nv) for f (T, nv) in O(n), without M: forward dynamics at rest without gravity."""
    positions, right = state(mb, q, forces=forces)
    tree = mb.weightless
    result = np.empty_like(right)
    loads, path, start = external(mb, len(right), None, None)
    articulated(tree, positions, np.zeros_like(right), right, loads, path, start, result, workspace(work_size(tree)))
    return result
