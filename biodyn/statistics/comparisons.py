"""Comparisons of single numbers (peaks, ranges, scores): two samples, several groups, families of tests."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import scipy
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import gammaln, ndtr

from biodyn.conventions import FloatArray
from biodyn.errors import StatisticsError
from biodyn.statistics.spm.linear_model import encode_labels

CONFIDENCE: Final = 0.95


# -- Standardised differences with exact confidence limits ----------------------------------------------------------


@dataclass(frozen=True)
class EffectSize:
    """Standardised difference with confidence limits.

    Attributes:
        name: ``Hedges g`` (independent samples) or ``dz`` (paired samples).
        value, low, high: effect size and its confidence limits.
    """

    name: str
    value: float
    low: float
    high: float


def hedges_g(first: ArrayLike, second: ArrayLike, confidence: float = CONFIDENCE) -> EffectSize:
    """Return Hedges' g of two independent samples, first - second (Hedges 1981, J Educ Stat 6:107-128).

    ``g = J(m) (mean1 - mean2) / s_pooled``, m = n1 + n2 - 2, with the exact ``J = Gamma(m/2) / (sqrt(m/2) Gamma((m-1)/2))`` that
    removes the bias of small samples. Limits from the noncentral t distribution (Steiger & Fouladi 1997).
    """
    a, b = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    m = len(a) + len(b) - 2
    pooled = math.sqrt((np.sum((a - a.mean()) ** 2) + np.sum((b - b.mean()) ** 2)) / m)
    _require_variance(pooled, np.concatenate([a, b]))
    per_t = math.sqrt(1.0 / len(a) + 1.0 / len(b))
    d = float(a.mean() - b.mean()) / pooled
    low, high = _noncentrality_limits(d / per_t, m, confidence)
    j = math.exp(float(gammaln(m / 2.0) - gammaln((m - 1) / 2.0))) / math.sqrt(m / 2.0)
    return EffectSize("Hedges g", j * d, j * low * per_t, j * high * per_t)


def paired_dz(differences: ArrayLike, confidence: float = CONFIDENCE) -> EffectSize:
    """Return dz, the mean of paired differences over their SD (Cohen 1988, 2.3.5), with limits from noncentral t.

    It measures the consistency of the change, not its size relative to the spread between people; do not compare it
    with Hedges g.
    """
    x = np.asarray(differences, dtype=float)
    deviation = float(x.std(ddof=1))
    _require_variance(deviation, x)
    dz, per_t = float(x.mean()) / deviation, 1.0 / math.sqrt(len(x))
    low, high = _noncentrality_limits(dz / per_t, len(x) - 1, confidence)
    return EffectSize("dz", dz, low * per_t, high * per_t)


def _require_variance(deviation: float, values: np.ndarray) -> None:
    if not deviation > 1e-12 * max(float(np.abs(values).max()), 1e-300):
        raise StatisticsError(
            "The values do not vary, so that a difference cannot be tested.",
            "Check whether they are copies of each other.",
        )


def _noncentrality_limits(t: float, df: int, confidence: float) -> tuple[float, float]:
    """Return the confidence limits of the noncentrality parameter for an observed t with `df` degrees of freedom."""
    tail = 0.5 * (1.0 - confidence)
    reach = 6.0 + 6.0 * abs(t) / math.sqrt(df)  # several standard errors of a noncentrality estimate

    def solve_limit(probability: float) -> float:
        lower, upper = t - reach, t + reach
        return float(brentq(lambda ncp: _noncentral_t_distribution(t, df, ncp) - probability, lower, upper, xtol=1e-9))

    return solve_limit(1.0 - tail), solve_limit(tail)


def _noncentral_t_distribution(t: float, df: int, noncentrality: float) -> float:
    """Return the cumulative distribution function of noncentral t at `t`.

    The normal approximation is used where SciPy's series fails (NaN for very large effects; Abramowitz & Stegun 1964, 26.7.10).
    """
    exact = float(scipy.stats.nct.cdf(t, df, noncentrality))
    if math.isfinite(exact):
        return exact
    return float(ndtr((t * (1.0 - 0.25 / df) - noncentrality) / math.sqrt(1.0 + 0.5 * t * t / df)))


# -- Comparisons of means -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Comparison:
    """Comparison of two samples, first minus second.

    Attributes:
        test: e.g. ``Welch t test``.
        counts, means, sds: number of values, mean and standard deviation of each sample.
        difference, low, high: mean difference and its confidence limits.
        t, df, p: t statistic, its degrees of freedom, and the two-tailed p.
        effect: standardised difference.
        rank_test, rank_p: name of the rank test and its p.
    """

    test: str
    counts: tuple[int, int]
    means: tuple[float, float]
    sds: tuple[float, float]
    difference: float
    low: float
    high: float
    t: float
    df: float
    p: float
    effect: EffectSize
    rank_test: str
    rank_p: float


@dataclass(frozen=True)
class GroupComparison:
    """Comparison of several independent groups.

    Attributes:
        f, df, p: one-way analysis of variance, df of effect and error.
        omega_squared: share of the variance between groups, without bias (Hays 1963).
        rank_test, rank_p: Kruskal-Wallis test and its p.
    """

    f: float
    df: tuple[float, float]
    p: float
    omega_squared: float
    rank_test: str
    rank_p: float


def compare_paired(first: ArrayLike, second: ArrayLike, confidence: float = CONFIDENCE) -> Comparison:
    """Compare two conditions of the same subjects, (n,) and (n,); pairs with a missing value (NaN) are excluded.

    Raises:
        StatisticsError: unequal lengths, fewer than two pairs, or differences that do not vary.
    """
    a, b = _require_finite_numbers(first, "first"), _require_finite_numbers(second, "second")
    if a.shape != b.shape:
        raise StatisticsError(f"Paired samples must have equal size, found {len(a)} and {len(b)} values.")
    valid = np.isfinite(a) & np.isfinite(b)
    a, b = a[valid], b[valid]
    _require_count(2, len(a), "pairs")
    x = a - b
    effect = paired_dz(x, confidence)
    test = scipy.stats.ttest_rel(a, b)
    ranks = scipy.stats.wilcoxon(x)
    return _make_comparison("paired t test", a, b, test, effect, "Wilcoxon signed-rank test", ranks, confidence)


def compare_independent(first: ArrayLike, second: ArrayLike, confidence: float = CONFIDENCE) -> Comparison:
    """Compare two independent samples (n1,) and (n2,) by Welch's t; missing values (NaN) are excluded.

    Raises:
        StatisticsError: fewer than two values in a sample, or values that do not vary.
    """
    a, b = _require_finite_numbers(first, "first"), _require_finite_numbers(second, "second")
    a, b = a[np.isfinite(a)], b[np.isfinite(b)]
    _require_count(2, min(len(a), len(b)), "values in each group")
    effect = hedges_g(a, b, confidence)
    result = scipy.stats.ttest_ind(a, b, equal_var=False)
    ranks = scipy.stats.mannwhitneyu(a, b, alternative="two-sided")
    return _make_comparison("Welch t test", a, b, result, effect, "Mann-Whitney U test", ranks, confidence)


def _make_comparison(
    test: str,
    a: FloatArray,
    b: FloatArray,
    t_test: Any,
    effect: EffectSize,
    rank_test: str,
    ranks: Any,
    confidence: float,
) -> Comparison:
    """Combine two samples without missing values and SciPy's results for them; `t_test`, `ranks`: results of the tests."""
    low, high = t_test.confidence_interval(confidence)
    return Comparison(
        test=test,
        counts=(len(a), len(b)),
        means=(float(a.mean()), float(b.mean())),
        sds=(float(a.std(ddof=1)), float(b.std(ddof=1))),
        difference=float(a.mean() - b.mean()),
        low=float(low),
        high=float(high),
        t=float(t_test.statistic),
        df=float(t_test.df),
        p=float(t_test.pvalue),
        effect=effect,
        rank_test=rank_test,
        rank_p=float(ranks.pvalue),
    )


