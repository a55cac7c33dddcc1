"""Repairs of recordings: joined or cut recordings, 16-bit wrap-around, points that are not on the body, swapped head labels."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from biodyn import run_trial
from biodyn.io import read
from biodyn.io.repairs import longest_continuous_part, unwrap_plate_channels, unwrap_samples
from biodyn.recording import Recording
from biodyn.trial.trial_files import TrialFiles

SAMPLE = Path(__file__).parents[2] / "sample_data" / "subject01"
WALK, STATIC = SAMPLE / "walk01.c3d", SAMPLE / "static.c3d"
QUICK = {"uncertainty": {"compute": False}, "signals": {"method": "butterworth"}, "model": {"fit": "none"}}


@pytest.fixture(scope="module")
def walk() -> Recording:
    return read(WALK)


def with_frames(recording: Recording, frames: np.ndarray) -> Recording:
    """The recording with these frames one after the other."""
    samples = (frames[:, None] * 10 + np.arange(10)).ravel()
    plates = tuple(replace(plate, channels=plate.channels[samples]) for plate in recording.plates)
    markers = replace(recording.markers, positions=recording.markers.positions[frames])
    return replace(recording.with_markers(markers), plates=plates)


@pytest.mark.parametrize(
    ("frames", "kept"),
    [
        (np.r_[0:290, 5:250], (1, 290)),  # joined
        (np.r_[0:90, 150:297], (91, 237)),  # 0.6 s cut out
        (np.r_[0:150, 165:297], (1, 150)),  # 0.15 s cut out
    ],
)
def test_only_the_longest_part_of_joined_recordings_is_used(
    walk: Recording, frames: np.ndarray, kept: tuple[int, int]
) -> None:
    part = longest_continuous_part(with_frames(walk, frames))
    first, last = kept
    assert part.first_frame == first
    assert part.markers.frame_count == last - first + 1
    assert {len(plate.channels) for plate in part.plates} == {10 * part.markers.frame_count}
    (finding,) = (note for note in part.diagnostics if note not in walk.diagnostics)
    assert finding.severity == "warning"
    assert "recordings were joined" in finding.message


def test_continuous_recordings_stay_whole(walk: Recording) -> None:
    positions = walk.markers.positions.copy()
    swapped = list(walk.markers.labels)
    for label in ("ASI", "KNE", "ANK", "SHO", "WRA", "TOE", "HEE", "THI", "TIB", "ELB", "FIN", "PSI"):
        left, right = swapped.index(f"L{label}"), swapped.index(f"R{label}")
        positions[150:, [left, right]] = positions[150:, [right, left]]
    positions[200] += 1.0  # one frame of a camera error
    positions[60:80] = np.nan
    whole = walk.with_markers(replace(walk.markers, positions=positions))
    assert longest_continuous_part(whole) is whole


@pytest.mark.parametrize("number", [3, 4])
def test_wrapped_samples_are_unwrapped_without_loss(walk: Recording, number: int) -> None:
    plate = walk.plates[1]
    period = 65.536
    wrapped = plate.channels.copy()
    wrapped[:, number] = (wrapped[:, number] + period / 2) % period - period / 2
    assert np.ptp(wrapped[:, number]) > 0.9 * period
    found, (note,) = unwrap_plate_channels(replace(walk, plates=(replace(plate, channels=wrapped),)))
    assert plate.channel_labels[number] in note.message
    np.testing.assert_allclose(found.plates[0].channels, plate.channels, atol=1e-9)


def test_spikes_are_no_wrap_around() -> None:
    samples = 5.0 * np.sin(np.linspace(0.0, 6.0, 3000))
    samples[1000:1003] += 55.0
    assert unwrap_samples(samples, 65.536) is None


def test_points_off_the_body_change_nothing(walk: Recording) -> None:
    static = read(STATIC)
    rng = np.random.default_rng(3)
    time_s = np.arange(400)[:, None, None] / 100.0
    strays = rng.uniform(-2.0, 2.0, (1, 50, 3)) + 0.1 * np.sin(time_s * rng.uniform(2.0, 20.0, (1, 50, 1)))

    def with_strays(recording: Recording) -> Recording:
        markers = recording.markers
        labels = (*markers.labels, *(f"Rmuscle{k}" for k in range(50)))
        points = np.concatenate([markers.positions, np.resize(strays, (markers.frame_count, 50, 3))], axis=1)
        return recording.with_markers(replace(markers, labels=labels, positions=points))

    files = [TrialFiles(walk, static, "a test"), TrialFiles(with_strays(walk), with_strays(static), "a test")]
    alone, among = (run_trial(WALK, files=pair, settings=QUICK).analysis for pair in files)
    np.testing.assert_array_equal(alone.dynamics.tau, among.dynamics.tau)
    assert "50 points are not on the body" in " ".join(note.message for note in among.diagnostics)


def test_swapped_head_labels_are_named_and_corrected(walk: Recording) -> None:
    static = read(STATIC)
    exchange = {"LFHD": "RFHD", "RFHD": "LFHD", "LBHD": "RBHD", "RBHD": "LBHD"}
    labels = tuple(exchange.get(label, label) for label in static.markers.labels)
    swapped = static.with_markers(replace(static.markers, labels=labels))
    analysis = run_trial(WALK, files=TrialFiles(walk, swapped, "a test"), settings=QUICK).analysis
    messages = [note.message for note in analysis.diagnostics if "exchanged" in note.code]
    assert len(messages) == 1
    assert "LBHD, LFHD, RBHD, RFHD are swapped in the static trial" in messages[0]


def test_labels_of_another_spelling_are_the_same_markers(walk: Recording) -> None:
    static = read(STATIC)
    labels = tuple(f"{label[0]}_{label[1:].capitalize()}" for label in static.markers.labels)
    respelled = static.with_markers(replace(static.markers, labels=labels))
    torques = [
        run_trial(WALK, files=TrialFiles(walk, used, "a test"), settings=QUICK).analysis.dynamics.tau
        for used in (static, respelled)
    ]
    np.testing.assert_array_equal(*torques)
