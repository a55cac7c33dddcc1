"""Inverse and forward dynamics, and mass matrix of a tree (Featherstone 2008).

Recursive Newton-Euler algorithm (Table 5.1): for each link i outwards, in link axes, spatial vectors [angular; linear]:
    v_i = iXp v_p + S_i qd_i
    a_i = iXp a_p + S_i qdd_i + v_i x S_i qd_i            (a_world = -gravity)
    f_i = I_i a_i + v_i x* I_i v_i - iX0* f_ext_i
inwards:
    tau_i = S_i^T f_i,   f_p += pXi* f_i

Articulated-body algorithm (Table 7.1):
Outwards:  v_i = iXp v_p + S_i qd_i,   c_i = v_i x S_i qd_i,   IA_i = I_i,   pA_i = v_i x* I_i v_i - iX0* f_ext_i
Inwards:   U_i = IA_i S_i,   D_i = S_i^T U_i,   u_i = tau_i - S_i^T pA_i
           Ia = IA_i - U_i D_i^-1 U_i^T,   pa = pA_i + Ia c_i + U_i D_i^-1 u_i,   IA_p += pXi* Ia iXp,   pA_p += pXi* pa
Outwards:  a' = iXp a_p + c_i,   qdd_i = D_i^-1 (u_i - U_i^T a'),   a_i = a' + S_i qdd_i       (a_world = -gravity)
An articulated inertia is three 3x3 blocks, [[J, H], [H^T, M]]: moment = J dw + H du, force = H^T dw + M du.

Composite-rigid-body algorithm (Table 6.2), in world axes about one point O, the origin of link 0, so that composite inertias are
plain sums; the joint Jacobians have the same columns:
    Ic_i = I_i + sum of Ic of the children,   F_j = Ic_i s_j  (j a coordinate of joint i),
    M_jk = s_k . F_j   for every coordinate k on the path from j to the root.
A composite inertia is ten numbers: the mass of the subtree, which q does not change, first moment h and inertia about O.
"""

from __future__ import annotations

from biodyn.kernels.jit import inline, kernel
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
    prefetch_frames,
    store,
    store3,
    store6,
    store9,
)
from biodyn.kernels.tree import (
    FREE,
    PRISMATIC,
    REVOLUTE,
    SPHERICAL,
    Tree,
    add_wrench_to_parent,
    joint_column,
    joint_motion,
    joint_pose,
    load_wrench,
    subtract_wrench,
)
from biodyn.kernels.vec3 import (
    add,
    compose,
    congruence_transform,
    cross,
    dot,
    expand_symmetric,
    inverse,
    rotate,
    rotate_back,
    row3,
    row6,
    scale,
    sub,
    symmetric_product,
    transpose,
)

# Fields of a link's row in lane memory: pose in the parent (whole body: in the world), velocity, acceleration, wrench; then the
# fields of the articulated-body algorithm: c, the blocks of IA, U = IA S of one axis, D^-1, and u (a free joint: six tau).
_R, _P, _W, _V, _DW, _DV, _N, _F, _RNEA_ROW = 0, 9, 12, 15, 18, 21, 24, 27, 30
_CW, _CV, _J, _H, _M, _U, _D, _T, _ABA_ROW = 30, 33, 36, 42, 51, 57, 63, 69, 75
# Fields of the other algorithms: pose of a link in the world, and its composite [h; inertia] about O.
_POSE, _COMPOSITE = 12, 9


