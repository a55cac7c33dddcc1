"""Smoothing spline with automatic smoothness for each marker, and the automatic cut-off of a trial.

The spline x minimises |y - x|^2 + lambda |D x|^2 for the samples y, with D the m-th difference. This is the smoothing spline of
Woltring 1986 (doi 10.1016/0141-1195(86)90098-7) for equal time steps. It is quintic (m = 3), because torques need
accelerations; a cubic spline has three times their noise. Its gain 1 / (1 + lambda (2 sin(pi f / rate))^2m) is that of a
zero-lag Butterworth filter of order 2 m up to high frequencies, so that each lambda has a cut-off. Lambda is chosen for the
three axes of each marker together by generalised cross-validation (Craven & Wahba 1979, doi 10.1007/BF01404567), which assumes
white noise.

Automatic cut-off: for a marker with known error s the cut-off with the least squared error of its path follows from Mallows
1973 (doi 10.1080/00401706.1973.10489103). s is the noise above the frequencies of walking, plus soft tissue in proportion to
speed, which also covers markers that were smoothed before they were stored. Because hip torques are most sensitive to a high
cut-off, the lower quartile of the markers is used. It is rounded to a whole number, so that most walks of a session have the
same cut-off. Quartile, soft tissue and bounds were chosen on simulated rough walks (`benchmarks/rough_walks.py`, seeds 0 to 19)
and validated with other people (seeds 100 to 149): docs/methods.md, section 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np
from scipy.linalg import cholesky_banded

from biodyn.conventions import BoolArray, FloatArray
from biodyn.geometry.points import all_finite, points_axis_first, squared_lengths
from biodyn.kernels.linear_algebra import solve_banded
from biodyn.processing.signals.filtering import butterworth_lowpass, estimate_noise, finite_stretches, group_by_pattern
from biodyn.processing.signals.smoothing import SMOOTHING, SmoothedSignal, SmoothingMethod

# Bounds of the cut-off: several harmonics of a walking stride, and the highest frequency of bone movement.
LOWEST_HZ, HIGHEST_HZ = 2.0, 25.0
_BENT = 3  # m: order of the penalised derivative
_TRIED = 24  # number of cut-offs at equal logarithmic steps (a ninth each), refined by a parabola


def smooth_by_spline(positions: FloatArray, rate_hz: float, cutoff_hz: float, order: int) -> SmoothedSignal:
    """Smooth each marker with its automatic cut-off; `cutoff_hz` 0 = no smoothing.

    Stretches that are too short for the spline are unchanged. All stretches of a marker have the same cut-off. The returned
    cut-off is the median over the markers. Other values of `cutoff_hz`, and `order`, are ignored.
    """
    smooth = np.array(positions, dtype=np.float64)
    if cutoff_hz == 0:
        return SmoothedSignal(smooth, 0.0, 2 * _BENT)
    m = _BENT
    chosen_hz = optimal_cutoffs(smooth, rate_hz)
    for seen, markers in group_by_pattern(all_finite(smooth).T):
        stretches = _long_enough_stretches(seen)
        for marker in markers:
            for rows in stretches:
                smooth[rows, marker] -= spline_residual(
                    smooth[rows, marker], smoothing_parameter_of_cutoff(chosen_hz[marker], rate_hz, m), m
                )
    known_hz = chosen_hz[np.isfinite(chosen_hz)]
    return SmoothedSignal(smooth, float(np.median(known_hz)) if len(known_hz) else 0.0, 2 * m)


def optimal_cutoffs(
    positions: FloatArray,
    rate_hz: float,
    noise_m: FloatArray | None = None,
    lowest_hz: float = LOWEST_HZ,
    tried: int = _TRIED,
) -> FloatArray:
    """Return the optimal cut-off (M,) Hz of each marker (T, M, 3); NaN where its stretches are too short.

    Args:
        positions: m, NaN where missing. rate_hz: frames per second.
        noise_m: white noise (M,) of the markers, m per axis, if known; the squared error is then minimised instead of the
            cross-validation score. NaN excludes a marker.
        lowest_hz, tried: lowest cut-off of the search, and number of cut-offs.
    """
    most_of_rate = 0.4
    tried_hz = np.geomspace(lowest_hz, min(HIGHEST_HZ, most_of_rate * rate_hz), tried)
    chosen = np.full(positions.shape[1], np.nan)
    for seen, markers in group_by_pattern(all_finite(positions).T):
        stretches = _long_enough_stretches(seen)
        if stretches:
            known_m = None if noise_m is None else noise_m[markers]
            chosen[markers] = _best_cutoffs(tried_hz, positions[:, markers], stretches, rate_hz, _BENT, known_m)
    return chosen if noise_m is None else np.where(np.isfinite(noise_m), chosen, np.nan)


def _long_enough_stretches(seen: BoolArray) -> list[slice]:
    return [slice(first, stop) for first, stop in finite_stretches(seen) if stop - first >= 2 * _BENT + 2]


def smoothing_parameter_of_cutoff(cutoff_hz: float, rate_hz: float, m: int) -> float:
    """Return the lambda of the spline whose gain at the cut-off is 1/sqrt(2)."""
    at_cutoff = np.sqrt(2.0) - 1.0  # gain 1 / (1 + this) = 1 / sqrt(2)
    return float(at_cutoff / (2.0 * np.sin(np.pi * cutoff_hz / rate_hz)) ** (2 * m))


def spline_residual(samples: FloatArray, lam: float, m: int) -> FloatArray:
    """Return the residual y - x of the spline for samples y (n, ...) at equal time steps.

    With w = lambda D x, (1 / lambda + D D^T) w = D y and y - x = D^T w (Reinsch 1967), which avoids small differences of large
    numbers.
    """
    w = _weighted_differences(np.diff(samples.reshape(len(samples), -1), m, axis=0), lam, m)
    taken: FloatArray = (-1.0) ** m * np.diff(np.pad(w, ((m, m), (0, 0))), m, axis=0)
    return taken.reshape(samples.shape)


def _weighted_differences(differences: FloatArray, lam: float, m: int) -> FloatArray:
    """Return w in `spline_residual` from the m-th differences D y (n - m, columns)."""
    # D D^T is banded, with the binomial coefficients of (2 - 2 cos)^m next to its diagonal.
    band = np.repeat([[(-1.0) ** k * comb(2 * m, m + k)] for k in range(m + 1)], len(differences), axis=1)
    band[0] += 1.0 / lam
    w = np.array(differences, order="C")
    solve_banded(np.ascontiguousarray(cholesky_banded(band, lower=True).T), w)
    return w


def _residual_squares(differences: FloatArray, lam: float, m: int) -> FloatArray:
    """Return the sum of squares of the `spline_residual` of each column: |D^T w|^2 = w^T (D y - w / lambda)."""
    w = _weighted_differences(differences, lam, m)
    return np.asarray(np.einsum("tc,tc->c", w, differences - w / lam))


def difference_eigenvalues(count: int, m: int) -> FloatArray:
    """Return the non-zero eigenvalues (n - m,) of D^T D for n = `count` samples.

    They are (2 sin(a / 2))^2m at a = pi (k - (m + 1) / 2) / n, like the frequencies of a free beam. This is exact for m = 1;
    for larger m the error of `residual_degrees_of_freedom` is below half a sample.
    """
    angle = np.pi * (np.arange(m + 1, count + 1) - 0.5 * (m + 1)) / count
    return np.asarray((2.0 * np.sin(0.5 * angle)) ** (2 * m))


def residual_degrees_of_freedom(eigenvalues: FloatArray, lam: float) -> float:
    """Return the trace of the matrix from samples to residuals, i.e. the number of samples that the spline treats as noise."""
    bent = lam * eigenvalues
    return float(np.sum(bent / (1.0 + bent)))


def _best_cutoffs(
    tried_hz: FloatArray,
    positions: FloatArray,
    stretches: list[slice],
    rate_hz: float,
    m: int,
    noise_m: FloatArray | None,
) -> FloatArray:
    """Return the cut-off (M,) Hz of each marker (T, M, 3), with the lowest score.

    All markers are visible in the same `stretches`. The score is that of cross-validation, or, for known noise s, the expected
    squared error |x - truth|^2 = |y - x|^2 - 2 s^2 (samples treated as noise) plus a constant (Mallows 1973; Craven & Wahba
    1979, eq. 1.8).
    """
    score = np.empty((len(tried_hz), positions.shape[1]))
    differences = [np.diff(positions[rows].reshape(rows.stop - rows.start, -1), m, axis=0) for rows in stretches]
    eigenvalues = [difference_eigenvalues(rows.stop - rows.start, m) for rows in stretches]
    for row, cutoff_hz in enumerate(tried_hz):
        lam = smoothing_parameter_of_cutoff(cutoff_hz, rate_hz, m)
        of_axes = np.sum([_residual_squares(columns, lam, m) for columns in differences], axis=0)
        squares = of_axes.reshape(positions.shape[1:]).sum(axis=1)
        free = sum(residual_degrees_of_freedom(values, lam) for values in eigenvalues)
        if noise_m is None:
            score[row] = np.log(np.maximum(squares, np.finfo(float).tiny)) - 2.0 * np.log(free)
        else:
            score[row] = squares - 2.0 * positions.shape[2] * np.nan_to_num(noise_m) ** 2 * free
    least = score.argmin(axis=0)
    inner = np.clip(least, 1, len(tried_hz) - 2)
    before, here, after = (np.take_along_axis(score, (inner + k)[None], axis=0)[0] for k in (-1, 0, 1))
    bend = before - 2.0 * here + after
    with np.errstate(divide="ignore", invalid="ignore"):
        step = np.where((least == inner) & (bend > 0.0), 0.5 * (before - after) / bend, least - inner)
    ratio = tried_hz[1] / tried_hz[0]
    return np.clip(tried_hz[inner] * ratio**step, tried_hz[0], tried_hz[-1])


SMOOTHING.add(
    "spline",
    SmoothingMethod(
        smooth_by_spline,
        "a quintic smoothing spline for each marker, chosen by generalised cross-validation (Woltring 1986)",
    ),
)


#: Bounds of the automatic cut-off: below them knee and ankle torques lose more accuracy than hip torques gain; above
#: them no torque gains accuracy.
LOWEST_AUTOMATIC_HZ, HIGHEST_AUTOMATIC_HZ = 6.0, 25.0
_MOST_OF_RATE = 0.4
_NOISE_FROM_HZ, _ORDER = 20.0, 4
_AUTOMATIC_FROM_HZ, _AUTOMATIC_TRIED = 4.0, 14


@dataclass(frozen=True)
class AutomaticCutoff:
    """Automatic cut-off and its reason.

    Attributes:
        cutoff_hz: cut-off for markers and forces.
        noise_m: white noise of the median marker, m per axis; NaN if unknown.
        optimal_hz: lower quartile of the optimal cut-offs of the markers, before bounds and rounding; NaN if unknown.
        points: name of the points in sentences.
    """

    cutoff_hz: float
    noise_m: float
    optimal_hz: float
    points: str = "markers"

    @property
    def reason(self) -> str:
        """Text that states why this cut-off was chosen."""
        least_noise_mm = 0.01  # if the noise is lower, the markers were filtered before they were stored
        if not np.isfinite(self.optimal_hz):
            return f"the lowest automatic cut-off: the {self.points} are visible too briefly for an estimate of their noise"
        noise_mm = 1000.0 * self.noise_m
        noise = (
            f"noise {noise_mm:.2f} mm"
            if noise_mm >= least_noise_mm
            else f"noise below {least_noise_mm} mm, probably filtered before export"
        )
        quartile = f"25th percentile of the optimal cut-offs of the {self.points} ({noise}): {self.optimal_hz:.1f} Hz"
        if self.cutoff_hz > self.optimal_hz + 0.5:
            return f"the lowest automatic cut-off; {quartile}"
        if self.cutoff_hz < self.optimal_hz - 0.5:
            return f"the highest automatic cut-off; {quartile}"
        return quartile


def choose_cutoff(positions: FloatArray, rate_hz: float) -> AutomaticCutoff:
    """Return the automatic cut-off for markers (T, M, 3) m, NaN where missing; the lowest bound for short recordings."""
    skin_s = 0.0002  # soft-tissue error of a marker over its speed relative to the mean of all: 0.2 mm at 1 m/s
    noise, speed = estimate_noise(positions, rate_hz, _NOISE_FROM_HZ, _ORDER), relative_speed(positions, rate_hz)
    error = np.hypot(noise, skin_s * speed)
    known: BoolArray = np.asarray(np.isfinite(error))
    if not known.any():  # too short, or no visible marker
        return AutomaticCutoff(LOWEST_AUTOMATIC_HZ, float("nan"), float("nan"))
    cutoffs_hz = optimal_cutoffs(positions[:, known], rate_hz, error[known], _AUTOMATIC_FROM_HZ, _AUTOMATIC_TRIED)
    optimal_hz = float(np.nanpercentile(cutoffs_hz, 25.0))
    most_hz = max(LOWEST_AUTOMATIC_HZ, min(HIGHEST_AUTOMATIC_HZ, float(np.floor(_MOST_OF_RATE * rate_hz))))
    chosen_hz = float(np.clip(np.round(optimal_hz), LOWEST_AUTOMATIC_HZ, most_hz))
    return AutomaticCutoff(chosen_hz, float(np.median(noise[known])), optimal_hz)


def relative_speed(positions: FloatArray, rate_hz: float) -> FloatArray:
    """Return the RMS speed (M,) m/s of markers (T, M, 3) relative to the mean of all; NaN for markers that are never visible."""
    speed_cutoff_hz = 6.0
    if len(positions) < 2:
        return np.full(positions.shape[1], np.nan)
    smooth = butterworth_lowpass(positions, rate_hz, min(speed_cutoff_hz, _MOST_OF_RATE * rate_hz), _ORDER)
    velocity = np.gradient(smooth, 1.0 / rate_hz, axis=0)
    seen = all_finite(velocity)
    velocity = np.where(seen[..., None], velocity, 0.0)
    mean = points_axis_first(velocity).sum(axis=0) / np.maximum(seen.sum(axis=1), 1)[:, None]
    square = np.where(seen, squared_lengths(velocity - mean[:, None]), 0.0)
    return np.where(seen.any(axis=0), np.sqrt(square.sum(axis=0) / np.maximum(seen.sum(axis=0), 1)), np.nan)
