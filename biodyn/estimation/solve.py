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
    Rows,
    add_dynamics,
    add_kept,
    add_markers,
    add_smoothness,
    levers,
    marker_information,
    smoothness,
)
from biodyn.model.body_model import SubjectModel
from biodyn.rigid_body.second_order import effects_of_inertia, inertial_parameters


@dataclass(frozen=True)
class Solution:
    """The estimate of a stretch.

    Attributes:
        coefficients: (count, nv) of the deviation from the start, see `deviation`; path: the motion itself.
        factor, linearised: of the last equations, and the motion at which they were made.
        inertias: values of the unknowns in standard deviations of what was known before; model: with them.
    """

    coefficients: FloatArray
    path: Path
    factor: Factor
    linearised: Path
    inertias: FloatArray
    model: SubjectModel


def solve(problem: Problem, iterations: int) -> Solution:
    """Return the motion, and the inertias, that explain everything best."""
    model, nv = problem.model, problem.model.multibody.nv
    c = np.zeros((problem.knots.count, nv))
    values = np.zeros(problem.inertias.count)
    information, _ = marker_information(problem, problem.start.q)
    stiff = smoothness(problem, information)
    held = kept(model, problem.start.q, levers(problem, information), problem.sizes)
    path, changed, linearised = problem.start, model, problem.start
    for number in range(iterations):
        normal = Normal.empty(problem.knots.count, REACH, nv)
        add_markers(normal, problem, path)
        add_smoothness(normal, problem, c, stiff)
        add_kept(normal, problem, c, held)
        balance = add_dynamics(normal, problem, changed.multibody, path)
        factor = Factor(normal.H)
        right = normal.g
        if len(values) and number == 0:  # they hardly answer to what the later steps change
            effect = _inertia_rows(problem, path)
            step, coupled = _inertia_step(problem, factor, balance, effect, right, values)
            values = values + step
            right = right - coupled @ step
            changed = with_changed_inertias(model, problem.inertias, values)
        c, linearised = c + factor.solve(right), path
        path = moved(model.multibody, problem.start, problem.knots, c)
    return Solution(c, path, factor, linearised, values, changed)


def _inertia_rows(problem: Problem, path: Path) -> FloatArray:
    """What one standard deviation of each unknown inertia does to the balance (T, 6, P), in standard deviations."""
    mb = problem.model.multibody
    before = inertial_parameters(mb)
    columns = [
        inertial_parameters(with_changed_inertias(problem.model, problem.inertias, unit).multibody) - before
        for unit in np.eye(problem.inertias.count)
    ]
    effect = effects_of_inertia(mb, path.q, path.v, path.vdot, np.stack(columns, axis=1))[:, :6]
    return np.asarray(effect * (problem.balanced[:, None] / problem.sizes.balance)[:, :, None])


def _inertia_step(
    problem: Problem,
    factor: Factor,
    balance: list[Rows],
    effect: FloatArray,
    right: FloatArray,
    values: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Return the step (P,) of the unknown inertias, and what couples them with the motion (count, nv, P).

    The errors of a body model stay alike for some time: a trial of T frames tells no more of a constant than the number of
    times that its errors change. Its information on the inertias is taken down by that.
    """
    count = effect.shape[2]
    coupled = np.zeros((*right.shape, count))
    asked = np.zeros(count)
    for rows in balance:
        own = effect[rows.frames]
        asked += np.einsum("tip,ti->p", own, rows.rest)
        for i, block in enumerate(rows.blocks):
            coupled[i : i + len(own)] += block.transpose(0, 2, 1) @ own
    followed = factor.solve(coupled)
    told = np.einsum("tip,tir->pr", effect, effect) - np.einsum("tnp,tnr->pr", coupled, followed)
    asked -= np.einsum("tnp,tn->p", followed, right)
    share = 1.0 / problem.sizes.alike_frames
    return np.linalg.solve(share * told + np.eye(count), share * asked - values), coupled
