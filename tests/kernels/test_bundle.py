"""Bundles: what a kernel reads from one is what its arrays hold now, whatever became of copies of it."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from biodyn.rigid_body import Body, Joint, Multibody
from biodyn.rigid_body.dynamics import inverse_dynamics

STILL = np.zeros((1, 1))


def hinge() -> Multibody:
    """A door whose hinge lies level: 1 kg, 1 m from the axis z, gravity along -y."""
    body = Body(
        "door",
        None,
        Joint("revolute", (0.0, 0.0, 1.0)),
        mass_kg=1.0,
        com_m=np.array([1.0, 0.0, 0.0]),
        inertia_com=np.eye(3),
    )
    return Multibody((body,), gravity_W=(0.0, -9.0, 0.0))


def moment(mb: Multibody) -> float:
    return float(inverse_dynamics(mb, STILL, STILL, STILL)[0, 0])


def with_tree(mb: Multibody, tree: object) -> Multibody:
    changed = copy.copy(mb)
    object.__setattr__(changed, "tree", tree)
    return changed


def test_changed_arrays_are_read_where_they_are() -> None:
    mb = hinge()
    assert moment(mb) == pytest.approx(9.0)
    lighter = with_tree(mb, mb.tree._replace(gravity_W=np.array([0.0, -2.0, 0.0])))
    assert moment(lighter) == pytest.approx(2.0)
    lighter.tree.gravity_W[1] = -4.0
    assert moment(lighter) == pytest.approx(4.0)
    assert moment(mb) == pytest.approx(9.0)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda tree: pickle.loads(pickle.dumps(tree))])
def test_copies_have_addresses_of_their_own(copied: object) -> None:
    mb = hinge()
    moment(mb)  # its addresses are known now
    tree = copied(mb.tree)  # type: ignore[operator]
    assert type(tree) is type(mb.tree)
    assert "_words" not in vars(tree)
    assert moment(with_tree(mb, tree)) == pytest.approx(9.0)


def test_only_whole_arrays_in_order_are_taken() -> None:
    mb = hinge()
    every_other = np.zeros((6, 3))[::2, 0]
    with pytest.raises(TypeError, match="gravity_W of Tree must be an aligned array in C order"):
        moment(with_tree(mb, mb.tree._replace(gravity_W=every_other)))
    with pytest.raises(TypeError, match="gravity_W of Tree must be an aligned array in C order"):
        moment(with_tree(mb, mb.tree._replace(gravity_W=[0.0, 0.0, 0.0])))  # type: ignore[arg-type]
