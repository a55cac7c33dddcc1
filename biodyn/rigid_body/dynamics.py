"""Inverse and forward dynamics, mass matrix, momentum, energies, regressor and derivatives for arrays of frames."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from biodyn.conventions import FloatArray, IntArray
from biodyn.errors import ModelError
from biodyn.geometry.rotations import cross, rotate_vectors
from biodyn.kernels import dynamics as kernels
from biodyn.kernels import dynamics_derivatives
from biodyn.kernels.lanes import WIDTH
from biodyn.kernels.tree import Tree
from biodyn.rigid_body.argument_checks import checked_array, checked_state, checked_wrenches, zero_workspace
from biodyn.rigid_body.kinematics import body_poses, body_velocities
from biodyn.rigid_body.multibody import Multibody


def subtree_mass(tree: Tree) -> FloatArray:
    """Return the mass (n,), kg, of the subtree of each link, including the link itself."""
    mass = tree.mass.copy()
    for i in range(len(mass) - 1, 0, -1):
        if tree.parent[i] >= 0:
            mass[tree.parent[i]] += mass[i]
    return mass


def mass_matrix(mb: Multibody, q: ArrayLike) -> FloatArray:
    """Return the joint-space inertia matrices M (T, nv, nv) for q (T, nq), symmetric.

    Composite-rigid-body algorithm, Featherstone 2008, Table 6.2.
    """
    (positions,) = checked_state(mb, q)
    return _mass_matrix(mb.tree, positions)


def _mass_matrix(tree: Tree, q: FloatArray) -> FloatArray:
    nv = len(tree.dof_link)
    M = np.empty((len(q), nv**2))
    kernels.mass_matrix(tree, subtree_mass(tree), q, M, zero_workspace(kernels.work_size(tree, nv**2)))
    return M.reshape(-1, nv, nv)


def normal_matrix(mb: Multibody, q: ArrayLike, bodies: IntArray, p_BM: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the sum of w_m J_m^T J_m (T, nv, nv) for q (T, nq), with J_m the Jacobian of the position of point m.

    bodies (M,), p_BM (M, 3) m: the points and the bodies that carry them; weights (M,). It is the mass matrix of the tree
    with only masses w_m at these points on its links.
    """
    (positions,) = checked_state(mb, q)
    carriers = np.zeros((len(mb.tree.parent), len(bodies)))
    carriers[bodies, np.arange(len(bodies))] = weights
    x, y, z = p_BM.T
    second = np.stack([y * y + z * z, -x * y, -x * z, x * x + z * z, -y * z, x * x + y * y], axis=1)
    tree = mb.tree._replace(mass=carriers.sum(axis=1), first_moment=carriers @ p_BM, inertia_origin=carriers @ second)
    return _mass_matrix(tree, positions)


def centre_of_mass(mb: Multibody, q: ArrayLike) -> FloatArray:
    """Return the position p_WBcm (T, 3), m, of the centre of mass of all bodies."""
    if not mb.total_mass_kg > 0.0:
        raise ModelError("The centre of mass is undefined, because the bodies have no mass.")
    R_WB, p_WB = body_poses(mb, q)
    moment = np.einsum("tbij,bj->ti", R_WB, mb.tree.first_moment) + mb.tree.mass @ p_WB
    return np.asarray(moment / mb.total_mass_kg)


