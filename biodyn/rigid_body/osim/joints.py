"""Reader of OpenSim joints as one-axis steps from the parent outwards, each driven by a function of the joint's coordinates."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final
from xml.etree import ElementTree as ET

import numpy as np
from scipy.spatial.transform import Rotation

from biodyn.conventions import FloatArray
from biodyn.errors import ModelError
from biodyn.rigid_body.coupling.coordinate_functions import (
    Function,
    Linear,
    Polynomial,
    cubic_spline,
    piecewise_linear,
    scale_function,
)
from biodyn.rigid_body.multibody import Vector3, unit_axis
from biodyn.rigid_body.osim.document import element_name, element_text, iterate_members, read_number, read_numbers


def _linear_function(element: ET.Element) -> Function:
    *slopes, offset = _polynomial_coefficients(element)
    return Linear(tuple(slopes), offset)


def _polynomial_coefficients(element: ET.Element) -> tuple[float, ...]:
    coefficients = read_numbers(element, "coefficients")
    if not len(coefficients):
        raise ModelError(f"A {element.tag} has no coefficients.")
    return tuple(map(float, coefficients))


def _multiplier_function(element: ET.Element) -> Function:
    inside = element.find("function")
    if inside is None or not len(inside):
        raise ModelError("A MultiplierFunction contains no function.")
    return scale_function(read_function(inside[0]), read_number(element, "scale", 1.0))


_READERS: dict[str, Callable[[ET.Element], Function]] = {
    "Constant": lambda element: Linear((), read_number(element, "value", 0.0)),
    "LinearFunction": _linear_function,
    "SimmSpline": lambda element: cubic_spline(read_numbers(element, "x"), read_numbers(element, "y")),
    "PiecewiseLinearFunction": lambda element: piecewise_linear(read_numbers(element, "x"), read_numbers(element, "y")),
    "PolynomialFunction": lambda element: Polynomial(_polynomial_coefficients(element)),
    "MultiplierFunction": _multiplier_function,
}
# names of the same spline in earlier versions
_EARLIER = {"NaturalCubicSpline": "SimmSpline", "natCubicSpline": "SimmSpline"}


def read_function(element: ET.Element) -> Function:
    """Return the function that an element describes; raise ModelError naming the kind if it is not supported."""
    kind = _EARLIER.get(element.tag, element.tag)
    if kind not in _READERS:
        raise ModelError(
            f"Functions of kind '{element.tag}' are not supported.", f"Supported kinds: {', '.join(_READERS)}."
        )
    return _READERS[kind](element)


def is_function(element: ET.Element) -> bool:
    """Return whether the element is a function of a supported kind."""
    return _EARLIER.get(element.tag, element.tag) in _READERS


GROUND: Final = "ground"
_ZERO: Final = np.zeros(3)


@dataclass(frozen=True, eq=False)
class BodyFrame:
    """Frame on a body: points x in the frame are x_B = R x + p in body axes. body: name, None = ground."""

    body: str | None
    R: FloatArray
    p: FloatArray


@dataclass(frozen=True, eq=False)
class JointElement:
    """XML element of a joint, its name, and the frames by which it connects parent and child body."""

    element: ET.Element
    name: str
    parent: BodyFrame
    child: BodyFrame

    @property
    def coordinate_elements(self) -> list[ET.Element]:
        """Coordinate elements of the joint, in file order."""
        return [
            entry
            for entry in iterate_members(self.element, "coordinates", "CoordinateSet")
            if entry.tag == "Coordinate"
        ]


@dataclass(frozen=True, eq=False)
class MassProperties:
    """Mass (kg), centre (3,) m and inertia (3, 3) about the centre in body axes, kg m^2."""

    mass_kg: float
    com_m: FloatArray
    inertia: FloatArray


def read_masses(model: ET.Element) -> dict[str, MassProperties]:
    """Return the mass properties of every body except ground, in file order; raise ModelError for duplicate names."""
    found: dict[str, MassProperties] = {}
    for body in iterate_members(model, "BodySet"):
        name = element_name(body)
        if body.tag not in ("Body", "SimbodyBody", "SimmBody") or name.lower() == GROUND:
            continue
        if name in found:
            raise ModelError(f"Two bodies are named '{name}'.")
        found[name] = MassProperties(
            read_number(body, "mass", 0.0), read_numbers(body, "mass_center", 3, _ZERO), read_inertia(body)
        )
    if not found:
        raise ModelError("The model has no bodies.")
    return found


def read_inertia(body: ET.Element) -> FloatArray:
    """Return the inertia (3, 3) kg m^2 of a <Body>."""
    if body.find("inertia") is not None:
        xx, yy, zz, xy, xz, yz = read_numbers(body, "inertia", 6)
    else:
        keys = ("xx", "yy", "zz", "xy", "xz", "yz")
        xx, yy, zz, xy, xz, yz = (read_number(body, f"inertia_{key}", 0.0) for key in keys)
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def iterate_joints(model: ET.Element) -> Iterator[JointElement]:
    """Iterate over the joints, which are in a separate set (4.x) or in the element of their child body (older versions).

    Raises ModelError for a frame that does not exist, or for frames with circular references.
    """
    bodies = {element_name(body) for body in iterate_members(model, "BodySet")}
    shared = _offset_frames(model)
    if any(True for _ in iterate_members(model, "JointSet")):
        for joint in iterate_members(model, "JointSet"):
            offsets = {**shared, **_offset_frames(joint)}
            name = element_name(joint)
            parent, child = (
                _resolve_frame(_socket_path(joint, which), offsets, bodies, f"joint '{name}'")
                for which in ("parent_frame", "child_frame")
            )
            yield JointElement(joint, name, parent, child)
        return
    for joint, parent_name, child_name in _joints_of_bodies(model):
        if parent_name is not None and parent_name not in bodies:
            raise ModelError(
                f"The parent '{parent_name}' of body '{child_name}' is not a body of the model.",
                f"Bodies: {', '.join(sorted(bodies))}.",
            )
        yield JointElement(
            joint,
            element_name(joint),
            _read_body_frame(parent_name, joint, "location_in_parent", "orientation_in_parent"),
            _read_body_frame(child_name, joint, "location", "orientation"),
        )


def _joints_of_bodies(model: ET.Element) -> Iterator[tuple[ET.Element, str | None, str]]:
    """Iterate over the joints in the elements of their child bodies: element, parent body (None = ground) and child body."""
    for body in iterate_members(model, "BodySet"):
        holder = body.find("Joint")
        for joint in () if holder is None else holder:
            parent = element_text(joint, "parent_body")
            yield joint, None if parent.lower() == GROUND else parent, element_name(body)


def coordinates_in_tree_order(model: ET.Element) -> tuple[str, ...]:
    """Return the coordinates joint by joint from ground outwards, depth first."""
    carried: dict[str | None, list[JointElement]] = {}
    for joint in iterate_joints(model):
        carried.setdefault(joint.parent.body, []).append(joint)
    names: list[str] = []
    waiting = carried.pop(None, [])[::-1]
    while waiting:
        joint = waiting.pop()
        names += [element_name(entry) for entry in joint.coordinate_elements]
        waiting += carried.pop(joint.child.body, [])[::-1] if joint.child.body is not None else []
    return tuple(names)


def iterate_markers(model: ET.Element) -> Iterator[tuple[str, BodyFrame]]:
    """Iterate over the markers: name, and frame with its body and its position `p` on the body."""
    bodies, offsets = {element_name(body) for body in iterate_members(model, "BodySet")}, _offset_frames(model)
    for element in iterate_members(model, "MarkerSet"):
        if element.tag == "Marker":
            path = _socket_path(element, "parent_frame") or element_text(element, "body")
            frame = _resolve_frame(path, offsets, bodies, f"marker '{element_name(element)}'")
            p = frame.p + frame.R @ read_numbers(element, "location", 3, _ZERO)
            yield element_name(element), BodyFrame(frame.body, frame.R, p)


def iterate_attached_elements(model: ET.Element) -> Iterator[tuple[ET.Element, str, str | None]]:
    """Iterate over the elements attached to a body: the element, the tag of its position, and the body (None = ground).

    These are markers, offset frames of joints and model (4.x), and joint positions on parent and child (older versions).
    """
    bodies, shared = {element_name(body) for body in iterate_members(model, "BodySet")}, _offset_frames(model)
    for frame in shared.values():
        yield frame, "translation", _resolve_frame(_socket_path(frame, "parent"), shared, bodies, "a frame").body
    for element in iterate_members(model, "MarkerSet"):
        if element.tag == "Marker":
            path = _socket_path(element, "parent_frame") or element_text(element, "body")
            yield element, "location", _resolve_frame(path, shared, bodies, f"marker '{element_name(element)}'").body
    for joint in iterate_members(model, "JointSet"):
        offsets = _offset_frames(joint)
        for frame in offsets.values():
            carrier = _resolve_frame(_socket_path(frame, "parent"), {**shared, **offsets}, bodies, "a joint").body
            yield frame, "translation", carrier
    for joint, parent, child in _joints_of_bodies(model):
        yield joint, "location_in_parent", parent
        yield joint, "location", child


def _read_body_frame(body: str | None, element: ET.Element, place: str, turn: str) -> BodyFrame:
    return BodyFrame(
        body, _body_fixed_rotation(read_numbers(element, turn, 3, _ZERO)), read_numbers(element, place, 3, _ZERO)
    )


def _body_fixed_rotation(angles: FloatArray) -> FloatArray:
    """Return the rotation matrix of body-fixed X, Y, Z angles; exactly the identity for zeros."""
    return np.eye(3) if not angles.any() else Rotation.from_euler("XYZ", angles).as_matrix()


def _offset_frames(holder: ET.Element) -> dict[str, ET.Element]:
    """Return the offset frames that are direct children of a joint or of the component set of the model, by name."""
    found = {}
    for tag in ("frames", "components", "ComponentSet"):
        container = holder.find(tag)
        for frame in () if container is None else container.iter("PhysicalOffsetFrame"):
            found[element_name(frame)] = frame
    return found


def _socket_path(element: ET.Element, which: str) -> str:
    """Return the path in a socket (4.x) or in a connector of the first 4.x files."""
    path = element_text(element, f"socket_{which}", f"socket_{which}_connectee_name")
    if path:
        return path
    for connector in element.iter():
        if connector.tag.startswith("Connector") and element_name(connector) == which:
            return element_text(connector, "connectee_name")
    return ""


def _resolve_frame(path: str, offsets: dict[str, ET.Element], bodies: set[str], where: str) -> BodyFrame:
    """Return the frame that a path such as /bodyset/pelvis or pelvis_offset refers to."""
    R, p = np.eye(3), np.zeros(3)
    seen: list[str] = []
    name = path.strip().rstrip("/").split("/")[-1]
    while name in offsets and "bodyset/" not in path:
        if name in seen:
            raise ModelError(f"The frames of {where} have circular references: {' -> '.join([*seen, name])}.")
        seen.append(name)
        frame = offsets[name]
        outer = _read_body_frame(None, frame, "translation", "orientation")
        R, p = outer.R @ R, outer.p + outer.R @ p
        path = _socket_path(frame, "parent")
        name = path.strip().rstrip("/").split("/")[-1]
    if name.lower() == GROUND:
        return BodyFrame(None, R, p)
    if name not in bodies:
        raise ModelError(f"The frame '{path or '(none)'}' of {where} is not on a body of the model.")
    return BodyFrame(name, R, p)


_X: Final[Vector3] = (1.0, 0.0, 0.0)
_Y: Final[Vector3] = (0.0, 1.0, 0.0)
_Z: Final[Vector3] = (0.0, 0.0, 1.0)
_TURN, _SLIDE = "revolute", "prismatic"
#: Steps of each kind of joint from the parent outwards, each with the index of its coordinate in the order of the file.
_STEPS: Final[dict[str, tuple[tuple[str, Vector3, int], ...]]] = {
    "WeldJoint": (),
    "PinJoint": ((_TURN, _Z, 0),),
    "SliderJoint": ((_SLIDE, _X, 0),),
    "UniversalJoint": ((_TURN, _X, 0), (_TURN, _Y, 1)),
    "GimbalJoint": ((_TURN, _X, 0), (_TURN, _Y, 1), (_TURN, _Z, 2)),
    "BallJoint": ((_TURN, _X, 0), (_TURN, _Y, 1), (_TURN, _Z, 2)),
    "PlanarJoint": ((_SLIDE, _X, 1), (_SLIDE, _Y, 2), (_TURN, _Z, 0)),
    "FreeJoint": ((_SLIDE, _X, 3), (_SLIDE, _Y, 4), (_SLIDE, _Z, 5), (_TURN, _X, 0), (_TURN, _Y, 1), (_TURN, _Z, 2)),
}
#: Kinds of joints whose rotational speeds are the angular velocity in the axes of the parent.
_ANGULAR_VELOCITY: Final = frozenset({"BallJoint", "FreeJoint"})
KNOWN: Final = (*_STEPS, "CustomJoint")


@dataclass(frozen=True, eq=False)
class AxisStep:
    """One-axis motion of a joint: kind (revolute or prismatic), direction of the axis, and the function of coordinates that
    drives it."""

    kind: str
    axis: Vector3
    function: Function
    coordinates: tuple[str, ...]

    @property
    def constant(self) -> float | None:
        """Value (rad or m) of a step that depends on no coordinate; None for other steps."""
        if isinstance(self.function, Linear) and not any(self.function.slopes):
            return self.function.offset
        return None


def joint_steps(joint: ET.Element, coordinates: Sequence[str]) -> list[AxisStep]:
    """Return the one-axis steps of a joint from the parent outwards; `coordinates`: names of its coordinates in file order.

    Raises ModelError for an unsupported kind, a wrong number of coordinates, a coordinate of another joint, or a function with
    a different number of arguments.
    """
    if joint.tag == "CustomJoint":
        return _custom_joint_steps(joint, coordinates)
    if joint.tag not in KNOWN:
        raise ModelError(
            f"Joint '{element_name(joint)}' is a {joint.tag}, which is not supported.",
            f"Supported kinds: {', '.join(KNOWN)}.",
        )
    needed = len(_STEPS[joint.tag])
    if len(coordinates) != needed:
        raise ModelError(f"{joint.tag} '{element_name(joint)}' needs {needed} coordinates, found {len(coordinates)}.")
    return [AxisStep(kind, axis, Linear((1.0,)), (coordinates[which],)) for kind, axis, which in _STEPS[joint.tag]]


def angular_velocity_coordinates(joint: ET.Element, coordinates: Sequence[str]) -> tuple[str, ...]:
    """Return the three coordinates whose speeds are an angular velocity; most joint kinds have none."""
    return tuple(coordinates[:3]) if joint.tag in _ANGULAR_VELOCITY else ()


def custom_joint_axes(joint: ET.Element) -> tuple[list[ET.Element], list[ET.Element]]:
    """Return the axes of the rotations and of the translations of a custom joint, in the order of the file."""
    transform = joint.find("SpatialTransform")
    if transform is None:  # version 1.9: a set of any number of axes, each with a tag for its kind
        axes = list(iterate_members(joint, "TransformAxisSet"))
        turns = [axis for axis in axes if element_text(axis, "is_rotation").lower() == "true"]
        return turns, [axis for axis in axes if axis not in turns]
    axes = [axis for axis in transform if axis.tag == "TransformAxis"]
    if len(axes) > 6:
        raise ModelError(f"The spatial transform of joint '{element_name(joint)}' has {len(axes)} axes instead of six.")
    turns = [axis for axis in axes if element_name(axis).startswith("rotation")]
    slides = [axis for axis in axes if element_name(axis).startswith("translation")]
    return (turns, slides) if len(turns) + len(slides) == len(axes) else (axes[:3], axes[3:])


def _custom_joint_steps(joint: ET.Element, coordinates: Sequence[str]) -> list[AxisStep]:
    """Return the steps of a spatial transform: translations in the parent frame, then three successive rotations."""
    turns, slides = custom_joint_axes(joint)
    steps = [_read_axis_step(_SLIDE, axis, joint) for axis in slides] + [
        _read_axis_step(_TURN, axis, joint) for axis in turns
    ]
    for step in steps:
        foreign = [name for name in step.coordinates if name not in coordinates]
        if foreign:
            raise ModelError(
                f"Joint '{element_name(joint)}' depends on '{foreign[0]}', which is not one of its coordinates."
            )
    return steps


def _read_axis_step(kind: str, axis: ET.Element, joint: ET.Element) -> AxisStep:
    where = f"an axis of joint '{element_name(joint)}'"
    direction = unit_axis(tuple(read_numbers(axis, "axis", 3)), where)
    names = tuple(element_text(axis, "coordinates", "coordinate").split())
    inside = axis.find("function")
    described = [
        child for child in (axis if inside is None else inside) if is_function(child) or _has_function_tag(child)
    ]
    # without a function, the coordinate is the value of the axis (version 1.9)
    function = read_function(described[0]) if described else Linear((1.0,) if names else ())
    if isinstance(function, Linear) and not any(function.slopes):
        return AxisStep(kind, direction, Linear((), function.offset), ())
    if function.arguments != len(names):
        raise ModelError(
            f"The function of {where} has {function.arguments} arguments, but {len(names)} coordinates are listed."
        )
    return AxisStep(kind, direction, function, names)


def _has_function_tag(element: ET.Element) -> bool:
    """Return whether the element describes a function, and not another property of an axis."""
    return element.tag not in ("coordinates", "coordinate", "axis", "is_rotation", "function")
