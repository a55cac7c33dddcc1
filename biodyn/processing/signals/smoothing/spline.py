"""A smoothing spline for each marker, its smoothness chosen by generalised cross-validation.

Of all paths x that pass near the samples y the one that minimises  |y - x|^2 + lambda |D x|^2,  D the m-th difference: the
smoothing spline of Woltring 1986 (doi 10.1016/0141-1195(86)90098-7) for samples at equal times, quintic (m = 3) as there,
because torques need accelerations: a cubic one leaves three times their noise. Its gain is
1 / (1 + lambda (2 sin(pi f / rate))^2m), that of a zero-lag Butterworth filter of the order 2 m up to high frequencies,
so each lambda has a cut-off. It is chosen for each marker, over its three axes together (the choice does not depend on
how the laboratory's axes lie), where Craven & Wahba's score (1979, doi 10.1007/BF01404567) is least: the error with which
samples that are left out would be foretold. That needs noise without memory. Where the recording was smoothed before,
the score finds little noise and takes little away.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np

from biodyn.conventions import BoolArray, FloatArray
from biodyn.geometry.points import all_finite, point_by_point, squares
from biodyn.kernels.recursion import LANES, factorise_band, solve_factorised
from biodyn.processing.signals.filtering import butterworth_lowpass, finite_stretches, gap_patterns, measured_noise
from biodyn.processing.signals.smoothing import SMOOTHING, Smoothed, SmoothingMethod

# Walking people have several harmonics of the stride above the first, and skin shows nothing of the bones above the second.
LOWEST_HZ, HIGHEST_HZ = 2.0, 25.0
_MOST_OF_RATE = 0.4
_BENT = 3  # m: the derivative that is held small
_TRIED = 24  # cut-offs, at equal steps of their logarithm (a ninth each); between them a parabola tells
_AT_CUTOFF = np.sqrt(2.0) - 1.0  # gain 1 / (1 + this) = 1 / sqrt(2)


def smoothing_spline(positions: FloatArray, rate_hz: float, cutoff_hz: float, order: int) -> Smoothed:
    """Smooth every marker with the cut-off that it chooses itself; where `cutoff_hz` is 0, nothing is smoothed.

    Stretches too short for the spline stay as they are; all stretches of a marker have one cut-off. Returned with the
    markers' median cut-off. What else the filter is told (`cutoff_hz`, `order`) says nothing here.
    """
    smooth = np.array(positions, dtype=np.float64)
    if cutoff_hz == 0:
        return Smoothed(smooth, 0.0, 2 * _BENT)
    m = _BENT
    chosen_hz = optimal_cutoffs(smooth, rate_hz)
    for seen, markers in gap_patterns(all_finite(smooth).T):
        stretches = _long_enough(seen)
        for marker in markers:
            for rows in stretches:
                smooth[rows, marker] -= rest(smooth[rows, marker], stiffness(chosen_hz[marker], rate_hz, m), m)
    found = chosen_hz[np.isfinite(chosen_hz)]
    return Smoothed(smooth, float(np.median(found)) if len(found) else 0.0, 2 * m)


def optimal_cutoffs(
    positions: FloatArray,
    rate_hz: float,
    noise_m: FloatArray | None = None,
    lowest_hz: float = LOWEST_HZ,
    tried: int = _TRIED,
) -> FloatArray:
    """Return the cut-off (M,) Hz that each marker (T, M, 3) chooses itself; NaN where it is never seen for long enough.

    Args:
        positions: m, NaN where unseen. rate_hz: frames per second.
        noise_m: (M,) white noise of each marker, m an axis, where it is known: then the error itself is foretold and not that
            of samples left out; NaN leaves a marker out.
        lowest_hz, tried: where the search begins, and how many cut-offs it tries.
    """
    tried_hz = np.geomspace(lowest_hz, min(HIGHEST_HZ, _MOST_OF_RATE * rate_hz), tried)
    chosen = np.full(positions.shape[1], np.nan)
    for seen, markers in gap_patterns(all_finite(positions).T):
        stretches = _long_enough(seen)
        if stretches:
            known_m = None if noise_m is None else noise_m[markers]
            chosen[markers] = _best(tried_hz, positions[:, markers], stretches, rate_hz, _BENT, known_m)
    return chosen if noise_m is None else np.where(np.isfinite(noise_m), chosen, np.nan)


def _long_enough(seen: BoolArray) -> list[slice]:
    return [slice(first, stop) for first, stop in finite_stretches(seen) if stop - first >= 2 * _BENT + 2]


def stiffness(cutoff_hz: float, rate_hz: float, m: int) -> float:
    """Lambda of the spline that lets 1/sqrt(2) of the amplitude through at a cut-off."""
    return float(_AT_CUTOFF / (2.0 * np.sin(np.pi * cutoff_hz / rate_hz)) ** (2 * m))


def rest(samples: FloatArray, lam: float, m: int) -> FloatArray:
    """What the spline takes away from samples (n, ...) at equal times.

    With w = lambda D x follow (1 / lambda + D D^T) w = D y and y - x = D^T w (Reinsch 1967): no small difference of large
    numbers, however smooth the path.
    """
    differences = np.ascontiguousarray(np.diff(samples.reshape(len(samples), -1), m, axis=0).T)
    w = _bends(differences, lam, m, np.empty_like(differences)).T
    taken: FloatArray = (-1.0) ** m * np.diff(np.pad(w, ((m, m), (0, 0))), m, axis=0)
    return taken.reshape(samples.shape)


def _bends(differences: FloatArray, lam: float, m: int, w: FloatArray) -> FloatArray:
    """Fill and return the w of `rest`, from the m-th differences D y (columns, n - m)."""
    # D D^T is banded, with the binomial coefficients of (2 - 2 cos)^m beside its diagonal.
    n = differences.shape[1]
    band = np.repeat([[(-1.0) ** k * comb(2 * m, m + k)] for k in range(m + 1)], n, axis=1)
    band[0] += 1.0 / lam
    factorise_band(band)
    solve_factorised(band, differences, w, np.empty((n + 1, LANES)))
    return w


def _squares_of_rest(differences: FloatArray, lam: float, m: int, memory: FloatArray) -> FloatArray:
    """Sum of squares of the `rest` of each column: |D^T w|^2 = w^T (D y - w / lambda).

    memory (2, columns, n - m): many lambdas are tried, and new memory for each would cost as much as the solution.
    """
    w, left = _bends(differences, lam, m, memory[0]), memory[1]
    np.subtract(differences, np.divide(w, lam, out=left), out=left)
    return np.asarray(np.einsum("ct,ct->c", w, left))


def bending(count: int, m: int) -> FloatArray:
    """The eigenvalues (n - m,) of D^T D for n = `count` samples but for the first m, which are 0.

    (2 sin(a / 2))^2m at a = pi (k - (m + 1) / 2) / n, as the frequencies of a free beam are: exact for m = 1, and beyond so that
    the `residual_freedom` is less than half a sample off.
    """
    angle = np.pi * (np.arange(m + 1, count + 1) - 0.5 * (m + 1)) / count
    return np.asarray((2.0 * np.sin(0.5 * angle)) ** (2 * m))


def residual_freedom(eigenvalues: FloatArray, lam: float) -> float:
    """Trace of the matrix that takes samples to their rest, by their `bending`: how many are noise by the spline's account."""
    bent = lam * eigenvalues
    return float(np.sum(bent / (1.0 + bent)))


