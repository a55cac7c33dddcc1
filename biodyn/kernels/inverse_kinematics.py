"""Inverse kinematics: all coordinates fitted to all visible markers of a frame, by Newton's method.

The cost of a frame is E(q) = sum_m w_m |p_WM - x_m(q)|^2 + sum_j c_j (q - q_prior)_j^2. With residuals r_m and
J_m = dx_m/dq, J^T W J is the joint-space inertia matrix of the tree with the markers as point masses w_m on its
links, and J^T W r the generalised force of the point forces w_m r_m. Therefore no Jacobian is computed: each link has
the zeroth, first and second moments of its markers and the sum of their forces, in world axes about one point O. They
are summed towards the root, and (Featherstone 2008, section 6.2)
    H_ij = s_i . (I_j s_j),   b_j = s_j . F_j      for i on the path of j,  s = [angular; linear] at O.
The curvature of x adds the exact second-order term - sum w r . d2x/dq_i dq_j = - w_i . sum_m w_m (dx_m/dq_j x r_m),
which requires only the tensor T = sum w x r^T of the subtree and makes convergence quadratic.

Steps are damped (Levenberg 1944, Marquardt 1963) only if a step fails. An active set keeps them within the limits.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from biodyn.conventions import BoolArray, FloatArray, IntArray
from biodyn.kernels.array_bundles import register_bundle
from biodyn.kernels.jit import inline, kernel, merged, part
from biodyn.kernels.kinematics import inverse_left_jacobian, rotate_quaternion, rotation_vector
from biodyn.kernels.lanes import WIDTH, AnglesWithSines, fill_sines_cosines, load, store
from biodyn.kernels.linear_algebra import factorise_tree_sparse, solve_tree_sparse
from biodyn.kernels.tree import FREE, REVOLUTE, SPHERICAL, joint_column, joint_pose
from biodyn.kernels.vec3 import (
    add,
    compose,
    cross,
    dot,
    quaternion_to_matrix,
    rotate,
    row3,
    row9,
    store_row3,
    store_row9,
    sub,
    symmetric_product,
)

# moments of a link's markers: mass, first moment, second moment (6), force, moment of force, T (9)
_FORCE, _MOMENT, _TENSOR, _MOMENTS = 10, 13, 16, 25


@register_bundle
class FitMemory(NamedTuple):
    """Working memory of one frame."""

    q: FloatArray  # (nq, padded with zeros to whole blocks of WIDTH) current fit
    trial: FloatArray  # as q
    settled: FloatArray  # as q: last frame with all coordinates determined
    sine: FloatArray  # as q
    cosine: FloatArray  # as q
    R_WB: FloatArray  # (n, 9)
    p_WB: FloatArray  # (n, 3)
    residual: FloatArray  # (M, 3) p_WM - x, world axes
    weight: FloatArray  # (M,) of this frame, 0 = not visible
    moments: FloatArray  # (n, 25)
    columns: FloatArray  # (nv, 6) columns of S, world axes at O
    turning: FloatArray  # (nv, 3) second-order moment of each column
    hessian: FloatArray  # (nv * stride,) rows by depth, see `linear_algebra`
    factors: FloatArray  # (nv * stride,)
    diagonal: FloatArray  # (nv,) of the hessian
    scale: FloatArray  # (nv,) the diagonal, 1 where pinned
    force: FloatArray  # (nv,) generalised force: minus half the gradient of the cost
    prior_difference: FloatArray  # (nv,) difference from q to the prior
    right: FloatArray  # (nv,) right-hand side
    step: FloatArray  # (nv,)
    pinned: BoolArray  # (nv,) coordinates with a given step
    base: BoolArray  # (nv,) coordinates of free joints to the world


@register_bundle
class MarkerFitProblem(NamedTuple):
    """Markers of the model, recorded positions, weights, limits and priors of a fit."""

    marker_link: IntArray  # (M,)
    p_BM: FloatArray  # (M, 3) m, link axes
    p_WM: FloatArray  # (T, M, 3) m, NaN = not visible
    weights: FloatArray  # (1 or T, M)
    lower: FloatArray  # (nv,)
    upper: FloatArray  # (nv,)
    prior_weights: FloatArray  # (nv,)
    q_prior: FloatArray  # (0, 1 or T, nq)
    q_near: FloatArray  # (0 or T, nq) initial guess of each frame, NaN = the previous frame


@part
def prior_cost(tree, problem, q, t, prior_difference):
    """Fill prior_difference = q_prior (-) q and return the cost of the prior."""
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
            prior_difference[b], prior_difference[b + 1], prior_difference[b + 2] = rotation_vector(
                w, x, y, z, there[at], there[at + 1], there[at + 2], there[at + 3]
            )
            if kind == FREE:
                for k in range(3):
                    prior_difference[b + 3 + k] = there[a + k] - q[a + k]
        elif tree.nv[i] == 1:
            prior_difference[b] = problem.q_prior[row, a] - q[a]
    cost = 0.0
    for j in range(prior_difference.shape[0]):
        cost += problem.prior_weights[j] * prior_difference[j] * prior_difference[j]
    return cost


@part
def evaluate_cost(tree, problem, q, t, work):
    """Compute the poses of the links at q and the residuals; return the cost."""
    turned = AnglesWithSines(q, work.sine, work.cosine)
    fill_sines_cosines(turned)
    for i in range(tree.parent.shape[0]):
        R, p = joint_pose(tree, i, turned)
        parent = tree.parent[i]
        if parent >= 0:
            R_WP = row9(work.R_WB, parent)
            p = add(row3(work.p_WB, parent), rotate(R_WP, p))
            R = compose(R_WP, R)
        store_row9(work.R_WB, i, R)
        store_row3(work.p_WB, i, p)
    cost = 0.0
    for m in range(problem.marker_link.shape[0]):
        w = work.weight[m]
        if w > 0.0:
            i = problem.marker_link[m]
            x = add(row3(work.p_WB, i), rotate(row9(work.R_WB, i), row3(problem.p_BM, m)))
            r = sub((problem.p_WM[t, m, 0], problem.p_WM[t, m, 1], problem.p_WM[t, m, 2]), x)
            store_row3(work.residual, m, r)
            cost += w * dot(r, r)
    return cost + prior_cost(tree, problem, q, t, work.prior_difference)


@part
def gather_moments(tree, problem, t, work):
    """Fill the moments of the markers of the subtree of every link about O, the origin of link 0."""
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
def assemble_equations(tree, exact, work):
    """Fill Hessian, its diagonal and the generalised force at the evaluated q.

    `exact` adds the second derivatives of the marker positions.
    """
    p_WO = row3(work.p_WB, 0)
    moments, columns, turning, hessian = work.moments, work.columns, work.turning, work.hessian
    stride = hessian.shape[0] // work.force.shape[0]
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
            store_row3(columns, j, w)
            columns[j, 3], columns[j, 4], columns[j, 5] = u
            work.force[j] = dot(w, N) + dot(u, F)
            c = add(cross(u, F), sub(rotate(T, w), (trace * w[0], trace * w[1], trace * w[2])))
            if not exact:
                c = (0.0, 0.0, 0.0)
            store_row3(turning, j, c)
        for k in range(count):
            j = first + k
            w, u, c = row3(columns, j), (columns[j, 3], columns[j, 4], columns[j, 5]), row3(turning, j)
            n = add(symmetric_product(S, w), cross(h, u))
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
    for j in range(work.force.shape[0]):
        at = j * stride + tree.dof_depth[j]
        work.diagonal[j] = hessian[at]


@inline
def _add_prior_terms(tree, problem, j, A, stride, work):
    """Add the prior terms of the coordinates j .. j + 2 to Hessian and generalised force; a step changes the difference
    to the prior by -A step."""
    c, prior_difference = problem.prior_weights, work.prior_difference
    for k in range(3):
        for m in range(3):
            work.force[j + k] += A[3 * m + k] * c[j + m] * prior_difference[j + m]
        for e in range(k + 1):
            at = (j + k) * stride + tree.dof_depth[j + e]
            for m in range(3):
                work.hessian[at] += A[3 * m + k] * c[j + m] * A[3 * m + e]


@part
def add_prior_to_equations(tree, problem, work):
    """Add the prior terms to Hessian, diagonal and generalised force (Gauss-Newton)."""
    q, c, d = work.q, problem.prior_weights, work.prior_difference
    stride = work.hessian.shape[0] // work.force.shape[0]
    for i in range(tree.parent.shape[0]):
        kind, a, b = tree.kind[i], tree.idx_q[i], tree.idx_v[i]
        if kind == SPHERICAL or kind == FREE:
            _add_prior_terms(tree, problem, b, inverse_left_jacobian((d[b], d[b + 1], d[b + 2])), stride, work)
            if kind == FREE:
                R = quaternion_to_matrix(q[a + 3], q[a + 4], q[a + 5], q[a + 6])
                _add_prior_terms(tree, problem, b + 3, R, stride, work)
        elif tree.nv[i] == 1:
            work.hessian[b * stride + tree.dof_depth[b]] += c[b]
            work.force[b] += c[b] * d[b]
    for j in range(work.force.shape[0]):
        work.diagonal[j] = work.hessian[j * stride + tree.dof_depth[j]]


CONVERGED: Final = 0
STOPPED: Final = 1  # at the largest number of iterations
UNSEEN: Final = 2  # not enough visible markers
UNDETERMINED: Final = 3  # converged, but the markers do not determine some coordinate

# If the pivot of a coordinate is below this fraction of its diagonal element, noise determines the coordinate (for example
# a marker one millimetre from the axis). The coordinate then keeps its value, and the frame is undetermined.
LEAST_PIVOT = 1e-5
RIDGE = 1e-10  # relative to the diagonal: undetermined coordinates keep their values, all others are unaffected
CURVATURE_STEP = 0.03  # rad or m: after longer steps the residuals are too large for the exact curvature
HOLDING_DAMPING = 1e-3  # damping with which an undetermined coordinate keeps its value
LONGEST_STEP = 1.0  # rad or m: limit of a step, so that no angle turns the other way round
COARSE_STEP = 1e-3  # rad or m: the base converges to this step before the joints may move
COARSE_ITERATIONS = 30
QUADRATIC_RATE = 10.0  # 1 / rad


@part
def _factorise(tree, stride, damping, work):
    """Fill the factors and the right-hand side of the free coordinates; the steps of pinned coordinates are given."""
    hessian, factors, pinned, step, right = work.hessian, work.factors, work.pinned, work.step, work.right
    some = False
    for j in range(pinned.shape[0]):
        some = some or pinned[j]
        right[j] = work.force[j]
        work.scale[j] = work.diagonal[j]
    for at in range(0, hessian.shape[0], WIDTH):
        store(factors, at, load(hessian, at))
    for j in range(pinned.shape[0]):
        factors[j * stride + tree.dof_depth[j]] *= 1.0 + damping
    if some:
        for j in range(pinned.shape[0]):
            row, depth, fixed = j * stride, tree.dof_depth[j], pinned[j]
            i = tree.dof_parent[j]
            for d in range(depth - 1, -1, -1):
                if fixed or pinned[i]:
                    if fixed:
                        right[i] -= hessian[row + d] * step[j]
                    else:
                        right[j] -= hessian[row + d] * step[i]
                    factors[row + d] = 0.0
                i = tree.dof_parent[i]
        for j in range(pinned.shape[0]):
            if pinned[j]:
                factors[j * stride + tree.dof_depth[j]] = work.scale[j] = 1.0
                right[j] = step[j]


@part
def _solve_step(of, t, damping, coarse):
    """Fill step with the minimum of the damped quadratic model within the limits; return the smallest relative pivot."""
    tree, problem, work = of
    nv = work.step.shape[0]
    stride = work.hessian.shape[0] // nv
    q, pinned, step = work.q, work.pinned, work.step
    for j in range(nv):
        unmoved = not work.diagonal[j] > 0.0 or problem.lower[j] >= problem.upper[j]
        pinned[j] = unmoved or (coarse and not work.base[j])
        step[j] = 0.0
    for i in range(tree.parent.shape[0]):
        if tree.nv[i] == 1:
            j, a = tree.idx_v[i], tree.idx_q[i]
            at_lower = q[a] <= problem.lower[j] and work.force[j] < 0.0
            at_upper = q[a] >= problem.upper[j] and work.force[j] > 0.0
            pinned[j] = pinned[j] or at_lower or at_upper
    least = 0.0
    for _ in range(nv + 1):
        _factorise(tree, stride, damping, work)
        least = factorise_tree_sparse(tree.dof_path, tree.dof_depth, work.factors, stride, work.scale)
        if not least > 0.0:
            return least
        solve_tree_sparse(tree.dof_path, tree.dof_depth, work.factors, stride, work.right)
        inside = True
        for j in range(nv):
            if not pinned[j]:
                step[j] = work.right[j]
        for i in range(tree.parent.shape[0]):
            if tree.nv[i] == 1:
                j, a = tree.idx_v[i], tree.idx_q[i]
                if not pinned[j] and not problem.lower[j] <= q[a] + step[j] <= problem.upper[j]:
                    bound = problem.lower[j] if q[a] + step[j] < problem.lower[j] else problem.upper[j]
                    step[j] = bound - q[a]
                    pinned[j] = True
                    inside = False
        if inside:
            break
    return least


@merged
def minimise(
    evaluate, assemble, solve, move, is_any_unseen, of, t, coarse, near, restart, tolerance, max_iterations, q, trial, step
):  # fmt: skip
    """Minimise the cost of frame t from the start `trial`; return (cost, iterations, status). The result is in q.

    Functions with the arguments `of` and t: evaluate returns the cost at trial; assemble(exact) fills Hessian and force at trial,
    if exact with the curvature of the residuals; solve(damping, coarse) fills step and returns the smallest relative pivot; move
    fills trial with q moved by step; is_any_unseen returns whether a free coordinate moves no visible marker.

    coarse: whether only the base moves at first. near: True if the start is so accurate that the curvature is used from the first
    step. restart: True without an initial guess.
    """
    damping = 1e-2 if restart else 0.0
    exact, stuck, done, damped = False, False, False, False
    cost, size, last, least, iterations = math.inf, math.inf, 0.0, 0.0, 0
    while True:
        trial_cost = evaluate(of, t)
        # a step below the tolerance changes the cost only by rounding: it is accepted and is the last
        if trial_cost <= cost or size < tolerance:
            for a in range(q.shape[0]):
                q[a] = trial[a]
            cost = trial_cost
            # quadratic convergence, |next step| <= c |step|^2: stop if this is well below the tolerance. c follows
            # from the last two steps and is at least 10 / rad, the value of chains of some metres on short levers
            ahead = exact and last > 0.0 and damping == 0.0
            if ahead:
                ahead = max(QUADRATIC_RATE, size / (last * last)) * size * size < 0.1 * tolerance
            done = done or (not coarse and (size < tolerance or ahead))
            if done or stuck or iterations >= max_iterations:
                break
            if coarse and (size < COARSE_STEP or iterations >= COARSE_ITERATIONS):
                coarse = False
            exact = (near or size < CURVATURE_STEP) and not coarse
            if size < math.inf:
                damping = 0.0 if damping < 1e-4 else 0.1 * damping
            last = size if size < math.inf else 0.0
            assemble(of, t, exact)
        else:
            damping = max(10.0 * damping, 1e-3)
            if damping > 1e8 or iterations >= max_iterations:  # no descent in any direction: limited by rounding
                done = size < 1e-6
                stuck = True
                for a in range(q.shape[0]):
                    trial[a] = q[a]
                continue
        iterations += 1
        least = solve(of, t, damping + RIDGE, coarse)
        if 0.0 < least < LEAST_PIVOT and damping < HOLDING_DAMPING:
            damping = HOLDING_DAMPING
            least = solve(of, t, damping, coarse)
        damped = damping > 0.0
        if least > 0.0:
            size = 0.0
            for j in range(step.shape[0]):
                size = max(size, abs(step[j]))
            if size > LONGEST_STEP:
                for j in range(step.shape[0]):
                    step[j] *= LONGEST_STEP / size
                size = LONGEST_STEP
            move(of, t)
        else:  # not convex: repeat without the curvature, which makes it convex, then with damping
            if not exact:
                damping = max(10.0 * damping, 1e-6)
            size = math.inf
            for a in range(q.shape[0]):
                trial[a] = q[a]
    status = CONVERGED if done else STOPPED
    if done:
        if damped:  # damping hides coordinates that the markers do not determine
            least = solve(of, t, RIDGE, False)
        if least < LEAST_PIVOT or is_any_unseen(of, t):
            status = UNDETERMINED
    return cost, iterations, status


@part
def _evaluate(of, t):
    tree, problem, work = of
    return evaluate_cost(tree, problem, work.trial, t, work)


@part
def _assemble(of, t, exact):
    tree, problem, work = of
    gather_moments(tree, problem, t, work)
    assemble_equations(tree, exact, work)
    if problem.q_prior.shape[0] > 0:
        add_prior_to_equations(tree, problem, work)


@part
def _move(of, t):
    """Fill trial = q (+) step; free joints translate and rotate separately, one-axis joints stay within their limits."""
    tree, problem, work = of
    q, step, result = work.q, work.step, work.trial
    for i in range(tree.parent.shape[0]):
        kind, a, b = tree.kind[i], tree.idx_q[i], tree.idx_v[i]
        if kind == SPHERICAL or kind == FREE:
            at = a + 3 if kind == FREE else a
            w, x, y, z = q[at], q[at + 1], q[at + 2], q[at + 3]
            if kind == FREE:
                shift = rotate(quaternion_to_matrix(w, x, y, z), (step[b + 3], step[b + 4], step[b + 5]))
                result[a], result[a + 1], result[a + 2] = q[a] + shift[0], q[a + 1] + shift[1], q[a + 2] + shift[2]
            turned = rotate_quaternion(w, x, y, z, (step[b], step[b + 1], step[b + 2]))
            result[at], result[at + 1], result[at + 2], result[at + 3] = turned
        elif tree.nv[i] == 1:
            result[a] = min(max(q[a] + step[b], problem.lower[b]), problem.upper[b])


@part
def _is_any_unseen(of, t):
    _, problem, work = of
    unseen = False
    for j in range(work.step.shape[0]):
        unseen = unseen or (not work.diagonal[j] > 0.0 and problem.lower[j] < problem.upper[j])
    return unseen


@part
def fill_weights(problem, t, work, marker_error):
    """Fill the weights of the visible markers; return the number of these markers and the sum of their weights."""
    row = min(t, problem.weights.shape[0] - 1)
    seen, total = 0, 0.0
    for m in range(problem.marker_link.shape[0]):
        w = problem.weights[row, m]
        there = problem.p_WM[t, m, 0] + problem.p_WM[t, m, 1] + problem.p_WM[t, m, 2]
        visible = w > 0.0 and there == there  # NaN is not equal to itself
        work.weight[m] = w if visible else 0.0
        seen += visible
        total += work.weight[m]
        marker_error[t, m] = math.nan
    return seen, total


@part
def fill_marker_errors(t, work, marker_error):
    """Fill the distances (m) of the visible markers from the model in frame t."""
    for m in range(work.weight.shape[0]):
        if work.weight[m] > 0.0:
            r = row3(work.residual, m)
            marker_error[t, m] = math.sqrt(dot(r, r))


@part
def _remove_full_turns(tree, problem, settled, work):
    """Remove whole turns from unlimited angles, so that they are within half a turn of the last determined frame.

    While markers are missing, an angle may change by a whole turn, which alters the angle but not the pose.
    """
    for i in range(tree.parent.shape[0]):
        if tree.kind[i] == REVOLUTE:
            a, j = tree.idx_q[i], tree.idx_v[i]
            if settled and problem.lower[j] == -math.inf and problem.upper[j] == math.inf:
                work.q[a] -= 2.0 * math.pi * round((work.q[a] - work.settled[a]) / (2.0 * math.pi))
            work.settled[a] = work.q[a]


@kernel
def inverse_kinematics(
    tree, problem, q_start, tolerance, max_iterations, min_markers, work, q, marker_error, cost, iterations, status
):
    """Fit every frame, starting from the previous frame unless `problem.q_near` specifies another start.

    Fills q (T, nq), marker_error (T, M) m, cost (T,), iterations (T,), status (T,); q, cost and errors are NaN if
    fewer than min_markers markers are visible. q_start (nq,) is the initial guess of the first frame with enough markers.
    """
    for a in range(q_start.shape[0]):
        work.q[a] = q_start[a]
    of = (tree, problem, work)
    floating = 0
    for j in range(work.base.shape[0]):
        floating += work.base[j]
    # numbers, because a constant True is a separate type, for which functions would be compiled again
    restart, settled = 1, 0
    for t in range(problem.p_WM.shape[0]):
        seen, _ = fill_weights(problem, t, work, marker_error)
        if seen < min_markers:
            for a in range(q.shape[1]):
                q[t, a] = math.nan
            cost[t], iterations[t], status[t] = math.nan, 0, UNSEEN
            restart = 1
            continue
        near = problem.q_near.shape[0] > 0 and problem.q_near[t, 0] == problem.q_near[t, 0]
        if near:
            for a in range(q.shape[1]):
                work.q[a] = problem.q_near[t, a]
            restart = 0
        for a in range(q.shape[1]):
            work.trial[a] = work.q[a]
        # the base converges before the joints may move
        cost[t], iterations[t], status[t] = minimise(
            _evaluate, _assemble, _solve_step, _move, _is_any_unseen, of, t, restart > 0 and floating > 0, near,
            restart > 0, tolerance, max_iterations, work.q, work.trial, work.step,
        )  # fmt: skip
        restart = 1 if status[t] == STOPPED else 0
        if status[t] == CONVERGED:
            _remove_full_turns(tree, problem, settled > 0, work)
            settled = 1
        for a in range(q.shape[1]):
            q[t, a] = work.q[a]
        fill_marker_errors(t, work, marker_error)
