"""Terms of the normal equations: markers, smoothness, prior from the fit, balance of the whole body, and smooth torques."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from biodyn.conventions import FloatArray, IntArray
from biodyn.estimation.estimation_problem import (
    DEGREE,
    EstimationProblem,
    StretchMotion,
    UniformSpline,
    convert_derivatives_to_update,
)
from biodyn.estimation.noise_model import (
    FRAME_S,
    coordinate_kinds,
    map_by_time_after_strike,
    midpoint_time_since_strike,
    rms_over_strikes,
    strike_proximity_weight,
    strike_torque_change_rms,
)
from biodyn.estimation.solver import NormalEquations
from biodyn.kernels import linear_algebra as kernels
from biodyn.model.observability import inverse_factors
from biodyn.rigid_body import Multibody, body_poses, joint_jacobians
from biodyn.rigid_body.dynamics import inverse_dynamics_derivatives

#: Third differences of coefficients, for the smoothness of a motion.
THIRD = np.array([-1.0, 3.0, -3.0, 1.0])
_SECOND = np.array([1.0, -2.0, 1.0])
_ITSELF = np.ones(1)
#: Generalised forces of the free root: the balance of the whole body.
ROOT = 6
#: Number of subsequent coefficients coupled by the widest term, the second difference of torques at knots (five
#: coefficients each).
REACH = len(_SECOND) + DEGREE - 2
#: Factors, in steps after the first, on the changes of torques and accelerations of the previous step at the same time after
#: a strike.
TORQUE_CHANGE_FACTOR, _THIRD_DIFFERENCE_FACTOR = 2.0, 1.5


def marker_information(problem: EstimationProblem, q: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return J^T W J (T, nv, nv) and J^T W r (T, nv) of the markers at q (T, nq), divided by their variances."""
    mb = problem.model.multibody
    links, p_LM, _ = problem.model.marker_arrays()
    on_paths = [np.flatnonzero(mb.moving_coordinates[link]) for link in links]
    paths = np.zeros((len(links), max(len(path) for path in on_paths)), dtype=np.int64)
    for row, path in zip(paths, on_paths, strict=True):
        row[: len(path)] = path
    joints, (R, p) = joint_jacobians(mb, q), body_poses(mb, q)
    lengths, on_links = np.array([len(path) for path in on_paths]), np.asarray(links, dtype=np.int64)
    # a different memory layout would require compiling another kernel
    scale = np.ascontiguousarray(np.sqrt(problem.weights) / problem.sizes.marker_sd_m)
    seen_at = np.ascontiguousarray(problem.seen_at)
    square, pull, work = np.zeros((len(q), mb.nv, mb.nv)), np.zeros((len(q), mb.nv)), np.zeros((paths.shape[1], 3))
    kernels.fill_marker_equations(joints, R, p, on_links, p_LM, paths, lengths, scale, seen_at, square, pull, work)
    return square, pull


def marker_displacement_per_coordinate(problem: EstimationProblem, information: FloatArray) -> FloatArray:
    """Return the change (T, nv) of the markers per unit of a coordinate with all others free, m/rad or m/m."""
    n = information.shape[1]
    # scaled to unit diagonal, because one coordinate may have a million times the information of another
    scale = np.sqrt(np.diagonal(information, axis1=1, axis2=2) + 1e-3)
    scaled = (information + 1e-3 * np.eye(n)) / (scale[:, :, None] * scale[:, None, :])
    variance = np.sum(inverse_factors(scaled) ** 2, axis=1) / scale**2
    sd = float(np.median(problem.sizes.marker_sd_m))
    return np.asarray(sd / np.sqrt(np.maximum(variance, 1e-12)))


def smoothness_precision(problem: EstimationProblem, information: FloatArray) -> FloatArray:
    """Return the precision (nv,) of the third difference of each coordinate; information (nv, nv): of the markers per frame.

    As for a smoothing spline, it is the stiffness times the information of the markers on a coordinate if all others are free. A
    joint coordinate has at least the information of a standard deviation of 3 degrees.
    """
    mean = information + 1e-3 * np.eye(len(information))
    marginal = 1.0 / np.diag(np.linalg.inv(mean))
    marginal[ROOT:] = np.maximum(marginal[ROOT:], 1.0 / np.radians(3.0) ** 2)
    return np.asarray(marginal * problem.sizes.stiffness)


