"""Segments with their joints, and inertias, before any person is measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.errors import ModelError
from biodyn.geometry.rotations import cardan_zxy

_PRINCIPAL = {"z": 0, "x": 1, "y": 2}  # order of cardan_zxy


@dataclass(frozen=True)
class FreedRotation:
    """What a fixed rotation becomes where the settings free it (`changes.with_freed`).

    Attributes:
        name: of the option. coordinate: of the rotation then. range_rad: about the static angle.
        sd_rad: how far it usually goes from the static angle; the fit is held to that angle, weakly.
    """

    name: str
    coordinate: str
    range_rad: tuple[float, float]
    sd_rad: float


@dataclass(frozen=True, eq=False)  # compared by identity: arrays have no single truth value
class Rotation:
    """One step of a joint's rotation sequence, about `axis` (3,) in the axes reached so far.

    A named `coordinate` is free; without a name the angle found in the static trial is kept. The coordinate is the
    clinical one: its axis already carries side and sign.
    """

    axis: FloatArray
    coordinate: str | None
    range_rad: tuple[float, float]
    principal: str | None  # "x", "y" or "z" for a step of the Z-X-Y sequence of the static posture, None for others
    freed: FreedRotation | None = None  # what it may become
    sd_rad: float | None = None  # how far it goes from the static angle, where the fit is held to that


@dataclass(frozen=True)
class UnseenMotion:
    """How a segment that no marker shows moves while its owner walks, in World axes turned with the heading.

    Attributes:
        attitude_rad: mean tilt, list and turn about z, x and y (Rz Rx Ry).
        swing: tilt for each radian of the stride angle of its side: half of what the thigh of that side leans farther
            forward than the other one (segments of the midline: the right thigh).
    """

    attitude_rad: tuple[float, float, float]
    swing: float


@dataclass(frozen=True)
class BodyDefinition:
    """One segment of a skeleton and its joint to the parent.

    Attributes:
        name, parent ("" for the root), joint: names; `side` is "r", "l" or "".
        rotations: the joint, from the parent's axes to the body's.
        base_rotations, base_translations: names of the root's six coordinates.
        unseen: how it moves where no marker shows it; None: fixed to its parent then.
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
    def coordinates(self) -> tuple[str, ...]:
        """Names of the joint's coordinates, in the order of its rotations."""
        return tuple(step.coordinate for step in self.rotations if step.coordinate is not None)


BodyT = TypeVar("BodyT", bound=BodyDefinition, covariant=True)


@dataclass(frozen=True)
class Skeleton(Generic[BodyT]):
    """A skeleton: bodies parents first, and the bodies whose joints may move (the others are carried)."""

    name: str
    title: str
    citation: str
    bodies: tuple[BodyT, ...]
    free: frozenset[str]

    def body(self, name: str) -> BodyT:
        """Return a body by name."""
        for body in self.bodies:
            if body.name == name:
                return body
        raise ModelError(
            f"Skeleton '{self.name}' has no body '{name}'.", f"It has {', '.join(b.name for b in self.bodies)}."
        )

    @property
    def root(self) -> BodyT:
        """The floating base."""
        return self.bodies[0]


#: The skeleton of a body model: names and joints, nothing of how they were found.
SkeletonDefinition: TypeAlias = Skeleton[BodyDefinition]


def static_angles(definition: BodyDefinition, R_PB: FloatArray) -> tuple[float, ...]:
    """Return the angle of each step of a joint's rotation sequence, rad, for the segment's attitude in its parent."""
    found = cardan_zxy(R_PB)
    angles = []
    for step in definition.rotations:
        if step.principal is None:
            angles.append(0.0)  # its zero is the static posture
        else:
            axis_sign = step.axis[{"x": 0, "y": 1, "z": 2}[step.principal]]
            angles.append(float(found[_PRINCIPAL[step.principal]] * axis_sign))
    return tuple(angles)


@dataclass(frozen=True)
class Inertia:
    """Rigid-body inertia in body axes: mass kg, centre of mass (3,) m from the body origin, tensor (3, 3) kg m2 about it."""

    mass: float
    com: FloatArray
    tensor: FloatArray

    def moved(self, R: FloatArray, p: FloatArray) -> Inertia:
        """The same inertia seen from axes in which this body has rotation R (3, 3) and origin p (3,)."""
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
