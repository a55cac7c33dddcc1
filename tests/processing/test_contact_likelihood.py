"""Foot strikes from the likelihood of contact: an honest posterior of one transition from the air to the floor."""

from __future__ import annotations

import numpy as np
import pytest

from biodyn.conventions import FloatArray
from biodyn.processing.gait.kinematic_events import (
    FEATURES,
    ContactOdds,
    contact_transition,
    foot_kinematics,
    load_strike_odds,
    probability_within_tolerance,
    refine_events_from_kinematics,
    refine_foot_offs,
    refine_strikes,
)
from biodyn.recording import GaitEvent

_RATE_HZ = 100.0


@pytest.mark.parametrize("rate_hz", [60.0, 100.0, 250.0])
@pytest.mark.parametrize("strike_s", [0.700, 0.7043])
def test_odds_along_a_line_give_a_normal_posterior(rate_hz: float, strike_s: float) -> None:
    """l(t) = k (t - s): the likelihood of a transition at t is exp(-100 k (t - s)^2 / 2), a normal one, at any rate of frames."""
    slope = 120.0  # a second
    time_s = np.arange(0.0, 1.5, 1.0 / rate_hz)
    found_s, sd_s = contact_transition(slope * (time_s - strike_s), rate_hz, 0.69, 0.12)
    assert found_s == pytest.approx(strike_s, abs=2e-4)
    assert sd_s == pytest.approx((100.0 * slope) ** -0.5, rel=0.02)


def test_the_posterior_is_as_wide_as_it_errs() -> None:
    """Frames drawn from two states that pass over once: errors in units of the posterior's width have a size of one."""
    rng = np.random.default_rng(5)
    between = 2.0  # of the means of the two states, in standard deviations: log odds of a frame are 2 x
    scaled = []
    for _ in range(300):
        strike_s = rng.uniform(0.95, 1.05)
        x = rng.normal(size=200) + between * np.where(np.arange(200) / _RATE_HZ > strike_s, 0.5, -0.5)
        found_s, sd_s = contact_transition(between * x, _RATE_HZ, 1.0, 0.3)
        if np.isfinite(found_s):
            scaled.append((found_s - strike_s) / sd_s)
    assert len(scaled) > 250
    assert np.mean(scaled) == pytest.approx(0.0, abs=0.3)
    assert 0.8 < np.sqrt(np.mean(np.square(scaled))) < 1.2


def test_no_passage_is_no_strike() -> None:
    time_s = np.arange(150) / _RATE_HZ
    rising = 100.0 * (time_s - 0.7)
    unseen = rising.copy()
    unseen[72] = np.nan
    for odds, about_s in ((rising, 1.2), (rising, 0.3), (-rising, 0.7), (unseen, 0.7), (rising, 0.05), (rising, 1.45)):
        assert np.isnan(contact_transition(odds, _RATE_HZ, about_s, 0.12)).all()


def _foot(rate_hz: float = _RATE_HZ, size: float = 1.0, strike_s: float = 1.0) -> tuple[FloatArray, FloatArray]:
    """Heel and toe (T, 3) of a foot that swings ahead, comes down and stands; falls are smooth over 60 ms."""
    time_s = np.arange(0.0, 2.0, 1.0 / rate_hz)
    down = 0.5 * (1.0 - np.tanh((time_s - strike_s + 0.02) / 0.04))
    lift = np.exp(-0.5 * ((time_s - 1.7) / 0.06) ** 2)
    zeros = np.zeros_like(time_s)
    heel = np.column_stack([0.6 * np.minimum(time_s, strike_s), 0.06 * down + 0.20 * lift, zeros])
    toe = np.column_stack([0.6 * np.minimum(time_s, strike_s) + 0.2, 0.09 * down + 0.06 * lift, zeros])
    return size * heel + (0.0, 0.3, 0.0), size * toe + (0.0, 0.3, 0.0)


def test_kinematics_have_no_size_and_no_floor() -> None:
    adult, child = (foot_kinematics(*_foot(size=size), np.zeros(3), _RATE_HZ) for size in (1.0, 0.5))
    assert adult.shape == (200, len(FEATURES))
    np.testing.assert_allclose(adult, child, atol=1e-9)


