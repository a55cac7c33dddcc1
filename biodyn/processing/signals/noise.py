"""White noise of recorded markers."""

from __future__ import annotations

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.processing.signals.filtering import butterworth_lowpass

_LEAST_FRAMES = 60
_NORMAL_MAD = 1.4826  # standard deviation of normal numbers / their median absolute deviation


def measured_noise(raw: FloatArray, rate_hz: float, from_hz: float, order: int) -> FloatArray:
    """White noise (M,) of recorded markers (T, M, 3), m an axis, from what they hold above `from_hz`; NaN if unknown.

    No movement of walking is left there. Robust against jumps (median absolute deviation); the part of white noise that
    the high-pass lets through is known exactly.
    """
    from_hz = min(from_hz, 0.3 * rate_hz)
    rest = raw - butterworth_lowpass(raw, rate_hz, from_hz, order)
    impulse = np.zeros(2 * _LEAST_FRAMES + 1)
    impulse[_LEAST_FRAMES] = 1.0
    passed = float(np.sum((impulse - butterworth_lowpass(impulse, rate_hz, from_hz, order)) ** 2))
    sd = np.full(raw.shape[1], np.nan)
    for m in range(raw.shape[1]):
        values = rest[np.isfinite(rest[:, m, 0]), m]
        if len(values) >= _LEAST_FRAMES:
            sd[m] = _NORMAL_MAD * np.median(np.abs(values)) / np.sqrt(passed)
    return sd
