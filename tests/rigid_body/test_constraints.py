"""Closed loops and contacts: analytic linkages, drift, redundancy, force sharing."""

from __future__ import annotations

import numpy as np
import pytest
from support.trees import random_state, random_tree, relative

from biodyn.rigid_body import Body, Joint, Multibody, body_poses, energies, inverse_dynamics, simulate
from biodyn.rigid_body.constraints import (
    Constraint,
    constrained_dynamics,
    constrained_inverse_dynamics,
    constraint_state,
    point_contact,
)
from biodyn.rigid_body.motion import integrate

Z = Joint("revolute", (0.0, 0.0, 1.0))
# hinge of the loop about z: free to turn about z, everything else held
HINGE = (True, True, False, True, True, True)


def bar(name, parent, length, at):
    """Return a uniform bar along x from its hinge."""
    inertia = np.diag([1e-4, length**2 / 12, length**2 / 12])
    return Body(name, parent, Z, p_PJ=[at, 0.0, 0.0], mass_kg=1.0, com_m=[length / 2, 0, 0], inertia_com=inertia)


def four_bar():
    """Return a parallelogram of cranks of 0.5 m, 1 m apart: the coupler only translates."""
    mb = Multibody((bar("crank", None, 0.5, 0.0), bar("coupler", "crank", 1.0, 0.5), bar("rocker", None, 0.5, 1.0)))
    loop = Constraint("coupler", "rocker", point=np.array([1.0, 0, 0]), place=np.array([0.5, 0, 0]), fixed=HINGE)
    return mb, loop


def parallelogram(angle):
    angle = np.atleast_1d(angle)
    return np.stack([angle, -angle, angle], axis=1)


def test_four_bar_against_its_one_equation():
    """One degree of freedom: 2 (J_crank) + m r^2 of the translating coupler; gravity on all (virtual work)."""
    mb, loop = four_bar()
    angle, rate = np.linspace(0.2, 2.9, 20), np.linspace(-3, 4, 20)
    q, v = parallelogram(angle), parallelogram(rate)
    vdot, _ = constrained_dynamics(mb, [loop], q, v, np.zeros((20, 3)))
    r, g = 0.5, 9.80665
    inertia = 2 * (r**2 / 3) + r**2
    expected = -(2 * g * (r / 2) + g * r) * np.cos(angle) / inertia
    # the bars' tiny inertia about x plays no part; pinv of a redundant loop loses some digits
    assert relative(vdot, parallelogram(expected)) < 1e-9


def test_constraint_rates_are_derivatives_of_errors():
    mb = random_tree(21, 7, kinds=("revolute", "spherical", "universal"))
    q, v, vdot = random_state(mb, 21, frames=3)
    R_WB, p_WB = body_poses(mb, q[:1])
    held = Constraint(
        "b6",
        "b3",
        point=np.array([0.1, 0.2, -0.1]),
        place=R_WB[0, 3].T @ (p_WB[0, 6] + R_WB[0, 6] @ [0.1, 0.2, -0.1] - p_WB[0, 3]),
        R_AK=R_WB[0, 3].T @ R_WB[0, 6],
    )
    found = constraint_state(mb, [held], q[:1], v[:1])
    assert np.abs(found.error).max() < 1e-12
    h = 1e-4

    def at(t):
        later, rates = integrate(mb, q[:1], t * (v[:1] + 0.5 * t * vdot[:1])), v[:1] + t * vdot[:1]
        return constraint_state(mb, [held], later, rates)

    # central differences: h^2 times third derivatives of some 1e3
    slope = (at(h).error - at(-h).error) / (2 * h)
    assert relative(slope, found.rate) < 1e-4
    expected = found.K[0] @ vdot[0] + found.k[0]
    slope = (at(h).rate - at(-h).rate) / (2 * h)
    assert relative(slope[0], expected) < 1e-4


@pytest.mark.slow
def test_drift_decays_and_energy_stays():
    mb, loop = four_bar()
    # not quite closed; swings below the line of its hinges, where the bars are never in line
    start = parallelogram(-0.5)[0] + [0.0, 0.01, 0.0]
    times = np.arange(0.0, 1.5, 0.002)

    def forces(_, q, v):
        _, pull = constrained_dynamics(mb, [loop], q, v, np.zeros_like(v))
        return np.einsum("tcj,tc->tj", constraint_state(mb, [loop], q, v).K, pull)

    q, v = simulate(mb, start, np.zeros(3), times, forces=forces)
    error = np.abs(constraint_state(mb, [loop], q, v).error).max(axis=1)
    assert error[0] > 5e-3
    assert error[-1] < 1e-4 * error[0]  # 1.5 s are 15 stabilisation times, exp(-15) (1 + 15) = 5e-6
    total = np.sum(energies(mb, q[-300:], v[-300:]), axis=0)
    assert np.ptp(total) < 1e-3 * np.abs(total).max()


def test_standing_on_two_points_shares_the_weight():
    trunk = Body("trunk", None, Joint("free"), mass_kg=10.0, com_m=[0.1, 0.5, 0], inertia_com=np.eye(3))
    mb = Multibody((trunk,), gravity_W=(0.0, -10.0, 0.0))
    q, still = mb.neutral()[None], np.zeros((1, 6))
    corners = [[-0.3, 0, -0.2], [0.3, 0, -0.2], [0.3, 0, 0.2], [-0.3, 0, 0.2]]
    contacts = [point_contact("trunk", corner, corner) for corner in corners]
    tau, pull, missing = constrained_inverse_dynamics(mb, contacts, q, still, still, np.ones(6, dtype=bool))
    assert np.abs(missing).max() < 1e-10
    assert not tau.any()
    up = pull.reshape(4, 3)[:, 1]
    assert up.sum() == pytest.approx(100.0)
    assert up @ np.array(corners)[:, 0] == pytest.approx(100.0 * 0.1)
    # minimum norm: symmetric front to back
    assert up[0] == pytest.approx(up[3])
    # a foot that counts a hundred times more carries less
    heavy = np.ones(12)
    heavy[3:6] = 100.0
    _, shifted, missing = constrained_inverse_dynamics(mb, contacts, q, still, still, np.ones(6, dtype=bool), heavy)
    assert np.abs(missing).max() < 1e-9
    assert abs(shifted[0, 4]) < up[1]
    # the constrained forward dynamics of the same redundant contacts stands still
    vdot, again = constrained_dynamics(mb, contacts, q, still, still)
    assert np.abs(vdot).max() < 1e-10
    assert again.reshape(4, 3)[:, 1].sum() == pytest.approx(100.0)


def test_inverse_undoes_forward():
    mb = random_tree(31, 6, kinds=("revolute", "spherical"))
    q, v, _ = random_state(mb, 31, frames=2)
    idle = np.zeros(mb.nv, dtype=bool)
    idle[:6] = True
    R_WB, p_WB = body_poses(mb, q[:1])
    hold = [Constraint("b5", None, place=p_WB[0, 5], R_AK=R_WB[0, 5])]
    tau = np.where(idle, 0.0, np.random.default_rng(1).normal(size=(1, mb.nv)))
    vdot, pull = constrained_dynamics(mb, hold, q[:1], v[:1], tau)
    found, again, missing = constrained_inverse_dynamics(mb, hold, q[:1], v[:1], vdot, idle)
    assert np.abs(missing).max() < 1e-7
    assert relative(again, pull) < 1e-7
    assert relative(found, tau) < 1e-7
    assert inverse_dynamics(mb, q[:1], v[:1], vdot).shape == (1, mb.nv)
