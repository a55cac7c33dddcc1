"""Motions in time: conserved quantities, orders of convergence, and textbook systems with known equations."""

from __future__ import annotations

import numpy as np
import pytest
from support.forward_simulation import simulate
from support.trees import random_state, random_tree, relative

from biodyn.rigid_body import (
    Body,
    Joint,
    Multibody,
    coordinate_rates,
    energies,
    forward_dynamics,
    integrate,
    inverse_dynamics,
    momentum,
)

STILL = (0.0, 0.0, 0.0)


def floating(seed, count=5):
    """Return a tree that floats without gravity, its state slow enough for steps of 1 ms."""
    given = random_tree(seed, count, kinds=("revolute", "spherical"))
    mb = Multibody(given.bodies, gravity_W=STILL)
    q, v, _ = random_state(mb, seed, frames=1)
    return mb, q[0], 0.3 * v[0]


@pytest.mark.slow
def test_free_floating_momentum_is_conserved_over_ten_seconds():
    mb, q0, v0 = floating(3)
    q, v = simulate(mb, q0, v0, np.linspace(0.0, 10.0, 10001))
    held = momentum(mb, q, v)
    kinetic, _ = energies(mb, q, v)
    # fourth order with h = 1 ms: (h omega)^4 ~ 1e-11 a second; the tree's fastest turns are some rad/s
    assert np.abs(held - held[0]).max() < 1e-8 * np.abs(held).max()
    assert np.abs(kinetic - kinetic[0]).max() < 1e-8 * kinetic[0]


@pytest.mark.slow
def test_runge_kutta_is_of_fourth_order():
    mb, q0, v0 = floating(4)
    ends = [simulate(mb, q0, v0, np.linspace(0.0, 0.4, n + 1)) for n in (20, 40, 640)]
    errors = [np.abs(v[-1] - ends[-1][1][-1]).max() for _, v in ends[:2]]
    assert 3.5 < np.log2(errors[0] / errors[1]) < 4.6


def test_coordinate_rates_match_small_steps():
    mb = random_tree(6, 8)
    q, v, _ = random_state(mb, 6)
    h = 1e-6
    later, before = integrate(mb, q, h * v), integrate(mb, q, -h * v)
    # central difference: h^2 and rounding / h
    assert np.abs((later - before) / (2 * h) - coordinate_rates(mb, q, v)).max() < 1e-8


def test_double_pendulum_against_lagrange():
    """Two point masses on massless rods; M and C from the kinetic energy, by hand (Goldstein, Classical Mechanics)."""
    m1, m2, l1, l2, g = 1.3, 0.7, 0.9, 0.6, 9.81
    point = np.zeros((3, 3))
    z = Joint("revolute", (0.0, 0.0, 1.0))
    upper = Body("upper", None, z, mass_kg=m1, com_m=[0, -l1, 0], inertia_com=point)
    lower = Body("lower", "upper", z, p_PJ=[0, -l1, 0], mass_kg=m2, com_m=[0, -l2, 0], inertia_com=point)
    mb = Multibody((upper, lower), gravity_W=(0.0, -g, 0.0))
    rng = np.random.default_rng(0)
    q, v, vdot = (rng.normal(size=(50, 2)) for _ in range(3))
    a, b = q[:, 0], q[:, 1]
    m12 = m2 * l1 * l2 * np.cos(b)
    M = np.empty((50, 2, 2))
    M[:, 0, 0] = m1 * l1**2 + m2 * (l1**2 + l2**2) + 2 * m12
    M[:, 0, 1] = M[:, 1, 0] = m2 * l2**2 + m12
    M[:, 1, 1] = m2 * l2**2
    h = m2 * l1 * l2 * np.sin(b)
    C = np.stack([-h * (2 * v[:, 0] + v[:, 1]) * v[:, 1], h * v[:, 0] ** 2], axis=1)
    weight = np.stack(
        [(m1 + m2) * g * l1 * np.sin(a) + m2 * g * l2 * np.sin(a + b), m2 * g * l2 * np.sin(a + b)], axis=1
    )
    expected = np.einsum("tij,tj->ti", M, vdot) + C + weight
    assert relative(inverse_dynamics(mb, q, v, vdot), expected) < 1e-12
    assert relative(forward_dynamics(mb, q, v, expected), vdot) < 1e-10
