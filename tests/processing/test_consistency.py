"""The consistency checks hold for true torques and, above all, fail for wrong ones."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from simulator import Person, TrialOptions, session

from biodyn.errors import ModelError, ResultError
from biodyn.output.store.result_writer import multibody_arrays
from biodyn.processing.dynamics.actuated_motion import (
    ActuatedMotion,
    actuated_motion_from_arrays,
    multibody_from_arrays,
)
from biodyn.processing.kinematics.skeleton_tracking import segment_forces, segment_motion
from biodyn.rigid_body import Body, Joint, Multibody, energies, integrate, inverse_dynamics, momentum
from biodyn.verification import consistency as in_blocks
from biodyn.verification.consistency import RELATIVE_LIMIT, check_consistency


@pytest.fixture(scope="module")
def walk():
    return session(Person("P", height_m=1.7, mass_kg=65.0, sex="female"), TrialOptions(strides=1.6))[1]


@pytest.fixture(scope="module")
def actuated(walk):
    """The simulator's true motion and forces."""
    model = walk.body.model
    sides = list(walk.wrench)
    return ActuatedMotion(
        multibody=model.multibody,
        time_s=walk.time_s,
        q=walk.q,
        v=walk.v,
        vdot=walk.vdot,
        tau=walk.tau,
        wrenches=np.stack([walk.wrench[side] for side in sides], axis=1),
        wrench_bodies=np.array([model.frames[model.sole_body[side]].link for side in sides]),
        measured=np.ones(len(walk.time_s), dtype=bool),
    )


def by_code(consistency):
    return {check.code: check for check in consistency.checks}


def test_every_check_holds_for_a_true_walk_in_every_frame(actuated):
    found = by_code(check_consistency(actuated))
    assert len(found) == 6
    for code, check in found.items():
        if code == "motion":
            continue  # the simulator's curve is not the quintic through its frames
        assert check.limit == RELATIVE_LIMIT
        assert check.frames == len(actuated.time_s)
        assert check.holds, check.sentence


def test_frames_verified_some_at_a_time_have_the_same_errors(actuated, monkeypatch):
    """Each equation is relative to the largest sum of the whole trial, whichever frames are looked at together."""
    q = actuated.q.copy()
    q[20:33] = np.nan
    gap = replace(actuated, q=q)
    whole = by_code(check_consistency(gap))
    monkeypatch.setattr(in_blocks, "_FRAMES_AT_ONCE", 17)
    for code, check in by_code(check_consistency(gap)).items():
        # sums of the same numbers in another order: some last digits of errors that are round-off themselves
        np.testing.assert_allclose(check.error, whole[code].error, rtol=0.0, atol=1e-12)
        assert np.isnan(check.error[20:33]).all()


@pytest.mark.parametrize("share", [1e-6, 1e-3])
def test_one_wrong_joint_torque_fails_all_but_the_whole_body(actuated, share):
    frame, column = 40, 8
    tau = actuated.tau.copy()
    tau[frame, column] += share * np.abs(actuated.tau[:, column]).max()
    found = by_code(check_consistency(replace(actuated, tau=tau)))
    for code in ("forward-dynamics", "mass-matrix", "free-bodies"):
        assert found[code].holds is False, code
        assert found[code].worst_frame == frame
    assert found["momentum"].holds  # one joint's torque does not move the body as a whole
    # 1e-6 of this torque is a few 1e-7 W beside the thousand that the other joints and the ground turn over
    assert found["power"].holds is (share < 1e-5)


def test_a_wrong_residual_is_found_by_momentum(actuated):
    tau = actuated.tau.copy()
    tau[30, 4] += 1e-3
    found = by_code(check_consistency(replace(actuated, tau=tau)))
    assert found["momentum"].holds is False
    assert found["momentum"].worst_frame == 30
    assert found["free-bodies"].holds


def test_a_wrench_on_the_other_foot_is_found(actuated):
    found = by_code(check_consistency(replace(actuated, wrenches=actuated.wrenches[:, ::-1])))
    assert found["free-bodies"].largest_error > 0.1
    assert found["momentum"].holds  # the whole body does not care which foot it stands on


def test_a_classical_acceleration_taken_for_a_spatial_one_is_found(actuated):
    model = actuated.multibody
    time_s = actuated.time_s
    vdot = actuated.vdot.copy()
    vdot[:, 3:6] += np.cross(actuated.v[:, :3], actuated.v[:, 3:6])
    tau = inverse_dynamics(model, actuated.q, actuated.v, vdot, actuated.wrenches, actuated.wrench_bodies)
    found = by_code(check_consistency(replace(actuated, vdot=vdot, tau=tau, time_s=time_s)))
    assert found["forward-dynamics"].holds  # consistent with itself ...
    assert found["motion"].holds is False  # ... but not with the path
    assert found["motion"].largest_error > 100.0 * by_code(check_consistency(actuated))["motion"].largest_error


