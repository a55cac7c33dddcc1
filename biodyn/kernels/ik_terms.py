"""The terms of a frame's fit: cost, its gradient and its curvature, by composite moments of the markers (see ik.py)."""

from __future__ import annotations

from typing import NamedTuple

from biodyn.conventions import BoolArray, FloatArray, IntArray
from biodyn.kernels.bundle import bundle
from biodyn.kernels.jit import inline, part
from biodyn.kernels.joints import FREE, SPHERICAL, joint_column, joint_pose
from biodyn.kernels.lanes import Turned, turn_all
from biodyn.kernels.manifold import inverse_left_jacobian, rotation_vector
from biodyn.kernels.vec3 import (
    add,
    compose,
    cross,
    dot,
    quaternion_to_matrix,
    rotate,
    row3,
    row9,
    set3,
    set9,
    sub,
    symmetric_times,
)

# moments of a link's markers: mass, first moment, second moment (6), force, moment of force, T (9)
_FORCE, _MOMENT, _TENSOR, _MOMENTS = 10, 13, 16, 25


@bundle
class Work(NamedTuple):
    """Numbers in use for one frame."""

    q: FloatArray  # (nq, and zeros to a whole block of WIDTH) where the fit stands
    trial: FloatArray  # likewise
    settled: FloatArray  # likewise, of the last frame whose coordinates were all determined
    sine: FloatArray  # likewise
    cosine: FloatArray  # likewise
    R_WB: FloatArray  # (n, 9)
    p_WB: FloatArray  # (n, 3)
    residual: FloatArray  # (M, 3) p_WM - x, world axes
    weight: FloatArray  # (M,) of this frame, 0 = unseen
    moments: FloatArray  # (n, 25)
    columns: FloatArray  # (nv, 6) of S, world axes at O
    turning: FloatArray  # (nv, 3) second-order moment of each column
    hessian: FloatArray  # (nv * stride,) rows by depth, see sparse.py
    factors: FloatArray  # (nv * stride,)
    diagonal: FloatArray  # (nv,) of the hessian
    scale: FloatArray  # (nv,) the diagonal, 1 where pinned
    drive: FloatArray  # (nv,) minus half the gradient
    pull: FloatArray  # (nv,) from q to the prior
    right: FloatArray  # (nv,) right-hand side
    step: FloatArray  # (nv,)
    pinned: BoolArray  # (nv,) coordinates whose step is given, not solved for
    base: BoolArray  # (nv,) coordinates of free joints to the world


@bundle
class Problem(NamedTuple):
    """What is fitted to what."""

    marker_link: IntArray  # (M,)
    p_BM: FloatArray  # (M, 3) m, link axes
    p_WM: FloatArray  # (T, M, 3) m, NaN = unseen
    weights: FloatArray  # (1 or T, M)
    lower: FloatArray  # (nv,)
    upper: FloatArray  # (nv,)
    prior_weights: FloatArray  # (nv,)
    q_prior: FloatArray  # (0, 1 or T, nq)
    q_near: FloatArray  # (0 or T, nq) what frames start from, NaN = from the frame before


@part
def prior_cost(tree, problem, q, t, pull):
    """Fill pull = q_prior (-) q and return its cost."""
    frames = problem.q_prior.shape[0]
    if frames == 0:
        return 0.0
    row = min(t, frames - 1)
    for i in range(tree.parent.shape[0]):
        kind, a, b = tree.kind[i], tree.idx_q[i], tree.idx_v[i]
        if kind == SPHERICAL or kind == FREE:
            at = a + 3 if kind == FREE else a
            w, x, y, z = q[at], q[at + 1], q[at + 2], q[at + 3]
            there = problem.q_prior[row]
            pull[b], pull[b + 1], pull[b + 2] = rotation_vector(
                w, x, y, z, there[at], there[at + 1], there[at + 2], there[at + 3]
            )
            if kind == FREE:
                for k in range(3):
                    pull[b + 3 + k] = there[a + k] - q[a + k]
        elif tree.nv[i] == 1:
            pull[b] = problem.q_prior[row, a] - q[a]
    cost = 0.0
    for j in range(pull.shape[0]):
        cost += problem.prior_weights[j] * pull[j] * pull[j]
    return cost


