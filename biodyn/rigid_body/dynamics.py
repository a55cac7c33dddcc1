"""Inverse and forward dynamics, mass matrix, momentum and energies, Coriolis matrix, regressor and derivatives over frames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, overload

import numpy as np
from numpy.typing import ArrayLike

from biodyn.conventions import FloatArray, IntArray
from biodyn.errors import ModelError
from biodyn.geometry.rotations import cross
from biodyn.kernels import dynamics as kernels
from biodyn.kernels import linear_algebra, second_order
from biodyn.kernels.lanes import WIDTH
from biodyn.kernels.tree import Tree
from biodyn.rigid_body.arguments import checked, external, of_bodies, state, workspace
from biodyn.rigid_body.kinematics import body_poses, difference
from biodyn.rigid_body.multibody import Multibody


def wrenches_at_points(points: ArrayLike, forces: ArrayLike, moments: ArrayLike | None = None) -> FloatArray:
    """Return wrenches (T, K, 6) about the world origin of forces (T, K, 3) N at points (T, K, 3) m, world axes.

    moments: (T, K, 3) N m, free moments besides.
    """
    p = checked(points, (None, None, 3), "points")
    f = checked(forces, (p.shape[0], p.shape[1], 3), "forces")
    free = np.zeros_like(p) if moments is None else checked(moments, (p.shape[0], p.shape[1], 3), "moments")
    return np.concatenate([free + np.cross(p, f), f], axis=2)


def wrenches_of_bodies(
    mb: Multibody, q: ArrayLike, wrenches: ArrayLike, bodies: Sequence[int] | IntArray
) -> FloatArray:
    """Return wrenches (T, K, 6) about the world origin of wrenches given about body origins in body axes.

    q (T, nq); wrenches (T, K, 6), [moment; force], the k-th in the frame of bodies[k].
    """
    index = np.asarray(bodies, dtype=np.int64)
    R_WB, p_WB = body_poses(mb, q)
    given = checked(wrenches, (R_WB.shape[0], len(index), 6), "wrenches")
    force = np.einsum("tkij,tkj->tki", R_WB[:, index], given[..., 3:])
    moment = np.einsum("tkij,tkj->tki", R_WB[:, index], given[..., :3])
    return wrenches_at_points(p_WB[:, index], force, moment)


@dataclass(frozen=True)
class Passive:
    """Dampers and springs in the joints.

    Attributes:
        damping: (nv,) N m s/rad or N s/m, force -damping v.
        stiffness: (nv,) N m/rad or N/m, force stiffness (q_rest - q), differences as by `difference`.
        q_rest: (nq,) where the springs are slack.
    """

    damping: ArrayLike | None = None
    stiffness: ArrayLike | None = None
    q_rest: ArrayLike | None = None

    def forces(self, mb: Multibody, q: ArrayLike, v: ArrayLike) -> FloatArray:
        """Return the generalised forces (T, nv) of the dampers and springs at q (T, nq), v (T, nv)."""
        positions, rates = state(mb, q, v=v)
        result = np.zeros_like(rates)
        if self.damping is not None:
            result -= checked(self.damping, (mb.nv,), "damping") * rates
        if self.stiffness is not None:
            rest = checked(mb.neutral() if self.q_rest is None else self.q_rest, (mb.nq,), "q_rest")
            result += checked(self.stiffness, (mb.nv,), "stiffness") * difference(mb, positions, rest[None])
        return result


def subtree_mass(tree: Tree) -> FloatArray:
    """Return the mass of each link with all it carries (n,), kg."""
    mass = tree.mass.copy()
    for i in range(len(mass) - 1, 0, -1):
        if tree.parent[i] >= 0:
            mass[tree.parent[i]] += mass[i]
    return mass


def mass_matrix(mb: Multibody, q: ArrayLike) -> FloatArray:
    """Return the joint-space inertia matrices M (T, nv, nv) for q (T, nq), symmetric.

    Composite-rigid-body algorithm, Featherstone 2008, Table 6.2.
    """
    (positions,) = state(mb, q)
    return _mass_matrix(mb.tree, positions)


def _mass_matrix(tree: Tree, q: FloatArray) -> FloatArray:
    nv = len(tree.dof_link)
    M = np.zeros((len(q), nv**2))
    kernels.mass_matrix(tree, subtree_mass(tree), q, M, workspace(kernels.work_size(tree, nv**2)))
    return M.reshape(-1, nv, nv)


def normal_matrix(mb: Multibody, q: ArrayLike, bodies: IntArray, p_BM: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the sum of w_m J_m^T J_m (T, nv, nv) for q (T, nq), J_m the Jacobian of the place of point m.

    bodies (M,), p_BM (M, 3) m: the points and the bodies that carry them; weights (M,). It is the mass matrix of the tree
    with only masses w_m at these points on its links.
    """
    (positions,) = state(mb, q)
    carriers = np.zeros((len(mb.tree.parent), len(bodies)))
    carriers[mb.link_of_body[bodies], np.arange(len(bodies))] = weights
    x, y, z = p_BM.T
    second = np.stack([y * y + z * z, -x * y, -x * z, x * x + z * z, -y * z, x * x + y * y], axis=1)
    tree = mb.tree._replace(mass=carriers.sum(axis=1), first_moment=carriers @ p_BM, inertia_origin=carriers @ second)
    return _mass_matrix(tree, positions)


