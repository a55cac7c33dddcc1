"""Gauss-Newton estimation of a trajectory over all frames of a stretch at once, and the nearest trajectory in balance.

Torques may change at foot strikes by a course that all strikes of the trial have in common: it is an unknown of its own, with the
limits of a single strike, and each strike's torques are drawn towards it. That motion and forces disagree in the end by no more
than a small share of their error is a last step of its own, with all parameters fixed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.ndimage import distance_transform_edt

from biodyn.conventions import SIDES, FloatArray, IntArray
from biodyn.estimation.noise_model import OF_A_STRIKE, Kinds, Shares, fit_precision, kinds_of, strike_shares
from biodyn.estimation.parameters import with_changed_inertias
from biodyn.estimation.problem import DEGREE, Path, Problem, apply_update, smooth_step
from biodyn.estimation.shared_parameters import EstimatedParameters, InformationForm, estimate_parameters
from biodyn.estimation.solver import CholeskyFactor, NormalEquations
from biodyn.estimation.terms import (
    REACH,
    THIRD,
    TORQUE_SHOWN,
    Derivatives,
    Rows,
    TorqueRows,
    add_dynamics,
    add_kept,
    add_markers,
    add_smoothness,
    balance_rows,
    levers,
    marker_information,
    rows_of,
    shown_torques,
    smooth_thirds,
    smoothness,
    torque_derivatives,
)
from biodyn.model.body_model import SubjectModel
from biodyn.rigid_body import Multibody, inverse_dynamics


@dataclass(frozen=True)
class Posterior:
    """One standard deviation (T, nv) of the places along v, rad or m, and of the generalised forces, Nm or N."""

    place: FloatArray
    force: FloatArray


def posterior(problem: Problem, factor: CholeskyFactor, parts: tuple[FloatArray, FloatArray, FloatArray]) -> Posterior:
    """Return the standard deviations of motion and torques, given the inertias.

    Args:
        parts: derivatives (T, nv, nv) of the torques by place, rate and acceleration in the equations of `factor`.
    """
    knots, n, reach = problem.knots, factor.n, factor.reach
    place, force = np.zeros(parts[0].shape[:2]), np.zeros(parts[0].shape[:2])
    weights = np.zeros((knots.step, 3, reach))
    for order, of_order in enumerate(knots.weights):
        weights[:, order, : of_order.shape[1]] = of_order
    for k, near in factor.inverse_blocks():
        blocks = near.reshape(reach, n, reach, n)
        for t in range(k * knots.step, min((k + 1) * knots.step, knots.frames)):
            w = weights[t - k * knots.step]
            # covariance of (place, rate, acceleration) in frame t
            half = np.tensordot(w, blocks, (1, 0))
            covariance = np.tensordot(half, w, (2, 1)).transpose(0, 1, 3, 2).reshape(3 * n, 3 * n)
            by_motion = np.concatenate([part[t] for part in parts], axis=1)
            place[t] = np.diagonal(covariance)[:n]
            force[t] = np.sum((by_motion @ covariance) * by_motion, axis=1)
    return Posterior(np.sqrt(np.maximum(place, 0.0)), np.sqrt(np.maximum(force, 0.0)))


# -- Course of the torques that all foot strikes have in common

# -- What all foot strikes of a trial have in common: a course of the torques that need not be small.
#
# That torques change little is said of what one cannot foresee. A person's strikes are alike, and what all of them show is no
# chance: only what a single one differs from it by is held small. So the course that the strikes share is an unknown of its own,
# with the limits of one strike, and each strike's own torques are drawn towards it instead of towards none.

# Solutions with the factor: the torques of nineteen simulated people err as little (.5707 of 6 Hz) as with twenty (.5705).
_SOLUTIONS = 5
_LEAST_VARIANCE = 1e-4  # Nm^2


def impact_template(kinds: Kinds, since_s: FloatArray) -> Shares:
    """Return what all strikes have in common; since_s: (K, 2) of `since_strikes` at the knots.

    It is made of numbers a hundredth of a second apart, straight between them and 0 beside strikes. Both sides of the body share
    them, own strikes and those of the other side apart; what has no side has other ones for strikes of the right and of the left.
    """
    at, of, weight = strike_shares(kinds, since_s, kinds.number * 2 * OF_A_STRIKE, SIDES[0])
    used, places = np.unique(of, return_inverse=True)  # a number without weight has no equation
    return Shares(at, np.asarray(places, dtype=np.int64), weight, (len(since_s), len(kinds.side)), len(used))


def template_step(
    problem: Problem, mb: Multibody, path: Path, torques: Sequence[TorqueRows], factor: CholeskyFactor, step: FloatArray
) -> FloatArray:
    """Return by how much (count, nv) a step changes where torques are held to what all strikes have in common, instead of to 0.

    Parameters:
        path: where the equations of `factor` and of the step (count, nv) were made; it shows the torques' changes.
        torques: the rows in them that hold second differences of torques near 0.

    What is found beside the motion (inertias, plates) stays as the step has it.
    """
    common = TORQUE_SHOWN * np.sqrt(problem.sizes.strikes_alike_share)
    if not (torques and common and problem.strikes_known):
        return np.zeros_like(step)
    tau = inverse_dynamics(mb, path.q, path.v, path.vdot, problem.wrenches, problem.wrench_links)
    sd = common * shown_torques(problem, tau[:: problem.knots.step, problem.torque_rows])
    kinds = kinds_of(problem.model, problem.torque_rows)
    course = impact_template(kinds, problem.since_strike_s[:: problem.knots.step][1:-1])
    return step_towards_template(course, torques, sd, factor, step) if course.count else np.zeros_like(step)


def step_towards_template(
    course: Shares, torques: Sequence[TorqueRows], sd: FloatArray, factor: CholeskyFactor, step: FloatArray
) -> FloatArray:
    """Return the change (count, nv) of `template_step`; sd: (K, R) standard deviations of what strikes have in common, Nm.

    The numbers m of the course are unknowns beside the coefficients. With the rows D of the torques, divided by their standard
    deviations S, and the matrix A of all equations, elimination of the coefficients leaves

        (W^T S (1 - D A^-1 D^T) S W + 1 / sd^2) m = W^T S d,

    d what the step leaves of the torques' changes. Conjugate gradients (Hestenes & Stiefel 1952) solve it, each step by one
    solution with the factor.
    """
    near = np.unique(course.at // course.shape[1])
    scale, left = np.zeros(course.shape), np.zeros(course.shape)
    parts = []
    for part in torques:
        rows = part.rows[near]
        parts.append((part.rows_at, part.columns, rows.reshape(*rows.shape[:2], -1)))
        scale[:, part.rows_at] = part.scale
        left[np.ix_(near, part.rows_at)] = -part.rest[near]
    width = torques[0].rows.shape[2]
    reached = near[:, None] + np.arange(width)

    def changes(c: FloatArray) -> FloatArray:
        """Changes (K, R) of the torques, divided by their standard deviations, by coefficients c (count, nv)."""
        result = np.zeros(course.shape)
        for rows_at, columns, rows in parts:
            flat = c[:, columns][reached].reshape(len(near), -1)
            result[np.ix_(near, rows_at)] = (rows @ flat[:, :, None])[..., 0]
        return result

    def pulled(values: FloatArray) -> FloatArray:
        """The transposed of `changes`."""
        result = np.zeros(step.shape)
        for rows_at, columns, rows in parts:
            own = values[np.ix_(near, rows_at)]
            by_knot = (own[:, None] @ rows).reshape(len(near), width, -1)
            for s in range(width):
                result[(near + s)[:, None], columns] += by_knot[:, s]
        return result

    held = course.gathered(np.ones(course.shape)) / np.maximum(course.gathered(sd**2), _LEAST_VARIANCE)
    diagonal = course.squares(scale**2) + held
    rest = course.gathered(scale * (left + changes(step)))
    towards, found = rest / diagonal, np.zeros_like(step)
    size = float(rest @ towards)
    for _ in range(_SOLUTIONS):
        if size <= 0.0:
            break
        asked = scale * course.values(towards)
        answer = factor.solve(pulled(asked))
        image = course.gathered(scale * (asked - changes(answer))) + held * towards
        share = size / float(towards @ image)
        found += share * answer
        rest -= share * image
        new = rest / diagonal
        size, before = float(rest @ new), size
        towards = new + (size / before) * towards
    return found


# -- Gauss-Newton steps


@dataclass(frozen=True)
class Solution:
    """The estimate of a stretch.

    Attributes:
        coefficients: (count, nv) of the trajectory update, see `problem`; path: the motion itself.
        factor, derivatives: of the last equations, and the `torque_derivatives` in them. For `certainty` the factor is that of
            foot strikes that have nothing in common.
        stiff, held: precisions (nv,) of `terms.smoothness` and (T, nv) of `noise_model.fit_precision`.
        model: with the estimated inertias.
        problem: with the estimated error of the balance, and wrenches without the estimated errors of the plates.
        parameters: inertias and plate errors; None where the problem does not estimate them.
    """

    coefficients: FloatArray
    path: Path
    factor: CholeskyFactor
    derivatives: Derivatives
    stiff: FloatArray
    held: FloatArray
    model: SubjectModel
    problem: Problem
    parameters: EstimatedParameters | None


def solve(
    problem: Problem,
    iterations: int = 2,
    mean_information: FloatArray | None = None,
    certainty: bool = False,
    others: tuple[InformationForm, ...] = (),
) -> Solution:
    """Return the motion, the inertias and the errors of the plates that fit all measurements best.

    The first step estimates the error of the balance, the second one inertias and plates with it (they hardly respond to later
    ones), the last one also the course of the torques that all foot strikes have in common.

    Args:
        mean_information: (nv, nv) of the markers in a frame, for a window of a longer stretch; None = the mean of these frames.
        certainty: whether the covariance is needed. The last equations hold a single strike to the common course as if that were
            known. It is estimated, with an error that is equal in all strikes, so the covariance is that of equations without it.
        others: information of other walks of the session on the parameters.
    """
    model, first, last = problem.model, 0, iterations - 1
    mb, count = model.multibody, problem.knots.count
    information = marker_information(problem, problem.start.q)
    mean = information[0].mean(axis=0) if mean_information is None else mean_information
    stiff = smoothness(problem, mean)
    held = fit_precision(model, problem.start.q, levers(problem, information[0]), problem.sizes)
    c, path, parameters = np.zeros((count, mb.nv)), problem.start, None

    def equations(strikes_alike: bool = True) -> tuple[NormalEquations, list[Rows], list[TorqueRows]]:
        """All terms at the present motion; the rows of balance and torques."""
        sizes = problem.sizes if strikes_alike else replace(problem.sizes, strikes_alike_share=0.0)
        normal, shown = NormalEquations(count, REACH, mb.nv), number > first
        add_markers(normal, problem, *information)
        add_smoothness(normal, problem, c, stiff, shown=shown)
        add_kept(normal, problem, c, held)
        dynamics = add_dynamics(normal, replace(problem, sizes=sizes), body, path, derivatives, shown=shown)
        return normal, *dynamics

    for number in range(iterations):
        if number > first:
            information = marker_information(problem, path.q)
        body = model.multibody
        derivatives = torque_derivatives(problem, body, path)
        normal, balance, torques = equations()
        factor = CholeskyFactor(normal)

        # -- error of the balance, then inertias and plates
        if problem.tells_constants and number <= min(1, last):
            parameters = estimate_parameters(problem, factor, balance, path, normal.right, parameters, others)
            step = parameters.step
            if number == first:
                problem = replace(problem, sizes=replace(problem.sizes, balance=parameters.balance))
            if number == min(1, last):
                model = with_changed_inertias(problem.model, problem.inertias, parameters.inertias)
                problem = replace(problem, wrenches=problem.plates.put_right(problem.wrenches, parameters.plates))
        else:
            step = factor.solve(normal.right)

        # -- common course of foot strikes
        if first < number == last:
            step = step + template_step(problem, model.multibody, path, torques, factor, step)
            if certainty and problem.strikes_known and problem.sizes.strikes_alike_share:
                factor = CholeskyFactor(equations(strikes_alike=False)[0])

        c = c + step
        path = apply_update(mb, problem.start, problem.knots, c)
    return Solution(c, path, factor, derivatives, stiff, held, model, problem, parameters)


# -- Elimination of the residual
#
# A difference of motion and forces is taken for an error of the body model: that keeps wrong inertias and plates out of the
# torques. A motion in balance is needed all the same, for simulations, and where residuals are compared. It takes some tenths of
# a millimetre, which the markers do not show. All parameters stay as estimated, the joint torques nearly so, and the residual
# goes into accelerations of the trunk on its legs.

# Torques of legs and trunk stay within about this, Nm/kg: well below what noise and skin leave them uncertain by.
_HELD_NM_KG = 0.01
# The step changes its accelerations so many times less than the motion may: else they jump where the balance begins to count.
_STEADY = 20.0
_ROOT = 6
# Error of the balance that may remain, times the error that was found.
_CLOSED_SHARE = 0.075
# What the body gives way by fades out within this: else torques of real walks jump by up to 0.11 Nm/kg from one frame to the next
# where a plate begins to tell, as without the last step by 0.04.
_FADE_S = 0.1
# What would take the markers farther than this share of their standard deviation (RMS) is not hidden in their errors: a force
# that no plate measured, or a person who stands on plates that do not agree with his weight. Then a part of the step is taken.
_FARTHEST_SD = 0.5


@dataclass(frozen=True)
class ResidualElimination:
    """What the last step did.

    Attributes:
        deviation: (T, nv) from the start of the problem after it, see `deviation`. share: of the step that was taken, 0 to 1.
        unbalanced: (T, 6) [moment; force] Nm and N that was left over before it; NaN where not all contacts are known.
    """

    deviation: FloatArray
    share: float
    unbalanced: FloatArray


def eliminate_residual(problem: Problem, solution: Solution) -> ResidualElimination:
    """Return the motion in balance to within `_CLOSED_SHARE` times the error of the balance that was found.

    problem: of which the solution is. As much of the step is taken as the markers' errors hide in these frames.

    Gauss-Newton's step from the solution, with everything that the estimate was made of, but that the balance counts for more, in
    every frame of `problem.to_close`, and that torques of legs and trunk, arms and head stay as they are.
    """
    mb, coefficients = solution.model.multibody, solution.coefficients
    tight = replace(
        solution.problem,
        sizes=replace(solution.problem.sizes, balance=_CLOSED_SHARE * solution.problem.sizes.balance),
        torque_change_nm=np.full_like(problem.torque_change_nm, np.inf),  # they are held, however fast they change
    )
    free = _moving(tight)
    information, right = marker_information(tight, solution.path.q)
    information = np.ascontiguousarray(information[:, free[:, None], free])
    # no term reaches beyond the coefficients of one frame; at a knot the last of them is none
    reach = DEGREE if problem.knots.step > 1 else DEGREE - 1
    normal = NormalEquations(problem.knots.count, reach, len(free))
    add_markers(normal, tight, information, right[:, free])
    weights, third = smooth_thirds(tight, coefficients, solution.stiff, shown=True)
    normal.add_diagonal(0, THIRD, weights[:, free], -(weights * third)[:, free])
    steady = _STEADY * np.broadcast_to(solution.stiff[free] / problem.knots.step**DEGREE, (len(third), len(free)))
    normal.add_diagonal(0, THIRD, steady, np.zeros_like(steady))
    add_kept(normal, tight, coefficients[:, free], solution.held[:, free])
    path = solution.path
    left = inverse_dynamics(mb, path.q, path.v, path.vdot, tight.wrenches, tight.wrench_links)[:, :_ROOT]
    if tight.to_close.any():
        _close(normal, tight, left, solution.derivatives, free)
    _hold_torques(normal, tight, solution.derivatives, free)
    step = np.zeros_like(coefficients)
    step[:, free] = CholeskyFactor(normal).solve(normal.right)
    moved_by = problem.knots.values(step)[0]
    # What the markers' equations say of the movement: its square in their standard deviations, three numbers a marker.
    squares = np.einsum("ti,tij,tj->t", moved_by[:, free], information, moved_by[:, free])
    seen = max(3 * int(np.count_nonzero(problem.weights)), 1)
    share = min(1.0, _FARTHEST_SD / max(float(np.sqrt(squares.sum() / seen)), 1e-12))
    unbalanced = np.where(problem.balanced[:, None], left, np.nan)
    return ResidualElimination(problem.knots.values(coefficients)[0] + share * moved_by, share, unbalanced)


def _close(normal: NormalEquations, problem: Problem, left: FloatArray, parts: Derivatives, free: IntArray) -> None:
    """The whole body gives way to what is left over, `left` (T, 6) [moment; force]; NaN never.

    Beyond the frames of `problem.to_close` what it gives way by fades out within `_FADE_S`: ended from one frame to the next it
    would be an impact. Nothing is asked of the balance itself there, since a load may be unknown: the force on the root changes
    as in the nearest frame of `to_close`, times a factor from 1 to 0, and this counts for less and less.
    """
    apart, (nearest,) = distance_transform_edt(~problem.to_close, return_indices=True)
    share = smooth_step(1.0 - apart / (_FADE_S * problem.knots.rate_hz))
    # the weight ends with it: a factor that is held to 0 as firmly as to 1 is a corner of its own
    scale = share[:, None] ** 2 / problem.sizes.balance
    rest = -share[:, None] * left[nearest] * scale
    for offset in range(problem.knots.step):
        rows = balance_rows(problem, parts, rest, scale, offset, free)
        normal.add_rows(0, rows.rows, rows.rest)


def _moving(problem: Problem) -> IntArray:
    """Places in v, ascending, of what the step may change: the root, legs and trunk.

    Arms and head stay against the trunk, and what no marker shows stays: light segments would swing far for a few newtons.
    """
    assumed = [coordinate.v_index for coordinate in problem.model.assumed]
    return np.union1d(np.arange(_ROOT), np.setdiff1d(problem.torque_rows, assumed))


def _hold_torques(normal: NormalEquations, problem: Problem, parts: Derivatives, free: IntArray) -> None:
    """The joint torques of legs and trunk stay, in every frame in which they are known.

    free: (F,) places in v of the unknowns.
    """
    sd, step = _HELD_NM_KG * problem.model.mass_kg, problem.knots.step
    for rows_at, columns in problem.torque_groups:
        places, own = problem.torque_rows[rows_at], np.flatnonzero(np.isin(free, columns))
        for offset in range(step):
            held = problem.torque_known[offset::step, rows_at] / sd
            rows = rows_of(problem.knots, parts, places, free[own], held, offset)
            normal.add_rows(0, rows, np.zeros(held.shape), own)
