"""Schemas of marker sets, skeletons, anthropometric tables and hip centres."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from biodyn.library.faults import shown_value
from biodyn.library.schema.base import AXES, SIDES, Name, Names, OneOrMore, Table, Text, Three, Titled

_Radius = Annotated[float, Field(ge=0, le=2)]
_Product = Annotated[float, Field(ge=-2, le=2)]
_AngleRange = Annotated[tuple[float, ...], Field(strict=False, min_length=2, max_length=2)]


class SegmentRow(Table):
    """Numbers of a segment for one sex."""

    mass: float = Field(gt=0, le=1, description="share of body mass")
    com: Any = Field(
        description="centre of mass: share of the distance from - to, or three shares of the length with 'origin'"
    )
    radii: Annotated[tuple[_Radius, ...], Field(strict=False, min_length=3, max_length=3)] = Field(
        description="radii of gyration about X, Y, Z, shares of the length"
    )
    products: Annotated[tuple[_Product, ...], Field(strict=False, min_length=3, max_length=3)] | None = Field(
        None, description="signed radii of the products of inertia XY, XZ, YZ"
    )

    @model_validator(mode="after")
    def _com_is_one_or_three_numbers(self) -> SegmentRow:
        three = isinstance(self.com, list)
        values = self.com if three else [self.com]
        low, high = (-2.0, 2.0) if three else (-0.5, 1.5)  # three may be off the line from - to, one is on it
        numbers = all(isinstance(v, (int, float)) and not isinstance(v, bool) and low <= v <= high for v in values)
        if not numbers or len(values) != (3 if three else 1):
            raise ValueError(
                f"'com' must be a number from -0.5 to 1.5, or three from -2 to 2, found {shown_value(self.com)}"
            )
        return self


class Segment(Table):
    """`[[segment]]`: mass, centre of mass and radii of gyration of a body or a part of it."""

    name: Name = Field(description="name of the segment")
    body: Name = Field(description="body of the skeleton that the segment belongs to")
    start: Name = Field(alias="from", description="landmark at the proximal end")
    end: Name = Field(alias="to", description="landmark at the distal end")
    origin: Name | None = Field(None, description="landmark from which 'com' is measured, if 'com' is three numbers")
    y: Annotated[tuple[Name, Name], Field(strict=False)] | None = Field(
        None, description="two landmarks on the Y axis of the numbers, if it is not the body's; needs 'origin'"
    )
    male: SegmentRow = Field(description="table of the numbers for men")
    female: SegmentRow = Field(description="table of the numbers for women")

    @model_validator(mode="after")
    def _consistent(self) -> Segment:
        for sex, row in (("male", self.male), ("female", self.female)):
            if isinstance(row.com, list) != (self.origin is not None):
                raise ValueError(f"'{sex}.com' must be three numbers with an 'origin', and one number without")
        if self.y is not None and self.origin is None:
            raise ValueError("'y' needs an 'origin': a single 'com' is measured on the line from - to")
        if (self.male.products is None) != (self.female.products is None):
            raise ValueError("'products' must be given for both sexes or for neither")
        return self


def _is_sided(text: str) -> bool:
    return any(sign in text for sign in SIDES)


class AnthropometryTable(Titled):
    """Masses, centres of mass and radii of gyration of the segments."""

    extends: Text | None = Field(None, description="table of the library, or TOML file, that has the segments")
    across: Name | None = Field(
        None, description="table of the library whose centres of mass are used across the segments' lines"
    )
    segment: Annotated[tuple[Segment, ...], Field(strict=False, min_length=1)] | None = Field(
        None, description="segments"
    )

    @model_validator(mode="after")
    def _whole_body(self) -> AnthropometryTable:
        if (self.segment is None) == (self.extends is None):
            raise ValueError("it must have either [[segment]] or 'extends', which names a table that has some")
        segments = self.segment or ()
        for sex in ("male", "female") if segments else ():
            total = sum(getattr(segment, sex).mass * (2 if _is_sided(segment.body) else 1) for segment in segments)
            # published tables sum to 0.999 to 1.002; sums are scaled to 1, but a typo must not be
            if not 0.9 <= total <= 1.1:
                raise ValueError(f"'{sex}.mass' of all segments, both sides, sums to {total:.3g}, expected 0.9 to 1.1")
        return self


# the largest published coefficient is 0.36 of a length, the largest constant 0.02 m: misplaced decimal points are refused
Coefficients = Annotated[
    dict[Literal["PD", "PW", "LL", "constant"], Annotated[float, Field(ge=-1, le=1)]], Field(min_length=1)
]


class Newington(Table):
    """Constants of Davis et al. 1991."""

    c_LL: float = Field(ge=-1, le=1, description="coefficient")
    c_constant: float = Field(ge=-1, le=1, description="m")
    at_LL: float = Field(ge=-1, le=1, description="coefficient")
    at_constant: float = Field(ge=-1, le=1, description="m")
    theta_rad: float = Field(ge=-3.2, le=3.2, description="rad")
    beta_rad: float = Field(ge=-3.2, le=3.2, description="rad")


class HipCentreTable(Titled):
    """Parameters of the hip joint centre: regression coefficients, Newington constants, or numbers of a named method."""

    x: Coefficients | None = Field(None, description="forward")
    y: Coefficients | None = Field(None, description="up")
    z: Coefficients | None = Field(None, description="lateral")
    newington: Newington | None = Field(None, description="constants of Davis et al. 1991")
    method: Name | None = Field(None, description="method of model/from_library/joint_centres")
    numbers: dict[Name, float] = Field(default_factory=dict, description="parameters of that method")

    @model_validator(mode="after")
    def _one_method(self) -> HipCentreTable:
        axes = [axis for axis in AXES if getattr(self, axis) is not None]
        if self.numbers and self.method is None:
            raise ValueError("'numbers' needs 'method', the method that uses them")
        if self.method is not None and (axes or self.newington is not None):
            raise ValueError("it has 'method' and its 'numbers', or x, y and z, or 'newington', not two of them")
        if self.method is None and self.newington is None and len(axes) < 3:
            missing = next(axis for axis in AXES if axis not in axes)
            raise ValueError(f"'{missing}' is missing: it needs x, y and z, coefficients of PD, PW, LL and a constant")
        if self.newington is not None and axes:
            raise ValueError("it has x, y and z, or 'newington', not both")
        return self


class MarkerEntry(Table):
    """`[[marker]]`: one marker, or the same marker on both sides."""

    labels: OneOrMore = Field(description="spellings of its label; {S} is R or L")
    landmark: str = Field("", max_length=100, description="landmark of the marker; omitted = none")
    body: Name = Field(description="segment of the marker")
    weight: float = Field(1.0, ge=0, le=1000, description="weight in the marker fit; 0 = not fitted")
    words: OneOrMore | None = Field(
        None, description="words of the label: 'knee medial', 'a|b' either, 'a?' optional, '...' any place word"
    )
    beside: dict[Name, Name] = Field(
        default_factory=dict, description="spellings used only if the file also has the other label; 'A|B' either"
    )
    or_landmark: str = Field(
        "", max_length=100, description="alternative landmark, chosen by the other labels of the file"
    )
    otherwise: OneOrMore | None = Field(
        None, description="spellings for this marker if another label already marks their first meaning"
    )
    yields: bool = Field(False, description="a label that marks the same landmark more clearly has priority")
    static_only: bool = Field(False, description="not expected in walking trials")
    soft: bool = Field(False, description="position on the segment estimated from the walking trial")

    @model_validator(mode="after")
    def _labels_of_both_sides(self) -> MarkerEntry:
        one_sided = next((label for label in self.labels if not _is_sided(label)), None)
        if _is_sided(f"{self.landmark} {self.body}") and one_sided is not None:
            raise ValueError(f"label '{one_sided}' is the same for both sides: write {{S}} where it has R and L")
        return self


class MarkerSetTable(Titled):
    """A marker set."""

    extends: Text | None = Field(None, description="marker set of the library, or TOML file, that is extended")
    rename: dict[Name, Name] = Field(default_factory=dict, description="label in the file = label of the extended set")
    labels: OneOrMore | None = Field(None, description="labels defined in the anatomical set")
    static_only: Names = Field((), description="those of 'labels' that are not expected in walking trials")
    requires: Annotated[tuple[OneOrMore, ...], Field(strict=False)] = Field(
        (), description="groups of labels; one label of each group is required"
    )
    requires_landmarks: Annotated[tuple[OneOrMore, ...], Field(strict=False)] = Field(
        (), description="groups of landmarks; one landmark of each group is required"
    )
    marker: Annotated[tuple[MarkerEntry, ...], Field(strict=False)] = Field((), description="markers")

    @model_validator(mode="after")
    def _complete(self) -> MarkerSetTable:
        if self.extends is None:
            if self.rename:
                raise ValueError("[rename] needs 'extends': the set whose labels are renamed")
            if not self.marker and not self.labels:
                raise ValueError("it has no [[marker]] and no 'labels', and no 'extends' that names a set with some")
            if not (self.requires or self.requires_landmarks):
                raise ValueError("without 'extends' it must list the required markers in 'requires'")
        return self


_Rule = Annotated[tuple[Name, ...], Field(strict=False, min_length=3, max_length=4)]
_Frame = Annotated[tuple[_Rule, ...], Field(strict=False, min_length=2, max_length=2)]


class FreedEntry(Table):
    """Coordinate that replaces a fixed rotation if the settings free it."""

    option: Name = Field(description="name of the option")
    coordinate: Name = Field(description="name of the coordinate")
    range_deg: _AngleRange = Field(description="smallest and largest angle relative to the static angle")
    sd_deg: float = Field(gt=0, le=90, description="standard deviation about the static angle, deg")

    @model_validator(mode="after")
    def _range_includes_static_angle(self) -> FreedEntry:
        if not -180.0 <= self.range_deg[0] < 0.0 < self.range_deg[1] <= 180.0:
            raise ValueError(f"'range_deg' must include 0, the static angle, found {list(self.range_deg)}")
        return self


class RotationEntry(Table):
    """One rotation of a joint: a free coordinate, or fixed at its angle in the static trial."""

    axis: Any = Field(description='"x", "y", "z", or three numbers')
    coordinate: Name | None = Field(None, description="name of the coordinate")
    fixed: bool = Field(False, description="fixed at its angle in the static trial")
    freed: FreedEntry | None = Field(None, description="coordinate of a fixed rotation that an option frees")
    sign: Literal[1, -1] = Field(1, description="-1 reverses the coordinate")
    range_deg: _AngleRange | None = Field(None, description="smallest and largest angle")

    @model_validator(mode="after")
    def _valid(self) -> RotationEntry:
        numbers = isinstance(self.axis, list) and [
            v for v in self.axis if isinstance(v, (int, float)) and not isinstance(v, bool) and abs(v) <= 1e6
        ]
        if self.axis not in AXES and not (
            numbers and len(numbers) == len(self.axis) == 3 and sum(abs(v) for v in numbers) > 1e-6
        ):
            raise ValueError(
                f"'axis' must be x, y, z or three numbers that are not all 0, found {shown_value(self.axis)}"
            )
        if (self.coordinate is None) != self.fixed:
            raise ValueError("a rotation has either a 'coordinate' or 'fixed = true'")
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
    """Landmarks and width of the sole."""

    back: Name = Field(description="landmark")
    front: Name = Field(description="landmark")
    width: Name = Field(description="measure")


class TurnEntry(Table):
    """Rotation of a segment about its long axis."""

    coordinate: Name = Field(description="hinge coordinate that determines it in the walking trial")
    known_from: Names = Field(description="landmarks that determine it in the static trial")


class UnseenEntry(Table):
    """Assumed motion of a segment without markers: in World, rotated with the heading of the root."""

    attitude_deg: Three = Field((0.0, 0.0, 0.0), description="mean tilt, list and rotation (z, x, y), right side, deg")
    swing: float = Field(0.0, ge=-3, le=3, description="tilt per radian of the stride angle of its side")


class BodyEntry(Table):
    """`[[body]]`: a segment, its axes and its joint to the parent."""

    name: Name = Field(description="name of the body")
    parent: str = Field("", max_length=100, description="proximal body; omitted = the floating base")
    joint: Name = Field(description="name of the joint to the parent")
    origin: Name = Field(description="landmark at the joint centre")
    frames: Annotated[tuple[_Frame, ...], Field(strict=False, min_length=1)] = Field(
        description="pairs of axis rules [axis, from, to]"
    )
    rotations: Annotated[tuple[RotationEntry, ...], Field(strict=False)] = Field(
        (), description="rotations of the joint"
    )
    template: Three | None = Field(None, description="joint centre in the parent, shares of body height")
    base: BaseEntry | None = Field(None, description="coordinates of the floating base")
    sole: SoleEntry | None = Field(None, description="sole of a foot")
    turn: TurnEntry | None = Field(None, description="rotation about the long axis")
    unseen: UnseenEntry | None = Field(
        None, description="assumed motion if it has no markers; omitted = fixed to its parent"
    )
    centre: Literal["refined"] | None = Field(None, description="joint centre refined from the walking trial")

    @model_validator(mode="after")
    def _valid(self) -> BodyEntry:
        for exact, plane in self.frames:
            for rule in (exact, plane):
                if rule[0] not in AXES or (len(rule) == 4 and rule[3] != "lateral"):
                    raise ValueError(f"'frames': a rule is [x, y or z, landmark, landmark], found {list(rule)}")
                if rule[1] == rule[2]:
                    raise ValueError(f"'frames': an axis runs between two landmarks, found '{rule[1]}' twice")
            if exact[0] == plane[0]:
                raise ValueError(f"'frames': the two rules of a pair are about two axes, found {exact[0]} twice")
        if any(first.axis == second.axis for first, second in pairwise(self.rotations)):
            raise ValueError("'rotations': two consecutive rotations are about the same axis")
        if self.sole is not None and self.sole.back == self.sole.front:
            raise ValueError("'sole' needs two landmarks, 'back' and 'front' are the same")
        if (self.base is None) != bool(self.parent):
            raise ValueError("only the body without 'parent' has a 'base'")
        if not self.parent and self.rotations:
            raise ValueError("the body without 'parent' is the floating base: it has 'base' and no 'rotations'")
        if self.template is not None and max(abs(share) for share in self.template) > 2.0:
            raise ValueError("'template' is in shares of body height, at most 2")
        return self


class SkeletonTable(Titled):
    """A skeleton: its own bodies, or another skeleton with some bodies free."""

    extends: Text | None = Field(None, description="skeleton of the library, or TOML file, that has the bodies")
    free: Names = Field((), description="bodies whose joints move; the others are fixed to their parents")
    body: Annotated[tuple[BodyEntry, ...], Field(strict=False)] = Field((), description="bodies")

    @model_validator(mode="after")
    def _complete(self) -> SkeletonTable:
        if self.extends is not None and (self.body or not self.free):
            raise ValueError("with 'extends' it has 'free', a list of bodies, and no [[body]]")
        if self.extends is None and (self.free or not self.body):
            raise ValueError("it has no [[body]]" if not self.body else "'free' needs 'extends'")
        return self
