"""Equations of motion of a floating tree in fewer coordinates u, z = f(u), below the six speeds of its base.

    zdot = G udot,  zddot = G uddot + g        (G^T M G) a = tau - G^T (p + M g)

M and p are mass matrix and bias forces of the tree, G and g those of the functions (`laws`); the base is kept as it is.
"""

from __future__ import annotations

import math
from typing import Final

from biodyn.kernels.jit import kernel
from biodyn.kernels.laws import GIVEN, follow, slopes

BASE: Final = 6
_PLACE: Final = 7  # position coordinates of the base


@kernel
def beneath(laws, columns, spot, held, q, v, passed, every, rate, bend, top, zq, zv, bias, G):
    """Fill zq (T, 7 + nz), zv (T, 6 + nz), bias (T, nz) and G (T, nz, nu), given as zeros, of q (T, 7 + nu), v (T, 6 + nu).

    columns (nz,): which of all coordinates beneath are wanted; spot (n,): where each coordinate at the top stands in u, -1 = it
    is held at `held` (n,). every: room for all beneath; rate, bend (N,): for every value of the laws; top (n,).
    """
    n, count, below = held.shape[0], passed.x.shape[0], every.shape[0]
    for t in range(q.shape[0]):
        for i in range(_PLACE):
            zq[t, i] = q[t, i]
        for i in range(BASE):
            zv[t, i] = v[t, i]
        for i in range(n):
            top[i] = q[t, _PLACE + spot[i]] if spot[i] >= 0 else held[i]
        follow(laws, top, below, passed, every)
        slopes(laws, passed)
        for i in range(count):
            first = laws.first[i]
            moving, bent = 0.0, 0.0
            if laws.kind[i] == GIVEN:
                moving = v[t, BASE + spot[i]] if spot[i] >= 0 else 0.0
            else:
                for s in range(first, laws.first[i + 1]):
                    one = laws.source[s]
                    moving += passed.slope[s] * rate[one]
                    bent += passed.slope[s] * bend[one] + passed.curve[s] * rate[one] * rate[one]
                if passed.cross[i] != 0.0:
                    bent += 2.0 * passed.cross[i] * rate[laws.source[first]] * rate[laws.source[first + 1]]
            rate[i], bend[i] = moving, bent
        for j in range(columns.shape[0]):
            i = count - below + columns[j]
            zq[t, _PLACE + j], zv[t, BASE + j], bias[t, j] = passed.x[i], rate[i], bend[i]
            for e in range(laws.entry[i], laws.entry[i + 1]):
                k = spot[laws.column[e]]
                if k >= 0:
                    G[t, j, k] = passed.gradient[e]


@kernel
def inertia(M, G, start, entries, H):
    """Fill H (T, 6 + nu, 6 + nu), given as zeros, with G^T M G for M (T, 6 + nz, 6 + nz).

    Row j of G has its entries in the columns entries[start[j]:start[j + 1]].
    """
    nz = G.shape[1]
    for t in range(M.shape[0]):
        for i in range(BASE):
            for k in range(BASE):
                H[t, i, k] = M[t, i, k]
        for j in range(nz):
            for e in range(start[j], start[j + 1]):
                g, c = G[t, j, entries[e]], BASE + entries[e]
                for i in range(BASE):
                    H[t, c, i] += g * M[t, BASE + j, i]
                    H[t, i, c] += g * M[t, i, BASE + j]
                for m in range(nz):
                    share = g * M[t, BASE + j, BASE + m]
                    if share != 0.0:
                        for f in range(start[m], start[m + 1]):
                            H[t, c, BASE + entries[f]] += share * G[t, m, entries[f]]


@kernel
def accelerations(M, pull, bias, G, start, entries, H, tau, vdot):
    """Fill vdot (T, 6 + nu) for tau (T, 6 + nu): M (T, 6 + nz, 6 + nz) and pull (T, 6 + nz) of the tree, H of `inertia`.

    H is factored in place, U^T U in its upper half; NaN where it is not positive definite.
    """
    nz, nv = G.shape[1], tau.shape[1]
    for t in range(M.shape[0]):
        for i in range(nv):
            vdot[t, i] = tau[t, i]
        for j in range(BASE + nz):
            force = pull[t, j]
            for m in range(nz):
                force += M[t, j, BASE + m] * bias[t, m]
            if j < BASE:
                vdot[t, j] -= force
            else:
                for e in range(start[j - BASE], start[j - BASE + 1]):
                    vdot[t, BASE + entries[e]] -= G[t, j - BASE, entries[e]] * force
        # U^T U in the upper half, by rows: sums run along memory
        for k in range(nv):
            pivot = math.sqrt(H[t, k, k])
            for i in range(k, nv):
                H[t, k, i] /= pivot
            for i in range(k + 1, nv):
                share = H[t, k, i]
                if share != 0.0:
                    for j in range(i, nv):
                        H[t, i, j] -= share * H[t, k, j]
        for k in range(nv):
            vdot[t, k] /= H[t, k, k]
            for i in range(k + 1, nv):
                vdot[t, i] -= H[t, k, i] * vdot[t, k]
        for i in range(nv - 1, -1, -1):
            value = vdot[t, i]
            for m in range(i + 1, nv):
                value -= H[t, i, m] * vdot[t, m]
            vdot[t, i] = value / H[t, i, i]
