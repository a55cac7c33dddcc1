"""Regressor, Jacobians and derivatives against the algorithms they are derived from."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from support.reference_vectors import MODELS, reference
from support.trees import random_state, random_tree, relative
from test_identities import central, seeds, trees, wrenches_for

from biodyn.rigid_body import (
    bias_forces,
    body_poses,
    energies,
    inertial_parameters,
    integrate,
    inverse_dynamics,
    inverse_dynamics_derivatives,
    jacobian,
    mass_matrix,
    regressor,
)

EXACT = 1e-10
DIFFERENCES = 1e-6  # Richardson's differences with h = 1e-3: h^4 times fifth derivatives, and rounding / h


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
def test_point_jacobian(mb, seed):
    q, v, _ = random_state(mb, seed, frames=3)
    b = seed % len(mb.bodies)
    point = np.array([0.3, -0.2, 0.1])

    def place(h):
        R_WB, p_WB = body_poses(mb, integrate(mb, q, h * v))
        return p_WB[:, b] + R_WB[:, b] @ point

    J = jacobian(mb, q, b, point)
    velocity = np.einsum("tij,tj->ti", J[:, 3:], v)
    assert np.abs(central(place, 1e-3) - velocity).max() < DIFFERENCES * (1 + np.abs(velocity).max())


def test_reference_jacobians():
    for name in MODELS:
        mb, ref = reference(name)
        q = ref["q"][:20]
        for b in range(len(mb.bodies)):
            assert relative(jacobian(mb, q, b), ref["J_world"][:, b]) < EXACT


@settings(max_examples=20, deadline=None)
@given(seeds)
def test_equations_of_lagrange(seed):
    """M(q) qdd + C = Q with C = dM/dt qd - 1/2 d(qd M qd)/dq + dV/dq, from the energies alone."""
    mb = random_tree(seed, 8, kinds=("revolute", "prismatic"), root="prismatic")
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
