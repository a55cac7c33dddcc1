"""Centre of mass, momentum and energies of the whole tree.

Each link's momentum [L; P] = I_i v_i about its origin in link axes (Featherstone 2008, section 2.10) is carried to the
world origin and summed: P_W = R P, L_W = R L + p x P_W; kinetic energy = 1/2 v . (I v), potential = -m g . c.
"""

from __future__ import annotations

from biodyn.kernels.blocks import drain, fill
from biodyn.kernels.jit import kernel
from biodyn.kernels.joints import joint_motion, joint_pose
from biodyn.kernels.kinematics import moved
from biodyn.kernels.lanes import WIDTH, LaneMemory, broadcast3, load3, load9, store, store3, store9
from biodyn.kernels.types import Tree
from biodyn.kernels.vec3 import (
    add,
    compose,
    cross,
    dot,
    rotate,
    row3,
    row6,
    scale,
    symmetric_times,
)

# fields of a link's row: pose in world, velocity in link axes
_R, _P, _W, _V, _ROW = 0, 9, 12, 15, 18
#: Columns of the result: m c, momentum [L; P] about the world origin, kinetic and potential energy.
COLUMNS = 11


@kernel
def whole_body(tree, q, v, result, work):
    """Fill result (T, 11) for q (T, nq), v (T, nv); see COLUMNS."""
    n, nv = tree.parent.shape[0], v.shape[1]
    links, sums = work, work[n * _ROW * WIDTH :]
    v_lanes, q_lanes = work[(n * _ROW + COLUMNS) * WIDTH :], work[(n * _ROW + COLUMNS + nv) * WIDTH :]
    g = tree.gravity_W
    zero = broadcast3((0.0, 0.0, 0.0))
    for first in range(0, q.shape[0], WIDTH):
        fill(q_lanes, q, first)
        fill(v_lanes, v, first)
        moment, L_W, P_W, kinetic = zero, zero, zero, zero[0]
        for i in range(n):
            here, there = i * _ROW, tree.parent[i] * _ROW
            R, p = joint_pose(tree, i, LaneMemory(q_lanes))
            w, u = joint_motion(tree, i, LaneMemory(v_lanes))
            if tree.parent[i] >= 0:
                w_C, u_C = moved(R, p, load3(links, there + _W), load3(links, there + _V))
                w, u = add(w, w_C), add(u, u_C)
                R_WP = load9(links, there + _R)
                p = add(load3(links, there + _P), rotate(R_WP, p))
                R = compose(R_WP, R)
            store9(links, here + _R, R)
            store3(links, here + _P, p)
            store3(links, here + _W, w)
            store3(links, here + _V, u)
            m, h = tree.mass[i], row3(tree.first_moment, i)
            if m > 0.0:
                P = add(scale(u, m), cross(w, h))
                L = add(symmetric_times(row6(tree.inertia_origin, i), w), cross(h, u))
                kinetic = kinetic + 0.5 * (dot(w, L) + dot(u, P))
                P = rotate(R, P)
                P_W = add(P_W, P)
                L_W = add(L_W, add(rotate(R, L), cross(p, P)))
                moment = add(moment, add(scale(p, m), rotate(R, h)))
        store3(sums, 0, moment)
        store3(sums, 3, L_W)
        store3(sums, 6, P_W)
        store(sums, 9 * WIDTH, kinetic)
        store(sums, 10 * WIDTH, -dot(moment, (g[0], g[1], g[2])))
        drain(sums, result, first)


def work_size(tree: Tree) -> int:
    """Return how many doubles `whole_body` needs as `work`."""
    n, nv = tree.parent.shape[0], tree.dof_link.shape[0]
    return (n * _ROW + COLUMNS + 2 * nv + n) * WIDTH