@part
def evaluate(tree, problem, q, t, work):
    """Place the links at q, fill the residuals; return the cost."""
    turned = Turned(q, work.sine, work.cosine)
    turn_all(turned)
    for i in range(tree.parent.shape[0]):
        R, p = joint_pose(tree, i, turned)
        parent = tree.parent[i]
        if parent >= 0:
            R_WP = row9(work.R_WB, parent)
            p = add(row3(work.p_WB, parent), rotate(R_WP, p))
            R = compose(R_WP, R)
        set9(work.R_WB, i, R)
        set3(work.p_WB, i, p)
    cost = 0.0
    for m in range(problem.marker_link.shape[0]):
        w = work.weight[m]
        if w > 0.0:
            i = problem.marker_link[m]
            x = add(row3(work.p_WB, i), rotate(row9(work.R_WB, i), row3(problem.p_BM, m)))
            r = sub((problem.p_WM[t, m, 0], problem.p_WM[t, m, 1], problem.p_WM[t, m, 2]), x)
            set3(work.residual, m, r)
            cost += w * dot(r, r)
    return cost + prior_cost(tree, problem, q, t, work.pull)


@part
def gather_moments(tree, problem, t, work):
    """Fill the moments of every link's markers about O, the origin of link 0, subtrees included."""
    moments = work.moments
    p_WO = row3(work.p_WB, 0)
    for i in range(moments.shape[0]):
        for k in range(_MOMENTS):
            moments[i, k] = 0.0
    for m in range(problem.marker_link.shape[0]):
        w = work.weight[m]
        if w > 0.0:
            i = problem.marker_link[m]
            r = row3(work.residual, m)
            x = sub(sub((problem.p_WM[t, m, 0], problem.p_WM[t, m, 1], problem.p_WM[t, m, 2]), r), p_WO)
            wx, wr = (w * x[0], w * x[1], w * x[2]), (w * r[0], w * r[1], w * r[2])
            xx, yy, zz = wx[0] * x[0], wx[1] * x[1], wx[2] * x[2]
            torque = cross(x, wr)
            moments[i, 0] += w
            moments[i, 1] += wx[0]
            moments[i, 2] += wx[1]
            moments[i, 3] += wx[2]
            moments[i, 4] += yy + zz
            moments[i, 5] -= wx[0] * x[1]
            moments[i, 6] -= wx[0] * x[2]
            moments[i, 7] += xx + zz
            moments[i, 8] -= wx[1] * x[2]
            moments[i, 9] += xx + yy
            for k in range(3):
                moments[i, _FORCE + k] += wr[k]
                moments[i, _MOMENT + k] += torque[k]
                moments[i, _TENSOR + k] += x[0] * wr[k]
                moments[i, _TENSOR + 3 + k] += x[1] * wr[k]
                moments[i, _TENSOR + 6 + k] += x[2] * wr[k]
    for i in range(moments.shape[0] - 1, 0, -1):
        parent = tree.parent[i]
        if parent >= 0:
            for k in range(_MOMENTS):
                moments[parent, k] += moments[i, k]


