"""Gauss-Newton over all frames of a stretch at once."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.estimation.constants import Constants, constants_of
from biodyn.estimation.deviation import Path, moved
from biodyn.estimation.inertias import with_changed_inertias
from biodyn.estimation.problem import Problem
from biodyn.estimation.shared_course import shared_step
from biodyn.estimation.sizes import kept
from biodyn.estimation.solver import CholeskyFactor, NormalEquations
from biodyn.estimation.terms import (
    REACH,
    Derivatives,
    Rows,
    TorqueRows,
    add_dynamics,
    add_kept,
    add_markers,
    add_smoothness,
    levers,
    marker_information,
    smoothness,
    torque_derivatives,
)
from biodyn.estimation.told import Told
from biodyn.model.body_model import SubjectModel
from biodyn.rigid_body import Multibody


@dataclass(frozen=True)
class Solution:
    """The estimate of a stretch.

    Attributes:
        coefficients: (count, nv) of the deviation from the start, see `deviation`; path: the motion itself.
        factor, derivatives: of the last equations, and the `torque_derivatives` that they were made with. Where how certain the
            motion is was asked for, the factor is that of foot strikes that share nothing.
        stiff, held: precisions (nv,) of `terms.smoothness` and (T, nv) of `sizes.kept`.
        inertias: values of the unknowns in standard deviations of what was known before; model: with them.
        plates, plates_sd: values of the plates' unknowns, and what is left of their standard deviations; plates_drawn: the
            standard deviations that they were drawn towards 0 with.
        problem: with the error of the balance that was found, and forces without the errors of the plates.
        told: what the stretch alone tells of inertias and plates; None where it was not asked.
    """

    coefficients: FloatArray
    path: Path
    factor: CholeskyFactor
    derivatives: Derivatives
    stiff: FloatArray
    held: FloatArray
    inertias: FloatArray
    plates: FloatArray
    plates_sd: FloatArray
    plates_drawn: FloatArray
    model: SubjectModel
    problem: Problem
    told: Told | None


@dataclass(frozen=True)
class _At:
    """Where the equations of a step are made, and what they are made of: see `solve`."""

    mb: Multibody
    path: Path
    coefficients: FloatArray
    information: tuple[FloatArray, FloatArray]
    derivatives: Derivatives
    stiff: FloatArray
    held: FloatArray
    shown: bool

    def add_all(self, normal: NormalEquations, problem: Problem) -> tuple[list[Rows], list[TorqueRows]]:
        """Add all equations; returns the rows of balance and torques."""
        add_markers(normal, problem, *self.information)
        add_smoothness(normal, problem, self.coefficients, self.stiff, shown=self.shown)
        add_kept(normal, problem, self.coefficients, self.held)
        return add_dynamics(normal, problem, self.mb, self.path, self.derivatives, shown=self.shown)


def solve(
    problem: Problem,
    iterations: int = 2,
    mean_information: FloatArray | None = None,
    certainty: bool = False,
    others: tuple[Told, ...] = (),
) -> Solution:
    """Return the motion, the inertias and the errors of the plates that explain everything best.

    mean_information: (nv, nv) of the markers in a frame, for a window of a longer stretch; None = the mean of these frames.
    certainty: whether it will be asked for. The last equations hold a single strike to the course that all share, as if that were
        known (`shared_course`). It is found, and errs alike in all strikes, so equations that know nothing of it tell the
        covariance: their torques change at strikes by all that the course and the single strike may differ by.
    """
    model, nv = problem.model, problem.model.multibody.nv
    c = np.zeros((problem.knots.count, nv))
    values = np.zeros(problem.inertias.count)
    of_plates = np.zeros(problem.plates.count)
    plates_sd = plates_drawn = np.ones(problem.plates.count)
    told_of_constants: Told | None = None
    found: Constants | None = None
    told = marker_information(problem, problem.start.q)
    stiff = smoothness(problem, told[0].mean(axis=0) if mean_information is None else mean_information)
    held = kept(model, problem.start.q, levers(problem, told[0]), problem.sizes)
    path, changed = problem.start, model
    # The first step finds the error of the balance, the second the inertias with it: they hardly answer to later ones.
    last_telling = min(1, iterations - 1)
    for number in range(iterations):
        if number:
            told = marker_information(problem, path.q)
        normal = NormalEquations(problem.knots.count, REACH, nv)
        derivatives = torque_derivatives(problem, changed.multibody, path)
        at = _At(changed.multibody, path, c, told, derivatives, stiff, held, shown=number > 0)
        balance, torques = at.add_all(normal, problem)
        factor = CholeskyFactor(normal)
        if problem.tells_constants and number <= last_telling:
            found = constants_of(problem, factor, balance, path, normal.right, found, others)
            step = found.step
            if number == 0:
                problem = replace(problem, sizes=replace(problem.sizes, balance=found.balance))
            if number == last_telling:
                values, changed = found.inertias, with_changed_inertias(model, problem.inertias, found.inertias)
                of_plates, plates_sd, plates_drawn = found.plates, found.plates_sd, found.plates_drawn
                told_of_constants = found.told
                problem = replace(problem, wrenches=problem.plates.put_right(problem.wrenches, of_plates))
        else:
            step = factor.solve(normal.right)
        if 0 < number == iterations - 1:
            step = step + shared_step(problem, changed.multibody, path, torques, factor, step)
            if certainty and problem.strikes_known and problem.sizes.strikes_alike_share:
                normal = NormalEquations(problem.knots.count, REACH, nv)
                at.add_all(normal, replace(problem, sizes=replace(problem.sizes, strikes_alike_share=0.0)))
                factor = CholeskyFactor(normal)
        c = c + step
        path = moved(model.multibody, problem.start, problem.knots, c)
    return Solution(
        c,
        path,
        factor,
        derivatives,
        stiff,
        held,
        values,
        of_plates,
        plates_sd,
        plates_drawn,
        changed,
        problem,
        told_of_constants,
    )
