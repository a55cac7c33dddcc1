"""From bodies to the kernels' links: joints with several axes become chains of massless one-axis links."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from biodyn.conventions import FloatArray, IntArray
from biodyn.kernels import joints as kinds
from biodyn.kernels.blocks import blocks_with
from biodyn.kernels.types import Tree
from biodyn.rigid_body.joint import Body, Joint

_NQ = {kinds.WELD: 0, kinds.REVOLUTE: 1, kinds.SCREW: 1, kinds.SPHERICAL: 4, kinds.FREE: 7}
_NV = {kinds.WELD: 0, kinds.REVOLUTE: 1, kinds.SCREW: 1, kinds.SPHERICAL: 3, kinds.FREE: 6}


@dataclass(frozen=True)
class _Step:
    """One link's joint: kernel kind, angular and linear part of its motion."""

    kind: int
    axis: FloatArray
    slide: FloatArray


@lru_cache(maxsize=256)
def _steps(joint: Joint) -> list[_Step]:
    """Return the kernel joints a joint is made of, from the parent outwards; trials have the same ones again and again."""
    zero = np.zeros(3)
    axes = [np.array(axis) for axis in joint.axes]
    if joint.kind == "weld":
        return [_Step(kinds.WELD, zero, zero)]
    if joint.kind == "free":
        return [_Step(kinds.FREE, zero, zero)]
    if joint.kind == "spherical":
        return [_Step(kinds.SPHERICAL, zero, zero)]
    if joint.kind == "prismatic":
        return [_Step(kinds.SCREW, zero, axes[0])]
    if joint.kind == "helical":
        return [_Step(kinds.SCREW, axes[0], joint.pitch * axes[0])]
    if joint.kind == "cylindrical":
        return [_Step(kinds.REVOLUTE, axes[0], zero), _Step(kinds.SCREW, zero, axes[0])]
    if joint.kind == "planar":
        turn = _Step(kinds.REVOLUTE, np.cross(axes[0], axes[1]), zero)
        return [_Step(kinds.SCREW, zero, axes[0]), _Step(kinds.SCREW, zero, axes[1]), turn]
    return [_Step(kinds.REVOLUTE, axis, zero) for axis in axes]  # revolute, universal, cardan


def _skews(axes: FloatArray) -> FloatArray:
    """The matrices (n, 3, 3) with skew(a) b = a x b of axes (n, 3)."""
    found = np.zeros((len(axes), 3, 3))
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        found[:, k, j], found[:, j, k] = axes[:, i], -axes[:, i]
    return found


def _six(S: FloatArray) -> FloatArray:
    """The upper triangles (n, 6) of symmetric matrices (n, 3, 3), row by row."""
    return np.ascontiguousarray(S.reshape(-1, 9)[:, [0, 1, 2, 4, 5, 8]])


