"""What all foot strikes of a trial have in common: a course of the torques that need not be small.

That torques change little is said of what one cannot foresee. A person's strikes are alike, and what all of them show is no
chance: only what a single one differs from it by is held small. So the course that the strikes share is an unknown of its own,
with the limits of one strike, and each strike's own torques are drawn towards it instead of towards none.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from biodyn.conventions import SIDES, FloatArray
from biodyn.estimation.deviation import Path
from biodyn.estimation.problem import Problem
from biodyn.estimation.solver import CholeskyFactor
from biodyn.estimation.strikes import OF_A_STRIKE, Kinds, Shares, kinds_of, struck
from biodyn.estimation.terms import TORQUE_SHOWN, TorqueRows, shown_torques
from biodyn.rigid_body import inverse_dynamics
from biodyn.rigid_body.multibody import Multibody

# Solutions with the factor: the torques of nineteen simulated people err as little (.5707 of 6 Hz) as with twenty (.5705).
_SOLUTIONS = 5
_LEAST_VARIANCE = 1e-4  # Nm^2


def course_of(kinds: Kinds, since_s: FloatArray) -> Shares:
    """Return what all strikes have in common; since_s: (K, 2) of `since_strikes` at the knots.

    It is made of numbers a hundredth of a second apart, straight between them and 0 beside strikes. Both sides of the body share
    them, own strikes and those of the other side apart; what has no side has other ones for strikes of the right and of the left.
    """
    at, of, weight = struck(kinds, since_s, kinds.number * 2 * OF_A_STRIKE, SIDES[0])
    used, places = np.unique(of, return_inverse=True)  # a number without weight has no equation
    return Shares(at, np.asarray(places, dtype=np.int64), weight, (len(since_s), len(kinds.side)), len(used))


def shared_step(
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
    course = course_of(kinds, problem.since_strike_s[:: problem.knots.step][1:-1])
    return towards_course(course, torques, sd, factor, step) if course.count else np.zeros_like(step)


def towards_course(
    course: Shares, torques: Sequence[TorqueRows], sd: FloatArray, factor: CholeskyFactor, step: FloatArray
) -> FloatArray:
    """Return the change (count, nv) of `shared_step`; sd: (K, R) standard deviations of what strikes have in common, Nm.

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
