"""The Coriolis matrix C(q, v): C v is the Coriolis and centrifugal force, and dM/dt - 2 C is skew-symmetric.

With the sum f_k = sum_j (I_k rate_j + B_k s_j) qd_j over the links k that both i and j move (Echeandia & Wensing 2021,
doi 10.1115/1.4051169):   C_ij = s_i . (I rate_j + B s_j),  I and B those of the subtree of the deeper of the two.
"""

from __future__ import annotations

from biodyn.kernels.jit import kernel
from biodyn.kernels.sweep import add_six, dot_six, get6, place, times, times_transposed, weigh


@kernel
def coriolis_matrix(tree, q, v, C, work):
    """Fill C (T, nv, nv), given as zeros; q (T, nq), v (T, nv), work a Sweep."""
    for t in range(q.shape[0]):
        place(tree, q[t], v[t], v[t], True, work)
        weigh(tree, work)
        for j in range(v.shape[1]):
            i = tree.dof_link[j]
            s = get6(work.s, j)
            down = add_six(times(work.inertia, i, get6(work.rate, j)), times(work.B, i, s))
            across, back = times(work.inertia, i, s), times_transposed(work.B, i, s)
            k = j
            while k >= 0:
                C[t, k, j] = dot_six(get6(work.s, k), down)
                C[t, j, k] = dot_six(get6(work.rate, k), across) + dot_six(get6(work.s, k), back)
                k = tree.dof_parent[k]
            for k in range(tree.idx_v[i], j):  # within a joint the composite is the same for both
                C[t, k, j] = dot_six(get6(work.s, k), down)
