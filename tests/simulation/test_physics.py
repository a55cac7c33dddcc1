"""The truth must be true: mechanics checked by other ways than those the simulator used."""

from __future__ import annotations

import numpy as np
import pytest
from simulator.feet import points_in_world, zero_moment_point
from simulator.reaction import foot_wrenches

from biodyn.conventions import GRAVITY_W, SIDES, STANDARD_GRAVITY_M_S2
from biodyn.geometry.points import signed_distance
from biodyn.rigid_body import body_poses, body_velocities


def momentum(model, q, v):
    """Momentum of the whole body about the world origin, [angular; linear] (T, 6), body by body from its definition."""
    R, p = body_poses(model.multibody, q)
    twist = body_velocities(model.multibody, q, v)
    total = np.zeros((len(q), 6))
    for i, body in enumerate(model.multibody.bodies):
        omega_W = np.einsum("tij,tj->ti", R[:, i], twist[:, i, :3])
        com_W = p[:, i] + R[:, i] @ body.com_m
        v_com_W = np.einsum("tij,tj->ti", R[:, i], twist[:, i, 3:] + np.cross(twist[:, i, :3], body.com_m))
        spin_W = np.einsum("tij,jk,tlk,tl->ti", R[:, i], body.inertia_com, R[:, i], omega_W)
        linear = body.mass_kg * v_com_W
        total += np.hstack([np.cross(com_W, linear) + spin_W, linear])
    return total


def centre_of_mass(model, q):
    R, p = body_poses(model.multibody, q)
    masses = np.array([body.mass_kg for body in model.multibody.bodies])
    coms = np.array([body.com_m for body in model.multibody.bodies])
    return np.einsum("b,tbi->ti", masses, p + np.einsum("tbij,bj->tbi", R, coms)) / masses.sum()


def test_momentum_changes_as_ground_and_gravity_demand(walking):
    """Newton-Euler for the whole body, with momentum differentiated numerically instead of the recursion."""
    walk, model = walking.walk, walking.body.model
    time = np.linspace(0.0, walk.stride_s, 47)  # not in step with anything
    h = 1e-5  # error of the difference: h^2 times the third derivative, below 1e-5 N, round-off below 1e-6 N
    later, earlier = (momentum(model, *walk.motion(time + dt)[:2]) for dt in (h, -h))
    rate = (later - earlier) / (2 * h)
    q = walk.motion(time)[0]
    weight = np.tile(model.mass_kg * np.array(GRAVITY_W), (len(time), 1))
    ground = sum(foot_wrenches(walk, time).values())
    demanded = ground + np.hstack([np.cross(centre_of_mass(model, q), weight), weight])
    np.testing.assert_allclose(rate, demanded, atol=1e-3)


def test_the_base_needs_no_help(walking, standing):
    for trial in (walking, standing):
        assert np.abs(trial.tau[:, :6]).max() < 1e-9  # round-off of sums of 1e3 N at 1e1 m


def test_torques_and_ground_do_the_work_the_energy_shows(walking):
    """Power = dE/dt, the energy being differentiated numerically."""
    walk, model = walking.walk, walking.body.model

    def energy(time):
        q, v, _ = walk.motion(time)
        twist = body_velocities(model.multibody, q, v)
        kinetic = 0.0
        for i, body in enumerate(model.multibody.bodies):
            omega = twist[:, i, :3]
            v_com = twist[:, i, 3:] + np.cross(omega, body.com_m)
            kinetic = kinetic + 0.5 * body.mass_kg * (v_com**2).sum(axis=1)
            kinetic = kinetic + 0.5 * np.einsum("ti,ij,tj->t", omega, body.inertia_com, omega)
        height = centre_of_mass(model, q)[:, 1]
        return kinetic + model.mass_kg * STANDARD_GRAVITY_M_S2 * height

    # The trial's own frames, on the walk's clock: 0 at the first measured strike, the walk moved along X.
    start = walking.options.lead_in * walk.stride_s
    time = walking.time_s[20:-20] - start
    h = 1e-5
    rate = (energy(time + h) - energy(time - h)) / (2 * h)
    rows = slice(20, -20)
    R, p = body_poses(model.multibody, walking.q[rows])
    twist = body_velocities(model.multibody, walking.q[rows], walking.v[rows])
    power = np.sum(walking.tau[rows] * walking.v[rows], axis=1)
    for side in SIDES:
        link = walk.feet[side].link
        omega = np.einsum("tij,tj->ti", R[:, link], twist[:, link, :3])
        at_origin = np.einsum("tij,tj->ti", R[:, link], twist[:, link, 3:]) - np.cross(omega, p[:, link])
        wrench = walking.wrench[side][rows]
        power = power + np.sum(wrench[:, :3] * omega, axis=1) + np.sum(wrench[:, 3:] * at_origin, axis=1)
    np.testing.assert_allclose(power, rate, atol=1e-3)  # W; peaks are hundreds


