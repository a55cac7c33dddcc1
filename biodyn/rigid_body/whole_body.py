"""The body as a whole: mass matrix, centre of mass, momentum, energies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from biodyn.conventions import FloatArray, IntArray
from biodyn.errors import ModelError
from biodyn.geometry.rotations import cross
from biodyn.kernels import cholesky, crba, energetics, rnea
from biodyn.kernels.sparse import stride
from biodyn.kernels.types import Tree
from biodyn.rigid_body.frames import checked, external, state, workspace
from biodyn.rigid_body.motion import body_poses
from biodyn.rigid_body.multibody import Multibody

Indices = Sequence[int] | IntArray


def subtree_mass(tree: Tree) -> FloatArray:
    """Return the mass of each link with all it carries (n,), kg."""
    mass = tree.mass.copy()
    for i in range(len(mass) - 1, 0, -1):
        if tree.parent[i] >= 0:
            mass[tree.parent[i]] += mass[i]
    return mass


def mass_matrix(mb: Multibody, q: ArrayLike, out: FloatArray | None = None) -> FloatArray:
    """Return the joint-space inertia matrices M (T, nv, nv) for q (T, nq), symmetric.

    out: (T, nv, nv) from an earlier call with the same model, filled again instead of new memory.
    Composite-rigid-body algorithm, Featherstone 2008, Table 6.2.
    """
    (positions,) = state(mb, q)
    shape = (positions.shape[0], mb.nv, mb.nv)
    if out is not None and (out.shape != shape or out.dtype != np.float64 or not out.flags.c_contiguous):
        raise ModelError(f"out must be a C-ordered float64 array of shape {shape}, found {out.shape} of {out.dtype}.")
    M = np.zeros(shape) if out is None else out
    return _mass_matrix(mb.tree, positions, M)


def _mass_matrix(tree: Tree, q: FloatArray, M: FloatArray) -> FloatArray:
    """Fill M (T, nv, nv), which holds zeros or an earlier result."""
    flat = M.reshape(len(M), M.shape[1] ** 2)
    crba.mass_matrix(tree, subtree_mass(tree), q, flat, workspace(crba.work_size(tree, M.shape[1] ** 2)))
    return M


def normal_matrix(mb: Multibody, q: ArrayLike, bodies: IntArray, p_BM: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the sum of w_m J_m^T J_m (T, nv, nv) for q (T, nq), J_m the Jacobian of the place of point m.

    bodies (M,), p_BM (M, 3) m: the points and the bodies that carry them; weights (M,). It is the mass matrix of the tree
    whose links carry nothing but masses w_m at these points.
    """
    (positions,) = state(mb, q)
    carriers = np.zeros((len(mb.tree.parent), len(bodies)))
    carriers[mb.link_of_body[bodies], np.arange(len(bodies))] = weights
    x, y, z = p_BM.T
    second = np.stack([y * y + z * z, -x * y, -x * z, x * x + z * z, -y * z, x * x + y * y], axis=1)
    tree = mb.tree._replace(mass=carriers.sum(axis=1), first_moment=carriers @ p_BM, inertia_origin=carriers @ second)
    return _mass_matrix(tree, positions, np.zeros((len(positions), mb.nv, mb.nv)))


def solve_with_mass(mb: Multibody, M: ArrayLike, right: ArrayLike) -> FloatArray:
    """Return M^-1 right (T, nv) for M (T, nv, nv) of `mass_matrix` and right (T, nv), by its sparse Cholesky factors.

    So vdot = solve_with_mass(mb, M, tau - bias): the other way to forward dynamics, cheaper where M is at hand.
    Featherstone 2008, section 6.5.
    """
    matrices = checked(M, (None, mb.nv, mb.nv), "M")
    given = checked(right, (matrices.shape[0], mb.nv), "right")
    result = np.empty_like(given)
    tree = mb.tree
    rows = np.zeros(mb.nv * stride(int(tree.dof_depth.max(initial=0))))
    cholesky.solve_with_mass(tree.dof_path, tree.dof_depth, matrices, given, result, rows, np.zeros(mb.nv))
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
    work = workspace(rnea.work_size(mb.tree))
    rnea.inverse_dynamics(mb.weightless, positions, rates, accelerations, loads, path, start, tau, transmitted, work)
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
    result = np.empty((positions.shape[0], energetics.COLUMNS))
    energetics.whole_body(tree, positions, rates, result, workspace(energetics.work_size(tree)))
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
