"""Multibody models from and to URDF, the robot description of ROS (http://wiki.ros.org/urdf/XML)."""

from __future__ import annotations

from pathlib import Path
from typing import Literal
from xml.etree import ElementTree as ET

import numpy as np
from defusedxml.ElementTree import fromstring
from scipy.spatial.transform import Rotation

from biodyn.conventions import GRAVITY_W, FloatArray
from biodyn.errors import ModelError
from biodyn.rigid_body.joint import Body, Joint, Vector3
from biodyn.rigid_body.multibody import Multibody
from biodyn.rigid_body.osim.elements import shown

_KINDS = {
    "fixed": "weld",
    "revolute": "revolute",
    "continuous": "revolute",
    "prismatic": "prismatic",
    "floating": "free",
}
# how the one-axis parts of our joints are called there
_PARTS = {"revolute": "revolute", "universal": "revolute", "cardan": "revolute", "prismatic": "prismatic"}


# No length, mass or inertia of a machine comes near; squares and sums of such numbers stay finite.
_LARGEST = 1e12


def _numbers(text: str | None, count: int, where: str, most: float = _LARGEST) -> FloatArray:
    """Return the numbers of an attribute, zeros where it is missing; ModelError beyond `most` either way."""
    try:
        values = np.zeros(count) if text is None else np.array([float(x) for x in text.split()])
    except ValueError as error:
        raise ModelError(f"{where} holds '{shown(str(text))}', which are not numbers.") from error
    if values.shape != (count,):
        raise ModelError(f"{where} must hold {count} numbers, found '{shown(str(text))}'.")
    if not (np.abs(values) <= most).all():  # nor not a number
        raise ModelError(f"{where} must be a number of at most {most:.0e} either way, found '{shown(str(text))}'.")
    return values


def _pose(element: ET.Element | None, where: str) -> tuple[FloatArray, FloatArray]:
    """Return R, p of an <origin>: fixed-axis roll, pitch, yaw."""
    if element is None:
        return np.eye(3), np.zeros(3)
    angles = _numbers(element.get("rpy"), 3, f"rpy of {where}")
    return Rotation.from_euler("xyz", angles).as_matrix(), _numbers(element.get("xyz"), 3, f"xyz of {where}")


def _inertial(link: ET.Element, name: str) -> tuple[float, FloatArray, FloatArray]:
    """Return mass, centre of mass and inertia in link axes."""
    inertial = link.find("inertial")
    if inertial is None:
        return 0.0, np.zeros(3), np.zeros((3, 3))
    R, p = _pose(inertial.find("origin"), f"the inertial of '{name}'")
    mass, inertia = inertial.find("mass"), inertial.find("inertia")
    if mass is None or inertia is None:
        raise ModelError(f"The <inertial> of link '{name}' needs <mass> and <inertia>.")
    xx, xy, xz, yy, yz, zz = (
        float(_numbers(inertia.get(key), 1, f"{key} of '{name}'")[0])
        for key in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    )
    tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return float(_numbers(mass.get("value"), 1, f"mass of '{name}'")[0]), p, R @ tensor @ R.T


def _joint(element: ET.Element, name: str) -> Joint:
    kind = element.get("type", "")
    if kind not in _KINDS:
        raise ModelError(f"Joint '{name}' is of type '{kind}'.", f"Known types: {', '.join(_KINDS)}.")
    axis_element, limit = element.find("axis"), element.find("limit")
    if _KINDS[kind] in ("weld", "free"):
        return Joint(_KINDS[kind])
    x, y, z = (1.0, 0.0, 0.0) if axis_element is None else _numbers(axis_element.get("xyz"), 3, f"axis of '{name}'")
    axis: Vector3 = (float(x), float(y), float(z))
    if limit is None or kind == "continuous":
        return Joint(_KINDS[kind], axis)
    lower, upper = (_numbers(limit.get(key), 1, f"{key} of '{name}'", np.inf) for key in ("lower", "upper"))
    return Joint(_KINDS[kind], axis, lower=tuple(lower), upper=tuple(upper))