def _body_momenta(mb: Multibody, q: ArrayLike, v: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return the velocities (T, B, 6) of all bodies and their momenta (T, B, 6) about the body origin, in body axes.

    Featherstone 2008, section 2.10: [L; P] = I v.
    """
    tree, velocity = mb.tree, body_velocities(mb, q, v)
    omega, linear = velocity[..., :3], velocity[..., 3:]
    inertia = tree.inertia_origin[:, [[0, 1, 2], [1, 3, 4], [2, 4, 5]]]
    angular = np.einsum("bij,tbj->tbi", inertia, omega) + cross(tree.first_moment, linear)
    return velocity, np.concatenate([angular, tree.mass[:, None] * linear + cross(omega, tree.first_moment)], axis=-1)


def momentum(mb: Multibody, q: ArrayLike, v: ArrayLike, about: Literal["world", "com"] = "world") -> FloatArray:
    """Return the spatial momentum (T, 6), [angular N m s; linear N s] in world axes.

    about: the reference point of the angular momentum, the world origin or the centre of mass.
    """
    if about not in ("world", "com"):
        raise ModelError(f"about must be 'world' or 'com', found {about!r}.")
    R_WB, p_WB = body_poses(mb, q)
    _, momenta = _body_momenta(mb, q, v)
    linear = rotate_vectors(R_WB, momenta[..., 3:])
    angular = rotate_vectors(R_WB, momenta[..., :3]) + cross(p_WB, linear)
    result = np.concatenate([angular.sum(axis=1), linear.sum(axis=1)], axis=-1)
    if about == "com":
        result[:, :3] -= cross(centre_of_mass(mb, q), result[:, 3:])
    return result


def energies(mb: Multibody, q: ArrayLike, v: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return kinetic and potential energy (T,), (T,), J. The potential energy is zero at the world origin."""
    velocity, momenta = _body_momenta(mb, q, v)
    kinetic = 0.5 * np.sum(velocity * momenta, axis=(1, 2))
    return kinetic, -mb.total_mass_kg * centre_of_mass(mb, q) @ mb.gravity_W


def _sweep_memory(tree: Tree) -> dynamics_derivatives.SweepMemory:
    n, nv = tree.parent.shape[0], tree.dof_link.shape[0]

    def fields(count: int) -> FloatArray:
        return zero_workspace(count * WIDTH)

    return dynamics_derivatives.SweepMemory(
        R_WB=fields(9 * n),
        p_OB=fields(3 * n),
        v=fields(6 * n),
        a=fields(6 * n),
        f=fields(6 * n),
        outer=fields(6 * n),
        inertia=fields(36 * n),
        B=fields(36 * n),
        s=fields(6 * nv),
        s_dot=fields(6 * nv),
        psi_dot=fields(6 * nv),
        psi_ddot=fields(6 * nv),
        origin=fields(3),
        q=fields(nv + n),  # a joint has at most one more coordinate than speeds
        qd=fields(nv),
        qdd=fields(nv),
        wrench=fields(6),
    )


def _newton_euler(
    tree: Tree, motion: Sequence[FloatArray], loads: tuple[FloatArray, IntArray, IntArray], joints: bool = False
) -> tuple[FloatArray, FloatArray]:
    """Return tau (T, nv) for checked q, v, vdot and loads, and the wrenches (T, n, 6) of the joints, or none (0, n, 6)."""
    frames = len(motion[0])
    tau = np.empty((frames, len(tree.dof_link)))
    transmitted = np.empty((frames if joints else 0, len(tree.parent), 6))
    kernels.inverse_dynamics(tree, *motion, *loads, tau, transmitted, zero_workspace(kernels.work_size(tree)))
    return tau, transmitted


def inertial_parameters(mb: Multibody) -> FloatArray:
    """Return the inertial parameters phi (10 B,): [m, m c (3), I_xx, I_xy, I_xz, I_yy, I_yz, I_zz about the origin] of each
    body."""
    tree = mb.tree
    return np.concatenate([tree.mass[:, None], tree.first_moment, tree.inertia_origin], axis=1).ravel()


def regressor(mb: Multibody, q: ArrayLike, v: ArrayLike, vdot: ArrayLike, rows: int | None = None) -> FloatArray:
    """Return Y (T, nv, 10 B) with inverse_dynamics = Y @ inertial_parameters, for any inertial parameters.

    q (T, nq), v, vdot (T, nv). rows: number of generalised forces, counted from the first, (T, rows, 10 B); None = all.
    Atkeson, An & Hollerbach 1986, doi 10.1177/027836498600500306.
    """
    positions, rates, accelerations = checked_state(mb, q, v=v, vdot=vdot)
    frames, n = positions.shape[0], mb.tree.parent.shape[0]
    count = mb.nv if rows is None else rows
    Y = np.empty((frames, count * 10 * n))

    work = zero_workspace(Y.shape[1] * WIDTH), _sweep_memory(mb.tree)
    dynamics_derivatives.regressor(mb.tree, positions, rates, accelerations, Y, count, *work)
    return Y.reshape(frames, count, -1)


def inertia_sensitivities(mb: Multibody, q: ArrayLike, v: ArrayLike, vdot: ArrayLike, changes: ArrayLike) -> FloatArray:
    """Return the changes (T, nv, P) of inverse dynamics due to changes (10 B, P) of inertial parameters: `regressor` @ changes.

    One pass of the recursion per change replaces the regressor, which takes a third of the time for about forty changes. If
    only the first forces are needed, rows of the regressor take half the time of these passes. Body masses must stay positive.
    """
    motion = checked_state(mb, q, v=v, vdot=vdot)
    tree = mb.tree
    columns = checked_array(changes, (10 * len(mb.bodies), None), "changes")
    before = inertial_parameters(mb)
    loads = checked_wrenches(mb, len(motion[0]), None, None)
    result = np.empty((1 + columns.shape[1], len(motion[0]), mb.nv))
    changed = tree._replace(
        mass=np.zeros_like(tree.mass),
        first_moment=np.zeros_like(tree.first_moment),
        inertia_origin=np.zeros_like(tree.inertia_origin),
    )
    for change, tau in zip((np.zeros_like(before), *columns.T), result, strict=True):
        parameters = (before + change).reshape(-1, 10)
        changed.mass[:], changed.first_moment[:] = parameters[:, 0], parameters[:, 1:4]
        changed.inertia_origin[:] = parameters[:, 4:]
        tau[:] = _newton_euler(changed, motion, loads)[0]
    return np.moveaxis(result[1:] - result[0], 0, 2)


def generalised_wrench_forces(
    mb: Multibody, q: ArrayLike, wrenches: ArrayLike, wrench_bodies: Sequence[int] | IntArray
) -> FloatArray:
    """Return the generalised forces J^T F (T, nv) of wrenches (T, K, 6) about the world origin that act on the bodies (K,)."""
    (positions,) = checked_state(mb, q)
    loads = checked_wrenches(mb, len(positions), wrenches, wrench_bodies)
    still = np.zeros((len(positions), mb.nv))
    tau, _ = _newton_euler(mb.tree_without_gravity, (positions, still, still), loads)
    return -tau  # at rest and without gravity, inverse dynamics returns minus the generalised forces of the wrenches


def inverse_dynamics_derivatives(
    mb: Multibody,
    q: ArrayLike,
    v: ArrayLike,
    vdot: ArrayLike,
    wrenches: ArrayLike | None = None,
    wrench_bodies: Sequence[int] | IntArray | None = None,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return dtau/dq, dtau/dv and dtau/dvdot = M, each (T, nv, nv); rows are tau.

    Derivatives with respect to q are taken along the steps of `integrate`. The wrenches (T, K, 6) are constant in World.
    Singh, Russell & Wensing 2022, doi 10.1109/LRA.2022.3141194.
    """
    positions, rates, accelerations = checked_state(mb, q, v=v, vdot=vdot)
    frames = positions.shape[0]
    loads, path, start = checked_wrenches(mb, frames, wrenches, wrench_bodies)
    links = path[start[1:] - 1] if len(start) > 1 else np.zeros(0, dtype=np.int64)
    results = [np.empty((frames, mb.nv * mb.nv)) for _ in range(3)]
    work = zero_workspace(dynamics_derivatives.derivatives_work_size(mb.tree)), _sweep_memory(mb.tree)
    dynamics_derivatives.inverse_dynamics_derivatives(
        mb.tree, positions, rates, accelerations, loads, links, *results, *work
    )
    by_q, by_v, by_vdot = (part.reshape(frames, mb.nv, mb.nv) for part in results)
    return by_q, by_v, by_vdot


Indices = Sequence[int] | IntArray


def inverse_dynamics(
    mb: Multibody,
    q: ArrayLike,
    v: ArrayLike,
    vdot: ArrayLike,
    wrenches: ArrayLike | None = None,
    wrench_bodies: Indices | None = None,
) -> FloatArray:
    """Return the generalised forces tau (T, nv) required for the motion (recursive Newton-Euler algorithm).

    Args:
        q, v, vdot: (T, nq), (T, nv), (T, nv); for a quaternion joint, vdot is the derivative of the components of v.
        wrenches: (T, K, 6) F_Wo_W, [moment; force] about the world origin in world axes, N m and N, acting on the
            bodies with index wrench_bodies (K,).

    Returns tau, dual to v: N m for angles, N for travel, [moment; force] in body axes for a free joint. A frame with NaN has
    the result NaN. Raises ModelError for wrong shapes, indices or infinite numbers. Featherstone 2008, Table 5.1.
    """
    motion = checked_state(mb, q, v=v, vdot=vdot)
    return _newton_euler(mb.tree, motion, checked_wrenches(mb, len(motion[0]), wrenches, wrench_bodies))[0]


def inverse_dynamics_with_joint_wrenches(
    mb: Multibody, q: ArrayLike, v: ArrayLike, vdot: ArrayLike, wrenches: ArrayLike, wrench_bodies: Indices
) -> tuple[FloatArray, FloatArray]:
    """Return tau (T, nv) of `inverse_dynamics`, and the wrenches (T, B, 6) that each parent exerts on its body through the joint.

    The wrenches are [moment; force] about the body origin in body axes. Featherstone 2008, eq. 5.20.
    """
    motion = checked_state(mb, q, v=v, vdot=vdot)
    loads = checked_wrenches(mb, len(motion[0]), wrenches, wrench_bodies)
    return _newton_euler(mb.tree, motion, loads, joints=True)


def bias_forces(
    mb: Multibody, q: ArrayLike, v: ArrayLike, wrenches: ArrayLike | None = None, wrench_bodies: Indices | None = None
) -> FloatArray:
    """Return the bias forces (T, nv), i.e. tau for vdot = 0, due to velocity, gravity and wrenches if given."""
    return inverse_dynamics(mb, q, v, np.zeros_like(np.asarray(v, dtype=np.float64)), wrenches, wrench_bodies)


def forward_dynamics(
    mb: Multibody,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    wrenches: ArrayLike | None = None,
    wrench_bodies: Indices | None = None,
) -> FloatArray:
    """Return the accelerations vdot (T, nv) due to the generalised forces tau (T, nv) (articulated-body algorithm).

    Arguments as for `inverse_dynamics`. A massless body at the end of a chain has no defined acceleration, so that the result
    is NaN or infinite. Featherstone 2008, Table 7.1.
    """
    positions, rates, forces = checked_state(mb, q, v=v, tau=tau)
    loads, path, start = checked_wrenches(mb, positions.shape[0], wrenches, wrench_bodies)
    vdot = np.empty((positions.shape[0], mb.nv))
    work = zero_workspace(kernels.forward_dynamics_work_size(mb.tree))
    kernels.forward_dynamics(mb.tree, positions, rates, forces, loads, path, start, vdot, work)
    return vdot
