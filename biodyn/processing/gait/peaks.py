"""Distinct maxima of a signal."""

from __future__ import annotations

import math

import numpy as np

from biodyn.conventions import FloatArray, IntArray


def distinct_peaks(x: FloatArray, prominence: float, distance: float) -> IntArray:
    """Samples of the maxima of a signal (T,) without gaps, as `scipy.signal.find_peaks` finds them.

    Of maxima closer than `distance` samples the highest stays; those that remain stand out by `prominence` in the unit of `x`
    at least: so far one has to descend on the higher side before a higher value or the end. A flat top counts at its middle;
    an end is no maximum. Here, so that no run waits for what `scipy.signal` imports.
    """
    change = np.flatnonzero(np.diff(x))  # last samples of stretches of equal values
    heights = x[np.append(change, len(x) - 1)]
    top = np.flatnonzero((heights[1:-1] > heights[:-2]) & (heights[1:-1] > heights[2:])) + 1
    peaks = (change[top - 1] + 1 + change[top]) // 2
    kept = np.ones(len(peaks), dtype=bool)
    for one in np.argsort(x[peaks])[::-1]:
        if kept[one]:
            kept[np.abs(peaks - peaks[one]) < math.ceil(distance)] = False
            kept[one] = True
    peaks = peaks[kept]
    return peaks[[_prominence(x, int(peak)) >= prominence for peak in peaks]]


def _prominence(x: FloatArray, peak: int) -> float:
    """Height of a maximum above the higher of its two valleys."""
    higher = np.flatnonzero(x > x[peak])
    place = int(np.searchsorted(higher, peak))
    first = int(higher[place - 1]) if place else 0
    last = int(higher[place]) if place < len(higher) else len(x)
    return float(x[peak] - max(x[first : peak + 1].min(), x[peak:last].min()))
