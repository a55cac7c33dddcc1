"""Derivatives of inverse dynamics with respect to q, v and vdot, O(n d) for trees of depth d.

Singh, Russell & Wensing 2022, doi 10.1109/LRA.2022.3141194, with the sweep's quantities: for j on the path of i
    dtau_i/dq_j = s_i . (2 B_i carried_j + I_i twice_j)
    dtau_j/dq_i = s_j . (2 B_i carried_i + I_i twice_i + s_i x* f_i)        (j not of the same joint)
    dtau_i/dv_j = s_i . (2 B_i s_j + I_i (carried_j + rate_j)),   dtau_j/dv_i = s_j . (2 B_i s_i + I_i (carried_i + rate_i))
and dtau/dvdot = M. A wrench F fixed in the world adds s_i . (s_j x* F_i) to dtau_i/dq_j. Steps of q are those of
`integrate`: along the coordinates of v.
"""

from __future__ import annotations

from biodyn.kernels.blocks import drain
from biodyn.kernels.jit import kernel, part
from biodyn.kernels.lanes import WIDTH, broadcast, load3, store
from biodyn.kernels.sweep import (
    add_six,
    cross_force,
    dot_six,
    get6,
    place,
    scale_six,
    set6,
    six,
    times,
    times_transposed,
    weigh,
)
from biodyn.kernels.types import Tree
from biodyn.kernels.vec3 import cross, sub
from biodyn.kernels.wrenches import outer_wrench


@part
def _gather_wrenches(tree, wrenches, links, first, work):
    """Fill the external wrench of every subtree about O."""
    outer, zero, p_WO = work.outer, broadcast(0.0), load3(work.origin, 0)
    for i in range(tree.parent.shape[0]):
        set6(outer, i, (zero, zero, zero, zero, zero, zero))
    for m in range(links.shape[0]):
        n, f = outer_wrench(wrenches, m, first, work.wrench)
        set6(outer, links[m], add_six(get6(outer, links[m]), six(sub(n, cross(p_WO, f)), f)))
    for i in range(tree.parent.shape[0] - 1, 0, -1):
        if tree.parent[i] >= 0:
            set6(outer, tree.parent[i], add_six(get6(outer, tree.parent[i]), get6(outer, i)))


@part
def _fill_of(tree, i, j, of_q, of_v, of_vdot, work):
    """Put in what coordinate j of link i has with those on its path, (nv, nv) a matrix in lane memory."""
    nv = tree.dof_link.shape[0]
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
        above, before = (k * nv + j) * WIDTH, (j * nv + k) * WIDTH
        own = tree.dof_link[k] == i
        store(of_v, above, dot_six(s_k, sped))
        mass = dot_six(s_k, pushed)
        store(of_vdot, above, mass)
        if own:
            store(of_q, above, dot_six(s_k, turned) + dot_six(s_k, outer))
        else:
            store(of_q, above, dot_six(s_k, swung))
            carried, rate = get6(work.carried, k), get6(work.rate, k)
            # s_j . (s_k x* F) = -s_k . (s_j x* F)
            of_path = dot_six(back, carried) + dot_six(pushed, get6(work.twice, k)) - dot_six(s_k, outer)
            store(of_q, before, of_path)
            store(of_v, before, dot_six(back, s_k) + dot_six(pushed, add_six(carried, rate)))
            store(of_vdot, before, mass)
        k = tree.dof_parent[k]


@kernel
def inverse_dynamics_derivatives(tree, q, v, vdot, wrenches, links, by_q, by_v, by_vdot, matrices, work):
    """Fill by_q, by_v, by_vdot (T, nv nv); rows are tau.

    wrenches (T, K, 6) about the world origin on the links (K,); matrices: see `work_size`, zeros; work a Sweep.
    """
    numbers = by_q.shape[1] * WIDTH
    of_q, of_v, of_vdot = matrices[:numbers], matrices[numbers : 2 * numbers], matrices[2 * numbers :]
    for first in range(0, q.shape[0], WIDTH):
        place(tree, q, v, vdot, first, False, work)
        weigh(tree, work)
        _gather_wrenches(tree, wrenches, links, first, work)
        for i in range(tree.parent.shape[0]):
            for j in range(tree.idx_v[i], tree.idx_v[i] + tree.nv[i]):
                _fill_of(tree, i, j, of_q, of_v, of_vdot, work)
        drain(of_q, by_q, first)
        drain(of_v, by_v, first)
        drain(of_vdot, by_vdot, first)


def work_size(tree: Tree) -> int:
    """Return how many doubles `inverse_dynamics_derivatives` needs as `matrices`."""
    return 3 * tree.dof_link.shape[0] ** 2 * WIDTH
