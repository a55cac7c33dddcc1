"""A joint of OpenSim as one-axis steps from the parent outwards, each moved by a function of the joint's coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from xml.etree import ElementTree as ET

import numpy as np

from biodyn.errors import ModelError
from biodyn.rigid_body.coupling.functions import EllipsoidPoint, Function, Linear
from biodyn.rigid_body.joint import Vector3, unit_axis
from biodyn.rigid_body.osim.elements import members, name_of, numbers, text_of
from biodyn.rigid_body.osim.functions import function_of, is_function

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
#: Kinds whose three rotational speeds are an angular velocity in the parent's axes.
_ANGULAR_VELOCITY: Final = frozenset({"BallJoint", "FreeJoint", "EllipsoidJoint"})
KNOWN: Final = (*_STEPS, "EllipsoidJoint", "CustomJoint")


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
    needed = 3 if joint.tag == "EllipsoidJoint" else len(_STEPS[joint.tag])
    if len(coordinates) != needed:
        raise ModelError(f"{joint.tag} '{name_of(joint)}' needs {needed} coordinates, found {len(coordinates)}.")
    if joint.tag == "EllipsoidJoint":
        return _ellipsoid(joint, coordinates)
    return [Step(kind, axis, Linear((1.0,)), (coordinates[which],)) for kind, axis, which in _STEPS[joint.tag]]


def turning_coordinates(joint: ET.Element, coordinates: Sequence[str]) -> tuple[str, ...]:
    """Return the three coordinates whose speeds are an angular velocity, none for most kinds."""
    return tuple(coordinates[:3]) if joint.tag in _ANGULAR_VELOCITY else ()


def _ellipsoid(joint: ET.Element, coordinates: Sequence[str]) -> list[Step]:
    radii = numbers(joint, "radii_x_y_z", 3)
    first_two = (coordinates[0], coordinates[1])
    slides = [Step(_SLIDE, axis, EllipsoidPoint(float(radii[i]), i), first_two) for i, axis in enumerate((_X, _Y, _Z))]
    turns = [Step(_TURN, axis, Linear((1.0,)), (name,)) for axis, name in zip((_X, _Y, _Z), coordinates, strict=True)]
    return slides + turns


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
    """Return whether the element stands where a function stands: it is no property of an axis."""
    return element.tag not in ("coordinates", "coordinate", "axis", "is_rotation", "function")