def _best(
    tried_hz: FloatArray,
    positions: FloatArray,
    stretches: list[slice],
    rate_hz: float,
    m: int,
    noise_m: FloatArray | None,
) -> FloatArray:
    """Cut-off (M,) Hz of each marker (T, M, 3), all seen in the same stretches, at which its score is least.

    The score is that of cross-validation, or, with known noise s, the squared error |x - truth|^2 that is to be expected:
    |y - x|^2 - 2 s^2 (samples counted as noise), up to a constant (Mallows 1973; Craven & Wahba 1979, eq. 1.8).
    """
    score = np.empty((len(tried_hz), positions.shape[1]))
    differences = [
        np.ascontiguousarray(np.diff(positions[rows].reshape(rows.stop - rows.start, -1), m, axis=0).T)
        for rows in stretches
    ]
    eigenvalues = [bending(rows.stop - rows.start, m) for rows in stretches]
    memory = [np.empty((2, *one.shape)) for one in differences]
    for row, cutoff_hz in enumerate(tried_hz):
        lam = stiffness(cutoff_hz, rate_hz, m)
        of_axes = np.sum(
            [_squares_of_rest(one, lam, m, own) for one, own in zip(differences, memory, strict=True)], axis=0
        )
        squares = of_axes.reshape(positions.shape[1:]).sum(axis=1)
        free = sum(residual_freedom(one, lam) for one in eigenvalues)
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
        smoothing_spline,
        "a quintic smoothing spline for each marker, chosen by generalised cross-validation (Woltring 1986)",
    ),
)