@part
def assemble(tree, exact, work):
    """Fill hessian, diagonal and drive at the evaluated q; `exact` adds the curvature of the marker paths."""
    p_WO = row3(work.p_WB, 0)
    moments, columns, turning, hessian = work.moments, work.columns, work.turning, work.hessian
    stride = hessian.shape[0] // work.drive.shape[0]
    for i in range(tree.parent.shape[0]):
        first, count = tree.idx_v[i], tree.nv[i]
        if count == 0:
            continue
        mass, h = moments[i, 0], (moments[i, 1], moments[i, 2], moments[i, 3])
        S = (moments[i, 4], moments[i, 5], moments[i, 6], moments[i, 7], moments[i, 8], moments[i, 9])
        F = (moments[i, 10], moments[i, 11], moments[i, 12])
        N = (moments[i, 13], moments[i, 14], moments[i, 15])
        T = (
            moments[i, 16],
            moments[i, 17],
            moments[i, 18],
            moments[i, 19],
            moments[i, 20],
            moments[i, 21],
            moments[i, 22],
            moments[i, 23],
            moments[i, 24],
        )
        trace = T[0] + T[4] + T[8]
        R, p = row9(work.R_WB, i), sub(row3(work.p_WB, i), p_WO)
        for k in range(count):
            j = first + k
            w, u = joint_column(tree, i, k, R, p)
            set3(columns, j, w)
            columns[j, 3], columns[j, 4], columns[j, 5] = u
            work.drive[j] = dot(w, N) + dot(u, F)
            c = add(cross(u, F), sub(rotate(T, w), (trace * w[0], trace * w[1], trace * w[2])))
            if not exact:
                c = (0.0, 0.0, 0.0)
            set3(turning, j, c)
        for k in range(count):
            j = first + k
            w, u, c = row3(columns, j), (columns[j, 3], columns[j, 4], columns[j, 5]), row3(turning, j)
            n = add(symmetric_times(S, w), cross(h, u))
            f = add((mass * u[0], mass * u[1], mass * u[2]), cross(w, h))
            depth, row = tree.dof_depth[j], j * stride
            for e in range(k + 1):  # within the joint; its second derivative is that of exp, even in both arguments
                b = j - e
                entry = dot(row3(columns, b), n) + dot((columns[b, 3], columns[b, 4], columns[b, 5]), f)
                if k < 3:
                    entry -= 0.5 * (dot(row3(columns, b), c) + dot(w, row3(turning, b)))
                hessian[row + depth - e] = entry
            n = sub(n, c)
            for d in range(depth - k):
                b = tree.dof_path[j, d]
                hessian[row + d] = dot(row3(columns, b), n) + dot((columns[b, 3], columns[b, 4], columns[b, 5]), f)
    for j in range(work.drive.shape[0]):
        at = j * stride + tree.dof_depth[j]
        work.diagonal[j] = hessian[at]


@inline
def _add_pull(tree, problem, j, A, stride, work):
    """Add the prior of coordinates j .. j + 2, whose distance to it changes by -A step."""
    c, pull = problem.prior_weights, work.pull
    for k in range(3):
        for m in range(3):
            work.drive[j + k] += A[3 * m + k] * c[j + m] * pull[j + m]
        for e in range(k + 1):
            at = (j + k) * stride + tree.dof_depth[j + e]
            for m in range(3):
                work.hessian[at] += A[3 * m + k] * c[j + m] * A[3 * m + e]


@part
def assemble_prior(tree, problem, work):
    """Add the prior to hessian, diagonal and drive (Gauss-Newton)."""
    q, c, pull = work.q, problem.prior_weights, work.pull
    stride = work.hessian.shape[0] // work.drive.shape[0]
    for i in range(tree.parent.shape[0]):
        kind, a, b = tree.kind[i], tree.idx_q[i], tree.idx_v[i]
        if kind == SPHERICAL or kind == FREE:
            _add_pull(tree, problem, b, inverse_left_jacobian((pull[b], pull[b + 1], pull[b + 2])), stride, work)
            if kind == FREE:
                R = quaternion_to_matrix(q[a + 3], q[a + 4], q[a + 5], q[a + 6])
                _add_pull(tree, problem, b + 3, R, stride, work)
        elif tree.nv[i] == 1:
            work.hessian[b * stride + tree.dof_depth[b]] += c[b]
            work.drive[b] += c[b] * pull[b]
    for j in range(work.drive.shape[0]):
        work.diagonal[j] = work.hessian[j * stride + tree.dof_depth[j]]
