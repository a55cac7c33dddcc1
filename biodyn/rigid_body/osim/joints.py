"""A joint of OpenSim as one-axis steps from the parent outwards, each moved by a function of the joint's coordinates."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final
from xml.etree import ElementTree as ET

import numpy as np
from scipy.spatial.transform import Rotation

from biodyn.conventions import FloatArray
from biodyn.errors import ModelError
from biodyn.rigid_body.coupling.functions import (
    Function,
    Linear,
    Polynomial,
    cubic_spline,
    piecewise_linear,
    scaled,
)
from biodyn.rigid_body.multibody import Vector3, unit_axis
from biodyn.rigid_body.osim.document import members, name_of, number, numbers, text_of


def _linear(element: ET.Element) -> Function:
    *slopes, offset = _coefficients(element)
    return Linear(tuple(slopes), offset)


def _coefficients(element: ET.Element) -> tuple[float, ...]:
    coefficients = numbers(element, "coefficients")
    if not len(coefficients):
        raise ModelError(f"A {element.tag} holds no coefficients.")
    return tuple(map(float, coefficients))


def _multiplied(element: ET.Element) -> Function:
    inside = element.find("function")
    if inside is None or not len(inside):
        raise ModelError("A MultiplierFunction holds no function.")
    return scaled(function_of(inside[0]), number(element, "scale", 1.0))


_READERS: dict[str, Callable[[ET.Element], Function]] = {
    "Constant": lambda element: Linear((), number(element, "value", 0.0)),
    "LinearFunction": _linear,
    "SimmSpline": lambda element: cubic_spline(numbers(element, "x"), numbers(element, "y")),
    "PiecewiseLinearFunction": lambda element: piecewise_linear(numbers(element, "x"), numbers(element, "y")),
    "PolynomialFunction": lambda element: Polynomial(_coefficients(element)),
    "MultiplierFunction": _multiplied,
}
# names of earlier versions for the same spline
_EARLIER = {"NaturalCubicSpline": "SimmSpline", "natCubicSpline": "SimmSpline"}


def function_of(element: ET.Element) -> Function:
    """Return the function an element describes. Raises ModelError naming a kind that is not read."""
    kind = _EARLIER.get(element.tag, element.tag)
    if kind not in _READERS:
        raise ModelError(f"A function of kind '{element.tag}' is not read.", f"Known kinds: {', '.join(_READERS)}.")
    return _READERS[kind](element)


def is_function(element: ET.Element) -> bool:
    """Return whether the element is a function that is read."""
    return _EARLIER.get(element.tag, element.tag) in _READERS


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
        return [entry for entry in members(self.element, "coordinates", "CoordinateSet") if entry.tag == "Coordinate"]


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
        found[name] = Mass(number(body, "mass", 0.0), numbers(body, "mass_center", 3, _ZERO), inertia_of(body))
    if not found:
        raise ModelError("The model has no bodies.")
    return found


def inertia_of(body: ET.Element) -> FloatArray:
    """Return the inertia (3, 3) kg m^2 of a <Body>."""
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
            offsets = {**shared, **_offsets(joint)}
            name = name_of(joint)
            parent, child = (
                _resolved(_socket(joint, which), offsets, bodies, f"joint '{name}'")
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
        names += [name_of(entry) for entry in joint.coordinates]
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
    """Go through the elements on a body: the element, the tag that holds its place there, and the body (None = ground).

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
        offsets = _offsets(joint)
        for frame in offsets.values():
            yield (
                frame,
                "translation",
                _resolved(_socket(frame, "parent"), {**shared, **offsets}, bodies, "a joint").body,
            )
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


_X: Final[Vector3] = (1.0, 0.0, 0.0)
_Y: Final[Vector3] = (0.0, 1.0, 0.0)
_Z: Final[Vector3] = (0.0, 0.0, 1.0)
_TURN, _SLIDE = "revolute", "prismatic"
#: Per kind: its steps from the parent outwards, each with the coordinate that moves it, counted in the file's order.
_STEPS: Final[dict[str, tuple[tuple[str, Vector3, int], ...]]] = {
    "WeldJoint": (),
    "PinJoint": ((_TURN, _Z, 0),),
    "SliderJoint": ((_SLIDE, _X, 0),),
    "UniversalJoint": ((_TURN, _X, 0), (_TURN, _Y, 1)),
    "GimbalJoint": ((_TURN, _X, 0), (_TURN, _Y, 1), (_TURN, _Z, 2)),
    "BallJoint": ((_TURN, _X, 0), (_TURN, _Y, 1), (_TURN, _Z, 2)),
    "PlanarJoint": ((_SLIDE, _X, 1), (_SLIDE, _Y, 2), (_TURN, _Z, 0)),
    "FreeJoint": (
        (_SLIDE, _X, 3),
        (_SLIDE, _Y, 4),
        (_SLIDE, _Z, 5),
        (_TURN, _X, 0),
        (_TURN, _Y, 1),
        (_TURN, _Z, 2),
    ),
}
#: Kinds with an angular velocity in the parent's axes as rotational speeds.
_ANGULAR_VELOCITY: Final = frozenset({"BallJoint", "FreeJoint"})
KNOWN: Final = (*_STEPS, "CustomJoint")