#: Below the first of these knee and ankle lose more than the hip wins, above the second no torque wins.
LOWEST_AUTOMATIC_HZ, HIGHEST_AUTOMATIC_HZ = 6.0, 25.0
_MOST_OF_RATE_automatic_cutoff = 0.4
_NOISE_FROM_HZ, _ORDER = 20.0, 4
# Error of a marker by its skin: this time by how fast it moves against the mean of all, 0.2 mm for 1 m/s.
_SKIN_S = 0.0002
_SPEED_CUTOFF_HZ = 6.0
_TRIED_FROM_HZ, _TRIED = 4.0, 14
_LEAST_NOISE_MM = 0.01  # no camera is so quiet: the markers were filtered before they were stored


@dataclass(frozen=True)
class AutomaticCutoff:
    """What was chosen, and what for.

    Attributes:
        cutoff_hz: for markers and forces.
        noise_m: white noise of the median marker, m an axis; NaN where unknown.
        speed_m_s: root mean square of how fast the median marker moves against the mean of all.
        optimal_hz: what the lower quartile of the markers asks for, before bounds and rounding; NaN where nothing can be told.
        points: what the points are called in sentences.
    """

    cutoff_hz: float
    noise_m: float
    speed_m_s: float
    optimal_hz: float
    points: str = "markers"

    @property
    def reason(self) -> str:
        """Why it is this cut-off, in words for a sentence."""
        if not np.isfinite(self.optimal_hz):
            return f"the lowest that is chosen: the {self.points} are seen too shortly to tell their noise"
        noise_mm = 1000.0 * self.noise_m
        noise = (
            f"noise {noise_mm:.2f} mm"
            if noise_mm >= _LEAST_NOISE_MM
            else f"noise below {_LEAST_NOISE_MM} mm, as if filtered before"
        )
        asked = f"three {self.points} in four ({noise}) ask for {self.optimal_hz:.1f} Hz or more"
        if self.cutoff_hz > self.optimal_hz + 0.5:
            return f"the lowest that is chosen; {asked}"
        if self.cutoff_hz < self.optimal_hz - 0.5:
            return f"the highest that is chosen; {asked}"
        return asked


def automatic_cutoff(positions: FloatArray, rate_hz: float) -> AutomaticCutoff:
    """Choose the cut-off for markers (T, M, 3) m, NaN where unseen; the lowest where nothing can be told."""
    noise, speed = measured_noise(positions, rate_hz, _NOISE_FROM_HZ, _ORDER), relative_speed(positions, rate_hz)
    error = np.hypot(noise, _SKIN_S * speed)
    known: BoolArray = np.asarray(np.isfinite(error))
    if not known.any():  # too short, or nothing seen
        return AutomaticCutoff(LOWEST_AUTOMATIC_HZ, float("nan"), float("nan"), float("nan"))
    asked = optimal_cutoffs(positions[:, known], rate_hz, error[known], _TRIED_FROM_HZ, _TRIED)
    optimal_hz = float(np.nanpercentile(asked, 25.0))
    most_hz = max(
        LOWEST_AUTOMATIC_HZ, min(HIGHEST_AUTOMATIC_HZ, float(np.floor(_MOST_OF_RATE_automatic_cutoff * rate_hz)))
    )
    chosen_hz = float(np.clip(np.round(optimal_hz), LOWEST_AUTOMATIC_HZ, most_hz))
    return AutomaticCutoff(chosen_hz, float(np.median(noise[known])), float(np.median(speed[known])), optimal_hz)


def relative_speed(positions: FloatArray, rate_hz: float) -> FloatArray:
    """Root mean square (M,) m/s of how fast markers (T, M, 3) move against the mean of all; NaN where one is never seen."""
    if len(positions) < 2:
        return np.full(positions.shape[1], np.nan)
    smooth = butterworth_lowpass(
        positions, rate_hz, min(_SPEED_CUTOFF_HZ, _MOST_OF_RATE_automatic_cutoff * rate_hz), _ORDER
    )
    velocity = np.gradient(smooth, 1.0 / rate_hz, axis=0)
    seen = all_finite(velocity)
    velocity = np.where(seen[..., None], velocity, 0.0)
    mean = point_by_point(velocity).sum(axis=0) / np.maximum(seen.sum(axis=1), 1)[:, None]
    own = np.where(seen, squares(velocity - mean[:, None]), 0.0)
    return np.where(seen.any(axis=0), np.sqrt(own.sum(axis=0) / np.maximum(seen.sum(axis=0), 1)), np.nan)
