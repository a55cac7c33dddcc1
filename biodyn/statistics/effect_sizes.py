"""Standardised differences with exact confidence limits."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import gammaln, ndtr
from scipy.stats import nct

from biodyn.errors import StatisticsError
from biodyn.statistics.levels import CONFIDENCE


@dataclass(frozen=True)
class EffectSize:
    """A difference in units of a standard deviation, with its confidence limits.

    Attributes:
        name: ``Hedges g`` (independent) or ``dz`` (paired: of the differences).
        value, low, high: the effect and its limits.
        confidence: of the limits, e.g. 0.95.
    """

    name: str
    value: float
    low: float
    high: float
    confidence: float


def hedges_g(first: ArrayLike, second: ArrayLike, confidence: float = CONFIDENCE) -> EffectSize:
    """Return Hedges' g of two independent samples, first - second (Hedges 1981, J Educ Stat 6:107-128).

    ``g = J(m) (mean1 - mean2) / s_pooled``, m = n1 + n2 - 2, with the exact ``J = Gamma(m/2) / (sqrt(m/2) Gamma((m-1)/2))`` that
    takes the bias of small samples away. Limits from the noncentral t distribution (Steiger & Fouladi 1997).
    """
    a, b = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    m = len(a) + len(b) - 2
    pooled = math.sqrt((np.sum((a - a.mean()) ** 2) + np.sum((b - b.mean()) ** 2)) / m)
    _must_vary(pooled, np.concatenate([a, b]))
    per_t = math.sqrt(1.0 / len(a) + 1.0 / len(b))
    d = float(a.mean() - b.mean()) / pooled
    low, high = _noncentrality(d / per_t, m, confidence)
    j = math.exp(float(gammaln(m / 2.0) - gammaln((m - 1) / 2.0))) / math.sqrt(m / 2.0)
    return EffectSize("Hedges g", j * d, j * low * per_t, j * high * per_t, confidence)


def paired_dz(differences: ArrayLike, confidence: float = CONFIDENCE) -> EffectSize:
    """Return dz, the mean of paired differences over their standard deviation (Cohen 1988, 2.3.5), limits from noncentral t.

    It says how sure the change is, not how large against the spread between people; do not compare it with Hedges g.
    """
    x = np.asarray(differences, dtype=float)
    deviation = float(x.std(ddof=1))
    _must_vary(deviation, x)
    dz, per_t = float(x.mean()) / deviation, 1.0 / math.sqrt(len(x))
    low, high = _noncentrality(dz / per_t, len(x) - 1, confidence)
    return EffectSize("dz", dz, low * per_t, high * per_t, confidence)


def _must_vary(deviation: float, values: np.ndarray) -> None:
    if not deviation > 1e-12 * max(float(np.abs(values).max()), 1e-300):
        raise StatisticsError(
            "The values do not vary, so a difference cannot be judged.", "Are they copies of each other?"
        )


def _noncentrality(t: float, df: int, confidence: float) -> tuple[float, float]:
    """Confidence limits of the noncentrality of which t (df) was drawn."""
    tail = 0.5 * (1.0 - confidence)
    reach = 6.0 + 6.0 * abs(t) / math.sqrt(df)  # several standard errors of a noncentrality estimate

    def limit(probability: float) -> float:
        lower, upper = t - reach, t + reach
        return float(brentq(lambda ncp: _noncentral_t(t, df, ncp) - probability, lower, upper, xtol=1e-9))

    return limit(1.0 - tail), limit(tail)


def _noncentral_t(t: float, df: int, noncentrality: float) -> float:
    """Distribution function of noncentral t; where the series of SciPy gives up (NaN: huge effects), the normal approximation.

    Abramowitz & Stegun (1964), 26.7.10.
    """
    exact = float(nct.cdf(t, df, noncentrality))
    if math.isfinite(exact):
        return exact
    return float(ndtr((t * (1.0 - 0.25 / df) - noncentrality) / math.sqrt(1.0 + 0.5 * t * t / df)))