def from_urdf(
    source: str | Path,
    base: Literal["free", "weld"] = "free",
    gravity_W: tuple[float, float, float] = GRAVITY_W,
) -> Multibody:
    """Return the model of a URDF file (a path) or text (starting with '<').

    base: how the root link is carried by the world. A root link named 'world' is the world itself. Meshes, sensors and
    transmissions are ignored. Raises ModelError naming the link or joint that cannot be read.
    """
    text = str(source)
    try:
        if not text.lstrip().startswith("<"):
            text = Path(source).read_text(encoding="utf-8")
        robot = fromstring(text)
    except OSError as error:
        raise ModelError(
            f"The URDF model '{shown(text)}' cannot be read: {error.strerror}.",
            "Give the path of an URDF file or its text.",
        ) from error
    except (ValueError, ET.ParseError) as error:  # text that is no Unicode, or declares entities
        raise ModelError(
            f"The URDF model cannot be read: {error}.", "Give the path of an URDF file or its text."
        ) from error
    links = {link.get("name", ""): link for link in robot.findall("link")}
    carried = {}
    for joint in robot.findall("joint"):
        name, child, parent = joint.get("name", ""), joint.find("child"), joint.find("parent")
        if child is None or parent is None:
            raise ModelError(f"Joint '{name}' needs <parent> and <child>.")
        if child.get("link") in carried:
            raise ModelError(f"Link '{child.get('link')}' hangs on two joints; a URDF model is a tree.")
        carried[child.get("link", "")] = (joint, parent.get("link", ""))
    bodies = []
    for name, link in links.items():
        mass, com, inertia = _inertial(link, name)
        if name in carried:
            carrier, holder = carried[name]
            R, p = _pose(carrier.find("origin"), f"joint '{carrier.get('name')}'")
            made = _joint(carrier, carrier.get("name", ""))
            bodies.append(Body(name, None if holder == "world" else holder, made, R, p, mass, com, inertia))
        elif name != "world":
            bodies.append(Body(name, None, Joint(base), mass_kg=mass, com_m=com, inertia_com=inertia))
    return Multibody(tuple(bodies), gravity_W)


def _text(values: FloatArray | tuple[float, ...]) -> str:
    return " ".join(repr(float(x)) for x in values)


def to_urdf(mb: Multibody, name: str = "model") -> str:
    """Return the model as URDF text; joints with several axes become chains of massless links.

    URDF has no spherical and no helical joint: ModelError names the body.
    """
    robot = ET.Element("robot", name=name)
    ET.SubElement(robot, "link", name="world")
    for body in mb.bodies:
        joint = body.joint
        steps: list[tuple[str, Vector3 | None]]
        if joint.kind in ("weld", "free"):
            steps = [("fixed" if joint.kind == "weld" else "floating", None)]
        elif joint.kind in _PARTS:
            steps = [(_PARTS[joint.kind], axis) for axis in joint.axes]
        elif joint.kind == "cylindrical":
            steps = [("revolute", joint.axes[0]), ("prismatic", joint.axes[0])]
        elif joint.kind == "planar":
            x, y, z = np.cross(joint.axes[0], joint.axes[1])
            steps = [("prismatic", joint.axes[0]), ("prismatic", joint.axes[1]), ("revolute", (x, y, z))]
        else:
            raise ModelError(f"URDF has no {joint.kind} joint, which carries body '{body.name}'.")
        parent = body.parent or "world"
        for k, (kind, axis) in enumerate(steps):
            last = k == len(steps) - 1
            link = body.name if last else f"{body.name}_axis{k + 1}"
            _write_link(robot, link, body if last else None)
            low = joint.lower[k] if joint.lower else -np.inf
            high = joint.upper[k] if joint.upper else np.inf
            bounded = np.isfinite([low, high]).all()
            made = ET.SubElement(robot, "joint", name=f"{link}_joint")
            made.set("type", "continuous" if kind == "revolute" and not bounded else kind)
            R, p = (body.R_PJ, body.p_PJ) if k == 0 else (np.eye(3), np.zeros(3))
            rpy = Rotation.from_matrix(R).as_euler("xyz")
            ET.SubElement(made, "origin", xyz=_text(p), rpy=_text(rpy))
            ET.SubElement(made, "parent", link=parent)
            ET.SubElement(made, "child", link=link)
            if axis is not None:
                ET.SubElement(made, "axis", xyz=_text(axis))
                if bounded or kind == "prismatic":  # required there; 1e9 = none
                    ends = {"lower": repr(float(max(low, -1e9))), "upper": repr(float(min(high, 1e9)))}
                    ET.SubElement(made, "limit", {"effort": "1e9", "velocity": "1e9", **ends})
            parent = link
    ET.indent(robot)
    return ET.tostring(robot, encoding="unicode") + "\n"


def _write_link(robot: ET.Element, name: str, body: Body | None) -> None:
    link = ET.SubElement(robot, "link", name=name)
    if body is None or body.mass_kg == 0.0:
        return
    inertial = ET.SubElement(link, "inertial")
    ET.SubElement(inertial, "origin", xyz=_text(body.com_m), rpy="0 0 0")
    ET.SubElement(inertial, "mass", value=repr(body.mass_kg))
    J = body.inertia_com
    names = {"ixx": J[0, 0], "ixy": J[0, 1], "ixz": J[0, 2], "iyy": J[1, 1], "iyz": J[1, 2], "izz": J[2, 2]}
    ET.SubElement(inertial, "inertia", {key: repr(float(value)) for key, value in names.items()})
