"""Markers stored at a higher rate than the cameras': which frames were measured, and recordings that are no such thing."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.signal import butter, filtfilt
from support.upsampled import WAYS, between, write_upsampled

from biodyn.io import read
from biodyn.io.camera_frames import CameraFrames, camera_frames
from biodyn.io.formats.trc import write_trc
from biodyn.recording import Markers
from biodyn.simulation import Person, TrialOptions, session

CAMERA_HZ = 100.0


def stored(positions: np.ndarray) -> np.ndarray:
    """Positions in m as a file holds them: single precision in mm."""
    return (1e3 * positions).astype(np.float32).astype(float) / 1e3


@pytest.fixture(scope="module")
def walk():
    """(static trial, walk) with .3 mm of noise and gaps."""
    return session(Person("P", height_m=1.7, mass_kg=62.0, sex="female"), TrialOptions(noise_mm=0.3, gaps=8, seed=3))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("every", [4, 5, 10])
@pytest.mark.parametrize("which", [0, 1])
def test_the_measured_frames_are_found(walk, way, every, which):
    positions = stored(walk[which].markers)
    upsampled = stored(between(positions, every, way))
    for trimmed in (0, 3):
        found = camera_frames(upsampled[trimmed:], every * CAMERA_HZ)
        assert found == CameraFrames((-trimmed) % every, every, way)
        np.testing.assert_array_equal(
            upsampled[trimmed:][found.first :: every], positions[-(-trimmed // every) :], strict=True
        )


@pytest.mark.parametrize("way", ["repeats", "lines"])
@pytest.mark.parametrize("every", [2, 3])
def test_twice_and_three_times_the_rate(walk, way, every):
    upsampled = stored(between(walk[1].markers, every, way))
    assert camera_frames(upsampled, every * CAMERA_HZ) == CameraFrames(0, every, way)


@pytest.mark.parametrize("decimals", [2, 3])
def test_texts_with_few_decimals(walk, decimals):
    """Of lines 3 decimals of a millimetre are enough at ten times the rate, of repeats any number."""
    for way in ("repeats", "lines")[: decimals - 1]:
        upsampled = np.round(1e3 * between(walk[1].markers, 10, way), decimals) / 1e3
        assert camera_frames(upsampled, 1000.0) == CameraFrames(0, 10, way)


def test_of_the_nearest_frame_the_middle_was_measured(walk):
    positions = walk[1].markers
    at = np.arange((len(positions) - 1) * 10 + 1)
    nearest = positions[np.floor(at / 10 + 0.5).astype(int)]
    assert camera_frames(nearest, 1000.0) == CameraFrames(0, 10, "repeats")


@pytest.mark.parametrize("rate_hz", [100.0, 200.0, 500.0, 1000.0])
@pytest.mark.parametrize("noise_mm", [0.0, 0.05, 1.0])
@pytest.mark.parametrize("smoothed_hz", [0.0, 6.0])
def test_measured_frames_stay(rate_hz, noise_mm, smoothed_hz):
    """Walks and standing people, with noise and without, filtered hard, in whole and in short stretches, gaps as lines."""
    options = TrialOptions(
        strides=1.2, lead_in=0.5, static_s=0.7, rate_hz=rate_hz, noise_mm=noise_mm, smoothed_hz=smoothed_hz
    )
    for trial in session(Person("P", height_m=1.8, mass_kg=80.0, sex="male"), options):
        positions = stored(trial.markers)
        drawn = positions.copy()
        rng = np.random.default_rng(1)
        for marker in np.repeat(np.arange(drawn.shape[1]), 4):
            first, length = int(rng.integers(1, len(drawn) - 60)), int(rng.integers(5, 50))
            share = np.linspace(0.0, 1.0, length + 1)[:, None]
            drawn[first : first + length + 1, marker] = (1 - share) * drawn[first, marker] + share * drawn[
                first + length, marker
            ]
        for some in (positions, drawn, positions[: len(positions) // 4], np.round(positions, 4)):
            assert camera_frames(some, rate_hz) is None


def test_what_was_filtered_after_it_was_upsampled_is_not_taken_apart(walk):
    positions = np.nan_to_num(between(walk[1].markers, 10, "lines"))
    b, a = butter(4, 20.0, fs=1000.0)
    assert camera_frames(stored(filtfilt(b, a, positions, axis=0)), 1000.0) is None


def test_a_person_who_was_put_there_is_none():
    assert camera_frames(np.ones((500, 30, 3)), 1000.0) is None
    assert camera_frames(np.full((500, 30, 3), np.nan), 1000.0) is None


def test_plates_and_events_keep_their_times(walk, tmp_path):
    """Three frames of 1000 Hz are cut off in front: the first measured frame is 7 ms behind the file's first one."""
    trial = walk[1]
    plain = read(write_upsampled(tmp_path / "plain.c3d", trial, 1, "repeats"))
    found = read(write_upsampled(tmp_path / "trimmed.c3d", trial, 10, "lines", trimmed=3))
    (note,) = [note for note in found.diagnostics if note.code == "markers-upsampled"]
    assert (note.value, note.limit, note.unit) == (1000.0, 100.0, "Hz")
    assert (found.markers.rate_hz, found.first_frame, found.frame_step) == (100.0, 11, 10)
    assert found.start_s == pytest.approx(0.007)
    np.testing.assert_array_equal(found.markers.positions, plain.markers.positions[1:])
    for plate, whole in zip(found.plates, plain.plates, strict=True):
        assert plate.rate_hz == whole.rate_hz
        np.testing.assert_array_equal(plate.channels, whole.channels[10:])
    assert [event.time_s for event in found.events] == pytest.approx(
        [event.time_s - 0.01 for event in plain.events if event.time_s >= 0.01], abs=1e-6
    )


def test_text_exports_too(walk, tmp_path):
    """TRC and CSV, and forces in a table beside them, which have their own clock."""
    markers = walk[1].markers
    upsampled = between(markers, 5, "lines")
    write_trc(tmp_path / "walk.trc", Markers(walk[1].labels, upsampled, 500.0))
    found = read(tmp_path / "walk.trc", "none")
    assert (found.markers.rate_hz, found.frame_step) == (100.0, 5)
    seen = np.isfinite(markers)
    assert (np.isfinite(found.markers.positions) == seen).all()
    assert np.abs(found.markers.positions - markers)[seen].max() < 1e-6  # as many decimals as the file has
    rows = [",".join(f"{label}_{axis}" for label in walk[1].labels for axis in "xyz")]
    rows += [",".join("" if np.isnan(x) else f"{1e3 * x:.4f}" for x in frame.ravel()) for frame in upsampled]
    times = ["time", *(f"{k / 500.0:.4f}" for k in range(len(upsampled)))]
    (tmp_path / "table.csv").write_text("\n".join(f"{t},{row}" for t, row in zip(times, rows, strict=True)))
    assert read(tmp_path / "table.csv").markers.rate_hz == 100.0
