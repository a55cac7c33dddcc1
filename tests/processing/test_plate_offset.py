"""The offset of a plate: unloaded samples by feet, force and file; drift, noise, damaged channels, degenerate input."""

from dataclasses import replace

import numpy as np
import pytest

from biodyn.errors import PlateError
from biodyn.processing.contacts.plate_loads import NOISE_FACTOR, PlateSignals, find_loads
from biodyn.processing.signals.plate_wrenches import plate_wrench
from biodyn.recording import ForcePlate

RATE_HZ, ANALOG_HZ, FRAMES = 100.0, 1000.0, 300
SAMPLES = 3000
CORNERS = np.array([[0.6, 0.0, 0.4], [0.0, 0.0, 0.4], [0.0, 0.0, 0.0], [0.6, 0.0, 0.0]])
STANCE = slice(1000, 1700)
BESIDE = np.ones(FRAMES, dtype=bool)
BESIDE[85:185] = False  # frames with a foot over the plate


def channels(offset_n=0.0, drift_n=0.0, noise_n=0.0, seed=0):
    """Type 2, z down: a stance of 700 N between 1.0 and 1.7 s, 5 Nm of moment; offset, drift and noise on all of it."""
    values = np.zeros((SAMPLES, 6))
    load = np.sin(np.pi * np.arange(700) / 700) ** 0.3
    values[STANCE, 2] = -700.0 * load
    values[STANCE, 3] = 5.0 * load
    level = offset_n + drift_n * (np.arange(SAMPLES) / (SAMPLES - 1) - 0.5)
    values[:, 2] -= level
    values[:, 4] += 0.1 * level  # an offset of the moments goes with it
    return values + noise_n * np.random.default_rng(seed).normal(size=values.shape) * [1, 1, 1, 0.05, 0.05, 0.05]


def plate(values, **changes):
    return ForcePlate(1, 2, CORNERS, np.zeros(3), values, ANALOG_HZ, **changes)


def solved(values, beside=BESIDE, **changes):
    return plate_wrench(plate(values, **changes), FRAMES, RATE_HZ, beside)


@pytest.mark.parametrize("offset_n", [-60.0, 5.0, 21.0, 60.0, 400.0])
@pytest.mark.parametrize("noise_n", [0.5, 8.0])
def test_an_offset_is_found_where_the_feet_are_elsewhere(offset_n, noise_n):
    result = solved(channels(offset_n, noise_n=noise_n))
    assert result.zero.source == "feet"
    assert result.zero.offset_n == pytest.approx(offset_n, abs=5.0 * noise_n / np.sqrt(1800))  # standard error, 5 sigma
    assert result.zero.noise_n == pytest.approx(noise_n, rel=0.1)
    clean = solved(channels())
    # the mean of the offset over 1800 samples, in moments about the world origin (arms below 1 m)
    np.testing.assert_allclose(
        result.wrench.mean(axis=0), clean.wrench.mean(axis=0), atol=10.0 * noise_n / np.sqrt(1800) + 1e-9
    )


@pytest.mark.parametrize("drift_n", [-30.0, 12.0])
def test_a_drift_seen_on_both_sides_of_the_step_is_a_straight_line(drift_n):
    result = solved(channels(25.0, drift_n, noise_n=1.0))
    assert result.zero.drift_n == pytest.approx(drift_n, abs=1.0)
    peak = result.wrench[STANCE, 4] - solved(channels()).wrench[STANCE, 4]
    assert abs(peak.mean()) < 1.0  # 1 N of noise over 700 samples, and the line's error between its ends
    short = BESIDE.copy()
    short[70:] = False  # a quarter of the recording: too little to carry a line on over the rest
    assert solved(channels(25.0, drift_n, noise_n=1.0), short).zero.drift_n == 0.0


def test_noise_is_no_drift():
    for seed in range(20):
        assert solved(channels(25.0, noise_n=8.0, seed=seed)).zero.drift_n == 0.0


def test_one_named_frame_at_the_start_does_not_beat_two_seconds():
    """The recording starts with zeros before the converter is ready; FORCE_PLATFORM:ZERO names that frame."""
    values = channels(21.0, noise_n=2.0)
    values[:4] = 0.0
    for beside in (BESIDE, None):
        result = solved(values, beside, zero_frames=(0, 0))
        assert result.zero.offset_n == pytest.approx(21.0, abs=0.3)
        assert find_loads(result.wrench[:, 4], ANALOG_HZ, 20.0) == [pytest.approx((1.0, 1.7), abs=0.002)]


