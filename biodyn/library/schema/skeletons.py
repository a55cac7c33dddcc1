"""Skeletons: segments, how their axes are found, and their joints."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from biodyn.library.faults import found
from biodyn.library.schema import SCHEMAS
from biodyn.library.schema.base import AXES, Name, Names, Table, Text, Three, Titled

Rule = Annotated[tuple[Name, ...], Field(strict=False, min_length=3, max_length=4)]
Frame = Annotated[tuple[Rule, ...], Field(strict=False, min_length=2, max_length=2)]


class FreedEntry(Table):
    """What a fixed rotation becomes where the settings free it."""

    option: Name = Field(description="name of the option")
    coordinate: Name = Field(description="name of the coordinate")
    range_deg: Annotated[tuple[float, ...], Field(strict=False, min_length=2, max_length=2)] = Field(
        description="smallest and largest angle, from the static one"
    )
    sd_deg: float = Field(gt=0, le=90, description="how far it usually goes from the static angle, deg")

    @model_validator(mode="after")
    def _holds_the_static_angle(self) -> FreedEntry:
        if not -180.0 <= self.range_deg[0] < 0.0 < self.range_deg[1] <= 180.0:
            raise ValueError(f"'range_deg' must hold 0, the static angle, found {list(self.range_deg)}")
        return self


class RotationEntry(Table):
    """One step of a joint: a free coordinate, or one kept as found while standing."""

    axis: Any = Field(description='"x", "y", "z", or three numbers')
    coordinate: Name | None = Field(None, description="name of the coordinate")
    fixed: bool = Field(False, description="kept as found in the static trial")
    freed: FreedEntry | None = Field(None, description="of a fixed rotation: the coordinate that an option makes of it")
    sign: Literal[1, -1] = Field(1, description="-1 turns the coordinate round")
    range_deg: Annotated[tuple[float, ...], Field(strict=False, min_length=2, max_length=2)] | None = Field(
        None, description="smallest and largest angle"
    )

    @model_validator(mode="after")
    def _is_an_axis(self) -> RotationEntry:
        numbers = isinstance(self.axis, list) and [
            v for v in self.axis if isinstance(v, (int, float)) and not isinstance(v, bool) and abs(v) <= 1e6
        ]
        if self.axis not in AXES and not (
            numbers and len(numbers) == len(self.axis) == 3 and sum(abs(v) for v in numbers) > 1e-6
        ):
            raise ValueError(f"'axis' must be x, y, z or three numbers that are not all 0, found {found(self.axis)}")
        if (self.coordinate is None) != self.fixed:
            raise ValueError("a rotation has a 'coordinate' or 'fixed = true', one of both")
        if self.freed is not None and not (self.fixed and self.axis in AXES):
            raise ValueError("'freed' belongs to a rotation about x, y or z that is 'fixed'")
        if self.range_deg is not None and not -720.0 <= self.range_deg[0] < self.range_deg[1] <= 720.0:
            raise ValueError(f"'range_deg' must rise, from -720 to 720 at most, found {list(self.range_deg)}")
        return self


class BaseEntry(Table):
    """Names of the six coordinates of the floating base."""

    rotations: Annotated[tuple[Name, ...], Field(strict=False, min_length=3, max_length=3)] = Field(description="names")
    translations: Annotated[tuple[Name, ...], Field(strict=False, min_length=3, max_length=3)] = Field(
        description="names"
    )


class SoleEntry(Table):
    """Where the sole is."""

    back: Name = Field(description="landmark")
    front: Name = Field(description="landmark")
    width: Name = Field(description="measure")


class TurnEntry(Table):
    """How the direction about the long axis is found."""

    coordinate: Name = Field(description="hinge coordinate")
    known_from: Names = Field(description="landmarks that make it known")


class UnseenEntry(Table):
    """How a body moves that no marker shows: in World, turned with the heading of the root."""

    attitude_deg: Three = Field(
        (0.0, 0.0, 0.0), description="mean tilt, list and turn (z, x, y) of the right side, deg"
    )
    swing: float = Field(0.0, ge=-3, le=3, description="tilt for each radian of its side's stride angle")


class BodyEntry(Table):
    """`[[body]]`: a segment, its axes and its joint to the parent."""

    name: Name = Field(description="of the body")
    parent: str = Field("", max_length=100, description="body it is jointed to; omitted = the floating base")
    joint: Name = Field(description="name of the joint to the parent")
    origin: Name = Field(description="landmark at the joint's centre")
    frames: Annotated[tuple[Frame, ...], Field(strict=False, min_length=1)] = Field(
        description="pairs of axis rules [axis, from, to]"
    )
    rotations: Annotated[tuple[RotationEntry, ...], Field(strict=False)] = Field(
        (), description="the joint's rotations"
    )
    template: Three | None = Field(None, description="joint centre in the parent, shares of body height")
    base: BaseEntry | None = Field(None, description="coordinates of the floating base")
    sole: SoleEntry | None = Field(None, description="of a foot")
    turn: TurnEntry | None = Field(None, description="direction about the long axis")
    unseen: UnseenEntry | None = Field(
        None, description="its motion where no marker shows it; omitted = fixed to its parent"
    )
    centre: Literal["refined"] | None = Field(None, description="the walk may move the joint centre")

    @model_validator(mode="after")
    def _is_a_body(self) -> BodyEntry:
        for exact, plane in self.frames:
            for rule in (exact, plane):
                if rule[0] not in AXES or (len(rule) == 4 and rule[3] != "lateral"):
                    raise ValueError(f"'frames': a rule is [x, y or z, landmark, landmark], found {list(rule)}")
                if rule[1] == rule[2]:
                    raise ValueError(f"'frames': an axis runs between two landmarks, found '{rule[1]}' twice")
            if exact[0] == plane[0]:
                raise ValueError(f"'frames': the two rules of a pair are about two axes, found {exact[0]} twice")
        if any(one.axis == other.axis for one, other in pairwise(self.rotations)):
            raise ValueError("'rotations': two steps that follow each other are about the same axis")
        if self.sole is not None and self.sole.back == self.sole.front:
            raise ValueError("'sole' needs two landmarks, 'back' and 'front' are the same")
        if (self.base is None) != bool(self.parent):
            raise ValueError("the body without 'parent' has a 'base', the others none")
        if not self.parent and self.rotations:
            raise ValueError("the body without 'parent' floats: it has 'base' and no 'rotations'")
        if self.template is not None and max(abs(share) for share in self.template) > 2.0:
            raise ValueError("'template' is in shares of body height, at most 2")
        return self


@SCHEMAS.register("body/skeletons")
class SkeletonTable(Titled):
    """A skeleton: its own bodies, or some bodies of another one freed."""

    extends: Text | None = Field(None, description="skeleton whose bodies it has: a library's, or a TOML file")
    free: Names = Field((), description="bodies whose joints move; the others are carried")
    body: Annotated[tuple[BodyEntry, ...], Field(strict=False)] = Field((), description="bodies")

    @model_validator(mode="after")
    def _is_whole(self) -> SkeletonTable:
        if self.extends is not None and (self.body or not self.free):
            raise ValueError("with 'extends' it has 'free', a list of bodies, and no [[body]]")
        if self.extends is None and (self.free or not self.body):
            raise ValueError("it has no [[body]]" if not self.body else "'free' needs 'extends'")
        return self
