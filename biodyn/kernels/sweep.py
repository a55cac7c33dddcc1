"""The outward sweep that Coriolis matrix, regressor and derivatives share: everything in world axes about one point.

About a point O that is fixed in space (the place of the origin of link 0), for every link i with coordinates j:
    s_j,   v_i = v_p + s qd,   a_i = a_p + s qdd + v_i x s qd    (a_world = -gravity)
    rate_j = v_i x s_j,   carried_j = v_p x s_j,   twice_j = a_p x s_j + v_p x carried_j
and composites over the subtree of i: inertia I, force f = I a + v x* I v, and the matrix B of Niemeyer & Slotine
(1991), with B v = v x* I v:   B = 1/2 ((v x*) I - I (v x) + (I v) xbar*).
6-vectors are (angular, linear) 6-tuples of Lanes: eight frames go side by side (`lanes`).
"""

from __future__ import annotations

from typing import NamedTuple

from biodyn.conventions import FloatArray
from biodyn.kernels.blocks import fill
from biodyn.kernels.bundle import bundle
from biodyn.kernels.jit import inline, part
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
from biodyn.kernels.vec3 import add, compose, congruent, cross, rotate, row3, row6, sub


@bundle
class Sweep(NamedTuple):
    """Numbers of eight frames: lane memory, fields a row."""

    R_WB: FloatArray  # n rows of 9
    p_OB: FloatArray  # n rows of 3, from O
    v: FloatArray  # n rows of 6
    a: FloatArray  # n rows of 6
    f: FloatArray  # n rows of 6: composite force
    outer: FloatArray  # n rows of 6: composite external wrench about O
    inertia: FloatArray  # n rows of 36, composite
    B: FloatArray  # n rows of 36, composite
    s: FloatArray  # nv rows of 6
    rate: FloatArray  # nv rows of 6
    carried: FloatArray  # nv rows of 6
    twice: FloatArray  # nv rows of 6
    origin: FloatArray  # 3: p_WO
    q: FloatArray  # nq
    qd: FloatArray  # nv
    qdd: FloatArray  # nv
    wrench: FloatArray  # 6


@inline
def get6(memory, i):
    """Return row i of rows of 6 as a 6-vector."""
    return load6(memory, 6 * i)


@inline
def set6(memory, i, a):
    """Put a 6-vector into row i."""
    store6(memory, 6 * i, a)


@inline
def six(a, b):
    """Return [a; b]."""
    return (a[0], a[1], a[2], b[0], b[1], b[2])


@inline
def halves(a):
    """Return the angular and the linear half."""
    return (a[0], a[1], a[2]), (a[3], a[4], a[5])


@inline
def add_six(a, b):
    """Return a + b."""
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3], a[4] + b[4], a[5] + b[5])


@inline
def scale_six(a, x):
    """Return a x."""
    return (a[0] * x, a[1] * x, a[2] * x, a[3] * x, a[4] * x, a[5] * x)


