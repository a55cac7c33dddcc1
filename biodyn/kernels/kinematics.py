"""Poses, spatial velocities and spatial accelerations of all links, outwards (Featherstone 2008, section 5.3, eqs 5.8).

X_WC = X_WP X_PC(q),   v_C = cXp v_P + S qd,   a_C = cXp a_P + S qdd + v_C x S qd      (a_world = 0)
"""

from __future__ import annotations

from biodyn.kernels.blocks import drain, fill
from biodyn.kernels.jit import inline, kernel
from biodyn.kernels.joints import joint_motion, joint_pose
from biodyn.kernels.lanes import WIDTH, LaneMemory, load3, load9, store3, store9
from biodyn.kernels.types import Tree
from biodyn.kernels.vec3 import add, compose, cross, rotate, rotate_back


@inline
def moved(R, p, w_P, u_P):
    """Return the motion vector (w_P, u_P) of the parent's origin and axes at the child's: cXp [w; u]."""
    return rotate_back(R, w_P), rotate_back(R, add(u_P, cross(w_P, p)))


@kernel
def poses(tree, q, R_WB, p_WB, work):
    """Fill R_WB (T, 9 n), row by row, and p_WB (T, 3 n) of the n links for q (T, nq)."""
    n = tree.parent.shape[0]
    R_lanes, p_lanes = work, work[9 * n * WIDTH :]
    q_lanes = work[12 * n * WIDTH :]
    for first in range(0, q.shape[0], WIDTH):
        fill(q_lanes, q, first)
        for i in range(n):
            R, p = joint_pose(tree, i, LaneMemory(q_lanes))
            parent = tree.parent[i]
            if parent >= 0:
                R_WP = load9(R_lanes, 9 * parent)
                p = add(rotate(R_WP, p), load3(p_lanes, 3 * parent))
                R = compose(R_WP, R)
            store9(R_lanes, 9 * i, R)
            store3(p_lanes, 3 * i, p)
        drain(R_lanes, R_WB, first)
        drain(p_lanes, p_WB, first)


@kernel
def motion(tree, q, v, vdot, velocity, acceleration, work):
    """Fill velocity and acceleration (T, 6 n), [angular; linear] of the link origins in link axes.

    q (T, nq), v, vdot (T, nv). Spatial acceleration: the linear part lacks omega x v (Featherstone 2008, eq. 2.46).
    """
    n = tree.parent.shape[0]
    nv = v.shape[1]
    v_lanes, vdot_lanes = work[12 * n * WIDTH :], work[(12 * n + nv) * WIDTH :]
    q_lanes = work[(12 * n + 2 * nv) * WIDTH :]
    velocities, accelerations = work, work[6 * n * WIDTH :]
    for first in range(0, q.shape[0], WIDTH):
        fill(q_lanes, q, first)
        fill(v_lanes, v, first)
        fill(vdot_lanes, vdot, first)
        for i in range(n):
            R, p = joint_pose(tree, i, LaneMemory(q_lanes))
            w, u = joint_motion(tree, i, LaneMemory(v_lanes))
            dw, du = joint_motion(tree, i, LaneMemory(vdot_lanes))
            parent = tree.parent[i]
            if parent >= 0:
                w_J, u_J = w, u
                w, u = moved(R, p, load3(velocities, 6 * parent), load3(velocities, 6 * parent + 3))
                w, u = add(w, w_J), add(u, u_J)
                dw_P, du_P = moved(R, p, load3(accelerations, 6 * parent), load3(accelerations, 6 * parent + 3))
                dw = add(add(dw, dw_P), cross(w, w_J))
                du = add(add(du, du_P), add(cross(w, u_J), cross(u, w_J)))
            store3(velocities, 6 * i, w)
            store3(velocities, 6 * i + 3, u)
            store3(accelerations, 6 * i, dw)
            store3(accelerations, 6 * i + 3, du)
        drain(velocities, velocity, first)
        drain(accelerations, acceleration, first)


def work_size(tree: Tree) -> int:
    """Return how many doubles the kernels of this file need as `work`."""
    n, nv = tree.parent.shape[0], tree.dof_link.shape[0]
    return (12 * n + 3 * nv + n) * WIDTH
