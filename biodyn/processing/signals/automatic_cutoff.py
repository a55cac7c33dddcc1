"""A cut-off for markers and forces out of what a trial shows: the noise of its markers and how fast its feet move.

A filter takes away motion below its cut-off's reach, more of it the faster one moves, and lets noise through, whose share of an
acceleration grows with the cut-off to the power 2.5. So the best cut-off rises with speed and falls with noise, slowly:

    f = f0 (v / v0)^a (s / s0)^-b

The numbers were chosen on simulated rough walks (`benchmarks/rough_walks.py`, seeds 0 to 19) and are judged on other people
(seeds 100 to 149): docs/methods.md, section 2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from biodyn.conventions import BoolArray, FloatArray
from biodyn.processing.signals.filtering import butterworth_lowpass
from biodyn.processing.signals.noise import measured_noise

#: Below the first of these walks lose more than noise costs, above the second what skin does at a strike comes through.
LOWEST_HZ, HIGHEST_HZ = 6.0, 12.0
_USUAL_HZ, _USUAL_SPEED_M_S, _USUAL_NOISE_M = 8.0, 1.3, 0.0005
_BY_SPEED, _BY_NOISE = 0.5, 0.3
_LEAST_NOISE_M = 0.00005  # recordings that were smoothed before they were stored show less than any camera can do
_NOISE_FROM_HZ, _ORDER = 20.0, 4
_SPEED_CUTOFF_HZ = 6.0
# The fastest marker moves against the mean of all at this multiple of the walking speed, in the middle of a trial's frames:
# 1.24 to 1.38 in simulated walks of 0.75 to 1.8 m/s.
_FASTEST_TO_SPEED = 1.33


@dataclass(frozen=True)
class AutomaticCutoff:
    """What was chosen, Hz, and what for: noise of the markers, m an axis, and speed of the steps over the floor, m/s."""

    cutoff_hz: float
    noise_m: float
    speed_m_s: float


def automatic_cutoff(positions: FloatArray, rate_hz: float) -> AutomaticCutoff:
    """Choose the cut-off for markers (T, M, 3) m, NaN where unseen; the lowest where nothing can be told."""
    noise = measured_noise(positions, rate_hz, _NOISE_FROM_HZ, _ORDER)
    noise_m = float(np.median(noise[np.isfinite(noise)])) if np.isfinite(noise).any() else float("nan")
    speed = step_speed(positions, rate_hz)
    hz = _USUAL_HZ * (speed / _USUAL_SPEED_M_S) ** _BY_SPEED
    hz *= (max(noise_m, _LEAST_NOISE_M) / _USUAL_NOISE_M) ** -_BY_NOISE
    most = min(HIGHEST_HZ, 0.4 * rate_hz)
    chosen = float(np.clip(hz, LOWEST_HZ, most)) if np.isfinite(hz) else LOWEST_HZ
    return AutomaticCutoff(round(chosen, 1), noise_m, speed)


def step_speed(positions: FloatArray, rate_hz: float) -> float:
    """Speed (m/s) at which somebody steps, on the floor or on a belt: by how fast the fastest marker moves against the mean."""
    if len(positions) < 2:
        return float("nan")
    smooth = butterworth_lowpass(positions, rate_hz, min(_SPEED_CUTOFF_HZ, 0.4 * rate_hz), _ORDER)
    velocity = np.gradient(smooth, 1.0 / rate_hz, axis=0)
    seen: BoolArray = np.asarray(np.isfinite(velocity).all(axis=2))
    known = seen.sum(axis=1) > 1
    if not known.any():
        return float("nan")
    velocity, seen = np.where(seen[..., None], velocity, 0.0)[known], seen[known]
    mean = velocity.sum(axis=1) / seen.sum(axis=1)[:, None]
    against = np.where(seen, np.linalg.norm(velocity - mean[:, None], axis=2), 0.0)
    return float(np.median(against.max(axis=1)) / _FASTEST_TO_SPEED)
