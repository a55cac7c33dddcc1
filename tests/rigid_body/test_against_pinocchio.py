"""The same random trees of random joint kinds in Pinocchio, live."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.trees import KINDS, InPinocchio, random_state, random_tree, relative

from biodyn.rigid_body import (
    body_poses,
    difference,
    forward_dynamics,
    integrate,
    inverse_dynamics,
    mass_matrix,
)

pin = pytest.importorskip("pinocchio")
MOVING = tuple(kind for kind in KINDS if kind != "weld")
trees = st.builds(
    random_tree,
    seed=st.integers(0, 2**32 - 1),
    count=st.integers(1, 12),
    kinds=st.just(MOVING),
    root=st.sampled_from(["free", "revolute", "spherical"]),
)
seeds = st.integers(0, 2**32 - 1)
EXACT = 1e-10  # both sides round sums of some hundred products: about 1e-13 apart


@settings(max_examples=25, deadline=None)
@given(trees, seeds)
def test_dynamics(mb, seed):
    q, v, vdot = random_state(mb, seed, frames=3)
    other = InPinocchio(mb)
    order, q_pin = other.order(), other.q(q)
    rng = np.random.default_rng([seed, 3])
    b = int(rng.integers(len(mb.bodies)))
    loads = rng.normal(scale=30.0, size=(3, 1, 6))
    tau, M = inverse_dynamics(mb, q, v, vdot, loads, [b]), mass_matrix(mb, q)
    again = forward_dynamics(mb, q, v, tau, loads, [b])
    R_WB, p_WB = body_poses(mb, q)
    for t in range(3):
        forces = pin.StdVec_Force()
        forces.extend([pin.Force.Zero()] * other.model.njoints)
        pin.forwardKinematics(other.model, other.data, q_pin[t])
        joint = other.joint_of_body[b]
        wrench_W = pin.Force(loads[t, 0, 3:], loads[t, 0, :3])
        forces[joint] = other.data.oMi[joint].actInv(wrench_W)
        expected = pin.rnea(other.model, other.data, q_pin[t], v[t, order], vdot[t, order], forces)
        assert relative(tau[t, order], expected) < EXACT
        upper = np.triu(pin.crba(other.model, other.data, q_pin[t]))
        expected_M = upper + np.triu(upper, 1).T
        assert relative(M[t][np.ix_(order, order)], expected_M) < EXACT
        # through the inverse of the mass matrix: compared as forces
        assert relative(M[t] @ again[t], M[t] @ vdot[t]) < 1e-8
        origins = np.array([other.data.oMi[j].translation for j in other.joint_of_body])
        axes = np.array([other.data.oMi[j].rotation for j in other.joint_of_body])
        assert relative(p_WB[t], origins) < EXACT
        assert relative(R_WB[t], axes) < EXACT


@settings(max_examples=25, deadline=None)
@given(trees, seeds)
def test_manifold(mb, seed):
    q, v, _ = random_state(mb, seed, frames=2)
    other = InPinocchio(mb)
    order, q_pin = other.order(), other.q(q)
    moved = other.q(integrate(mb, q, v))
    apart = difference(mb, q[:1], q[1:])
    # quaternions q and -q are the same turn: compare the steps that lead there
    for t in range(2):
        expected = pin.integrate(other.model, q_pin[t], v[t, order])
        assert np.abs(pin.difference(other.model, moved[t], expected)).max() < EXACT
    assert relative(apart[0, order], pin.difference(other.model, q_pin[0], q_pin[1])) < EXACT
