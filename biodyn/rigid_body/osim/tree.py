"""Bodies, joints and frames of an OpenSim file, the same for every version of the format."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final
from xml.etree import ElementTree as ET

import numpy as np
from scipy.spatial.transform import Rotation

from biodyn.conventions import FloatArray
from biodyn.errors import ModelError
from biodyn.rigid_body.osim.elements import members, name_of, number, numbers, text_of

GROUND: Final = "ground"
_ZERO: Final = np.zeros(3)


@dataclass(frozen=True, eq=False)
class Frame:
    """A place on a body: x_B = R x + p. body: None = ground."""

    body: str | None
    R: FloatArray
    p: FloatArray

    @property
    def moved(self) -> bool:
        """Whether it differs from the body's own frame."""
        return bool(self.p.any()) or not np.array_equal(self.R, np.eye(3))


@dataclass(frozen=True, eq=False)
class JointElement:
    """A joint with where it sits on its two bodies."""

    element: ET.Element
    name: str
    parent: Frame
    child: Frame

    @property
    def coordinates(self) -> list[ET.Element]:
        """Its coordinates, in their order."""
        return [one for one in members(self.element, "coordinates", "CoordinateSet") if one.tag == "Coordinate"]


@dataclass(frozen=True, eq=False)
class Mass:
    """Mass (kg), centre (3,) m and inertia (3, 3) about the centre in body axes, kg m^2."""

    mass_kg: float
    com_m: FloatArray
    inertia: FloatArray


def masses(model: ET.Element) -> dict[str, Mass]:
    """Return the mass properties of every body but ground, in the file's order. ModelError: a name twice, no numbers."""
    found: dict[str, Mass] = {}
    for body in members(model, "BodySet"):
        name = name_of(body)
        if body.tag not in ("Body", "SimbodyBody", "SimmBody") or name.lower() == GROUND:
            continue
        if name in found:
            raise ModelError(f"Two bodies are named '{name}'.")
        found[name] = Mass(number(body, "mass", 0.0), numbers(body, "mass_center", 3, _ZERO), _inertia(body))
    if not found:
        raise ModelError("The model has no bodies.")
    return found


def _inertia(body: ET.Element) -> FloatArray:
    if body.find("inertia") is not None:
        xx, yy, zz, xy, xz, yz = numbers(body, "inertia", 6)
    else:
        keys = ("xx", "yy", "zz", "xy", "xz", "yz")
        xx, yy, zz, xy, xz, yz = (number(body, f"inertia_{key}", 0.0) for key in keys)
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def joints(model: ET.Element) -> Iterator[JointElement]:
    """Go through the joints: in a set of their own (4.x) or each inside the body it carries (before).

    Raises ModelError: a frame that does not exist, or frames that hang on each other in a circle.
    """
    bodies = {name_of(body) for body in members(model, "BodySet")}
    shared = _offsets(model)
    if any(True for _ in members(model, "JointSet")):
        for joint in members(model, "JointSet"):
            own = {**shared, **_offsets(joint)}
            name = name_of(joint)
            parent, child = (
                _resolved(_socket(joint, which), own, bodies, f"joint '{name}'")
                for which in ("parent_frame", "child_frame")
            )
            yield JointElement(joint, name, parent, child)
        return
    for body in members(model, "BodySet"):
        holder = body.find("Joint")
        for joint in () if holder is None else holder:
            parent_name = text_of(joint, "parent_body")
            if parent_name not in bodies and parent_name.lower() != GROUND:
                raise ModelError(
                    f"Body '{name_of(body)}' hangs on '{parent_name}', which is no body of the model.",
                    f"Bodies: {', '.join(sorted(bodies))}.",
                )
            holder_name = None if parent_name.lower() == GROUND else parent_name
            yield JointElement(
                joint,
                name_of(joint),
                _placed(holder_name, joint, "location_in_parent", "orientation_in_parent"),
                _placed(name_of(body), joint, "location", "orientation"),
            )


def coordinates_down_the_tree(model: ET.Element) -> tuple[str, ...]:
    """Return the coordinates joint by joint from ground outwards, each branch to its end before the next one (depth first)."""
    carried: dict[str | None, list[JointElement]] = {}
    for joint in joints(model):
        carried.setdefault(joint.parent.body, []).append(joint)
    names: list[str] = []
    waiting = carried.pop(None, [])[::-1]
    while waiting:
        joint = waiting.pop()
        names += [name_of(one) for one in joint.coordinates]
        waiting += carried.pop(joint.child.body, [])[::-1] if joint.child.body is not None else []
    return tuple(names)


