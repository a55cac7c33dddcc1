"""Rough walks: the laws of motion hold for them too, the ground could do it, and they are as rough as recorded ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from biodyn.conventions import SIDES, STANDARD_GRAVITY_M_S2
from biodyn.errors import SettingsError
from biodyn.geometry.polygons import signed_distance
from biodyn.rigid_body import body_poses, difference
from biodyn.simulation.feet import points_in_world, zero_moment_point
from biodyn.simulation.impacts import Pulse
from biodyn.simulation.rough_walks import DEVELOPMENT_SEEDS, HELD_OUT_SEEDS, class_names, class_of, rough_recording
from biodyn.simulation.roughness import roughness_of
from biodyn.simulation.styles import style_of
from biodyn.simulation.wobble import swinging
from biodyn.trial.run import analyse_trial


@pytest.fixture(scope="session")
def recording():
    """A person of the development seeds at usual speed."""
    return rough_recording("usual_0_5_mm", 3)


@pytest.fixture(scope="session")
def analysed(recording, tmp_path_factory):
    walk, static = recording.write(tmp_path_factory.mktemp("rough"))
    return analyse_trial(walk, static, torques_only=True)


def test_the_base_needs_no_help_when_feet_strike(recording):
    for trial in (recording.truth, recording.static):
        assert np.abs(trial.tau[:, :6]).max() < 1e-9


def test_velocity_and_acceleration_belong_to_the_rough_motion(recording):
    """About a strike, where they change within milliseconds: central differences over 1e-5 s."""
    walk, model = recording.walk, recording.walk.body.model
    time, h = np.linspace(-0.2, 0.4, 61), 1e-5
    (q0, v0, _), (q1, v1, _) = walk.motion(time - h), walk.motion(time + h)
    _, v, vdot = walk.motion(time)
    np.testing.assert_allclose(difference(model.multibody, q0, q1) / (2 * h), v, atol=1e-4)
    np.testing.assert_allclose((v1 - v0) / (2 * h), vdot, atol=2e-3)  # of 300 rad/s^2


def test_the_floor_could_do_it(recording):
    truth, model = recording.truth, recording.walk.body.model
    weight = model.mass_kg * STANDARD_GRAVITY_M_S2
    R, p = body_poses(model.multibody, truth.q)
    for side in SIDES:
        foot, wrench = recording.walk.feet[side], truth.wrench[side]
        assert wrench[:, 4].min() > -1e-9 * weight
        on = wrench[:, 4] > 0.03 * weight
        outline = points_in_world(R[:, foot.link], p[:, foot.link], foot.outline)
        point, _ = zero_moment_point(wrench[on])
        outside = signed_distance(point, outline[on])
        assert np.mean(outside > 0.0) < 0.03  # in the recoil of a hard strike, by no more than a shoe's edge
        assert outside.max() < 0.008
        assert (np.hypot(wrench[on, 3], wrench[on, 5]) / wrench[on, 4]).max() < 0.5  # rubber on a dry floor


def test_struck_feet_stay_where_they_landed(recording):
    walk = recording.walk
    foot = walk.feet["r"]
    phase = np.linspace(0.1, 0.33, 60)
    R, p = body_poses(walk.body.model.multibody, walk.motion(phase * walk.stride_s)[0])
    flat = points_in_world(R[:, foot.link], p[:, foot.link], np.stack([foot.heel, foot.ball]))
    assert np.ptp(flat[..., ::2], axis=0).max() < 0.012
    assert np.abs(flat[..., 1]).max() < 0.006


def test_a_pulse_leaves_velocity_and_place():
    pulse = Pulse(0.1, 0.0, (0.03, 0.1, 0.12), np.array([0.0, 300.0, 0.0]))
    time = np.linspace(0.0, pulse.end_s, 5001)
    course = sum(pulse.course(time))
    assert np.abs(course[[0, -1]]).max() < 1e-12
    assert course.max() == pytest.approx(1.0, abs=1e-4)
    step = time[1] - time[0]
    assert abs(course.sum() * step) < 1e-9
    assert abs((time * course).sum() * step) < 1e-9


def test_it_is_as_rough_as_recorded_walks(analysed):
    """Bounds: half the smallest and one and a half times the largest of eight walks that were stored at full bandwidth."""
    found = roughness_of(analysed)
    upward = found.force_bw["upward"]
    assert 0.022 < upward[0] < 0.13
    assert 0.015 < upward[1] < 0.11
    assert 0.010 < upward[2] < 0.09
    assert 18.0 < found.loading_bw_s < 150.0
    assert 0.06 < found.transient_bw < 0.72
    assert 0.005 < found.transient_s < 0.030
    assert 10.0 < found.residual_n < 60.0


def test_soft_tissue_swings_after_a_strike_most_on_the_thigh(recording):
    body = recording.walk.body
    time = np.arange(0.0, 0.6, 0.001)
    moved = 1e3 * np.linalg.norm(swinging(body, time, [("r", 0.1, 1.0)], seed=1), axis=2)
    assert moved[time < 0.1].max() == 0.0
    assert moved[time > 0.5].max() < 0.2
    largest = dict(zip(recording.static.labels, moved.max(axis=0), strict=True))
    assert 1.0 < largest["RTHI"] < 10.0
    assert largest["RTOE"] < largest["RTHI"]
    assert largest["LTHI"] < largest["RTHI"]


def test_knees_are_no_hinges(recording):
    model, q = recording.walk.body.model, recording.truth.q
    spans = {
        name: np.ptp(q[:, model.coordinate(name).q_index])
        for name in ("knee_rotation_r", "knee_forward_l", "knee_upward_r")
    }
    assert np.degrees(spans["knee_rotation_r"]) > 2.0
    assert max(spans["knee_forward_l"], spans["knee_upward_r"]) > 0.001


def test_truth_stands_beside_the_files(recording, tmp_path):
    recording.write(tmp_path)
    with np.load(tmp_path / "walk.truth.npz") as truth:
        assert {"q", "v", "vdot", "tau", "wrench_r", "wrench_l", "coordinates"} <= set(truth.files)
        np.testing.assert_array_equal(truth["tau"], recording.truth.tau)


def test_people_who_report_chose_nothing():
    assert not set(DEVELOPMENT_SEEDS) & set(HELD_OUT_SEEDS)
    dealt = [class_of(seed) for seed in HELD_OUT_SEEDS]
    assert len(dealt) >= 40
    assert set(dealt) == set(class_names())


def test_plates_have_their_errors_in_the_file_only(recording):
    true, filed = recording.truth.plates, recording.filed
    assert all(np.linalg.norm(a.corners_W - b.corners_W) > 0.0 for a, b in zip(true, filed, strict=True))
    assert recording.clean().plates == replace(recording.truth).plates


@pytest.mark.parametrize("call", [lambda: rough_recording("walking", 1), lambda: style_of("limping", 1.0)])
def test_unknown_names_are_told(call):
    with pytest.raises(SettingsError, match="There is no"):
        call()
