"""The Coriolis matrix C(q, v): C v is the Coriolis and centrifugal force, and dM/dt - 2 C is skew-symmetric.

With the sum f_k = sum_j (I_k rate_j + B_k s_j) qd_j over the links k that both i and j move (Echeandia & Wensing 2021,
doi 10.1115/1.4051169):   C_ij = s_i . (I rate_j + B s_j),  I and B those of the subtree of the deeper of the two.
"""

from __future__ import annotations

from biodyn.kernels.blocks import drain
from biodyn.kernels.jit import kernel
from biodyn.kernels.lanes import WIDTH, store
from biodyn.kernels.sweep import add_six, dot_six, get6, place, times, times_transposed, weigh


@kernel
def coriolis_matrix(tree, q, v, C, matrix, work):
    """Fill C (T, nv nv); q (T, nq), v (T, nv); matrix (nv nv WIDTH,), zeros; work a Sweep."""
    nv = v.shape[1]
    for first in range(0, q.shape[0], WIDTH):
        place(tree, q, v, v, first, True, work)
        weigh(tree, work)
        for j in range(nv):
            i = tree.dof_link[j]
            s = get6(work.s, j)
            down = add_six(times(work.inertia, i, get6(work.rate, j)), times(work.B, i, s))
            across, back = times(work.inertia, i, s), times_transposed(work.B, i, s)
            k = j
            while k >= 0:
                store(matrix, (k * nv + j) * WIDTH, dot_six(get6(work.s, k), down))
                above = dot_six(get6(work.rate, k), across) + dot_six(get6(work.s, k), back)
                store(matrix, (j * nv + k) * WIDTH, above)
                k = tree.dof_parent[k]
            for k in range(tree.idx_v[i], j):  # within a joint the composite is the same for both
                store(matrix, (k * nv + j) * WIDTH, dot_six(get6(work.s, k), down))
        drain(matrix, C, first)
