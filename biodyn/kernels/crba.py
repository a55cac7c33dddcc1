"""Composite-rigid-body algorithm: the joint-space inertia matrix M(q) (Featherstone 2008, section 6.2, Table 6.2);
with the same columns the centroidal momentum matrix and the joint Jacobians.

In world axes about one point O, the origin of link 0, so that composite inertias are plain sums:
    Ic_i = I_i + sum of Ic of the children,   F_j = Ic_i s_j  (j a coordinate of joint i),
    M_jk = s_k . F_j   for every coordinate k on the path from j to the root.
A composite inertia is ten numbers: the mass of the subtree, which q does not change, first moment h and inertia about O.
"""

from __future__ import annotations

from biodyn.kernels.blocks import drain, drain_blocks, fill, is_whole
from biodyn.kernels.jit import inline, kernel
from biodyn.kernels.joints import joint_column, joint_pose
from biodyn.kernels.lanes import (
    WIDTH,
    LaneMemory,
    broadcast,
    broadcast3,
    load,
    load3,
    load6,
    load9,
    store,
    store3,
    store6,
    store9,
)
from biodyn.kernels.types import Tree
from biodyn.kernels.vec3 import (
    add,
    compose,
    congruent,
    cross,
    dot,
    rotate,
    row3,
    row6,
    scale,
    sub,
    symmetric_times,
)

# fields of a link's pose, of its composite inertia about O, of a coordinate's column
_R, _P, _POSE = 0, 9, 12
_H, _I, _COMPOSITE = 0, 3, 9
_ANGULAR, _LINEAR, _COLUMN = 0, 3, 6


@inline
def _place(tree, i, q, poses):
    """Pose (R, p) of link i in the world."""
    R, p = joint_pose(tree, i, q)
    if tree.parent[i] >= 0:
        there = tree.parent[i] * _POSE
        R_WP = load9(poses, there + _R)
        p = add(load3(poses, there + _P), rotate(R_WP, p))
        R = compose(R_WP, R)
    store9(poses, i * _POSE + _R, R)
    store3(poses, i * _POSE + _P, p)
    return R, p


@inline
def _own_inertia(tree, i, R, p, composites):
    """First moment and inertia of link i about O; p: its origin from O."""
    here, m = i * _COMPOSITE, tree.mass[i]
    zero = broadcast(0.0)
    if m > 0.0:
        # parallel axes: I_O = R I R^T + 2 (p.h) 1 - p h^T - h p^T + m (p.p 1 - p p^T)
        h, inertia = rotate(R, row3(tree.first_moment, i)), congruent(R, row6(tree.inertia_origin, i))
        g = add(h, scale(p, 0.5 * m))  # folds m p p into the mixed terms
        x, y, z = p[0] * g[0], p[1] * g[1], p[2] * g[2]
        store3(composites, here + _H, add(h, scale(p, m)))
        store6(
            composites,
            here + _I,
            (
                inertia[0] + 2.0 * (y + z),
                inertia[1] - (p[0] * g[1] + p[1] * g[0]),
                inertia[2] - (p[0] * g[2] + p[2] * g[0]),
                inertia[3] + 2.0 * (x + z),
                inertia[4] - (p[1] * g[2] + p[2] * g[1]),
                inertia[5] + 2.0 * (x + y),
            ),
        )
    else:
        store3(composites, here + _H, (zero, zero, zero))
        store6(composites, here + _I, (zero, zero, zero, zero, zero, zero))


@inline
def _outwards(tree, q, poses, composites, columns):
    """Fill the columns s_j and the own inertias of all links about O."""
    p_WO = broadcast3((0.0, 0.0, 0.0))
    for i in range(tree.parent.shape[0]):
        R, p = _place(tree, i, q, poses)
        if i == 0:
            p_WO = p
        p = sub(p, p_WO)
        _own_inertia(tree, i, R, p, composites)
        for k in range(tree.nv[i]):
            w, u = joint_column(tree, i, k, R, p)
            at = (tree.idx_v[i] + k) * _COLUMN
            store3(columns, at + _ANGULAR, w)
            store3(columns, at + _LINEAR, u)


@inline
def _force(subtree_mass, i, j, composites, columns):
    """Return F_j = Ic_i s_j as (moment, force)."""
    w, u = load3(columns, j * _COLUMN + _ANGULAR), load3(columns, j * _COLUMN + _LINEAR)
    h = load3(composites, i * _COMPOSITE + _H)
    moment = add(symmetric_times(load6(composites, i * _COMPOSITE + _I), w), cross(h, u))
    return moment, add(scale(u, subtree_mass[i]), cross(w, h))


