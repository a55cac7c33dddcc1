"""The last step: the motion nearest to the estimate in which the whole body is in balance with the forces.

How far motion and forces disagree is believed to be an error of the body model: that keeps wrong inertias and plates out of the
torques. A motion in balance is wanted all the same, for simulations, and where residuals are compared. It takes some tenths of a
millimetre that no marker shows. So all constants stay as they were found, the joint torques stay within what hardly
counts, and what is left over goes into accelerations of the trunk on its legs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.estimation.banded import Factor, Normal
from biodyn.estimation.deviation import DEGREE
from biodyn.estimation.problem import Problem
from biodyn.estimation.solve import Solution
from biodyn.estimation.terms import (
    THIRD,
    Derivatives,
    add_dynamics,
    add_kept,
    add_markers,
    add_smoothness,
    marker_information,
    on_coefficients,
)

# Torques of legs and trunk stay within about this, Nm/kg: well below what noise and skin leave them uncertain by.
_HELD_NM_KG = 0.01
# The step changes its accelerations so many times less than the motion may: else they jump where the balance begins to count.
_STEADY = 20.0
_ROOT = 6
_FIRM = 1e14  # 1/rad^2, 1/m^2: what the balance asks of a trunk's coefficients by its accelerations is 1e11
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


def closed(problem: Problem, solution: Solution, closed_share: float) -> Closing:
    """Return the motion in balance to within `closed_share` times the error of the balance that was found.

    problem: of which the solution is. As much of the step is taken as the markers' errors hide in these frames. The solution's
    factor is lost: its memory is used again.

    Gauss-Newton's step from the solution, with everything that the estimate was made of, but that the balance counts for more, in
    every frame of `problem.to_close`, and that torques of legs and trunk, arms and head stay as they are.
    """
    mb, coefficients = solution.model.multibody, solution.coefficients
    balance = solution.problem.sizes.balance
    tight = replace(
        solution.problem,
        sizes=replace(solution.problem.sizes, balance=closed_share * balance),
        balanced=problem.to_close,
        torque_change_nm=np.full_like(problem.torque_change_nm, np.inf),  # they are held, however fast they change
    )
    information, right = marker_information(tight, solution.path.q)
    normal = solution.equations.again()
    add_markers(normal, tight, information, right)
    add_smoothness(normal, tight, coefficients, solution.stiff, shown=True)
    add_kept(normal, tight, coefficients, solution.held)
    rows, _ = add_dynamics(normal, tight, mb, solution.path, solution.derivatives)
    _hold_torques(normal, tight, solution.derivatives)
    _hold_the_rest(normal, tight)
    third = np.tile(_STEADY * solution.stiff / problem.knots.step**DEGREE, (problem.knots.count - len(THIRD) + 1, 1))
    normal.add_diagonal(0, THIRD, third, np.zeros_like(third))
    step = Factor(normal).solve(normal.g)
    moved_by = problem.knots.values(step)[0]
    # What the markers' equations say of the movement: its square in their standard deviations, three numbers a marker.
    squares = np.einsum("ti,tij,tj->t", moved_by, information, moved_by)
    seen = max(3 * int(np.count_nonzero(problem.weights)), 1)
    share = min(1.0, _FARTHEST_SD / max(float(np.sqrt(squares.sum() / seen)), 1e-12))
    unbalanced = np.full((len(moved_by), 6), np.nan)
    for part in rows:
        unbalanced[part.frames] = -part.rest * tight.sizes.balance
    unbalanced[~problem.balanced] = np.nan
    return Closing(problem.knots.values(coefficients)[0] + share * moved_by, share, unbalanced)


def _hold_torques(normal: Normal, problem: Problem, parts: Derivatives) -> None:
    """The joint torques of legs and trunk stay, in every frame in which they are known."""
    sd, step = _HELD_NM_KG * problem.model.mass_kg, problem.knots.step
    for rows_at, columns in problem.torque_groups:
        places = problem.torque_rows[rows_at]
        for offset in range(step):
            frames = slice(offset, None, step)
            rows = on_coefficients(problem.knots, [part[frames, places[:, None], columns] for part in parts], offset)
            held = problem.torque_known[frames][:, rows_at] / sd
            normal.add_wide(0, rows * held[:, :, None, None], np.zeros(held.shape), columns)


def _hold_the_rest(normal: Normal, problem: Problem) -> None:
    """Arms and head stay against the trunk, and what no marker shows stays: light segments would swing far for a few newtons."""
    free = {*range(_ROOT), *problem.torque_rows.tolist()} - {c.v_index for c in problem.model.assumed}
    held = np.zeros((problem.knots.count, normal.n))
    held[:, [place for place in range(normal.n) if place not in free]] = _FIRM
    normal.add_diagonal(0, np.ones(1), held, np.zeros_like(held))
