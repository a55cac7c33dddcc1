"""Smoothing of markers: each method on a path that is known, on gaps, and on a real walk."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from biodyn.errors import SettingsError
from biodyn.processing.signals.smoothing import SMOOTHING
from biodyn.processing.signals.smoothing.spline import (
    LOWEST_HZ,
    difference_eigenvalues,
    residual_degrees_of_freedom,
    smooth_by_spline,
    smoothing_parameter_of_cutoff,
    spline_residual,
)
from biodyn.settings import settings_from

RATE_HZ = 100.0
NOISE_M = 0.001  # optical systems and their reconstruction: 0.3 to 2 mm


def walking_paths(markers: int, seconds: float = 3.0) -> np.ndarray:
    """Paths (T, M, 3) m of walking markers: 1.2 m/s and eight harmonics of a stride of 1.1 s, the highest at 7.3 Hz."""
    rng = np.random.default_rng(1)
    t = np.arange(round(seconds * RATE_HZ)) / RATE_HZ
    paths = np.zeros((len(t), markers, 3)) + (1.2 * t)[:, None, None]
    for k, size_m in enumerate((0.3, 0.1, 0.05, 0.02, 0.01, 0.005, 0.003, 0.001), start=1):
        paths += size_m * np.cos(2 * np.pi * k * t[:, None, None] / 1.1 + rng.uniform(0, 2 * np.pi, (markers, 3)))
    return paths


def errors(method: str, noise_m: float) -> tuple[float, float]:
    """RMS error of positions (m) and accelerations (m/s²), without the tenth of a second at each end."""
    truth = walking_paths(20)
    noisy = truth + np.random.default_rng(2).normal(scale=noise_m, size=truth.shape)
    off = SMOOTHING[method].smooth(noisy, RATE_HZ, 6.0, 4).values - truth
    acceleration = np.diff(off, 2, axis=0)[10:-10] * RATE_HZ**2
    return float(np.sqrt(np.mean(off[10:-10] ** 2))), float(np.sqrt(np.mean(acceleration**2)))


def test_the_methods_are_found_and_an_unknown_one_is_named_with_the_nearest() -> None:
    assert {"butterworth", "spline"} <= set(SMOOTHING)
    assert all(method.words for method in SMOOTHING.values())
    with pytest.raises(SettingsError, match=r"signals\.method.*'buterworth'.*Did you mean 'butterworth'"):
        settings_from({"signals": {"method": "buterworth"}})
    assert settings_from({"signals": {"method": "spline"}}).signals.method == "spline"
    with pytest.raises(SettingsError, match=r"signals\.smoothing.*it is now called 'method'"):
        settings_from({"signals": {"smoothing": "butterworth"}})
    with pytest.raises(SettingsError, match=r"inverse_kinematics\.method.*it was removed: .*least squares"):
        settings_from({"inverse_kinematics": {"method": "least_squares"}})


def test_a_spline_that_chooses_its_cut_off_is_nearer_to_the_truth_than_6_hz() -> None:
    """6 Hz takes away the walk's own harmonics: 1.7 mm; the spline keeps those that stand out of the noise."""
    for noise_m in (0.3 * NOISE_M, NOISE_M):
        filtered, spline = errors("butterworth", noise_m), errors("spline", noise_m)
        assert spline[0] < 0.4 * filtered[0]
        assert spline[1] < 0.7 * filtered[1]
    # with 3 mm of noise there is little to choose: still no worse
    assert errors("spline", 3 * NOISE_M)[0] < errors("butterworth", 3 * NOISE_M)[0]


def test_the_cut_off_follows_the_noise() -> None:
    truth = walking_paths(10)
    rng = np.random.default_rng(3)
    chosen = [
        smooth_by_spline(truth + rng.normal(scale=sd, size=truth.shape), RATE_HZ, 6.0, 4).cutoff_hz
        for sd in (0.0003, 0.001, 0.003, 0.01)
    ]
    assert chosen == sorted(chosen, reverse=True)
    assert LOWEST_HZ < chosen[-1] < chosen[0] < 20.0


@pytest.mark.parametrize("method", SMOOTHING)
def test_every_stretch_of_a_marker_is_smoothed_by_itself_and_nan_stays(method: str) -> None:
    smooth = SMOOTHING[method].smooth
    noisy = walking_paths(3) + np.random.default_rng(4).normal(scale=NOISE_M, size=(300, 3, 3))
    noisy[120:150, 1] = np.nan
    noisy[:, 2] = np.nan
    noisy[10:14, 2] = 1.0  # too short for any method
    found = smooth(noisy, RATE_HZ, 6.0, 4).values
    assert_array_equal(np.isnan(found), np.isnan(noisy))
    assert_array_equal(found[:, 0], smooth(noisy[:, :1], RATE_HZ, 6.0, 4).values[:, 0])  # the others do not matter
    assert_array_equal(found[10:14, 2], 1.0)
    changed = noisy.copy()
    changed[150:, 1] += 0.5  # one side of a gap moved: the same path beside it
    np.testing.assert_allclose(smooth(changed, RATE_HZ, 6.0, 4).values[:120, 1], found[:120, 1], atol=1e-9)
    off = smooth(noisy, RATE_HZ, 0.0, 4)
    assert_array_equal(off.values, noisy)
    assert off.cutoff_hz == 0.0


def test_the_choice_of_the_spline_does_not_depend_on_the_laboratory_s_axes() -> None:
    from scipy.spatial.transform import Rotation

    noisy = walking_paths(2) + np.random.default_rng(5).normal(scale=NOISE_M, size=(300, 2, 3))
    R = Rotation.from_rotvec([0.3, -1.1, 0.7]).as_matrix()
    turned, straight = (smooth_by_spline(p, RATE_HZ, 6.0, 4).values for p in (noisy @ R.T, noisy))
    np.testing.assert_allclose(turned, straight @ R.T, atol=1e-9)


@pytest.mark.parametrize("m", [2, 3])
@pytest.mark.parametrize("hz", [2.0, 6.0, 20.0])
def test_the_spline_is_the_minimum_and_its_freedom_is_counted(m: int, hz: float) -> None:
    count = 150
    lam = smoothing_parameter_of_cutoff(hz, RATE_HZ, m)
    D = np.diff(np.eye(count), m, axis=0)
    H = np.linalg.inv(np.eye(count) + lam * D.T @ D)
    y = np.random.default_rng(6).normal(size=(count, 2))
    np.testing.assert_allclose(y - spline_residual(y, lam, m), H @ y, atol=1e-9)
    # of 150 samples: half of one off is a third of a per cent of the score
    assert residual_degrees_of_freedom(difference_eigenvalues(count, m), lam) == pytest.approx(
        count - np.trace(H), abs=0.5
    )


def test_the_cut_off_of_a_spline_lets_root_half_through() -> None:
    t = np.arange(2000) / RATE_HZ
    wave = np.sin(2 * np.pi * 5.0 * t)
    left = (wave - spline_residual(wave, smoothing_parameter_of_cutoff(5.0, RATE_HZ, 3), 3))[500:1500]
    assert np.sqrt(2) * left.std() == pytest.approx(np.sqrt(0.5), rel=1e-3)
