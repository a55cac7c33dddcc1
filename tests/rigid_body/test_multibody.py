"""What a Multibody refuses, and the order it puts things in."""

from __future__ import annotations

import numpy as np
import pytest

from biodyn.errors import ModelError
from biodyn.rigid_body import Body, Joint, Multibody, forward_dynamics, inverse_dynamics, mass_matrix
from biodyn.rigid_body.kinematics import joint_jacobians

HINGE = Joint("revolute", (0.0, 0.0, 1.0))
ROUND = np.diag([0.2, 0.2, 0.2])


def solid(name, parent=None, joint=HINGE, **other):
    return Body(name, parent, joint, **{"mass_kg": 1.0, "inertia_com": ROUND, **other})


def test_parents_come_first_and_order_is_kept():
    mb = Multibody((solid("hand", "arm"), solid("leg"), solid("arm"), solid("foot", "leg", Joint("free"))))
    assert mb.body_names == ("leg", "arm", "hand", "foot")
    assert list(mb.parents) == [-1, -1, 1, 0]
    assert (mb.nq, mb.nv) == (10, 9)
    assert mb.q_slice("foot") == slice(3, 10)
    assert mb.v_slice("foot") == slice(3, 9)
    np.testing.assert_array_equal(mb.neutral_q(), [0, 0, 0, 0, 0, 0, 1, 0, 0, 0])


@pytest.mark.parametrize(
    ("bodies", "offender"),
    [
        ((), "at least one"),
        ((solid("a"), solid("a")), "repeated: a"),
        ((solid("a", "ghost"),), "unknown parent 'ghost'"),
        ((solid("a", "b"), solid("b", "a"), solid("c")), "a, b form a cycle"),
    ],
)
def test_impossible_trees(bodies, offender):
    with pytest.raises(ModelError, match=offender):
        Multibody(bodies)


@pytest.mark.parametrize(
    ("wrong", "offender"),
    [
        ({"mass_kg": -1.0}, "mass of body 'shank'"),
        ({"mass_kg": np.nan}, "mass of body 'shank'"),
        ({"com_m": [0.0, np.inf, 0.0]}, "com_m of body 'shank'"),
        ({"com_m": [0.0, 1.0]}, "com_m of body 'shank' must have shape"),
        ({"inertia_com": np.diag([0.1, 0.1, 0.3])}, "'shank' violates the triangle inequality"),
        ({"inertia_com": np.diag([-0.1, 0.2, 0.2])}, "'shank' has a negative principal moment"),
        ({"inertia_com": ROUND + np.eye(3, k=1) * 0.1}, "'shank' is not symmetric"),
        ({"mass_kg": 0.0}, "'shank' has an inertia but no mass"),
        ({"R_PJ": -np.eye(3)}, "R_PJ of body 'shank'"),
        ({"R_PJ": 2 * np.eye(3)}, "R_PJ of body 'shank'"),
    ],
)
def test_impossible_bodies(wrong, offender):
    with pytest.raises(ModelError, match=offender):
        solid("shank", **wrong)


@pytest.mark.parametrize(
    ("make", "offender"),
    [
        (lambda: Joint("hinge"), "Unknown joint kind 'hinge'"),
        (lambda: Joint("revolute"), "needs an axis"),
        (lambda: Joint("revolute", (0, 0, 0)), "not all zero"),
        (lambda: Joint("weld", (1, 0, 0)), "needs no axis"),
    ],
)
def test_impossible_joints(make, offender):
    with pytest.raises(ModelError, match=offender):
        make()


def test_wrong_arrays_are_named():
    mb = Multibody((solid("a"), solid("b", "a")))
    q = np.zeros((4, 2))
    with pytest.raises(ModelError, match=r"v must have shape \(4, 2\), found \(3, 2\)"):
        inverse_dynamics(mb, q, q[:3], q)
    with pytest.raises(ModelError, match="tau contains infinite"):
        forward_dynamics(mb, q, q, q + np.inf)
    with pytest.raises(ModelError, match="v contains infinite"):
        inverse_dynamics(mb, q, np.array([[np.nan, 0.0], [np.inf, -np.inf], [0.0, 1.0], [0.0, 0.0]]), q)
    with pytest.raises(ModelError, match=r"wrench_bodies contains the indices \[2\]"):
        inverse_dynamics(mb, q, q, q, np.zeros((4, 1, 6)), [2])
    with pytest.raises(ModelError, match="wrenches must have shape"):
        inverse_dynamics(mb, q, q, q, np.zeros((4, 2, 6)), [1])
    with pytest.raises(ModelError, match="No body named 'c'"):
        mb.body_index("c")


def test_layout_and_dtype_do_not_matter():
    mb = Multibody((solid("a", com_m=[0.1, 0.2, 0.0]), solid("b", "a", p_PJ=[0.0, -0.4, 0.0])))
    q = np.arange(10, dtype=np.float32).reshape(5, 2)
    expected = inverse_dynamics(mb, q.astype(float), q.astype(float), q.astype(float))
    frozen = np.asfortranarray(q)
    frozen.setflags(write=False)
    np.testing.assert_array_equal(inverse_dynamics(mb, frozen, frozen, frozen.tolist()), expected)


def test_no_frames_and_numbers_beyond_the_square_root_of_the_largest():
    mb = Multibody((solid("a"), solid("b", "a")))
    none = np.zeros((0, 2))
    assert inverse_dynamics(mb, none, none, none).shape == (0, 2)
    assert mass_matrix(mb, none).shape == (0, 2, 2)
    assert joint_jacobians(mb, none).shape == (0, 6, 2)
    still = np.zeros((1, 2))
    assert np.isfinite(inverse_dynamics(mb, still, still, still + 1e200)).all()


def test_weight_at_rest():
    """A hanging pendulum needs no torque, a horizontal one m g l."""
    mb = Multibody((solid("rod", com_m=[0.0, -0.5, 0.0], mass_kg=2.0),), gravity_W=(0.0, -9.81, 0.0))
    still = np.zeros((2, 1))
    tau = inverse_dynamics(mb, [[0.0], [np.pi / 2]], still, still)
    np.testing.assert_allclose(tau[:, 0], [0.0, 2.0 * 9.81 * 0.5], atol=1e-14)
    np.testing.assert_allclose(mass_matrix(mb, [[0.3]]), [[[0.2 + 2.0 * 0.25]]], rtol=1e-14)
