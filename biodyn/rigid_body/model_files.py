"""Import of trees of bodies from URDF, and export to URDF and MJCF (MuJoCo)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from xml.etree import ElementTree as ET

import numpy as np
from defusedxml.ElementTree import fromstring
from scipy.spatial.transform import Rotation

from biodyn.conventions import GRAVITY_W, FloatArray
from biodyn.errors import ModelError
from biodyn.rigid_body.multibody import Body, Joint, Multibody
from biodyn.rigid_body.osim.document import excerpt

_KINDS = {
    "fixed": "weld",
    "revolute": "revolute",
    "continuous": "revolute",
    "prismatic": "prismatic",
    "floating": "free",
}


# Larger than any length, mass or inertia of a machine; squares and sums of such numbers are finite.
_LARGEST = 1e12


def _read_numbers(text: str | None, count: int, where: str, most: float = _LARGEST) -> FloatArray:
    """Return the numbers of an attribute, zeros if it is missing; raise ModelError if one exceeds `most` in magnitude."""
    try:
        values = np.zeros(count) if text is None else np.array([float(x) for x in text.split()])
    except ValueError as error:
        raise ModelError(f"{where} contains '{excerpt(str(text))}' instead of numbers.") from error
    if values.shape != (count,):
        raise ModelError(f"{where} must have {count} numbers, found '{excerpt(str(text))}'.")
    if not (np.abs(values) <= most).all():  # this also rejects NaN
        raise ModelError(f"{where} must have a magnitude of at most {most:.0e}, found '{excerpt(str(text))}'.")
    return values


def _read_pose(element: ET.Element | None, where: str) -> tuple[FloatArray, FloatArray]:
    """Return R and p of an <origin> element with fixed-axis roll, pitch and yaw."""
    if element is None:
        return np.eye(3), np.zeros(3)
    angles = _read_numbers(element.get("rpy"), 3, f"rpy of {where}")
    return Rotation.from_euler("xyz", angles).as_matrix(), _read_numbers(element.get("xyz"), 3, f"xyz of {where}")


def _read_inertial(link: ET.Element, name: str) -> tuple[float, FloatArray, FloatArray]:
    """Return mass (kg), centre of mass (3,) m and inertia (3, 3) kg m^2 of a link, in link axes."""
    inertial = link.find("inertial")
    if inertial is None:
        return 0.0, np.zeros(3), np.zeros((3, 3))
    R, p = _read_pose(inertial.find("origin"), f"the inertial of '{name}'")
    mass, inertia = inertial.find("mass"), inertial.find("inertia")
    if mass is None or inertia is None:
        raise ModelError(f"The <inertial> of link '{name}' needs <mass> and <inertia>.")
    xx, xy, xz, yy, yz, zz = (
        float(_read_numbers(inertia.get(key), 1, f"{key} of '{name}'")[0])
        for key in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    )
    tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return float(_read_numbers(mass.get("value"), 1, f"mass of '{name}'")[0]), p, R @ tensor @ R.T


def _read_joint(element: ET.Element, name: str) -> Joint:
    kind = element.get("type", "")
    if kind not in _KINDS:
        raise ModelError(f"Joint '{name}' has the unsupported type '{kind}'.", f"Supported types: {', '.join(_KINDS)}.")
    axis_element = element.find("axis")
    if _KINDS[kind] in ("weld", "free"):
        return Joint(_KINDS[kind])
    x, y, z = (
        (1.0, 0.0, 0.0) if axis_element is None else _read_numbers(axis_element.get("xyz"), 3, f"axis of '{name}'")
    )
    return Joint(_KINDS[kind], (float(x), float(y), float(z)))


def from_urdf(
    source: str | Path, base: Literal["free", "weld"] = "free", gravity_W: tuple[float, float, float] = GRAVITY_W
) -> Multibody:
    """Return the model of a URDF file (a path) or of URDF text (starting with '<').

    base: type of the joint between world and root link. A root link named 'world' is the world itself. Meshes, sensors,
    transmissions and limits are ignored. Raises ModelError that names the link or joint that cannot be read.
    """
    text = str(source)
    try:
        if not text.lstrip().startswith("<"):
            text = Path(source).read_text(encoding="utf-8")
        robot = fromstring(text)
    except OSError as error:
        raise ModelError(
            f"The URDF model '{excerpt(text)}' cannot be read: {error.strerror}.",
            "Specify the path of a URDF file or its text.",
        ) from error
    except (ValueError, ET.ParseError) as error:  # the text is not Unicode, or declares entities
        raise ModelError(
            f"The URDF model cannot be read: {error}.", "Specify the path of a URDF file or its text."
        ) from error
    links = {link.get("name", ""): link for link in robot.findall("link")}
    carried = {}
    for joint in robot.findall("joint"):
        name, child, parent = joint.get("name", ""), joint.find("child"), joint.find("parent")
        if child is None or parent is None:
            raise ModelError(f"Joint '{name}' needs <parent> and <child>.")
        if child.get("link") in carried:
            raise ModelError(f"Link '{child.get('link')}' is the child of two joints, but a URDF model must be a tree.")
        carried[child.get("link", "")] = (joint, parent.get("link", ""))
    bodies = []
    for name, link in links.items():
        mass, com, inertia = _read_inertial(link, name)
        if name in carried:
            carrier, holder = carried[name]
            R, p = _read_pose(carrier.find("origin"), f"joint '{carrier.get('name')}'")
            made = _read_joint(carrier, carrier.get("name", ""))
            bodies.append(Body(name, None if holder == "world" else holder, made, R, p, mass, com, inertia))
        elif name != "world":
            bodies.append(Body(name, None, Joint(base), mass_kg=mass, com_m=com, inertia_com=inertia))
    return Multibody(tuple(bodies), gravity_W)


def _format_numbers(values: FloatArray | tuple[float, ...]) -> str:
    return " ".join(repr(float(x)) for x in values)


def to_urdf(mb: Multibody, name: str = "model") -> str:
    """Return the model as URDF text.

    Raises ModelError that names the body for spherical joints, which URDF does not have.
    """
    robot = ET.Element("robot", name=name)
    ET.SubElement(robot, "link", name="world")
    kinds = {"weld": "fixed", "revolute": "continuous", "prismatic": "prismatic", "free": "floating"}
    for body in mb.bodies:
        joint = body.joint
        if joint.kind not in kinds:
            raise ModelError(f"URDF does not support {joint.kind} joints (joint of body '{body.name}').")
        _add_link(robot, body)
        made = ET.SubElement(robot, "joint", name=f"{body.name}_joint")
        made.set("type", kinds[joint.kind])
        rpy = Rotation.from_matrix(body.R_PJ).as_euler("xyz")
        ET.SubElement(made, "origin", xyz=_format_numbers(body.p_PJ), rpy=_format_numbers(rpy))
        ET.SubElement(made, "parent", link=body.parent or "world")
        ET.SubElement(made, "child", link=body.name)
        if joint.axis is not None:
            ET.SubElement(made, "axis", xyz=_format_numbers(joint.axis))
            if joint.kind == "prismatic":  # required in URDF; 1e9 = no limit
                ET.SubElement(made, "limit", effort="1e9", velocity="1e9", lower="-1e9", upper="1e9")
    ET.indent(robot)
    return ET.tostring(robot, encoding="unicode") + "\n"


def _add_link(robot: ET.Element, body: Body) -> None:
    link = ET.SubElement(robot, "link", name=body.name)
    if body.mass_kg == 0.0:
        return
    inertial = ET.SubElement(link, "inertial")
    ET.SubElement(inertial, "origin", xyz=_format_numbers(body.com_m), rpy="0 0 0")
    ET.SubElement(inertial, "mass", value=repr(body.mass_kg))
    J = body.inertia_com
    names = {"ixx": J[0, 0], "ixy": J[0, 1], "ixz": J[0, 2], "iyy": J[1, 1], "iyz": J[1, 2], "izz": J[2, 2]}
    ET.SubElement(inertial, "inertia", {key: repr(float(value)) for key, value in names.items()})


def _mjcf_joints(joint: Joint, name: str, root: bool) -> list[dict[str, str]]:
    """Return the attributes of the MJCF joint of a body; none for a weld."""
    if joint.kind == "weld":
        return []
    if joint.kind == "free" and not root:
        raise ModelError(f"MJCF does not support free joints away from the world (joint of body '{name}').")
    kinds = {"free": "free", "spherical": "ball", "revolute": "hinge", "prismatic": "slide"}
    made = {"type": kinds[joint.kind], "name": name}
    if joint.axis is not None:
        made["axis"] = _format_numbers(joint.axis)
    return [made]


@dataclass(frozen=True)
class _Segment:
    """One MJCF body: a body of the tree with the massless links before it and their joints.

    Attributes:
        body: the body. parent: the nearest ancestor that is written.
        R, p: pose of its joint frame in the frame of the parent at q = 0. joints: attributes, from the parent outwards.
    """

    body: Body
    parent: str | None
    R: FloatArray
    p: FloatArray
    joints: list[dict[str, str]]


def _mjcf_segments(mb: Multibody) -> Iterator[_Segment]:
    """Yield the bodies, parents first, as MJCF bodies: massless moving links are merged into the body that they carry.

    MuJoCo requires that every moving body has mass; instead a body can have several joints. Axes and anchors are expressed in
    the frame of this body at q = 0.
    """
    folded: dict[str, _Segment] = {}
    children = Counter(body.parent for body in mb.bodies)
    for body in mb.bodies:
        joints = _mjcf_joints(body.joint, body.name, body.parent is None)
        parent, R, p = body.parent, body.R_PJ, body.p_PJ
        before = folded.pop(parent, None) if parent is not None else None
        if before is not None:
            joints = [*(_express_joint_on_body(joint, R, p) for joint in before.joints), *joints]
            parent, R, p = before.parent, before.R @ R, before.p + before.R @ p
        segment = _Segment(body, parent, R, p, joints)
        if body.mass_kg == 0.0 and joints:
            _require_mergeable_link(segment, children[body.name])
            folded[body.name] = segment
        else:
            _require_supported_rotation(segment)
            yield segment


def _express_joint_on_body(joint: dict[str, str], R_LB: FloatArray, p_LB: FloatArray) -> dict[str, str]:
    """Return the attributes of a joint of a link, expressed in the frame of a body with the pose R_LB, p_LB in this link."""
    place = np.array([float(x) for x in joint.get("pos", "0 0 0").split()])
    axis = np.array([float(x) for x in joint["axis"].split()])
    return {**joint, "pos": _format_numbers(R_LB.T @ (place - p_LB)), "axis": _format_numbers(R_LB.T @ axis)}


def _require_mergeable_link(link: _Segment, children: int) -> None:
    if children != 1 or any("axis" not in joint for joint in link.joints):
        raise ModelError(
            f"MuJoCo requires that every moving body has mass. '{link.body.name}' has none, and carries {children} "
            f"bodies behind a {link.body.joint.kind} joint.",
            "Add mass to it, or let it carry exactly one body, with joints that have axes.",
        )


def _require_supported_rotation(segment: _Segment) -> None:
    kinds = [joint["type"] for joint in segment.joints]
    if "ball" in kinds and len(kinds) > 1:
        raise ModelError(
            f"MuJoCo does not support a spherical joint behind massless links (body '{segment.body.name}').",
            "Add mass to the links between its parent body and this joint.",
        )


def to_mjcf(mb: Multibody, name: str = "model") -> str:
    """Return the model as MJCF text (SI units and rad, gravity of the model), with contacts and limits switched off.

    Massless links, for example of anatomical joints with several axes, become additional joints of the body that they carry,
    because MuJoCo does not accept moving bodies without mass. Armature, damping and friction are not written, so that mass
    matrix and inverse dynamics equal the results of `mb`. Every joint has the name of its link, by which its coordinate is
    found: the order of MuJoCo is depth first, that of biodyn is the order of `mb.bodies`. Quaternions are w x y z in both. The
    speeds (and forces) of a free joint in MuJoCo are the velocity in world axes, then the angular velocity in body axes; in
    biodyn they are the body-frame twist [angular; linear]:
    ``qvel = [R_WB v_B, omega_B]``, ``qacc = [R_WB (vdot_B + omega_B x v_B), omegadot_B]``.

    Raises ModelError that names the body for free joints that are not attached to the world, and for a
    massless body that does not carry exactly one body.
    """
    root = ET.Element("mujoco", model=name)
    ET.SubElement(root, "compiler", angle="radian", inertiafromgeom="false", balanceinertia="false")
    option = ET.SubElement(root, "option", gravity=_format_numbers(mb.gravity_W))
    ET.SubElement(option, "flag", constraint="disable", contact="disable")
    world = ET.SubElement(root, "worldbody")
    elements: dict[str | None, ET.Element] = {None: world}
    for segment in _mjcf_segments(mb):
        body = segment.body
        x, y, z, w = Rotation.from_matrix(segment.R).as_quat()
        element = ET.SubElement(elements[segment.parent], "body", name=body.name)
        element.set("pos", _format_numbers(segment.p))
        element.set("quat", _format_numbers((w, x, y, z)))
        for attributes in segment.joints:
            ET.SubElement(element, "joint", attributes)
        if body.mass_kg > 0.0:
            J = body.inertia_com
            entries = np.array([J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2]])
            ET.SubElement(
                element,
                "inertial",
                pos=_format_numbers(body.com_m),
                mass=repr(body.mass_kg),
                fullinertia=_format_numbers(entries),
            )
        elements[body.name] = element
    ET.indent(root)
    return ET.tostring(root, encoding="unicode") + "\n"
