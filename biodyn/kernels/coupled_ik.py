"""Inverse kinematics in coordinates that move a tree by functions, z = f(q): Newton's method as in ik.py, lifted to q.

The cost of a frame is E(q) = sum_m w_m |p_WM - x_m(z)|^2 + W sum_j c_j (q_j - target_j)^2, W the sum of w over the markers
seen. Gradient and curvature by z are those of ik_terms.py; laws.py lifts them to q, where limits are kept by an active set.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from biodyn.conventions import BoolArray, FloatArray
from biodyn.kernels.bundle import bundle
from biodyn.kernels.ik_terms import assemble, evaluate, gather_moments
from biodyn.kernels.jit import kernel, merged, part
from biodyn.kernels.laws import follow, lift, slopes
from biodyn.kernels.vec3 import dot, row3

CONVERGED: Final = 0
STOPPED: Final = 1  # at the largest number of iterations
UNSEEN: Final = 2  # not enough markers
UNDETERMINED: Final = 3  # converged, but the markers leave some coordinate free

_DETERMINED = 1e-5  # as in ik.py: below this share of its own weight a coordinate's pivot is noise
_RIDGE = 1e-10
_FAR = 0.03
_HOLD = 1e-3
_LEAP = 1.0
_COARSE = 1e-3
_COARSE_ITERATIONS = 30
_CURVATURE = 10.0
_ASTRAY = 0.01  # m^2: markers 0.1 m from the model on average may be a pose that leads nowhere
_WAIT = 50  # frames before such a pose is doubted again
_BETTER = 0.999  # another start must lower the cost by more than rounding


@bundle
class Goal(NamedTuple):
    """What q is drawn to and held by; rows: 1 or T."""

    lower: FloatArray  # (rows, n) rad or m; lower = upper: given
    upper: FloatArray  # (rows, n)
    pulls: FloatArray  # (n,) c
    targets: FloatArray  # (rows, n)
    starts: FloatArray  # (K, n) where the first frame is tried from
    base: BoolArray  # (n,) coordinates that place the whole body


@bundle
class Room(NamedTuple):
    """Numbers in use for one frame."""

    q: FloatArray  # (n,) where the fit stands
    trial: FloatArray  # (n,)
    best: FloatArray  # (n,)
    hessian: FloatArray  # (n, n) lower half
    factors: FloatArray  # (n, n) lower half
    drive: FloatArray  # (n,) minus half the gradient
    right: FloatArray  # (n,)
    step: FloatArray  # (n,)
    pinned: BoolArray  # (n,)


@part
def _draw(goal, row, total, room):
    """Add the pulls to the targets; return nothing."""
    for j in range(room.drive.shape[0]):
        c = goal.pulls[j] * total
        if c > 0.0:
            room.drive[j] += c * (goal.targets[row, j] - room.q[j])
            room.hessian[j, j] += c


@part
def _distance(goal, row, total, q):
    """Return what the pulls cost."""
    cost = 0.0
    for j in range(q.shape[0]):
        c = goal.pulls[j]
        if c > 0.0:
            away = goal.targets[row, j] - q[j]
            cost += c * total * away * away
    return cost


@part
def _solve(goal, limits, damping, coarse, room):
    """Fill step: the minimum of the damped quadratic model inside the limits; return the smallest relative pivot."""
    n = room.step.shape[0]
    q, pinned, step, H, L = room.q, room.pinned, room.step, room.hessian, room.factors
    for j in range(n):
        low, high = goal.lower[limits, j], goal.upper[limits, j]
        still = not H[j, j] > 0.0 or low >= high or (coarse and not goal.base[j])
        pinned[j] = still or (q[j] <= low and room.drive[j] < 0.0) or (q[j] >= high and room.drive[j] > 0.0)
        step[j] = 0.0
    least = math.inf
    for _ in range(n + 1):
        least = math.inf
        for i in range(n):  # rows of the Cholesky factor, pinned coordinates left out
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
                value = room.drive[i]
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


@merged
def _fit(tree, problem, laws, goal, t, total, restart, tolerance, max_iterations, work, passed, room):
    """Minimise the cost of frame t from room.q on; return (cost, iterations, status)."""
    q, trial, n = room.q, room.trial, room.step.shape[0]
    limits, row = min(t, goal.lower.shape[0] - 1), min(t, goal.targets.shape[0] - 1)
    coarse = restart
    for j in range(n):
        trial[j] = min(max(q[j], goal.lower[limits, j]), goal.upper[limits, j])
    damping = 1e-2 if restart else 0.0
    exact, stuck, done, damped = False, False, False, False
    cost, size, last, least, iterations = math.inf, math.inf, 0.0, 0.0, 0
    while True:
        follow(laws, trial, work.step.shape[0], passed, work.trial)
        trial_cost = evaluate(tree, problem, work.trial, t, work) + _distance(goal, row, total, trial)
        if trial_cost <= cost or size < tolerance:
            for j in range(n):
                q[j] = trial[j]
            cost = trial_cost
            ahead = exact and last > 0.0 and damping == 0.0
            if ahead:
                ahead = max(_CURVATURE, size / (last * last)) * size * size < 0.1 * tolerance
            done = done or (not coarse and (size < tolerance or ahead))
            if done or stuck or iterations >= max_iterations:
                break
            if coarse and (size < _COARSE or iterations >= _COARSE_ITERATIONS):
                coarse = False
            exact = size < _FAR and not coarse
            if size < math.inf:
                damping = 0.0 if damping < 1e-4 else 0.1 * damping
            last = size if size < math.inf else 0.0
            gather_moments(tree, problem, t, work)
            assemble(tree, exact, work)
            slopes(laws, passed)
            lift(tree, laws, passed, work.hessian, work.drive, exact, room.hessian, room.drive)
            _draw(goal, row, total, room)
        else:
            damping = max(10.0 * damping, 1e-3)
            if damping > 1e8 or iterations >= max_iterations:  # no descent left in any direction: rounding rules
                done = size < 1e-6
                stuck = True
                for j in range(n):
                    trial[j] = q[j]
                continue
        iterations += 1
        least = _solve(goal, limits, damping + _RIDGE, coarse, room)
        if 0.0 < least < _DETERMINED and damping < _HOLD:
            damping = _HOLD
            least = _solve(goal, limits, damping, coarse, room)
        damped = damping > 0.0
        if least > 0.0:
            size = 0.0
            for j in range(n):
                size = max(size, abs(room.step[j]))
            shorter = _LEAP / size if size > _LEAP else 1.0
            size = min(size, _LEAP)
            for j in range(n):
                low, high = goal.lower[limits, j], goal.upper[limits, j]
                trial[j] = min(max(q[j] + shorter * room.step[j], low), high)
        else:  # not convex here: again without the curvature, which makes it so, then damped
            if not exact:
                damping = max(10.0 * damping, 1e-6)
            size = math.inf
            for j in range(n):
                trial[j] = q[j]
    status = CONVERGED if done else STOPPED
    if done:
        if damped:  # which hides what the markers leave open
            least = _solve(goal, limits, _RIDGE, False, room)
        for j in range(n):
            unseen = not room.hessian[j, j] > 0.0 and goal.lower[limits, j] < goal.upper[limits, j]
            if unseen or least < _DETERMINED:
                status = UNDETERMINED
    return cost, iterations, status


@part
def _seen(problem, t, work, marker_error):
    """Fill the weights of the markers seen; return how many there are and their sum."""
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


@kernel
def coupled_inverse_kinematics(
    tree, problem, laws, goal, tolerance, max_iterations, min_markers, work, passed, room, q, marker_error, cost, iterations,
    status,
):  # fmt: skip
    """Fit every frame, each from the one before; the first, and those behind a failure, from every row of goal.starts.

    All starts are tried again where markers lie far from the model, and where more are seen than in an undetermined frame before.
    Fills q (T, n), marker_error (T, M) m, cost (T,), iterations (T,), status (T,); NaN in q, cost and errors where fewer than
    min_markers markers are seen. room.q is where the last frame left it.
    """
    n = room.q.shape[0]
    tries = goal.starts.shape[0]
    restart, wait, before, seen_before = tries > 0, 0, CONVERGED, 0
    for t in range(problem.p_WM.shape[0]):
        seen, total = _seen(problem, t, work, marker_error)
        if seen < min_markers:
            for j in range(n):
                q[t, j] = math.nan
            cost[t], iterations[t], status[t] = math.nan, 0, UNSEEN
            restart = tries > 0
            continue
        best, turns, k = math.inf, 0, 1 if restart else 0
        wait = max(wait - 1, 0)
        while True:  # 0: from the frame before, then from every start, then on from the best of them
            if 0 < k <= tries:
                for j in range(n):
                    room.q[j] = goal.starts[k - 1, j]
            elif k > tries:
                for j in range(n):
                    room.q[j] = room.best[j]
            one, steps, state = _fit(
                tree, problem, laws, goal, t, total, 0 < k <= tries, tolerance, max_iterations, work, passed, room
            )
            turns += steps
            cost[t], status[t] = one, state
            if k > tries:
                break
            if not one > _BETTER * best:
                best = one
                for j in range(n):
                    room.best[j] = room.q[j]
            if k == 0:
                astray = one > _ASTRAY * total and wait == 0
                if tries == 0 or not (astray or (before == UNDETERMINED and seen > seen_before)):
                    break
                wait = _WAIT
            k += 1
        before, seen_before = status[t], seen
        iterations[t] = turns
        restart = status[t] == STOPPED and tries > 0
        for j in range(n):
            q[t, j] = room.q[j]
        for m in range(problem.marker_link.shape[0]):
            if work.weight[m] > 0.0:
                r = row3(work.residual, m)
                marker_error[t, m] = math.sqrt(dot(r, r))
