"""Linear mixed models of repeated measures: fixed effects of conditions, groups and covariates, random subjects.

``y = X b + Z u + e``, u ~ N(0, D) for each subject, e ~ N(0, s2): fitted by restricted maximum likelihood (REML; Laird & Ware
1982, Biometrics 38:963-974) with statsmodels (Seabold & Perktold 2010). Unlike a repeated-measures analysis of variance it
takes several trials per condition and subjects with missing conditions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.errors import StatisticsError
from biodyn.statistics.levels import CONFIDENCE
from biodyn.statistics.missing import left_out
from biodyn.statistics.mixed_design import Design, fixed_effects
from biodyn.statistics.mixed_df import containment, inner_outer
from biodyn.statistics.mixed_fit import Fit, fit_reml
from biodyn.statistics.spm.curves import coded


@dataclass(frozen=True)
class MixedTerm:
    """One fixed effect, e.g. ``condition[fast]``: the difference from the reference level, or the slope on a covariate.

    Attributes:
        term: its name; an interaction is joined by ``:``.
        estimate, standard_error: in the values' unit.
        t, df, p: Wald test, two-tailed, with the degrees of freedom of the level the term varies at.
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
    """All coefficients of one factor, covariate or interaction at once (Wald F)."""

    effect: str
    f: float
    df: tuple[float, float]
    p: float


@dataclass(frozen=True)
class MixedModel:
    """A fitted linear mixed model.

    Attributes:
        terms: fixed effects, the intercept (all factors at their reference, all covariates zero) first.
        tests: of whole effects.
        subject_variance: of the random intercepts.
        slope_variance, intercept_slope_covariance: of the random slopes, NaN without.
        residual_variance: s2.
        icc: share of the unexplained variance that is between subjects, NaN with random slopes (no one number).
        observations, subjects: used.
        references: reference level of each factor.
        converged: whether the likelihood's maximum was found.
        confidence: of the limits.
        diagnostics: values left out, no convergence, variances on the edge of what is possible.
    """

    terms: tuple[MixedTerm, ...]
    tests: tuple[MixedTest, ...]
    subject_variance: float
    slope_variance: float
    intercept_slope_covariance: float
    residual_variance: float
    icc: float
    observations: int
    subjects: int
    references: dict[str, object]
    converged: bool
    confidence: float
    diagnostics: tuple[Diagnostic, ...] = ()

    def methods(self) -> str:
        """Return what was done, for the methods section."""
        effects = ", ".join(test.effect for test in self.tests) or "the mean"
        sloped = not np.isnan(self.slope_variance)
        random = "random intercepts and slopes" if sloped else "random intercepts"
        rule = " by containment" if sloped else " (Pinheiro & Bates 2000)"
        return (
            f"Linear mixed model of {effects} with {random} of {self.subjects} subjects ({self.observations} values), fitted by "
            "restricted maximum likelihood (statsmodels); Wald tests with the degrees of freedom of the level a term varies "
            f"at{rule}."
        )


