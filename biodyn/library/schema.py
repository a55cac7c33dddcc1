"""What every kind of table may hold. Biodyn's own tables and a user's are held against the same schemas.

Names of landmarks and segments are text here: which there are depends on several tables together (`model.user_tables`).
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from biodyn.errors import TableError
from biodyn.library.faults import first_fault, found
from biodyn.library.load import UserFile

Text = Annotated[str, Field(min_length=1, max_length=2000)]
Name = Annotated[str, Field(min_length=1, max_length=100)]
Names = Annotated[tuple[Name, ...], Field(strict=False)]
OneOrMore = Annotated[tuple[Name, ...], Field(strict=False, min_length=1)]
Three = Annotated[tuple[float, ...], Field(strict=False, min_length=3, max_length=3)]
_PLACEHOLDER = re.compile(r"\{[^{}]*\}?|\}")
_SIDES = ("{s}", "{S}", "{o}")


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, strict=True)

    @model_validator(mode="after")
    def _sides_are_spelt(self) -> _Table:
        for name, value in self:
            for text in _texts_of(value):
                wrong = next((p for p in _PLACEHOLDER.findall(text) if p not in _SIDES), None)
                if wrong is not None:
                    raise ValueError(f"'{name}' holds {wrong!r}: the signs for the sides are {', '.join(_SIDES)}")
        return self


class _Titled(_Table):
    name: Name | None = Field(None, description="short name; omitted = the file's")
    title: Text | None = Field(None, description="for people")
    citation: Text | None = Field(None, description="where it comes from")


# -- marker sets -------------------------------------------------------------------------------------------------


class MarkerEntry(_Table):
    """`[[marker]]`: one marker, or the same marker on both sides."""

    labels: OneOrMore = Field(description="spellings of its label; {S} stands for R and L")
    landmark: str = Field("", max_length=100, description="landmark it marks; omitted = none")
    body: Name = Field(description="segment that carries it")
    weight: float = Field(1.0, ge=0, le=1000, description="in the fit; 0 = not fitted")
    static_only: bool = Field(False, description="not expected in walks")
    soft: bool = Field(False, description="its place on the segment is taken from the walk")

    @model_validator(mode="after")
    def _both_sides_have_labels(self) -> MarkerEntry:
        sided = any(sign in f"{self.landmark} {self.body}" for sign in _SIDES)
        one_sided = next((label for label in self.labels if not any(sign in label for sign in _SIDES)), None)
        if sided and one_sided is not None:
            raise ValueError(f"label '{one_sided}' is the same for both sides: write {{S}} where it has R and L")
        return self


class MarkerSetTable(_Titled):
    """A marker set."""

    extends: Text | None = Field(None, description="set that this one adds to: a library's, or a TOML file")
    rename: dict[Name, Name] = Field(default_factory=dict, description="label in the file = label of the extended set")
    requires: Annotated[tuple[OneOrMore, ...], Field(strict=False)] = Field(
        (), description="of each group one label must be there"
    )
    requires_landmarks: Annotated[tuple[OneOrMore, ...], Field(strict=False)] = Field(
        (), description="of each group one landmark must be marked"
    )
    marker: Annotated[tuple[MarkerEntry, ...], Field(strict=False)] = Field((), description="markers")

    @model_validator(mode="after")
    def _is_whole(self) -> MarkerSetTable:
        if self.extends is None:
            if self.rename:
                raise ValueError("[rename] needs 'extends': the set whose labels are renamed")
            if not self.marker:
                raise ValueError("it has no [[marker]], and no 'extends' that names a set with some")
            if not (self.requires or self.requires_landmarks):
                raise ValueError("without 'extends' it must say in 'requires' which markers have to be there")
        return self


# -- anthropometric tables ---------------------------------------------------------------------------------------


class SegmentRow(_Table):
    """Numbers of a segment for one sex."""

    mass: float = Field(gt=0, le=1, description="share of body mass")
    com: Any = Field(
        description="centre of mass: share of the way from - to, or three shares of its length with 'origin'"
    )
    radii: Annotated[
        tuple[Annotated[float, Field(ge=0, le=2)], ...], Field(strict=False, min_length=3, max_length=3)
    ] = Field(description="radii of gyration about X, Y, Z, shares of the length")
    products: (
        Annotated[tuple[Annotated[float, Field(ge=-2, le=2)], ...], Field(strict=False, min_length=3, max_length=3)]
        | None
    ) = Field(None, description="signed radii of the products of inertia XY, XZ, YZ")

    @model_validator(mode="after")
    def _com_is_one_or_three_numbers(self) -> SegmentRow:
        three = isinstance(self.com, list)
        values = self.com if three else [self.com]
        low, high = (-2.0, 2.0) if three else (-0.5, 1.5)  # three may lie beside the line, one lies on it
        numbers = all(isinstance(v, (int, float)) and not isinstance(v, bool) and low <= v <= high for v in values)
        if not numbers or len(values) != (3 if three else 1):
            raise ValueError(f"'com' must be a number from -0.5 to 1.5, or three from -2 to 2, found {found(self.com)}")
        return self


class Segment(_Table):
    """`[[segment]]`: mass, centre of mass and radii of gyration, added to those of its body."""

    name: Name = Field(description="of the segment")
    body: Name = Field(description="body of the skeleton it belongs to")
    start: Name = Field(alias="from", description="landmark at its beginning")
    end: Name = Field(alias="to", description="landmark at its end")
    origin: Name | None = Field(None, description="landmark that 'com' starts from, where it is three numbers")
    male: SegmentRow = Field(description="table of the numbers for men")
    female: SegmentRow = Field(description="table of the numbers for women")

    @model_validator(mode="after")
    def _agrees(self) -> Segment:
        for sex, row in (("male", self.male), ("female", self.female)):
            if isinstance(row.com, list) != (self.origin is not None):
                raise ValueError(f"'{sex}.com' must be three numbers with an 'origin', and one number without")
        if (self.male.products is None) != (self.female.products is None):
            raise ValueError("'products' must be there for both sexes or for neither")
        return self

    @property
    def copies(self) -> int:
        """2 where it stands for both sides."""
        return 2 if any(sign in self.body for sign in _SIDES) else 1


class AnthropometryTable(_Titled):
    """Masses, centres of mass and radii of gyration of the segments."""

    segment: Annotated[tuple[Segment, ...], Field(strict=False, min_length=1)] = Field(description="segments")

    @model_validator(mode="after")
    def _is_a_whole_body(self) -> AnthropometryTable:
        for sex in ("male", "female"):
            total = sum(segment.copies * getattr(segment, sex).mass for segment in self.segment)
            # published tables sum to 1 within their rounding, .999 to 1.002; sums are scaled, a typo must not be
            if not 0.9 <= total <= 1.1:
                raise ValueError(f"'{sex}.mass' of all segments, both sides, sums to {total:.3g}, expected 0.9 to 1.1")
        return self


# -- skeletons ---------------------------------------------------------------------------------------------------

Rule = Annotated[tuple[Name, ...], Field(strict=False, min_length=3, max_length=4)]
Frame = Annotated[tuple[Rule, ...], Field(strict=False, min_length=2, max_length=2)]
_AXES = ("x", "y", "z")


class RotationEntry(_Table):
    """One step of a joint: a free coordinate, or one kept as found while standing."""

    axis: Any = Field(description='"x", "y", "z", or three numbers')
    coordinate: Name | None = Field(None, description="name of the coordinate")
    fixed: bool = Field(False, description="kept as found in the static trial")
    sign: Literal[1, -1] = Field(1, description="-1 turns the coordinate round")
    range_deg: Annotated[tuple[float, ...], Field(strict=False, min_length=2, max_length=2)] | None = Field(
        None, description="smallest and largest angle"
    )

    @model_validator(mode="after")
    def _is_an_axis(self) -> RotationEntry:
        numbers = isinstance(self.axis, list) and [
            v for v in self.axis if isinstance(v, (int, float)) and not isinstance(v, bool) and abs(v) <= 1e6
        ]
        if self.axis not in _AXES and not (
            numbers and len(numbers) == len(self.axis) == 3 and sum(abs(v) for v in numbers) > 1e-6
        ):
            raise ValueError(f"'axis' must be x, y, z or three numbers that are not all 0, found {found(self.axis)}")
        if (self.coordinate is None) != self.fixed:
            raise ValueError("a rotation has a 'coordinate' or 'fixed = true', one of both")
        if self.range_deg is not None and not -720.0 <= self.range_deg[0] < self.range_deg[1] <= 720.0:
            raise ValueError(f"'range_deg' must rise, from -720 to 720 at most, found {list(self.range_deg)}")
        return self


class BaseEntry(_Table):
    """Names of the six coordinates of the floating base."""

    rotations: Annotated[tuple[Name, ...], Field(strict=False, min_length=3, max_length=3)] = Field(description="names")
    translations: Annotated[tuple[Name, ...], Field(strict=False, min_length=3, max_length=3)] = Field(
        description="names"
    )


class SoleEntry(_Table):
    """Where the sole is."""

    back: Name = Field(description="landmark")
    front: Name = Field(description="landmark")
    width: Name = Field(description="measure")


class TurnEntry(_Table):
    """How the direction about the long axis is found."""

    coordinate: Name = Field(description="hinge coordinate")
    known_from: Names = Field(description="landmarks that make it known")


class BodyEntry(_Table):
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
    centre: Literal["refined"] | None = Field(None, description="the walk may move the joint centre")

    @model_validator(mode="after")
    def _is_a_body(self) -> BodyEntry:
        for exact, plane in self.frames:
            for rule in (exact, plane):
                if rule[0] not in _AXES or (len(rule) == 4 and rule[3] != "lateral"):
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


class SkeletonTable(_Titled):
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


# -- hip centres, magnitudes of errors ---------------------------------------------------------------------------

# the largest published are .36 of a length and .02 m: a slipped decimal point is refused
Coefficients = Annotated[
    dict[Literal["PD", "PW", "LL", "constant"], Annotated[float, Field(ge=-1, le=1)]], Field(min_length=1)
]


class Newington(_Table):
    """Constants of Davis et al. 1991."""

    c_LL: float = Field(ge=-1, le=1, description="coefficient")
    c_constant: float = Field(ge=-1, le=1, description="m")
    at_LL: float = Field(ge=-1, le=1, description="coefficient")
    at_constant: float = Field(ge=-1, le=1, description="m")
    theta_rad: float = Field(ge=-3.2, le=3.2, description="rad")
    beta_rad: float = Field(ge=-3.2, le=3.2, description="rad")


class HipCentreTable(_Titled):
    """One regression of the hip joint centre."""

    x: Coefficients | None = Field(None, description="forward")
    y: Coefficients | None = Field(None, description="up")
    z: Coefficients | None = Field(None, description="towards the hip's side")
    newington: Newington | None = Field(None, description="constants of Davis et al. 1991")

    @model_validator(mode="after")
    def _is_one(self) -> HipCentreTable:
        axes = [axis for axis in _AXES if getattr(self, axis) is not None]
        if self.newington is None and len(axes) < 3:
            missing = next(axis for axis in _AXES if axis not in axes)
            raise ValueError(f"'{missing}' is missing: it needs x, y and z, coefficients of PD, PW, LL and a constant")
        if self.newington is not None and axes:
            raise ValueError("it has x, y and z, or 'newington', not both")
        return self


Millimetres = Annotated[float, Field(ge=0, le=200)]


class _Source(_Table):
    title: str = Field("", max_length=2000, description="for people")
    citation: str = Field("", max_length=2000, description="where the number comes from")


class _Noise(_Source):
    sd_mm: Millimetres = Field(description="one standard deviation, mm")
    from_hz: float = Field(gt=0, le=1e5, description="a trial shows its own noise above this frequency, Hz")


class _SoftTissue(_Source):
    shares: Annotated[
        tuple[Annotated[float, Field(ge=0, le=1)], ...], Field(strict=False, min_length=1, max_length=50)
    ] = Field(description="of the variance: offset, then harmonics of the stride")
    stride_s: float = Field(gt=0.1, le=100, description="duration where no stride is known, s")
    sd_mm: dict[Name, Millimetres] = Field(description="one standard deviation of every segment, mm")

    @model_validator(mode="after")
    def _all_of_it(self) -> _SoftTissue:
        if abs(sum(self.shares) - 1.0) > 1e-6:  # typed in decimals
            raise ValueError(f"'shares' must sum to 1, they sum to {sum(self.shares):g}")
        return self


class _Centres(_Source):
    sd_mm: dict[Name, Millimetres] = Field(description="one standard deviation of every segment, mm")


class _Inertias(_Source):
    mass_percent: float = Field(ge=0, le=100, description="one standard deviation, %")
    moment_percent: float = Field(ge=0, le=100, description="one standard deviation, %")
    centre_mm: Millimetres = Field(description="one standard deviation, mm")


class _Pressure(_Source):
    sd_mm: Millimetres = Field(description="one standard deviation, mm")


class _Cutoff(_Source):
    sd_hz: float = Field(ge=0, le=20, description="one standard deviation, Hz")


class MagnitudesTable(_Table):
    """One standard deviation of every source of error."""

    marker_noise: _Noise = Field(description="table of the markers' noise")
    soft_tissue: _SoftTissue = Field(description="table of soft tissue movement")
    joint_centres: _Centres = Field(description="table of the joint centres' errors")
    inertias: _Inertias = Field(description="table of the inertias' errors")
    centre_of_pressure: _Pressure = Field(description="table of the centre of pressure's error")
    cutoff: _Cutoff = Field(description="table of the cut-off's error")


# -- tables that only biodyn has ---------------------------------------------------------------------------------


class Recipe(_Table):
    """One way to a landmark; which keys an operation takes stands at the head of landmarks.toml."""

    op: Literal[
        "point", "midpoint", "chord", "alignment_device", "hip_regression", "between", "extend", "project", "above",
        "in_frame", "in_body", "inward",
    ]  # fmt: skip
    of: Any = None
    start: Name | None = Field(None, alias="from")
    end: Name | None = Field(None, alias="to")
    through: Name | None = None
    proximal: Name | None = None
    lateral: Name | None = None
    plane: Name | None = None
    towards: Name | None = None
    width: Name | None = None
    measure: Name | None = None
    same_side: bool = False
    needs: Name | None = None
    fraction: float | None = None
    factor: float | None = None
    by: float | None = None
    by_height: Any = None
    frame: Name | None = None
    body: Name | None = None
    origin: Name | None = None
    position: Three | None = None
    scale_from: Name | None = None
    scale_to: Name | None = None
    side: Name | None = None
    front: Name | None = None
    back: Name | None = None
    right: Name | None = None
    left: Name | None = None
    leg: OneOrMore | None = None
    leg_length: Name | None = None
    pelvis_width: Name | None = None
    asis_trochanter: Name | None = None


class LandmarkEntry(_Table):
    """`[[landmark]]`: a landmark computed from others."""

    name: Name
    recipes: Annotated[tuple[Recipe, ...], Field(strict=False, min_length=1)]


class LandmarksTable(_Table):
    """Landmarks computed from others."""

    landmark: Annotated[tuple[LandmarkEntry, ...], Field(strict=False, min_length=1)]


class _ByHeight(_Table):
    by_height: float = Field(gt=0, lt=1)


class _HeightRule(_Table):
    start: Name = Field(alias="from")
    through: Names
    end: Name = Field(alias="to")
    fraction: float = Field(gt=0, le=1)


class MeasuresTable(_Table):
    """Subject measures and what stands in for them."""

    measure: dict[Name, _ByHeight]
    height_from: dict[Name, _HeightRule]


#: By kind of table: the folders of the library, and what a user may give a file for.
SCHEMAS: dict[str, type[_Table]] = {
    "skeletons": SkeletonTable,
    "markersets": MarkerSetTable,
    "anthropometry": AnthropometryTable,
    "hip_centres": HipCentreTable,
    "uncertainty": MagnitudesTable,
    "landmarks": LandmarksTable,
    "measures": MeasuresTable,
}


@lru_cache(maxsize=64)
def require_valid(file: UserFile, kind: str) -> None:
    """Raise TableError, naming file, entry and key, where a user's file is no table of its kind."""
    try:
        SCHEMAS[kind].model_validate(file.content)
    except ValidationError as error:
        fault = first_fault(error, SCHEMAS[kind])
        raise table_error(file, fault.path, fault.problem, fault.hint) from error