def add_marker_terms(
    normal: NormalEquations, problem: EstimationProblem, information: FloatArray, right: FloatArray
) -> None:
    """Add the terms of the marker errors to the normal equations, given the `marker_information`."""
    step = problem.knots.step
    for offset, weights in enumerate(problem.knots.weights[0]):
        normal.add_weighted_terms(0, nonzero_weights(weights), information[offset::step], right[offset::step])


def add_smoothness(
    normal: NormalEquations,
    problem: EstimationProblem,
    c: FloatArray,
    precision: FloatArray,
    from_previous_solution: bool = False,
) -> None:
    """Add the smoothness terms, which penalise the third derivative of the motion (`third_difference_precisions`)."""
    weights, third = third_difference_precisions(problem, c, precision, from_previous_solution)
    normal.add_diagonal(0, THIRD, weights, -weights * third)


def third_difference_precisions(
    problem: EstimationProblem, c: FloatArray, precision: FloatArray, from_previous_solution: bool = False
) -> tuple[FloatArray, FloatArray]:
    """Return the precisions of the third differences of the motion, and the differences, both (count - 3, nv).

    c: (count, nv) coefficients. precision: (nv,) per frame, see `smoothness_precision`. from_previous_solution: True if c is
    the solution of an earlier step. Then the variance includes the squared RMS (times 1.5) of its third differences at the
    same time after a strike. If False, the standard deviation is up to 16 times larger at a strike.
    """
    strike_factor = 16.0
    knots = problem.knots
    count = knots.coefficient_count - len(THIRD) + 1
    third = third_differences(c)
    # Third differences of the coefficients k .. k + 3 belong to the time between the knots k - 1 and k.
    third[1 : knots.knot_count] += np.diff(problem.start.vdot[:: knots.step], axis=0) * knots.knot_s**2
    usual = precision / knots.step**DEGREE
    if from_previous_solution and problem.strikes_known:
        return 1.0 / (1.0 / usual + (_THIRD_DIFFERENCE_FACTOR * _third_difference_rms(problem, third)) ** 2), third
    nearest = strike_proximity_weight(problem.since_strike_s[:: knots.step])
    struck = np.zeros(count)
    struck[: knots.knot_count] = nearest
    struck[1 : knots.knot_count] = np.maximum(nearest[1:], nearest[:-1])
    return usual / (1.0 + (strike_factor - 1.0) * struck[:, None]) ** 2, third


def _third_difference_rms(problem: EstimationProblem, third: FloatArray) -> FloatArray:
    """Return the RMS over all strikes (count, nv) of the third differences of the motion, at the same time after a strike."""
    knots, since_s = problem.knots, problem.since_strike_s[:: problem.knots.step]
    between = np.clip(np.arange(len(third)), 1, knots.knot_count - 1)
    middle = midpoint_time_since_strike(since_s[between - 1], since_s[between])
    shares = map_by_time_after_strike(coordinate_kinds(problem.model, np.arange(third.shape[1])), middle)
    known = np.zeros(third.shape, dtype=np.bool_)
    known[1 : knots.knot_count] = True  # before the first and after the last knot they do not describe motion
    return rms_over_strikes(third, known, shares, knots.knot_s)


def add_fit_prior(normal: NormalEquations, problem: EstimationProblem, c: FloatArray, precision: FloatArray) -> None:
    """Add the terms of the prior that the coordinates equal their fitted values; precision: (T, nv)."""
    step = problem.knots.step
    of_knots = step * precision[::step]
    update = problem.knots.evaluate(c)[0][::step]
    normal.add_diagonal(0, nonzero_weights(problem.knots.weights[0][0]), of_knots, -of_knots * update)