def solve_with_mass(mb: Multibody, M: ArrayLike, right: ArrayLike) -> FloatArray:
    """Return M^-1 right (T, nv) for M (T, nv, nv) of `mass_matrix` and right (T, nv), by its sparse Cholesky factors.

    So vdot = solve_with_mass(mb, M, tau - bias): the other way to forward dynamics, cheaper where M is known.
    Featherstone 2008, section 6.5.
    """
    matrices = checked(M, (None, mb.nv, mb.nv), "M")
    given = checked(right, (matrices.shape[0], mb.nv), "right")
    result = np.empty_like(given)
    tree = mb.tree
    rows = np.zeros(mb.nv * linear_algebra.stride(int(tree.dof_depth.max(initial=0))))
    linear_algebra.solve_with_mass(tree.dof_path, tree.dof_depth, matrices, given, result, rows, np.zeros(mb.nv))
    return result


def subtree_masses(mb: Multibody) -> FloatArray:
    """Return the mass of each body with all it carries (B,), kg."""
    return np.asarray(subtree_mass(mb.tree)[mb.link_of_body])


def momentum_rate(
    mb: Multibody, q: ArrayLike, v: ArrayLike, vdot: ArrayLike, about: Literal["world", "com"] = "world"
) -> FloatArray:
    """Return d/dt of `momentum` (T, 6), N m and N, world axes, for q (T, nq), v, vdot (T, nv).

    What the world must exert: ground reaction and weight together. The sum of the root joints' wrenches without
    gravity (Featherstone 2008, section 5.3). About the centre of mass the moving point costs nothing (Newton-Euler).
    """
    positions, rates, accelerations = state(mb, q, v=v, vdot=vdot)
    frames, n = positions.shape[0], mb.tree.parent.shape[0]
    loads, path, start = external(mb, frames, None, None)
    tau, transmitted = np.empty((frames, mb.nv)), np.empty((frames, n, 6))
    work = workspace(kernels.work_size(mb.tree))
    kernels.inverse_dynamics(mb.weightless, positions, rates, accelerations, loads, path, start, tau, transmitted, work)
    R_WB, p_WB = body_poses(mb, positions)
    result = np.zeros((frames, 6))
    for b in np.flatnonzero(mb.parents < 0):
        wrench = transmitted[:, mb.link_of_body[b]]
        force = np.einsum("tij,tj->ti", R_WB[:, b], wrench[:, 3:])
        result[:, :3] += np.einsum("tij,tj->ti", R_WB[:, b], wrench[:, :3]) + cross(p_WB[:, b], force)
        result[:, 3:] += force
    if about == "com":
        result[:, :3] -= cross(centre_of_mass(mb, positions), result[:, 3:])
    elif about != "world":
        raise ModelError(f"about must be 'world' or 'com', found {about!r}.")
    return result


