"""Derivatives and regressor of inverse dynamics, in world axes about a point O that is fixed in space.

O is the origin of link 0 in each frame. For every link i with coordinates j, outwards:
    s_j,   v_i = v_p + s qd,   a_i = a_p + s qdd + v_i x s qd    (a_world = -gravity)
    s_dot_j = v_i x s_j,   psi_dot_j = v_p x s_j,   psi_ddot_j = a_p x s_j + v_p x psi_dot_j
and composites over the subtree of i: inertia I, force f = I a + v x* I v, and the matrix B of Niemeyer & Slotine
(1991), with B v = v x* I v:   B = 1/2 ((v x*) I - I (v x) + (I v) xbar*).
6-vectors are (angular, linear) 6-tuples of Lanes. s_dot, psi_dot and psi_ddot are those of the paper.

Derivatives of inverse dynamics, O(n d) for trees of depth d (Singh, Russell & Wensing 2022, doi 10.1109/LRA.2022.3141194),
for j on the path of i:
    dtau_i/dq_j = s_i . (2 B_i psi_dot_j + I_i psi_ddot_j)
    dtau_j/dq_i = s_j . (2 B_i psi_dot_i + I_i psi_ddot_i + s_i x* f_i)        (j not of the same joint)
    dtau_i/dv_j = s_i . (2 B_i s_j + I_i (psi_dot_j + s_dot_j)),   dtau_j/dv_i = s_j . (2 B_i s_i + I_i (psi_dot_i + s_dot_i))
and dtau/dvdot = M. A wrench F that is constant in the world adds s_i . (s_j x* F_i) to dtau_i/dq_j. Steps of q are those of
`integrate`, along the coordinates of v.

Regressor: tau = Y(q, v, vdot) phi, linear in every link's ten inertial parameters
phi = [m, m c (3), I_xx, I_xy, I_xz, I_yy, I_yz, I_zz about the link origin, link axes]; a link's force is
    f = m (du + w x u) + dw x h + w x (w x h),   n = L(dw) I + w x L(w) I + h x (du + w x u),   L(w) I = I w
(Atkeson, An & Hollerbach 1986), and tau_j sums s_j . [n; f] over the links that coordinate j moves.
"""

from __future__ import annotations

from typing import NamedTuple

from biodyn.conventions import FloatArray
from biodyn.kernels.array_bundles import register_bundle
from biodyn.kernels.jit import inline, kernel, part
from biodyn.kernels.lanes import (
    WIDTH,
    LaneMemory,
    broadcast,
    broadcast3,
    copy_from_frames,
    copy_to_frames,
    load,
    load3,
    load6,
    load9,
    store,
    store3,
    store6,
    store9,
)
from biodyn.kernels.tree import Tree, joint_column, joint_pose, load_wrench
from biodyn.kernels.vec3 import add, compose, congruence_transform, cross, dot, rotate, rotate_back, row3, row6, sub


@register_bundle
class SweepMemory(NamedTuple):
    """Working memory of eight frames: rows of fields in lane memory."""

    R_WB: FloatArray  # n rows of 9
    p_OB: FloatArray  # n rows of 3, from O
    v: FloatArray  # n rows of 6
    a: FloatArray  # n rows of 6
    f: FloatArray  # n rows of 6: composite force
    outer: FloatArray  # n rows of 6: composite external wrench about O
    inertia: FloatArray  # n rows of 36, composite
    B: FloatArray  # n rows of 36, composite
    s: FloatArray  # nv rows of 6
    s_dot: FloatArray  # nv rows of 6
    psi_dot: FloatArray  # nv rows of 6
    psi_ddot: FloatArray  # nv rows of 6
    origin: FloatArray  # 3: p_WO
    q: FloatArray  # nq
    qd: FloatArray  # nv
    qdd: FloatArray  # nv
    wrench: FloatArray  # 6


@inline
def load_row6(memory, i):
    """Return row i of `memory` (rows of 6 numbers) as a 6-vector."""
    return load6(memory, 6 * i)


@inline
def store_row6(memory, i, a):
    """Store a 6-vector in row i of `memory` (rows of 6 numbers)."""
    store6(memory, 6 * i, a)


