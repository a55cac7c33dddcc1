"""Every algorithm against the vectors of independent engines, to 1e-10 of the largest number (sums of up to 43 terms
of double precision differ by some 1e-13)."""

from __future__ import annotations

import numpy as np
import pytest
from support.reference_vectors import MODELS, reference
from support.trees import relative

from biodyn.rigid_body import (
    bias_forces,
    body_accelerations,
    body_poses,
    body_velocities,
    centre_of_mass,
    energies,
    forward_dynamics,
    inverse_dynamics,
    mass_matrix,
    momentum,
)

pytestmark = pytest.mark.parametrize("name", MODELS)
EXACT = 1e-10


def test_inverse_dynamics(name):
    mb, ref = reference(name)
    assert relative(inverse_dynamics(mb, ref["q"], ref["v"], ref["a"]), ref["tau"]) < EXACT
    loaded = inverse_dynamics(mb, ref["q"], ref["v"], ref["a"], ref["wrenches"], ref["ext_link_index"])
    assert relative(loaded, ref["tau_ext"]) < EXACT


def test_bias_and_gravity(name):
    mb, ref = reference(name)
    still = np.zeros_like(ref["v"])
    assert relative(bias_forces(mb, ref["q"], ref["v"]), ref["tau_bias"]) < EXACT
    assert relative(bias_forces(mb, ref["q"], still), ref["tau_gravity"]) < EXACT


def test_forward_dynamics(name):
    mb, ref = reference(name)
    assert relative(forward_dynamics(mb, ref["q"], ref["v"], ref["tau"]), ref["qdd_aba"]) < EXACT
    loaded = forward_dynamics(mb, ref["q"], ref["v"], ref["tau_ext"], ref["wrenches"], ref["ext_link_index"])
    assert relative(loaded, ref["qdd_aba_ext"]) < EXACT


def test_mass_matrix(name):
    mb, ref = reference(name)
    assert relative(mass_matrix(mb, ref["q"]), ref["M"]) < EXACT


def test_bodies(name):
    mb, ref = reference(name)
    R_WB, p_WB = body_poses(mb, ref["q"])
    assert relative(R_WB, ref["R_body"]) < EXACT
    assert relative(p_WB, ref["p_body"]) < EXACT
    velocity = body_velocities(mb, ref["q"], ref["v"])
    acceleration = body_accelerations(mb, ref["q"], ref["v"], ref["a"])
    assert relative(velocity, ref["v_body_local"]) < EXACT
    assert relative(acceleration, ref["a_body_local"]) < EXACT
    # classical acceleration of the origin: linear part + omega x v (Featherstone 2008, eq. 2.46)
    classical = acceleration[..., 3:] + np.cross(velocity[..., :3], velocity[..., 3:])
    classical = np.einsum("tbij,tbj->tbi", R_WB, classical)
    assert relative(classical, ref["a_body_world_classical"][..., 3:]) < EXACT


def test_whole_body(name):
    mb, ref = reference(name)
    assert relative(centre_of_mass(mb, ref["q"]), ref["com"]) < EXACT
    total = momentum(mb, ref["q"], ref["v"], "com")
    assert relative(total, ref["hg"]) < EXACT
    assert relative(total[:, 3:] / mb.total_mass_kg, ref["vcom"]) < EXACT
    kinetic, potential = energies(mb, ref["q"], ref["v"])
    assert relative(kinetic, ref["kinetic_energy"]) < EXACT
    assert relative(potential, ref["potential_energy"]) < EXACT
