"""How well a number repeats: intraclass correlations, standard error of measurement, minimal detectable change."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.errors import StatisticsError
from biodyn.statistics.comparisons import CONFIDENCE, left_out


@dataclass(frozen=True)
class Intraclass:
    """One intraclass correlation with its confidence limits, and the F test that it is above zero."""

    name: str
    value: float
    low: float
    high: float
    f: float
    df: tuple[float, float]
    p: float


@dataclass(frozen=True)
class Repeatability:
    """Repeatability of n subjects measured k times (sessions, raters).

    Names after Shrout & Fleiss (1979, Psychol Bull 86:420-428): (1,.) each subject has its own sessions; (2,.) the sessions are a
    sample of all, absolute agreement; (3,.) these very sessions, consistency (a constant shift does not count). (.,1): one
    measurement; (.,k): the mean of k.

    Attributes:
        subjects, sessions: n and k.
        icc_1_1, icc_2_1, icc_3_1, icc_1_k, icc_2_k, icc_3_k: the six coefficients.
        sem_agreement: standard error of measurement of one value, shifts between sessions included, in the values' unit.
        sem_consistency: the same without the shifts, sqrt(mean square error).
        mdc95_agreement, mdc95_consistency: 1.96 sqrt(2) sem, the least change of one subject that is beyond chance.
        mean_squares: between subjects, within subjects, between sessions, error.
        confidence: of the limits.
        diagnostics: subjects that were left out.
    """

    subjects: int
    sessions: int
    icc_1_1: Intraclass
    icc_2_1: Intraclass
    icc_3_1: Intraclass
    icc_1_k: Intraclass
    icc_2_k: Intraclass
    icc_3_k: Intraclass
    sem_agreement: float
    sem_consistency: float
    mdc95_agreement: float
    mdc95_consistency: float
    mean_squares: tuple[float, float, float, float]
    confidence: float
    diagnostics: tuple[Diagnostic, ...] = ()


def repeatability(values: ArrayLike, confidence: float = CONFIDENCE) -> Repeatability:
    """Return the repeatability of values (n subjects, k sessions); subjects with a missing value are left out.

    Mean squares of the two-way table give the coefficients (Shrout & Fleiss 1979) and their limits from F distributions (McGraw
    & Wong 1996, Psychol Methods 1:30-46, table 7; the limits of (2,k) follow from (2,1) by Spearman-Brown).

    Raises:
        StatisticsError: fewer than two subjects or sessions, or no variance.
    """
    table = np.asarray(values, dtype=float)
    if table.ndim != 2 or table.shape[1] < 2:
        raise StatisticsError(
            f"Expected values (subjects, sessions) of at least two sessions, found shape {table.shape}."
        )
    complete = np.isfinite(table).all(axis=1)
    diagnostics = left_out(int((~complete).sum()), "subjects", "without a value in every session")
    table = table[complete]
    n, k = table.shape
    if n < 2:
        raise StatisticsError(f"At least two complete subjects are needed, found {n}.")
    rows, within, columns, error = _mean_squares(table)
    if not (rows > 0.0 and within > 0.0):
        raise StatisticsError("The values do not vary between subjects, or repeat exactly: nothing to estimate.")
    tail = 0.5 * (1.0 + confidence)

    icc_1 = _from_f("ICC(1,1)", "ICC(1,k)", rows, within, n, k, float(n * (k - 1)), tail)
    three = _from_f("ICC(3,1)", "ICC(3,k)", rows, error, n, k, float((n - 1) * (k - 1)), tail)
    two = _agreement(rows, columns, error, n, k, tail)
    session_variance = max(0.0, (columns - error) / n)
    sem_agreement, sem_consistency = math.sqrt(error + session_variance), math.sqrt(error)
    per_sem = float(stats.norm.ppf(0.975)) * math.sqrt(2.0)
    return Repeatability(
        subjects=n,
        sessions=k,
        icc_1_1=icc_1[0],
        icc_2_1=two[0],
        icc_3_1=three[0],
        icc_1_k=icc_1[1],
        icc_2_k=two[1],
        icc_3_k=three[1],
        sem_agreement=sem_agreement,
        sem_consistency=sem_consistency,
        mdc95_agreement=per_sem * sem_agreement,
        mdc95_consistency=per_sem * sem_consistency,
        mean_squares=(rows, within, columns, error),
        confidence=confidence,
        diagnostics=diagnostics,
    )


def _mean_squares(table: FloatArray) -> tuple[float, float, float, float]:
    """Between subjects, within subjects, between sessions, residual."""
    n, k = table.shape
    subject, session, grand = table.mean(axis=1), table.mean(axis=0), table.mean()
    rows = k * np.sum((subject - grand) ** 2) / (n - 1)
    columns = n * np.sum((session - grand) ** 2) / (k - 1)
    within = np.sum((table - subject[:, None]) ** 2) / (n * (k - 1))
    residual = np.sum((table - subject[:, None] - session + grand) ** 2) / ((n - 1) * (k - 1))
    return float(rows), float(within), float(columns), float(residual)


def _from_f(
    single: str, average: str, rows: float, error: float, n: int, k: int, error_df: float, tail: float
) -> tuple[Intraclass, Intraclass]:
    """The coefficients that are functions of one F = rows / error: (1,.) and (3,.)."""
    f = rows / error if error > 0.0 else math.inf
    low, high = f / float(stats.f.ppf(tail, n - 1, error_df)), f * float(stats.f.ppf(tail, error_df, n - 1))
    df, p = (float(n - 1), error_df), float(stats.f.sf(f, n - 1, error_df))

    def of_one(ratio: float) -> float:
        return (ratio - 1.0) / (ratio + k - 1.0) if math.isfinite(ratio) else 1.0

    def of_mean(ratio: float) -> float:
        return 1.0 - 1.0 / ratio if ratio > 0.0 else -math.inf

    return (
        Intraclass(single, of_one(f), of_one(low), of_one(high), f, df, p),
        Intraclass(average, of_mean(f), of_mean(low), of_mean(high), f, df, p),
    )


def _agreement(rows: float, columns: float, error: float, n: int, k: int, tail: float) -> tuple[Intraclass, Intraclass]:
    """ICC(2,1) and ICC(2,k); the limits have Satterthwaite degrees of freedom (McGraw & Wong 1996, case 2A)."""
    value = (rows - error) / (rows + (k - 1) * error + k * (columns - error) / n)
    a = k * value / (n * (1.0 - value))
    b = 1.0 + k * value * (n - 1) / (n * (1.0 - value))
    mixture = a * columns + b * error
    parts = (a * columns) ** 2 / (k - 1) + (b * error) ** 2 / ((n - 1) * (k - 1))
    v = mixture**2 / parts if parts > 0.0 else float((n - 1) * (k - 1))
    f_low, f_high = stats.f.ppf(tail, n - 1, v), stats.f.ppf(tail, v, n - 1)
    rest = k * columns + (k * n - k - n) * error
    low = float(n * (rows - f_low * error) / (f_low * rest + n * rows))
    high = float(n * (f_high * rows - error) / (rest + n * f_high * rows))
    f = rows / error if error > 0.0 else math.inf
    df = (float(n - 1), float((n - 1) * (k - 1)))
    p = float(stats.f.sf(f, *df))

    def of_mean(single: float) -> float:
        return k * single / (1.0 + (k - 1) * single)

    average = (rows - error) / (rows + (columns - error) / n)
    return (
        Intraclass("ICC(2,1)", value, low, high, f, df, p),
        Intraclass("ICC(2,k)", average, of_mean(low), of_mean(high), f, df, p),
    )