@inline
def _rnea_outwards(tree, i, q, v, vdot, links):
    """Store velocity, acceleration and Newton-Euler force of link i."""
    here, there = (i + 1) * _RNEA_ROW, (tree.parent[i] + 1) * _RNEA_ROW
    R, p = joint_pose(tree, i, q)
    store9(links, here + _R, R)
    store3(links, here + _P, p)
    w_P, dw_P = load3(links, there + _W), load3(links, there + _DW)
    w, dw = rotate_back(R, w_P), rotate_back(R, dw_P)
    u = rotate_back(R, add(load3(links, there + _V), cross(w_P, p)))
    du = rotate_back(R, add(load3(links, there + _DV), cross(dw_P, p)))
    w_J, u_J = joint_motion(tree, i, v)
    dw_J, du_J = joint_motion(tree, i, vdot)
    w = add(w, w_J)
    u = add(u, u_J)
    dw = add(dw, add(dw_J, cross(w, w_J)))
    if tree.kind[i] == REVOLUTE:
        du = add(du, cross(u, w_J))
    else:
        du = add(du, add(du_J, add(cross(u, w_J), cross(w, u_J))))
    store3(links, here + _W, w)
    store3(links, here + _V, u)
    store3(links, here + _DW, dw)
    store3(links, here + _DV, du)
    zero = broadcast(0.0)
    n, f = (zero, zero, zero), (zero, zero, zero)
    m = tree.mass[i]
    if m > 0.0:
        h, inertia = row3(tree.first_moment, i), row6(tree.inertia_origin, i)
        # momentum [L; P] = I [w; u] and I [dw; du], about the link origin
        P = (
            m * u[0] + (w[1] * h[2] - w[2] * h[1]),
            m * u[1] + (w[2] * h[0] - w[0] * h[2]),
            m * u[2] + (w[0] * h[1] - w[1] * h[0]),
        )
        L = add(symmetric_product(inertia, w), cross(h, u))
        dP = (
            m * du[0] + (dw[1] * h[2] - dw[2] * h[1]),
            m * du[1] + (dw[2] * h[0] - dw[0] * h[2]),
            m * du[2] + (dw[0] * h[1] - dw[1] * h[0]),
        )
        dL = add(symmetric_product(inertia, dw), cross(h, du))
        n = add(dL, add(cross(w, L), cross(u, P)))
        f = add(dP, cross(w, P))
    store3(links, here + _N, n)
    store3(links, here + _F, f)


@inline
def _rnea_inwards(tree, i, links, tau):
    """Store the joint force of link i and add its wrench to that of the parent."""
    here = (i + 1) * _RNEA_ROW
    n, f = load3(links, here + _N), load3(links, here + _F)
    kind, at = tree.kind[i], tree.idx_v[i]
    if kind == REVOLUTE:
        store(tau, at * WIDTH, dot(n, row3(tree.axis, i)))
    elif kind == PRISMATIC:
        store(tau, at * WIDTH, dot(n, row3(tree.axis, i)) + dot(f, row3(tree.slide, i)))
    elif kind == SPHERICAL or kind == FREE:
        store3(tau, at, n)
        if kind == FREE:
            store3(tau, at + 3, f)
    if tree.parent[i] >= 0:
        add_wrench_to_parent(links, here, (tree.parent[i] + 1) * _RNEA_ROW, _N, n, f)


@kernel
def inverse_dynamics(tree, q, v, vdot, wrenches, path, path_start, tau, joint_wrenches, work):
    """Fill tau (T, nv), and joint_wrenches (T, n, 6) unless it has no frames.

    q (T, nq), v, vdot (T, nv); wrenches (T, K, 6) about the world origin in world axes, acting on the last link of
    path[path_start[k]:path_start[k + 1]] (links from the root outwards). joint_wrenches: wrench that each joint transmits from
    parent to link, about the link origin in link axes.
    """
    frames, n = q.shape[0], tree.parent.shape[0]
    nv = v.shape[1]
    links, at = work[: (n + 1) * _RNEA_ROW * WIDTH], (n + 1) * _RNEA_ROW * WIDTH
    links[:] = 0.0
    v_lanes, at = work[at : at + nv * WIDTH], at + nv * WIDTH
    vdot_lanes, at = work[at : at + nv * WIDTH], at + nv * WIDTH
    tau_lanes, at = work[at : at + nv * WIDTH], at + nv * WIDTH
    wrench_lanes, q_lanes = work[at : at + 6 * WIDTH], work[at + 6 * WIDTH :]
    g = tree.gravity_W
    store3(links, _DV, broadcast3((-g[0], -g[1], -g[2])))
    for first in range(0, frames, WIDTH):
        filled = min(WIDTH, frames - first)
        copy_from_frames(q_lanes, q, first)
        copy_from_frames(v_lanes, v, first)
        copy_from_frames(vdot_lanes, vdot, first)
        for i in range(n):
            _rnea_outwards(tree, i, LaneMemory(q_lanes), LaneMemory(v_lanes), LaneMemory(vdot_lanes), links)
        for k in range(wrenches.shape[1]):
            n_W, f_W = load_wrench(wrenches, k, first, wrench_lanes)
            subtract_wrench(links, _RNEA_ROW, _N, path, path_start[k], path_start[k + 1], n_W, f_W)
        for i in range(n - 1, -1, -1):
            _rnea_inwards(tree, i, links, tau_lanes)
        copy_to_frames(tau_lanes, tau, first)
        if joint_wrenches.shape[0] > 0:
            for lane in range(filled):
                for i in range(n):
                    for j in range(6):
                        joint_wrenches[first + lane, i, j] = links[((i + 1) * _RNEA_ROW + _N + j) * WIDTH + lane]


