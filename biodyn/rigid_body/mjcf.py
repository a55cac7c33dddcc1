"""Multibody models written as MJCF, MuJoCo's model format (https://mujoco.readthedocs.io/en/stable/XMLreference.html)."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import numpy as np
from scipy.spatial.transform import Rotation

from biodyn.conventions import FloatArray
from biodyn.errors import ModelError
from biodyn.rigid_body.joint import Joint
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


def to_mjcf(mb: Multibody, name: str = "model") -> str:
    """Return the model as MJCF text, angles in rad; contacts and limits are switched off.

    MJCF has no helical joint, and free joints to the world only: ModelError names the body. MuJoCo's free joint has
    the linear velocity first and in world axes.
    """
    root = ET.Element("mujoco", model=name)
    ET.SubElement(root, "compiler", angle="radian", inertiafromgeom="false", balanceinertia="false")
    option = ET.SubElement(root, "option", gravity=_text(np.array(mb.gravity_W)))
    ET.SubElement(option, "flag", constraint="disable", contact="disable")
    world = ET.SubElement(root, "worldbody")
    elements: dict[str | None, ET.Element] = {None: world}
    for body in mb.bodies:
        x, y, z, w = Rotation.from_matrix(body.R_PJ).as_quat()
        element = ET.SubElement(elements[body.parent], "body", name=body.name)
        element.set("pos", _text(body.p_PJ))
        element.set("quat", _text(np.array([w, x, y, z])))
        for attributes in _joints(body.joint, body.name, body.parent is None):
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
