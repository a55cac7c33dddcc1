"""Coriolis matrix, regressor, Jacobians and derivatives against the algorithms they are derived from."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from support.reference_vectors import MODELS, reference
from support.trees import random_state, random_tree, relative
from test_identities import central, seeds, step, trees, wrenches_for

from biodyn.rigid_body import (
    Body,
    Joint,
    Multibody,
    bias_forces,
    body_poses,
    centroidal_momentum_matrix,
    coriolis_forces,
    coriolis_matrix,
    energies,
    forward_dynamics,
    inertial_parameters,
    integrate,
    inverse_dynamics,
    inverse_dynamics_derivatives,
    inverse_mass_times,
    jacobian,
    jacobian_rate_times_v,
    mass_matrix,
    momentum,
    momentum_rate,
    random_configuration,
    regressor,
    solve_with_mass,
    subtree_masses,
)

EXACT = 1e-10
DIFFERENCES = 1e-6  # Richardson's differences with h = 1e-3: h^4 times fifth derivatives, and rounding / h


@settings(max_examples=30, deadline=None)
@given(trees, seeds)
def test_coriolis_matrix(mb, seed):
    q, v, _ = random_state(mb, seed)
    C = coriolis_matrix(mb, q, v)
    expected = coriolis_forces(mb, q, v)
    # to 1 N m: one body on one axis has none at all
    assert np.abs(np.einsum("tij,tj->ti", C, v) - expected).max() < EXACT * max(np.abs(expected).max(), 1.0)
    rate = central(lambda h: mass_matrix(mb, integrate(mb, q, h * v)), 1e-3)
    skew = rate - 2 * C
    # a difference of numbers as large as C and dM/dt
    assert np.abs(skew + skew.transpose(0, 2, 1)).max() < DIFFERENCES * max(np.abs(rate).max(), 1.0)


@settings(max_examples=30, deadline=None)
@given(trees, seeds)
def test_regressor_is_linear_in_the_parameters(mb, seed):
    q, v, vdot = random_state(mb, seed)
    Y = regressor(mb, q, v, vdot)
    assert relative(Y @ inertial_parameters(mb), inverse_dynamics(mb, q, v, vdot)) < EXACT


@settings(max_examples=30, deadline=None)
@given(trees, seeds)
def test_derivatives_of_inverse_dynamics(mb, seed):
    q, v, vdot = random_state(mb, seed, frames=2)
    loads, bodies = wrenches_for(mb, seed, 2)
    by_q, by_v, by_vdot = inverse_dynamics_derivatives(mb, q, v, vdot, loads, bodies)
    assert relative(by_vdot, mass_matrix(mb, q)) < EXACT
    for j in range(mb.nv):
        along = np.zeros((2, mb.nv))
        along[:, j] = 1.0
        expected = central(
            lambda h, e=along: inverse_dynamics(mb, integrate(mb, q, h * e), v, vdot, loads, bodies), 1e-3
        )
        assert np.abs(by_q[:, :, j] - expected).max() < DIFFERENCES * np.abs(by_q).max() + 1e-9
        expected = central(lambda h, e=along: inverse_dynamics(mb, q, v + h * e, vdot, loads, bodies), 1e-3)
        assert np.abs(by_v[:, :, j] - expected).max() < DIFFERENCES * max(np.abs(by_v).max(), np.abs(by_q).max()) + 1e-9


@settings(max_examples=30, deadline=None)
@given(trees, seeds)
def test_momentum_matrix(mb, seed):
    q, v, _ = random_state(mb, seed)
    found = np.einsum("tij,tj->ti", centroidal_momentum_matrix(mb, q), v)
    assert relative(found, momentum(mb, q, v, "com")) < EXACT


@settings(max_examples=30, deadline=None)
@given(trees, seeds)
def test_inverse_mass(mb, seed):
    q, v, _ = random_state(mb, seed)
    forces = np.einsum("tij,tj->ti", mass_matrix(mb, q), v)
    again = np.einsum("tij,tj->ti", mass_matrix(mb, q), inverse_mass_times(mb, q, forces))
    assert relative(again, forces) < 1e-8  # through the condition number of M, compared as forces


@settings(max_examples=30, deadline=None)
@given(trees, seeds)
def test_point_jacobian_and_its_rate(mb, seed):
    q, v, _ = random_state(mb, seed, frames=3)
    b = seed % len(mb.bodies)
    point = np.array([0.3, -0.2, 0.1])

    def place(h):
        R_WB, p_WB = body_poses(mb, integrate(mb, q, h * v))
        return p_WB[:, b] + R_WB[:, b] @ point

    J = jacobian(mb, q, b, point)
    velocity = np.einsum("tij,tj->ti", J[:, 3:], v)
    assert np.abs(central(place, 1e-3) - velocity).max() < DIFFERENCES * (1 + np.abs(velocity).max())

    def speed(h):
        later = integrate(mb, q, h * v)
        return np.einsum("tij,tj->ti", jacobian(mb, later, b, point), v)

    expected = central(speed, 1e-3)
    assert np.abs(expected - jacobian_rate_times_v(mb, q, v, b, point)).max() < DIFFERENCES * (
        1 + np.abs(expected).max()
    )


def test_jacobian_between_two_bodies():
    """Two hands of one trunk: relative motion does not depend on the trunk's."""
    mb = random_tree(11, 12)
    q, _, _ = random_state(mb, 11)
    J = jacobian(mb, q, 7, relative_to=4)
    at = jacobian(mb, q, 7)
    path = {7, 4}
    shared = np.zeros(mb.nv, dtype=bool)
    chain7, chain4 = set(), set()
    for chain, b in ((chain7, 7), (chain4, 4)):
        while b >= 0:
            chain.add(b)
            b = int(mb.parents[b])
    for b in chain7 & chain4 - path:
        shared[mb.v_slice(f"b{b}")] = True
    assert shared.any()
    assert not J[:, :, shared].any()
    only = np.zeros(mb.nv, dtype=bool)
    for b in chain7 - chain4:
        only[mb.v_slice(f"b{b}")] = True
    np.testing.assert_allclose(J[:, :, only], at[:, :, only], atol=1e-12)


