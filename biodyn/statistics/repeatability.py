"""Repeatability of a number: intraclass correlations, standard error of measurement, minimal detectable change."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import fdtri, ndtri

from biodyn.errors import StatisticsError


@dataclass(frozen=True)
class IntraclassCorrelation:
    """Intraclass correlation with 95 % confidence limits."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Repeatability:
    """Repeatability of n subjects measured in k sessions, complete subjects only.

    Names after Shrout & Fleiss (1979, Psychol Bull 86:420-428): (2,1) absolute agreement, the sessions are a random sample; (3,1)
    consistency, the sessions are fixed (a constant shift is ignored).

    Attributes:
        subjects: n.
        icc_2_1, icc_3_1: the coefficients of one measurement.
        sem: standard error of measurement of one value, including shifts between sessions, in the values' unit.
        mdc95: 1.96 sqrt(2) sem, the smallest significant change of one subject.
        mean_squares: mean squares between subjects, between sessions, and of the error.
    """

    subjects: int
    icc_2_1: IntraclassCorrelation
    icc_3_1: IntraclassCorrelation
    sem: float
    mdc95: float
    mean_squares: tuple[float, float, float]


def assess_repeatability(values: ArrayLike) -> Repeatability:
    """Return the repeatability of values (n subjects, k sessions); subjects with a missing value are excluded.

    Mean squares of the two-way table give the coefficients (Shrout & Fleiss 1979) and their limits from F distributions (McGraw
    & Wong 1996, Psychol Methods 1:30-46, table 7; of (2,1) with Satterthwaite degrees of freedom, case 2A).

    Raises:
        StatisticsError: fewer than two subjects or sessions, or no variance.
    """
    table = np.asarray(values, dtype=float)
    if table.ndim != 2 or table.shape[1] < 2:
        raise StatisticsError(
            f"Expected values (subjects, sessions) of at least two sessions, found shape {table.shape}."
        )
    table = table[np.isfinite(table).all(axis=1)]
    n, k = table.shape
    if n < 2:
        raise StatisticsError(f"At least two complete subjects are needed, found {n}.")
    subject, session, grand = table.mean(axis=1), table.mean(axis=0), table.mean()
    rows = float(k * np.sum((subject - grand) ** 2) / (n - 1))
    columns = float(n * np.sum((session - grand) ** 2) / (k - 1))
    error = float(np.sum((table - subject[:, None] - session + grand) ** 2) / ((n - 1) * (k - 1)))
    if not (rows > 0.0 and (table != subject[:, None]).any()):
        raise StatisticsError(
            "Repeatability cannot be estimated, because the values do not vary between subjects or repeat exactly."
        )
    sem = math.sqrt(error + max(0.0, (columns - error) / n))
    mdc95 = float(ndtri(_TAIL)) * math.sqrt(2.0) * sem
    agreement = _icc_agreement(rows, columns, error, n, k)
    return Repeatability(n, agreement, _icc_consistency(rows, error, n, k), sem, mdc95, (rows, columns, error))


_TAIL = 0.975  # quantile of 95 % limits


def _icc_consistency(rows: float, error: float, n: int, k: int) -> IntraclassCorrelation:
    """Return ICC(3,1) and its limits from the mean squares between subjects (`rows`) and of the error."""
    f, error_df = rows / error if error > 0.0 else math.inf, (n - 1) * (k - 1)

    def coefficient(ratio: float) -> float:
        return (ratio - 1.0) / (ratio + k - 1.0) if math.isfinite(ratio) else 1.0

    low = f / float(fdtri(n - 1, error_df, _TAIL))
    high = f * float(fdtri(error_df, n - 1, _TAIL))
    return IntraclassCorrelation(coefficient(f), coefficient(low), coefficient(high))


def _icc_agreement(rows: float, columns: float, error: float, n: int, k: int) -> IntraclassCorrelation:
    """Return ICC(2,1) and its limits from the mean squares between subjects (`rows`), between sessions (`columns`), of the
    error."""
    value = (rows - error) / (rows + (k - 1) * error + k * (columns - error) / n)
    a = k * value / (n * (1.0 - value))
    b = 1.0 + k * value * (n - 1) / (n * (1.0 - value))
    mixture = a * columns + b * error
    parts = (a * columns) ** 2 / (k - 1) + (b * error) ** 2 / ((n - 1) * (k - 1))
    v = mixture**2 / parts if parts > 0.0 else float((n - 1) * (k - 1))
    f_low, f_high = fdtri(n - 1, v, _TAIL), fdtri(v, n - 1, _TAIL)
    rest = k * columns + (k * n - k - n) * error
    low = float(n * (rows - f_low * error) / (f_low * rest + n * rows))
    high = float(n * (f_high * rows - error) / (rest + n * f_high * rows))
    return IntraclassCorrelation(value, low, high)