@inline
def _add_to_parent(tree, i, composites):
    """Add the composite inertia of link i to its parent's."""
    here, there = i * _COMPOSITE, tree.parent[i] * _COMPOSITE
    if tree.parent[i] >= 0:
        for k in range(_COMPOSITE):
            at = (there + k) * WIDTH
            store(composites, at, load(composites, at) + load(composites, (here + k) * WIDTH))


@kernel
def mass_matrix(tree, subtree_mass, q, M, work):
    """Fill M (T, nv nv), row by row; q (T, nq), subtree_mass (n,) kg.

    M must hold zeros: blocks of unrelated pairs stay as they are.
    """
    n, nv = tree.parent.shape[0], tree.dof_link.shape[0]
    poses, composites = work, work[n * _POSE * WIDTH :]
    columns = work[n * (_POSE + _COMPOSITE) * WIDTH :]
    q_lanes = work[(n * (_POSE + _COMPOSITE) + nv * _COLUMN) * WIDTH :]
    matrix = q_lanes[(n + nv) * WIDTH :]
    for first in range(0, q.shape[0], WIDTH):
        fill(q_lanes, q, first)
        _outwards(tree, LaneMemory(q_lanes), poses, composites, columns)
        for i in range(n - 1, -1, -1):
            _add_to_parent(tree, i, composites)
            for j in range(tree.idx_v[i], tree.idx_v[i] + tree.nv[i]):
                moment, force = _force(subtree_mass, i, j, composites, columns)
                for d in range(tree.dof_depth[j] + 1):
                    k = tree.dof_path[j, d]
                    w, u = load3(columns, k * _COLUMN + _ANGULAR), load3(columns, k * _COLUMN + _LINEAR)
                    entry = dot(w, moment) + dot(u, force)
                    store(matrix, (j * nv + k) * WIDTH, entry)
                    store(matrix, (k * nv + j) * WIDTH, entry)
        if is_whole(M, first):
            drain_blocks(matrix, M, first, tree.dof_blocks)
        else:
            drain(matrix, M, first)


@kernel
def momentum_matrix(tree, subtree_mass, q, A, work):
    """Fill A (T, 6 nv), row by row: [L; P] = A v about the common centre of mass in world axes.

    Its columns are Ic_j s_j, moved from O to the centre of mass (Orin, Goswami & Lee 2013).
    """
    n, nv = tree.parent.shape[0], tree.dof_link.shape[0]
    poses, composites = work, work[n * _POSE * WIDTH :]
    columns = work[n * (_POSE + _COMPOSITE) * WIDTH :]
    q_lanes = work[(n * (_POSE + _COMPOSITE) + nv * _COLUMN) * WIDTH :]
    matrix = q_lanes[(n + nv) * WIDTH :]
    for first in range(0, q.shape[0], WIDTH):
        fill(q_lanes, q, first)
        _outwards(tree, LaneMemory(q_lanes), poses, composites, columns)
        for i in range(n - 1, -1, -1):
            _add_to_parent(tree, i, composites)
        mass, h = 0.0, broadcast3((0.0, 0.0, 0.0))
        for i in range(n):
            if tree.parent[i] < 0:
                mass += subtree_mass[i]
                h = add(h, load3(composites, i * _COMPOSITE + _H))
        p_Ocm = scale(h, 1.0 / mass)
        for j in range(nv):
            moment, force = _force(subtree_mass, tree.dof_link[j], j, composites, columns)
            moment = sub(moment, cross(p_Ocm, force))
            for k in range(3):
                store(matrix, (k * nv + j) * WIDTH, moment[k])
                store(matrix, ((3 + k) * nv + j) * WIDTH, force[k])
        drain(matrix, A, first)


@kernel
def joint_columns(tree, q, J, work):
    """Fill J (T, 6 nv), row by row: the columns s_j = [angular; linear at the world origin] in world axes."""
    n, nv = tree.parent.shape[0], tree.dof_link.shape[0]
    poses, matrix = work, work[n * _POSE * WIDTH :]
    q_lanes = work[(n * _POSE + 6 * nv) * WIDTH :]
    for first in range(0, q.shape[0], WIDTH):
        fill(q_lanes, q, first)
        for i in range(n):
            R, p = _place(tree, i, LaneMemory(q_lanes), poses)
            for j in range(tree.idx_v[i], tree.idx_v[i] + tree.nv[i]):
                w, u = joint_column(tree, i, j - tree.idx_v[i], R, p)
                for k in range(3):
                    store(matrix, (k * nv + j) * WIDTH, w[k])
                    store(matrix, ((3 + k) * nv + j) * WIDTH, u[k])
        drain(matrix, J, first)


def work_size(tree: Tree, numbers: int) -> int:
    """Return how many doubles the kernels of this file need as `work` for results of so many numbers a frame."""
    n, nv = tree.parent.shape[0], tree.dof_link.shape[0]
    return (n * (_POSE + _COMPOSITE) + nv * _COLUMN + n + nv + numbers) * WIDTH
