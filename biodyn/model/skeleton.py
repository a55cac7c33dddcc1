"""Segments with their joints, and inertias."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.errors import ModelError
from biodyn.geometry.rotations import cardan_zxy


@dataclass(frozen=True, eq=False)  # compared by identity: arrays have no single truth value
class Rotation:
    """One rotation of the sequence of a joint, about `axis` (3,) in the axes that result from the previous rotations.

    A rotation with a `coordinate` is free; otherwise it is fixed at the angle of the static trial. The axis includes side and
    sign, so that the coordinate is the clinical angle.
    """

    axis: FloatArray
    coordinate: str | None
    range_rad: tuple[float, float]
    principal: str | None  # "x", "y" or "z" for a step of the Z-X-Y sequence of the static posture, None for others
    sd_rad: float | None = None  # prior standard deviation relative to the static angle, if there is a prior
    option: str = ""  # option of the settings that frees a fixed rotation
    freed: Rotation | None = None  # rotation with this option; its range is relative to the static angle


@dataclass(frozen=True)
class UnseenMotion:
    """Assumed motion of a segment without markers during walking, in World axes rotated with the heading.

    Attributes:
        attitude_rad: mean tilt, list and rotation about z, x and y (Rz Rx Ry).
        swing: tilt per radian of the stride angle of its side: half the difference of the thighs' forward tilts (midline: of the
            right thigh).
    """

    attitude_rad: tuple[float, float, float]
    swing: float


@dataclass(frozen=True)
class BodyDefinition:
    """One segment of a skeleton and its joint to the parent.

    Attributes:
        name, parent ("" for the root), joint: names; `side` is "r", "l" or "".
        rotations: rotations of the joint, from the axes of the parent to those of the body.
        base_rotations, base_translations: names of the root's six coordinates.
        unseen: its motion if it has no markers; None = fixed to its parent.
    """

    name: str
    parent: str
    joint: str
    side: str
    rotations: tuple[Rotation, ...]
    base_rotations: tuple[str, ...] = ()
    base_translations: tuple[str, ...] = ()
    unseen: UnseenMotion | None = None

    @property
    def coordinate_names(self) -> tuple[str, ...]:
        """Return the names of the joint's coordinates, in the order of its rotations."""
        return tuple(step.coordinate for step in self.rotations if step.coordinate is not None)


BodyT = TypeVar("BodyT", bound=BodyDefinition, covariant=True)


@dataclass(frozen=True)
class Skeleton(Generic[BodyT]):
    """Segments of a skeleton, parents first, and the names of those with movable joints (the others are fixed to their
    parents)."""

    name: str
    title: str
    citation: str
    bodies: tuple[BodyT, ...]
    free: frozenset[str]

    def body(self, name: str) -> BodyT:
        """Return the body with this name; ModelError if the skeleton has no such body."""
        for body in self.bodies:
            if body.name == name:
                return body
        raise ModelError(
            f"Skeleton '{self.name}' has no body '{name}'.", f"It has {', '.join(b.name for b in self.bodies)}."
        )

    def path(self, name: str) -> list[BodyT]:
        """Return the bodies from the body with this name up to a child of the root; none for the root."""
        bodies, body = [], self.body(name)
        while body.parent:
            bodies.append(body)
            body = self.body(body.parent)
        return bodies

    @property
    def root(self) -> BodyT:
        """Segment without a parent, which is the floating base."""
        return self.bodies[0]


#: Skeleton of a body model: names and joints, without recipes.
SkeletonDefinition: TypeAlias = Skeleton[BodyDefinition]


def static_angles(definition: BodyDefinition, R_PB: FloatArray) -> tuple[float, ...]:
    """Return the angle (rad) of each rotation of a joint's sequence, for the segment's attitude in its parent."""
    cardan = cardan_zxy(R_PB)
    angles = []
    for step in definition.rotations:
        if step.principal is None:
            angles.append(0.0)  # zero in the static posture
        else:
            axis_sign = step.axis["xyz".index(step.principal)]
            angles.append(float(cardan["zxy".index(step.principal)] * axis_sign))
    return tuple(angles)


@dataclass(frozen=True)
class Inertia:
    """Rigid-body inertia in body axes: mass kg, centre of mass (3,) m from the body origin, tensor (3, 3) kg m2 about it."""

    mass: float
    com: FloatArray
    tensor: FloatArray

    def express_in_axes(self, R: FloatArray, p: FloatArray) -> Inertia:
        """Return the inertia in other axes, in which this body has rotation R (3, 3) and origin p (3,) m."""
        return Inertia(self.mass, R @ self.com + p, R @ self.tensor @ R.T)

    def __add__(self, other: Inertia) -> Inertia:
        mass = self.mass + other.mass
        if mass == 0.0:
            return Inertia(0.0, np.zeros(3), np.zeros((3, 3)))
        com = (self.mass * self.com + other.mass * other.com) / mass
        tensor = self.tensor + other.tensor
        for part in (self, other):
            d = part.com - com
            tensor = tensor + part.mass * ((d @ d) * np.eye(3) - np.outer(d, d))
        return Inertia(mass, com, tensor)


ZERO_INERTIA = Inertia(0.0, np.zeros(3), np.zeros((3, 3)))
