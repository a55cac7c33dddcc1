"""The last step: the motion nearest to the estimate in which the whole body is in balance with the forces.

How far motion and forces disagree is believed to be an error of the body model: that keeps wrong inertias and plates out of the
torques. A motion in balance is wanted all the same, for simulations, and where residuals are compared. It takes some tenths of a
millimetre that no marker shows. So all constants stay as they were found, the joint torques stay within what hardly
counts, and what is left over goes into accelerations of the trunk on its legs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.ndimage import distance_transform_edt

from biodyn.conventions import FloatArray, IntArray
from biodyn.estimation.deviation import DEGREE
from biodyn.estimation.problem import Problem
from biodyn.estimation.solve import Solution
from biodyn.estimation.solver import CholeskyFactor, NormalEquations
from biodyn.estimation.terms import (
    THIRD,
    Derivatives,
    add_kept,
    add_markers,
    balance_rows,
    marker_information,
    rows_of,
    smooth_thirds,
)
from biodyn.estimation.windows import smooth_step
from biodyn.rigid_body import inverse_dynamics

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
class Closing:
    """What the last step did.

    Attributes:
        deviation: (T, nv) from the start of the problem after it, see `deviation`. share: of the step that was taken, 0 to 1.
        unbalanced: (T, 6) [moment; force] Nm and N that was left over before it; NaN where not all contacts are known.
    """

    deviation: FloatArray
    share: float
    unbalanced: FloatArray


def closed(problem: Problem, solution: Solution) -> Closing:
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
    return Closing(problem.knots.values(coefficients)[0] + share * moved_by, share, unbalanced)


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