@dataclass(frozen=True)
class BalanceRows:
    """Rows of the force balance of the whole body in some frames, divided by its standard deviations.

    rows: (count, 6, W, nv) for the coefficients k, k + 1, ... rest: (count, 6) minus the residual. frames: the frames of the
    rows.
    """

    frames: slice
    rows: FloatArray
    rest: FloatArray


@dataclass(frozen=True)
class TorqueRows:
    """Second differences of some torques from knot to knot, divided by their standard deviations.

    rows_at: (m,) indices in `EstimationProblem.torque_rows`. columns: (n,) indices in v on which they depend. rows: (count, m,
    W, n) for the coefficients k, k + 1, .... rest: (count, m) minus the values. scale: (count, m) reciprocal SDs, 0 if unknown.
    """

    rows_at: IntArray
    columns: IntArray
    rows: FloatArray
    rest: FloatArray
    scale: FloatArray


Derivatives = tuple[FloatArray, FloatArray, FloatArray]


def torque_derivatives(problem: EstimationProblem, mb: Multibody, path: StretchMotion) -> Derivatives:
    """Return the derivatives (T, nv, nv) of all generalised forces by position, rate and acceleration of the update."""
    by_motion = inverse_dynamics_derivatives(mb, path.q, path.v, path.vdot, problem.wrenches, problem.wrench_links)
    return convert_derivatives_to_update(mb, path, *by_motion)


def add_balance_terms(
    normal: NormalEquations, problem: EstimationProblem, tau: FloatArray, parts: Derivatives
) -> list[BalanceRows]:
    """Add the terms of the force balance of the whole body, and return their rows.

    tau: (T, nv) generalised forces at the current motion. parts: `torque_derivatives` at this motion.
    """
    scale = problem.balanced[:, None] / problem.sizes.balance
    rest = -tau[:, :ROOT] * scale
    balance = [balance_rows(problem, parts, rest, scale, offset) for offset in range(problem.knots.step)]
    for rows in balance:
        normal.add_rows(0, rows.rows, rows.rest)
    return balance


def add_torque_terms(
    normal: NormalEquations,
    problem: EstimationProblem,
    tau: FloatArray,
    parts: Derivatives,
    from_previous_solution: bool = False,
) -> list[TorqueRows]:
    """Add the terms of the smoothness of torques, and return their rows; tau, parts: as in `add_balance_terms`.

    from_previous_solution: True if the motion is the solution of an earlier step, see `torque_change_sd`.
    """
    step = problem.knots.step
    if problem.knots.knot_count < len(_SECOND) or not np.isfinite(problem.torque_change_nm).any():
        return []
    change = torque_change_sd(problem, tau[::step, problem.torque_rows] if from_previous_solution else None)
    torques = [
        _torque_rows(problem, parts, tau[::step], rows_at, columns, change)
        for rows_at, columns in problem.torque_groups
    ]
    for group in torques:
        normal.add_rows(0, group.rows, group.rest, group.columns)
    return torques


def balance_rows(
    problem: EstimationProblem,
    parts: Derivatives,
    rest: FloatArray,
    scale: FloatArray,
    offset: int,
    columns: IntArray | None = None,
) -> BalanceRows:
    """Return the rows of the force balance for the frames `offset` after a knot.

    rest: (T, 6) minus the residual, in standard deviations. scale: (T, 6) reciprocal standard deviations. columns: as in
    `coefficient_rows`.
    """
    frames = slice(offset, None, problem.knots.step)
    rows = coefficient_rows(problem.knots, parts, np.arange(ROOT), columns, scale[frames], offset)
    return BalanceRows(frames, rows, rest[frames])


def coefficient_rows(
    knots: UniformSpline,
    parts: Derivatives,
    places: IntArray,
    columns: IntArray | None,
    scale: FloatArray,
    offset: int,
    differences: FloatArray = _ITSELF,
) -> FloatArray:
    """Return derivatives (T', m, W, n) by the coefficients of forces in frames `offset` after a knot, times scale (T', m).

    parts: derivatives (T, nv, nv) by position, rate and acceleration. places: (m,) indices in v of the forces. columns: (n,)
    indices in v of the coordinates, None = all. differences: weights of the forces at successive knots.
    """
    used = np.ascontiguousarray(nonzero_weights(np.stack([weights[offset] for weights in knots.weights])))
    among = np.arange(parts[0].shape[2]) if columns is None else columns
    rows = np.empty((*scale.shape, used.shape[1] + len(differences) - 1, len(among)))
    of_scale, work = np.ascontiguousarray(scale, dtype=np.float64), np.empty((3, len(among)))
    kernels.fill_spline_coefficient_rows(
        *parts, (offset, knots.step), places, among, used, differences, of_scale, rows, work
    )
    return rows


