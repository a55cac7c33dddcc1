"""The zero-lag Butterworth filter with one cut-off for all markers: the field's habit, and the default."""

from __future__ import annotations

from biodyn.conventions import FloatArray
from biodyn.processing.signals.filtering import butterworth_lowpass
from biodyn.processing.signals.smoothing import SMOOTHING, Smoothed, SmoothingMethod


def butterworth(positions: FloatArray, rate_hz: float, cutoff_hz: float, order: int) -> Smoothed:
    """Low-pass filter forwards and backwards, see `filtering.butterworth_lowpass`."""
    return Smoothed(butterworth_lowpass(positions, rate_hz, cutoff_hz, order), cutoff_hz, order)


SMOOTHING.add("butterworth", SmoothingMethod(butterworth, "a zero-lag Butterworth filter"))
