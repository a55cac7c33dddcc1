"""The low-pass filter: gain, phase, ends, gaps."""

import numpy as np
import pytest
from scipy.signal import butter, sosfiltfilt

from biodyn.errors import SettingsError
from biodyn.processing.signals.filtering import (
    additional_cutoff_hz,
    butterworth_lowpass,
    finite_stretches,
    one_pass_cutoff_hz,
)

RATE_HZ = 100.0


@pytest.mark.parametrize("order", [2, 4, 6, 8])
@pytest.mark.parametrize("cutoff_hz", [3.0, 6.0, 20.0, 45.0])
def test_two_passes_are_3_db_down_at_the_cutoff_and_do_not_shift(order, cutoff_hz):
    time_s = np.arange(8000) / RATE_HZ
    phase = 2 * np.pi * cutoff_hz * time_s + 0.3
    middle = slice(2000, 6000)
    filtered = butterworth_lowpass(np.sin(phase), RATE_HZ, cutoff_hz, order)
    # Projection on sine and cosine; 1e-9: the transient of the ends is gone 20 s inside.
    in_phase = 2 * np.mean(filtered[middle] * np.sin(phase[middle]))
    quadrature = 2 * np.mean(filtered[middle] * np.cos(phase[middle]))
    assert in_phase == pytest.approx(np.sqrt(0.5), abs=1e-9)
    assert quadrature == pytest.approx(0.0, abs=1e-9)


def test_a_second_filter_takes_the_first_one_down_to_what_is_wanted():
    time_s = np.arange(8000) / RATE_HZ
    wave = np.sin(2 * np.pi * 6.0 * time_s)
    for passed_hz in (6.5, 9.0, 20.0):
        second_hz = additional_cutoff_hz(passed_hz, 6.0)
        both = butterworth_lowpass(butterworth_lowpass(wave, RATE_HZ, passed_hz), RATE_HZ, second_hz)
        assert np.abs(both[2000:6000]).max() == pytest.approx(np.sqrt(0.5), abs=0.02)  # the warped axis of each differs
    assert additional_cutoff_hz(6.0, 6.0) == additional_cutoff_hz(4.0, 6.0) == additional_cutoff_hz(0.0, 6.0) == 0.0


def test_correction_is_the_published_constant_in_the_warped_domain():
    # 0.80224 for second order twice (Winter 2009; five published digits).
    warped = np.tan(np.pi * one_pass_cutoff_hz(RATE_HZ, 6.0, 2) / RATE_HZ)
    assert np.tan(np.pi * 6.0 / RATE_HZ) / warped == pytest.approx(0.80224, abs=5e-6)


