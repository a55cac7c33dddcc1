"""What the simulated devices store must come back through biodyn's readers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from simulator import Plate, TrialOptions, simulate_trial, write_c3d
from simulator.c3d_writer import C3dContent
from simulator.c3d_writer import write_c3d as write_content
from simulator.skin import soft_tissue

from biodyn.errors import BiodynError, PlateError
from biodyn.io.formats.c3d.reader import read_c3d
from biodyn.processing.signals.plate_wrenches import plate_wrench


def again(trial, **changes):
    """The same walk recorded differently."""
    options = replace(trial.options, **changes)
    return simulate_trial(trial.body.person, options, "walk", trial.walk)


@pytest.mark.parametrize(("forward", "up"), [("+x", "+z"), ("-y", "+z"), ("+z", "+y"), ("-x", "+y")])
def test_markers_come_back_in_every_laboratory(walking, tmp_path, forward, up):
    trial = again(walking, forward=forward, up=up)
    write_c3d(tmp_path / "walk.c3d", trial, prefix="Someone:")
    recording = read_c3d(tmp_path / "walk.c3d")
    assert recording.markers.labels == trial.labels
    assert recording.markers.rate_hz == trial.options.rate_hz
    in_world = recording.rotated(trial.options.R_LW.T)
    np.testing.assert_allclose(in_world.markers.positions, trial.markers, atol=3e-7)  # float32 of a few metres in mm
    np.testing.assert_allclose(np.abs(recording.vertical), np.abs(trial.options.R_LW[:, 1]), atol=0)


@pytest.mark.parametrize("kind", [1, 2, 3, 4, 5, 6, 7])
def test_plates_give_back_the_wrench_that_was_on_them(walking, tmp_path, kind):
    # the plates of another type beside them: one table of channels and matrices holds both
    trial = again(walking, plate_types=(kind, 2, kind), forward="+y")
    write_c3d(tmp_path / "walk.c3d", trial)
    recording = read_c3d(tmp_path / "walk.c3d").rotated(trial.options.R_LW.T)
    found = sum(
        plate_wrench(plate, recording.markers.frame_count, recording.markers.rate_hz).wrench
        for plate in recording.plates
    )
    ratio = round(trial.options.analog_rate_hz / trial.options.rate_hz)
    truth = sum(trial.wrench[side] * (trial.measured[side][:, None]) for side in "rl")
    # float32 of channels: 1e-7 of 1e3 N, and of moments of 1e3 Nm about the world origin; type 4 solves with its matrix.
    np.testing.assert_allclose(found[::ratio], truth, atol=2e-3)


def test_facts_and_events_come_back(walking, standing, tmp_path):
    write_c3d(tmp_path / "walk.c3d", walking)
    write_c3d(tmp_path / "static.c3d", standing, events=False)
    recording, static = read_c3d(tmp_path / "walk.c3d"), read_c3d(tmp_path / "static.c3d")
    person = walking.body.person
    assert recording.subject.mass_kg == pytest.approx(person.mass_kg)
    assert recording.subject.height_m == pytest.approx(person.height_m)
    assert recording.subject.sex == person.sex
    for name, value in walking.body.measures.items():
        assert recording.subject.measures[name] == pytest.approx(value)
    found = [(event.side, event.kind) for event in recording.events]
    assert found == [(event.side, event.kind) for event in walking.events]
    times = [event.time_s for event in walking.events]
    np.testing.assert_allclose([event.time_s for event in recording.events], times, atol=1e-6)
    assert static.declared_static is True
    assert recording.declared_static is False
    assert static.events == ()


def test_noise_skin_and_gaps_are_what_was_ordered(walking):
    noisy = again(walking, noise_mm=1.0)
    error = noisy.markers - noisy.bone_markers
    assert error.std() == pytest.approx(1e-3, rel=0.02)  # 35 000 numbers: 0.4 % standard error
    moved = again(walking, soft_tissue=1.0)
    skin = 1e3 * (moved.markers - moved.bone_markers)
    sizes = dict(zip(moved.labels, np.sqrt(np.var(skin, axis=0).sum(axis=1)), strict=True))
    # RMS over three axes, 10.2 and 1.0 mm, times three standard deviations of a person's size, e^(3 x 0.35), and what common and
    # own movement of a marker cancel of each other
    assert 10.2 / 4.0 < sizes["RTHI"] < 10.2 * 4.0
    assert 1.0 / 4.0 < sizes["LTOE"] < 1.0 * 4.0
    step = np.linalg.norm(np.diff(skin, axis=0), axis=2)
    assert step.max() < 5.0  # skin glides: less than 0.5 m/s at 100 Hz, two harmonics of 30 mm
    hidden = again(walking, gaps=5)
    missing = np.isnan(hidden.markers[..., 0])
    assert 1 <= missing.any(axis=0).sum() <= 5
    assert not missing[[0, -1]].any()
    np.testing.assert_array_equal(hidden.tau, walking.tau)  # the truth does not change


def test_skin_does_not_move_in_the_static_posture(standing):
    q = np.tile(standing.body.static_q, (5, 1))
    still = soft_tissue(standing.body, q, np.zeros(5), seed=3)
    assert np.ptp(still, axis=0).max() == 0.0


def test_seeds_decide(walking):
    one, same, other = (again(walking, noise_mm=1.0, gaps=4, force_noise_n=1.0, seed=seed) for seed in (5, 5, 6))
    np.testing.assert_array_equal(one.markers, same.markers)
    np.testing.assert_array_equal(one.components[0], same.components[0])
    assert not np.array_equal(one.markers, other.markers)


def test_hidden_markers_are_read_as_missing(walking, tmp_path):
    trial = again(walking, gaps=5)
    write_c3d(tmp_path / "walk.c3d", trial)
    found = read_c3d(tmp_path / "walk.c3d").markers.positions
    np.testing.assert_array_equal(np.isnan(found[..., 0]), np.isnan(trial.markers[..., 0]))


def test_a_foot_beside_its_plate_is_refused(walking):
    with pytest.raises(PlateError, match="beside the plate"):
        again(walking, plates=(Plate(2, 0.0), Plate(2, 1.5)))
    with pytest.raises(PlateError, match="type"):
        Plate(9, 0.0)


def test_the_writer_refuses_what_does_not_fit(tmp_path):
    points = np.zeros((4, 2, 3))
    with pytest.raises(BiodynError, match="label"):
        write_content(tmp_path / "x.c3d", C3dContent(["A"], points, 100.0))
    analog = np.zeros((9, 1))
    with pytest.raises(BiodynError, match="whole analog samples"):
        write_content(tmp_path / "x.c3d", C3dContent(["A", "B"], points, 100.0, "mm", analog, ["F"], ["N"]))
    assert not (tmp_path / "x.c3d").exists()


def test_a_person_without_trunk_markers_walks_too(tmp_path):
    """Lower-body marker set: trunk, head and arms ride on the pelvis; their mass is there."""
    from simulator import Person

    person = Person("L", 1.70, 65.0, "male", marker_set="plug_in_gait_lower", skeleton="lower_limb")
    trial = simulate_trial(person, TrialOptions())
    assert len(trial.labels) == 16
    assert trial.body.model.multibody.total_mass_kg == pytest.approx(65.0)
    assert np.abs(trial.tau[:, :6]).max() < 1e-9
