"""Foot strikes from the likelihood of contact: how high and how fast heel and toe are, frame by frame.

Around a strike the foot is in one of two states, first in the air, then on the floor. Each frame's kinematics x say with log
odds l(x) which (logistic regression; `library/gait/events.toml`, learnt by `benchmarks/events.py`). Of a chain of two states
that passes over once, at the time s, the likelihood is

    log p(x | s) = sum over the frames behind s of l(x) + what does not depend on s,

the sum of a smoother over this chain with every passage alike before it is seen; between frames l runs along straight lines.
Mean and standard deviation over s are the time of the strike and how well the kinematics determine it.

What enters is measured in units of the foot itself, over the trial: heights above its low points, velocities and accelerations,
each over the 95th percentile of its size. So children and adults, slow and fast ones look alike, and no floor need be known.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from biodyn.conventions import FloatArray, Side
from biodyn.library.load import load_table
from biodyn.processing.gait.event_confidence import probability_close
from biodyn.recording import GaitEvent

#: What is measured of the foot, in the order of `foot_kinematics`.
FEATURES = (
    "heel_height",
    "toe_height",
    "heel_upward_velocity",
    "toe_upward_velocity",
    "heel_speed",
    "toe_speed",
    "heel_upward_acceleration",
    "toe_upward_acceleration",
)
_LOW, _SIZE = 5.0, 95.0  # percentiles over the trial
_STEP_S = 0.001  # of the times at which a strike may lie
# The rate of the frames that the odds were learnt with: twice as many frames say no more, for neighbours say the same.
_LEARNT_HZ = 100.0
_LEAST_FRAMES = 5
_WITHIN_SD = 2.0


@dataclass(frozen=True)
class ContactOdds:
    """Log odds of contact: `intercept` + sum of `weights` (8,) times `FEATURES`.

    `half_s`: how far from the expected time a strike is looked for. `spread_s`: what people differ by beyond what the
    likelihood knows, one standard deviation.
    """

    intercept: float
    weights: tuple[float, ...]
    half_s: float
    spread_s: float

    def of(self, kinematics: FloatArray) -> FloatArray:
        """Log odds (T,) of contact for kinematics (T, 8)."""
        return np.asarray(self.intercept + kinematics @ np.array(self.weights))


@cache
def strike_odds() -> ContactOdds:
    """The odds that the library has learnt."""
    table = load_table("gait/events")["contact"]
    weights = tuple(float(table["weights"][name]) for name in FEATURES)
    return ContactOdds(float(table["intercept"]), weights, float(table["half_s"]), float(table["spread_s"]))


def foot_kinematics(heel_W: FloatArray, toe_W: FloatArray, floor_velocity_W: FloatArray, rate_hz: float) -> FloatArray:
    """Return `FEATURES` (T, 8) of one foot, each over its own size in the trial; NaN where the foot is not seen.

    `heel_W`, `toe_W`: (T, 3) m, filtered. `floor_velocity_W`: (3,) m/s of what the foot stands on.
    """
    if len(heel_W) < _LEAST_FRAMES or not np.isfinite(heel_W + toe_W).all(axis=1).any():
        return np.full((len(heel_W), len(FEATURES)), np.nan)
    heights, falls, speeds, pulls = [], [], [], []
    for point in (heel_W, toe_W):
        velocity = np.gradient(point, 1.0 / rate_hz, axis=0) - floor_velocity_W
        heights.append(point[:, 1] - np.nanpercentile(point[:, 1], _LOW))
        falls.append(velocity[:, 1])
        speeds.append(np.hypot(velocity[:, 0], velocity[:, 2]))
        pulls.append(np.gradient(velocity[:, 1], 1.0 / rate_hz))
    found = np.column_stack([*heights, *falls, *speeds, *pulls])
    size = np.nanpercentile(np.abs(found), _SIZE, axis=0)
    return found / np.where(size > 0.0, size, np.nan)


def passage(log_odds: FloatArray, rate_hz: float, about_s: float, half_s: float) -> tuple[float, float]:
    """Return mean and standard deviation (s) of the time at which the air becomes contact, within `half_s` of `about_s`.

    `log_odds` (T,) of contact. NaN where the stretch is not wholly seen, or does not lead from the air to the floor.
    """
    at_s = np.arange(about_s - half_s, about_s + half_s, _STEP_S)
    first, last = math.floor(at_s[0] * rate_hz), math.ceil(at_s[-1] * rate_hz)
    if first < 0 or last >= len(log_odds) or not np.isfinite(log_odds[first : last + 1]).all():
        return math.nan, math.nan
    odds = np.interp(at_s * rate_hz, np.arange(first, last + 1), log_odds[first : last + 1])
    before = np.concatenate(([0.0], np.cumsum(0.5 * (odds[1:] + odds[:-1])))) * _STEP_S * _LEARNT_HZ
    chance = np.exp(before.min() - before)
    chance /= chance.sum()
    mean = float(chance @ at_s)
    sd = float(np.sqrt(chance @ (at_s - mean) ** 2))
    # A likelihood that is largest at an end of the stretch says that the passage is not in it.
    return (mean, sd) if at_s[0] + _WITHIN_SD * sd < mean < at_s[-1] - _WITHIN_SD * sd else (math.nan, math.nan)


def likely_strikes(
    expected: Sequence[GaitEvent],
    heel_W: Mapping[Side, FloatArray],
    toe_W: Mapping[Side, FloatArray],
    floor_velocity_W: FloatArray,
    rate_hz: float,
    odds: ContactOdds | None = None,
) -> list[GaitEvent]:
    """Return the events with each foot strike where contact becomes likely, and as sure as that is.

    Parameters:
        expected: events near which to look. heel_W, toe_W: per side (T, 3) m, filtered at 6 Hz. odds: None = the library's.

    Foot offs, and strikes around which no passage from the air to the floor is seen, stay as they are.
    """
    odds = odds or strike_odds()
    log_odds = {
        side: odds.of(foot_kinematics(heel_W[side], toe_W[side], np.asarray(floor_velocity_W), rate_hz))
        for side in heel_W
    }
    found = []
    for event in expected:
        time_s, sd_s = math.nan, math.nan
        if event.kind == "foot_strike":
            time_s, sd_s = passage(log_odds[event.side], rate_hz, event.time_s, odds.half_s)
        if math.isfinite(time_s):
            sure = probability_close(math.hypot(sd_s, odds.spread_s))
            event = replace(event, time_s=time_s, confidence=sure)
        found.append(event)
    return found