def test_somebody_else_on_the_plate_is_no_offset():
    values = channels(noise_n=1.0)
    values[:900, 2] -= 150.0 + 60.0 * np.sin(np.arange(900) / 60.0)
    result = solved(values)
    assert result.zero.source == "force"  # the quiet end
    assert abs(result.zero.offset_n) < 0.5
    values[1800:, 2] -= 150.0 + 60.0 * np.sin(np.arange(1200) / 60.0)
    assert solved(values).zero.source == "unknown"
    assert "plate-zero-unknown" in [note.code for note in solved(values).diagnostics]


def test_the_offset_is_told_as_the_reaction_whatever_the_file_stores():
    values = -channels(21.0, noise_n=0.5)  # the action on the plate
    result = solved(values)
    assert result.zero.offset_n == pytest.approx(21.0, abs=0.1)
    assert result.wrench[:, 4].max() == pytest.approx(700.0, abs=3.0)


def test_a_plate_that_was_cut_to_zero_keeps_its_samples():
    values = channels()
    np.testing.assert_array_equal(solved(values).wrench, solved(values, None).wrench)
    assert solved(values).zero.noise_n == 0.0


@pytest.mark.parametrize("noise_n", [8.0, pytest.param(1.0, marks=pytest.mark.slow)])
def test_noise_alone_is_no_contact(noise_n):
    """Five standard deviations: 100 recordings of 3 s hold none; the set threshold of 20 N would hold many."""
    for seed in range(100):
        result = solved(channels(30.0, noise_n=noise_n, seed=seed))
        signals = PlateSignals(1, CORNERS, result.wrench, result.wrench[:, 4], ANALOG_HZ, result.zero)
        assert signals.threshold_n(20.0) == pytest.approx(max(20.0, NOISE_FACTOR * noise_n), rel=0.1)
        found = find_loads(signals.vertical_force, ANALOG_HZ, signals.threshold_n(20.0))
        assert len(found) == 1


# -- damaged channels -------------------------------------------------------------------------------------------------


def codes(result):
    return {note.code for note in result.diagnostics}


def test_a_flat_top_is_the_end_of_a_channels_range():
    values = channels(noise_n=0.5)
    values[:, 2] = np.maximum(values[:, 2], -600.0)
    result = solved(values)
    assert "forces-incomplete" in codes(result)
    ((begin, end),) = result.saturated_s
    assert 1.1 < begin < end < 1.65
    whole = solved(channels(noise_n=0.5))
    assert whole.saturated_s == ()
    assert "forces-incomplete" not in codes(whole)


@pytest.mark.parametrize("column", [2, 4])
def test_samples_without_a_number_amid_a_load_are_told(column):
    values = channels(noise_n=0.5)
    values[0:10, column] = np.nan  # nothing stands there
    values[1200, column] = np.nan
    result = solved(values)
    assert "forces-incomplete" in codes(result)
    assert result.unrecorded_s == ((1199 / ANALOG_HZ, 1201 / ANALOG_HZ),)
    values[1200] = channels(noise_n=0.5)[1200]
    assert solved(values).unrecorded_s == ()


@pytest.mark.parametrize("step_n", [0.5, 5.0, 12.0])
def test_a_smooth_peak_stored_in_steps_is_no_flat_top(step_n):
    assert solved(np.round(channels(noise_n=0.1) / step_n) * step_n).saturated_s == ()


def test_a_load_cut_to_zero_below_a_limit_is_no_flat_top():
    values = channels()
    values[np.abs(values[:, 2]) < 50.0] = 0.0
    values[300:900] = values[1000:1600]  # loaded for most of the time
    assert solved(values).saturated_s == ()


@pytest.mark.parametrize("value", [0.0, 3.0, np.nan])
def test_a_constant_channel_of_a_loaded_plate_is_named(value):
    values = channels(noise_n=0.5)
    values[:, 4] = value
    result = solved(values, None, channel_labels=("Fx", "Fy", "Fz", "Mx", "My", "Mz"))
    note = next(note for note in result.diagnostics if note.code == "plate-channel-constant")
    assert "channel My" in note.message
    assert "plate-channel-constant" not in codes(solved(0.0 * values))


# -- degenerate input -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rate_hz", [np.nan, np.inf, 3e38, 0.0, -5.0])
def test_impossible_rates_are_refused_in_one_sentence(rate_hz):
    with pytest.raises(PlateError, match="samples per second"):
        plate_wrench(replace(plate(channels()), rate_hz=rate_hz), FRAMES, RATE_HZ)
    with pytest.raises(PlateError, match="frames per second"):
        plate_wrench(plate(channels()), FRAMES, rate_hz)


def test_plates_without_a_sample_or_a_number_give_none():
    empty = plate_wrench(plate(np.zeros((0, 6))), 0, RATE_HZ, np.zeros(0, dtype=bool))
    assert empty.wrench.shape == (0, 6)
    nothing = solved(np.full((SAMPLES, 6), np.nan))
    assert np.isnan(nothing.wrench).all()
    assert nothing.zero.source == "unknown"