@inline
def dot_six(a, b):
    """Return a . b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3] + a[4] * b[4] + a[5] * b[5]


@inline
def cross_motion(a, b):
    """Return a x b of two motion vectors (Featherstone 2008, eq. 2.31)."""
    (w, u), (x, y) = halves(a), halves(b)
    return six(cross(w, x), add(cross(w, y), cross(u, x)))


@inline
def cross_force(a, b):
    """Return a x* b of a motion and a force vector (Featherstone 2008, eq. 2.32)."""
    (w, u), (n, f) = halves(a), halves(b)
    return six(add(cross(w, n), cross(u, f)), cross(w, f))


@inline
def times(matrix, i, a):
    """Return A a with A in row i of rows of 36."""
    return (
        _row_times(matrix, i, 0, a),
        _row_times(matrix, i, 6, a),
        _row_times(matrix, i, 12, a),
        _row_times(matrix, i, 18, a),
        _row_times(matrix, i, 24, a),
        _row_times(matrix, i, 30, a),
    )


@inline
def _element(matrix, i, k):
    return load(matrix, (36 * i + k) * WIDTH)


@inline
def _set_element(matrix, i, k, x):
    store(matrix, (36 * i + k) * WIDTH, x)


@inline
def _row_times(matrix, i, k, a):
    return (
        _element(matrix, i, k) * a[0]
        + _element(matrix, i, k + 1) * a[1]
        + _element(matrix, i, k + 2) * a[2]
        + _element(matrix, i, k + 3) * a[3]
        + _element(matrix, i, k + 4) * a[4]
        + _element(matrix, i, k + 5) * a[5]
    )


@inline
def times_transposed(matrix, i, a):
    """Return A^T a with A in row i of rows of 36."""
    return (
        _column_times(matrix, i, 0, a),
        _column_times(matrix, i, 1, a),
        _column_times(matrix, i, 2, a),
        _column_times(matrix, i, 3, a),
        _column_times(matrix, i, 4, a),
        _column_times(matrix, i, 5, a),
    )


@inline
def _column_times(matrix, i, k, a):
    return (
        _element(matrix, i, k) * a[0]
        + _element(matrix, i, k + 6) * a[1]
        + _element(matrix, i, k + 12) * a[2]
        + _element(matrix, i, k + 18) * a[3]
        + _element(matrix, i, k + 24) * a[4]
        + _element(matrix, i, k + 30) * a[5]
    )


@inline
def _set_skew(matrix, i, row, column, a):
    """Put [a] into the 3x3 block at (row, column) of the 6x6 matrix in row i."""
    first = 36 * i + 6 * row + column
    zero = broadcast(0.0)
    store3(matrix, first, (zero, -a[2], a[1]))
    store3(matrix, first + 6, (a[2], zero, -a[0]))
    store3(matrix, first + 12, (-a[1], a[0], zero))


@part
def place(tree, q, v, vdot, first, still, work):
    """Fill poses, velocities, accelerations and columns of eight frames of q (T, nq), v, vdot (T, nv) from `first` on.

    `still` leaves gravity out.
    """
    fill(work.q, q, first)
    fill(work.qd, v, first)
    fill(work.qdd, vdot, first)
    g = tree.gravity_W
    zero = broadcast(0.0)
    for i in range(tree.parent.shape[0]):
        parent = tree.parent[i]
        R, p = joint_pose(tree, i, LaneMemory(work.q))
        v_P = a_P = (zero, zero, zero, zero, zero, zero)
        if not still:
            a_P = six((zero, zero, zero), broadcast3((-g[0], -g[1], -g[2])))
        if parent >= 0:
            R_WP = load9(work.R_WB, 9 * parent)
            p = add(load3(work.p_OB, 3 * parent), rotate(R_WP, p))
            R = compose(R_WP, R)
            v_P, a_P = get6(work.v, parent), get6(work.a, parent)
        else:  # place from O, which is where link 0 is
            if i == 0:
                store3(work.origin, 0, p)
            p = sub(p, load3(work.origin, 0))
        store9(work.R_WB, 9 * i, R)
        store3(work.p_OB, 3 * i, p)
        velocity, push = v_P, a_P
        for j in range(tree.idx_v[i], tree.idx_v[i] + tree.nv[i]):
            w, u = joint_column(tree, i, j - tree.idx_v[i], R, p)
            s = six(w, u)
            set6(work.s, j, s)
            velocity = add_six(velocity, scale_six(s, load(work.qd, j * WIDTH)))
            push = add_six(push, scale_six(s, load(work.qdd, j * WIDTH)))
            carried = cross_motion(v_P, s)
            set6(work.carried, j, carried)
            set6(work.twice, j, add_six(cross_motion(a_P, s), cross_motion(v_P, carried)))
        for j in range(tree.idx_v[i], tree.idx_v[i] + tree.nv[i]):
            rate = cross_motion(velocity, get6(work.s, j))
            set6(work.rate, j, rate)
            push = add_six(push, scale_six(rate, load(work.qd, j * WIDTH)))
        set6(work.v, i, velocity)
        set6(work.a, i, push)


@inline
def _unit(k):
    """Return the 6-vector that is 1 at k."""
    return (
        broadcast(1.0 if k == 0 else 0.0),
        broadcast(1.0 if k == 1 else 0.0),
        broadcast(1.0 if k == 2 else 0.0),
        broadcast(1.0 if k == 3 else 0.0),
        broadcast(1.0 if k == 4 else 0.0),
        broadcast(1.0 if k == 5 else 0.0),
    )


@part
def weigh(tree, work):
    """Fill the composites: inertia, B and force of every subtree."""
    inertia, B = work.inertia, work.B
    zero = broadcast(0.0)
    for i in range(tree.parent.shape[0]):
        m = tree.mass[i]
        if m == 0.0:  # one of the links between which a joint turns about several axes
            for k in range(36):
                _set_element(inertia, i, k, zero)
                _set_element(B, i, k, zero)
            set6(work.f, i, (zero, zero, zero, zero, zero, zero))
            continue
        R, p = load9(work.R_WB, 9 * i), load3(work.p_OB, 3 * i)
        h = rotate(R, row3(tree.first_moment, i))
        S = congruent(R, row6(tree.inertia_origin, i))
        gx, gy, gz = h[0] + 0.5 * m * p[0], h[1] + 0.5 * m * p[1], h[2] + 0.5 * m * p[2]
        x, y, z = p[0] * gx, p[1] * gy, p[2] * gz
        # parallel axes, as in crba.py
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
        _set_skew(inertia, i, 0, 3, h)
        _set_skew(inertia, i, 3, 0, (-h[0], -h[1], -h[2]))
        v = get6(work.v, i)
        momentum = times(inertia, i, v)
        set6(work.f, i, add_six(times(inertia, i, get6(work.a, i)), cross_force(v, momentum)))
        # columns of B: 1/2 (v x* (I e) - I (v x e) + e x* (I v))
        for k in range(6):
            e = _unit(k)
            column = add_six(cross_force(v, times(inertia, i, e)), cross_force(e, momentum))
            back = times(inertia, i, cross_motion(v, e))
            for row in range(6):
                _set_element(B, i, k + 6 * row, 0.5 * (column[row] - back[row]))
    for i in range(tree.parent.shape[0] - 1, 0, -1):
        parent = tree.parent[i]
        if parent >= 0:
            for k in range(36):
                _set_element(inertia, parent, k, _element(inertia, parent, k) + _element(inertia, i, k))
                _set_element(B, parent, k, _element(B, parent, k) + _element(B, i, k))
            set6(work.f, parent, add_six(get6(work.f, parent), get6(work.f, i)))