def test_reference_jacobians():
    for name in MODELS:
        mb, ref = reference(name)
        q = ref["q"][:20]
        for b in range(len(mb.bodies)):
            assert relative(jacobian(mb, q, b), ref["J_world"][:, b]) < EXACT
            assert relative(jacobian(mb, q, b, axes="body"), ref["J_local"][:, b]) < EXACT
        assert relative(centroidal_momentum_matrix(mb, ref["q"]), ref["Ag"]) < EXACT
        Minv = np.stack([inverse_mass_times(mb, q, np.tile(row, (20, 1))) for row in np.eye(mb.nv)], axis=2)
        assert relative(Minv, ref["Minv"]) < EXACT


@settings(max_examples=30, deadline=None)
@given(trees, seeds)
def test_two_ways_to_forward_dynamics(mb, seed):
    q, v, tau = random_state(mb, seed)
    M = mass_matrix(mb, q)
    by_cholesky = solve_with_mass(mb, M, tau - bias_forces(mb, q, v))
    by_bodies = forward_dynamics(mb, q, v, tau)
    # through the condition number of M, compared as forces
    assert relative(np.einsum("tij,tj->ti", M, by_cholesky), np.einsum("tij,tj->ti", M, by_bodies)) < 1e-8


@settings(max_examples=20, deadline=None)
@given(seeds)
def test_equations_of_lagrange(seed):
    """M(q) qdd + C = Q with C = dM/dt qd - 1/2 d(qd M qd)/dq + dV/dq, from the energies alone."""
    one_axis = ("revolute", "prismatic", "helical", "cylindrical", "universal", "cardan", "planar")
    mb = random_tree(seed, 5, kinds=one_axis, root="planar")
    q, v, _ = random_state(mb, seed, frames=2)
    rate = central(lambda h: mass_matrix(mb, q + h * v), 1e-3)
    force = np.einsum("tij,tj->ti", rate, v)
    for j in range(mb.nv):
        along = np.zeros(mb.nv)
        along[j] = 1.0

        def lagrangian(h, along=along):
            kinetic, potential = energies(mb, q + h * along, v)
            return kinetic - potential

        force[:, j] -= central(lagrangian, 1e-3)
    assert np.abs(bias_forces(mb, q, v) - force).max() < DIFFERENCES * max(np.abs(force).max(), 1.0)


@settings(max_examples=20, deadline=None)
@given(trees, seeds)
def test_momentum_rate(mb, seed):
    q, v, vdot = random_state(mb, seed)
    for about in ("world", "com"):
        expected = central(lambda h, about=about: momentum(mb, *step(mb, q, v, vdot, h), about), 1e-3)
        found = momentum_rate(mb, q, v, vdot, about)
        assert np.abs(found - expected).max() < 1e-5 * max(np.abs(expected).max(), 1.0)  # finite differences


def test_subtree_masses_and_random_configurations():
    mb = random_tree(2, 9)
    masses = subtree_masses(mb)
    assert masses[0] == pytest.approx(mb.total_mass_kg)
    knee = Joint("revolute", (0, 0, 1), lower=(-2.0,), upper=(0.1,))
    leg = Multibody(
        (
            Body("thigh", None, Joint("spherical"), mass_kg=1.0, inertia_com=np.eye(3)),
            Body("shank", "thigh", knee, mass_kg=1.0, inertia_com=np.eye(3)),
        )
    )
    q = random_configuration(leg, np.random.default_rng(0), frames=4000)
    np.testing.assert_allclose(np.linalg.norm(q[:, :4], axis=1), 1.0)
    assert -2.0 <= q[:, 4].min() < -1.9
    assert 0.0 < q[:, 4].max() <= 0.1
    # uniform rotations: the mean turned vector vanishes, 4 standard errors of 1/sqrt(3 T)
    assert np.abs(body_poses(leg, q)[0][:, 0].mean(axis=0)).max() < 4 / np.sqrt(3 * 4000)


def test_reference_momentum_rates():
    for name in MODELS:
        mb, ref = reference(name)
        found = momentum_rate(mb, ref["q"], ref["v"], ref["a"], "com")
        assert relative(found, ref["dhg"]) < EXACT
        assert relative(found[:, 3:] / mb.total_mass_kg, ref["acom"]) < EXACT
