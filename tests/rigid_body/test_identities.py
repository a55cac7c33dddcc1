"""Laws of mechanics that hold on every tree, on random ones of all joint kinds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.trees import random_state, random_tree, relative

from biodyn.rigid_body import (
    bias_forces,
    body_poses,
    body_velocities,
    centre_of_mass,
    difference,
    energies,
    forward_dynamics,
    integrate,
    inverse_dynamics,
    inverse_dynamics_with_joint_wrenches,
    jacobian,
    mass_matrix,
    momentum,
    normal_matrix,
)

trees = st.builds(
    random_tree,
    seed=st.integers(0, 2**32 - 1),
    count=st.integers(1, 15),
    root=st.sampled_from(["free", "revolute", "prismatic", "spherical", "weld"]),
    massless=st.sampled_from([0.0, 0.3]),
).filter(lambda mb: mb.nv > 0)
seeds = st.integers(0, 2**32 - 1)
# The state goes through the mass matrix, whose condition number reaches 1e6 on such trees: 1e-16 * 1e6, and a margin.
THROUGH_MASS = 1e-8
EXACT = 1e-11


def wrenches_for(mb, seed, frames):
    """Return wrenches (T, K, 6) about the world origin and their bodies."""
    rng = np.random.default_rng([seed, 2])
    count = int(rng.integers(0, 4))
    return rng.normal(scale=50.0, size=(frames, count, 6)), rng.integers(0, len(mb.bodies), size=count)


@settings(max_examples=40, deadline=None)
@given(trees, seeds)
def test_forward_undoes_inverse_dynamics(mb, seed):
    q, v, vdot = random_state(mb, seed)
    loads, bodies = wrenches_for(mb, seed, len(q))
    tau = inverse_dynamics(mb, q, v, vdot, loads, bodies)
    again = inverse_dynamics(mb, q, v, forward_dynamics(mb, q, v, tau, loads, bodies), loads, bodies)
    # compared as forces: an acceleration the mass matrix hardly sees may differ
    assert relative(again, tau) < THROUGH_MASS


@settings(max_examples=40, deadline=None)
@given(trees, seeds)
def test_mass_matrix_columns_are_unit_accelerations(mb, seed):
    q, _, _ = random_state(mb, seed, frames=1)
    every = np.repeat(q, mb.nv, axis=0)
    columns = inverse_dynamics(mb, every, 0 * np.eye(mb.nv), np.eye(mb.nv)) - bias_forces(mb, every, 0 * np.eye(mb.nv))
    assert relative(mass_matrix(mb, q)[0], columns) < EXACT


@settings(max_examples=40, deadline=None)
@given(trees, seeds)
def test_normal_matrix_is_the_sum_of_squares_of_the_jacobians(mb, seed):
    q, _, _ = random_state(mb, seed, frames=11)  # eight side by side, and three
    rng = np.random.default_rng([seed, 3])
    bodies, points, weights = rng.integers(0, len(mb.bodies), 7), rng.normal(size=(7, 3)), rng.uniform(0.0, 2.0, 7)
    weights[0] = 0.0  # not seen
    expected = sum(
        w * J.transpose(0, 2, 1) @ J
        for body, p, w in zip(bodies.tolist(), points, weights, strict=True)
        for J in (jacobian(mb, q, body, p)[:, 3:],)
    )
    assert relative(normal_matrix(mb, q, bodies, points, weights), expected) < EXACT


@settings(max_examples=40, deadline=None)
@given(trees, seeds)
def test_equation_of_motion(mb, seed):
    q, v, vdot = random_state(mb, seed, frames=11)  # eight side by side, and three
    loads, bodies = wrenches_for(mb, seed, len(q))
    expected = np.einsum("tij,tj->ti", mass_matrix(mb, q), vdot) + bias_forces(mb, q, v, loads, bodies)
    assert relative(inverse_dynamics(mb, q, v, vdot, loads, bodies), expected) < EXACT


def step(mb, q, v, vdot, h):
    """Return the state h later, to third order in h: enough for central differences."""
    later = integrate(mb, q, h * (v + 0.5 * h * vdot))
    return later, v + h * vdot


def central(function, h):
    """Return the derivative at 0 by Richardson's extrapolation of central differences, error O(h^4)."""
    coarse, fine = (function(h) - function(-h)) / (2 * h), (function(h / 2) - function(-h / 2)) / h
    return (4 * fine - coarse) / 3