@inline
def _skew_product(p, A):
    """Return [p] A, the cross product of p with each column of A."""
    return (
        p[1] * A[6] - p[2] * A[3],
        p[1] * A[7] - p[2] * A[4],
        p[1] * A[8] - p[2] * A[5],
        p[2] * A[0] - p[0] * A[6],
        p[2] * A[1] - p[0] * A[7],
        p[2] * A[2] - p[0] * A[8],
        p[0] * A[3] - p[1] * A[0],
        p[0] * A[4] - p[1] * A[1],
        p[0] * A[5] - p[1] * A[2],
    )


@inline
def _add_spatial_vectors(a, b):
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3], a[4] + b[4], a[5] + b[5])


@inline
def _subtract_outer_product(S, a, b):
    """Return S - a b^T, which is symmetric because a is a multiple of b."""
    return (
        S[0] - a[0] * b[0],
        S[1] - a[0] * b[1],
        S[2] - a[0] * b[2],
        S[3] - a[1] * b[1],
        S[4] - a[1] * b[2],
        S[5] - a[2] * b[2],
    )


@inline
def _aba_outwards(tree, i, q, v, links):
    here, there = (i + 1) * _ABA_ROW, (tree.parent[i] + 1) * _ABA_ROW
    R, p = joint_pose(tree, i, q)
    store9(links, here + _R, R)
    store3(links, here + _P, p)
    w_P = load3(links, there + _W)
    w_J, u_J = joint_motion(tree, i, v)
    w = add(rotate_back(R, w_P), w_J)
    u = add(rotate_back(R, add(load3(links, there + _V), cross(w_P, p))), u_J)
    store3(links, here + _W, w)
    store3(links, here + _V, u)
    store3(links, here + _CW, cross(w, w_J))
    store3(links, here + _CV, add(cross(u, w_J), cross(w, u_J)))
    m, h, inertia = tree.mass[i], row3(tree.first_moment, i), row6(tree.inertia_origin, i)
    zero, mass = broadcast(0.0), broadcast(m)
    x, y, z = broadcast3(h)
    a, b = broadcast3((inertia[0], inertia[1], inertia[2])), broadcast3((inertia[3], inertia[4], inertia[5]))
    store6(links, here + _J, (a[0], a[1], a[2], b[0], b[1], b[2]))
    store9(links, here + _H, (zero, -z, y, z, zero, -x, -y, x, zero))
    store6(links, here + _M, (mass, zero, zero, mass, zero, mass))
    P = sub(scale(u, m), cross(h, w))
    L = add(symmetric_product(inertia, w), cross(h, u))
    store3(links, here + _N, add(cross(w, L), cross(u, P)))
    store3(links, here + _F, cross(w, P))