def test_missing_frames_are_not_checked_and_bad_numbers_are_not_missed(actuated):
    tau = actuated.tau.copy()
    tau[:10] = np.nan
    found = by_code(check_consistency(replace(actuated, tau=tau)))
    assert found["power"].frames == len(tau) - 10
    assert np.isnan(found["power"].error[:10]).all()
    nothing = check_consistency(replace(actuated, tau=np.full_like(tau, np.nan)))
    assert not nothing.holds
    assert all(check.holds is None for check in nothing.checks)


def test_segment_forces_are_the_derivatives_of_momentum_and_energy(actuated):
    """Ground truth by differences in time of the engine's momentum and energy, along a motion with constant vdot."""
    mb = actuated.multibody
    q, v, vdot = actuated.q[20], actuated.v[20], actuated.vdot[20]
    h = 1e-4
    sides = {}
    for sign in (-1.0, 1.0):
        # v(t) = v + vdot t exactly; q along it by steps of a hundredth of h
        t = np.linspace(0.0, sign * h, 101)
        rates = v + np.outer(t, vdot)
        x = q[None]
        for k in range(100):
            x = integrate(mb, x, 0.5 * (rates[k : k + 1] + rates[k + 1 : k + 2]) * (t[k + 1] - t[k]))
        sides[sign] = (momentum(mb, x, rates[-1:])[0], sum(energies(mb, x, rates[-1:]))[0])
    inertial_W, _, energy_rate = segment_forces(mb, segment_motion(mb, q[None], v[None], vdot[None]))
    rate = (sides[1.0][0] - sides[-1.0][0]) / (2.0 * h)
    # central differences: error of the order of h^2 of the third derivative; a walk's is below 1e4 N/s^2
    np.testing.assert_allclose(inertial_W[0].sum(axis=0), rate, atol=1e-4)
    power = (sides[1.0][1] - sides[-1.0][1]) / (2.0 * h)
    np.testing.assert_allclose(energy_rate[0].sum(), power, atol=1e-3)


def test_sliding_joints_too():
    rng = np.random.default_rng(3)
    R = Rotation.from_rotvec([0.3, -0.2, 0.5]).as_matrix()
    box = np.diag([0.1, 0.2, 0.25])
    mb = Multibody(
        (
            Body("base", None, Joint("free"), mass_kg=5.0, com_m=(0.1, 0.0, 0.05), inertia_com=box),
            Body("slide", "base", Joint("prismatic", (1.0, 1.0, 0.0)), R, (0.2, 0.1, 0.0), 2.0, (0.0, 0.1, 0.0), box),
            Body("arm", "slide", Joint("revolute", (0.0, 0.6, 0.8)), R.T, (0.0, 0.3, 0.0), 1.0, (0.0, 0.2, 0.1), box),
        )
    )
    q = rng.normal(size=(20, mb.nq))
    q[:, 3:7] /= np.linalg.norm(q[:, 3:7], axis=1, keepdims=True)
    v, vdot = rng.normal(size=(2, 20, mb.nv))
    tau = inverse_dynamics(mb, q, v, vdot)
    shape = np.zeros((20, 0, 6))
    trial = ActuatedMotion(
        mb, np.arange(20) / 100, q, v, vdot, tau, shape, np.zeros(0, dtype=np.int64), np.ones(20, dtype=bool)
    )
    for code, check in by_code(check_consistency(trial)).items():
        assert code == "motion" or check.holds, check.sentence


def test_unknown_joints_are_refused():
    mb = Multibody((Body("a", None, Joint("spherical"), mass_kg=1.0, inertia_com=np.eye(3)),))
    with pytest.raises(ModelError, match="spherical"):
        segment_motion(mb, np.array([[1.0, 0, 0, 0]]), np.zeros((1, 3)), np.zeros((1, 3)))


def test_the_tree_comes_back_from_its_arrays(actuated):
    mb = actuated.multibody
    again = multibody_from_arrays(multibody_arrays(mb))
    assert again.body_names == mb.body_names
    torques = [
        inverse_dynamics(tree, actuated.q, actuated.v, actuated.vdot, actuated.wrenches, actuated.wrench_bodies)
        for tree in (mb, again)
    ]
    np.testing.assert_array_equal(*torques)


def test_arrays_without_torques_say_so(actuated):
    arrays = multibody_arrays(actuated.multibody) | {"time_s": actuated.time_s}
    with pytest.raises(ResultError, match="'q'"):
        actuated_motion_from_arrays(arrays)