def compare_groups(values: ArrayLike, groups: ArrayLike) -> GroupComparison:
    """Compare independent groups by one-way analysis of variance and a rank test; values (n,), group labels (n,).

    Raises:
        StatisticsError: fewer than two groups, a group of fewer than two values, or no variance.
    """
    y = _require_finite_numbers(values, "values")
    code, labels = encode_labels(groups, len(y), "groups")
    valid = np.isfinite(y)
    parts = [y[valid & (code == number)] for number in range(len(labels))]
    _require_count(2, len(parts), "groups")
    _require_count(2, min(len(part) for part in parts), "values in each group")
    if not any(np.ptp(part) > 0.0 for part in parts):
        raise StatisticsError(
            "The values do not vary within the groups.", "Check whether they are copies of each other."
        )
    test, ranks = scipy.stats.f_oneway(*parts), scipy.stats.kruskal(*parts)
    count, df = float(valid.sum()), float(len(parts) - 1)
    surplus = max(0.0, df * (float(test.statistic) - 1.0))
    return GroupComparison(
        f=float(test.statistic),
        df=(df, count - len(parts)),
        p=float(test.pvalue),
        omega_squared=surplus / (surplus + count),
        rank_test="Kruskal-Wallis test",
        rank_p=float(ranks.pvalue),
    )


def holm_adjusted(p_values: ArrayLike) -> FloatArray:
    """Return p adjusted for multiple tests (Holm 1979, Scand J Stat 6:65-70); NaN stays NaN and is not counted.

    Sorted upwards, ``p'(i) = max over j <= i of min(1, (m - j + 1) p(j))``: rejecting all p' <= alpha controls the
    family-wise error rate.
    """
    # imported here, because the import is slow and not needed for a single trial
    from statsmodels.stats.multitest import multipletests

    p = np.asarray(p_values, dtype=float)
    if ((p < 0.0) | (p > 1.0)).any():
        raise StatisticsError("p-values must be between 0 and 1.")
    known = np.isfinite(p)
    adjusted = np.full(p.shape, np.nan)
    if known.any():
        adjusted[known] = multipletests(p[known], method="holm")[1]
    return adjusted


def _require_finite_numbers(values: ArrayLike, name: str) -> FloatArray:
    array = np.asarray(values, dtype=float)
    if array.ndim != 1 or np.isinf(array).any():
        raise StatisticsError(f"{name}: expected a list of finite numbers (NaN: missing), found shape {array.shape}.")
    return array


def _require_count(needed: int, count: int, what: str) -> None:
    if count < needed:
        raise StatisticsError(f"At least {needed} {what} are needed, found {count}.")