@inline
def _add_inertia_to_parent(parent, links, here, J, H, M, n, f):
    """Add the articulated inertia and bias wrench of a link to those of its parent: IA_p += pXi* Ia iXp."""
    there = (parent + 1) * _ABA_ROW
    R, p = load9(links, here + _R), load3(links, here + _P)
    M_P = congruence_transform(R, M)
    H_P = compose(R, compose(H, transpose(R)))
    K = _skew_product(p, expand_symmetric(M_P))  # [p] M
    Q = _skew_product(p, transpose(H_P))  # [p] H^T
    # J + [p] H^T + ([p] H^T)^T + [p] M [p]^T,   H + [p] M
    L = _skew_product(p, transpose(K))
    J_P = congruence_transform(R, J)
    J_P = (
        J_P[0] + (Q[0] + Q[0]) + L[0],
        J_P[1] + (Q[1] + Q[3]) + L[3],
        J_P[2] + (Q[2] + Q[6]) + L[6],
        J_P[3] + (Q[4] + Q[4]) + L[4],
        J_P[4] + (Q[5] + Q[7]) + L[7],
        J_P[5] + (Q[8] + Q[8]) + L[8],
    )
    store6(links, there + _J, _add_spatial_vectors(load6(links, there + _J), J_P))
    old = load9(links, there + _H)
    store9(
        links,
        there + _H,
        (
            old[0] + (H_P[0] + K[0]),
            old[1] + (H_P[1] + K[1]),
            old[2] + (H_P[2] + K[2]),
            old[3] + (H_P[3] + K[3]),
            old[4] + (H_P[4] + K[4]),
            old[5] + (H_P[5] + K[5]),
            old[6] + (H_P[6] + K[6]),
            old[7] + (H_P[7] + K[7]),
            old[8] + (H_P[8] + K[8]),
        ),
    )
    store6(links, there + _M, _add_spatial_vectors(load6(links, there + _M), M_P))
    add_wrench_to_parent(links, here, there, _N, n, f)


@inline
def _aba_inwards_one_axis(tree, i, tau, links):
    """Perform the inward step of the articulated-body algorithm for a revolute or prismatic joint."""
    here = (i + 1) * _ABA_ROW
    J, H, M = load6(links, here + _J), load9(links, here + _H), load6(links, here + _M)
    n, f = load3(links, here + _N), load3(links, here + _F)
    axis, slide = row3(tree.axis, i), row3(tree.slide, i)
    U_n, U_f = symmetric_product(J, axis), rotate_back(H, axis)
    D, tau_bias = dot(U_n, axis), dot(n, axis)
    if tree.kind[i] == PRISMATIC:
        U_n = add(U_n, rotate(H, slide))
        U_f = add(U_f, symmetric_product(M, slide))
        D = dot(U_n, axis) + dot(U_f, slide)
        tau_bias = tau_bias + dot(f, slide)
    D_inverse = 1.0 / D
    u = load(tau, tree.idx_v[i] * WIDTH) - tau_bias
    store3(links, here + _U, U_n)
    store3(links, here + _U + 3, U_f)
    store(links, (here + _D) * WIDTH, D_inverse)
    store(links, (here + _T) * WIDTH, u)
    parent = tree.parent[i]
    if parent >= 0:
        a, b = scale(U_n, D_inverse), scale(U_f, D_inverse)
        J = _subtract_outer_product(J, a, U_n)
        H = (
            H[0] - a[0] * U_f[0],
            H[1] - a[0] * U_f[1],
            H[2] - a[0] * U_f[2],
            H[3] - a[1] * U_f[0],
            H[4] - a[1] * U_f[1],
            H[5] - a[1] * U_f[2],
            H[6] - a[2] * U_f[0],
            H[7] - a[2] * U_f[1],
            H[8] - a[2] * U_f[2],
        )
        M = _subtract_outer_product(M, b, U_f)
        c_w, c_u = load3(links, here + _CW), load3(links, here + _CV)
        n = add(add(n, add(symmetric_product(J, c_w), rotate(H, c_u))), scale(a, u))
        f = add(add(f, add(rotate_back(H, c_w), symmetric_product(M, c_u))), scale(b, u))
        _add_inertia_to_parent(parent, links, here, J, H, M, n, f)


