"""The cut-off that a trial chooses: what leaves its markers least in error, the same however the laboratory's axes lie."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from biodyn.output.report.page import methods_text
from biodyn.processing.signals.filtering import butterworth_lowpass
from biodyn.processing.signals.smoothing.spline import (
    HIGHEST_AUTOMATIC_HZ,
    LOWEST_AUTOMATIC_HZ,
    choose_cutoff,
    relative_speed,
)
from biodyn.trial.result import TrialResult

RATE_HZ = 200.0


def paths(cadence: float, seed: int = 1) -> np.ndarray:
    """Twelve markers of somebody who moves forward with so many strides a second, harmonics falling with their cube."""
    rng = np.random.default_rng(seed)
    time_s = np.arange(600) / RATE_HZ
    k = np.arange(1, 25)
    size = np.linspace(0.05, 0.4, 12)
    amplitude = rng.normal(size=(12, 3, len(k))) / k**3 * size[:, None, None]
    phase = rng.uniform(0.0, 2.0 * np.pi, size=amplitude.shape)
    p = np.sum(amplitude * np.cos(2.0 * np.pi * cadence * k * time_s[:, None, None, None] + phase), axis=-1)
    p[..., 0] += (1.3 * cadence * time_s)[:, None]
    p[..., 1] += np.linspace(0.1, 1.5, 12)
    return p


def noisy(p: np.ndarray, noise_m: float, seed: int = 2) -> np.ndarray:
    return p + noise_m * np.random.default_rng(seed).normal(size=p.shape)


def test_the_reason_tells_the_noise_where_there_is_any() -> None:
    filtered = butterworth_lowpass(noisy(paths(0.9), 0.0005), RATE_HZ, 6.0)
    assert "(noise 0.5" in choose_cutoff(noisy(paths(0.9), 0.0005), RATE_HZ).reason
    assert "(noise below 0.01 mm, probably filtered before export)" in choose_cutoff(filtered, RATE_HZ).reason


@pytest.mark.parametrize(("cadence", "noise_m"), [(0.6, 0.0005), (0.9, 0.0005), (0.9, 0.001), (1.4, 0.001)])
def test_no_other_cutoff_leaves_the_markers_much_nearer_the_truth(cadence: float, noise_m: float) -> None:
    true = paths(cadence)
    p = noisy(true, noise_m)
    chosen = choose_cutoff(p, RATE_HZ)
    assert chosen.noise_m == pytest.approx(noise_m, rel=0.1)

    def error(hz: float) -> float:
        rest = (butterworth_lowpass(p, RATE_HZ, hz) - true)[60:-60]
        return float(np.median(np.sqrt(np.mean(rest**2, axis=(0, 2)))))

    least = min(error(hz) for hz in np.arange(LOWEST_AUTOMATIC_HZ, HIGHEST_AUTOMATIC_HZ))
    assert error(chosen.cutoff_hz) < 1.1 * least  # what a quartile of the markers would have higher
    assert error(chosen.cutoff_hz) < error(2.0 * chosen.cutoff_hz)


def test_it_rises_with_the_motion_and_falls_with_noise_within_bounds() -> None:
    by_cadence = [choose_cutoff(noisy(paths(c), 0.0005), RATE_HZ).cutoff_hz for c in (0.6, 0.9, 1.4, 2.5)]
    by_noise = [choose_cutoff(noisy(paths(1.4), s), RATE_HZ).cutoff_hz for s in (0.0001, 0.0005, 0.002, 0.02)]
    assert by_cadence == sorted(by_cadence)
    assert by_cadence[-1] > 12.0
    assert by_noise == sorted(by_noise, reverse=True)
    assert by_noise[1] > by_noise[2] + 1.0
    assert by_noise[-1] == LOWEST_AUTOMATIC_HZ
    assert all(hz == round(hz) and LOWEST_AUTOMATIC_HZ <= hz <= HIGHEST_AUTOMATIC_HZ for hz in (*by_cadence, *by_noise))


def test_markers_that_were_smoothed_before_are_not_taken_as_they_are() -> None:
    """No noise is left in them; skin still moves, more where the marker moves faster."""
    stored = butterworth_lowpass(noisy(paths(0.9), 0.0005), RATE_HZ, 8.0)
    chosen = choose_cutoff(stored, RATE_HZ)
    assert chosen.noise_m < 0.00003
    assert 7.0 <= chosen.cutoff_hz <= 14.0


def test_it_depends_neither_on_axes_nor_on_the_place_and_survives_gaps() -> None:
    p = noisy(paths(0.9), 0.0005)
    chosen = choose_cutoff(p, RATE_HZ)
    turned = choose_cutoff(p[..., [2, 0, 1]] * (1.0, -1.0, -1.0) + 3.0, RATE_HZ)
    assert (turned.cutoff_hz, turned.optimal_hz) == (chosen.cutoff_hz, pytest.approx(chosen.optimal_hz, rel=1e-6))
    p[150:230, 2] = np.nan
    p[:, 3] = np.nan
    assert choose_cutoff(p, RATE_HZ).cutoff_hz == pytest.approx(chosen.cutoff_hz, abs=1.0)


def test_nothing_seen_or_seen_too_shortly_gives_the_lowest_and_says_so() -> None:
    p = paths(0.9)
    for part in (np.full_like(p, np.nan), p[:1], p[:30]):
        chosen = choose_cutoff(part, RATE_HZ)
        assert chosen.cutoff_hz == LOWEST_AUTOMATIC_HZ
        assert "too briefly" in chosen.reason
    slow = choose_cutoff(noisy(p, 0.02), RATE_HZ)
    assert slow.reason.startswith("the lowest automatic cut-off")
    assert f"{slow.optimal_hz:.1f} Hz" in slow.reason


@pytest.mark.slow
def test_a_walk_says_on_the_screen_and_in_its_record_what_it_chose_and_why(walk_result: TrialResult) -> None:
    analysis, record = walk_result.analysis, walk_result.view.record
    assert record["settings"]["signals"]["cutoff_hz"] == "auto"
    chosen = record["automatic_cutoff"]
    assert chosen["cutoff_hz"] == record["cutoff_hz"] == analysis.cutoff_hz
    assert record["force_cutoff_hz"] == record["estimate"]["force_cutoff_hz"] > record["cutoff_hz"]
    assert analysis.before_estimate.force_cutoff_hz == analysis.cutoff_hz
    assert f"Filter before the estimate: markers and forces {analysis.cutoff_hz:g} Hz: {chosen['reason']}" in dict(
        walk_result.status_lines()
    )
    text = " ".join(text for _, text in methods_text(record).paragraphs)
    assert f"low-pass filtered at {analysis.cutoff_hz:g} Hz" in text
    assert chosen["reason"] in text


def test_steps_are_told_by_the_movement_as_slow_as_their_numbers_were_measured(walk_result: TrialResult) -> None:
    """Shaking of 10 Hz that a higher cut-off leaves in a standing foot does not reach what tells it from a moving one."""
    points = walk_result.analysis.points
    assert points.filter_for_steps(RATE_HZ, 6.0) is points
    assert points.filter_for_steps(RATE_HZ, 0.0) is points
    still = np.tile(points.toe["r"][100], (400, 1))
    shaken = still + 0.002 * np.sin(2.0 * np.pi * 10.0 * np.arange(400) / RATE_HZ)[:, None]
    shaking = replace(points, toe={"r": shaken, "l": shaken})
    assert np.abs(shaking.filter_for_steps(RATE_HZ, 15.0).toe["r"] - still)[100:-100].max() < 0.0006
    turned = np.linalg.norm(shaking.filter_for_steps(RATE_HZ, 15.0).forward, axis=1)
    np.testing.assert_allclose(turned[np.isfinite(turned)], 1.0)


def test_speed_is_against_the_mean_of_all_markers() -> None:
    p = np.zeros((400, 3, 3))
    p[..., 0] = (np.arange(400) / RATE_HZ)[:, None] * np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(relative_speed(p, RATE_HZ), [1.0, 0.0, 1.0], atol=1e-6)