def torque_change_sd(problem: EstimationProblem, tau: FloatArray | None) -> FloatArray:
    """Return the standard deviations (knots - 2, R) of the second differences of the torques from knot to knot, Nm.

    tau: (knots, R) torques of an earlier step; None = first step, in which the slope of a torque may change by 1 Nm/kg in a
    hundredth of a second at a strike.
    """
    if tau is None:
        struck = strike_proximity_weight(problem.since_strike_s[:: problem.knots.step][1:-1])
        burst_nm = 1.0 * problem.model.mass_kg * (problem.knots.knot_s / FRAME_S) ** 1.5
        return np.maximum(problem.torque_change_nm, burst_nm * struck[:, None])
    factor = TORQUE_CHANGE_FACTOR * np.sqrt(1.0 - problem.sizes.strikes_alike_share)
    return np.hypot(problem.torque_change_nm, factor * torque_change_rms(problem, tau))


def torque_change_rms(problem: EstimationProblem, tau: FloatArray) -> FloatArray:
    """Return the RMS over all strikes (knots - 2, R) of the second differences of torques tau (knots, R)."""
    at_knots = slice(None, None, problem.knots.step)
    shares = map_by_time_after_strike(
        coordinate_kinds(problem.model, problem.torque_rows), problem.since_strike_s[at_knots][1:-1]
    )
    return strike_torque_change_rms(tau, problem.torque_known[at_knots], shares, problem.knots.knot_s)


def derivatives_by_coefficients(knots: UniformSpline, parts: Sequence[FloatArray], offset: int) -> FloatArray:
    """Return derivatives (T', m, W, n) with respect to the spline coefficients, for the frames `offset` after a knot.

    parts: derivatives (T', m, n) with respect to position, rate and acceleration.
    """
    used = nonzero_weights(np.stack([weights[offset] for weights in knots.weights]))
    count, m, n = parts[0].shape
    result = np.empty((count, m, used.shape[1], n))
    for s, (a, b, c) in enumerate(used.T):
        result[:, :, s] = a * parts[0] + b * parts[1] + c * parts[2]
    return result


def third_differences(c: FloatArray) -> FloatArray:
    """Return the third differences (count - 3, n) of coefficients (count, n)."""
    count = len(c) - len(THIRD) + 1
    return np.asarray(sum(w * c[i : i + count] for i, w in enumerate(THIRD)))


def nonzero_weights(weights: FloatArray) -> FloatArray:
    """Return the weights (..., 6) of spline coefficients without the last one if it is zero, as at a knot."""
    return weights if weights[..., -1].any() else weights[..., :-1]


def _torque_rows(
    problem: EstimationProblem,
    parts: Derivatives,
    tau: FloatArray,
    rows_at: IntArray,
    columns: IntArray,
    change: FloatArray,
) -> TorqueRows:
    """Return the second differences of torques between knots if the torque is known at all three knots.

    tau: (knots, nv). change: (knots - 2, R) from `torque_change_sd`.
    """
    places = problem.torque_rows[rows_at]
    tau = tau[:, places]
    count = len(tau) - len(_SECOND) + 1
    at_knots = problem.torque_known[:: problem.knots.step, rows_at]
    known = np.logical_and.reduce([at_knots[i : i + count] for i in range(len(_SECOND))])
    scale = known / change[:, rows_at]
    rest = -sum(w * tau[i : i + count] for i, w in enumerate(_SECOND)) * scale
    rows = coefficient_rows(problem.knots, parts, places, columns, scale, 0, _SECOND)
    return TorqueRows(rows_at, columns, rows, np.asarray(rest), scale)