def _of(mb: Multibody, bodies: Indices | None) -> Tree:
    """Return the tree with only the mass of `bodies`; raises ModelError where they have none."""
    if bodies is None:
        tree = mb.tree
    else:
        index = np.asarray(bodies, dtype=np.int64)
        if index.ndim != 1 or (index.size and not (index.min() >= 0 and index.max() < len(mb.bodies))):
            raise ModelError(f"bodies must be indices below {len(mb.bodies)}, found {bodies!r}.")
        keep = np.zeros(mb.tree.parent.shape[0])
        keep[mb.link_of_body[index]] = 1.0
        tree = mb.tree._replace(
            mass=mb.tree.mass * keep,
            first_moment=mb.tree.first_moment * keep[:, None],
            inertia_origin=mb.tree.inertia_origin * keep[:, None],
        )
    if not tree.mass.sum() > 0:
        raise ModelError("The bodies have no mass, so no centre of mass.")
    return tree


def _sums(mb: Multibody, q: ArrayLike, v: ArrayLike | None, bodies: Indices | None) -> tuple[FloatArray, float]:
    frames = np.shape(q)[0] if np.ndim(q) else 0
    positions, rates = state(mb, q, v=np.zeros((frames, mb.nv)) if v is None else v)
    tree = _of(mb, bodies)
    result = np.empty((positions.shape[0], kernels.COLUMNS))
    kernels.whole_body(tree, positions, rates, result, workspace(kernels.work_size(tree)))
    return result, float(tree.mass.sum())


def centre_of_mass(mb: Multibody, q: ArrayLike, bodies: Indices | None = None) -> FloatArray:
    """Return the centre of mass p_WBcm (T, 3), m, of all bodies or of those with the given indices."""
    sums, mass = _sums(mb, q, None, bodies)
    return sums[:, :3] / mass


def centre_of_mass_velocity(mb: Multibody, q: ArrayLike, v: ArrayLike, bodies: Indices | None = None) -> FloatArray:
    """Return the velocity of the centre of mass (T, 3), m/s, world axes."""
    sums, mass = _sums(mb, q, v, bodies)
    return sums[:, 6:9] / mass


def momentum(
    mb: Multibody,
    q: ArrayLike,
    v: ArrayLike,
    about: Literal["world", "com"] = "world",
    bodies: Indices | None = None,
) -> FloatArray:
    """Return the spatial momentum (T, 6), [angular N m s; linear N s] in world axes.

    about: the point of the angular part, the world origin or the centre of mass (of the same bodies).
    """
    sums, mass = _sums(mb, q, v, bodies)
    result = sums[:, 3:9].copy()
    if about == "com":
        result[:, :3] -= cross(sums[:, :3] / mass, sums[:, 6:9])
    elif about != "world":
        raise ModelError(f"about must be 'world' or 'com', found {about!r}.")
    return result


def energies(mb: Multibody, q: ArrayLike, v: ArrayLike, bodies: Indices | None = None) -> tuple[FloatArray, FloatArray]:
    """Return kinetic and potential energy (T,), (T,), J; the potential is zero with the mass at the world origin."""
    sums, _ = _sums(mb, q, v, bodies)
    return sums[:, 9].copy(), sums[:, 10].copy()


def centroidal_momentum_matrix(mb: Multibody, q: ArrayLike) -> FloatArray:
    """Return A (T, 6, nv): [angular momentum about the centre of mass; linear momentum] = A v, world axes.

    Orin, Goswami & Lee 2013, doi 10.1007/s10514-013-9341-4.
    """
    (positions,) = state(mb, q)
    A = np.empty((len(positions), 6 * mb.nv))
    work = workspace(kernels.work_size(mb.tree, 6 * mb.nv))
    kernels.momentum_matrix(mb.tree, subtree_mass(mb.tree), positions, A, work)
    return A.reshape(-1, 6, mb.nv)