@inline
def _aba_inwards_spherical(tree, i, tau, links):
    """Perform the inward step for a spherical joint: S = [1; 0], U = [J; H^T], D = J, Ia = [[0, 0], [0, M - H^T J^-1 H]]."""
    here = (i + 1) * _ABA_ROW
    J, H, M = load6(links, here + _J), load9(links, here + _H), load6(links, here + _M)
    n, f = load3(links, here + _N), load3(links, here + _F)
    D_inverse = inverse(J)
    u = sub(load3(tau, tree.idx_v[i]), n)
    store6(links, here + _D, D_inverse)
    store3(links, here + _T, u)
    parent = tree.parent[i]
    if parent >= 0:
        A = compose(expand_symmetric(D_inverse), H)  # J^-1 H
        B = compose(transpose(H), A)
        M = (M[0] - B[0], M[1] - B[1], M[2] - B[2], M[3] - B[4], M[4] - B[5], M[5] - B[8])
        f = add(add(f, symmetric_product(M, load3(links, here + _CV))), rotate_back(A, u))
        n = load3(tau, tree.idx_v[i])  # pA_n + J J^-1 u = tau: the joint transmits its own moment
        there = (parent + 1) * _ABA_ROW
        R, p = load9(links, here + _R), load3(links, here + _P)
        M_P = congruence_transform(R, M)
        K = _skew_product(p, expand_symmetric(M_P))
        L = _skew_product(p, transpose(K))
        store6(links, there + _J, _add_spatial_vectors(load6(links, there + _J), (L[0], L[3], L[6], L[4], L[7], L[8])))
        old = load9(links, there + _H)
        store3(links, there + _H, (old[0] + K[0], old[1] + K[1], old[2] + K[2]))
        store3(links, there + _H + 3, (old[3] + K[3], old[4] + K[4], old[5] + K[5]))
        store3(links, there + _H + 6, (old[6] + K[6], old[7] + K[7], old[8] + K[8]))
        store6(links, there + _M, _add_spatial_vectors(load6(links, there + _M), M_P))
        add_wrench_to_parent(links, here, there, _N, n, f)


@inline
def _aba_inwards_free(tree, i, tau, links):
    """Perform the inward step for a free joint: S = 1, Ia = 0 and pa = tau; only the wrench of the joint acts on the parent."""
    here, at, parent = (i + 1) * _ABA_ROW, tree.idx_v[i], tree.parent[i]
    n, f = load3(tau, at), load3(tau, at + 3)
    store3(links, here + _T, n)
    store3(links, here + _T + 3, f)
    if parent >= 0:
        add_wrench_to_parent(links, here, (parent + 1) * _ABA_ROW, _N, n, f)


@inline
def _aba_inwards_weld(tree, i, links):
    """Perform the inward step for a weld, which transmits the whole articulated inertia."""
    here, parent = (i + 1) * _ABA_ROW, tree.parent[i]
    if parent >= 0:
        J, H, M = load6(links, here + _J), load9(links, here + _H), load6(links, here + _M)
        _add_inertia_to_parent(parent, links, here, J, H, M, load3(links, here + _N), load3(links, here + _F))


@inline
def _aba_accelerations(tree, i, links, vdot):
    here, there = (i + 1) * _ABA_ROW, (tree.parent[i] + 1) * _ABA_ROW
    kind, at = tree.kind[i], tree.idx_v[i]
    R, p = load9(links, here + _R), load3(links, here + _P)
    dw_P = load3(links, there + _DW)
    dw = add(rotate_back(R, dw_P), load3(links, here + _CW))
    du = add(rotate_back(R, add(load3(links, there + _DV), cross(dw_P, p))), load3(links, here + _CV))
    if kind == REVOLUTE or kind == PRISMATIC:
        U_n, U_f = load3(links, here + _U), load3(links, here + _U + 3)
        rate = load(links, (here + _D) * WIDTH) * (load(links, (here + _T) * WIDTH) - (dot(U_n, dw) + dot(U_f, du)))
        store(vdot, at * WIDTH, rate)
        dw = add(dw, scale(row3(tree.axis, i), rate))
        if kind == PRISMATIC:
            du = add(du, scale(row3(tree.slide, i), rate))
    elif kind == SPHERICAL:
        J, H = load6(links, here + _J), load9(links, here + _H)
        rest = sub(load3(links, here + _T), add(symmetric_product(J, dw), rotate(H, du)))
        rates = symmetric_product(load6(links, here + _D), rest)
        store3(vdot, at, rates)
        dw = add(dw, rates)
    elif kind == FREE:
        # IA a = tau - pA; first the moment through the inverse of the mass block: the Schur complement of M
        J, H, M = load6(links, here + _J), load9(links, here + _H), load6(links, here + _M)
        M_inverse = inverse(M)
        n = sub(load3(links, here + _T), load3(links, here + _N))
        f = sub(load3(links, here + _T + 3), load3(links, here + _F))
        A = compose(H, expand_symmetric(M_inverse))
        B = compose(A, transpose(H))
        S = (J[0] - B[0], J[1] - B[1], J[2] - B[2], J[3] - B[4], J[4] - B[5], J[5] - B[8])
        turn = symmetric_product(inverse(S), sub(n, rotate(A, f)))
        push = symmetric_product(M_inverse, sub(f, rotate_back(H, turn)))
        store3(vdot, at, sub(turn, dw))
        store3(vdot, at + 3, sub(push, du))
        dw, du = turn, push
    store3(links, here + _DW, dw)
    store3(links, here + _DV, du)


