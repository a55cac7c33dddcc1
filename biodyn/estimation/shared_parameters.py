"""Estimate of parameters that are constant in a trial (inertias, plate errors, error of the balance) from one or several walks.

Errors of a body model and of plates are correlated in time, so that a trial of T frames contains fewer independent samples. If
frames were treated as independent, mass centres would diverge. Each walk of a session contributes an information matrix and an
information vector with its motion eliminated; their sum with the prior gives the parameters of all walks.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from scipy.special import expit, logit

from biodyn.conventions import FloatArray
from biodyn.estimation.estimation_problem import EstimationProblem, StretchMotion, cross_matrix
from biodyn.estimation.normal_equation_terms import ROOT, BalanceRows
from biodyn.estimation.solver import CholeskyFactor
from biodyn.estimation.unknown_parameters import DELAY
from biodyn.rigid_body import body_poses, regressor


@dataclass(frozen=True)
class ParameterPosterior:
    """Posterior of parameters (P,) in units of their prior standard deviations.

    Attributes:
        values: mean with plates as in the file, except for errors on which walks of both directions agree.
        suggested, suggested_sd: mean and standard deviation if all plate errors are unknown.
    """

    values: FloatArray
    suggested: FloatArray
    suggested_sd: FloatArray


@dataclass(frozen=True)
class InformationForm:
    """Information that a stretch of a walk contains about parameters in units of their prior SDs; the motion is eliminated.

    Attributes:
        names: (P,) names of the parameters.
        information, vector: (P, P) and (P,); the estimate solves information @ x = vector.
        gross_groups: groups of parameters whose errors are all gross or all small.
        plate_groups: groups of plate parameters, one for each plate and kind, and one for the delay.
        heading: (2,) walking direction along the laboratory axes of the floor; zeros if unknown.
    """

    names: tuple[str, ...]
    information: FloatArray
    vector: FloatArray
    gross_groups: tuple[tuple[str, ...], ...]
    plate_groups: tuple[tuple[str, ...], ...]
    heading: FloatArray

    def combine(self, others: Sequence[InformationForm]) -> ParameterPosterior:
        """Return the posterior of the parameters from this information, that of `others`, and the prior.

        Inertias are the same in all walks of a person. Because a single walk cannot distinguish a shifted plate from a leaning
        trunk, plates are used as in the file, unless `plate_tests` finds the same error in walks of both directions. Forces are
        never shifted in time, because an apparent delay may be caused by soft tissue that lags behind the bones. The values
        suggested by the walks are returned separately.
        """
        forms = (self, *others)
        rejected = {name for test in plate_tests(forms) if test.verdict for name in test.names}
        used, _ = _combined_posterior(forms, fixed={*rejected, DELAY})
        return ParameterPosterior(*(part[: len(self.names)] for part in (used, *_combined_posterior(forms))))

    def label_by_person(self, person: str) -> InformationForm:
        """Return the information with the person added to the names of the inertias; plates and delay belong to the
        laboratory."""
        shared = {name for group in self.plate_groups for name in group}

        def label_names(names: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(name if name in shared else f"{person}: {name}" for name in names)

        return replace(self, names=label_names(self.names), gross_groups=tuple(map(label_names, self.gross_groups)))

    def estimate(self, name: str, values: Mapping[str, float]) -> tuple[float, float]:
        """Return the estimate of one parameter if all others have the given `values`, and its precision."""
        at = self.names.index(name)
        precision = max(float(self.information[at, at]), 1e-9)
        others = np.array([0.0 if other == name else values[other] for other in self.names])
        return float(self.vector[at] - self.information[at] @ others) / precision, precision


@dataclass(frozen=True)
class PlateTest:
    """Test whether walks agree on an error of a plate.

    Attributes:
        names: (n,) names of the parameters of one plate and kind. walks: number of walks in each of the two directions.
        scatter: largest Q per degree of freedom (Cochran) of all walks over the parameters.
        between: largest squared difference between the two directions divided by its variance.
        significance: largest ratio of the common estimate to its standard deviation.
    """

    names: tuple[str, ...]
    walks: tuple[int, int]
    scatter: float
    between: float
    significance: float

    @property
    def verdict(self) -> str:
        """Return "" if the error is accepted, otherwise the reason for its rejection."""
        if min(self.walks) < 2:
            return "fewer than two walks in each of two opposite directions"
        if self.scatter >= 1.5:
            return f"differs between walks (Q/dof {self.scatter:.1f}, limit 1.5)"
        if self.between >= 2.25:
            return f"depends on the walking direction (squared difference {self.between:.1f} variances, limit 2.25)"
        if self.significance <= 3.0:
            return f"not significant ({self.significance:.1f} standard deviations from zero, limit 3)"
        return ""


def plate_tests(forms: Sequence[InformationForm]) -> list[PlateTest]:
    """Test each kind of error of each plate.

    The error of a plate belongs to the laboratory and is the same in every walk, whereas a trunk lean and errors of segment
    masses turn with the person. Therefore at least two walks in each of two opposite directions are needed. All walks are
    fitted together, with inertias of each person and common plate errors. Then the value of an error in each walk, with all
    others as fitted, must scatter within its standard deviation, also between the two directions.
    """
    first = next((form.heading for form in forms if form.heading.any()), np.zeros(2))
    ways = [form.heading @ first for form in forms]
    names = list(dict.fromkeys(name for form in forms for name in form.names))
    values, sd = (dict(zip(names, part.tolist(), strict=True)) for part in _combined_posterior(forms))
    tests = []
    for group in dict.fromkeys(group for form in forms for group in form.plate_groups if group != (DELAY,)):
        showing = [(form, way) for form, way in zip(forms, ways, strict=True) if group in form.plate_groups]
        sides = [[form for form, way in showing if sign * way > 0.5] for sign in (1.0, -1.0)]
        numbers = [
            _parameter_scatter([[form.estimate(name, values) for form in side] for side in sides]) for name in group
        ]
        scatter, between = (max(column) for column in zip(*numbers, strict=True))
        significance = max(abs(values[name]) / sd[name] for name in group)
        tests.append(PlateTest(group, (len(sides[0]), len(sides[1])), scatter, between, significance))
    return tests


def accepted_plate_errors(forms: Sequence[InformationForm]) -> tuple[list[PlateTest], dict[str, tuple[float, float]]]:
    """Return the tests, and mean and standard deviation of each accepted error in units of the prior SDs.

    The inertias of different persons must have different names.
    """
    tests = plate_tests(forms)
    fixed = {DELAY, *(name for test in tests if test.verdict for name in test.names)}
    names = dict.fromkeys(name for form in forms for name in form.names)
    values, sd = _combined_posterior(forms, fixed)
    found = dict(zip(names, zip(values.tolist(), sd.tolist(), strict=True), strict=True))
    return tests, {name: found[name] for test in tests if not test.verdict for name in test.names}


def _parameter_scatter(sides: Sequence[Sequence[tuple[float, float]]]) -> tuple[float, float]:
    """Return `scatter` and `between` (see `PlateTest`) of a parameter.

    sides: for each walking direction, (value, precision) of the parameter in each walk.
    """
    if not all(sides):
        return 0.0, 0.0
    values, precision = np.array([walk for side in sides for walk in side]).T
    q = float(precision @ (values - precision @ values / precision.sum()) ** 2) / (len(values) - 1)
    (one, one_w), (other, other_w) = (((w @ v) / w.sum(), w.sum()) for v, w in (np.array(side).T for side in sides))
    return q, float((one - other) ** 2 / (1.0 / one_w + 1.0 / other_w))


def _combined_posterior(
    forms: Sequence[InformationForm], fixed: Collection[str] = (), gross_share: float = 0.01
) -> tuple[FloatArray, FloatArray]:
    """Return mean and standard deviation of all parameters, the first form first.

    fixed: names of parameters that are 0. The prior of a group that is grossly wrong with probability `gross_share` is a
    mixture of two normal densities, which shrinks small errors toward 0 but hardly affects gross errors. The component is
    determined by expectation maximisation (Dempster et al. 1977).
    """
    names = list(dict.fromkeys(name for form in forms for name in form.names))
    information, vector = np.zeros((len(names), len(names))), np.zeros(len(names))
    for form in forms:
        at = np.array([names.index(name) for name in form.names], dtype=np.int64)
        information[np.ix_(at, at)] += form.information
        vector[at] += form.vector
    free = np.array([name not in fixed for name in names], dtype=np.float64)
    information, vector = information * np.outer(free, free), vector * free
    groups = {group for form in forms for group in (*form.gross_groups, *form.plate_groups)}
    places = [[names.index(name) for name in group] for group in groups]
    most_iterations, tolerance = 50, 1e-6
    prior = np.ones(len(names))
    for _ in range(most_iterations):
        covariance = np.linalg.inv(information + np.diag(prior))
        values, variance, used = covariance @ vector, np.diag(covariance), prior.copy()
        for group in places:
            square = float(np.sum(values[group] ** 2 + variance[group]))
            prior[group] = _prior_precision(square, len(group), gross_share)
        if np.abs(prior - used).max(initial=0.0) < tolerance:
            break
    return values, np.sqrt(variance) * free


def _prior_precision(square: float, count: int, gross_share: float, gross_sd: float = 8.0) -> float:
    """Return the expected prior precision of `count` parameters with the sum of squares `square`; gross_sd: in prior SDs."""
    log_odds = 0.5 * square * (1.0 - gross_sd**-2) - count * np.log(gross_sd) + logit(gross_share)
    gross = expit(log_odds)
    return float(1.0 - gross + gross / gross_sd**2)


_FORCE = slice(3, 6)
_PROBES = 4  # number of vectors of random signs, for an accuracy of the trace of some per cent


@dataclass(frozen=True)
class EstimatedParameters:
    """Estimate of the parameters, and the corresponding step of the motion.

    Attributes:
        step: (count, nv) change of the coefficients of the motion. inertias: parameters in units of their prior SDs.
        plates: posterior of the parameters of the plates; its `values` are the corrections.
        balance: (6,) error of the balance per frame. unbalanced: (T, 6) residual of the balance, Nm and N.
        shared_parameters: information of this stretch alone on inertias and plates.
    """

    step: FloatArray
    inertias: FloatArray
    plates: ParameterPosterior
    balance: FloatArray
    unbalanced: FloatArray
    shared_parameters: InformationForm


def estimate_parameters(
    problem: EstimationProblem,
    factor: CholeskyFactor,
    balance: list[BalanceRows],
    path: StretchMotion,
    right: FloatArray,
    earlier: EstimatedParameters | None = None,
    others: tuple[InformationForm, ...] = (),
) -> EstimatedParameters:
    """Estimate the parameters and the step of the motion from equations with the right side `right` (count, nv).

    others: information from other walks of the session on the parameters. earlier: estimate from earlier equations, whose error
    of the balance is kept; None = the error of the balance is also estimated.
    """
    effect = _parameter_effects_on_balance(problem, path)
    residual = _scaled_residual(problem, balance)
    estimate_balance = earlier is None
    scaled = residual if earlier is None else earlier.unbalanced * (problem.balanced[:, None] / problem.sizes.balance)
    effect[:, :, : problem.inertias.count] += _scale_effects_on_balance(problem, scaled)
    count, probes = effect.shape[2], _PROBES if estimate_balance else 0
    columns = np.concatenate([effect, _random_signs(problem)[:, :, :probes]], axis=2)
    gradient, sides = np.zeros(count), np.zeros((*right.shape, columns.shape[2] + 1))
    parameter, probed, motion = slice(0, count), slice(count, -1), -1
    for part in balance:
        gradient += np.einsum("tip,ti->p", effect[part.frames], part.rest)
        for s in range(part.rows.shape[2]):
            sides[s : s + len(part.rows), :, :-1] += part.rows[:, :, s].transpose(0, 2, 1) @ columns[part.frames]
    sides[:, :, motion] = right
    forward = factor.solve_forward(sides).reshape(-1, sides.shape[2])
    flat, products = effect.reshape(6 * len(effect), count), forward.T @ forward
    information = flat.T @ flat - products[parameter, parameter]
    share = 1.0 / problem.sizes.alike_frames
    form = InformationForm(
        (*problem.inertias.names, *problem.plates.names),
        share * information,
        share * (gradient - products[parameter, motion]),
        problem.inertias.gross_groups,
        problem.plates.groups,
        problem.plates.axes_W[:, 0] if problem.plates.count else np.zeros(2),
    )
    posterior = form.combine(others)
    values, weights = posterior.values, np.zeros(sides.shape[2])
    weights[motion], weights[parameter] = 1.0, -values
    step = factor.solve_backward((forward @ weights).reshape(right.shape))
    first, error = problem.inertias.count, problem.sizes.balance
    remaining = _residual_after_step(residual, balance, step, effect @ values)
    if estimate_balance:
        error = _balance_error(problem, remaining[:, _FORCE], float(np.trace(products[probed, probed])) / _PROBES)
    unbalanced = problem.sizes.balance * (
        remaining + problem.inertias.relative_body_mass_change(values[:first]) * scaled
    )
    plates = ParameterPosterior(*(getattr(posterior, part.name)[first:] for part in fields(posterior)))
    return EstimatedParameters(step, values[:first], plates, error, unbalanced, form)


def _parameter_effects_on_balance(problem: EstimationProblem, path: StretchMotion) -> FloatArray:
    """Return the effect of one SD of each parameter on the balance (T, 6, P), in SDs of the balance."""
    mb = problem.model.multibody
    columns = problem.inertias.inertial_parameter_changes(problem.model)
    by_parameters = regressor(mb, path.q, path.v, path.vdot, rows=ROOT).reshape(-1, len(columns))
    effect = (by_parameters @ columns).reshape(len(path.q), ROOT, columns.shape[1])
    if problem.plates.count:
        change = problem.plates.wrench_changes(problem.wrenches).sum(axis=1)
        R, p = (part[:, 0] for part in body_poses(mb, path.q))
        about_root = change[:, :3] - cross_matrix(p) @ change[:, 3:]
        in_root = [R.transpose(0, 2, 1) @ part for part in (about_root, change[:, 3:])]
        effect = np.concatenate([effect, -np.concatenate(in_root, axis=1)], axis=2)
    return np.asarray(effect * (problem.balanced[:, None] / problem.sizes.balance)[:, :, None])


def _scale_effects_on_balance(problem: EstimationProblem, residual: FloatArray) -> FloatArray:
    """Return the effect (T, 6, P) of one SD of each inertia on the balance through the scale of the balance error.

    Errors of a model are proportional to the body: a body with (1 + m) times the mass has (1 + m) times the error of the
    balance. A residual r (T, 6) is therefore divided by 1 + m, to first order r - r m. Otherwise a lighter body on plates with
    too large gains would always fit better, because all residuals decrease with the scale.
    """
    return np.asarray(residual[:, :, None] * problem.inertias.body_mass_sensitivity)


def _random_signs(problem: EstimationProblem) -> FloatArray:
    """Return random signs z (T, 6, P) for the forces of balanced frames; the mean of z^T A z is the trace of A (Hutchinson
    1989)."""
    result = np.zeros((len(problem.balanced), 6, _PROBES))
    result[:, _FORCE] = np.random.default_rng(0).choice([-1.0, 1.0], result[:, _FORCE].shape)
    return result * problem.balanced[:, None, None]


def _scaled_residual(problem: EstimationProblem, balance: list[BalanceRows]) -> FloatArray:
    """Return the residual of the force balance (T, 6) before the step, in standard deviations."""
    result = np.zeros((len(problem.balanced), 6))
    for part in balance:
        result[part.frames] = part.rest
    return result


def _residual_after_step(
    residual: FloatArray, balance: list[BalanceRows], step: FloatArray, by_parameters: FloatArray
) -> FloatArray:
    """Return the residual of the force balance (T, 6) after the step, in standard deviations.

    by_parameters: change (T, 6) due to inertias and plate errors.
    """
    result = residual - by_parameters
    for part in balance:
        for i in range(part.rows.shape[2]):
            result[part.frames] -= (part.rows[:, :, i] @ step[i : i + len(part.rest), :, None])[..., 0]
    return result


def _balance_error(problem: EstimationProblem, residual: FloatArray, trace: float) -> FloatArray:
    """Return the standard deviation (6,) of the force balance per frame.

    For forces it combines the expected error with the residual of the trial; for moments it is the expected error.

    This is one step of expectation maximisation (Dempster et al. 1977): the mean square of the residual (T, 3), plus the
    `trace` due to the uncertain motion, is weighted by the number of independent samples; the expected error counts as four
    samples. The result is limited to between a quarter of and ten times the expected error. The residual moments are not used,
    because moments that plates and mass centres do not explain affect the hips in any case.
    """
    result, values = problem.sizes.balance.copy(), residual[problem.balanced]
    if len(values):
        square = (float(np.sum(values**2)) + trace) / values.size
        samples, prior_samples = values.size / correlation_length(values), 4.0
        variance = (prior_samples + samples * square) / (prior_samples + samples)
        result[_FORCE] *= np.clip(np.sqrt(variance), 0.25, 10.0)
    return result


def correlation_length(values: FloatArray, least_correlation: float = 0.05) -> float:
    """Return the correlation length of values (T, K) in frames: the sum of correlations before the first below the least one."""
    total, power = 1.0, float(np.sum(values**2))
    for lag in range(1, len(values) // 2):
        correlation = float(np.sum(values[lag:] * values[:-lag])) / max(power, 1e-12)
        if correlation < least_correlation:
            break
        total += 2.0 * correlation
    return total
