"""Variances of a marker's error and of its first two derivatives: white noise behind a filter, and skin over the stride.

An error n(t) reaches a torque as g0 n + g1 n' + g2 n''. All that is needed of n are the six second moments of (n, n', n'').
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.interpolate import make_interp_spline

from biodyn.conventions import BoolArray, FloatArray
from biodyn.processing.signals.derivatives import DEGREE
from biodyn.processing.signals.filtering import butterworth_lowpass, finite_stretches

# (order, order) of the derivatives in a row of moments.
PAIRS = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
# Beyond so many cut-off periods from an end the filter no longer feels it.
_END_PERIODS = 6
_LEAST_FRAMES = 60


def filtered_noise(seen: BoolArray, rate_hz: float, cutoff_hz: float, order: int) -> FloatArray:
    """Moments (T, M or 1, 6) of unit white noise of markers seen (T, M) behind the filter and the spline of the derivatives."""
    return white_noise(seen, rate_hz, cutoff_hz, lambda x: butterworth_lowpass(x, rate_hz, cutoff_hz, order))


def white_noise(
    seen: BoolArray, rate_hz: float, cutoff_hz: float, smooth: Callable[[FloatArray], FloatArray]
) -> FloatArray:
    """Moments (T, M, 6) of unit white noise of markers seen (T, M), behind `smooth` (T, N) -> (T, N) and the spline.

    `smooth` is made of filters with the cut-off, which take each unbroken stretch of a marker by itself (and leave it as it is
    where it is too short). (T, 1, 6) where all markers are seen throughout.
    """
    frames = len(seen)
    patterns = seen[:, :1] if seen.all() else seen
    moments = np.zeros((frames, patterns.shape[1], len(PAIRS)))
    known: dict[int, FloatArray] = {}
    for m in range(patterns.shape[1]):
        for first, stop in finite_stretches(patterns[:, m]):
            if stop - first not in known:
                known[stop - first] = _white_stretch(stop - first, rate_hz, cutoff_hz, smooth)
            moments[first:stop, m] = known[stop - first]
    return moments


def _white_stretch(
    frames: int, rate_hz: float, cutoff_hz: float, smooth: Callable[[FloatArray], FloatArray]
) -> FloatArray:
    """Moments (T, 6) over one stretch.

    All is linear, so the variance at a frame is the sum of the squares of its weights on all samples: exact, ends included.
    Far from the ends the weights repeat themselves; they are computed for a short trial and its middle is stretched.
    """
    end = round(_END_PERIODS * rate_hz / cutoff_hz) if cutoff_hz else 0
    short = min(frames, max(2 * end + 1, _LEAST_FRAMES))
    filtered = smooth(np.eye(short))
    weights = [filtered, *_derivatives(filtered, rate_hz)]
    moments = np.stack([np.sum(weights[i] * weights[j], axis=1) for i, j in PAIRS], axis=1)
    half = (short - 1) // 2
    rows = np.full(frames, half)
    rows[:half] = np.arange(half)
    rows[frames - half :] = np.arange(short - half, short)
    return np.asarray(moments[rows])


def _derivatives(x: FloatArray, rate_hz: float) -> tuple[FloatArray, FloatArray]:
    """First and second derivative of samples (T, ...), of a spline whose degree is less where the samples are few."""
    if len(x) == 1:  # a constant; SciPy 1.16 writes outside of its memory for the second derivative of degree 0
        return np.zeros_like(x), np.zeros_like(x)
    time_s = np.arange(len(x)) / rate_hz
    spline = make_interp_spline(time_s, x, k=min(DEGREE, len(x) - 1))
    return spline(time_s, nu=1), spline(time_s, nu=2)


def stride_movement(
    shares: Sequence[float], stride_s: float, rate_hz: float, cutoff_hz: float, order: int
) -> FloatArray:
    """Moments (6,) of a random curve of the gait cycle with variance 1: `shares` of it are an offset and the harmonics.

    Every harmonic k has a random phase, so its moments are those of a stationary process: <n n> = s, <n' n'> = w^2 s,
    <n n''> = -w^2 s, <n'' n''> = w^4 s with w = 2 pi k / stride. The low-pass filter weakens it by its gain.
    """
    moments = np.zeros(len(PAIRS))
    for k, share in enumerate(shares):
        w = 2.0 * np.pi * k / stride_s
        s = share * filter_gain(k / stride_s, rate_hz, cutoff_hz, order) ** 2
        moments += s * np.array([1.0, 0.0, -(w**2), w**2, 0.0, w**4])
    return moments


def filter_gain(frequency_hz: float, rate_hz: float, cutoff_hz: float, order: int) -> float:
    """Gain of the zero-lag Butterworth filter, 1/sqrt(2) at the cut-off (dual-pass correction included)."""
    if not cutoff_hz or not frequency_hz:
        return 1.0
    ratio = np.tan(np.pi * frequency_hz / rate_hz) / np.tan(np.pi * cutoff_hz / rate_hz)
    # Each pass has gain (1 + C^order ratio^order)^-1/2 with C such that two passes make 1/sqrt(2) at ratio 1.
    return float(1.0 / (1.0 + (np.sqrt(2.0) - 1.0) * ratio**order))