@kernel
def forward_dynamics(tree, q, v, tau, wrenches, path, path_start, vdot, work):
    """Fill vdot (T, nv).

    q (T, nq), v, tau (T, nv); wrenches (T, K, 6) about the world origin in world axes, acting on the last link of
    path[path_start[k]:path_start[k + 1]] (links from the root outwards).
    """
    n, nv = tree.parent.shape[0], v.shape[1]
    size = (n + 1) * _ABA_ROW * WIDTH
    links = work[:size]
    links[:] = 0.0
    wrench_lanes, v_lanes = work[size:], work[size + 6 * WIDTH :]
    tau_lanes, vdot_lanes = work[size + (6 + nv) * WIDTH :], work[size + (6 + 2 * nv) * WIDTH :]
    q_lanes = work[size + (6 + 3 * nv) * WIDTH :]
    g = tree.gravity_W
    store3(links, _DV, broadcast3((-g[0], -g[1], -g[2])))
    for first in range(0, q.shape[0], WIDTH):
        copy_from_frames(q_lanes, q, first)
        copy_from_frames(v_lanes, v, first)
        copy_from_frames(tau_lanes, tau, first)
        for i in range(n):
            _aba_outwards(tree, i, LaneMemory(q_lanes), LaneMemory(v_lanes), links)
        for k in range(wrenches.shape[1]):
            n_W, f_W = load_wrench(wrenches, k, first, wrench_lanes)
            subtract_wrench(links, _ABA_ROW, _N, path, path_start[k], path_start[k + 1], n_W, f_W)
        for i in range(n - 1, -1, -1):
            kind = tree.kind[i]
            if kind == REVOLUTE or kind == PRISMATIC:
                _aba_inwards_one_axis(tree, i, tau_lanes, links)
            elif kind == SPHERICAL:
                _aba_inwards_spherical(tree, i, tau_lanes, links)
            elif kind == FREE:
                _aba_inwards_free(tree, i, tau_lanes, links)
            else:
                _aba_inwards_weld(tree, i, links)
        for i in range(n):
            _aba_accelerations(tree, i, links, vdot_lanes)
        copy_to_frames(vdot_lanes, vdot, first)


def forward_dynamics_work_size(tree: Tree) -> int:
    """Return the size of the array `work` of `forward_dynamics`."""
    n, nv = tree.parent.shape[0], tree.dof_link.shape[0]
    return ((n + 1) * _ABA_ROW + 6 + 3 * nv + nv + n) * WIDTH