def stations(model: ET.Element) -> Iterator[tuple[str, Frame]]:
    """Go through the markers: the name of each, and where it sits, its body and its place there as `p`."""
    bodies, offsets = {name_of(body) for body in members(model, "BodySet")}, _offsets(model)
    for element in members(model, "MarkerSet"):
        if element.tag == "Marker":
            path = _socket(element, "parent_frame") or text_of(element, "body")
            frame = _resolved(path, offsets, bodies, f"marker '{name_of(element)}'")
            p = frame.p + frame.R @ numbers(element, "location", 3, _ZERO)
            yield name_of(element), Frame(frame.body, frame.R, p)


def bases(model: ET.Element) -> Iterator[tuple[ET.Element, str, str | None]]:
    """Go through what lies on a body: its element, the tag that holds its place there, and the body (None = ground).

    Markers, the offset frames of joints and model (4.x), and the places of joints on parent and child (before).
    """
    bodies, shared = {name_of(body) for body in members(model, "BodySet")}, _offsets(model)
    for frame in shared.values():
        yield frame, "translation", _resolved(_socket(frame, "parent"), shared, bodies, "a frame").body
    for element in members(model, "MarkerSet"):
        if element.tag == "Marker":
            path = _socket(element, "parent_frame") or text_of(element, "body")
            yield element, "location", _resolved(path, shared, bodies, f"marker '{name_of(element)}'").body
    for joint in members(model, "JointSet"):
        own = _offsets(joint)
        for frame in own.values():
            yield frame, "translation", _resolved(_socket(frame, "parent"), {**shared, **own}, bodies, "a joint").body
    for body in members(model, "BodySet"):
        holder = body.find("Joint")
        for joint in () if holder is None else holder:
            parent = text_of(joint, "parent_body")
            yield joint, "location_in_parent", None if parent.lower() == GROUND else parent
            yield joint, "location", name_of(body)


def _placed(body: str | None, element: ET.Element, place: str, turn: str) -> Frame:
    return Frame(body, _turn(numbers(element, turn, 3, _ZERO)), numbers(element, place, 3, _ZERO))


def _turn(angles: FloatArray) -> FloatArray:
    """Return the rotation of body-fixed X, Y, Z angles; exactly the unit matrix for zeros."""
    return np.eye(3) if not angles.any() else Rotation.from_euler("XYZ", angles).as_matrix()


def _offsets(holder: ET.Element) -> dict[str, ET.Element]:
    """Return the offset frames directly in a joint or in the model's own component set, by name."""
    found = {}
    for tag in ("frames", "components", "ComponentSet"):
        container = holder.find(tag)
        for frame in () if container is None else container.iter("PhysicalOffsetFrame"):
            found[name_of(frame)] = frame
    return found


def _socket(element: ET.Element, which: str) -> str:
    """Return the path a socket names: 4.x, and the connectors of its first files."""
    path = text_of(element, f"socket_{which}", f"socket_{which}_connectee_name")
    if path:
        return path
    for connector in element.iter():
        if connector.tag.startswith("Connector") and name_of(connector) == which:
            return text_of(connector, "connectee_name")
    return ""


def _resolved(path: str, offsets: dict[str, ET.Element], bodies: set[str], where: str) -> Frame:
    """Return the place a path such as /bodyset/pelvis or pelvis_offset names."""
    R, p = np.eye(3), np.zeros(3)
    seen: list[str] = []
    name = path.strip().rstrip("/").split("/")[-1]
    while name in offsets and "bodyset/" not in path:
        if name in seen:
            raise ModelError(f"The frames of {where} hang on each other in a circle: {' -> '.join([*seen, name])}.")
        seen.append(name)
        frame = offsets[name]
        R_out, p_out = _turn(numbers(frame, "orientation", 3, _ZERO)), numbers(frame, "translation", 3, _ZERO)
        R, p = R_out @ R, p_out + R_out @ p
        path = _socket(frame, "parent")
        name = path.strip().rstrip("/").split("/")[-1]
    if name.lower() == GROUND:
        return Frame(None, R, p)
    if name not in bodies:
        raise ModelError(f"The frame '{path or '(none)'}' of {where} is on no body of the model.")
    return Frame(name, R, p)
