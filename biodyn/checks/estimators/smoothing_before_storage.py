"""Detection of markers and forces that were low-pass filtered before they were stored, from their spectra.

In walking, changes of the vertical force are nearly as large at 25 to 40 Hz as at 10 to 18 Hz; a low-pass filter reduces the
higher band, independent of person and speed. The same holds for accelerations of the feet at 6 to 9 Hz and at 2 to 4 Hz.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.processing.signals.filtering import finite_stretches
from biodyn.recording import Markers, PlateWrench

# Least load of an evaluated plate as a fraction of body weight, and least duration of an evaluated trajectory.
_LEAST_LOAD, _LEAST_S = 0.4, 0.8
_FEWEST, _FASTEST = 4, 5  # the fifth of the markers with the largest accelerations


def force_band_ratio(plates: Sequence[PlateWrench], weight_n: float) -> float:
    """Return the ratio of the amplitudes of changes of the vertical force at 25 to 40 Hz and at 10 to 18 Hz.

    plates: unfiltered wrenches at their sampling rates. NaN without a loaded plate, or if the rates are too low for 40 Hz.
    """
    vertical = 4  # index in a wrench [moment; force] in World
    force_bands_hz = ((10.0, 18.0), (25.0, 40.0))
    ratios = []
    for plate in plates:
        force = np.nan_to_num(plate.wrench[:, vertical])
        if plate.rate_hz <= 2.0 * force_bands_hz[1][1] or np.abs(force).max(initial=0.0) < _LEAST_LOAD * weight_n:
            continue
        if np.count_nonzero(np.abs(force) > 0.1 * weight_n) >= 0.25 * plate.rate_hz:
            ratios.append(
                _band_ratio(
                    np.diff(force * _taper_weights(len(force), plate.rate_hz))[:, None], plate.rate_hz, force_bands_hz
                )
            )
    return float(np.median([ratio for _, ratio in ratios])) if ratios else math.nan


def marker_band_ratio(markers: Markers) -> float:
    """Return the ratio of the amplitudes of accelerations of the fastest markers at 6 to 9 Hz and at 2 to 4 Hz.

    markers: recorded markers. NaN without long trajectories, or if the rate is too low.
    """
    marker_bands_hz = ((2.0, 4.0), (6.0, 9.0))
    rate_hz = markers.rate_hz
    if rate_hz <= 2.0 * marker_bands_hz[1][1]:
        return math.nan
    ratios = []
    for path in np.moveaxis(markers.positions, 1, 0):
        stretches = finite_stretches(np.isfinite(path).all(axis=1))
        first, stop = max(stretches, key=lambda ends: ends[1] - ends[0], default=(0, 0))
        if stop - first >= _LEAST_S * rate_hz:
            bend = np.diff(path[first:stop], 2, axis=0) * rate_hz**2
            ratios.append(_band_ratio(bend * np.hanning(len(bend))[:, None], rate_hz, marker_bands_hz))
    ratios.sort(reverse=True)
    fastest = [ratio for _, ratio in ratios[: max(_FEWEST, len(ratios) // _FASTEST)]]
    return float(np.median(fastest)) if len(fastest) >= _FEWEST else math.nan


def _taper_weights(count: int, rate_hz: float) -> FloatArray:
    """Return weights (count,) that increase smoothly from 0 at both ends to 1."""
    taper_s = 0.1
    edge = np.minimum(np.arange(count), np.arange(count)[::-1]) / (taper_s * rate_hz)
    return np.asarray(np.sin(0.5 * np.pi * np.minimum(edge, 1.0)) ** 2)


def _band_ratio(signal: FloatArray, rate_hz: float, bands_hz: tuple[tuple[float, float], ...]) -> tuple[float, float]:
    """Return the mean power of a signal (T, k) in the lower band, and the amplitude ratio of the upper to the lower band."""
    count = max(len(signal), round(4.0 * rate_hz))  # frequency resolution of at least 0.25 Hz
    power = (np.abs(np.fft.rfft(signal, count, axis=0)) ** 2).sum(axis=1)
    hz = np.fft.rfftfreq(count, 1.0 / rate_hz)
    low, high = (float(power[(hz >= begin) & (hz < end)].mean()) for begin, end in bands_hz)
    return low, math.sqrt(high / low) if low > 0.0 else math.inf


def report_smoothed_forces(content: float, limit: float) -> tuple[Diagnostic, ...]:
    """Report forces that were low-pass filtered before they were stored."""
    text = (
        "The forces were low-pass filtered before they were stored, at about 10 Hz or lower: the ratio of "
        f"amplitudes at 25 to 40 Hz and at 10 to 18 Hz is {content:.2f}; measured walks have at least 0.3. Joint "
        "torques after foot strike are too small."
    )
    hint = "Export the forces unfiltered at the sampling rate of the plates."
    return _smoothing_finding("forces-smoothed-before", text, hint, content, limit)


def report_smoothed_markers(content: float, limit: float) -> tuple[Diagnostic, ...]:
    """Report trajectories that were low-pass filtered before they were stored."""
    text = (
        "The markers were low-pass filtered before they were stored, below about 4 Hz: the ratio of amplitudes of "
        f"foot accelerations at 6 to 9 Hz and at 2 to 4 Hz is {content:.2f}; measured walks have at least 0.16. "
        "Fast components of motion and joint torques are lost."
    )
    hint = "Export the trajectories without a filter, or with a cut-off of at least 6 Hz."
    return _smoothing_finding("markers-smoothed-before", text, hint, content, limit)


def _smoothing_finding(code: str, text: str, hint: str, content: float, limit: float) -> tuple[Diagnostic, ...]:
    return (Diagnostic(code, "warning", text, value=content, limit=limit, hint=hint),) if content < limit else ()
