"""Linear mixed models of repeated measures: fixed effects of conditions, groups and covariates, random subjects.

``y = X b + Z u + e``, u ~ N(0, D) for each subject, e ~ N(0, s2): fitted by restricted maximum likelihood (REML; Laird & Ware
1982, Biometrics 38:963-974) with statsmodels (Seabold & Perktold 2010). Unlike a repeated-measures analysis of variance it
allows several trials per condition and subjects with missing conditions.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike

from biodyn.conventions import FloatArray, IntArray
from biodyn.diagnostics import Diagnostic
from biodyn.errors import StatisticsError
from biodyn.statistics.comparisons import CONFIDENCE
from biodyn.statistics.spm.linear_model import encode_labels


@dataclass(frozen=True)
class MixedTerm:
    """One fixed effect, e.g. ``condition[fast]``: the difference from the reference level, or the slope for a covariate.

    Attributes:
        term: its name; an interaction is joined by ``:``.
        estimate, standard_error: coefficient and its standard error, in the unit of the values.
        t, df, p: two-tailed Wald test; the degrees of freedom are those of the level (within or between subjects) of the term.
        low, high: confidence limits.
    """

    term: str
    estimate: float
    standard_error: float
    t: float
    df: float
    p: float
    low: float
    high: float


@dataclass(frozen=True)
class MixedTest:
    """Joint test of all coefficients of one factor, covariate or interaction (Wald F)."""

    effect: str
    f: float
    df: tuple[float, float]
    p: float


@dataclass(frozen=True)
class MixedModel:
    """A fitted linear mixed model.

    Attributes:
        terms: fixed effects, the intercept (all factors at their reference, all covariates zero) first.
        tests: joint tests of effects.
        subject_variance: variance of the random intercepts.
        residual_variance: s2.
        icc: share of the unexplained variance that is between subjects.
        observations, subjects: number of values and of subjects in the model.
        references: reference level of each factor.
        converged: whether the likelihood's maximum was found.
        diagnostics: findings about excluded values, convergence, variances at a bound.
    """

    terms: tuple[MixedTerm, ...]
    tests: tuple[MixedTest, ...]
    subject_variance: float
    residual_variance: float
    icc: float
    observations: int
    subjects: int
    references: dict[str, object]
    converged: bool
    diagnostics: tuple[Diagnostic, ...] = ()

    def methods_text(self) -> str:
        """Return a description of the model and its tests for the methods section of a paper."""
        effects = ", ".join(test.effect for test in self.tests) or "the mean"
        return (
            f"Linear mixed model of {effects} with random intercepts of {self.subjects} subjects ({self.observations} values), "
            "fitted by restricted maximum likelihood (statsmodels); Wald tests with the degrees of freedom of the level a term "
            "varies at (Pinheiro & Bates 2000)."
        )


def fit_mixed_model(
    values: ArrayLike,
    subjects: Sequence[object] | ArrayLike,
    factors: Mapping[str, Sequence[object] | ArrayLike] | None = None,
    covariates: Mapping[str, ArrayLike] | None = None,
    interactions: Sequence[tuple[str, str]] = (),
    references: Mapping[str, object] | None = None,
    confidence: float = CONFIDENCE,
) -> MixedModel:
    """Fit values (n,) on factors and covariates with a random intercept for each subject.

    Parameters:
        values: (n,) one per trial or cycle; NaN is excluded.
        subjects: (n,) subject of each value.
        factors: labels (n,) by name, e.g. condition, group; coded as differences from a reference level.
        covariates: numbers (n,) by name, e.g. speed. Centre them if zero is not meaningful.
        interactions: pairs of names of factors or covariates.
        references: reference level of each factor; by default the first one that occurs.

    Degrees of freedom: a term that changes within a subject has ``n - subjects - inner terms``, one that does not
    ``subjects - 1 - outer terms`` (Pinheiro & Bates 2000, 2.4.2, as R's nlme). Exact for balanced data, an approximation
    otherwise. Problems of the fit are reported in `diagnostics`.

    Raises:
        StatisticsError: lengths differ, a name is unknown, a term is collinear with the others, or there are too few values.
    """
    y = np.asarray(values, dtype=float)
    if y.ndim != 1:
        raise StatisticsError(f"values: expected a list of numbers, found shape {y.shape}.")
    who = encode_labels(subjects, len(y), "subjects")[0]
    numbers = {name: np.asarray(column, dtype=float) for name, column in (covariates or {}).items()}
    if any(column.shape != y.shape for column in numbers.values()):
        raise StatisticsError(f"covariates: expected one number per value ({len(y)}) for each of {list(numbers)}.")
    labels = {name: np.asarray(column, dtype=object) for name, column in (factors or {}).items()}
    if any(column.shape != y.shape for column in labels.values()):
        raise StatisticsError(f"factors: expected one label per value ({len(y)}) for each of {list(labels)}.")
    valid = np.isfinite(y) & np.all([np.isfinite(column) for column in numbers.values()] or [np.isfinite(y)], axis=0)
    missing, diagnostics = int((~valid).sum()), tuple[Diagnostic, ...]()
    if missing:
        message = f"{missing} values were excluded, because they or their covariates are missing."
        diagnostics = (Diagnostic("statistics-missing", "info", message, value=float(missing), unit="values"),)
    y, who = y[valid], np.unique(who[valid], return_inverse=True)[1].astype(np.int64)
    matrix, names, effects, used = fixed_effects_design(
        {name: column[valid] for name, column in labels.items()},
        {name: column[valid] for name, column in numbers.items()},
        interactions,
        references or {},
        len(y),
    )
    df = inner_outer_degrees_of_freedom(matrix, who)
    if df.min() < 1.0:
        raise StatisticsError(
            f"{len(y)} values of {int(who.max()) + 1} subjects are too few for {len(df)} fixed effects.",
            "A mixed model needs repeated values. Compare the groups directly if there is one value per subject.",
        )
    fixed, covariance, random, residual, converged, findings = fit_reml(y, matrix, who)
    return MixedModel(
        terms=_fixed_effects(names, fixed, covariance, df, confidence),
        tests=_effect_tests(effects, fixed, covariance, df),
        subject_variance=random,
        residual_variance=residual,
        icc=random / (random + residual),
        observations=len(y),
        subjects=int(who.max()) + 1,
        references=used,
        converged=converged,
        diagnostics=diagnostics + findings,
    )


def _fixed_effects(
    names: Sequence[str], fixed: FloatArray, covariance: FloatArray, df: FloatArray, confidence: float
) -> tuple[MixedTerm, ...]:
    errors = np.sqrt(np.diag(covariance))
    terms = []
    for name, estimate, error, degrees in zip(names, fixed, errors, df, strict=True):
        half = float(scipy.stats.t.ppf(0.5 * (1.0 + confidence), degrees)) * error
        t = float(estimate / error)
        terms.append(
            MixedTerm(
                term=name,
                estimate=float(estimate),
                standard_error=float(error),
                t=t,
                df=float(degrees),
                p=float(2.0 * scipy.stats.t.sf(abs(t), degrees)),
                low=float(estimate - half),
                high=float(estimate + half),
            )
        )
    return tuple(terms)


def _effect_tests(
    effects: Mapping[str, list[int]], fixed: FloatArray, covariance: FloatArray, df: FloatArray
) -> tuple[MixedTest, ...]:
    tests = []
    for effect, columns in effects.items():
        estimate = fixed[columns]
        f = float(estimate @ np.linalg.solve(covariance[np.ix_(columns, columns)], estimate)) / len(columns)
        degrees = (float(len(columns)), float(df[columns].min()))
        tests.append(MixedTest(effect, f, degrees, float(scipy.stats.f.sf(f, *degrees))))
    return tuple(tests)


# -- Fixed effects as columns of a matrix ---------------------------------------------------------------------------


#: Columns of the fixed effects (n, p), the intercept first; their names; columns of each factor, covariate and interaction;
#: reference level of each factor.
Design = tuple[FloatArray, list[str], dict[str, list[int]], dict[str, object]]


def fixed_effects_design(
    factors: Mapping[str, np.ndarray],
    covariates: Mapping[str, FloatArray],
    interactions: Sequence[tuple[str, str]],
    references: Mapping[str, object],
    count: int,
) -> Design:
    """Return the design columns: intercept, factor levels except the reference, covariates, products of pairs.

    Raises:
        StatisticsError: unknown names, a factor of one level, or columns that depend on each other.
    """
    both = set(factors) & set(covariates)
    if both:
        raise StatisticsError(f"{sorted(both)} are both factors and covariates.")
    blocks: dict[str, list[tuple[str, FloatArray]]] = {}
    used: dict[str, object] = {}
    for name, labels in factors.items():
        levels = list(dict.fromkeys(labels.tolist()))
        reference = references.get(name, levels[0] if levels else None)
        if reference not in levels or len(levels) < 2:
            raise StatisticsError(
                f"Factor {name!r} needs at least two levels, including the reference {reference!r}; found {levels}."
            )
        used[name] = reference
        blocks[name] = [(f"{name}[{level}]", (labels == level).astype(float)) for level in levels if level != reference]
    blocks.update({name: [(name, column)] for name, column in covariates.items()})
    for first, second in interactions:
        missing = [name for name in (first, second) if name not in blocks]
        if missing:
            raise StatisticsError(
                f"An interaction contains unknown names: {missing} (known: {', '.join(blocks) or 'none'})."
            )
        blocks[f"{first}:{second}"] = [(f"{a}:{b}", x * y) for a, x in blocks[first] for b, y in blocks[second]]
    names, columns, effects = ["intercept"], [np.ones(count)], {}
    for effect, block in blocks.items():
        effects[effect] = list(range(len(names), len(names) + len(block)))
        names += [name for name, _ in block]
        columns += [column for _, column in block]
    matrix = np.column_stack(columns)
    lengths = np.linalg.norm(matrix, axis=0)
    if (lengths == 0.0).any() or np.linalg.matrix_rank(matrix / lengths) < len(names):
        raise StatisticsError(
            f"The data do not distinguish these effects: {', '.join(names[1:])}.",
            "Check for combinations of levels that never occur, or a constant covariate.",
        )
    return matrix, names, effects, used


# -- Denominator degrees of freedom (inner-outer rule) ---------------------------------------------------------------


def inner_outer_degrees_of_freedom(matrix: FloatArray, who: IntArray) -> FloatArray:
    """Return the degrees of freedom (p,) of the columns of (n, p) with a random intercept for each of the subjects (n,).

    ``n - subjects - inner`` for columns that change within some subject, and the intercept (as in R's nlme);
    ``subjects - 1 - outer`` for those that do not.
    """
    round_off = 1e-9  # round-off of a few hundred sums, relative to the column
    subjects = np.unique(who)
    within_subject = np.empty_like(matrix)
    for subject in subjects:
        rows = who == subject
        within_subject[rows] = matrix[rows] - matrix[rows].mean(axis=0)
    inner = np.linalg.norm(within_subject, axis=0) > round_off * np.linalg.norm(matrix, axis=0)
    inner[0] = True
    within = len(matrix) - len(subjects) - (int(inner.sum()) - 1)
    between = len(subjects) - 1 - int((~inner).sum())
    return np.where(inner, float(within), float(between))


# -- REML fit by statsmodels ----------------------------------------------------------------------------------------


# optimisers of statsmodels; the next one is used if one does not converge
_OPTIMISERS = ("bfgs", "lbfgs", "powell")


#: Fixed effects (p,), their covariance (p, p), and the variances of the random intercept and of the residual, in the values'
#: unit; whether an optimiser converged; problems of the fit.
Fit = tuple[FloatArray, FloatArray, float, float, bool, tuple[Diagnostic, ...]]


def fit_reml(values: FloatArray, matrix: FloatArray, who: IntArray) -> Fit:
    """Fit values (n,) on matrix (n, p), whose first column is ones, with random intercepts of the subjects `who` (n,) by REML.

    Raises:
        StatisticsError: the values do not vary about the fixed effects.
    """
    # gradient tolerance for unit-variance values; the default 1e-5 yields only 4 digits of a variance
    gradient_tolerance = 1e-7
    from statsmodels.regression.mixed_linear_model import MixedLM  # imported here, because the import is slow

    spread = float(np.std(values - matrix @ np.linalg.lstsq(matrix, values, rcond=None)[0]))
    if not spread > 1e-12 * max(float(np.abs(values).max()), 1e-300):
        raise StatisticsError(
            "The values do not vary about the fixed effects.", "Check whether they are copies of each other."
        )
    centre = float(values.mean())
    model = MixedLM((values - centre) / spread, matrix, groups=who, exog_re=np.ones((len(values), 1)))
    fit, optimiser_messages = None, list[str]()
    for optimiser in _OPTIMISERS:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            options = {} if optimiser == "powell" else {"gtol": gradient_tolerance}
            try:
                fit = model.fit(reml=True, method=optimiser, maxiter=1000, **options)
            except np.linalg.LinAlgError as error:
                # a step outside the range of valid variances; the next optimiser may avoid it
                optimiser_messages.append(f"{optimiser}: {error}")
                continue
        optimiser_messages += [f"{optimiser}: {entry.message}" for entry in caught]
        if fit.converged:
            break
    if fit is None:
        reasons = "; ".join(optimiser_messages)
        raise StatisticsError(f"The mixed model could not be fitted ({reasons}).", "Use fewer effects.")
    fixed = spread * np.asarray(fit.fe_params)
    fixed[0] += centre
    p, share = len(fixed), float(np.asarray(fit.cov_re).item())
    covariance = spread**2 * np.asarray(fit.cov_params())[:p, :p]
    findings = _fit_findings(bool(fit.converged), share / float(fit.scale), optimiser_messages)
    return fixed, covariance, spread**2 * share, float(spread**2 * fit.scale), bool(fit.converged), findings


def _fit_findings(converged: bool, ratio: float, optimiser_messages: list[str]) -> tuple[Diagnostic, ...]:
    """Return the findings about a fit; `ratio`: variance of the random intercept relative to the residual variance."""
    least_ratio = 1e-6  # smaller random variances are at the boundary (the estimate is zero)
    message = "; ".join(optimiser_messages)
    doubts = []
    if not converged:
        message = f"The maximum of the likelihood was not found: {message}"
        hint = "Do not use the results. Check for values of a different order of magnitude."
        doubts.append(Diagnostic("mixed-not-converged", "warning", message, hint=hint))
    elif optimiser_messages:
        doubts.append(
            Diagnostic("mixed-trouble", "info", f"The fit converged, but an optimiser reported a problem: {message}")
        )
    if ratio < least_ratio:
        doubts.append(
            Diagnostic(
                "mixed-singular",
                "warning",
                "The variance of the random effects is zero (singular fit), so that subjects differ only by chance.",
                value=ratio,
                limit=least_ratio,
                unit="of the residual variance",
                hint="The fixed effects remain valid.",
            )
        )
    return tuple(doubts)