def _sweep(tree: Tree) -> second_order.Sweep:
    n, nv = tree.parent.shape[0], tree.dof_link.shape[0]

    def fields(count: int) -> FloatArray:
        return workspace(count * WIDTH)

    return second_order.Sweep(
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
    second_order.coriolis_matrix(mb.tree, positions, rates, C, workspace(mb.nv * mb.nv * WIDTH), _sweep(mb.tree))
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
    count = mb.nv if rows is None else rows
    Y = np.empty((frames, count * 10 * n))

    work = workspace(Y.shape[1] * WIDTH), _sweep(mb.tree)
    second_order.regressor(mb.tree, positions, rates, accelerations, Y, count, *work)
    if n == len(mb.bodies):
        return Y.reshape(frames, count, -1)
    by_link = Y.reshape(frames, count, n, 10)[:, :, mb.link_of_body]
    return np.ascontiguousarray(by_link.reshape(frames, count, -1))


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
    unused, work = np.empty((0, tree.parent.shape[0], 6)), workspace(kernels.work_size(tree))
    changed = tree._replace(
        mass=np.zeros_like(tree.mass),
        first_moment=np.zeros_like(tree.first_moment),
        inertia_origin=np.zeros_like(tree.inertia_origin),
    )
    for change, tau in zip((np.zeros_like(before), *columns.T), result, strict=True):
        parameters = (before + change).reshape(-1, 10)
        changed.mass[rows], changed.first_moment[rows], changed.inertia_origin[rows] = (
            parameters[:, 0],
            parameters[:, 1:4],
            parameters[:, 4:],
        )
        kernels.inverse_dynamics(changed, positions, rates, accelerations, loads, path, start, tau, unused, work)
    return np.moveaxis(result[1:] - result[0], 0, 2)


def forces_of_wrenches(
    mb: Multibody, q: ArrayLike, wrenches: ArrayLike, wrench_bodies: Sequence[int] | IntArray
) -> FloatArray:
    """Return J^T F (T, nv): what wrenches (T, K, 6) about the world origin on the bodies (K,) do along the coordinates."""
    (positions,) = state(mb, q)
    loads, path, start = external(mb, len(positions), wrenches, wrench_bodies)
    tree = mb.weightless
    still, result = np.zeros((len(positions), mb.nv)), np.empty((len(positions), mb.nv))
    unused, work = np.empty((0, tree.parent.shape[0], 6)), workspace(kernels.work_size(tree))
    kernels.inverse_dynamics(tree, positions, still, still, loads, path, start, result, unused, work)
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
    results = [np.empty((frames, mb.nv * mb.nv)) for _ in range(3)]
    work = workspace(second_order.derivatives_work_size(mb.tree)), _sweep(mb.tree)
    second_order.inverse_dynamics_derivatives(mb.tree, positions, rates, accelerations, loads, links, *results, *work)
    by_q, by_v, by_vdot = (part.reshape(frames, mb.nv, mb.nv) for part in results)
    return by_q, by_v, by_vdot


def inverse_mass_times(mb: Multibody, q: ArrayLike, forces: ArrayLike) -> FloatArray:
    """Return M(q)^-1 f (T, nv) for f (T, nv) in O(n), without M: forward dynamics at rest without gravity."""
    positions, right = state(mb, q, forces=forces)
    tree = mb.weightless
    result = np.empty_like(right)
    loads, path, start = external(mb, len(right), None, None)
    work = workspace(kernels.forward_dynamics_work_size(tree))
    kernels.forward_dynamics(tree, positions, np.zeros_like(right), right, loads, path, start, result, work)
    return result


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
        passive: dampers and springs in the joints, with forces that tau need not supply.

    Returns tau, dual to v: N m for angles, N for travel, [moment; force] in body axes for a free joint. NaN in a
    frame gives NaN in that frame. Raises ModelError for wrong shapes, indices or infinite numbers.
    Featherstone 2008, Table 5.1.
    """
    positions, rates, accelerations = state(mb, q, v=v, vdot=vdot)
    frames, n = positions.shape[0], mb.tree.parent.shape[0]
    loads, path, start = external(mb, frames, wrenches, wrench_bodies)
    tau = np.empty((frames, mb.nv))
    transmitted = np.empty((frames if joint_wrenches else 0, n, 6))
    work = workspace(kernels.work_size(mb.tree))
    kernels.inverse_dynamics(mb.tree, positions, rates, accelerations, loads, path, start, tau, transmitted, work)
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
    work = workspace(kernels.forward_dynamics_work_size(mb.tree))
    kernels.forward_dynamics(mb.tree, positions, rates, forces, loads, path, start, vdot, work)
    return vdot