@lru_cache(maxsize=64)
def _dof_tree(parent: tuple[int, ...], nv: tuple[int, ...]) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Return for each velocity coordinate the one before it towards the root (-1 = none), how many are before, and its path.

    Last the `_dof_blocks` of the mass matrix. Featherstone 2008, section 6.4: the expanded parent array of branch-induced
    sparsity. Trials build the same trees again and again, with other sizes.
    """
    before: list[int] = []
    depth: list[int] = []
    last: list[int] = []  # last coordinate on the path to each link
    for i, count in enumerate(nv):
        at = -1 if parent[i] < 0 else last[parent[i]]
        for _ in range(count):
            before.append(at)
            depth.append(0 if at < 0 else depth[at] + 1)
            at = len(before) - 1
        last.append(at)
    dof_parent, dof_depth = np.array(before, dtype=np.int64), np.array(depth, dtype=np.int64)
    dof_path = _dof_paths(dof_parent, dof_depth)
    return dof_parent, dof_depth, dof_path, _dof_blocks(dof_path)


def _dof_paths(dof_parent: IntArray, dof_depth: IntArray) -> IntArray:
    """Return the path to each velocity coordinate by depth (nv, deepest + 1), -1 behind its end."""
    paths = np.full((len(dof_parent), int(dof_depth.max(initial=-1)) + 1), -1, dtype=np.int64)
    for j, (before, depth) in enumerate(zip(dof_parent, dof_depth, strict=True)):
        if before >= 0:
            paths[j] = paths[before]
        paths[j, depth] = j
    return paths


def _dof_blocks(dof_path: IntArray) -> IntArray:
    """Return where the blocks of the mass matrix (nv, nv), row by row, begin in which not all numbers are zero."""
    nv = len(dof_path)
    related = np.zeros((nv, nv), dtype=np.bool_)
    j, depth = np.nonzero(dof_path >= 0)
    related[j, dof_path[j, depth]] = True
    return blocks_with((related | related.T).ravel())


def tree_of_links(bodies: Sequence[Body], parents: IntArray, gravity_W: FloatArray) -> tuple[Tree, IntArray]:
    """Return the kernels' tree and the (B,) link of each body.

    bodies: in topological order; parents: (B,) index of the parent body, -1 = world; gravity_W: (3,) m/s^2.
    """
    parent: list[int] = []
    steps: list[_Step] = []
    owners: list[Body | None] = []  # the body whose mass the link carries
    placements: list[tuple[FloatArray, FloatArray]] = []
    link_of_body = np.zeros(len(bodies), dtype=np.int64)
    for b, body in enumerate(bodies):
        chain = _steps(body.joint)
        for k, step in enumerate(chain):
            before = -1 if parents[b] < 0 else int(link_of_body[parents[b]])
            parent.append(before if k == 0 else len(parent) - 1)
            steps.append(step)
            owners.append(body if k == len(chain) - 1 else None)
            placements.append((body.R_PJ, body.p_PJ) if k == 0 else (np.eye(3), np.zeros(3)))
        link_of_body[b] = len(parent) - 1

    n = len(parent)
    kind = np.array([step.kind for step in steps], dtype=np.int64)
    nq = np.array([_NQ[step.kind] for step in steps], dtype=np.int64)
    nv = np.array([_NV[step.kind] for step in steps], dtype=np.int64)
    R = np.array([placement[0] for placement in placements])
    axis = np.array([step.axis for step in steps])
    slide = np.array([step.slide for step in steps])
    # Rodrigues: exp(q [a]) = a a^T + sin(q) [a] + cos(q) (1 - a a^T), here behind the placement R
    turning = axis.any(axis=1)
    along = np.einsum("ni,nj->nij", axis, axis)
    along[~turning] = np.eye(3)
    mass = np.array([0.0 if body is None else body.mass_kg for body in owners])
    com = np.array([np.zeros(3) if body is None else body.com_m for body in owners])
    inertia = np.array([np.zeros((3, 3)) if body is None else body.inertia_com for body in owners])
    inertia = 0.5 * (inertia + inertia.transpose(0, 2, 1))
    shift = np.einsum("ni,ni->n", com, com)[:, None, None] * np.eye(3) - np.einsum("ni,nj->nij", com, com)
    dof_parent, dof_depth, dof_path, dof_blocks = (
        array.copy() for array in _dof_tree(tuple(parent), tuple(nv.tolist()))
    )
    tree = Tree(
        parent=np.array(parent, dtype=np.int64),
        kind=kind,
        idx_q=np.cumsum(nq) - nq,
        idx_v=np.cumsum(nv) - nv,
        nv=nv,
        dof_link=np.repeat(np.arange(n, dtype=np.int64), nv),
        dof_parent=dof_parent,
        dof_depth=dof_depth,
        dof_path=dof_path,
        dof_blocks=dof_blocks,
        R_PJ=np.ascontiguousarray(R.reshape(n, 9)),
        p_PJ=np.array([placement[1] for placement in placements]),
        axis=axis,
        slide=slide,
        p_slide=np.einsum("nij,nj->ni", R, slide),
        R_fixed=(R @ along).reshape(n, 9),
        R_sin=(R @ _skews(axis)).reshape(n, 9),
        R_cos=(R @ (np.eye(3) - along)).reshape(n, 9),
        mass=mass,
        com=com,
        inertia_com=_six(inertia),
        first_moment=mass[:, None] * com,
        inertia_origin=_six(inertia + mass[:, None, None] * shift),
        gravity_W=np.array(gravity_W, dtype=np.float64),
    )
    for array in tree:
        array.setflags(write=True)  # read-only arrays would be another type to numba, compiled again
    return tree, link_of_body
