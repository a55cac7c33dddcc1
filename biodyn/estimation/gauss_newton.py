"""Gauss-Newton estimation of a trajectory over all frames of a stretch, its covariance, and the elimination of the residual.

Torques may change at foot strikes by a template that is common to all strikes of the trial. The template is a separate unknown
with the limits of a single strike, and the torques of each strike have it as their prior mean. A last step with fixed
parameters makes motion and forces agree within a small fraction of their error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy

from biodyn.conventions import SIDES, FloatArray, IntArray
from biodyn.estimation.estimation_problem import DEGREE, EstimationProblem, StretchMotion, apply_update, smooth_step
from biodyn.estimation.noise_model import (
    OF_A_STRIKE,
    CoordinateKinds,
    StrikeMap,
    coordinate_kinds,
    fit_precision,
    strike_map_entries,
)
from biodyn.estimation.normal_equation_terms import (
    REACH,
    ROOT,
    THIRD,
    TORQUE_CHANGE_FACTOR,
    BalanceRows,
    Derivatives,
    TorqueRows,
    add_balance_terms,
    add_fit_prior,
    add_marker_terms,
    add_smoothness,
    add_torque_terms,
    balance_rows,
    coefficient_rows,
    marker_displacement_per_coordinate,
    marker_information,
    smoothness_precision,
    third_difference_precisions,
    torque_change_rms,
    torque_derivatives,
)
from biodyn.estimation.shared_parameters import EstimatedParameters, InformationForm, estimate_parameters
from biodyn.estimation.solver import CholeskyFactor, NormalEquations
from biodyn.estimation.unknown_parameters import change_inertias
from biodyn.model.body_model import SubjectModel
from biodyn.rigid_body import Multibody, inverse_dynamics

# -- Template of the torques at foot strikes
#
# The prior of small torque changes applies to what cannot be predicted. Because strikes of a person are similar, only
# the difference of a single strike from the template is regularised; the template has the limits of one strike.

# Number of conjugate-gradient steps: the torques of nineteen simulated people have the same error (.5707 of that of a
# 6 Hz filter) as with twenty steps (.5705).
_SOLUTIONS = 5


def impact_template(kinds: CoordinateKinds, since_s: FloatArray) -> StrikeMap:
    """Return the map from the values of the template to all strikes; since_s: (K, 2) `times_since_strikes` at the knots.

    The template is piecewise linear with a value every hundredth of a second, and 0 away from strikes. It is common to both
    sides of the body, with separate values for ipsilateral and contralateral strikes. Midline coordinates have separate values
    for strikes of the right and the left foot.
    """
    at, of, weight = strike_map_entries(kinds, since_s, kinds.number * 2 * OF_A_STRIKE, SIDES[0])
    used, places = np.unique(of, return_inverse=True)  # a value without weight has no equation
    return StrikeMap(at, np.asarray(places, dtype=np.int64), weight, (len(since_s), len(kinds.side)), len(used))


def template_step(
    problem: EstimationProblem,
    mb: Multibody,
    path: StretchMotion,
    torques: Sequence[TorqueRows],
    factor: CholeskyFactor,
    step: FloatArray,
) -> FloatArray:
    """Return the change (count, nv) of a step if the prior mean of torque changes is the template of all strikes instead of 0.

    Parameters:
        path: motion at which the equations of `factor` and of the step (count, nv) are linearised.
        torques: the rows of these equations with the second differences of torques.

    Inertias and plate errors do not change.
    """
    common = TORQUE_CHANGE_FACTOR * np.sqrt(problem.sizes.strikes_alike_share)
    if not (torques and common and problem.strikes_known):
        return np.zeros_like(step)
    tau = inverse_dynamics(mb, path.q, path.v, path.vdot, problem.wrenches, problem.wrench_links)
    sd = common * torque_change_rms(problem, tau[:: problem.knots.step, problem.torque_rows])
    kinds = coordinate_kinds(problem.model, problem.torque_rows)
    template = impact_template(kinds, problem.since_strike_s[:: problem.knots.step][1:-1])
    return solve_template_step(template, torques, sd, factor, step) if template.count else np.zeros_like(step)


def solve_template_step(
    template: StrikeMap, torques: Sequence[TorqueRows], sd: FloatArray, factor: CholeskyFactor, step: FloatArray
) -> FloatArray:
    """Return the change (count, nv) of `template_step`; sd: (K, R) prior standard deviations of the template, Nm.

    The numbers m of the template are unknowns besides the coefficients. With the rows D of the torques, divided by their
    standard deviations S, and the matrix A of all equations, eliminating the coefficients yields

        (W^T S (1 - D A^-1 D^T) S W + 1 / sd^2) m = W^T S d,

    with d the torque changes after the step. The system is solved by conjugate gradients (Hestenes & Stiefel 1952), which need
    one solution with the factor per iteration.
    """
    near = np.unique(template.at // template.shape[1])
    scale, remaining = np.zeros(template.shape), np.zeros(template.shape)
    parts = []
    for part in torques:
        rows = part.rows[near]
        parts.append((part.rows_at, part.columns, rows.reshape(*rows.shape[:2], -1)))
        scale[:, part.rows_at] = part.scale
        remaining[np.ix_(near, part.rows_at)] = -part.rest[near]
    width = torques[0].rows.shape[2]
    reached = near[:, None] + np.arange(width)

    def scaled_torque_changes(c: FloatArray) -> FloatArray:
        """Return the changes (K, R) of the torques, divided by their standard deviations, by coefficients c (count, nv)."""
        result = np.zeros(template.shape)
        for rows_at, columns, rows in parts:
            flat = c[:, columns][reached].reshape(len(near), -1)
            result[np.ix_(near, rows_at)] = (rows @ flat[:, :, None])[..., 0]
        return result

    def apply_transpose(values: FloatArray) -> FloatArray:
        """Return the coefficients (count, nv) of the transposed map of `scaled_torque_changes`, for values (K, R)."""
        result = np.zeros(step.shape)
        for rows_at, columns, rows in parts:
            by_knot = (values[np.ix_(near, rows_at)][:, None] @ rows).reshape(len(near), width, -1)
            for s in range(width):
                result[(near + s)[:, None], columns] += by_knot[:, s]
        return result

    least_variance = 1e-4  # Nm^2
    prior = template.apply_transpose(np.ones(template.shape)) / np.maximum(
        template.apply_transpose(sd**2), least_variance
    )
    diagonal = template.apply_squared_transpose(scale**2) + prior
    residual = template.apply_transpose(scale * (remaining + scaled_torque_changes(step)))
    direction, result = residual / diagonal, np.zeros_like(step)
    size = float(residual @ direction)
    for _ in range(_SOLUTIONS):
        if size <= 0.0:
            break
        loads = scale * template.apply(direction)
        solution = factor.solve(apply_transpose(loads))
        image = template.apply_transpose(scale * (loads - scaled_torque_changes(solution))) + prior * direction
        share = size / float(direction @ image)
        result += share * solution
        residual -= share * image
        preconditioned = residual / diagonal
        size, previous = float(residual @ preconditioned), size
        direction = preconditioned + (size / previous) * direction
    return result


# -- Gauss-Newton steps


@dataclass(frozen=True)
class Solution:
    """Estimate of a stretch.

    Attributes:
        coefficients: (count, nv) coefficients of the trajectory update, see `EstimationProblem`. path: the estimated motion.
        factor, derivatives: Cholesky factor of the last equations, and their `torque_derivatives`. With `certainty`, the factor
            is that of equations without a common template of foot strikes.
        stiff, fit_prior: precisions (nv,) of `normal_equation_terms.smoothness_precision` and (T, nv) of
        `noise_model.fit_precision`.
        model: model with the estimated inertias.
        problem: problem with the estimated error of the balance, and wrenches without the estimated errors of the plates.
        parameters: inertias and plate errors; None if the problem does not estimate them.
    """

    coefficients: FloatArray
    path: StretchMotion
    factor: CholeskyFactor
    derivatives: Derivatives
    stiff: FloatArray
    fit_prior: FloatArray
    model: SubjectModel
    problem: EstimationProblem
    parameters: EstimatedParameters | None


def solve_problem(
    problem: EstimationProblem,
    iterations: int = 2,
    mean_information: FloatArray | None = None,
    certainty: bool = False,
    others: tuple[InformationForm, ...] = (),
) -> Solution:
    """Estimate the motion, the inertias and the plate errors that best fit all measurements.

    The first step estimates the error of the balance, the second step inertias and plate errors with it (they change little in
    later steps), and the last step also the template of the torques at foot strikes.

    Args:
        mean_information: (nv, nv) information of the markers per frame, for a window of a longer stretch; None = the mean of
            these frames.
        certainty: True if the covariance is needed. It is computed from equations without the template, because the last
            equations treat the template as known, although its error is common to all strikes.
        others: information of other walks of the session on the parameters.
    """
    model, first, last = problem.model, 0, iterations - 1
    mb, count = model.multibody, problem.knots.coefficient_count
    information = marker_information(problem, problem.start.q)
    mean = information[0].mean(axis=0) if mean_information is None else mean_information
    stiff = smoothness_precision(problem, mean)
    fit_prior = fit_precision(
        model, problem.start.q, marker_displacement_per_coordinate(problem, information[0]), problem.sizes
    )
    c, path, parameters = np.zeros((count, mb.nv)), problem.start, None

    def build_equations(strikes_alike: bool = True) -> tuple[NormalEquations, list[BalanceRows], list[TorqueRows]]:
        """Return the normal equations at the current motion, and the rows of balance and torques."""
        normal, repeated = NormalEquations(count, REACH, mb.nv), number > first
        add_marker_terms(normal, problem, *information)
        add_smoothness(normal, problem, c, stiff, from_previous_solution=repeated)
        add_fit_prior(normal, problem, c, fit_prior)
        tau = inverse_dynamics(body, path.q, path.v, path.vdot, problem.wrenches, problem.wrench_links)
        balance = add_balance_terms(normal, problem, tau, derivatives)
        sizes = problem.sizes if strikes_alike else replace(problem.sizes, strikes_alike_share=0.0)
        return normal, balance, add_torque_terms(normal, replace(problem, sizes=sizes), tau, derivatives, repeated)

    for number in range(iterations):
        if number > first:
            information = marker_information(problem, path.q)
        body = model.multibody
        derivatives = torque_derivatives(problem, body, path)
        normal, balance, torques = build_equations()
        factor = CholeskyFactor(normal)

        # -- error of the balance, then inertias and plates
        if problem.estimates_parameters and number <= min(1, last):
            parameters = estimate_parameters(problem, factor, balance, path, normal.right, parameters, others)
            step = parameters.step
            if number == first:
                problem = replace(problem, sizes=replace(problem.sizes, balance=parameters.balance))
            if number == min(1, last):
                model = change_inertias(problem.model, problem.inertias, parameters.inertias)
                problem = replace(
                    problem, wrenches=problem.plates.remove_errors(problem.wrenches, parameters.plates.values)
                )
        else:
            step = factor.solve(normal.right)

        # -- template of foot strikes
        if first < number == last:
            step = step + template_step(problem, model.multibody, path, torques, factor, step)
        has_template = problem.strikes_known and problem.sizes.strikes_alike_share > 0.0
        without_template = first < number == last and certainty and has_template
        if number < last or without_template:
            del normal, balance, torques, factor  # the next equations need as much memory: 80 MB in 10 s of walking
        if without_template:
            factor = CholeskyFactor(build_equations(strikes_alike=False)[0])

        c = c + step
        path = apply_update(mb, problem.start, problem.knots, c)
    return Solution(c, path, factor, derivatives, stiff, fit_prior, model, problem, parameters)


@dataclass(frozen=True)
class Posterior:
    """Standard deviations (T, nv) of coordinates along v (rad or m) and of generalised forces (Nm or N), and (T, J) of powers
    (W)."""

    place: FloatArray
    force: FloatArray
    power: FloatArray


def power_derivatives(solution: Solution, joints: FloatArray) -> FloatArray:
    """Return the derivatives (T, J, 3 nv) of joint powers with respect to coordinates, rates and accelerations.

    joints: (J, nv), 1 for the coordinates of each joint. The power is the sum of torque times rate over these coordinates.
    """
    path, problem = solution.path, solution.problem
    tau = inverse_dynamics(solution.model.multibody, path.q, path.v, path.vdot, problem.wrenches, problem.wrench_links)
    rates = joints * path.v[:, None]
    by_place, by_rate, by_acceleration = (rates @ part for part in solution.derivatives)
    return np.concatenate([by_place, by_rate + joints * tau[:, None], by_acceleration], axis=2)


def posterior_sd(
    problem: EstimationProblem,
    factor: CholeskyFactor,
    parts: Derivatives,
    powers: FloatArray | None = None,
    wanted: slice | None = None,
) -> Posterior:
    """Return the standard deviations of motion, torques and powers, for fixed inertias.

    parts: torque derivatives in the equations of the factor. powers: `power_derivatives`; None = no powers.
    wanted: frames that are needed, None = all; values of other frames may be 0.
    """
    knots, n, reach = problem.knots, factor.n, factor.reach
    if powers is None:
        powers = np.zeros((len(parts[0]), 0, 3 * n))
    place, force, power = (np.zeros((len(powers), size)) for size in (n, n, powers.shape[1]))
    weights = np.zeros((knots.step, 3, reach))
    for order, of_order in enumerate(knots.weights):
        weights[:, order, : of_order.shape[1]] = of_order
    low, high = (0, knots.frames) if wanted is None else (wanted.start, wanted.stop)
    for k, near in factor.inverse_blocks(low // knots.step):
        if k * knots.step >= high:
            continue
        of_knot = slice(k * knots.step, min((k + 1) * knots.step, knots.frames))
        w = weights[: of_knot.stop - of_knot.start]
        # covariance of (position, rate, acceleration) in the frames of the knot, (frames, 3 n, 3 n)
        half = (w.reshape(-1, reach) @ near.reshape(reach, -1)).reshape(len(w), 3 * n, reach, n)
        covariance = (w[:, None] @ half).reshape(len(w), 3 * n, 3 * n)
        place[of_knot] = np.diagonal(covariance, axis1=1, axis2=2)[:, :n]
        by_motion = np.concatenate([np.concatenate([part[of_knot] for part in parts], axis=2), powers[of_knot]], axis=1)
        variance = np.sum((by_motion @ covariance) * by_motion, axis=2)
        force[of_knot], power[of_knot] = variance[:, :n], variance[:, n:]
    return Posterior(*(np.sqrt(np.maximum(part, 0.0)) for part in (place, force, power)))


# -- Elimination of the residual
#
# In the estimate, differences between motion and forces are errors of the body model, so that wrong inertias and
# plates do not affect the torques. Simulations and comparisons of residuals need a motion in balance. The elimination
# changes the motion by some tenths of a millimetre, less than the error of the markers. All parameters keep their
# estimates, joint torques change very little, and the residual is converted to accelerations of the trunk relative to
# the legs.

# Remaining error of the balance, as a fraction of the estimated error.
_BALANCE_SHARE = 0.075
# The change of motion fades out within this time. Otherwise torques of real walks jump by up to 0.11 Nm/kg between
# frames when the forces of a plate become known, compared with 0.04 without the elimination.
_FADE_S = 0.1


@dataclass(frozen=True)
class ResidualElimination:
    """Motion after the elimination of the residual.

    Attributes:
        deviation: (T, nv) update from the start of the problem. share: fraction (0 to 1) of the Gauss-Newton step that was
        used.
        unbalanced: (T, 6) residual before the elimination [moment; force], Nm and N; NaN where not all contacts are known.
    """

    deviation: FloatArray
    share: float
    unbalanced: FloatArray


def eliminate_residual(problem: EstimationProblem, solution: Solution) -> ResidualElimination:
    """Eliminate the residual of the solution to within 7.5 % of the estimated error of the balance.

    This is a Gauss-Newton step from the solution with all terms of the estimate, a larger weight of the balance in every frame
    of `estimation_problem.to_close`, and fixed torques of legs and trunk, arms and head. Accelerations are constrained 20
    times more than
    in the estimate; otherwise they jump where the weight of the balance starts. The step is shortened so that it changes the
    markers by at most half of their standard deviation (RMS), because a larger change indicates an unmeasured force, or plates
    that disagree with the body weight.
    """
    firmness, most_marker_change_sd = 20.0, 0.5
    mb, coefficients = solution.model.multibody, solution.coefficients
    tight = replace(
        solution.problem,
        sizes=replace(solution.problem.sizes, balance=_BALANCE_SHARE * solution.problem.sizes.balance),
        torque_change_nm=np.full_like(problem.torque_change_nm, np.inf),  # they are fixed, even if they change rapidly
    )
    free = _free_coordinates(tight)
    information, right = marker_information(tight, solution.path.q)
    information = np.ascontiguousarray(information[:, free[:, None], free])
    # no term extends beyond the coefficients of one frame, the last of which is zero at a knot
    reach = DEGREE if problem.knots.step > 1 else DEGREE - 1
    normal = NormalEquations(problem.knots.coefficient_count, reach, len(free))
    add_marker_terms(normal, tight, information, right[:, free])
    weights, third = third_difference_precisions(tight, coefficients, solution.stiff, from_previous_solution=True)
    normal.add_diagonal(0, THIRD, weights[:, free], -(weights * third)[:, free])
    firm = firmness * np.broadcast_to(solution.stiff[free] / problem.knots.step**DEGREE, (len(third), len(free)))
    normal.add_diagonal(0, THIRD, firm, np.zeros_like(firm))
    add_fit_prior(normal, tight, coefficients[:, free], solution.fit_prior[:, free])
    path = solution.path
    residual = inverse_dynamics(mb, path.q, path.v, path.vdot, tight.wrenches, tight.wrench_links)[:, :ROOT]
    if tight.to_close.any():
        _add_balance_terms(normal, tight, residual, solution.derivatives, free)
    _fix_torques(normal, tight, solution.derivatives, free)
    step = np.zeros_like(coefficients)
    step[:, free] = CholeskyFactor(normal).solve(normal.right)
    change = problem.knots.evaluate(step)[0]
    # squared change of the markers in their standard deviations, with three components per marker
    squares = np.einsum("ti,tij,tj->t", change[:, free], information, change[:, free])
    count = max(3 * int(np.count_nonzero(problem.weights)), 1)
    share = min(1.0, most_marker_change_sd / max(float(np.sqrt(squares.sum() / count)), 1e-12))
    unbalanced = np.where(problem.balanced[:, None], residual, np.nan)
    return ResidualElimination(problem.knots.evaluate(coefficients)[0] + share * change, share, unbalanced)


def _add_balance_terms(
    normal: NormalEquations, problem: EstimationProblem, residual: FloatArray, parts: Derivatives, free: IntArray
) -> None:
    """Add the balance of the whole body; its residual (T, 6) [moment; force] must not contain NaN.

    Outside `estimation_problem.to_close` the change fades out within `_FADE_S`, because a change that ends abruptly is an
    impact. Loads
    may be unknown in these frames, so that the balance is not used: the force on the root changes as in the nearest frame of
    `to_close`, times a factor that decreases from 1 to 0, with decreasing weight.
    """
    distance, (nearest,) = scipy.ndimage.distance_transform_edt(~problem.to_close, return_indices=True)
    share = smooth_step(1.0 - distance / (_FADE_S * problem.knots.rate_hz))
    # the weight decreases with the factor, because a constant weight would cause another discontinuity
    scale = share[:, None] ** 2 / problem.sizes.balance
    rest = -share[:, None] * residual[nearest] * scale
    for offset in range(problem.knots.step):
        rows = balance_rows(problem, parts, rest, scale, offset, free)
        normal.add_rows(0, rows.rows, rows.rest)


def _free_coordinates(problem: EstimationProblem) -> IntArray:
    """Return the ascending indices in v of the coordinates that the elimination may change: root, legs and trunk.

    Arms, head and coordinates without markers are fixed, because light segments would move far for a few newtons.
    """
    assumed = [coordinate.v_index for coordinate in problem.model.assumed]
    return np.union1d(np.arange(ROOT), np.setdiff1d(problem.torque_rows, assumed))


def _fix_torques(
    normal: NormalEquations, problem: EstimationProblem, parts: Derivatives, free: IntArray, sd_nm_kg: float = 0.01
) -> None:
    """Fix the joint torques of legs and trunk in every frame in which they are known.

    free: (F,) indices in v of the unknowns. sd_nm_kg: far below the uncertainty from noise and soft tissue.
    """
    sd, step = sd_nm_kg * problem.model.mass_kg, problem.knots.step
    for rows_at, columns in problem.torque_groups:
        places, among = problem.torque_rows[rows_at], np.flatnonzero(np.isin(free, columns))
        for offset in range(step):
            scale = problem.torque_known[offset::step, rows_at] / sd
            rows = coefficient_rows(problem.knots, parts, places, free[among], scale, offset)
            normal.add_rows(0, rows, np.zeros(scale.shape), among)
