"""The cut-off that a trial chooses: higher for fast and clean walks, and the same however the laboratory's axes lie."""

from __future__ import annotations

import numpy as np
import pytest

from biodyn.processing.signals.automatic_cutoff import HIGHEST_HZ, LOWEST_HZ, automatic_cutoff, step_speed

RATE_HZ = 100.0


def markers(speed_m_s: float, noise_m: float, belt: bool = False, seed: int = 1) -> np.ndarray:
    """Nine markers of a trunk and two feet that swing against each other, their fastest at 1.33 times the speed as a median."""
    rng = np.random.default_rng(seed)
    time_s = np.arange(400) / RATE_HZ
    swing_rad_s = 2.0 * np.pi * 0.9
    # |cos| is above 1 / sqrt(2) half of the time
    reach = 1.33 * speed_m_s * np.sqrt(2.0) / swing_rad_s
    p = np.zeros((len(time_s), 9, 3))
    p[..., 0] = 0.0 if belt else (speed_m_s * time_s)[:, None]
    p[..., 1] = np.linspace(0.1, 1.5, 9)
    p[:, 0, 0] += reach * np.sin(swing_rad_s * time_s)
    p[:, 1, 0] -= reach * np.sin(swing_rad_s * time_s)
    return p + noise_m * rng.normal(size=p.shape)


@pytest.mark.parametrize("belt", [False, True])
def test_noise_and_speed_are_found(belt: bool) -> None:
    chosen = automatic_cutoff(markers(1.3, 0.0005, belt), RATE_HZ)
    assert chosen.speed_m_s == pytest.approx(1.3, rel=0.05)
    assert chosen.noise_m == pytest.approx(0.0005, rel=0.1)
    assert chosen.cutoff_hz == pytest.approx(8.0, abs=0.4)


def test_it_rises_with_speed_and_falls_with_noise_within_bounds() -> None:
    by_speed = [automatic_cutoff(markers(v, 0.0005), RATE_HZ).cutoff_hz for v in (0.6, 1.0, 1.4, 2.0)]
    by_noise = [automatic_cutoff(markers(1.3, s), RATE_HZ).cutoff_hz for s in (0.0, 0.0003, 0.001, 0.005)]
    assert by_speed == sorted(by_speed)
    assert by_noise == sorted(by_noise, reverse=True)
    assert (by_noise[0], by_noise[-1]) == (HIGHEST_HZ, LOWEST_HZ)


def test_it_does_not_depend_on_axes_and_survives_gaps() -> None:
    p = markers(1.3, 0.0005)
    turned = p[..., [2, 0, 1]] * (1.0, -1.0, -1.0)
    assert automatic_cutoff(turned, RATE_HZ) == automatic_cutoff(p, RATE_HZ)
    p[50:90, 2] = np.nan
    p[:, 3] = np.nan
    assert automatic_cutoff(p, RATE_HZ).cutoff_hz == pytest.approx(8.0, abs=0.5)
    unseen = np.full_like(p, np.nan)
    assert automatic_cutoff(unseen, RATE_HZ).cutoff_hz == LOWEST_HZ
    assert np.isnan(step_speed(unseen, RATE_HZ))
