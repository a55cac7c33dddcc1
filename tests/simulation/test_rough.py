"""Rough walks: the laws of motion hold for them too, the ground could do it, and they are as rough as recorded ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from simulator.feet import points_in_world, zero_moment_point
from simulator.impacts import Pulse
from simulator.reaction import foot_wrenches
from simulator.rough_walks import DEVELOPMENT_SEEDS, HELD_OUT_SEEDS, class_of, dealt_names, rough_recording
from simulator.roughness import roughness_of
from simulator.skin import soft_tissue
from simulator.styles import style_of
from simulator.uncertain import leaning
from simulator.wobble import swinging

from biodyn.conventions import SIDES, STANDARD_GRAVITY_M_S2
from biodyn.errors import SettingsError
from biodyn.geometry.points import signed_distance
from biodyn.rigid_body import body_poses, difference
from biodyn.trial.run import analyse_trial


@pytest.fixture(scope="session")
def recording():
    """A person of the development seeds at usual speed."""
    return rough_recording("usual_0_5_mm", 3)


@pytest.fixture(scope="session")
def analysed(recording, tmp_path_factory):
    walk, static = recording.write(tmp_path_factory.mktemp("rough"))
    return analyse_trial(walk, static, settings={"signals": {"method": "butterworth"}}, torques_only=True)


def test_the_base_needs_no_help_when_feet_strike(recording):
    for trial in (recording.truth, recording.static):
        assert np.abs(trial.tau[:, :6]).max() < 1e-9


def test_velocity_and_acceleration_belong_to_the_rough_motion(recording):
    """About a strike, where they change within milliseconds: central differences over 1e-5 s."""
    walk, model = recording.motion, recording.motion.body.model
    time, h = np.linspace(-0.2, 0.4, 61), 1e-5
    (q0, v0, _), (q1, v1, _) = walk.motion(time - h), walk.motion(time + h)
    _, v, vdot = walk.motion(time)
    np.testing.assert_allclose(difference(model.multibody, q0, q1) / (2 * h), v, atol=1e-4)
    np.testing.assert_allclose((v1 - v0) / (2 * h), vdot, atol=2e-3)  # of 300 rad/s^2


def test_the_floor_could_do_it(recording):
    truth, model = recording.truth, recording.motion.body.model
    weight = model.mass_kg * STANDARD_GRAVITY_M_S2
    R, p = body_poses(model.multibody, truth.q)
    for side in SIDES:
        foot, wrench = recording.motion.feet[side], truth.wrench[side]
        assert wrench[:, 4].min() > -1e-9 * weight
        on = wrench[:, 4] > 0.03 * weight
        outline = points_in_world(R[:, foot.link], p[:, foot.link], foot.outline)
        point, _ = zero_moment_point(wrench[on])
        outside = signed_distance(point, outline[on])
        assert np.mean(outside > 0.0) < 0.03  # in the recoil of a hard strike, by no more than a shoe's edge
        assert outside.max() < 0.008
        assert (np.hypot(wrench[on, 3], wrench[on, 5]) / wrench[on, 4]).max() < 0.5  # rubber on a dry floor


def test_struck_feet_stay_where_they_landed(recording):
    walk = recording.motion
    foot = walk.feet["r"]
    phase = np.linspace(0.1, 0.33, 60)
    R, p = body_poses(walk.body.model.multibody, walk.motion(phase * walk.stride_s)[0])
    flat = points_in_world(R[:, foot.link], p[:, foot.link], np.stack([foot.heel, foot.ball]))
    assert np.ptp(flat[..., ::2], axis=0).max() < 0.012
    assert np.abs(flat[..., 1]).max() < 0.006


def test_a_heel_rests_soon_after_it_bears(recording):
    """Recorded heels: 0.04 of their fast speed forward at 20 N, 0.02 a fiftieth of a second later."""
    walk = recording.motion
    foot, h = walk.feet["r"], 1e-4
    force = foot_wrenches(walk, np.arange(0.0, 0.05, 0.0005))["r"][:, 4]
    bears = 0.0005 * np.argmax(force > 20.0)

    def velocity(time):
        ends = []
        for t in (time - h, time + h):
            R, p = body_poses(walk.body.model.multibody, walk.motion(t)[0])
            ends.append(points_in_world(R[:, foot.link], p[:, foot.link], foot.heel[None])[:, 0])
        return (ends[1] - ends[0]) / (2.0 * h)

    fast = np.percentile(velocity(np.linspace(0.0, walk.stride_s, 100))[:, 0], 95.0)
    at, later = velocity(bears + np.array([0.0, 0.025]))
    assert abs(at[0]) < 0.12 * fast
    assert -0.35 < at[1] < 0.0
    assert abs(later[0]) < 0.05 * fast
    assert abs(later[1]) < 0.12


def test_a_foot_brakes_when_it_bears(recording):
    """Recorded feet brake with a twentieth of the vertical force 10 ms after the strike and with a fifth of it at 30 ms."""
    force = foot_wrenches(recording.motion, np.array([0.010, 0.028]))["r"][:, 3:5]
    share = -force[:, 0] / force[:, 1]
    assert 0.0 < share[0] < 0.12
    assert 0.2 < share[1] < 0.5


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
    body = recording.motion.body
    time = np.arange(0.0, 0.6, 0.001)
    moved = 1e3 * np.linalg.norm(swinging(body, time, [("r", 0.1, 1.0)], seed=1), axis=2)
    assert moved[time < 0.1].max() == 0.0
    assert moved[time > 0.5].max() < 0.2
    largest = dict(zip(recording.static.labels, moved.max(axis=0), strict=True))
    assert 1.0 < largest["RTHI"] < 10.0
    assert largest["RTOE"] < largest["RTHI"]
    assert largest["LTHI"] < largest["RTHI"]


@pytest.mark.slow
def test_skin_moves_as_much_as_measured_on_thighs(recording):
    """RMS about the mean of a stride: 7.4, 8.1 and 14.1 mm in three people (benchmarks/skin_movement.py)."""
    walk = recording.motion
    phase = np.linspace(0.0, 1.0, 60, endpoint=False)
    q, _, _ = walk.motion(phase * walk.stride_s)
    at = recording.static.labels.index("RTHI")
    moved = [1e3 * soft_tissue(walk.body, q, phase, seed)[:, at] for seed in range(40)]
    sizes = [np.sqrt(np.sum(np.var(movement, axis=0))) for movement in moved]
    assert 7.0 < np.median(sizes) < 12.0


def test_trunks_lean_further_in_walking_than_in_standing(recording):
    """By at most 3 degrees, and arms hang and heads stay upright."""
    body, q = recording.motion.body, recording.truth.q
    static = {c.name: body.static_q[c.q_index] for c in body.model.coordinates}
    walking = {c.name: q[:, c.q_index].mean() for c in body.model.coordinates}
    more = np.degrees(static["lumbar_extension"] - walking["lumbar_extension"])
    assert -1.0 < more < 4.0  # the walk follows the curve within a degree
    change = {c.name: (leaning(body, 0.1).static_q - body.static_q)[c.q_index] for c in body.model.coordinates}
    assert change["lumbar_extension"] == pytest.approx(-0.1)
    assert change["arm_flex_l"] == change["neck_extension"] == pytest.approx(0.1)
    assert change["hip_flexion_r"] == 0.0


def test_knees_are_no_hinges(recording):
    model, q = recording.motion.body.model, recording.truth.q
    spans = {
        name: np.ptp(q[:, model.coordinate(name).q_index])
        for name in ("knee_rotation_r", "knee_forward_l", "knee_upward_r")
    }
    assert np.degrees(spans["knee_rotation_r"]) > 2.0
    assert max(spans["knee_forward_l"], spans["knee_upward_r"]) > 0.001


@pytest.mark.slow
def test_runners_strike_and_fly():
    """Some seconds to solve: a passive peak above body weight, nothing but the air's share in flight, the laws of motion."""
    found = rough_recording("running", 3)
    truth = found.truth
    weight = truth.body.model.mass_kg * STANDARD_GRAVITY_M_S2
    assert np.abs(truth.tau[:, :6]).max() < 1e-9
    upward = truth.wrench["r"][:, 4] + truth.wrench["l"][:, 4]
    assert 2.0 < upward.max() / weight < 3.5
    assert np.abs(upward).min() < 0.05 * weight
    strike = next(e for e in truth.events if e.kind == "foot_strike" and e.side == "r" and e.time_s > 0.3)
    first = round(strike.time_s * truth.options.rate_hz)
    assert 0.9 < truth.wrench["r"][first : first + 8, 4].max() / weight < 2.5


def test_truth_stands_beside_the_files(recording, tmp_path):
    recording.write(tmp_path)
    with np.load(tmp_path / "walk.truth.npz") as truth:
        assert {"q", "v", "vdot", "tau", "wrench_r", "wrench_l", "coordinates"} <= set(truth.files)
        np.testing.assert_array_equal(truth["tau"], recording.truth.tau)


def test_people_who_report_chose_nothing():
    assert not set(DEVELOPMENT_SEEDS) & set(HELD_OUT_SEEDS)
    dealt = [class_of(seed) for seed in HELD_OUT_SEEDS]
    assert len(dealt) >= 40
    assert set(dealt) == set(dealt_names())


def test_plates_have_their_errors_in_the_file_only(recording):
    true, filed = recording.truth.plates, recording.filed
    assert all(np.linalg.norm(a.corners_W - b.corners_W) > 0.0 for a, b in zip(true, filed, strict=True))
    assert recording.clean().plates == replace(recording.truth).plates


@pytest.mark.parametrize("call", [lambda: rough_recording("walking", 1), lambda: style_of("limping", 1.0)])
def test_unknown_names_are_told(call):
    with pytest.raises(SettingsError, match="There is no"):
        call()
