"""Zero-lag Butterworth filter with one cut-off for all markers, also used as the initial filter of the estimate.

The estimate of motion and forces uses recorded markers; its initial motion and the contacts follow from the same filter.
"""

from __future__ import annotations

from biodyn.conventions import FloatArray
from biodyn.processing.signals.filtering import butterworth_lowpass
from biodyn.processing.signals.smoothing import SMOOTHING, SmoothedSignal, SmoothingMethod

BUTTERWORTH = "butterworth"


def smooth_by_butterworth(positions: FloatArray, rate_hz: float, cutoff_hz: float, order: int) -> SmoothedSignal:
    """Apply the low-pass filter forwards and backwards, see `filtering.butterworth_lowpass`."""
    return SmoothedSignal(butterworth_lowpass(positions, rate_hz, cutoff_hz, order), cutoff_hz, order)


SMOOTHING.add(BUTTERWORTH, SmoothingMethod(smooth_by_butterworth, "a zero-lag Butterworth filter"))


ESTIMATE = "estimate"

SMOOTHING.add(ESTIMATE, SmoothingMethod(smooth_by_butterworth, "one estimate of motion and forces"))
