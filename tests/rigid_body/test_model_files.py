"""Models written for other programs mean the same there."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from simulator.person import measures, template_points
from support.trees import random_state, random_tree, relative

from biodyn.errors import ModelError
from biodyn.model.from_library.markersets import recognise_marker_set
from biodyn.model.from_library.scaling import ScalingOptions, SubjectScaling
from biodyn.model.from_library.skeleton_recipes import load_skeleton
from biodyn.rigid_body import Body, Joint, Multibody, from_urdf, inverse_dynamics, mass_matrix, to_mjcf, to_urdf

IN_URDF = ("weld", "revolute", "prismatic")
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
        joint = model.getJointId(f"{body.name}_joint")
        iq, iv = model.idx_qs[joint], model.idx_vs[joint]
        angle = q[0, at_q.start]
        if model.nqs[joint] == 2:
            there_q[iq : iq + 2] = np.cos(angle), np.sin(angle)
        else:
            there_q[iq] = angle
        there_v[iv], there_a[iv] = v[0, at_v.start], vdot[0, at_v.start]
        expected[iv] = tau[at_v.start]
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


def own_skeleton(marker_set):
    """The skeleton of a person of 1.75 m and 70 kg: a free pelvis, joints of two and three axes with massless links."""
    points = template_points(1.75, marker_set)
    options = ScalingOptions(70.0, 1.75, "mean", measures(1.75), "dumas_2007", "harrington_2007", 0.007, True)
    skeleton = load_skeleton("full_body")
    return (
        SubjectScaling(skeleton, recognise_marker_set(tuple(points)), points, frozenset(points), options)
        .model()[0]
        .multibody
    )


@pytest.mark.parametrize("marker_set", ["plug_in_gait_full", "plug_in_gait_lower"])
def test_own_skeleton_in_mujoco(marker_set):
    """Mass matrix and inverse dynamics agree to round-off of sums of some hundred products (measured 1e-13)."""
    mujoco = pytest.importorskip("mujoco", reason="MuJoCo is not installed")
    mb = own_skeleton(marker_set)
    assert any(body.mass_kg == 0.0 for body in mb.bodies)
    model = mujoco.MjModel.from_xml_string(to_mjcf(mb))
    assert (model.nq, model.nv) == (mb.nq, mb.nv)
    assert sum(model.body_mass) == pytest.approx(mb.total_mass_kg, rel=1e-12)
    data = mujoco.MjData(model)
    q, v, vdot = random_state(mb, 5, frames=4)
    tau, M = inverse_dynamics(mb, q, v, vdot), mass_matrix(mb, q)
    order_q, order_v = by_name(mb, model)
    for t in range(len(q)):
        turn = free_joint_axes(mb, q[t])
        data.qpos[order_q] = q[t]
        data.qvel[order_v] = turn @ v[t]
        spin, speed = v[t, :3], v[t, 3:6]
        moved = vdot[t].copy()
        moved[3:6] += np.cross(spin, speed)
        data.qacc[order_v] = turn @ moved
        mujoco.mj_inverse(model, data)
        assert relative(data.qfrc_inverse[order_v], turn @ tau[t]) < EXACT
        full = np.zeros((model.nv, model.nv))
        for column, unit in zip(full, np.eye(model.nv), strict=True):
            mujoco.mj_mulM(model, data, column, unit)
        assert relative(full[np.ix_(order_v, order_v)], turn @ M[t] @ turn.T) < EXACT


def by_name(mb, model):
    """Where each of our coordinates stands in MuJoCo's qpos and qvel, joint by joint."""
    order_q, order_v = [], []
    for body in mb.bodies:
        if body.joint.nv:
            joint = model.joint(body.name)
            order_q += range(joint.qposadr[0], joint.qposadr[0] + body.joint.nq)
            order_v += range(joint.dofadr[0], joint.dofadr[0] + body.joint.nv)
    return order_q, order_v


