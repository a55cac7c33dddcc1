"""Measures of gait curves: symmetry, similarity and typicality of waveforms, gait profile scores."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from biodyn.conventions import BoolArray, FloatArray
from biodyn.errors import StatisticsError

# -- Symmetry: numbers or arrays, NaN where undefined ---------------------------------------------------------------


def symmetry_index(right: ArrayLike, left: ArrayLike) -> FloatArray:
    """Return ``100 (R - L) / (0.5 (R + L))`` in percent; 0 is symmetric.

    Robinson et al. 1987, J Manipulative Physiol Ther 10:172-176.
    It diverges if R + L is near zero (angles and moments around zero); the symmetry angle does not.
    """
    r, ell = np.asarray(right, dtype=float), np.asarray(left, dtype=float)
    middle = 0.5 * (r + ell)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(middle == 0.0, np.where(r == ell, 0.0, np.nan), 100.0 * (r - ell) / middle)


def symmetry_angle(right: ArrayLike, left: ArrayLike) -> FloatArray:
    """Return the symmetry angle in percent: 0 symmetric, +-100 equal and opposite.

    ``(45 deg - atan(L / R)) / 90 deg``, less 180 degrees in the numerator where that exceeds 90 (Zifchock et al. 2008, Gait
    Posture 27:622-627); positive where the right is larger. NaN where both are zero.
    """
    r, ell = np.asarray(right, dtype=float), np.asarray(left, dtype=float)
    with np.errstate(divide="ignore", invalid="ignore"):
        angle = 45.0 - np.degrees(np.arctan(np.divide(ell, r)))
    angle = np.where(angle > 90.0, angle - 180.0, angle)
    return np.where((r == 0.0) & (ell == 0.0), np.nan, angle / 0.9)


def curve_difference(right: ArrayLike, left: ArrayLike) -> FloatArray:
    """Return the root mean square difference of two curves over the last axis, in their unit; NaN if a node is missing.

    Each curve covers the cycle of its own side, with the same sign convention on both sides.
    """
    apart = np.asarray(right, dtype=float) - np.asarray(left, dtype=float)
    return np.asarray(np.sqrt(np.mean(apart**2, axis=-1)))


# -- Waveform similarity and typical cycles -------------------------------------------------------------------------


OUTLIER_FENCE: Final = 1.5  # quartile ranges above the upper quartile (Tukey 1977)


def multiple_correlation(sessions: Sequence[ArrayLike]) -> tuple[float, float]:
    """Return the coefficients of multiple correlation (CMC) within and between sessions.

    Kadaba et al. 1989, J Orthop Res 7:849-860. Within: root of one minus the ratio of two variances of the cycles, about the
    mean curve of their session and about its overall mean; between: the same for the mean curve and the overall mean of all
    sessions. NaN if the ratio exceeds one (the coefficient is then imaginary: the curves are almost constant, or differ by
    offsets; Ferrari et al. 2010, Gait Posture 31:540-542); the coefficient within is NaN if no session has two cycles. Flat
    curves have low values even if they are repeatable: report differences in the unit of the curve as well.

    Parameters: `sessions`: for each an array (cycles, Q), all of the same Q, finite.
    """
    groups = [np.asarray(session, dtype=float) for session in sessions]
    if not groups or any(group.ndim != 2 or group.shape[1] != groups[0].shape[-1] for group in groups):
        raise StatisticsError("Expected an array (cycles, nodes) for each session, with the same number of nodes.")
    if not all(np.isfinite(group).all() for group in groups):
        raise StatisticsError(
            "The curves have missing values.", "Exclude these cycles, or truncate all curves to the same nodes."
        )
    nodes = groups[0].shape[1]
    spare = sum(len(group) - 1 for group in groups)
    about_curve = sum(float(np.sum((group - group.mean(axis=0)) ** 2)) for group in groups)
    about_mean = sum(float(np.sum((group - group.mean()) ** 2)) for group in groups)
    within = math.nan
    if spare > 0:
        within = _correlation_coefficient(
            about_curve / (nodes * spare), about_mean / sum(group.size - 1 for group in groups)
        )
    together = np.vstack(groups)
    between = math.nan
    if len(together) > 1:
        about_curve = float(np.sum((together - together.mean(axis=0)) ** 2))
        about_mean = float(np.sum((together - together.mean()) ** 2))
        between = _correlation_coefficient(
            about_curve / (nodes * (len(together) - 1)), about_mean / (together.size - 1)
        )
    return within, between


def _correlation_coefficient(unexplained: float, total: float) -> float:
    if not total > 0.0 or unexplained > total:
        return math.nan
    return math.sqrt(1.0 - unexplained / total)


@dataclass(frozen=True)
class Typicality:
    """The most typical of J cycles, and the outliers among them.

    Attributes:
        representative: index of the cycle nearest to the median curve.
        distances: (J,) functional median distance of each, NaN for cycles with missing values.
        outliers: (J,) True if the distance exceeds the limit.
        limit: distance beyond which a cycle is an outlier; NaN for fewer than five cycles (then no cycle is an outlier).
    """

    representative: int
    distances: FloatArray
    outliers: BoolArray
    limit: float


def find_typical_cycle(cycles: ArrayLike, sizes: ArrayLike) -> Typicality:
    """Return the representative cycle and the outliers among J cycles of V variables (J, V, Q).

    The functional median distance of a cycle is the mean absolute distance to the median curve (trapezoidal over the cycle), and
    for several variables their mean (Sangeux & Polak 2015, Gait Posture 41:726-730). Outliers are beyond Tukey's fence (upper
    quartile + 1.5 x quartile range) of the cube roots of the distances: distances are skewed, their cube roots
    nearly normal (Wilson & Hilferty 1931), and 1 to 3 of 100 good cycles are called outliers instead of 3 to 5.

    Parameters: `sizes` (V,): equally important differences of the variables, e.g. 5 degrees and 0.1 Nm/kg.

    Raises:
        StatisticsError: no cycle is complete.
    """
    min_cycles = 5  # quartiles of fewer distances are not meaningful
    curves = np.asarray(cycles, dtype=float)
    if curves.ndim != 3 or curves.shape[2] < 2:
        raise StatisticsError(f"Expected cycles (J, variables, nodes), found shape {curves.shape}.")
    complete = np.isfinite(curves).all(axis=(1, 2))
    if not complete.any():
        raise StatisticsError("No cycle is complete.", "Truncate the curves to the measured part.")
    scale = np.asarray(sizes, dtype=float)
    if scale.shape != (curves.shape[1],) or not (scale > 0.0).all():
        raise StatisticsError(f"sizes: expected one positive number for each of {curves.shape[1]} variables.")
    apart = np.abs(curves - np.median(curves[complete], axis=0))
    trapezoids = (apart[..., 1:] + apart[..., :-1]) / 2.0
    distances = np.mean(np.mean(trapezoids, axis=2) / scale, axis=1)
    limit = math.nan
    if complete.sum() >= min_cycles:
        lower, upper = np.quantile(np.cbrt(distances[complete]), [0.25, 0.75])
        limit = float((upper + OUTLIER_FENCE * (upper - lower)) ** 3)
    return Typicality(int(np.nanargmin(distances)), distances, distances > limit, limit)


# -- Distance from normal: gait variable scores, gait profile score --------------------------------------------------


def gait_variable_score(curves: ArrayLike, reference: ArrayLike) -> FloatArray:
    """Return the root mean square over the cycle (last axis) of the difference between curve and reference mean.

    Baker et al. 2009, Gait Posture 30:265-269. NaN where a node is missing.
    Scores of healthy people are not zero; compare with the scores of controls.
    """
    apart = np.asarray(curves, dtype=float) - np.asarray(reference, dtype=float)
    return np.asarray(np.sqrt(np.mean(apart**2, axis=-1)))


#: Number of gait features, and percent of the cycle between two instants, of the gait deviation index.
GAIT_FEATURES: Final = 15
GAIT_VECTOR_STEP: Final = 2


@dataclass(frozen=True)
class GaitDeviationIndex:
    """Scale of the gait deviation index: 100 is the mean of the control group, 10 points are one standard deviation.

    Schwartz & Rozumalski 2008, Gait Posture 28:351-357. A gait vector holds nine angles at 0, 2 ... 100 % of the cycle.

    Attributes:
        vectors: (15, 459) orthonormal gait features.
        log_mean, log_sd: mean and SD of the natural logarithm of the controls' distances.
    """

    vectors: FloatArray
    log_mean: float
    log_sd: float

    def score(self, deviation: ArrayLike) -> float:
        """Return the gait deviation index of the differences (9, 101), degrees, of nine angles from the controls' mean.

        The index is NaN if a value is missing.
        """
        return float(100.0 - 10.0 * (self._log_distance(gait_vector(deviation)) - self.log_mean) / self.log_sd)

    def _log_distance(self, deviations: FloatArray) -> FloatArray:
        return np.asarray(np.log(np.linalg.norm(deviations @ self.vectors.T, axis=-1)))


def gait_vector(curves: ArrayLike) -> FloatArray:
    """Return the gait vector (..., 51 V) of V curves (..., V, 101): their values at every second percent, joined."""
    coarse = np.asarray(curves, dtype=float)[..., ::GAIT_VECTOR_STEP]
    return coarse.reshape(*coarse.shape[:-2], -1)


def fit_deviation_index(
    walks: FloatArray, deviations: FloatArray, weights: ArrayLike, prediction: float = 1.0
) -> GaitDeviationIndex:
    """Return the gait features of walks, and the scale of the controls' distances.

    Features are the first left singular vectors of all gait vectors, not centred (Schwartz & Rozumalski 2008).

    Parameters: `walks` (N, 459) gait vectors of patients and controls; `deviations` (M, 459) of controls from their mean, with
    `weights` (M,); `prediction`: ratio of the distance of a new control to that of a control who is part of the mean.
    """
    vectors = np.linalg.svd(walks, full_matrices=False)[2][:GAIT_FEATURES]
    logs = GaitDeviationIndex(vectors, 0.0, 1.0)._log_distance(deviations) + math.log(prediction)
    shares = np.asarray(weights, dtype=float)
    return GaitDeviationIndex(
        vectors, float(np.average(logs, weights=shares)), math.sqrt(float(np.cov(logs, aweights=shares)))
    )


def gait_profile_score(variable_scores: ArrayLike) -> FloatArray:
    """Return the root mean square of gait variable scores (last axis), not their arithmetic mean.

    NaN if a score is missing.
    """
    return np.asarray(np.sqrt(np.mean(np.asarray(variable_scores, dtype=float) ** 2, axis=-1)))