def table_error(file: UserFile, path: tuple[str | int, ...], problem: str, hint: str = "") -> TableError:
    """Return the error that names file, entry (`[[marker]] 3 (LKNE)`) and key, and says what is wrong."""
    entry, key = _place(file.content, path)
    where = ", ".join(filter(None, (f"'{file.path}'", entry, f"key '{key}'" if key else "")))
    return TableError(f"{where}: {problem.rstrip('.')}.", hint)


def _place(content: dict[str, Any], path: tuple[str | int, ...]) -> tuple[str, str]:
    """The list entry a path goes through, in words, and the key below it."""
    at = next((i for i, part in enumerate(path) if isinstance(part, int)), None)
    if at is None or at == 0 or not isinstance(content.get(str(path[0])), list):
        return "", ".".join(map(str, path))
    entries = content[str(path[0])]
    number = int(path[at])
    entry = entries[number] if at == 1 and number < len(entries) else None
    if not isinstance(entry, dict):
        return "", f"{path[0]}, number {number + 1}"
    named = entry.get("name", entry.get("labels", ""))
    words = ", ".join(map(str, named)) if isinstance(named, list) else str(named)
    below = [str(part + 1) if isinstance(part, int) else part for part in path[at + 1 :]]
    return f"[[{path[0]}]] {number + 1}" + (f" ({words[:60]})" if words else ""), ".".join(below)


def _texts_of(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, tuple):
        return [text for item in value for text in _texts_of(item)]
    return list(value) if isinstance(value, dict) and all(isinstance(key, str) for key in value) else []