@inline
def join_spatial_vector(a, b):
    """Return the 6-vector [a; b]."""
    return (a[0], a[1], a[2], b[0], b[1], b[2])


@inline
def split_spatial_vector(a):
    """Return the angular and the linear part of a 6-vector."""
    return (a[0], a[1], a[2]), (a[3], a[4], a[5])


@inline
def add6(a, b):
    """Return a + b."""
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3], a[4] + b[4], a[5] + b[5])


@inline
def scale6(a, x):
    """Return a x."""
    return (a[0] * x, a[1] * x, a[2] * x, a[3] * x, a[4] * x, a[5] * x)


@inline
def dot6(a, b):
    """Return a . b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3] + a[4] * b[4] + a[5] * b[5]


@inline
def cross_motion(a, b):
    """Return a x b of two motion vectors (Featherstone 2008, eq. 2.31)."""
    (w, u), (x, y) = split_spatial_vector(a), split_spatial_vector(b)
    return join_spatial_vector(cross(w, x), add(cross(w, y), cross(u, x)))


@inline
def cross_force(a, b):
    """Return a x* b of a motion and a force vector (Featherstone 2008, eq. 2.32)."""
    (w, u), (n, f) = split_spatial_vector(a), split_spatial_vector(b)
    return join_spatial_vector(add(cross(w, n), cross(u, f)), cross(w, f))


@inline
def matrix_product(matrix, i, a):
    """Return A a, with the 6x6 matrix A in row i of `matrix` (rows of 36)."""
    at = 36 * i
    return (
        _row_product(matrix, at, a),
        _row_product(matrix, at + 6, a),
        _row_product(matrix, at + 12, a),
        _row_product(matrix, at + 18, a),
        _row_product(matrix, at + 24, a),
        _row_product(matrix, at + 30, a),
    )


@inline
def _element(matrix, i, k):
    return load(matrix, (36 * i + k) * WIDTH)


@inline
def _set_element(matrix, i, k, x):
    store(matrix, (36 * i + k) * WIDTH, x)


@inline
def _row_product(matrix, field, a):
    b, c = load3(matrix, field), load3(matrix, field + 3)
    return b[0] * a[0] + b[1] * a[1] + b[2] * a[2] + c[0] * a[3] + c[1] * a[4] + c[2] * a[5]


@inline
def transposed_matrix_product(matrix, i, a):
    """Return A^T a, with the 6x6 matrix A in row i of `matrix` (rows of 36)."""
    at = 36 * i
    return (
        _column_product(matrix, at, a),
        _column_product(matrix, at + 1, a),
        _column_product(matrix, at + 2, a),
        _column_product(matrix, at + 3, a),
        _column_product(matrix, at + 4, a),
        _column_product(matrix, at + 5, a),
    )


@inline
def _column_product(matrix, field, a):
    at = field * WIDTH
    return (
        load(matrix, at) * a[0]
        + load(matrix, at + 6 * WIDTH) * a[1]
        + load(matrix, at + 12 * WIDTH) * a[2]
        + load(matrix, at + 18 * WIDTH) * a[3]
        + load(matrix, at + 24 * WIDTH) * a[4]
        + load(matrix, at + 30 * WIDTH) * a[5]
    )


@inline
def _store_skew_block(matrix, first, a):
    """Store [a] in the 3x3 block of a 6x6 matrix that starts at the field `first`."""
    zero = broadcast(0.0)
    store3(matrix, first, (zero, -a[2], a[1]))
    store3(matrix, first + 6, (a[2], zero, -a[0]))
    store3(matrix, first + 12, (-a[1], a[0], zero))


@part
def fill_motion(tree, q, v, vdot, first, work):
    """Fill poses, velocities, accelerations and columns of eight frames of q (T, nq), v, vdot (T, nv) from `first` on."""
    copy_from_frames(work.q, q, first)
    copy_from_frames(work.qd, v, first)
    copy_from_frames(work.qdd, vdot, first)
    g = tree.gravity_W
    zero = broadcast(0.0)
    for i in range(tree.parent.shape[0]):
        parent = tree.parent[i]
        R, p = joint_pose(tree, i, LaneMemory(work.q))
        v_P = (zero, zero, zero, zero, zero, zero)
        a_P = join_spatial_vector((zero, zero, zero), broadcast3((-g[0], -g[1], -g[2])))
        if parent >= 0:
            R_WP = load9(work.R_WB, 9 * parent)
            p = add(load3(work.p_OB, 3 * parent), rotate(R_WP, p))
            R = compose(R_WP, R)
            v_P, a_P = load_row6(work.v, parent), load_row6(work.a, parent)
        else:  # position relative to O, the origin of link 0
            if i == 0:
                store3(work.origin, 0, p)
            p = sub(p, load3(work.origin, 0))
        store9(work.R_WB, 9 * i, R)
        store3(work.p_OB, 3 * i, p)
        velocity, push = v_P, a_P
        for j in range(tree.idx_v[i], tree.idx_v[i] + tree.nv[i]):
            w, u = joint_column(tree, i, j - tree.idx_v[i], R, p)
            s = join_spatial_vector(w, u)
            store_row6(work.s, j, s)
            velocity = add6(velocity, scale6(s, load(work.qd, j * WIDTH)))
            push = add6(push, scale6(s, load(work.qdd, j * WIDTH)))
            psi_dot = cross_motion(v_P, s)
            store_row6(work.psi_dot, j, psi_dot)
            store_row6(work.psi_ddot, j, add6(cross_motion(a_P, s), cross_motion(v_P, psi_dot)))
        for j in range(tree.idx_v[i], tree.idx_v[i] + tree.nv[i]):
            s_dot = cross_motion(velocity, load_row6(work.s, j))
            store_row6(work.s_dot, j, s_dot)
            push = add6(push, scale6(s_dot, load(work.qd, j * WIDTH)))
        store_row6(work.v, i, velocity)
        store_row6(work.a, i, push)


@inline
def _unit_vector(k):
    """Return the 6-vector with 1 at index k and 0 elsewhere."""
    return (
        broadcast(1.0 if k == 0 else 0.0),
        broadcast(1.0 if k == 1 else 0.0),
        broadcast(1.0 if k == 2 else 0.0),
        broadcast(1.0 if k == 3 else 0.0),
        broadcast(1.0 if k == 4 else 0.0),
        broadcast(1.0 if k == 5 else 0.0),
    )


@part
def fill_composites(tree, work):
    """Fill the composite inertia, B and force of every subtree."""
    inertia, B = work.inertia, work.B
    zero = broadcast(0.0)
    for i in range(tree.parent.shape[0]):
        m = tree.mass[i]
        if m == 0.0:  # one of the links between which a joint turns about several axes
            for k in range(36):
                _set_element(inertia, i, k, zero)
                _set_element(B, i, k, zero)
            store_row6(work.f, i, (zero, zero, zero, zero, zero, zero))
            continue
        R, p = load9(work.R_WB, 9 * i), load3(work.p_OB, 3 * i)
        h = rotate(R, row3(tree.first_moment, i))
        S = congruence_transform(R, row6(tree.inertia_origin, i))
        gx, gy, gz = h[0] + 0.5 * m * p[0], h[1] + 0.5 * m * p[1], h[2] + 0.5 * m * p[2]
        x, y, z = p[0] * gx, p[1] * gy, p[2] * gz
        # parallel-axis theorem, as in `dynamics`
        J = (
            S[0] + 2.0 * (y + z),
            S[1] - (p[0] * gy + p[1] * gx),
            S[2] - (p[0] * gz + p[2] * gx),
            S[3] + 2.0 * (x + z),
            S[4] - (p[1] * gz + p[2] * gy),
            S[5] + 2.0 * (x + y),
        )
        h = (h[0] + m * p[0], h[1] + m * p[1], h[2] + m * p[2])
        for k in range(36):
            _set_element(inertia, i, k, zero)
        for k in range(3):
            _set_element(inertia, i, 21 + 7 * k, broadcast(m))
        store3(inertia, 36 * i, (J[0], J[1], J[2]))
        store3(inertia, 36 * i + 6, (J[1], J[3], J[4]))
        store3(inertia, 36 * i + 12, (J[2], J[4], J[5]))
        _store_skew_block(inertia, 36 * i + 3, h)
        _store_skew_block(inertia, 36 * i + 18, (-h[0], -h[1], -h[2]))
        v = load_row6(work.v, i)
        momentum = matrix_product(inertia, i, v)
        store_row6(work.f, i, add6(matrix_product(inertia, i, load_row6(work.a, i)), cross_force(v, momentum)))
        # columns of B: 1/2 (v x* (I e) - I (v x e) + e x* (I v))
        for k in range(6):
            e = _unit_vector(k)
            column = add6(cross_force(v, matrix_product(inertia, i, e)), cross_force(e, momentum))
            back = matrix_product(inertia, i, cross_motion(v, e))
            for row in range(6):
                _set_element(B, i, k + 6 * row, 0.5 * (column[row] - back[row]))
    for i in range(tree.parent.shape[0] - 1, 0, -1):
        parent = tree.parent[i]
        if parent >= 0:
            for k in range(36):
                _set_element(inertia, parent, k, _element(inertia, parent, k) + _element(inertia, i, k))
                _set_element(B, parent, k, _element(B, parent, k) + _element(B, i, k))
            store_row6(work.f, parent, add6(load_row6(work.f, parent), load_row6(work.f, i)))


@part
def _gather_wrenches(tree, wrenches, links, first, work):
    """Fill the external wrench of every subtree about O."""
    outer, zero, p_WO = work.outer, broadcast(0.0), load3(work.origin, 0)
    for i in range(tree.parent.shape[0]):
        store_row6(outer, i, (zero, zero, zero, zero, zero, zero))
    for m in range(links.shape[0]):
        n, f = load_wrench(wrenches, m, first, work.wrench)
        store_row6(outer, links[m], add6(load_row6(outer, links[m]), join_spatial_vector(sub(n, cross(p_WO, f)), f)))
    for i in range(tree.parent.shape[0] - 1, 0, -1):
        if tree.parent[i] >= 0:
            store_row6(outer, tree.parent[i], add6(load_row6(outer, tree.parent[i]), load_row6(outer, i)))


@part
def _fill_coordinate_derivatives(tree, i, j, of_q, of_v, of_vdot, work):
    """Store the derivatives for coordinate j of link i and the coordinates on its path; (nv, nv) matrices in lane memory."""
    nv = tree.dof_link.shape[0]
    s = load_row6(work.s, j)
    # rows above: tau of the path, moved by coordinate j
    turned = scale6(matrix_product(work.B, i, load_row6(work.psi_dot, j)), 2.0)
    turned = add6(turned, matrix_product(work.inertia, i, load_row6(work.psi_ddot, j)))
    sped = scale6(matrix_product(work.B, i, s), 2.0)
    both = add6(load_row6(work.psi_dot, j), load_row6(work.s_dot, j))
    sped = add6(sped, matrix_product(work.inertia, i, both))
    pushed = matrix_product(work.inertia, i, s)
    swung = add6(turned, cross_force(s, load_row6(work.f, i)))
    outer = cross_force(s, load_row6(work.outer, i))
    # columns before: tau of coordinate j, moved by the path
    back = scale6(transposed_matrix_product(work.B, i, s), 2.0)
    k = tree.idx_v[i] + tree.nv[i] - 1
    while k >= 0:
        s_k = load_row6(work.s, k)
        above, before = (k * nv + j) * WIDTH, (j * nv + k) * WIDTH
        own = tree.dof_link[k] == i
        store(of_v, above, dot6(s_k, sped))
        mass = dot6(s_k, pushed)
        store(of_vdot, above, mass)
        if own:
            store(of_q, above, dot6(s_k, turned) + dot6(s_k, outer))
        else:
            store(of_q, above, dot6(s_k, swung))
            psi_dot, s_dot = load_row6(work.psi_dot, k), load_row6(work.s_dot, k)
            # s_j . (s_k x* F) = -s_k . (s_j x* F)
            of_path = dot6(back, psi_dot) + dot6(pushed, load_row6(work.psi_ddot, k)) - dot6(s_k, outer)
            store(of_q, before, of_path)
            store(of_v, before, dot6(back, s_k) + dot6(pushed, add6(psi_dot, s_dot)))
            store(of_vdot, before, mass)
        k = tree.dof_parent[k]


@kernel
def inverse_dynamics_derivatives(tree, q, v, vdot, wrenches, links, by_q, by_v, by_vdot, matrices, work):
    """Fill by_q, by_v, by_vdot (T, nv nv); rows are tau.

    wrenches (T, K, 6) about the world origin on the links (K,); matrices: zeros of the size `derivatives_work_size`. work: a
    `SweepMemory`.
    """
    numbers = by_q.shape[1] * WIDTH
    of_q, of_v, of_vdot = matrices[:numbers], matrices[numbers : 2 * numbers], matrices[2 * numbers :]
    for first in range(0, q.shape[0], WIDTH):
        fill_motion(tree, q, v, vdot, first, work)
        fill_composites(tree, work)
        _gather_wrenches(tree, wrenches, links, first, work)
        for i in range(tree.parent.shape[0]):
            for j in range(tree.idx_v[i], tree.idx_v[i] + tree.nv[i]):
                _fill_coordinate_derivatives(tree, i, j, of_q, of_v, of_vdot, work)
        copy_to_frames(of_q, by_q, first)
        copy_to_frames(of_v, by_v, first)
        copy_to_frames(of_vdot, by_vdot, first)


def derivatives_work_size(tree: Tree) -> int:
    """Return the size of the array `matrices` of `inverse_dynamics_derivatives`."""
    return 3 * tree.dof_link.shape[0] ** 2 * WIDTH


@inline
def _last_coordinate(tree, i):
    """Return the last velocity coordinate on the path to link i, -1 = none."""
    while i >= 0:
        if tree.nv[i] > 0:
            return tree.idx_v[i] + tree.nv[i] - 1
        i = tree.parent[i]
    return -1


@kernel
def regressor(tree, q, v, vdot, Y, rows, matrix, work):
    """Fill Y (T, rows 10 n) for the first `rows` coordinates; q (T, nq), v, vdot (T, nv).

    matrix (rows 10 n WIDTH,), zeros. work: a `SweepMemory`.
    """
    n = tree.parent.shape[0]
    for first in range(0, q.shape[0], WIDTH):
        fill_motion(tree, q, v, vdot, first, work)
        for i in range(n):
            R, p = load9(work.R_WB, 9 * i), load3(work.p_OB, 3 * i)
            w, u = split_spatial_vector(load_row6(work.v, i))
            dw, du = split_spatial_vector(load_row6(work.a, i))
            # velocity and acceleration of the link origin, classical, in link axes
            u, du = add(u, cross(w, p)), add(du, cross(dw, p))
            a = rotate_back(R, add(du, cross(w, u)))
            w, dw = rotate_back(R, w), rotate_back(R, dw)
            j = _last_coordinate(tree, i)
            while j >= rows:
                j = tree.dof_parent[j]
            while j >= 0:
                s_w, s_u = split_spatial_vector(load_row6(work.s, j))
                s_u = rotate_back(R, add(s_u, cross(s_w, p)))
                s_w = rotate_back(R, s_w)
                at = 10 * (j * n + i)
                store(matrix, at * WIDTH, dot(s_u, a))
                # f = dw x h + w x (w x h), n = h x a:  s.(A h) = (A^T s).h
                along = add(cross(s_u, dw), cross(cross(s_u, w), w))
                store3(matrix, at + 1, add(along, cross(a, s_w)))
                # s_w . (I dw + w x I w) = s_w . I dw + (s_w x w) . I w
                x = cross(s_w, w)
                store3(
                    matrix,
                    at + 4,
                    (
                        s_w[0] * dw[0] + x[0] * w[0],
                        s_w[0] * dw[1] + s_w[1] * dw[0] + x[0] * w[1] + x[1] * w[0],
                        s_w[0] * dw[2] + s_w[2] * dw[0] + x[0] * w[2] + x[2] * w[0],
                    ),
                )
                store3(
                    matrix,
                    at + 7,
                    (
                        s_w[1] * dw[1] + x[1] * w[1],
                        s_w[1] * dw[2] + s_w[2] * dw[1] + x[1] * w[2] + x[2] * w[1],
                        s_w[2] * dw[2] + x[2] * w[2],
                    ),
                )
                j = tree.dof_parent[j]
        copy_to_frames(matrix, Y, first)
