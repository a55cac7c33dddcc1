"""How alike curves are: coefficients of multiple correlation, the most typical cycle, cycles unlike the others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import trapezoid

from biodyn.conventions import BoolArray, FloatArray
from biodyn.errors import StatisticsError

OUTLIER_FENCE: Final = 1.5  # quartile ranges above the upper quartile (Tukey 1977)
_LEAST_FOR_OUTLIERS = 5  # quartiles of fewer distances say nothing


def multiple_correlation(sessions: Sequence[ArrayLike]) -> tuple[float, float]:
    """Return the coefficients of multiple correlation (CMC) within and between sessions.

    Kadaba et al. 1989, J Orthop Res 7:849-860. Within: one minus the variance of the cycles
    about their session's mean curve over the variance about the session's
    overall mean; between: the same about the mean curve and the overall mean of all sessions. NaN where the ratio exceeds one
    (the coefficient is then imaginary: curves hardly move, or differ by offsets; Ferrari et al. 2010, Gait Posture
    31:540-542), and within where no session has two cycles. A flat curve gives a low value however well it repeats: report
    differences in the curve's unit besides.

    Parameters: `sessions`: for each an array (cycles, Q), all of the same Q, finite.
    """
    groups = [np.asarray(session, dtype=float) for session in sessions]
    if not groups or any(group.ndim != 2 or group.shape[1] != groups[0].shape[-1] for group in groups):
        raise StatisticsError("Expected for each session an array (cycles, nodes), all with the same nodes.")
    if not all(np.isfinite(group).all() for group in groups):
        raise StatisticsError("The curves have missing values.", "Leave such cycles out, or cut all curves alike.")
    nodes = groups[0].shape[1]
    spare = sum(len(group) - 1 for group in groups)
    about_curve = sum(float(np.sum((group - group.mean(axis=0)) ** 2)) for group in groups)
    about_mean = sum(float(np.sum((group - group.mean()) ** 2)) for group in groups)
    within = math.nan
    if spare > 0:
        within = _correlation(about_curve / (nodes * spare), about_mean / sum(group.size - 1 for group in groups))
    together = np.vstack(groups)
    between = math.nan
    if len(together) > 1:
        about_curve = float(np.sum((together - together.mean(axis=0)) ** 2))
        about_mean = float(np.sum((together - together.mean()) ** 2))
        between = _correlation(about_curve / (nodes * (len(together) - 1)), about_mean / (together.size - 1))
    return within, between


def _correlation(unexplained: float, total: float) -> float:
    if not total > 0.0 or unexplained > total:
        return math.nan
    return math.sqrt(1.0 - unexplained / total)


@dataclass(frozen=True)
class Typicality:
    """Which of J cycles is the most typical, which are unlike the others.

    Attributes:
        representative: index of the cycle nearest to the median curve.
        distances: (J,) functional median distance of each, NaN for cycles with missing values.
        outliers: (J,) True where the distance is beyond the limit.
        limit: distance beyond which a cycle is an outlier; NaN for fewer than five cycles (none is one then).
    """

    representative: int
    distances: FloatArray
    outliers: BoolArray
    limit: float


def typicality(cycles: ArrayLike, sizes: ArrayLike | None = None, fence: float = OUTLIER_FENCE) -> Typicality:
    """Return the representative cycle and the outliers of cycles (J, Q), or of J cycles of V variables (J, V, Q).

    The functional median distance of a cycle is the mean absolute distance to the median curve (trapezoidal over the cycle), and
    for several variables their mean (Sangeux & Polak 2015, Gait Posture 41:726-730). Outliers are beyond Tukey's fence (upper
    quartile + fence x quartile range) of the cube roots of the distances: distances are skewed, their cube roots
    nearly normal (Wilson & Hilferty 1931), and 1 to 3 of 100 good cycles are called outliers instead of 3 to 5.

    Parameters: `sizes` (V,) what counts as much in each variable, e.g. 5 degrees and 0.1 Nm/kg; needed where units differ.

    Raises:
        StatisticsError: no cycle is complete.
    """
    curves = np.asarray(cycles, dtype=float)
    if curves.ndim == 2:
        curves = curves[:, None, :]
    if curves.ndim != 3 or curves.shape[2] < 2:
        raise StatisticsError(f"Expected cycles (J, nodes) or (J, variables, nodes), found shape {curves.shape}.")
    complete = np.isfinite(curves).all(axis=(1, 2))
    if not complete.any():
        raise StatisticsError("No cycle is complete.", "Cut the curves to where they were measured.")
    scale = np.ones(curves.shape[1]) if sizes is None else np.asarray(sizes, dtype=float)
    if scale.shape != (curves.shape[1],) or not (scale > 0.0).all():
        raise StatisticsError(f"sizes: expected one positive number for each of {curves.shape[1]} variables.")
    apart = np.abs(curves - np.median(curves[complete], axis=0))
    distances = np.mean(trapezoid(apart, axis=2) / (curves.shape[2] - 1) / scale, axis=1)
    limit = math.nan
    if complete.sum() >= _LEAST_FOR_OUTLIERS:
        lower, upper = np.quantile(np.cbrt(distances[complete]), [0.25, 0.75])
        limit = float((upper + fence * (upper - lower)) ** 3)
    return Typicality(int(np.nanargmin(distances)), distances, distances > limit, limit)
