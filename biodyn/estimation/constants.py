"""What a stretch tells of things that do not change: inertias, plates, and how well motion and forces can be in balance at all.

The errors of a body model and of plates stay alike for some time: a trial of T frames tells no more of a constant than the number
of times that its errors change. Taken for independent, frames would let mass centres run away, and the balance's error vanish
or grow without bound.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.estimation.deviation import Path, cross_matrix
from biodyn.estimation.problem import Problem
from biodyn.estimation.solver import CholeskyFactor
from biodyn.estimation.terms import Rows
from biodyn.estimation.told import Told
from biodyn.rigid_body import body_poses
from biodyn.rigid_body.second_order import regressor

_FORCE = slice(3, 6)
_ROOT = 6  # equations of the whole body
_PROBES = 4  # vectors of random signs: the trace to some per cent
# The errors that a trial finds lie within these factors of what is expected.
_LEAST_SHARE, _MOST_TIMES = 0.25, 10.0
# A correlation below this is none.
_UNRELATED = 0.05
# The expected error of the balance counts as much as this many independent samples of the trial.
_PRIOR_SAMPLES = 4.0


@dataclass(frozen=True)
class Constants:
    """What is found beside the motion.

    Attributes:
        step: (count, nv) of the motion that goes with it. inertias, plates: the unknowns, in standard deviations of before.
        plates_sd: standard deviations left of the latter, in the same; plates_drawn: those they were drawn towards 0 with.
        balance: (6,) error of the balance in a frame. unbalanced: (T, 6) Nm and N, what is left of the balance itself.
        told: what the stretch alone says of inertias and plates.
    """

    step: FloatArray
    inertias: FloatArray
    plates: FloatArray
    plates_sd: FloatArray
    plates_drawn: FloatArray
    balance: FloatArray
    unbalanced: FloatArray
    told: Told


def constants_of(
    problem: Problem,
    factor: CholeskyFactor,
    balance: list[Rows],
    path: Path,
    right: FloatArray,
    before: Constants | None = None,
    others: tuple[Told, ...] = (),
) -> Constants:
    """Return the step, and the constants that go with it, of the first equations: `right` (count, nv), rows of the balance.

    others: what other walks of the session tell of the constants.
    before: what was found with earlier equations; then the error of the balance stays, without it is found too.
    """
    effect, rest, sizes_too = _constant_rows(problem, path), _rest(problem, balance), before is None
    by_scale = rest if before is None else before.unbalanced * (problem.balanced[:, None] / problem.sizes.balance)
    effect[:, :, : problem.inertias.count] += _of_scale(problem, by_scale)
    count, probes = effect.shape[2], _PROBES if sizes_too else 0
    of_all = np.concatenate([effect, _probes(problem)[:, :, :probes]], axis=2)
    asked, several = np.zeros(count), np.zeros((*right.shape, of_all.shape[2] + 1))
    constant, probed, motion = slice(0, count), slice(count, -1), -1
    for part in balance:
        asked += np.einsum("tip,ti->p", effect[part.frames], part.rest)
        for s in range(part.rows.shape[2]):
            several[s : s + len(part.rows), :, :-1] += part.rows[:, :, s].transpose(0, 2, 1) @ of_all[part.frames]
    several[:, :, motion] = right
    halved = factor.forward(several).reshape(-1, several.shape[2])
    flat, products = effect.reshape(6 * len(effect), count), halved.T @ halved
    information = flat.T @ flat - products[constant, constant]
    share = 1.0 / problem.sizes.alike_frames
    names = (*problem.inertias.names, *problem.plates.names)
    pull = share * (asked - products[constant, motion])
    gross = (*problem.inertias.seldom_gross, *problem.plates.seldom_gross)
    told = Told(names, share * information, pull, gross, problem.plates.sizes.gross_share)
    known = told.with_others(others)
    values, taken = known.values, np.zeros(several.shape[2])
    taken[motion], taken[constant] = 1.0, -values
    step = factor.backward((halved @ taken).reshape(right.shape))
    first, error = problem.inertias.count, problem.sizes.balance
    left = _left(rest, balance, step, effect @ values)
    if sizes_too:
        error = _balance_error(problem, left[:, _FORCE], float(np.trace(products[probed, probed])) / _PROBES)
    unbalanced = problem.sizes.balance * (left + problem.inertias.body_share(values[:first]) * by_scale)
    return Constants(
        step, values[:first], values[first:], known.sd[first:], known.drawn[first:], error, unbalanced, told
    )


def _constant_rows(problem: Problem, path: Path) -> FloatArray:
    """What one standard deviation of each unknown constant does to the balance (T, 6, P), in standard deviations."""
    mb = problem.model.multibody
    columns = problem.inertias.parameter_changes(problem.model)
    by_parameters = regressor(mb, path.q, path.v, path.vdot, rows=_ROOT).reshape(-1, len(columns))
    effect = (by_parameters @ columns).reshape(len(path.q), _ROOT, columns.shape[1])
    if problem.plates.count:
        change = problem.plates.changes(problem.wrenches).sum(axis=1)
        R, p = (part[:, 0] for part in body_poses(mb, path.q))
        about_root = change[:, :3] - cross_matrix(p) @ change[:, 3:]
        turned = [R.transpose(0, 2, 1) @ part for part in (about_root, change[:, 3:])]
        effect = np.concatenate([effect, -np.concatenate(turned, axis=1)], axis=2)
    return np.asarray(effect * (problem.balanced[:, None] / problem.sizes.balance)[:, :, None])


def _of_scale(problem: Problem, rest: FloatArray) -> FloatArray:
    """What one standard deviation of each inertia changes of the balance (T, 6, P) by the scale of its error.

    A model's error is a share of the body: one that weighs (1 + m) times as much is out of balance by (1 + m) times as much, and
    a rest r (T, 6) counts as r / (1 + m), to first order r - r m. Else a lighter body on plates that all read too much would
    always look better: every rest would shrink with the scale of everything.
    """
    return np.asarray(rest[:, :, None] * problem.inertias.of_body)


def _probes(problem: Problem) -> FloatArray:
    """Random signs (T, 6, P) on the forces of balanced frames: z^T A z is the trace of A on average (Hutchinson 1989)."""
    result = np.zeros((len(problem.balanced), 6, _PROBES))
    result[:, _FORCE] = np.random.default_rng(0).choice([-1.0, 1.0], result[:, _FORCE].shape)
    return result * problem.balanced[:, None, None]


def _rest(problem: Problem, balance: list[Rows]) -> FloatArray:
    """The balance (T, 6) before the step, in standard deviations."""
    result = np.zeros((len(problem.balanced), 6))
    for part in balance:
        result[part.frames] = part.rest
    return result


def _left(rest: FloatArray, balance: list[Rows], step: FloatArray, by_constants: FloatArray) -> FloatArray:
    """What the step leaves of the balance (T, 6), in standard deviations."""
    result = rest - by_constants
    for part in balance:
        for i in range(part.rows.shape[2]):
            result[part.frames] -= (part.rows[:, :, i] @ step[i : i + len(part.rest), :, None])[..., 0]
    return result


def _balance_error(problem: Problem, left: FloatArray, trace: float) -> FloatArray:
    """Return the error (6,) of the balance in a frame: that of the forces brought from the expected one towards the trial's own.

    One step of expectation and maximisation (Dempster et al. 1977): the mean square of what is left over (T, 3), and the `trace`
    of what the motion, uncertain itself, adds to it. It counts by the number of its independent samples, the expectation by its
    `_PRIOR_SAMPLES`. The moments' error stays: what plates and mass centres leave of them passes into the hips all the same.
    """
    sizes, own = problem.sizes, left[problem.balanced]
    result = sizes.balance.copy()
    if len(own):
        square = (float(np.sum(own**2)) + trace) / own.size
        samples = own.size / alike_for(own)
        found = (_PRIOR_SAMPLES + samples * square) / (_PRIOR_SAMPLES + samples)
        result[_FORCE] *= np.clip(np.sqrt(found), _LEAST_SHARE, _MOST_TIMES)
    return result


def alike_for(values: FloatArray) -> float:
    """Return for how many frames values (T, K) stay alike: the sum of their correlations up to the first lag without one."""
    total, power = 1.0, float(np.sum(values**2))
    for lag in range(1, len(values) // 2):
        correlation = float(np.sum(values[lag:] * values[:-lag])) / max(power, 1e-12)
        if correlation < _UNRELATED:
            break
        total += 2.0 * correlation
    return total
