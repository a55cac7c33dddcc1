"""A cut-off for markers and forces out of what a trial shows: errors of its markers and how far their paths stand out of them.

A filter takes motion away, the more the faster one moves, and lets errors through. Of a marker whose error s is known it can
be foretold which cut-off leaves its path the least squared error (Mallows 1973, doi 10.1080/00401706.1973.10489103; Craven &
Wahba 1979, doi 10.1007/BF01404567; for quintic splines on markers Woltring 1986): `smoothing/spline.chosen_cutoffs`.

s has two parts: the noise that the marker shows above the reach of a walk, and the skin, which swings more on what moves
faster. The second stands for markers that were smoothed before they were stored: they show no noise, and cross-validation
would take nothing away. Nothing here knows an activity: in running the paths stand out of the errors up to higher frequencies.

Markers ask for different cut-offs, those of the trunk for low ones, those of the feet for high ones. Torques at the hip suffer
first from a high one, so the choice is the lower quartile. It is a whole number: walks of one session then mostly share it,
and no rounding of a machine moves it.

The quartile, the skin's part and the bounds were chosen on simulated rough walks (`benchmarks/rough_walks.py`, seeds 0 to 19) and
are judged on other people (seeds 100 to 149): docs/methods.md, section 2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from biodyn.conventions import BoolArray, FloatArray
from biodyn.geometry.points import all_finite, point_by_point, squares
from biodyn.processing.signals.filtering import butterworth_lowpass, measured_noise
from biodyn.processing.signals.smoothing.spline import chosen_cutoffs

#: Below the first of these knee and ankle lose more than the hip wins, above the second no torque wins.
LOWEST_HZ, HIGHEST_HZ = 6.0, 25.0
_MOST_OF_RATE = 0.4
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
        asked_hz: what the lower quartile of the markers asks for, before bounds and rounding; NaN where nothing can be told.
        points: what the points are called in sentences.
    """

    cutoff_hz: float
    noise_m: float
    speed_m_s: float
    asked_hz: float
    points: str = "markers"

    @property
    def reason(self) -> str:
        """Why it is this cut-off, in words for a sentence."""
        if not np.isfinite(self.asked_hz):
            return f"the lowest that is chosen: the {self.points} are seen too shortly to tell their noise"
        noise_mm = 1000.0 * self.noise_m
        noise = (
            f"noise {noise_mm:.2f} mm"
            if noise_mm >= _LEAST_NOISE_MM
            else f"noise below {_LEAST_NOISE_MM} mm, as if filtered before"
        )
        asked = f"three {self.points} in four ({noise}) ask for {self.asked_hz:.1f} Hz or more"
        if self.cutoff_hz > self.asked_hz + 0.5:
            return f"the lowest that is chosen; {asked}"
        if self.cutoff_hz < self.asked_hz - 0.5:
            return f"the highest that is chosen; {asked}"
        return asked


def automatic_cutoff(positions: FloatArray, rate_hz: float) -> AutomaticCutoff:
    """Choose the cut-off for markers (T, M, 3) m, NaN where unseen; the lowest where nothing can be told."""
    noise, speed = measured_noise(positions, rate_hz, _NOISE_FROM_HZ, _ORDER), relative_speed(positions, rate_hz)
    error = np.hypot(noise, _SKIN_S * speed)
    known: BoolArray = np.asarray(np.isfinite(error))
    if not known.any():  # too short, or nothing seen
        return AutomaticCutoff(LOWEST_HZ, float("nan"), float("nan"), float("nan"))
    asked = chosen_cutoffs(positions[:, known], rate_hz, error[known], _TRIED_FROM_HZ, _TRIED)
    asked_hz = float(np.nanpercentile(asked, 25.0))
    most_hz = max(LOWEST_HZ, min(HIGHEST_HZ, float(np.floor(_MOST_OF_RATE * rate_hz))))
    chosen_hz = float(np.clip(np.round(asked_hz), LOWEST_HZ, most_hz))
    return AutomaticCutoff(chosen_hz, float(np.median(noise[known])), float(np.median(speed[known])), asked_hz)


def relative_speed(positions: FloatArray, rate_hz: float) -> FloatArray:
    """Root mean square (M,) m/s of how fast markers (T, M, 3) move against the mean of all; NaN where one is never seen."""
    if len(positions) < 2:
        return np.full(positions.shape[1], np.nan)
    smooth = butterworth_lowpass(positions, rate_hz, min(_SPEED_CUTOFF_HZ, _MOST_OF_RATE * rate_hz), _ORDER)
    velocity = np.gradient(smooth, 1.0 / rate_hz, axis=0)
    seen = all_finite(velocity)
    velocity = np.where(seen[..., None], velocity, 0.0)
    mean = point_by_point(velocity).sum(axis=0) / np.maximum(seen.sum(axis=1), 1)[:, None]
    own = np.where(seen, squares(velocity - mean[:, None]), 0.0)
    return np.where(seen.any(axis=0), np.sqrt(own.sum(axis=0) / np.maximum(seen.sum(axis=0), 1)), np.nan)