def mixed_model(
    values: ArrayLike,
    subjects: Sequence[object] | ArrayLike,
    factors: Mapping[str, Sequence[object] | ArrayLike] | None = None,
    covariates: Mapping[str, ArrayLike] | None = None,
    interactions: Sequence[tuple[str, str]] = (),
    slope: str | None = None,
    references: Mapping[str, object] | None = None,
    confidence: float = CONFIDENCE,
) -> MixedModel:
    """Fit values (n,) on factors and covariates with a random intercept, and optionally a random slope, for each subject.

    Parameters:
        values: (n,) one per trial or cycle; NaN is left out.
        subjects: (n,) whom each value is from.
        factors: labels (n,) by name, e.g. condition, group; coded as differences from a reference level.
        covariates: numbers (n,) by name, e.g. speed. Centre them where zero means nothing.
        interactions: pairs of names of factors or covariates.
        slope: covariate whose effect differs from subject to subject.
        references: reference level by factor; the first that occurs where not given.

    Degrees of freedom: a term that changes within a subject has ``n - subjects - inner terms``, one that does not
    ``subjects - 1 - outer terms`` (Pinheiro & Bates 2000, 2.4.2, as R's nlme). With a random slope the slope, its products
    with differences between subjects, and the intercept are tested against the spread between subjects (containment;
    one slope: ``subjects - 1``). Exact for balanced data, an approximation otherwise. Trouble with the fit is in
    `diagnostics`.

    Raises:
        StatisticsError: lengths differ, an unknown name, a term that the data cannot tell from the others, too few values.
    """
    y = np.asarray(values, dtype=float)
    if y.ndim != 1:
        raise StatisticsError(f"values: expected a list of numbers, found shape {y.shape}.")
    who = coded(subjects, len(y), "subjects")[0]
    numbers = {name: np.asarray(column, dtype=float) for name, column in (covariates or {}).items()}
    if any(column.shape != y.shape for column in numbers.values()):
        raise StatisticsError(f"covariates: expected one number per value ({len(y)}) for each of {list(numbers)}.")
    labels = {name: np.asarray(column, dtype=object) for name, column in (factors or {}).items()}
    if any(column.shape != y.shape for column in labels.values()):
        raise StatisticsError(f"factors: expected one label per value ({len(y)}) for each of {list(labels)}.")
    if slope is not None and slope not in numbers:
        raise StatisticsError(f"slope: {slope!r} is no covariate (there are: {', '.join(numbers) or 'none'}).")
    valid = np.isfinite(y) & np.all([np.isfinite(column) for column in numbers.values()] or [np.isfinite(y)], axis=0)
    diagnostics = left_out(int((~valid).sum()), "values", "that are missing, or whose covariate is,")
    y, who = y[valid], np.unique(who[valid], return_inverse=True)[1].astype(np.int64)
    design = fixed_effects(
        {name: column[valid] for name, column in labels.items()},
        {name: column[valid] for name, column in numbers.items()},
        interactions,
        references or {},
        len(y),
    )
    run = None if slope is None else numbers[slope][valid]
    df = inner_outer(design.matrix, who) if run is None else containment(design.matrix, who, run)
    if df.min() < 1.0:
        raise StatisticsError(
            f"{len(y)} values of {int(who.max()) + 1} subjects are too few for {len(df)} fixed effects"
            + (" and a random slope." if slope else "."),
            "A mixed model needs repeated values: for one value per subject compare the groups directly.",
        )
    fit = fit_reml(y, design.matrix, who, run)
    return MixedModel(
        terms=_terms(design, fit, df, confidence),
        tests=_tests(design, fit, df),
        subject_variance=float(fit.random[0, 0]),
        slope_variance=float("nan") if slope is None else float(fit.random[1, 1]),
        intercept_slope_covariance=float("nan") if slope is None else float(fit.random[0, 1]),
        residual_variance=fit.residual,
        icc=float("nan") if slope is not None else float(fit.random[0, 0] / (fit.random[0, 0] + fit.residual)),
        observations=len(y),
        subjects=int(who.max()) + 1,
        references=design.references,
        converged=fit.converged,
        confidence=confidence,
        diagnostics=diagnostics + fit.diagnostics,
    )


def _terms(design: Design, fit: Fit, df: FloatArray, confidence: float) -> tuple[MixedTerm, ...]:
    errors = np.sqrt(np.diag(fit.covariance))
    terms = []
    for name, estimate, error, degrees in zip(design.names, fit.fixed, errors, df, strict=True):
        half = float(stats.t.ppf(0.5 * (1.0 + confidence), degrees)) * error
        t = float(estimate / error)
        terms.append(
            MixedTerm(
                term=name,
                estimate=float(estimate),
                standard_error=float(error),
                t=t,
                df=float(degrees),
                p=float(2.0 * stats.t.sf(abs(t), degrees)),
                low=float(estimate - half),
                high=float(estimate + half),
            )
        )
    return tuple(terms)


def _tests(design: Design, fit: Fit, df: FloatArray) -> tuple[MixedTest, ...]:
    tests = []
    for effect, columns in design.effects.items():
        estimate = fit.fixed[columns]
        f = float(estimate @ np.linalg.solve(fit.covariance[np.ix_(columns, columns)], estimate)) / len(columns)
        degrees = (float(len(columns)), float(df[columns].min()))
        tests.append(MixedTest(effect, f, degrees, float(stats.f.sf(f, *degrees))))
    return tuple(tests)
