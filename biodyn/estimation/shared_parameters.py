"""Parameters that do not change in a trial: inertias, plate errors, and the error of the balance, from one or several walks.

The errors of a body model and of plates stay alike for some time: a trial of T frames holds as many independent samples as its
errors change. With frames taken for independent, mass centres would run away. Each walk of a session contributes an information
matrix and a gradient with its motion eliminated; their sum with the prior gives the parameters of all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit

from biodyn.conventions import FloatArray
from biodyn.estimation.problem import Path, Problem, cross_matrix
from biodyn.estimation.solver import CholeskyFactor
from biodyn.estimation.terms import Rows
from biodyn.rigid_body import body_poses
from biodyn.rigid_body.dynamics import regressor

# How far a gross error goes, in standard deviations of the usual ones; until when the shares of both are found anew.
_GROSS = 8.0
_MOST_ROUNDS, _SETTLED = 50, 1e-6


@dataclass(frozen=True)
class ParameterPosterior:
    """EstimatedParameters (P,) after all that was told, in standard deviations of before.

    Attributes:
        values, sd: the constants, and the standard deviations that are left.
        prior_sd: what each was drawn towards 0 with: 1 = its own standard deviation, more where its error is a gross one.
    """

    values: FloatArray
    sd: FloatArray
    prior_sd: FloatArray


@dataclass(frozen=True)
class InformationForm:
    """What a stretch tells of constants, in standard deviations of before, the motion left free.

    Attributes:
        names: (P,) of the constants. information: (P, P), and pull (P,): the value is where information @ value = pull.
        outlier_groups: groups of names whose errors are usual ones or, seldom, gross ones, each group as a whole.
        outlier_share: how seldom.
    """

    names: tuple[str, ...]
    information: FloatArray
    pull: FloatArray
    outlier_groups: tuple[tuple[str, ...], ...] = ()
    outlier_share: float = 0.0

    def combine(self, others: Sequence[InformationForm]) -> ParameterPosterior:
        """Return the own constants, from all that is told of them and of before.

        What is believed before of an error that may be gross is a mixture of two normal densities. Which of them it is of is
        found by expectation and maximisation (Dempster et al. 1977): a small error is drawn towards 0 as ever, a large one
        hardly.
        """
        names = list(dict.fromkeys((*self.names, *(name for other in others for name in other.names))))
        information, pull = np.zeros((len(names), len(names))), np.zeros(len(names))
        for told in (self, *others):
            at = np.array([names.index(name) for name in told.names], dtype=np.int64)
            information[np.ix_(at, at)] += told.information
            pull[at] += told.pull
        may_be_gross = {group for told in (self, *others) for group in told.outlier_groups if self.outlier_share}
        places = [[names.index(name) for name in group] for group in may_be_gross]
        before = np.ones(len(names))
        for _ in range(_MOST_ROUNDS):
            left = np.linalg.inv(information + np.diag(before))
            values, variance, last = left @ pull, np.diag(left), before.copy()
            for group in places:
                square = float(np.sum(values[group] ** 2 + variance[group]))
                before[group] = _precision(square, len(group), self.outlier_share)
            if np.abs(before - last).max(initial=0.0) < _SETTLED:
                break
        count = len(self.names)
        return ParameterPosterior(values[:count], np.sqrt(variance[:count]), 1.0 / np.sqrt(last[:count]))


def _precision(square: float, count: int, outlier_share: float) -> float:
    """Expected precision of `count` numbers with this sum of squares, of usual errors (1) or of gross ones."""
    log_odds = 0.5 * square * (1.0 - _GROSS**-2) - count * np.log(_GROSS) + logit(outlier_share)
    gross = expit(log_odds)
    return float(1.0 - gross + gross / _GROSS**2)


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
class EstimatedParameters:
    """What is found beside the motion.

    Attributes:
        step: (count, nv) of the motion that goes with it. inertias, plates: the unknowns, in standard deviations of before.
        plates_sd: standard deviations left of the latter, in the same; plates_prior_sd: those they were drawn towards 0 with.
        balance: (6,) error of the balance in a frame. unbalanced: (T, 6) Nm and N, what is left of the balance itself.
        shared_parameters: information of the stretch alone on inertias and plates.
    """

    step: FloatArray
    inertias: FloatArray
    plates: FloatArray
    plates_sd: FloatArray
    plates_prior_sd: FloatArray
    balance: FloatArray
    unbalanced: FloatArray
    shared_parameters: InformationForm


def estimate_parameters(
    problem: Problem,
    factor: CholeskyFactor,
    balance: list[Rows],
    path: Path,
    right: FloatArray,
    before: EstimatedParameters | None = None,
    others: tuple[InformationForm, ...] = (),
) -> EstimatedParameters:
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
    gross = (*problem.inertias.outlier_groups, *problem.plates.outlier_groups)
    told = InformationForm(names, share * information, pull, gross, problem.plates.sizes.outlier_share)
    known = told.combine(others)
    values, taken = known.values, np.zeros(several.shape[2])
    taken[motion], taken[constant] = 1.0, -values
    step = factor.backward((halved @ taken).reshape(right.shape))
    first, error = problem.inertias.count, problem.sizes.balance
    left = _left(rest, balance, step, effect @ values)
    if sizes_too:
        error = _balance_error(problem, left[:, _FORCE], float(np.trace(products[probed, probed])) / _PROBES)
    unbalanced = problem.sizes.balance * (left + problem.inertias.body_share(values[:first]) * by_scale)
    return EstimatedParameters(
        step, values[:first], values[first:], known.sd[first:], known.prior_sd[first:], error, unbalanced, told
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
        samples = own.size / correlation_length(own)
        found = (_PRIOR_SAMPLES + samples * square) / (_PRIOR_SAMPLES + samples)
        result[_FORCE] *= np.clip(np.sqrt(found), _LEAST_SHARE, _MOST_TIMES)
    return result


def correlation_length(values: FloatArray) -> float:
    """Return for how many frames values (T, K) stay alike: the sum of their correlations up to the first lag without one."""
    total, power = 1.0, float(np.sum(values**2))
    for lag in range(1, len(values) // 2):
        correlation = float(np.sum(values[lag:] * values[:-lag])) / max(power, 1e-12)
        if correlation < _UNRELATED:
            break
        total += 2.0 * correlation
    return total
