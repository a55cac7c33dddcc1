"""Markers and forces that were low-passed before they were stored are told; others are left alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from simulator import SimulatedTrial, write_c3d
from support import real
from support.described_plates import QUICK, causes

from biodyn.checks.estimators.signals import force_band_ratio, marker_band_ratio
from biodyn.processing.signals.filtering import butterworth_lowpass
from biodyn.trial.run import analyse_trial

FORCES, MARKERS = "forces-smoothed-before", "markers-smoothed-before"
ORDER = 4  # of both passes


def smoothed(trial: SimulatedTrial, force_hz: float = 0.0, marker_hz: float = 0.0) -> SimulatedTrial:
    """The trial as a laboratory stores it that filters before it exports."""
    rate_hz = trial.options.rate_hz
    if marker_hz:
        trial = replace(trial, markers=butterworth_lowpass(trial.markers, rate_hz, marker_hz, ORDER))
    if force_hz:
        force_rate_hz = rate_hz * len(trial.components[0]) / len(trial.markers)
        plates = tuple(butterworth_lowpass(values, force_rate_hz, force_hz, ORDER) for values in trial.components)
        trial = replace(trial, components=plates)
    return trial


@pytest.mark.slow
@pytest.mark.parametrize(
    ("force_hz", "marker_hz", "told"),
    [
        (0, 0, set()),
        pytest.param(0, 6, set(), marks=pytest.mark.slow),
        pytest.param(25, 0, set(), marks=pytest.mark.slow),
        pytest.param(10, 0, {FORCES}, marks=pytest.mark.slow),
        pytest.param(0, 3.5, {MARKERS}, marks=pytest.mark.slow),
        (6, 3, {FORCES, MARKERS}),
    ],
)
def test_what_was_filtered_too_far_is_told(standing, walking, tmp_path, force_hz, marker_hz, told):
    write_c3d(tmp_path / "static.c3d", standing)
    write_c3d(tmp_path / "walk.c3d", smoothed(walking, force_hz, marker_hz))
    found = analyse_trial(tmp_path / "walk.c3d", tmp_path / "static.c3d", settings=QUICK)
    assert {code for code in causes(found) if code in (FORCES, MARKERS)} == told
    assert found.verdict is not None
    assert found.verdict.status == ("warn" if told else "pass")


@pytest.mark.slow
def test_a_plate_that_is_too_slow_or_empty_tells_nothing(walking, standing, tmp_path):
    write_c3d(tmp_path / "static.c3d", standing)
    write_c3d(tmp_path / "walk.c3d", walking)
    found = analyse_trial(tmp_path / "walk.c3d", tmp_path / "static.c3d", settings=QUICK)
    plates, weight_n = found.propagation.raw_plates, found.subject.mass_kg * 9.81
    slow = [replace(plate, wrench=plate.wrench[::20], rate_hz=plate.rate_hz / 20) for plate in plates]
    empty = [replace(plate, wrench=0.0 * plate.wrench) for plate in plates]
    assert np.isnan(force_band_ratio(slow, weight_n))
    assert np.isnan(force_band_ratio(empty, weight_n))
    assert np.isnan(marker_band_ratio(replace(found.recording.markers, rate_hz=15.0)))


@pytest.mark.slow
@pytest.mark.real
@pytest.mark.parametrize(
    ("static", "walk"),
    [
        ("sydney/static/S4 AM Cal 01.c3d", "sydney/dynamic/S4-AMGait05.c3d"),
        ("schreiber2019/2014001_ST.c3d", "schreiber2019/2014001_C1_01.c3d"),
        ("unzeroed_plate/Static Pose.c3d", "unzeroed_plate/Gait with EMG.c3d"),
        ("biomechzoo/HC032A/Static/HC032A01.c3d", "biomechzoo/HC032A/Straight/HC032A03.c3d"),
    ],
)
def test_measured_walks_are_far_from_both_limits(static, walk):
    folder = real.recordings() / "gait"
    found = analyse_trial(folder / walk, folder / static, settings=QUICK)
    assert not {FORCES, MARKERS} & set(causes(found))
    assert force_band_ratio(found.propagation.raw_plates, found.subject.mass_kg * 9.81) > 0.4
    assert marker_band_ratio(found.recording.markers) > 0.15
