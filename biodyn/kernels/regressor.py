"""The regressor of inverse dynamics: tau = Y(q, v, vdot) phi, linear in every link's ten inertial parameters.

phi = [m, m c (3), I_xx, I_xy, I_xz, I_yy, I_yz, I_zz about the link origin, link axes]; a link's force is
    f = m (du + w x u) + dw x h + w x (w x h),   n = L(dw) I + w x L(w) I + h x (du + w x u),   L(w) I = I w
(Atkeson, An & Hollerbach 1986), and tau_j sums s_j . [n; f] over the links that coordinate j moves.
"""

from __future__ import annotations

from biodyn.kernels.blocks import drain
from biodyn.kernels.jit import inline, kernel
from biodyn.kernels.lanes import WIDTH, load3, load9, store, store3
from biodyn.kernels.sweep import get6, halves, place
from biodyn.kernels.vec3 import add, cross, dot, rotate_back


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

    matrix (rows 10 n WIDTH,), zeros; work a Sweep.
    """
    n = tree.parent.shape[0]
    for first in range(0, q.shape[0], WIDTH):
        place(tree, q, v, vdot, first, False, work)
        for i in range(n):
            R, p = load9(work.R_WB, 9 * i), load3(work.p_OB, 3 * i)
            w, u = halves(get6(work.v, i))
            dw, du = halves(get6(work.a, i))
            # velocity and acceleration of the link origin, classical, in link axes
            u, du = add(u, cross(w, p)), add(du, cross(dw, p))
            a = rotate_back(R, add(du, cross(w, u)))
            w, dw = rotate_back(R, w), rotate_back(R, dw)
            j = _last_coordinate(tree, i)
            while j >= rows:
                j = tree.dof_parent[j]
            while j >= 0:
                s_w, s_u = halves(get6(work.s, j))
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
        drain(matrix, Y, first)
