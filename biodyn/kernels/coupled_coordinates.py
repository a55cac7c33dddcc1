"""Coordinates q that drive the joint coordinates z of a tree by functions, z = f(q): evaluation and inverse kinematics.

The functions are a list of values, each computed from earlier ones; the coordinates q are first, z are last. G = df/dq is
sparse: the gradient of each value is stored only for the coordinates q on which it depends.

Inverse kinematics is Newton's method as in `inverse_kinematics`, with derivatives by q. The cost of a frame is
E(q) = sum_m w_m |p_WM - x_m(z)|^2 + W sum_j c_j (q_j - target_j)^2, where W is the sum of w over the visible markers.
Limits of q are enforced by an active set.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from biodyn.conventions import BoolArray, FloatArray, IntArray
from biodyn.kernels.array_bundles import register_bundle
from biodyn.kernels.inverse_kinematics import (
    CONVERGED,
    STOPPED,
    UNDETERMINED,
    UNSEEN,
    assemble_equations,
    evaluate_cost,
    fill_marker_errors,
    fill_weights,
    gather_moments,
    minimise,
)
from biodyn.kernels.jit import kernel, part

GIVEN: Final = 0  # a coordinate q
SAME: Final = 1  # another value
LINEAR: Final = 2  # numbers: offset, slope of each source
PIECES: Final = 3  # numbers: knots K, degree, K knots, coefficients of each piece from the highest down
POLYNOMIAL: Final = 4  # numbers: degree, coefficients from the highest down


@register_bundle
class CouplingFunctions(NamedTuple):
    """Functions z = f(q) as N values, of which the first n are q and the last nz are z."""

    kind: IntArray  # (N,)
    first: IntArray  # (N + 1,) sources of value i: first[i] .. first[i + 1] of `source`
    source: IntArray  # (S,) indices of values
    at: IntArray  # (N,) index of the first number of each function in `numbers`
    numbers: FloatArray  # (P,)
    entry: IntArray  # (N + 1,) gradient of value i: entry[i] .. entry[i + 1] of `column`
    column: IntArray  # (E,) index in q, increasing within a value
    target: IntArray  # by value, source and gradient entry of that source: gradient entry of the value to which it contributes


@register_bundle
class EvaluatedFunctions(NamedTuple):
    """Values and derivatives of one evaluation of the functions."""

    x: FloatArray  # (N,)
    slope: FloatArray  # (S,) derivative of a value by its source
    curve: FloatArray  # (S,) second derivative by the same source
    gradient: FloatArray  # (E,)
    adjoint: FloatArray  # (N,) generalised force of each value, by reverse differentiation


@part
def evaluate_functions(laws, q, nz, evaluated, z):
    """Evaluate the functions at q: fill the first nz numbers of z, and `evaluated` with every value and its derivatives."""
    x, slope, curve, numbers = evaluated.x, evaluated.slope, evaluated.curve, laws.numbers
    count = x.shape[0]
    for i in range(count):
        kind, a, n = laws.kind[i], laws.first[i], laws.at[i]
        if kind == GIVEN:
            x[i] = q[i]
            continue
        if kind == SAME:
            x[i], slope[a], curve[a] = x[laws.source[a]], 1.0, 0.0
            continue
        if kind == LINEAR:
            value = numbers[n]
            for s in range(a, laws.first[i + 1]):
                value += numbers[n + 1 + s - a] * x[laws.source[s]]
                slope[s], curve[s] = numbers[n + 1 + s - a], 0.0
            x[i] = value
            continue
        u, away = x[laws.source[a]], 0.0
        if kind == POLYNOMIAL:
            degree, begin = int(numbers[n]), n + 1
        else:
            knots, degree, low = int(numbers[n]), int(numbers[n + 1]), n + 2
            last = low + knots - 1
            inside = min(max(u, numbers[low]), numbers[last])
            away = u - inside
            first_knot, next_knot = low, last
            while next_knot - first_knot > 1:
                middle = (first_knot + next_knot) // 2
                if numbers[middle] <= inside:
                    first_knot = middle
                else:
                    next_knot = middle
            begin = last + 1 + (first_knot - low) * (degree + 1)
            u = inside - numbers[first_knot]
        f, df, ddf = 0.0, 0.0, 0.0
        for k in range(degree + 1):
            ddf = ddf * u + 2.0 * df
            df = df * u + f
            f = f * u + numbers[begin + k]
        x[i], slope[a] = f + away * df, df
        curve[a] = ddf if away == 0.0 else 0.0  # linear extrapolation beyond the knots
    for j in range(nz):
        z[j] = x[count - nz + j]


@part
def fill_gradients(laws, evaluated):
    """Fill the gradient of every value with respect to q."""
    gradient, at = evaluated.gradient, 0
    for e in range(gradient.shape[0]):
        gradient[e] = 0.0
    for i in range(evaluated.x.shape[0]):
        if laws.kind[i] == GIVEN:
            gradient[laws.entry[i]] = 1.0
        for s in range(laws.first[i], laws.first[i + 1]):
            source = laws.source[s]
            for e in range(laws.entry[source], laws.entry[source + 1]):
                gradient[laws.target[at]] += evaluated.slope[s] * gradient[e]
                at += 1


@part
def transform_to_coordinates(tree, laws, evaluated, hessian_z, force_z, exact, hessian, force):
    """Transform Hessian and generalised force from z to q: hessian = G^T H_z G - sum force_z d2z, force = G^T force_z.

    Only the lower half of `hessian` (n, n) is filled; force (n,). hessian_z: rows by depth (`linear_algebra`). `exact`
    adds the curvature of the functions.
    """
    n, nz, count = force.shape[0], force_z.shape[0], evaluated.x.shape[0]
    below = count - nz
    stride = hessian_z.shape[0] // nz
    column, entry, gradient, adjoint = laws.column, laws.entry, evaluated.gradient, evaluated.adjoint
    for i in range(n):
        for k in range(i + 1):
            hessian[i, k] = 0.0
    for i in range(count):
        adjoint[i] = 0.0
    for j in range(nz):
        adjoint[below + j] = force_z[j]
        for e in range(entry[below + j], entry[below + j + 1]):
            g, c = gradient[e], column[e]
            for f in range(entry[below + j], e + 1):
                hessian[c, column[f]] += hessian_z[j * stride + tree.dof_depth[j]] * g * gradient[f]
            for d in range(tree.dof_depth[j]):
                b = below + tree.dof_path[j, d]
                h = hessian_z[j * stride + d] * g
                for f in range(entry[b], entry[b + 1]):
                    k = column[f]
                    if c > k:
                        hessian[c, k] += h * gradient[f]
                    elif k > c:
                        hessian[k, c] += h * gradient[f]
                    else:
                        hessian[c, c] += 2.0 * h * gradient[f]
    for i in range(count - 1, n - 1, -1):
        for s in range(laws.first[i], laws.first[i + 1]):
            source = laws.source[s]
            adjoint[source] += evaluated.slope[s] * adjoint[i]
            bend = adjoint[i] * evaluated.curve[s]
            if exact and bend != 0.0:
                for e in range(entry[source], entry[source + 1]):
                    for f in range(entry[source], e + 1):
                        hessian[column[e], column[f]] -= bend * gradient[e] * gradient[f]
    for i in range(n):
        force[i] = adjoint[i]


_POOR_FIT_M2 = 0.01  # m^2: markers 0.1 m from the model on average may indicate a local minimum
_RETRY_FRAMES = 50  # number of frames after which the other starts are tried again
_LOWER_COST = 0.999  # the cost from another start must be lower by more than rounding errors


@register_bundle
class FitTargets(NamedTuple):
    """Limits and targets of the coordinates q; rows: 1 or T."""

    lower: FloatArray  # (rows, n) rad or m; a coordinate with lower = upper is given
    upper: FloatArray  # (rows, n)
    target_weights: FloatArray  # (n,) weights c of the targets
    targets: FloatArray  # (rows, n)
    starts: FloatArray  # (K, n) initial configurations of the first frame
    base: BoolArray  # (n,) coordinates that place the whole body


@register_bundle
class FrameMemory(NamedTuple):
    """Working memory of one frame."""

    q: FloatArray  # (n,) current fit
    trial: FloatArray  # (n,)
    best: FloatArray  # (n,)
    hessian: FloatArray  # (n, n) lower half
    factors: FloatArray  # (n, n) lower half
    force: FloatArray  # (n,) generalised force: minus half the gradient of the cost
    right: FloatArray  # (n,)
    step: FloatArray  # (n,)
    pinned: BoolArray  # (n,)


@part
def _add_target_terms(goal, row, total, room):
    """Add the terms of the targets to Hessian and generalised force."""
    for j in range(room.force.shape[0]):
        c = goal.target_weights[j] * total
        if c > 0.0:
            room.force[j] += c * (goal.targets[row, j] - room.q[j])
            room.hessian[j, j] += c


@part
def _target_cost(goal, row, total, q):
    """Return the cost of the differences between q and the targets."""
    cost = 0.0
    for j in range(q.shape[0]):
        c = goal.target_weights[j]
        if c > 0.0:
            away = goal.targets[row, j] - q[j]
            cost += c * total * away * away
    return cost


@part
def _solve_step(of, t, damping, coarse):
    """Fill step with the minimum of the damped quadratic model within the limits; return the smallest relative pivot."""
    goal, room, _ = of
    n, limits = room.step.shape[0], min(t, goal.lower.shape[0] - 1)
    q, pinned, step, H, L = room.q, room.pinned, room.step, room.hessian, room.factors
    for j in range(n):
        low, high = goal.lower[limits, j], goal.upper[limits, j]
        still = not H[j, j] > 0.0 or low >= high or (coarse and not goal.base[j])
        pinned[j] = still or (q[j] <= low and room.force[j] < 0.0) or (q[j] >= high and room.force[j] > 0.0)
        step[j] = 0.0
    least = math.inf
    for _ in range(n + 1):
        least = math.inf
        for i in range(n):  # rows of the Cholesky factor without the pinned coordinates
            if pinned[i]:
                continue
            for k in range(i):
                if not pinned[k]:
                    value = H[i, k]
                    for m in range(k):
                        if not pinned[m]:
                            value -= L[i, m] * L[k, m]
                    L[i, k] = value / L[k, k]
            whole = H[i, i] * (1.0 + damping)
            pivot = whole
            for m in range(i):
                if not pinned[m]:
                    pivot -= L[i, m] * L[i, m]
            least = min(least, pivot / whole)
            if not pivot > 0.0:
                return pivot
            L[i, i] = math.sqrt(pivot)
        for i in range(n):
            if not pinned[i]:
                value = room.force[i]
                for k in range(n):
                    if pinned[k]:
                        value -= (H[i, k] if k < i else H[k, i]) * step[k]
                for k in range(i):
                    if not pinned[k]:
                        value -= L[i, k] * room.right[k]
                room.right[i] = value / L[i, i]
        for i in range(n - 1, -1, -1):
            if not pinned[i]:
                value = room.right[i]
                for k in range(i + 1, n):
                    if not pinned[k]:
                        value -= L[k, i] * step[k]
                step[i] = value / L[i, i]
        inside = True
        for j in range(n):
            low, high = goal.lower[limits, j], goal.upper[limits, j]
            if not pinned[j] and not low <= q[j] + step[j] <= high:
                step[j] = (low if q[j] + step[j] < low else high) - q[j]
                pinned[j] = True
                inside = False
        if inside:
            break
    return least


@part
def _evaluate(of, t):
    goal, room, (tree, problem, laws, total, work, evaluated) = of
    row = min(t, goal.targets.shape[0] - 1)
    evaluate_functions(laws, room.trial, work.step.shape[0], evaluated, work.trial)
    return evaluate_cost(tree, problem, work.trial, t, work) + _target_cost(goal, row, total, room.trial)


@part
def _assemble(of, t, exact):
    goal, room, (tree, problem, laws, total, work, evaluated) = of
    gather_moments(tree, problem, t, work)
    assemble_equations(tree, exact, work)
    fill_gradients(laws, evaluated)
    transform_to_coordinates(tree, laws, evaluated, work.hessian, work.force, exact, room.hessian, room.force)
    _add_target_terms(goal, min(t, goal.targets.shape[0] - 1), total, room)


@part
def _move(of, t):
    """Fill trial = q + step within the limits."""
    goal, room, _ = of
    limits = min(t, goal.lower.shape[0] - 1)
    for j in range(room.q.shape[0]):
        room.trial[j] = min(max(room.q[j] + room.step[j], goal.lower[limits, j]), goal.upper[limits, j])


@part
def _is_any_unseen(of, t):
    goal, room, _ = of
    limits = min(t, goal.lower.shape[0] - 1)
    unseen = False
    for j in range(room.q.shape[0]):
        unseen = unseen or (not room.hessian[j, j] > 0.0 and goal.lower[limits, j] < goal.upper[limits, j])
    return unseen


@kernel
def coupled_inverse_kinematics(
    tree, problem, laws, goal, tolerance, max_iterations, min_markers, work, evaluated, room, q, marker_error, cost, iterations,
    status,
):  # fmt: skip
    """Fit every frame, starting from the previous one; the first frame, and frames after a failure, from each of goal.starts.

    All starts are tried again if markers are far from the model, or if more markers are visible than in a preceding undetermined
    frame. Fills q (T, n), marker_error (T, M) m, cost (T,), iterations (T,), status (T,); q, cost and errors are NaN if fewer
    than min_markers markers are visible. Afterwards room.q is the configuration of the last fitted frame.
    """
    n = room.q.shape[0]
    tries = goal.starts.shape[0]
    restart, wait, before, seen_before = tries > 0, 0, CONVERGED, 0
    for t in range(problem.p_WM.shape[0]):
        seen, total = fill_weights(problem, t, work, marker_error)
        if seen < min_markers:
            for j in range(n):
                q[t, j] = math.nan
            cost[t], iterations[t], status[t] = math.nan, 0, UNSEEN
            restart = tries > 0
            continue
        best, turns, k = math.inf, 0, 1 if restart else 0
        limits = min(t, goal.lower.shape[0] - 1)
        wait = max(wait - 1, 0)
        while True:  # 0: from the previous frame, then from every start, then from the best of them
            if 0 < k <= tries:
                for j in range(n):
                    room.q[j] = goal.starts[k - 1, j]
            elif k > tries:
                for j in range(n):
                    room.q[j] = room.best[j]
            for j in range(n):
                low, high = goal.lower[limits, j], goal.upper[limits, j]
                room.trial[j] = min(max(room.q[j], low), high)
            at_start = 0 < k <= tries
            of = (goal, room, (tree, problem, laws, total, work, evaluated))
            frame_cost, steps, state = minimise(
                _evaluate, _assemble, _solve_step, _move, _is_any_unseen, of, t, at_start, False, at_start, tolerance,
                max_iterations, room.q, room.trial, room.step,
            )  # fmt: skip
            turns += steps
            cost[t], status[t] = frame_cost, state
            if k > tries:
                break
            if not frame_cost > _LOWER_COST * best:
                best = frame_cost
                for j in range(n):
                    room.best[j] = room.q[j]
            if k == 0:
                poor_fit = frame_cost > _POOR_FIT_M2 * total and wait == 0
                if tries == 0 or not (poor_fit or (before == UNDETERMINED and seen > seen_before)):
                    break
                wait = _RETRY_FRAMES
            k += 1
        before, seen_before = status[t], seen
        iterations[t] = turns
        restart = status[t] == STOPPED and tries > 0
        for j in range(n):
            q[t, j] = room.q[j]
        fill_marker_errors(t, work, marker_error)