@settings(max_examples=25, deadline=None)
@given(trees, seeds)
def test_power_balance(mb, seed):
    """d(kinetic + potential)/dt = tau . v + power of the external wrenches."""
    q, v, vdot = random_state(mb, seed)
    loads, bodies = wrenches_for(mb, seed, len(q))
    tau = inverse_dynamics(mb, q, v, vdot, loads, bodies)
    R_WB, p_WB = body_poses(mb, q)
    twist = body_velocities(mb, q, v)
    power = np.einsum("tj,tj->t", tau, v)
    for k, b in enumerate(bodies):
        omega = np.einsum("tij,tj->ti", R_WB[:, b], twist[:, b, :3])
        at_origin = np.einsum("tij,tj->ti", R_WB[:, b], twist[:, b, 3:]) - np.cross(omega, p_WB[:, b])
        power += np.einsum("ti,ti->t", loads[:, k], np.concatenate([omega, at_origin], axis=1))
    rate = central(lambda h: np.sum(energies(mb, *step(mb, q, v, vdot, h)), axis=0), 1e-3)
    # finite differences: h^4 * fifth derivatives (rates^5 ~ 1e4 per second^5) ~ 1e-8, and rounding 1e-16 / 1e-3
    assert relative(rate, power) < 1e-5


@settings(max_examples=25, deadline=None)
@given(trees, seeds)
def test_momentum_rate_is_the_sum_of_outer_wrenches(mb, seed):
    """d(momentum about the world origin)/dt = weight + external wrenches + what the roots get from the world."""
    q, v, vdot = random_state(mb, seed)
    loads, bodies = wrenches_for(mb, seed, len(q))
    _, transmitted = inverse_dynamics_with_joint_wrenches(mb, q, v, vdot, loads, bodies)
    R_WB, p_WB = body_poses(mb, q)
    weight = mb.total_mass_kg * np.array(mb.gravity_W)
    total = loads.sum(axis=1)
    total[:, 3:] += weight
    total[:, :3] += np.cross(centre_of_mass(mb, q), weight)
    for b in np.flatnonzero(mb.parents < 0):
        force = np.einsum("tij,tj->ti", R_WB[:, b], transmitted[:, b, 3:])
        total[:, 3:] += force
        total[:, :3] += np.einsum("tij,tj->ti", R_WB[:, b], transmitted[:, b, :3]) + np.cross(p_WB[:, b], force)
    rate = central(lambda h: momentum(mb, *step(mb, q, v, vdot, h)), 1e-3)
    assert relative(rate, total) < 1e-5  # finite differences, as above


@settings(max_examples=40, deadline=None)
@given(trees, seeds)
def test_energy_is_the_quadratic_form_of_the_mass_matrix(mb, seed):
    q, v, _ = random_state(mb, seed)
    kinetic, _ = energies(mb, q, v)
    assert relative(0.5 * np.einsum("ti,tij,tj->t", v, mass_matrix(mb, q), v), kinetic) < EXACT


@settings(max_examples=40, deadline=None)
@given(trees, seeds)
def test_integrate_undoes_difference(mb, seed):
    q, v, _ = random_state(mb, seed)
    moved = v * (1.5 / np.abs(v).max())  # a turn of at most 1.5 sqrt(3) < pi: the shorter way round
    assert relative(difference(mb, q, integrate(mb, q, moved)), moved) < EXACT
    poses, again = body_poses(mb, q[::-1]), body_poses(mb, integrate(mb, q, difference(mb, q, q[::-1])))
    assert relative(again[0], poses[0]) < EXACT
    assert relative(again[1], poses[1]) < EXACT


@settings(max_examples=25, deadline=None)
@given(trees, seeds)
def test_velocities_are_rates_of_poses(mb, seed):
    q, v, _ = random_state(mb, seed)
    R_WB, _ = body_poses(mb, q)
    rate = central(lambda h: body_poses(mb, integrate(mb, q, h * v))[1], 1e-3)
    linear = np.einsum("tbij,tbj->tbi", R_WB, body_velocities(mb, q, v)[..., 3:])
    assert relative(rate, linear) < 1e-6  # finite differences, as above


@pytest.mark.parametrize("count", [1, 30, 60])
def test_large_trees(count):
    mb = random_tree(count, count)
    q, v, vdot = random_state(mb, count, frames=9)  # 9: a full block of eight and one over
    tau = inverse_dynamics(mb, q, v, vdot)
    expected = np.einsum("tij,tj->ti", mass_matrix(mb, q), vdot) + bias_forces(mb, q, v)
    assert relative(tau, expected) < EXACT
    assert relative(inverse_dynamics(mb, q, v, forward_dynamics(mb, q, v, tau)), tau) < THROUGH_MASS


def test_frames_do_not_mix():
    """A missing frame is NaN alone; any number of frames gives the same numbers as one by one."""
    mb = random_tree(5, 12)
    q, v, vdot = random_state(mb, 5, frames=19)
    whole = inverse_dynamics(mb, q, v, vdot)
    single = np.concatenate([inverse_dynamics(mb, q[t : t + 1], v[t : t + 1], vdot[t : t + 1]) for t in range(19)])
    np.testing.assert_array_equal(whole, single)
    q[7] = np.nan
    gappy = inverse_dynamics(mb, q, v, vdot)
    assert np.isnan(gappy[7]).all()
    np.testing.assert_array_equal(np.delete(gappy, 7, axis=0), np.delete(whole, 7, axis=0))
    assert inverse_dynamics(mb, q[:0], v[:0], vdot[:0]).shape == (0, mb.nv)
