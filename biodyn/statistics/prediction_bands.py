"""Prediction band for the whole curve of a new person, with a mean that depends on a covariate.

Lenhoff et al. 1999 (Gait Posture 9:10-17) and Duhamel et al. 2004 (Gait Posture 20:204-212): the half width of the band is a
multiple of the standard deviation at each instant, and the multiple is found by drawing people with replacement so that the
required share of curves is entirely inside. The papers count the curves of all people, two thirds of whom also determined the
mean, so that the band is too narrow for few people. Counting only the people who were not drawn makes it too wide. Here the two
fractions have the weights .368 and .632 (Efron 1983, J Am Stat Assoc 78:316-331).
benchmarks/own_norms.py prints the resulting coverage.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from biodyn.conventions import FloatArray, IntArray
from biodyn.errors import StatisticsError

#: Least number of people for a 95 % band, because the largest of 19 deviations bounds 95 %.
LEAST_FOR_BAND: Final = 20
LEAST_FOR_MEAN: Final = 5
_HIGHEST_POWER = 2


@dataclass(frozen=True)
class CurveModel:
    """Mean and spread of curves at Q instants as functions of a covariate x.

    Attributes:
        reference: mean of x. mean: (1 to 3, Q) coefficients of the powers of (x - reference).
        sd: (Q,) between people at the reference. growth: the spread is sd exp(growth (x - reference)).
        reach: half width of the band in standard deviations; NaN for fewer than `LEAST_FOR_BAND` people.
        people: number of people.
    """

    reference: float
    mean: FloatArray
    sd: FloatArray
    growth: float
    reach: float
    people: int


@dataclass(frozen=True)
class _WeightedCurves:
    """Curves (N, Q), powers of the covariate (N, P), weights (N,), offsets (N,) and number of the person (N,)."""

    curves: FloatArray
    powers: FloatArray
    weight: FloatArray
    offset: FloatArray
    person: IntArray


def fit_curve_model(
    curves: FloatArray,
    covariate: FloatArray,
    people: IntArray,
    weight: FloatArray,
    coverage: float = 0.95,
    seed: int = 0,
    band: bool = True,
) -> CurveModel:
    """Fit the mean and the spread of curves, and the band that contains a new person's curve with probability `coverage`.

    Parameters: `curves` (N, Q) finite; `covariate` (N,); `people` (N,) person of each curve, numbered from 0 (people, not
    curves, are resampled); `weight` (N,) of each curve; `band`: compute the width of the band.

    Raises StatisticsError for fewer than `LEAST_FOR_MEAN` people.
    """
    count = int(people.max(initial=-1)) + 1
    if count < LEAST_FOR_MEAN:
        raise StatisticsError(
            f"There are {count} people, but norms need at least {LEAST_FOR_MEAN}.", "Measure more people."
        )
    reference = float(np.average(covariate, weights=weight))
    offset = covariate - reference
    powers = offset[:, None] ** np.arange(_HIGHEST_POWER + 1)
    data = _WeightedCurves(curves, powers, weight, offset, people)
    data = _limit_powers(data, _choose_powers(data, count))
    mean, sd, growth = _mean_and_spread(data, np.ones(count))
    reach = _band_half_width(data, count, coverage, seed) if band and count >= LEAST_FOR_BAND else float("nan")
    return CurveModel(reference, mean, sd, growth, reach, count)


def _limit_powers(data: _WeightedCurves, powers: int) -> _WeightedCurves:
    return _WeightedCurves(data.curves, data.powers[:, :powers], data.weight, data.offset, data.person)


def _choose_powers(data: _WeightedCurves, count: int) -> int:
    """Return the number of powers of the covariate that best predicts curves in leave-one-person-out cross-validation."""
    # A power of the covariate is kept if it reduces the error for a new person by more than chance.
    required_improvement = 0.99
    errors = []
    for powers in range(1, _HIGHEST_POWER + 2):
        if len(np.unique(np.round(data.offset, 6))) < powers or count < 3 * powers:
            break
        errors.append(_cross_validation_error(_limit_powers(data, powers), count))
    best = 0
    for powers in range(1, len(errors)):
        if errors[powers] < required_improvement * errors[best]:
            best = powers
    return best + 1


def _cross_validation_error(data: _WeightedCurves, count: int) -> float:
    """Return the weighted mean square error of leave-one-person-out predictions."""
    square = 0.0
    for person in range(count):
        drawn = np.ones(count)
        drawn[person] = 0.0
        held_out = data.person == person
        missed = data.curves[held_out] - data.powers[held_out] @ _fit_coefficients(data, drawn)
        square += float(data.weight[held_out] @ (missed**2).mean(axis=1))
    return square


def _fit_coefficients(data: _WeightedCurves, drawn: FloatArray) -> FloatArray:
    """Return weighted least-squares coefficients (P, Q); `drawn`: number of times that each person is counted."""
    weighted = data.powers * (data.weight * drawn[data.person])[:, None]
    return np.asarray(
        np.linalg.lstsq(weighted.T @ data.powers, weighted.T @ data.curves, rcond=None)[0], dtype=np.float64
    )


def _mean_and_spread(data: _WeightedCurves, drawn: FloatArray) -> tuple[FloatArray, FloatArray, float]:
    """Return coefficients (P, Q), standard deviation (Q,) at the reference, and growth of the spread with the covariate."""
    mean = _fit_coefficients(data, drawn)
    apart = data.curves - data.powers @ mean
    weight = data.weight * drawn[data.person]
    # each person is one observation; corrected for the degrees of freedom of the coefficients
    lost = max(1.0 - data.powers.shape[1] / max(float((drawn > 0).sum()), data.powers.shape[1] + 1.0), 0.1)
    size = np.sqrt(_weighted_mean(apart**2, weight))
    relative = np.sqrt(((apart / np.maximum(size, _spread_floor(size))) ** 2).mean(axis=1))
    growth = _significant_slope(data.offset, np.log(np.maximum(relative, 1e-6)), weight)
    even = apart / np.exp(growth * data.offset)[:, None]
    sd = np.sqrt(_weighted_mean(even**2, weight) / lost)
    return mean, np.maximum(sd, _spread_floor(sd)), growth


def _weighted_mean(values: FloatArray, weight: FloatArray) -> FloatArray:
    mean: FloatArray = weight @ values / weight.sum()
    return mean


def _spread_floor(sd: FloatArray) -> float:
    # An instant at which people hardly differ (e.g. a moment in swing) must not determine the width of the band.
    least_share_of_sd = 0.10
    return max(least_share_of_sd * float(np.sqrt(np.mean(sd**2))), 1e-12)


def _significant_slope(x: FloatArray, y: FloatArray, weight: FloatArray) -> float:
    """Return the weighted slope of y over x; 0 if it is smaller than two standard errors."""
    clear_standard_errors = 2.0  # number of standard errors above which the spread depends on the covariate
    x, y = x - np.average(x, weights=weight), y - np.average(y, weights=weight)
    square = float(weight @ x**2)
    if not square > 0.0:
        return 0.0
    slope = float(weight @ (x * y)) / square
    residual_variance = float(weight @ (y - slope * x) ** 2) / max(float(weight.sum()) - 2.0, 1.0)
    return slope if abs(slope) > clear_standard_errors * np.sqrt(residual_variance / square) else 0.0


def _band_half_width(data: _WeightedCurves, count: int, coverage: float, seed: int) -> float:
    """Return the half-width, in standard deviations, of the band that contains the whole curves of this fraction of people."""
    new_share = 0.632  # weight of people who were not drawn in the coverage
    replicates = 400
    rng = np.random.default_rng(seed)
    deviation: list[FloatArray] = []
    share: list[FloatArray] = []
    for _ in range(replicates):
        drawn = np.bincount(rng.integers(0, count, count), minlength=count).astype(np.float64)
        out = drawn[data.person] == 0.0
        if not out.any() or int((drawn > 0).sum()) <= data.powers.shape[1]:
            continue
        mean, sd, growth = _mean_and_spread(data, drawn)
        spread = np.exp(growth * data.offset)[:, None] * sd
        deviation.append((np.abs(data.curves - data.powers @ mean) / spread).max(axis=1))
        known, new = data.weight * ~out, data.weight * out
        share.append((1.0 - new_share) * known / known.sum() + new_share * new / new.sum())
    deviations, weight = np.concatenate(deviation), np.concatenate(share)
    order = np.argsort(deviations)
    inside = np.cumsum(weight[order]) / weight.sum()
    return float(deviations[order][min(int(np.searchsorted(inside, coverage)), len(deviations) - 1)])
