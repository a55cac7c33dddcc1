"""Markers that jump away for a frame or two and come back: no marker on a person does that."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.geometry.points import lengths
from biodyn.recording import Markers

# A marker off the median of its neighbouring frames by so much jumped: no marker on a walking person does that at 60 Hz or more.
SPIKE_M = 0.03
# At lower rates a foot that turns back does: so much acceleration, m/s2; and where all is noisy, so many times the usual.
_TURNING_M_S2, _NOISE = 100.0, 6.0
_WINDOW = 5


def without_spikes(markers: Markers, off: FloatArray | None = None) -> Markers:
    """Return the markers without the frames in which each jumps: they are not seen there, before a filter spreads the jump.

    off: their `jumps` (T, M), where these are known already.
    """
    off = jumps(markers) if off is None else off
    jumped = off > spike_limit_m(off, markers.rate_hz)
    if not jumped.any():
        return markers
    return replace(markers, positions=np.where(jumped[..., None], np.nan, markers.positions))


def spike_limit_m(off: FloatArray, rate_hz: float) -> FloatArray:
    """Distance (M,) m from the median of the frames around from which on each marker jumped; off (T, M): `jumps` of all."""
    usual = np.median(off, axis=0) if len(off) else np.zeros(off.shape[1])
    return np.asarray(np.maximum(max(SPIKE_M, _TURNING_M_S2 / rate_hz**2), _NOISE * usual))


def jumps(markers: Markers) -> FloatArray:
    """Distance (T, M) m of every marker from the median of the five frames around; 0 beside a gap: no judgement there."""
    p = markers.positions
    half = _WINDOW // 2
    off = np.zeros(p.shape[:2])
    if len(p) < _WINDOW:
        return off
    away = lengths(p[half : len(p) - half] - median_of_five(p))
    off[half : len(p) - half] = np.where(np.isnan(away), 0.0, away)
    return off


def median_of_five(p: FloatArray) -> FloatArray:
    """Return the median (T - 4, ...) of every five neighbours of (T, ...); NaN where one of them is."""
    a, b, c, d, e = (p[k : len(p) - _WINDOW + 1 + k] for k in range(_WINDOW))
    # neither the least of two pairs nor the largest: the median of the two others and the fifth
    low = np.maximum(np.minimum(a, b), np.minimum(c, d))
    high = np.minimum(np.maximum(a, b), np.maximum(c, d))
    median: FloatArray = np.maximum(np.minimum(low, high), np.minimum(np.maximum(low, high), e))
    return median
