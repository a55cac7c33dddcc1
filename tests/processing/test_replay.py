"""Forward replay: what must be exact is, what must diverge does, and wrong torques do not pass."""

from dataclasses import replace

import numpy as np
import pytest
from support.forward_simulation import simulate
from test_consistency import actuated as true_motion  # noqa: F401  (fixture)
from test_consistency import walk  # noqa: F401  (fixture)

from biodyn.errors import ResultError
from biodyn.processing.signals.derivatives import motion_from_configuration
from biodyn.rigid_body import centre_of_mass, inverse_dynamics
from biodyn.verification.integrators import METHODS, difference, replay_inputs, replay_windows
from biodyn.verification.replay import compute_deviation, replay_open_loop, replay_with_feedback

OPTIONS = {"start_every_s": 0.1, "angle_rad": np.radians(1.0), "position_m": 0.01}


@pytest.fixture(scope="module")
def actuated(true_motion):  # noqa: F811
    """The simulated walk as biodyn records one: v and vdot of the curve through the frames, a residual, a gap."""
    mb = true_motion.multibody
    motion = motion_from_configuration(true_motion.time_s, true_motion.q)
    tau = inverse_dynamics(mb, motion.q, motion.v, motion.vdot, true_motion.wrenches, true_motion.wrench_bodies)
    tau[:4], tau[-4:] = np.nan, np.nan
    return replace(true_motion, q=motion.q, v=motion.v, vdot=motion.vdot, tau=tau)


def test_the_drive_is_the_record_at_the_frames(actuated):
    for torques in ("recorded", "recomputed"):
        (stretch,) = replay_inputs(actuated, torques)
        assert stretch.frames == (4, len(actuated.time_s) - 5)
        rows = slice(stretch.frames[0], stretch.frames[1] + 1)
        q, v, vdot = stretch.curve(stretch.times_s)
        for found, recorded in ((q, actuated.q), (v, actuated.v), (vdot, actuated.vdot)):
            # derivatives of a quintic over 10 ms: round-off times 1e4
            np.testing.assert_allclose(found, recorded[rows], atol=1e-9)
        tau, wrenches = stretch(stretch.times_s)
        assert not tau[:, :6].any()
        np.testing.assert_allclose(tau[:, 6:], actuated.tau[rows, 6:], atol=1e-8)
        np.testing.assert_allclose(wrenches[:, 1:], actuated.wrenches[rows], atol=1e-9)
        # residual as an external wrench: the same equations of motion
        total = inverse_dynamics(actuated.multibody, q, v, vdot, wrenches, stretch.bodies)
        np.testing.assert_allclose(total[:, :6], 0.0, atol=1e-7)


def test_short_windows_stay_and_long_ones_diverge(actuated):
    found = replay_open_loop(actuated, "recorded", (0.05, 0.1, 0.5), method="rk4", steps=4, **OPTIONS)
    rows = {row.window_s: row for row in found.rows if row.ground == "all"}
    assert rows[0.05].within == 1.0
    assert rows[0.1].within == 1.0
    assert rows[0.05].joint_worst_deg < rows[0.1].joint_worst_deg
    assert rows[0.5].lost > 0  # a walking body is unstable
    assert 0.1 <= found.prediction_horizon_s <= found.median_horizon_s < 0.5
    assert 0.002 < found.doubling_s < 0.1


def test_recomputed_torques_drift_less_than_those_interpolated_between_frames(actuated):
    drift = {}
    for torques in ("recorded", "recomputed"):
        found = replay_open_loop(actuated, torques, (0.1,), method="rk4", steps=8, **OPTIONS)
        drift[torques] = found.rows[-1].joint_median_deg
    assert drift["recomputed"] < 0.1 * drift["recorded"]


def test_wrong_torques_do_not_pass(actuated):
    tau = actuated.tau.copy()
    tau[:, 8] += 5.0  # Nm at one hip
    wrong = replace(actuated, tau=tau)
    right, off = (
        replay_open_loop(trial, "recorded", (0.05,), method="rk4", steps=4, **OPTIONS).rows[-1]
        for trial in (actuated, wrong)
    )
    assert off.joint_median_deg > 100.0 * right.joint_median_deg
    assert off.within < 1.0
    feedback = replay_with_feedback(wrong, method="rk4", steps=4, bandwidth_hz=20.0)[0].feedback
    # the feedback takes the 5 Nm away again
    assert np.median(feedback[20:, 8]) == pytest.approx(-5.0, abs=0.5)


