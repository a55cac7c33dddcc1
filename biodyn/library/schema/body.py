"""Tables of the body: marker sets, landmarks, skeletons, anthropometry, joint centres, label words."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Any, Literal

from pydantic import Field, RootModel, model_validator

from biodyn.library.faults import found
from biodyn.library.schema import SCHEMAS
from biodyn.library.schema.base import (
    AXES,
    SIDES,
    Name,
    Names,
    OneOrMore,
    Range,
    Strict,
    Table,
    Text,
    Texts,
    Three,
    Titled,
)


class SegmentRow(Table):
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


class Segment(Table):
    """`[[segment]]`: mass, centre of mass and radii of gyration, added to those of its body."""

    name: Name = Field(description="of the segment")
    body: Name = Field(description="body of the skeleton it belongs to")
    start: Name = Field(alias="from", description="landmark at its beginning")
    end: Name = Field(alias="to", description="landmark at its end")
    origin: Name | None = Field(None, description="landmark that 'com' starts from, where it is three numbers")
    y: Annotated[tuple[Name, Name], Field(strict=False)] | None = Field(
        None,
        description="landmarks from which to which the numbers' Y axis runs, where it is not the body's; with 'origin'",
    )
    male: SegmentRow = Field(description="table of the numbers for men")
    female: SegmentRow = Field(description="table of the numbers for women")

    @model_validator(mode="after")
    def _agrees(self) -> Segment:
        for sex, row in (("male", self.male), ("female", self.female)):
            if isinstance(row.com, list) != (self.origin is not None):
                raise ValueError(f"'{sex}.com' must be three numbers with an 'origin', and one number without")
        if self.y is not None and self.origin is None:
            raise ValueError("'y' needs an 'origin': one number 'com' lies on the line from - to")
        if (self.male.products is None) != (self.female.products is None):
            raise ValueError("'products' must be there for both sexes or for neither")
        return self

    @property
    def copies(self) -> int:
        """2 where it stands for both sides."""
        return 2 if any(sign in self.body for sign in SIDES) else 1


@SCHEMAS.register("body/anthropometry")
class AnthropometryTable(Titled):
    """Masses, centres of mass and radii of gyration of the segments."""

    extends: Text | None = Field(
        None, description="table whose segments are taken, where there are none here: a library's, or a TOML file"
    )
    across: Name | None = Field(
        None, description="table of the library that says how far beside the segments' lines mass centres lie"
    )
    segment: Annotated[tuple[Segment, ...], Field(strict=False, min_length=1)] | None = Field(
        None, description="segments"
    )

    @model_validator(mode="after")
    def _has_segments(self) -> AnthropometryTable:
        if (self.segment is None) == (self.extends is None):
            raise ValueError("it must have either [[segment]] or 'extends', which names a table that has some")
        return self

    @model_validator(mode="after")
    def _is_a_whole_body(self) -> AnthropometryTable:
        if self.segment is None:
            return self
        for sex in ("male", "female"):
            total = sum(segment.copies * getattr(segment, sex).mass for segment in self.segment)
            # published tables sum to 1 within their rounding, .999 to 1.002; sums are scaled, a typo must not be
            if not 0.9 <= total <= 1.1:
                raise ValueError(f"'{sex}.mass' of all segments, both sides, sums to {total:.3g}, expected 0.9 to 1.1")
        return self


# the largest published are .36 of a length and .02 m: a slipped decimal point is refused
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


@SCHEMAS.register("hip_centres")
class HipCentreTable(Titled):
    """One row of the hip joint centre: coefficients of a regression, constants, or the numbers of a named method."""

    x: Coefficients | None = Field(None, description="forward")
    y: Coefficients | None = Field(None, description="up")
    z: Coefficients | None = Field(None, description="towards the hip's side")
    newington: Newington | None = Field(None, description="constants of Davis et al. 1991")
    method: Name | None = Field(None, description="method of model/from_library/joint_centres that the row is for")
    numbers: dict[Name, float] = Field(default_factory=dict, description="what that method reads")

    @model_validator(mode="after")
    def _is_one(self) -> HipCentreTable:
        axes = [axis for axis in AXES if getattr(self, axis) is not None]
        if self.numbers and self.method is None:
            raise ValueError("'numbers' needs 'method', the method that reads them")
        if self.method is not None and (axes or self.newington is not None):
            raise ValueError("it has 'method' and its 'numbers', or x, y and z, or 'newington', not two of them")
        if self.method is None and self.newington is None and len(axes) < 3:
            missing = next(axis for axis in AXES if axis not in axes)
            raise ValueError(f"'{missing}' is missing: it needs x, y and z, coefficients of PD, PW, LL and a constant")
        if self.newington is not None and axes:
            raise ValueError("it has x, y and z, or 'newington', not both")
        return self


@SCHEMAS.register("body/joint_centres")
class HipCentreRows(RootModel[dict[Name, HipCentreTable]]):
    """All rows of the library, by the names that settings give."""


_Letter = Annotated[str, Field(min_length=1, max_length=1)]
_Pair = Annotated[tuple[Name, ...], Field(strict=False, min_length=2, max_length=2)]


class _Sides(Strict):
    pairs: Annotated[tuple[_Pair, ...], Field(strict=False, min_length=1)]


class _Nothing(Strict):
    spelt: OneOrMore


class _Place(Strict):
    spelt: OneOrMore
    single: Annotated[tuple[_Letter, ...], Field(strict=False)] = Field(
        (), description="letters read beside a word only"
    )
    contrast: Annotated[tuple[_Letter, ...], Field(strict=False)] = Field(
        (), description="letters read only where the file has the opposite one at the same place"
    )


class _Many(Strict):
    landmarks: OneOrMore


class _Keypoints(Strict):
    without: Name = Field(description="segment on which keypoints have no landmark")
    joints: OneOrMore = Field(description="joints that keypoints name bare, on both sides")
    others: OneOrMore = Field(description="keypoints of which one is beside them")


@SCHEMAS.register("body/label_words")
class LabelWords(Table):
    """Words that labels are made of."""

    sides: _Sides
    nothing: _Nothing = Field(description="words without a meaning of their own")
    number: dict[Name, OneOrMore] = Field(description="numbers written out")
    place: dict[Name, _Place] = Field(description="where on a part")
    part: dict[Name, OneOrMore] = Field(description="parts of the body and their spellings")
    joined: dict[Name, Name] = Field(description="spellings that stand for several words")
    writing: dict[Name, Name] = Field(description="words of other writings and what stands for them")
    letters: dict[Name, Name] = Field(description="letters that are no accented ones and what they are compared as")
    accented: dict[Name, Name] = Field(
        description="words that without accents would be others and what stands for them"
    )
    segment: dict[Name, Name] = Field(
        description="words that name a segment: before its landmarks they say nothing more"
    )
    many: _Many = Field(description="landmarks of which a second one follows its segment")
    keypoints: _Keypoints = Field(description="names by which keypoints of videos are told")
    regions: dict[Name, Names] = Field(description="segments that are marked together or not at all")


class Recipe(Table):
    """One way to a landmark; which keys an operation takes stands at the head of landmarks.toml."""

    op: Literal[
        "point", "midpoint", "chord", "alignment_device", "hip_regression", "between", "extend", "project", "midplane",
        "above", "beside", "in_frame", "in_body", "inward", "level",
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
    rotation: Name | None = None
    usual_rotation_deg: float | None = Field(None, ge=-90, le=90)
    raised: Name | None = None
    needs: Name | None = None
    notice: Text | None = None
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


class LandmarkEntry(Table):
    """`[[landmark]]`: a landmark computed from others."""

    name: Name
    recipes: Annotated[tuple[Recipe, ...], Field(strict=False, min_length=1)]


@SCHEMAS.register("body/landmarks")
class LandmarksTable(Table):
    """Landmarks computed from others."""

    one_of_two: Names
    landmark: Annotated[tuple[LandmarkEntry, ...], Field(strict=False, min_length=1)]


class _ByHeight(Table):
    by_height: float = Field(gt=0, lt=1)


class _HeightRule(Table):
    start: Name = Field(alias="from")
    through: Names
    end: Name = Field(alias="to")
    fraction: float = Field(gt=0, le=1)


class _LegLength(Table):
    measure: Name
    # the field of the table is called "from", which Python keeps for itself
    above: Name = Field(alias="from")
    to: Name
    range_m: Range


@SCHEMAS.register("body/measures")
class MeasuresTable(Table):
    """Subject measures and what stands in for them."""

    measure: dict[Name, _ByHeight]
    leg_length: _LegLength
    height_from: dict[Name, _HeightRule]


class _InnerCentre(Table):
    landmark: Name
    title: Name
    share_of_height: float = Field(gt=0, lt=0.1)


@SCHEMAS.register("body/inside_body")
class InsideBodyTable(Table):
    """How near to a joint centre no skin marker can be."""

    centre: Annotated[tuple[_InnerCentre, ...], Field(strict=False, min_length=1)]


class _ThreePoints(Table):
    body: Name
    end: Name
    plane: Name


@SCHEMAS.register("body/three_points")
class ThreePointsTable(Table):
    """Segments whose axes three points give in each frame."""

    citation: Text
    segment: Annotated[tuple[_ThreePoints, ...], Field(strict=False, min_length=1)]


class _Offset(Table):
    offset: Name
    unless: Names
    usual_deg: float = Field(ge=-90, le=90)


class _UncertainOffset(_Offset):
    usual_sd_deg: float = Field(gt=0, le=90)
    proximal: Name
    plane: Name


class _Hinge(_UncertainOffset):
    lateral: Name
    width: Name
    distal: Name
    distal_width: Name
    found_sd_deg: float = Field(gt=0, le=90)
    least_excursion_deg: float = Field(gt=0, le=90)


class _Torsion(_UncertainOffset):
    centre: Name
    reference: Name
    torsion_deg: float = Field(ge=-90, le=90)
    torsion_sd_deg: float = Field(gt=0, le=90)


@SCHEMAS.register("body/joint_offsets")
class JointOffsetsTable(Table):
    """Where joints lie beside their wands, where nothing measured tells."""

    hinge: Annotated[tuple[_Hinge, ...], Field(strict=False)]
    torsion: Annotated[tuple[_Torsion, ...], Field(strict=False)]
    usual: Annotated[tuple[_Offset, ...], Field(strict=False)]


class _ComputedCentre(Table):
    landmark: Name
    body: Name
    labels: OneOrMore = Field(description="patterns of its labels, likelier ones first")


@SCHEMAS.register("body/computed_centres")
class ComputedCentresTable(Table):
    """Labels of joint centres that other software computed."""

    centre: Annotated[tuple[_ComputedCentre, ...], Field(strict=False, min_length=1)]


class MarkerEntry(Table):
    """`[[marker]]`: one marker, or the same marker on both sides."""

    labels: OneOrMore = Field(description="spellings of its label; {S} stands for R and L")
    landmark: str = Field("", max_length=100, description="landmark it marks; omitted = none")
    body: Name = Field(description="segment that carries it")
    weight: float = Field(1.0, ge=0, le=1000, description="in the fit; 0 = not fitted")
    words: OneOrMore | None = Field(
        None, description="words that mean it: 'knee medial', 'a|b' either, 'a?' may be missing, '...' with any places"
    )
    beside: dict[Name, Name] = Field(
        default_factory=dict,
        description="spellings that count only where the file has the other label, too; 'A|B' either",
    )
    or_landmark: str = Field(
        "", max_length=100, description="other landmark that it may mark: the file's other labels decide"
    )
    otherwise: OneOrMore | None = Field(
        None, description="spellings that mean it where another label marks what they mean first"
    )
    yields: bool = Field(False, description="gives way to a label that marks the same landmark more clearly")
    static_only: bool = Field(False, description="not expected in walks")
    soft: bool = Field(False, description="its place on the segment is taken from the walk")

    @model_validator(mode="after")
    def _both_sides_have_labels(self) -> MarkerEntry:
        sided = any(sign in f"{self.landmark} {self.body}" for sign in SIDES)
        one_sided = next((label for label in self.labels if not any(sign in label for sign in SIDES)), None)
        if sided and one_sided is not None:
            raise ValueError(f"label '{one_sided}' is the same for both sides: write {{S}} where it has R and L")
        return self


@SCHEMAS.register("body/markersets")
class MarkerSetTable(Titled):
    """A marker set."""

    extends: Text | None = Field(None, description="set that this one adds to: a library's, or a TOML file")
    rename: dict[Name, Name] = Field(default_factory=dict, description="label in the file = label of the extended set")
    labels: OneOrMore | None = Field(None, description="labels that mean what the anatomical set says of them")
    static_only: Names = Field((), description="those of `labels` that are not expected in walks")
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
            if not self.marker and not self.labels:
                raise ValueError("it has no [[marker]] and no 'labels', and no 'extends' that names a set with some")
            if not (self.requires or self.requires_landmarks):
                raise ValueError("without 'extends' it must say in 'requires' which markers have to be there")
        return self


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


Spread = Annotated[float, Field(gt=0, lt=1)]


class _Segment(Strict):
    name: Name
    parent: Name = ""
    centre: Three
    flexion: Three
    abduction: Three
    turning: Three
    along: Literal["x", "y"] = "y"
    length: Spread
    breadth: Spread


class _Place_person(Strict):
    landmark: Name = ""
    labels: Texts = ()
    body: Name
    position: Three
    sd: Three


@SCHEMAS.register("body/person")
class Person(Table):
    """Segments with their joints, and places of markers, each with its spread."""

    reference_height_m: float = Field(gt=0, lt=3)
    height_sd: Spread
    unmodelled_sd_m: Spread
    parts: list[list[Name]]
    segment: list[_Segment]
    place: list[_Place_person]


Millimetres = Annotated[float, Field(gt=0, le=200)]
Degrees = Annotated[float, Field(gt=0, le=90)]
ThreeMillimetres = Annotated[tuple[Millimetres, Millimetres, Millimetres], Field(strict=False)]


class _Symmetry(Table):
    correlation: float = Field(ge=0, lt=1, description="of both sides' deviations from the recipes")
    length_mm: Millimetres = Field(description="difference of the lengths from joint to joint, mm")


class _Markers(Table):
    placement_mm: Millimetres = Field(description="of a marker along the skin from its landmark, each direction, mm")
    offset_share: float = Field(gt=0, le=5, description="of a marker's error: constant from standing to walking")
    soft_mm: Millimetres = Field(description="markers on parts that move between standing and walking, mm")
    independent_s: float = Field(gt=0, le=10, description="time after which a frame tells something new, s")
    most_independent: float = Field(ge=1, le=1e4, description="independent frames in one trial, at most")
    most_independent_walks: float = Field(ge=1, le=1e4, description="in all walks of a session, at most")
    skin_common: float = Field(ge=0, lt=1, description="correlation of the slides of a segment's markers")
    sd_mm: dict[Name, Millimetres] = Field(description="error of a segment's heaviest markers along an axis, mm")


@SCHEMAS.register("body/subject_fit")
class SubjectFitTable(Table):
    """Priors of the subject's model, one standard deviation each."""

    centre_mm: dict[Name, ThreeMillimetres] = Field(description="joint centre by segment, axes of the parent, mm")
    turn_deg: dict[Name, Degrees] = Field(description="axes about the long axis by segment, degrees")
    posture_mm: dict[Name, Millimetres] = Field(description="segment against its parent, standing and walking, mm")
    symmetry: _Symmetry = Field(description="left and right of one person")
    skin_mm_rad: dict[Name, Millimetres] = Field(
        description="slide of a marker when a neighbouring joint bends, mm/rad"
    )
    markers: _Markers = Field(description="placement and error of markers")


class _Feet(Strict):
    bodies: OneOrMore
    toes: OneOrMore


class _Root(Strict):
    rotations: Annotated[tuple[Name, Name, Name], Field(strict=False)]
    translations: Annotated[tuple[Name, Name, Name], Field(strict=False)]


class _Coordinate(Strict):
    names: OneOrMore
    axis: Three


class _Rules(Strict):
    leg: OneOrMore
    unsided: OneOrMore


@SCHEMAS.register("body/opensim_models")
class OpenSimModels(Strict):
    """What the parts of a model are called, and what they are here."""

    sides: dict[Literal["r", "l"], Texts]
    feet: _Feet
    root: _Root
    joints: dict[Name, OneOrMore]
    segments: dict[Name, OneOrMore]
    segment_rules: _Rules
    joint_segments: dict[Name, Name]
    coordinates: dict[Name, _Coordinate]