def test_a_foot_that_comes_down_strikes_then() -> None:
    expected = [
        GaitEvent(1.05, "r", "foot_strike", "kinematic", 0.5),
        GaitEvent(1.6, "r", "foot_off", "kinematic", 0.5),
    ]
    times = []
    for rate_hz, strike_s in ((100.0, 1.0), (100.0, 1.004), (200.0, 1.0)):
        heel, toe = _foot(rate_hz, strike_s=strike_s)
        strike, off = refine_strikes(expected, {"r": heel}, {"r": toe}, np.zeros(3), rate_hz)
        assert off == expected[1]
        assert strike.confidence > 0.8
        times.append(strike.time_s - strike_s)
    assert abs(times[0]) < 0.04
    assert times[1] == pytest.approx(times[0], abs=1e-3)  # between frames as well as at one
    assert times[2] == pytest.approx(times[0], abs=3e-3)  # and with twice as many frames


def test_an_unseen_or_still_foot_changes_nothing() -> None:
    expected = [GaitEvent(1.05, "r", "foot_strike", "kinematic", 0.5)]
    heel, toe = _foot()
    for gone in (np.full_like(heel, np.nan), np.zeros_like(heel)):
        assert refine_strikes(expected, {"r": gone}, {"r": gone}, np.zeros(3), _RATE_HZ) == expected
    flat = ContactOdds(0.0, (0.0,) * len(FEATURES), 0.12, 0.0)
    assert refine_strikes(expected, {"r": heel}, {"r": toe}, np.zeros(3), _RATE_HZ, flat) == expected


def test_a_wide_posterior_is_less_sure() -> None:
    expected = [GaitEvent(1.02, "r", "foot_strike", "kinematic", 0.2)]
    heel, toe = _foot()
    sharp = load_strike_odds()
    sure = []
    for factor in (1.0, 0.6, 0.3):
        odds = ContactOdds(sharp.intercept * factor, tuple(factor * w for w in sharp.weights), 0.12, sharp.spread_s)
        (strike,) = refine_strikes(expected, {"r": heel}, {"r": toe}, np.zeros(3), _RATE_HZ, odds)
        sure.append(strike.confidence)
    assert sure[0] > sure[1] > sure[2]


def test_a_foot_off_lies_between_its_two_marks_and_is_less_sure_where_they_disagree() -> None:
    time_s = np.arange(200) / _RATE_HZ
    pull = np.exp(-0.5 * ((time_s - 1.404) / 0.03) ** 2)  # upward acceleration of the toe, largest there
    twice = np.cumsum(np.cumsum(pull)) / _RATE_HZ**2
    rise = np.concatenate([[0.0], twice[:-1]])  # each sum of samples runs half a sample ahead
    toe = {"r": np.column_stack([0.0 * time_s, rise, 0.0 * time_s])}
    marked_s = 1.404 + 0.024  # what the library says of the mark
    near, far = (GaitEvent(marked_s - apart, "r", "foot_off", "kinematic", 0.5) for apart in (0.003, 0.060))
    strike = GaitEvent(0.8, "r", "foot_strike", "kinematic", 0.5)
    found = refine_foot_offs([near, far, strike], toe, _RATE_HZ)
    assert found[0].time_s == pytest.approx(marked_s - 0.002, abs=2e-3)
    assert found[1].time_s == pytest.approx(marked_s - 0.040, abs=4e-3)
    assert found[0].confidence == pytest.approx(probability_within_tolerance(0.0098), abs=0.01)
    assert found[1].confidence < 0.75
    assert found[2] == strike
    still = {"r": np.zeros((200, 3))}
    assert refine_foot_offs([near], still, _RATE_HZ) == [near]


def test_in_other_gaits_events_are_at_the_marks_of_the_foot() -> None:
    time_s = np.arange(200) / _RATE_HZ
    fall = 0.05 * (1.0 - np.tanh((time_s - 0.803) / 0.03))  # fastest there
    feet = {"r": np.column_stack([0.0 * time_s, fall, 0.0 * time_s])}
    expected = [GaitEvent(0.84, "r", "foot_strike", "kinematic", 0.6)]
    (strike,) = refine_events_from_kinematics(expected, feet, feet, _RATE_HZ)  # type: ignore[arg-type]
    assert strike.time_s == pytest.approx(0.803, abs=2e-3)
    assert strike.confidence == 0.6
    still = {"r": np.zeros((200, 3))}
    assert refine_events_from_kinematics(expected, still, still, _RATE_HZ) == expected  # type: ignore[arg-type]
