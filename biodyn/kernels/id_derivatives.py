"""Derivatives of inverse dynamics with respect to q, v and vdot, O(n d) for trees of depth d.

Singh, Russell & Wensing 2022, doi 10.1109/LRA.2022.3141194, with the sweep's quantities: for j on the path of i
    dtau_i/dq_j = s_i . (2 B_i carried_j + I_i twice_j)
    dtau_j/dq_i = s_j . (2 B_i carried_i + I_i twice_i + s_i x* f_i)        (j not of the same joint)
    dtau_i/dv_j = s_i . (2 B_i s_j + I_i (carried_j + rate_j)),   dtau_j/dv_i = s_j . (2 B_i s_i + I_i (carried_i + rate_i))
and dtau/dvdot = M. A wrench F fixed in the world adds s_i . (s_j x* F_i) to dtau_i/dq_j. Steps of q are those of
`integrate`: along the coordinates of v.
"""

from __future__ import annotations

from biodyn.kernels.jit import kernel, part
from biodyn.kernels.sweep import (
    add_six,
    cross_force,
    dot_six,
    get6,
    halves,
    place,
    scale_six,
    set6,
    six,
    times,
    times_transposed,
    weigh,
)
from biodyn.kernels.vec3 import cross, row3, sub


@part
def _gather_wrenches(tree, wrenches, links, p_WO, work):
    """Fill the external wrench of every subtree about O."""
    outer = work.outer
    for i in range(outer.shape[0]):
        for k in range(6):
            outer[i, k] = 0.0
    for m in range(links.shape[0]):
        n, f = halves(get6(wrenches, m))
        moved = sub(n, cross(p_WO, f))
        set6(outer, links[m], add_six(get6(outer, links[m]), six(moved, f)))
    for i in range(outer.shape[0] - 1, 0, -1):
        if tree.parent[i] >= 0:
            for k in range(6):
                outer[tree.parent[i], k] += outer[i, k]


@kernel
def inverse_dynamics_derivatives(tree, q, v, vdot, wrenches, links, by_q, by_v, by_vdot, work):
    """Fill by_q, by_v, by_vdot (T, nv, nv), given as zeros; rows are tau.

    wrenches (T, K, 6) about the world origin on the links (K,); work a Sweep.
    """
    n = tree.parent.shape[0]
    for t in range(q.shape[0]):
        place(tree, q[t], v[t], vdot[t], False, work)
        weigh(tree, work)
        _gather_wrenches(tree, wrenches[t], links, row3(work.origin, 0), work)
        for i in range(n):
            for e in range(tree.nv[i]):
                j = tree.idx_v[i] + e
                s = get6(work.s, j)
                # rows above: tau of the path, moved by coordinate j
                turned = scale_six(times(work.B, i, get6(work.carried, j)), 2.0)
                turned = add_six(turned, times(work.inertia, i, get6(work.twice, j)))
                sped = scale_six(times(work.B, i, s), 2.0)
                both = add_six(get6(work.carried, j), get6(work.rate, j))
                sped = add_six(sped, times(work.inertia, i, both))
                pushed = times(work.inertia, i, s)
                swung = add_six(turned, cross_force(s, get6(work.f, i)))
                outer = cross_force(s, get6(work.outer, i))
                # columns before: tau of coordinate j, moved by the path
                back = scale_six(times_transposed(work.B, i, s), 2.0)
                k = tree.idx_v[i] + tree.nv[i] - 1
                while k >= 0:
                    s_k = get6(work.s, k)
                    own = tree.dof_link[k] == i
                    by_q[t, k, j] = dot_six(s_k, turned) if own else dot_six(s_k, swung)
                    by_v[t, k, j] = dot_six(s_k, sped)
                    by_vdot[t, k, j] = dot_six(s_k, pushed)
                    if own:
                        by_q[t, k, j] += dot_six(s_k, outer)
                    else:
                        carried, rate = get6(work.carried, k), get6(work.rate, k)
                        # s_j . (s_k x* F) = -s_k . (s_j x* F)
                        by_q[t, j, k] = (
                            dot_six(back, carried) + dot_six(pushed, get6(work.twice, k)) - dot_six(s_k, outer)
                        )
                        by_v[t, j, k] = dot_six(back, s_k) + dot_six(pushed, add_six(carried, rate))
                        by_vdot[t, j, k] = by_vdot[t, k, j]
                    k = tree.dof_parent[k]
