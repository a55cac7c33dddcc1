"""Gauss-Newton over all frames of a stretch at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.estimation.banded import Factor, Normal
from biodyn.estimation.deviation import Path, moved
from biodyn.estimation.inertias import with_changed_inertias
from biodyn.estimation.problem import Problem
from biodyn.estimation.sizes import kept
from biodyn.estimation.terms import (
    REACH,
    Derivatives,
    Rows,
    add_dynamics,
    add_kept,
    add_markers,
    add_smoothness,
    levers,
    marker_information,
    smoothness,
    torque_derivatives,
)
from biodyn.model.body_model import SubjectModel
from biodyn.rigid_body.second_order import effects_of_inertia


@dataclass(frozen=True)
class Solution:
    """The estimate of a stretch.

    Attributes:
        coefficients: (count, nv) of the deviation from the start, see `deviation`; path: the motion itself.
        factor, derivatives: of the last equations, and the `torque_derivatives` that they were made with.
        inertias: values of the unknowns in standard deviations of what was known before; model: with them.
    """

    coefficients: FloatArray
    path: Path
    factor: Factor
    derivatives: Derivatives
    inertias: FloatArray
    model: SubjectModel


def solve(problem: Problem, iterations: int, mean_information: FloatArray | None = None) -> Solution:
    """Return the motion, and the inertias, that explain everything best.

    mean_information: (nv, nv) of the markers in a frame, for a window of a longer stretch; None = the mean of these frames.
    """
    model, nv = problem.model, problem.model.multibody.nv
    c = np.zeros((problem.knots.count, nv))
    values = np.zeros(problem.inertias.count)
    told = marker_information(problem, problem.start.q)
    stiff = smoothness(problem, told[0].mean(axis=0) if mean_information is None else mean_information)
    held = kept(model, problem.start.q, levers(problem, told[0]), problem.sizes)
    path, changed = problem.start, model
    normal = Normal.empty(problem.knots.count, REACH, nv)
    for number in range(iterations):
        if number:
            told, normal = marker_information(problem, path.q), normal.again()
        add_markers(normal, problem, *told)
        add_smoothness(normal, problem, c, stiff)
        add_kept(normal, problem, c, held)
        derivatives = torque_derivatives(problem, changed.multibody, path)
        balance = add_dynamics(normal, problem, changed.multibody, path, derivatives)
        factor = Factor(normal)
        if len(values) and number == 0:  # they hardly answer to what the later steps change
            effect = _inertia_rows(problem, path)
            step, values = _inertia_step(problem, factor, balance, effect, normal.g, values)
            changed = with_changed_inertias(model, problem.inertias, values)
        else:
            step = factor.solve(normal.g)
        c = c + step
        path = moved(model.multibody, problem.start, problem.knots, c)
    return Solution(c, path, factor, derivatives, values, changed)


def _inertia_rows(problem: Problem, path: Path) -> FloatArray:
    """What one standard deviation of each unknown inertia does to the balance (T, 6, P), in standard deviations."""
    columns = problem.inertias.parameter_changes(problem.model)
    effect = effects_of_inertia(problem.model.multibody, path.q, path.v, path.vdot, columns)[:, :6]
    return np.asarray(effect * (problem.balanced[:, None] / problem.sizes.balance)[:, :, None])


def _inertia_step(
    problem: Problem,
    factor: Factor,
    balance: list[Rows],
    effect: FloatArray,
    right: FloatArray,
    values: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Return the step of the motion (count, nv), and the unknown inertias (P,) after theirs.

    The errors of a body model stay alike for some time: a trial of T frames tells no more of a constant than the number of
    times that its errors change. Its information on the inertias is taken down by that.
    """
    count = effect.shape[2]
    both = np.zeros((*right.shape, 1 + count))  # the right-hand side, and what couples motion and inertias
    both[..., 0] = right
    asked = np.zeros(count)
    for part in balance:
        own = effect[part.frames]
        asked += np.einsum("tip,ti->p", own, part.rest)
        for i in range(part.rows.shape[2]):
            both[i : i + len(own), :, 1:] += part.rows[:, :, i].transpose(0, 2, 1) @ own
    halved = factor.forward(both).reshape(-1, 1 + count)
    crossed = halved.T @ halved
    told = np.einsum("tip,tir->pr", effect, effect) - crossed[1:, 1:]
    asked -= crossed[1:, 0]
    share = 1.0 / problem.sizes.alike_frames
    step = np.linalg.solve(share * told + np.eye(count), share * asked - values)
    return factor.backward((halved[:, 0] - halved[:, 1:] @ step).reshape(right.shape)), values + step
