"""Recursive Newton-Euler algorithm: inverse dynamics of a tree, O(n) (Featherstone 2008, Table 5.1).

For each link i outwards, in link axes, spatial vectors [angular; linear]:
    v_i = iXp v_p + S_i qd_i
    a_i = iXp a_p + S_i qdd_i + v_i x S_i qd_i            (a_world = -gravity)
    f_i = I_i a_i + v_i x* I_i v_i - iX0* f_ext_i
inwards:
    tau_i = S_i^T f_i,   f_p += pXi* f_i
"""

from __future__ import annotations

from biodyn.kernels.blocks import drain, fill
from biodyn.kernels.jit import inline, kernel
from biodyn.kernels.joints import FREE, REVOLUTE, SCREW, SPHERICAL, joint_motion, joint_pose
from biodyn.kernels.lanes import (
    WIDTH,
    LaneMemory,
    broadcast,
    broadcast3,
    load3,
    store,
    store3,
    store9,
)
from biodyn.kernels.types import Tree
from biodyn.kernels.vec3 import add, cross, dot, rotate_back, row3, row6, symmetric_times
from biodyn.kernels.wrenches import hand_on, outer_wrench, take_outer

# fields of a link's row in lane memory
_R, _P, _W, _V, _DW, _DV, _N, _F, _ROW = 0, 9, 12, 15, 18, 21, 24, 27, 30


@inline
def _outwards(tree, i, q, v, vdot, links):
    """Velocity, acceleration and Newton-Euler force of link i."""
    here, there = (i + 1) * _ROW, (tree.parent[i] + 1) * _ROW
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
        L = add(symmetric_times(inertia, w), cross(h, u))
        dP = (
            m * du[0] + (dw[1] * h[2] - dw[2] * h[1]),
            m * du[1] + (dw[2] * h[0] - dw[0] * h[2]),
            m * du[2] + (dw[0] * h[1] - dw[1] * h[0]),
        )
        dL = add(symmetric_times(inertia, dw), cross(h, du))
        n = add(dL, add(cross(w, L), cross(u, P)))
        f = add(dP, cross(w, P))
    store3(links, here + _N, n)
    store3(links, here + _F, f)


@inline
def _inwards(tree, i, links, tau):
    """Joint force of link i; hand its wrench on to the parent."""
    here = (i + 1) * _ROW
    n, f = load3(links, here + _N), load3(links, here + _F)
    kind, at = tree.kind[i], tree.idx_v[i]
    if kind == REVOLUTE:
        store(tau, at * WIDTH, dot(n, row3(tree.axis, i)))
    elif kind == SCREW:
        store(tau, at * WIDTH, dot(n, row3(tree.axis, i)) + dot(f, row3(tree.slide, i)))
    elif kind == SPHERICAL or kind == FREE:
        store3(tau, at, n)
        if kind == FREE:
            store3(tau, at + 3, f)
    if tree.parent[i] >= 0:
        hand_on(links, here, (tree.parent[i] + 1) * _ROW, _N, n, f)


@kernel
def inverse_dynamics(tree, q, v, vdot, wrenches, path, path_start, tau, joint_wrenches, work):
    """Fill tau (T, nv), and joint_wrenches (T, n, 6) unless it has no frames.

    q (T, nq), v, vdot (T, nv); wrenches (T, K, 6) about the world origin in world axes, acting on the last link of
    path[path_start[k]:path_start[k + 1]] (links from the root on). joint_wrenches: what each joint hands from parent
    to link, about the link origin in link axes.
    """
    frames, n = q.shape[0], tree.parent.shape[0]
    nv = v.shape[1]
    links, at = work[: (n + 1) * _ROW * WIDTH], (n + 1) * _ROW * WIDTH
    links[:] = 0.0
    v_lanes, at = work[at : at + nv * WIDTH], at + nv * WIDTH
    vdot_lanes, at = work[at : at + nv * WIDTH], at + nv * WIDTH
    tau_lanes, at = work[at : at + nv * WIDTH], at + nv * WIDTH
    wrench_lanes, q_lanes = work[at : at + 6 * WIDTH], work[at + 6 * WIDTH :]
    g = tree.gravity_W
    store3(links, _DV, broadcast3((-g[0], -g[1], -g[2])))
    for first in range(0, frames, WIDTH):
        filled = min(WIDTH, frames - first)
        fill(q_lanes, q, first)
        fill(v_lanes, v, first)
        fill(vdot_lanes, vdot, first)
        for i in range(n):
            _outwards(tree, i, LaneMemory(q_lanes), LaneMemory(v_lanes), LaneMemory(vdot_lanes), links)
        for k in range(wrenches.shape[1]):
            n_W, f_W = outer_wrench(wrenches, k, first, wrench_lanes)
            take_outer(links, _ROW, _N, path, path_start[k], path_start[k + 1], n_W, f_W)
        for i in range(n - 1, -1, -1):
            _inwards(tree, i, links, tau_lanes)
        drain(tau_lanes, tau, first)
        if joint_wrenches.shape[0] > 0:
            for lane in range(filled):
                for i in range(n):
                    for j in range(6):
                        joint_wrenches[first + lane, i, j] = links[((i + 1) * _ROW + _N + j) * WIDTH + lane]


def work_size(tree: Tree) -> int:
    """Return how many doubles `inverse_dynamics` needs as `work`."""
    nv = tree.dof_link.shape[0]
    return ((tree.parent.shape[0] + 1) * _ROW + 4 * nv + tree.parent.shape[0] + 6) * WIDTH
