"""Models written for other programs mean the same there."""

from __future__ import annotations

import numpy as np
import pytest
from trees import InPinocchio, random_state, random_tree, relative

from biodyn.errors import ModelError
from biodyn.rigid_body import Body, Joint, Multibody, from_urdf, inverse_dynamics, to_mjcf, to_urdf

IN_URDF = ("weld", "revolute", "prismatic", "cylindrical", "universal", "planar", "cardan")
IN_MJCF = (*IN_URDF, "spherical")
EXACT = 1e-10


@pytest.mark.parametrize("seed", range(6))
def test_urdf_there_and_back(seed):
    mb = random_tree(seed, 8, kinds=IN_URDF)
    q, v, vdot = random_state(mb, seed)
    again = from_urdf(to_urdf(mb), gravity_W=mb.gravity_W)
    assert again.nv == mb.nv
    assert relative(inverse_dynamics(again, q, v, vdot), inverse_dynamics(mb, q, v, vdot)) < EXACT


@pytest.mark.parametrize("seed", range(6))
def test_urdf_in_pinocchio(seed):
    pin = pytest.importorskip("pinocchio")
    mb = random_tree(seed, 8, kinds=tuple(kind for kind in IN_URDF if kind != "weld"), root="revolute")
    q, v, vdot = random_state(mb, seed, frames=1)
    model = pin.buildModelFromXML(to_urdf(mb))
    model.gravity = pin.Motion(np.array(mb.gravity_W), np.zeros(3))
    tau = inverse_dynamics(mb, q, v, vdot)[0]
    # a continuous joint is (cos, sin) there; the order of joints is Pinocchio's own: by name
    there_q, there_v, there_a, expected = np.zeros(model.nq), np.zeros(model.nv), np.zeros(model.nv), np.zeros(model.nv)
    for body in mb.bodies:
        at_v, at_q = mb.v_slice(body.name), mb.q_slice(body.name)
        for k in range(body.joint.nv):
            name = body.name if k == body.joint.nv - 1 else f"{body.name}_axis{k + 1}"
            joint = model.getJointId(f"{name}_joint")
            iq, iv = model.idx_qs[joint], model.idx_vs[joint]
            angle = q[0, at_q.start + k]
            if model.nqs[joint] == 2:
                there_q[iq : iq + 2] = np.cos(angle), np.sin(angle)
            else:
                there_q[iq] = angle
            there_v[iv], there_a[iv] = v[0, at_v.start + k], vdot[0, at_v.start + k]
            expected[iv] = tau[at_v.start + k]
    assert relative(pin.rnea(model, model.createData(), there_q, there_v, there_a), expected) < EXACT


@pytest.mark.parametrize("seed", range(4))
def test_mjcf_in_mujoco(seed):
    mujoco = pytest.importorskip("mujoco", reason="MuJoCo is not installed")
    mb = random_tree(seed, 8, kinds=IN_MJCF, root="revolute")
    q, v, vdot = random_state(mb, seed, frames=1)
    model = mujoco.MjModel.from_xml_string(to_mjcf(mb))
    data = mujoco.MjData(model)
    # MuJoCo's order is depth first, as Pinocchio's here; quaternions are scalar first, as ours
    order = InPinocchioOrder(mb)
    data.qpos[:], data.qvel[:], data.qacc[:] = q[0, order.q], v[0, order.v], vdot[0, order.v]
    mujoco.mj_inverse(model, data)
    assert relative(data.qfrc_inverse, inverse_dynamics(mb, q, v, vdot)[0, order.v]) < EXACT


class InPinocchioOrder:
    """Coordinates body by body, whole branches one after the other."""

    def __init__(self, mb):
        self.q, self.v = [], []
        waiting = list(np.flatnonzero(mb.parents < 0)[::-1])
        while waiting:
            b = int(waiting.pop())
            waiting += list(np.flatnonzero(mb.parents == b)[::-1])
            name = mb.bodies[b].name
            self.q += range(mb.q_slice(name).start, mb.q_slice(name).stop)
            self.v += range(mb.v_slice(name).start, mb.v_slice(name).stop)


def test_what_a_format_cannot_say_is_refused():
    ball = Multibody((Body("hip", None, Joint("spherical"), mass_kg=1.0, inertia_com=np.eye(3)),))
    with pytest.raises(ModelError, match="no spherical joint, which carries body 'hip'"):
        to_urdf(ball)
    screw = Multibody((Body("nut", None, Joint("helical", (0, 0, 1), pitch=0.1), mass_kg=1.0, inertia_com=np.eye(3)),))
    with pytest.raises(ModelError, match="no helical joint, which carries body 'nut'"):
        to_mjcf(screw)


@pytest.mark.parametrize(
    ("text", "offender"),
    [
        ("<robot", "cannot be read"),
        ("no/such/file.urdf", "cannot be read"),
        ("<robot><link name='a'><inertial><mass value='1'/></inertial></link></robot>", "link 'a' needs"),
        (
            "<robot><link name='a'/><joint name='j' type='magic'><parent link='world'/><child link='a'/></joint></robot>",
            "'j' is of",
        ),
        ("<robot><link name='a'><inertial><mass value='x'/><inertia/></inertial></link></robot>", "not numbers"),
    ],
)
def test_damaged_urdf_is_named(text, offender):
    with pytest.raises(ModelError, match=offender):
        from_urdf(text)


def test_entities_in_a_urdf_are_refused():
    bomb = '<!DOCTYPE r [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;">]><robot><link name="&b;"/></robot>'
    with pytest.raises(ModelError, match="cannot be read"):
        from_urdf(bomb)


def test_limits_survive():
    knee = Joint("revolute", (0, 0, 1), lower=(-2.0,), upper=(0.1,))
    mb = Multibody((Body("shank", None, knee, mass_kg=1.0, inertia_com=np.eye(3)),))
    again = from_urdf(to_urdf(mb))
    assert (again.lower[0], again.upper[0]) == (-2.0, 0.1)
    assert 'range="-2.0 0.1"' in to_mjcf(mb)
    assert InPinocchio(mb).model.nv == 1
