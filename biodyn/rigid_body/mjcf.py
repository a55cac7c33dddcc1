"""Multibody models written as MJCF, MuJoCo's model format (https://mujoco.readthedocs.io/en/stable/XMLreference.html)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from xml.etree import ElementTree as ET

import numpy as np
from scipy.spatial.transform import Rotation

from biodyn.conventions import FloatArray
from biodyn.errors import ModelError
from biodyn.rigid_body.joint import Body, Joint
from biodyn.rigid_body.multibody import Multibody


def _text(values: FloatArray) -> str:
    return " ".join(repr(float(x)) for x in values)


def _joints(joint: Joint, name: str, root: bool) -> list[dict[str, str]]:
    """Return the attributes of the MJCF joints, in the order MuJoCo applies them: from the parent outwards."""
    if joint.kind == "weld":
        return []
    if joint.kind == "free" and root:
        return [{"type": "free", "name": name}]
    if joint.kind == "spherical":
        return [{"type": "ball", "name": name}]
    if joint.kind == "cylindrical":
        parts = [("hinge", joint.axes[0]), ("slide", joint.axes[0])]
    elif joint.kind == "planar":
        x, y, z = np.cross(joint.axes[0], joint.axes[1])
        parts = [("slide", joint.axes[0]), ("slide", joint.axes[1]), ("hinge", (x, y, z))]
    elif joint.kind == "prismatic":
        parts = [("slide", joint.axes[0])]
    elif joint.kind in ("revolute", "universal", "cardan"):
        parts = [("hinge", axis) for axis in joint.axes]
    else:
        where = " away from the world" if joint.kind == "free" else ""
        raise ModelError(f"MJCF has no {joint.kind} joint{where}, which carries body '{name}'.")
    result = []
    for k, (kind, axis) in enumerate(parts):
        made = {"type": kind, "name": name if len(parts) == 1 else f"{name}_{k + 1}", "axis": _text(np.array(axis))}
        if joint.lower and joint.upper and np.isfinite([joint.lower[k], joint.upper[k]]).all():
            made["range"] = _text(np.array([joint.lower[k], joint.upper[k]]))
        result.append(made)
    return result


@dataclass(frozen=True)
class _Segment:
    """One MJCF body: a body of the tree with the massless links before it, whose joints it takes over.

    Attributes:
        body: the body; parent: the nearest body before it that is written.
        R, p: pose of its joint frame in the parent's at q = 0. joints: attributes, from the parent outwards.
    """

    body: Body
    parent: str | None
    R: FloatArray
    p: FloatArray
    joints: list[dict[str, str]]


def _segments(mb: Multibody) -> Iterator[_Segment]:
    """Bodies in topological order, massless moving links folded into the one body each carries.

    MuJoCo wants mass on everything that moves by itself, and turns a body about several axes instead. It takes axes and
    anchors in that body's own frame at q = 0.
    """
    folded: dict[str, _Segment] = {}
    children = Counter(body.parent for body in mb.bodies)
    for body in mb.bodies:
        joints = _joints(body.joint, body.name, body.parent is None)
        parent, R, p = body.parent, body.R_PJ, body.p_PJ
        before = folded.pop(parent, None) if parent is not None else None
        if before is not None:
            joints = [*(_carried(joint, R, p) for joint in before.joints), *joints]
            parent, R, p = before.parent, before.R @ R, before.p + before.R @ p
        segment = _Segment(body, parent, R, p, joints)
        if body.mass_kg == 0.0 and joints:
            _require_foldable(segment, children[body.name])
            folded[body.name] = segment
        else:
            _require_one_rotation(segment)
            yield segment


def _carried(joint: dict[str, str], R_LB: FloatArray, p_LB: FloatArray) -> dict[str, str]:
    """A joint of a link, seen from the frame of the body that stands at R_LB, p_LB in the link."""
    place = np.array([float(x) for x in joint.get("pos", "0 0 0").split()])
    axis = np.array([float(x) for x in joint["axis"].split()])
    return {**joint, "pos": _text(R_LB.T @ (place - p_LB)), "axis": _text(R_LB.T @ axis)}


def _require_foldable(link: _Segment, children: int) -> None:
    if children != 1 or any("axis" not in joint for joint in link.joints):
        raise ModelError(
            f"MuJoCo needs mass on every body that moves; '{link.body.name}' has none, and carries {children} bodies "
            f"behind a {link.body.joint.kind} joint.",
            "Give it a mass, or exactly one body to carry, by joints that have axes.",
        )


def _require_one_rotation(segment: _Segment) -> None:
    kinds = [joint["type"] for joint in segment.joints]
    if "ball" in kinds and len(kinds) > 1:
        raise ModelError(
            f"MuJoCo cannot turn body '{segment.body.name}' by a spherical joint behind massless links.",
            "Give the links before it a mass.",
        )


def to_mjcf(mb: Multibody, name: str = "model") -> str:
    """Return the model as MJCF text, SI and rad, with the model's own gravity; contacts and limits are switched off.

    Massless links in between, as anatomical joints of several axes have them, become further joints of the body they
    carry, since MuJoCo refuses moving bodies without mass. No armature, damping or friction is written: mass matrix and
    inverse dynamics are those of `mb`. Every joint keeps the name of its link (`NAME_1`, `NAME_2` ... for joints with
    several axes), and a coordinate is to be found by it: MuJoCo's order is depth first, ours is that of `mb.bodies`.
    Quaternions are w x y z in both. MuJoCo's free joint has the position's velocity first, in world axes, then the
    angular velocity in body axes; forces likewise; ours is the body-frame twist [angular; linear]:
    ``qvel = [R_WB v_B, omega_B]``, ``qacc = [R_WB (vdot_B + omega_B x v_B), omegadot_B]``.

    MJCF has no helical joint, and free joints to the world only: ModelError names the body, as it does for a massless
    body that carries none or several.
    """
    root = ET.Element("mujoco", model=name)
    ET.SubElement(root, "compiler", angle="radian", inertiafromgeom="false", balanceinertia="false")
    option = ET.SubElement(root, "option", gravity=_text(np.array(mb.gravity_W)))
    ET.SubElement(option, "flag", constraint="disable", contact="disable")
    world = ET.SubElement(root, "worldbody")
    elements: dict[str | None, ET.Element] = {None: world}
    for segment in _segments(mb):
        body = segment.body
        x, y, z, w = Rotation.from_matrix(segment.R).as_quat()
        element = ET.SubElement(elements[segment.parent], "body", name=body.name)
        element.set("pos", _text(segment.p))
        element.set("quat", _text(np.array([w, x, y, z])))
        for attributes in segment.joints:
            ET.SubElement(element, "joint", attributes)
        if body.mass_kg > 0.0:
            J = body.inertia_com
            entries = np.array([J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2]])
            ET.SubElement(
                element, "inertial", pos=_text(body.com_m), mass=repr(body.mass_kg), fullinertia=_text(entries)
            )
        elements[body.name] = element
    ET.indent(root)
    return ET.tostring(root, encoding="unicode") + "\n"
