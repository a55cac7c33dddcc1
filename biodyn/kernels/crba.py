"""Composite-rigid-body algorithm: the joint-space inertia matrix M(q) (Featherstone 2008, section 6.2, Table 6.2);
with the same columns the centroidal momentum matrix and the joint Jacobians.

In world axes about one point O, the origin of link 0, so that composite inertias are plain sums:
    Ic_i = I_i + sum of Ic of the children,   F_j = Ic_i s_j  (j a coordinate of joint i),
    M_jk = s_k . F_j   for every coordinate k on the path from j to the root.
"""

from __future__ import annotations

from biodyn.kernels.jit import inline, kernel
from biodyn.kernels.joints import joint_column, joint_pose
from biodyn.kernels.lanes import (
    WIDTH,
    LaneMemory,
    broadcast,
    broadcast3,
    drain,
    fill,
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

# fields of a link's row: pose, composite first moment and inertia about O
_R, _P, _H, _I, _ROW = 0, 9, 12, 15, 21


@inline
def _place(tree, i, q, links):
    """Pose of link i in world axes from O, its own moments there."""
    here, parent = i * _ROW, tree.parent[i]
    R, p = joint_pose(tree, i, q)
    if parent >= 0:
        R_WP = load9(links, parent * _ROW + _R)
        p = add(load3(links, parent * _ROW + _P), rotate(R_WP, p))
        R = compose(R_WP, R)
    store9(links, here + _R, R)
    store3(links, here + _P, p)


@inline
def _own_inertia(tree, i, p_WO, links):
    here = i * _ROW
    R, p = load9(links, here + _R), sub(load3(links, here + _P), p_WO)
    store3(links, here + _P, p)
    m, h = tree.mass[i], rotate(R, row3(tree.first_moment, i))
    zero = broadcast(0.0)
    if m > 0.0:
        # parallel axes: I_O = R I R^T + 2 (p.h) 1 - p h^T - h p^T + m (p.p 1 - p p^T)
        inertia = congruent(R, row6(tree.inertia_origin, i))
        g = add(h, scale(p, 0.5 * m))  # folds m p p into the mixed terms
        x, y, z = p[0] * g[0], p[1] * g[1], p[2] * g[2]
        store3(links, here + _H, add(h, scale(p, m)))
        store6(
            links,
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
        store3(links, here + _H, (zero, zero, zero))
        store6(links, here + _I, (zero, zero, zero, zero, zero, zero))


@inline
def _add_to_parent(i, parent, links):
    here, there = i * _ROW, parent * _ROW
    for k in range(_H, _ROW):
        at = (there + k) * WIDTH
        store(links, at, load(links, at) + load(links, (here + k) * WIDTH))


@inline
def _composites(tree, q, links):
    """Fill the links' poses and composite inertias about O, the origin of link 0; return p_WO."""
    n = tree.parent.shape[0]
    for i in range(n):
        _place(tree, i, q, links)
    p_WO = load3(links, _P)
    for i in range(n):
        _own_inertia(tree, i, p_WO, links)
    for i in range(n - 1, 0, -1):
        if tree.parent[i] >= 0:
            _add_to_parent(i, tree.parent[i], links)
    return p_WO


@inline
def _column(tree, subtree_mass, j, links):
    """Return s_j = (angular, linear) and Ic s_j = (moment, force), world axes at O."""
    i = tree.dof_link[j]
    here = i * _ROW
    w, u = joint_column(tree, i, j - tree.idx_v[i], load9(links, here + _R), load3(links, here + _P))
    h = load3(links, here + _H)
    moment = add(symmetric_times(load6(links, here + _I), w), cross(h, u))
    force = add(scale(u, subtree_mass[i]), cross(w, h))
    return w, u, moment, force


@kernel
def mass_matrix(tree, subtree_mass, q, M, work):
    """Fill M (T, nv, nv), symmetric; q (T, nq), subtree_mass (n,) kg. M must hold zeros (unrelated pairs stay so)."""
    n, nv = tree.parent.shape[0], tree.dof_link.shape[0]
    links, columns = work, work[n * _ROW * WIDTH :]
    entries = work[(n * _ROW + 6 * nv) * WIDTH :]
    q_lanes = work[(n * _ROW + 7 * nv) * WIDTH :]
    for first in range(0, q.shape[0], WIDTH):
        fill(q_lanes, q, first)
        _composites(tree, LaneMemory(q_lanes), links)
        filled = min(WIDTH, q.shape[0] - first)
        for j in range(nv):
            w, u, moment, force = _column(tree, subtree_mass, j, links)
            store3(columns, 6 * j, w)
            store3(columns, 6 * j + 3, u)
            depth = tree.dof_depth[j]
            for d in range(depth + 1):
                k = tree.dof_path[j, d]
                entry = dot(load3(columns, 6 * k), moment) + dot(load3(columns, 6 * k + 3), force)
                store(entries, d * WIDTH, entry)
            for lane in range(filled):
                for d in range(depth + 1):
                    k = tree.dof_path[j, d]
                    value = entries[d * WIDTH + lane]
                    M[first + lane, j, k] = value
                    M[first + lane, k, j] = value


@kernel
def momentum_matrix(tree, subtree_mass, q, A, work):
    """Fill A (T, 6 nv), row by row: [L; P] = A v about the common centre of mass in world axes.

    Its columns are Ic_j s_j, moved from O to the centre of mass (Orin, Goswami & Lee 2013).
    """
    n, nv = tree.parent.shape[0], tree.dof_link.shape[0]
    links, matrix = work, work[n * _ROW * WIDTH :]
    q_lanes = work[(n * _ROW + 7 * nv) * WIDTH :]
    for first in range(0, q.shape[0], WIDTH):
        fill(q_lanes, q, first)
        _composites(tree, LaneMemory(q_lanes), links)
        mass, h = 0.0, broadcast3((0.0, 0.0, 0.0))
        for i in range(n):
            if tree.parent[i] < 0:
                mass += subtree_mass[i]
                h = add(h, load3(links, i * _ROW + _H))
        p_Ocm = scale(h, 1.0 / mass)
        for j in range(nv):
            _, _, moment, force = _column(tree, subtree_mass, j, links)
            moment = sub(moment, cross(p_Ocm, force))
            for k in range(3):
                store(matrix, (k * nv + j) * WIDTH, moment[k])
                store(matrix, ((3 + k) * nv + j) * WIDTH, force[k])
        drain(matrix, A, first)


@kernel
def joint_columns(tree, q, J, work):
    """Fill J (T, 6 nv), row by row: the columns s_j = [angular; linear at the world origin] in world axes."""
    n, nv = tree.parent.shape[0], tree.dof_link.shape[0]
    links, matrix = work, work[n * _ROW * WIDTH :]
    q_lanes = work[(n * _ROW + 7 * nv) * WIDTH :]
    for first in range(0, q.shape[0], WIDTH):
        fill(q_lanes, q, first)
        for i in range(n):
            _place(tree, i, LaneMemory(q_lanes), links)
        for j in range(nv):
            i = tree.dof_link[j]
            here = i * _ROW
            w, u = joint_column(tree, i, j - tree.idx_v[i], load9(links, here + _R), load3(links, here + _P))
            for k in range(3):
                store(matrix, (k * nv + j) * WIDTH, w[k])
                store(matrix, ((3 + k) * nv + j) * WIDTH, u[k])
        drain(matrix, J, first)


def work_size(tree: Tree) -> int:
    """Return how many doubles the kernels of this file need as `work`."""
    n, nv = tree.parent.shape[0], tree.dof_link.shape[0]
    return (n * _ROW + 8 * nv + n) * WIDTH