@pytest.mark.parametrize("order", [2, 4, 6, 8])
@pytest.mark.parametrize(("rate_hz", "cutoff_hz"), [(100.0, 6.0), (1000.0, 6.0), (240.0, 40.0)])
def test_it_is_the_filter_of_scipy(order, rate_hz, cutoff_hz):
    """1e-12 of the range: round-off of 1e-16, which poles beside the unit circle (6 Hz of 1000) multiply by some thousands."""
    x = 3.0 + np.cumsum(np.random.default_rng(order).standard_normal((900, 70)), axis=0)  # more columns than one block
    sections = butter(order // 2, one_pass_cutoff_hz(rate_hz, cutoff_hz, order // 2), fs=rate_hz, output="sos")
    pad = min(3 * int(np.ceil(rate_hz / cutoff_hz)), len(x) - 1)
    expected = sosfiltfilt(sections, x, axis=0, padtype="odd", padlen=pad)
    filtered = butterworth_lowpass(x, rate_hz, cutoff_hz, order)
    np.testing.assert_allclose(filtered, expected, rtol=0, atol=1e-12 * np.ptp(x))


def test_gain_over_frequency_is_that_of_butterworth_squared():
    """|H|^2 of the two passes against the analog prototype in the warped domain, 1 / (1 + (w C / wc)^(2n))."""
    time_s = np.arange(6000) / RATE_HZ
    frequencies = np.array([1.0, 4.0, 8.0, 12.0])
    x = np.sin(2 * np.pi * time_s[:, None] * frequencies)
    gain = np.sqrt(2 * np.mean(butterworth_lowpass(x, RATE_HZ, 6.0)[1000:5000] ** 2, axis=0))
    ratio = np.tan(np.pi * frequencies / RATE_HZ) / np.tan(np.pi * 6.0 / RATE_HZ)
    expected = 1 / (1 + (np.sqrt(2) - 1) * ratio**4)
    np.testing.assert_allclose(gain, expected, rtol=1e-9)


def test_straight_lines_pass_unchanged_right_to_the_ends():
    x = 3.0 - 0.7 * np.arange(200) / RATE_HZ
    np.testing.assert_allclose(butterworth_lowpass(x, RATE_HZ, 6.0), x, atol=1e-9)


@pytest.mark.parametrize("cutoff_hz", [6.0, 12.0])
def test_end_velocities_are_not_spoiled(cutoff_hz):
    """A 1 Hz movement, 0.3 m amplitude, cut anywhere in its cycle.

    Point reflection mirrors the curvature, so the error is of the order of peak acceleration / (2 pi fc), and zero
    padding would cost the whole speed.
    """
    for start in np.linspace(0, 1, 7):
        time_s = start + np.arange(150) / RATE_HZ
        x = 0.3 * np.sin(2 * np.pi * time_s)
        error = np.gradient(butterworth_lowpass(x, RATE_HZ, cutoff_hz) - x, 1 / RATE_HZ)
        assert np.max(np.abs(error)) < 0.5 * 0.3 * (2 * np.pi) ** 2 / (2 * np.pi * cutoff_hz)


def test_each_stretch_is_filtered_by_itself_and_missing_stays_missing():
    generator = np.random.default_rng(1)
    x = generator.normal(size=(300, 4, 3)).cumsum(axis=0)
    x[100:130, 1] = np.nan
    x[:5, 2] = np.nan
    x[50:300, 3, 1] = np.nan
    filtered = butterworth_lowpass(x, RATE_HZ, 6.0)
    np.testing.assert_array_equal(np.isnan(filtered), np.isnan(x))
    np.testing.assert_array_equal(filtered[130:, 1], butterworth_lowpass(x[130:, 1], RATE_HZ, 6.0))
    np.testing.assert_array_equal(filtered[5:, 2], butterworth_lowpass(x[5:, 2], RATE_HZ, 6.0))
    np.testing.assert_array_equal(filtered[:50, 3, 1], butterworth_lowpass(x[:50, 3, 1], RATE_HZ, 6.0))
    np.testing.assert_array_equal(filtered[:, 0], butterworth_lowpass(x[:, 0], RATE_HZ, 6.0))


def test_short_stretches_and_cutoff_zero_leave_the_signal_alone():
    x = np.random.default_rng(2).normal(size=40)
    x[17] = np.nan
    filtered = butterworth_lowpass(x, RATE_HZ, 6.0)
    np.testing.assert_array_equal(filtered[:17], x[:17])
    assert not np.allclose(filtered[18:], x[18:])
    np.testing.assert_array_equal(butterworth_lowpass(x, RATE_HZ, 0.0), x)
    assert np.isnan(butterworth_lowpass(np.full((5, 2), np.nan), RATE_HZ, 6.0)).all()
    assert butterworth_lowpass(np.empty((0, 3)), RATE_HZ, 6.0).shape == (0, 3)


def test_axis():
    x = np.random.default_rng(3).normal(size=(3, 200))
    across = butterworth_lowpass(x, RATE_HZ, 6.0, axis=1)
    np.testing.assert_array_equal(across, butterworth_lowpass(x.T, RATE_HZ, 6.0).T)


@pytest.mark.parametrize("cutoff_hz", [50.0, 60.0, -1.0, float("nan")])
def test_impossible_cutoff_is_refused(cutoff_hz):
    with pytest.raises(SettingsError, match="50 Hz"):
        butterworth_lowpass(np.zeros(100), RATE_HZ, cutoff_hz)


def test_odd_order_is_refused():
    with pytest.raises(SettingsError, match="even"):
        butterworth_lowpass(np.zeros(100), RATE_HZ, 6.0, order=3)


def test_stretches():
    mask = np.array([True, False, True, True, False, False, True])
    assert finite_stretches(mask) == [(0, 1), (2, 4), (6, 7)]
    assert finite_stretches(np.zeros(3, dtype=bool)) == []
    assert finite_stretches(np.ones(3, dtype=bool)) == [(0, 3)]


def test_one_pass_design_is_plain_butterworth():
    """The impulse response folded on itself: filtering an impulse gives the autocorrelation of one pass."""
    impulse = np.zeros(401)
    impulse[200] = 1.0
    b, a = butter(2, one_pass_cutoff_hz(RATE_HZ, 6.0, 2), fs=RATE_HZ)
    frequencies = np.fft.rfftfreq(401)
    z = np.exp(-2j * np.pi * frequencies)
    power = np.abs((b[0] + b[1] * z + b[2] * z**2) / (a[0] + a[1] * z + a[2] * z**2)) ** 2
    # 1e-8: the response has decayed that far at the ends of the window.
    np.testing.assert_allclose(np.abs(np.fft.rfft(butterworth_lowpass(impulse, RATE_HZ, 6.0))), power, atol=1e-8)