@pytest.mark.parametrize("side", SIDES)
def test_the_ground_could_do_it(walking, side):
    """Push only, within friction, from under the sole, hardly any twist."""
    model, foot = walking.body.model, walking.walk.feet[side]
    weight = model.mass_kg * STANDARD_GRAVITY_M_S2
    wrench = walking.wrench[side]
    assert wrench[:, 4].min() >= 0.0
    on = wrench[:, 4] > 0.01 * weight
    R, p = body_poses(model.multibody, walking.q)
    outline = points_in_world(R[:, foot.link], p[:, foot.link], foot.outline)
    point, twist = zero_moment_point(wrench[on])
    assert signed_distance(point, outline[on]).max() < 0.0
    assert (np.hypot(wrench[on, 3], wrench[on, 5]) / wrench[on, 4]).max() < 0.4  # rubber on a dry floor: 0.5 and more
    assert np.abs(twist).max() / model.mass_kg < 0.1  # people: up to about 0.15 Nm/kg
    assert 1.0 < wrench[:, 4].max() / weight < 1.3


@pytest.mark.parametrize("side", SIDES)
def test_standing_feet_stand(walking, side):
    walk, model = walking.walk, walking.body.model
    foot, lag = walk.feet[side], 0.0 if side == "r" else 0.5
    phase = np.linspace(0.1, 0.33, 60)
    R, p = body_poses(model.multibody, walk.motion((phase + lag) * walk.stride_s)[0])
    flat = points_in_world(R[:, foot.link], p[:, foot.link], np.stack([foot.heel, foot.ball]))
    assert np.ptp(flat[..., ::2], axis=0).max() < 0.01
    assert np.abs(flat[..., 1]).max() < 0.005
    everywhere = np.linspace(0.0, 1.0, 200)
    R, p = body_poses(model.multibody, walk.motion(everywhere * walk.stride_s)[0])
    ends = points_in_world(R[:, foot.link], p[:, foot.link], np.stack([foot.heel, foot.ball]))
    assert ends[..., 1].min() > -0.005
    swing = np.mod(everywhere - lag, 1.0) > walk.stance + 0.1
    assert ends[swing, :, 1].max() > 0.05


def test_it_walks_like_people(walking):
    """Near the published curves, which are medians of people who differ by 5 degrees and more."""
    from simulator.tables import load_data

    table = load_data("gait")["coordinates"]
    phase = np.arange(100) / 100
    q = walking.walk.motion(phase * walking.walk.stride_s)[0]
    for name in ("hip_flexion", "knee_angle", "ankle_angle"):
        coordinate = walking.body.model.coordinate(f"{name}_r")
        curve = np.full(100, table[name]["mean"])
        for k, (c, s) in enumerate(zip(table[name]["cos"], table[name]["sin"], strict=True), start=1):
            curve += c * np.cos(2 * np.pi * k * phase) + s * np.sin(2 * np.pi * k * phase)
        assert np.sqrt(np.mean((np.degrees(q[:, coordinate.q_index]) - curve) ** 2)) < 6.0


def test_left_repeats_right_half_a_cycle_later(walking):
    model, walk = walking.body.model, walking.walk
    time = np.linspace(0, 1, 30)
    now, later = walk.motion(time)[0], walk.motion(time + walk.stride_s / 2)[0]
    for coordinate in model.coordinates:
        if coordinate.side == "r":
            twin = model.coordinate(coordinate.name.removesuffix("_r") + "_l")
            np.testing.assert_allclose(later[:, twin.q_index], now[:, coordinate.q_index], atol=1e-12)


def test_velocity_and_acceleration_belong_to_the_motion(walking):
    """q is integrated by v, and vdot is the derivative of v: central differences over 1e-5 s."""
    from biodyn.rigid_body import difference

    walk, model = walking.walk, walking.body.model
    time, h = np.linspace(0.0, 1.1, 40), 1e-5
    (q0, v0, _), (q1, v1, _) = walk.motion(time - h), walk.motion(time + h)
    _, v, vdot = walk.motion(time)
    np.testing.assert_allclose(difference(model.multibody, q0, q1) / (2 * h), v, atol=1e-5)
    np.testing.assert_allclose((v1 - v0) / (2 * h), vdot, atol=1e-4)


def test_at_rest_the_ground_carries_the_weight(standing):
    total = standing.wrench["r"] + standing.wrench["l"]
    weight = standing.body.person.mass_kg * STANDARD_GRAVITY_M_S2
    np.testing.assert_allclose(total[:, 3:], np.tile([0.0, weight, 0.0], (len(total), 1)), atol=1e-9)
    com = centre_of_mass(standing.body.model, standing.q)
    np.testing.assert_allclose(zero_moment_point(total)[0][:, ::2], com[:, ::2], atol=1e-9)