@inline
def _world_pose(tree, i, q, poses):
    """Store and return the pose (R, p) of link i in the world."""
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
def _store_link_inertia(tree, i, R, p, composites):
    """Store the first moment and inertia of link i about O; p: its origin relative to O."""
    here, m = i * _COMPOSITE, tree.mass[i]
    zero = broadcast(0.0)
    if m > 0.0:
        # parallel axes: I_O = R I R^T + 2 (p.h) 1 - p h^T - h p^T + m (p.p 1 - p p^T)
        h, inertia = rotate(R, row3(tree.first_moment, i)), congruence_transform(R, row6(tree.inertia_origin, i))
        g = add(h, scale(p, 0.5 * m))  # includes m p p in the mixed terms
        x, y, z = p[0] * g[0], p[1] * g[1], p[2] * g[2]
        store3(composites, here, add(h, scale(p, m)))
        store6(
            composites,
            here + 3,
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
        store3(composites, here, (zero, zero, zero))
        store6(composites, here + 3, (zero, zero, zero, zero, zero, zero))


@inline
def _fill_joint_columns_and_link_inertias(tree, q, poses, composites, columns):
    """Fill the columns s_j, and the inertia of each link alone, about O."""
    p_WO = broadcast3((0.0, 0.0, 0.0))
    for i in range(tree.parent.shape[0]):
        R, p = _world_pose(tree, i, q, poses)
        if i == 0:
            p_WO = p
        p = sub(p, p_WO)
        _store_link_inertia(tree, i, R, p, composites)
        for k in range(tree.nv[i]):
            w, u = joint_column(tree, i, k, R, p)
            at = (tree.idx_v[i] + k) * 6
            store3(columns, at, w)
            store3(columns, at + 3, u)


@inline
def _composite_force(subtree_mass, i, j, composites, columns):
    """Return F_j = Ic_i s_j as (moment, force)."""
    w, u = load3(columns, j * 6), load3(columns, j * 6 + 3)
    h = load3(composites, i * _COMPOSITE)
    moment = add(symmetric_product(load6(composites, i * _COMPOSITE + 3), w), cross(h, u))
    return moment, add(scale(u, subtree_mass[i]), cross(w, h))


@inline
def _add_composite_to_parent(tree, i, composites):
    """Add the composite inertia of link i to that of its parent."""
    here, there = i * _COMPOSITE, tree.parent[i] * _COMPOSITE
    if tree.parent[i] >= 0:
        for k in range(_COMPOSITE):
            at = (there + k) * WIDTH
            store(composites, at, load(composites, at) + load(composites, (here + k) * WIDTH))


@kernel
def mass_matrix(tree, subtree_mass, q, M, work):
    """Fill M (T, nv nv), row by row; q (T, nq), subtree_mass (n,) kg; work: zeros, which unrelated coordinates keep."""
    n, nv = tree.parent.shape[0], tree.dof_link.shape[0]
    poses, composites = work, work[n * _POSE * WIDTH :]
    columns = work[n * (_POSE + _COMPOSITE) * WIDTH :]
    q_lanes = work[(n * (_POSE + _COMPOSITE) + nv * 6) * WIDTH :]
    matrix = q_lanes[(n + nv) * WIDTH :]
    for first in range(0, q.shape[0], WIDTH):
        copy_from_frames(q_lanes, q, first)
        _fill_joint_columns_and_link_inertias(tree, LaneMemory(q_lanes), poses, composites, columns)
        for i in range(n - 1, -1, -1):
            _add_composite_to_parent(tree, i, composites)
            for j in range(tree.idx_v[i], tree.idx_v[i] + tree.nv[i]):
                moment, force = _composite_force(subtree_mass, i, j, composites, columns)
                for d in range(tree.dof_depth[j] + 1):
                    k = tree.dof_path[j, d]
                    w, u = load3(columns, k * 6), load3(columns, k * 6 + 3)
                    entry = dot(w, moment) + dot(u, force)
                    store(matrix, (j * nv + k) * WIDTH, entry)
                    store(matrix, (k * nv + j) * WIDTH, entry)
        copy_to_frames(matrix, M, first)


@kernel
def joint_columns(tree, q, J, work):
    """Fill J (T, 6 nv), row by row, with the columns s_j = [angular; linear at the world origin] in world axes."""
    n, nv = tree.parent.shape[0], tree.dof_link.shape[0]
    poses, matrix = work, work[n * _POSE * WIDTH :]
    q_lanes = work[(n * _POSE + 6 * nv) * WIDTH :]
    for first in range(0, q.shape[0], WIDTH):
        copy_from_frames(q_lanes, q, first)
        prefetch_frames(J, first)
        for i in range(n):
            R, p = _world_pose(tree, i, LaneMemory(q_lanes), poses)
            for j in range(tree.idx_v[i], tree.idx_v[i] + tree.nv[i]):
                w, u = joint_column(tree, i, j - tree.idx_v[i], R, p)
                for k in range(3):
                    store(matrix, (k * nv + j) * WIDTH, w[k])
                    store(matrix, ((3 + k) * nv + j) * WIDTH, u[k])
        copy_to_frames(matrix, J, first)


def work_size(tree: Tree, numbers: int = 0) -> int:
    """Return the size of `work` of the other kernels of this file; numbers: size of one frame of a matrix result."""
    n, nv = tree.parent.shape[0], tree.dof_link.shape[0]
    return ((n + 1) * _RNEA_ROW + 6 + 7 * nv + n + numbers) * WIDTH