def free_joint_axes(mb, q):
    """The matrix that takes our base velocity [omega_B; v_B] to MuJoCo's [v_W; omega_B], forces likewise."""
    R_WB = Rotation.from_quat(q[[4, 5, 6, 3]]).as_matrix()
    turn = np.eye(mb.nv)
    turn[:6, :6] = 0.0
    turn[:3, 3:6] = R_WB
    turn[3:6, :3] = np.eye(3)
    return turn


def test_massless_links_are_joints_of_the_body_they_carry():
    bar = {"mass_kg": 1.0, "inertia_com": np.eye(3)}
    mb = Multibody(
        (
            Body("base", None, Joint("revolute", (0, 0, 1)), **bar),
            Body("link", "base", Joint("revolute", (1, 0, 0)), p_PJ=np.array([0.0, 0.5, 0.0])),
            Body("arm", "link", Joint("revolute", (0, 1, 0)), p_PJ=np.array([0.1, 0.0, 0.0]), **bar),
        )
    )
    root = ElementTree.fromstring(to_mjcf(mb))
    assert [body.get("name") for body in root.iter("body")] == ["base", "arm"]
    arm = root.find(".//body[@name='arm']")
    assert arm.get("pos") == "0.1 0.5 0.0"
    link, own = arm.findall("joint")
    assert (link.get("name"), own.get("name")) == ("link", "arm")
    assert np.array(link.get("pos").split(), float) == pytest.approx([-0.1, 0.0, 0.0])


@pytest.mark.parametrize("carried", [0, 2])
def test_a_massless_end_or_fork_is_refused_by_name(carried):
    bodies = [Body("fork", None, Joint("revolute", (0, 0, 1)))]
    bodies += [
        Body(f"tine{i}", "fork", Joint("revolute", (0, 0, 1)), mass_kg=1.0, inertia_com=np.eye(3))
        for i in range(carried)
    ]
    with pytest.raises(ModelError, match=f"'fork' has none, and carries {carried} bodies"):
        to_mjcf(Multibody(tuple(bodies)))


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
    with pytest.raises(ModelError, match=r"spherical joints \(joint of body 'hip'\)"):
        to_urdf(ball)
    solid = {"mass_kg": 1.0, "inertia_com": np.eye(3)}
    apart = Multibody((Body("hip", None, Joint("weld"), **solid), Body("nut", "hip", Joint("free"), **solid)))
    with pytest.raises(ModelError, match=r"free joints away from the world \(joint of body 'nut'\)"):
        to_mjcf(apart)


@pytest.mark.parametrize(
    ("text", "offender"),
    [
        ("<robot", "cannot be read"),
        ("no/such/file.urdf", "cannot be read"),
        ("<robot><link name='a'><inertial><mass value='1'/></inertial></link></robot>", "link 'a' needs"),
        (
            "<robot><link name='a'/><joint name='j' type='magic'><parent link='world'/><child link='a'/></joint></robot>",
            "'j' has the unsupported type",
        ),
        ("<robot><link name='a'><inertial><mass value='x'/><inertia/></inertial></link></robot>", "instead of numbers"),
        (
            "<robot><link name='a'><inertial><mass value='1'/><inertia ixx='-1e308'/></inertial></link></robot>",
            "at most",
        ),
        ("<robot><link name='a'><inertial><mass value='inf'/><inertia/></inertial></link></robot>", "at most"),
        ("<robot><link name='a'><inertial><mass value='1\t2'/><inertia/></inertial></link></robot>", "found '1 2'"),
        ("[" * 5000, "cannot be read"),
    ],
)
def test_damaged_urdf_is_named(text, offender):
    with pytest.raises(ModelError, match=offender) as refused:
        from_urdf(text)
    assert len(str(refused.value)) < 300
    assert str(refused.value).isprintable()


def test_entities_in_a_urdf_are_refused():
    bomb = '<!DOCTYPE r [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;">]><robot><link name="&b;"/></robot>'
    with pytest.raises(ModelError, match="cannot be read"):
        from_urdf(bomb)