@dataclass(frozen=True, eq=False)
class Step:
    """One axis: how it moves (revolute, prismatic), along what, by which function of which coordinates."""

    kind: str
    axis: Vector3
    function: Function
    coordinates: tuple[str, ...]

    @property
    def constant(self) -> float | None:
        """The value of a step that no coordinate moves."""
        if isinstance(self.function, Linear) and not any(self.function.slopes):
            return self.function.offset
        return None


def steps_of(joint: ET.Element, coordinates: Sequence[str]) -> list[Step]:
    """Return the steps of a joint; `coordinates` are the names of its own, in the file's order.

    Raises ModelError: a kind that is not read, another number of coordinates than the kind has, a coordinate of another
    joint, a function of another number of coordinates.
    """
    if joint.tag == "CustomJoint":
        return _custom(joint, coordinates)
    if joint.tag not in KNOWN:
        raise ModelError(
            f"Joint '{name_of(joint)}' is a {joint.tag}, which is not read.", f"Known kinds: {', '.join(KNOWN)}."
        )
    needed = len(_STEPS[joint.tag])
    if len(coordinates) != needed:
        raise ModelError(f"{joint.tag} '{name_of(joint)}' needs {needed} coordinates, found {len(coordinates)}.")
    return [Step(kind, axis, Linear((1.0,)), (coordinates[which],)) for kind, axis, which in _STEPS[joint.tag]]


def turning_coordinates(joint: ET.Element, coordinates: Sequence[str]) -> tuple[str, ...]:
    """Return the three coordinates with an angular velocity as speeds, none for most kinds."""
    return tuple(coordinates[:3]) if joint.tag in _ANGULAR_VELOCITY else ()


def _custom(joint: ET.Element, coordinates: Sequence[str]) -> list[Step]:
    """A spatial transform: translations in the parent's frame, then three turns, each about an axis the one before carries."""
    transform = joint.find("SpatialTransform")
    if transform is not None:
        axes = [axis for axis in transform if axis.tag == "TransformAxis"]
        if len(axes) > 6:
            raise ModelError(f"The spatial transform of joint '{name_of(joint)}' has {len(axes)} axes, not six.")
        turns = [axis for axis in axes if name_of(axis).startswith("rotation")]
        slides = [axis for axis in axes if name_of(axis).startswith("translation")]
        if len(turns) + len(slides) != len(axes):
            turns, slides = axes[:3], axes[3:]
    else:  # version 1.9: any number of axes in a set, each with its own word for what it is
        axes = list(members(joint, "TransformAxisSet"))
        turns = [axis for axis in axes if text_of(axis, "is_rotation").lower() == "true"]
        slides = [axis for axis in axes if axis not in turns]
    steps = [_step(_SLIDE, axis, joint) for axis in slides] + [_step(_TURN, axis, joint) for axis in turns]
    for step in steps:
        foreign = [name for name in step.coordinates if name not in coordinates]
        if foreign:
            raise ModelError(f"Joint '{name_of(joint)}' is moved by '{foreign[0]}', which is none of its coordinates.")
    return steps


def _step(kind: str, axis: ET.Element, joint: ET.Element) -> Step:
    where = f"an axis of joint '{name_of(joint)}'"
    direction = unit_axis(tuple(numbers(axis, "axis", 3)), where)
    names = tuple(text_of(axis, "coordinates", "coordinate").split())
    inside = axis.find("function")
    described = [child for child in (axis if inside is None else inside) if is_function(child) or _is_kind(child)]
    # without a function the coordinate moves the axis itself (version 1.9)
    function = function_of(described[0]) if described else Linear((1.0,) if names else ())
    constant = isinstance(function, Linear) and not any(function.slopes)
    if constant:
        value = float(function.at(np.zeros((function.arguments, 1)))[0][0])
        return Step(kind, direction, Linear((), value), ())
    if function.arguments != len(names):
        raise ModelError(f"The function of {where} takes {function.arguments} coordinates, but it names {len(names)}.")
    return Step(kind, direction, function, names)


def _is_kind(element: ET.Element) -> bool:
    """Return whether the element is in the place of a function: not a property of an axis."""
    return element.tag not in ("coordinates", "coordinate", "axis", "is_rotation", "function")