def test_tracking_holds_the_whole_trial_with_small_torques(actuated):
    (found,) = replay_with_feedback(actuated, method="rk4", steps=4, bandwidth_hz=20.0)
    assert found.frames == (4, len(actuated.time_s) - 5)
    assert np.isfinite(found.q).all()
    assert np.degrees(found.deviation.joint_rad.max()) < 0.5
    assert found.deviation.position_m.max() < 1e-3
    assert np.abs(found.feedback).max() < 0.02 * np.abs(found.recorded).max()


def test_the_orders_of_the_integrators(actuated):
    """Recomputed torques and the recorded curve are an exact solution."""
    (stretch,) = replay_inputs(actuated, "recomputed")
    starts = np.array([0, 10, 20, 30])
    exact = stretch.curve(stretch.times_s[starts + 5])[0]
    errors = {
        (method, steps): np.abs(
            difference(actuated.mechanics, exact, replay_windows(stretch, starts, 5, method, steps).q[:, -1])
        ).max()
        for method in METHODS
        for steps in (2, 8)
    }
    orders = {method: np.log(errors[method, 2] / errors[method, 8]) / np.log(4.0) for method in ("euler", "rk4")}
    assert orders["euler"] == pytest.approx(1.0, abs=0.15)
    assert orders["rk4"] == pytest.approx(4.0, abs=0.3)
    assert errors["solve_ivp", 2] < 1e-6


def test_windows_together_are_windows_alone_and_the_engine_s_own_integrator(actuated):
    (stretch,) = replay_inputs(actuated, "recomputed")
    starts = np.array([0, 7, 30])
    together = replay_windows(stretch, starts, 5, "rk4", 4)
    for k, start in enumerate(starts):
        alone = replay_windows(stretch, starts[k : k + 1], 5, "rk4", 4)
        np.testing.assert_allclose(alone.q[0], together.q[k], atol=1e-12)
        first = stretch.frames[0] + start
        times = stretch.times_s[start] + np.arange(5 * 8 + 1) * (stretch.times_s[1] - stretch.times_s[0]) / 8
        q, _ = simulate(
            actuated.multibody,
            actuated.q[first],
            actuated.v[first],
            times,
            forces=lambda t, q, v: stretch(np.array([t]))[0],
            wrenches=lambda t, q, v: stretch(np.array([t]))[1],
            wrench_bodies=stretch.bodies,
        )
        # both of fourth order, one by Lie algebra, the other by projection; errors of some 1e-6 rad each
        np.testing.assert_allclose(q[-1], together.q[k, -1], atol=1e-5)


def test_a_dropped_body_falls_as_galileo_said(actuated):
    mb = actuated.multibody
    frames = 30
    q = np.repeat(actuated.q[10:11], frames, axis=0)
    still = np.zeros((frames, mb.nv))
    limp = replace(
        actuated,
        time_s=np.arange(frames) / 100.0,
        q=q,
        v=still,
        vdot=still,
        tau=still,
        wrenches=np.zeros((frames, 2, 6)),
        measured=np.ones(frames, dtype=bool),
    )
    (stretch,) = replay_inputs(limp, "recorded")
    found = replay_windows(stretch, np.array([0]), frames - 1, "rk4", 4)
    fallen = centre_of_mass(mb, found.q[0]) - centre_of_mass(mb, q)
    t = limp.time_s
    # a parabola is exact for a method of fourth order; the sum over segments rounds
    np.testing.assert_allclose(fallen, np.outer(0.5 * t**2, mb.gravity_W), atol=1e-10)
    # in free fall nothing turns any joint
    np.testing.assert_allclose(found.q[0, :, 7:], q[:, 7:], atol=1e-9)


def test_windows_end_with_their_stretch(actuated):
    (stretch,) = replay_inputs(actuated, "recorded")
    last = len(stretch.times_s) - 1
    found = compute_deviation(actuated, stretch, replay_windows(stretch, np.array([last - 3]), 10))
    assert found.inside[0].tolist() == [True] * 4 + [False] * 7
    assert np.isfinite(found.joint_rad[0, :4]).all()
    assert np.isnan(found.joint_rad[0, 4:]).all()


def test_nothing_to_replay_is_said(actuated):
    with pytest.raises(ResultError, match="No interval"):
        replay_inputs(replace(actuated, tau=np.full_like(actuated.tau, np.nan)), "recorded")
