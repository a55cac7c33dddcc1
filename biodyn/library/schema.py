"""Schemas of user tables: strict pydantic models, one for each kind of table.

The kinds are marker sets, skeletons, anthropometric tables, hip centres, uncertainties, norms and column maps. Names of
landmarks and segments are not checked here, because the valid names depend on several tables
(`model.from_library.user_tables`). Other kinds of tables in the library have no schema. `entry_faults.require_valid_table`
imports this module when a user's table is read.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from biodyn.library.entry_faults import format_value

Text = Annotated[str, Field(min_length=1, max_length=2000)]
Name = Annotated[str, Field(min_length=1, max_length=100)]
Names = Annotated[tuple[Name, ...], Field(strict=False)]
OneOrMore = Annotated[tuple[Name, ...], Field(strict=False, min_length=1)]
Numbers = Annotated[tuple[float, ...], Field(strict=False)]
Range = Annotated[tuple[float, ...], Field(strict=False, min_length=2, max_length=2)]
Three = Annotated[tuple[float, ...], Field(strict=False, min_length=3, max_length=3)]
_PLACEHOLDER = re.compile(r"\{[^{}]*\}?|\}")
SIDES = ("{s}", "{S}", "{o}")
AXES = ("x", "y", "z")


class StrictTable(BaseModel):
    """Table that rejects unknown keys, wrong types and numbers that are not finite."""

    # built when first used, because a run with a user's table needs only one or two of them
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, strict=True, defer_build=True)


class Table(StrictTable):
    """Table that describes the body; its texts may contain the placeholders {s}, {S} and {o} of the sides."""

    @model_validator(mode="after")
    def _require_known_placeholders(self) -> Table:
        for name, value in self:
            for text in _collect_texts(value):
                unknown = next((p for p in _PLACEHOLDER.findall(text) if p not in SIDES), None)
                if unknown is not None:
                    raise ValueError(
                        f"'{name}' contains {unknown!r}: the placeholders of the sides are {', '.join(SIDES)}"
                    )
        return self


class TitledTable(Table):
    """Table with a name, a title and a source."""

    name: Name | None = Field(None, description="short name; omitted = the file name")
    title: Text | None = Field(None, description="title")
    citation: Text | None = Field(None, description="source")


def _collect_texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, tuple):
        return [text for item in value for text in _collect_texts(item)]
    return list(value) if isinstance(value, dict) and all(isinstance(key, str) for key in value) else []


# -- body -------------------------------------------------------------------------------------------------------------


_Radius = Annotated[float, Field(ge=0, le=2)]
_Product = Annotated[float, Field(ge=-2, le=2)]
_AngleRange = Annotated[tuple[float, ...], Field(strict=False, min_length=2, max_length=2)]


class SegmentRow(Table):
    """Mass, centre of mass and radii of gyration of a segment for one sex."""

    mass: float = Field(gt=0, le=1, description="fraction of body mass")
    com: Any = Field(
        description="centre of mass: fraction of the distance from - to, or three fractions of the length with 'origin'"
    )
    radii: Annotated[tuple[_Radius, ...], Field(strict=False, min_length=3, max_length=3)] = Field(
        description="radii of gyration about X, Y, Z, as fractions of the length"
    )
    products: Annotated[tuple[_Product, ...], Field(strict=False, min_length=3, max_length=3)] | None = Field(
        None, description="signed radii of the products of inertia XY, XZ, YZ"
    )

    @model_validator(mode="after")
    def _com_is_one_or_three_numbers(self) -> SegmentRow:
        three = isinstance(self.com, list)
        values = self.com if three else [self.com]
        # one number is on the line from - to, three numbers may be off the line
        low, high = (-2.0, 2.0) if three else (-0.5, 1.5)
        numbers = all(isinstance(v, (int, float)) and not isinstance(v, bool) and low <= v <= high for v in values)
        if not numbers or len(values) != (3 if three else 1):
            raise ValueError(
                f"'com' must be a number from -0.5 to 1.5, or three from -2 to 2, found {format_value(self.com)}"
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
        None,
        description="two landmarks on the Y axis of the numbers, if this is not the axis of the body; needs 'origin'",
    )
    male: SegmentRow = Field(description="table of the numbers for men")
    female: SegmentRow = Field(description="table of the numbers for women")

    @model_validator(mode="after")
    def _require_consistent_entries(self) -> Segment:
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


class AnthropometryTable(TitledTable):
    """Masses, centres of mass and radii of gyration of the segments."""

    extends: Text | None = Field(None, description="table of the library, or TOML file, that has the segments")
    across: Name | None = Field(
        None, description="table of the library for the distance of the centres of mass from the segment lines"
    )
    segment: Annotated[tuple[Segment, ...], Field(strict=False, min_length=1)] | None = Field(
        None, description="segments"
    )

    @model_validator(mode="after")
    def _require_whole_body(self) -> AnthropometryTable:
        if (self.segment is None) == (self.extends is None):
            raise ValueError("it must have either [[segment]] or 'extends' with the name of a table that has some")
        segments = self.segment or ()
        for sex in ("male", "female") if segments else ():
            total = sum(getattr(segment, sex).mass * (2 if _is_sided(segment.body) else 1) for segment in segments)
            # published tables sum to 0.999 to 1.002 and are scaled to 1; other sums indicate a typing error
            if not 0.9 <= total <= 1.1:
                raise ValueError(
                    f"the sum of '{sex}.mass' over all segments of both sides is {total:.3g}, expected 0.9 to 1.1"
                )
        return self


# the largest published coefficient is 0.36 of a length and the largest constant 0.02 m; misplaced decimal points are rejected
Coefficients = Annotated[
    dict[Literal["PD", "PW", "LL", "constant"], Annotated[float, Field(ge=-1, le=1)]], Field(min_length=1)
]


class NewingtonConstants(Table):
    """Constants of the hip joint centre regression of Davis et al. 1991."""

    c_LL: float = Field(ge=-1, le=1, description="coefficient")
    c_constant: float = Field(ge=-1, le=1, description="m")
    at_LL: float = Field(ge=-1, le=1, description="coefficient")
    at_constant: float = Field(ge=-1, le=1, description="m")
    theta_rad: float = Field(ge=-3.2, le=3.2, description="rad")
    beta_rad: float = Field(ge=-3.2, le=3.2, description="rad")


class HipCentreTable(TitledTable):
    """Parameters of the hip joint centre: regression coefficients, NewingtonConstants constants, or numbers of a named method."""

    x: Coefficients | None = Field(None, description="forward")
    y: Coefficients | None = Field(None, description="up")
    z: Coefficients | None = Field(None, description="lateral")
    newington: NewingtonConstants | None = Field(None, description="constants of Davis et al. 1991")
    method: Name | None = Field(None, description="method of model/from_library/joint_centres")
    numbers: dict[Name, float] = Field(default_factory=dict, description="parameters of that method")

    @model_validator(mode="after")
    def _require_one_method(self) -> HipCentreTable:
        axes = [axis for axis in AXES if getattr(self, axis) is not None]
        if self.numbers and self.method is None:
            raise ValueError("'numbers' needs 'method', the method that uses them")
        if self.method is not None and (axes or self.newington is not None):
            raise ValueError("it must have only one of: 'method' with its 'numbers'; x, y and z; 'newington'")
        if self.method is None and self.newington is None and len(axes) < 3:
            missing = next(axis for axis in AXES if axis not in axes)
            raise ValueError(
                f"'{missing}' is missing; x, y and z are needed, with coefficients of PD, PW, LL and a constant"
            )
        if self.newington is not None and axes:
            raise ValueError("it must have either x, y and z, or 'newington'")
        return self


class MarkerEntry(Table):
    """`[[marker]]`: labels of one marker, or of the same marker on both sides, with its landmark and segment."""

    labels: OneOrMore = Field(description="spellings of its label; {S} is R or L")
    landmark: str = Field("", max_length=100, description="landmark of the marker; omitted = none")
    body: Name = Field(description="segment of the marker")
    weight: float = Field(1.0, ge=0, le=1000, description="weight in the marker fit; 0 = not fitted")
    words: OneOrMore | None = Field(
        None,
        description="words of the label: 'knee medial', 'a|b' = a or b, 'a?' = optional, '...' = any location word",
    )
    beside: dict[Name, Name] = Field(
        default_factory=dict, description="spellings used only if the file also has the other label; 'A|B' = A or B"
    )
    or_landmark: str = Field(
        "", max_length=100, description="alternative landmark, selected according to the other labels of the file"
    )
    otherwise: OneOrMore | None = Field(
        None, description="spellings for this marker if another label already marks their first meaning"
    )
    yields: bool = Field(False, description="label of the same landmark that has priority because it is less ambiguous")
    static_only: bool = Field(False, description="not expected in walking trials")
    soft: bool = Field(False, description="position on the segment estimated from the walking trial")

    @model_validator(mode="after")
    def _labels_of_both_sides(self) -> MarkerEntry:
        one_sided = next((label for label in self.labels if not _is_sided(label)), None)
        if _is_sided(f"{self.landmark} {self.body}") and one_sided is not None:
            raise ValueError(f"label '{one_sided}' is the same for both sides; use {{S}} in place of R and L")
        return self


class MarkerSetTable(TitledTable):
    """Marker set: labels of markers, with their landmarks and segments."""

    extends: Text | None = Field(None, description="marker set of the library, or TOML file, that is extended")
    rename: dict[Name, Name] = Field(default_factory=dict, description="label in the file = label of the extended set")
    labels: OneOrMore | None = Field(None, description="labels defined in the anatomical set")
    static_only: Names = Field((), description="labels that are not expected in walking trials")
    requires: Annotated[tuple[OneOrMore, ...], Field(strict=False)] = Field(
        (), description="groups of labels; one label of each group is required"
    )
    requires_landmarks: Annotated[tuple[OneOrMore, ...], Field(strict=False)] = Field(
        (), description="groups of landmarks; one landmark of each group is required"
    )
    marker: Annotated[tuple[MarkerEntry, ...], Field(strict=False)] = Field((), description="markers")

    @model_validator(mode="after")
    def _require_complete(self) -> MarkerSetTable:
        if self.extends is None:
            if self.rename:
                raise ValueError("[rename] needs 'extends': the set to be renamed")
            if not self.marker and not self.labels:
                raise ValueError("it needs [[marker]], 'labels', or 'extends' with the name of a set that has some")
            if not (self.requires or self.requires_landmarks):
                raise ValueError("without 'extends' it must list the required markers in 'requires'")
        return self


_Rule = Annotated[tuple[Name, ...], Field(strict=False, min_length=3, max_length=4)]
_Frame = Annotated[tuple[_Rule, ...], Field(strict=False, min_length=2, max_length=2)]


class FreedCoordinateEntry(Table):
    """Coordinate that replaces a fixed rotation if the settings free it."""

    option: Name = Field(description="name of the option")
    coordinate: Name = Field(description="name of the coordinate")
    range_deg: _AngleRange = Field(description="smallest and largest angle relative to the static angle")
    sd_deg: float = Field(gt=0, le=90, description="standard deviation relative to the static angle, deg")

    @model_validator(mode="after")
    def _range_includes_static_angle(self) -> FreedCoordinateEntry:
        if not -180.0 <= self.range_deg[0] < 0.0 < self.range_deg[1] <= 180.0:
            raise ValueError(f"'range_deg' must include 0, the static angle, found {list(self.range_deg)}")
        return self


class RotationEntry(Table):
    """One rotation of a joint: a free coordinate, or fixed at its angle in the static trial."""

    axis: Any = Field(description='"x", "y", "z", or three numbers')
    coordinate: Name | None = Field(None, description="name of the coordinate")
    fixed: bool = Field(False, description="fixed at its angle in the static trial")
    freed: FreedCoordinateEntry | None = Field(None, description="coordinate of a fixed rotation that an option frees")
    sign: Literal[1, -1] = Field(1, description="-1 reverses the coordinate")
    range_deg: _AngleRange | None = Field(None, description="smallest and largest angle")

    @model_validator(mode="after")
    def _require_valid_entries(self) -> RotationEntry:
        numbers = isinstance(self.axis, list) and [
            v for v in self.axis if isinstance(v, (int, float)) and not isinstance(v, bool) and abs(v) <= 1e6
        ]
        if self.axis not in AXES and not (
            numbers and len(numbers) == len(self.axis) == 3 and sum(abs(v) for v in numbers) > 1e-6
        ):
            raise ValueError(
                f"'axis' must be x, y, z or three numbers that are not all 0, found {format_value(self.axis)}"
            )
        if (self.coordinate is None) != self.fixed:
            raise ValueError("a rotation has either a 'coordinate' or 'fixed = true'")
        if self.freed is not None and not (self.fixed and self.axis in AXES):
            raise ValueError("'freed' is valid only for a 'fixed' rotation about x, y or z")
        if self.range_deg is not None and not -720.0 <= self.range_deg[0] < self.range_deg[1] <= 720.0:
            raise ValueError(f"'range_deg' must increase and be within -720 to 720, found {list(self.range_deg)}")
        return self


class BaseEntry(Table):
    """Names of the six coordinates of the floating base (root)."""

    rotations: Annotated[tuple[Name, ...], Field(strict=False, min_length=3, max_length=3)] = Field(description="names")
    translations: Annotated[tuple[Name, ...], Field(strict=False, min_length=3, max_length=3)] = Field(
        description="names"
    )


class SoleEntry(Table):
    """Landmarks at the rear and front end of a sole, and the measure of its width."""

    back: Name = Field(description="landmark")
    front: Name = Field(description="landmark")
    width: Name = Field(description="measure")


class AxialRotationEntry(Table):
    """Information that determines the rotation of a segment about its long axis."""

    coordinate: Name = Field(description="hinge coordinate that determines it in the walking trial")
    known_from: Names = Field(description="landmarks that determine it in the static trial")


class AssumedMotionEntry(Table):
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
    template: Three | None = Field(None, description="joint centre in the parent, as fractions of body height")
    base: BaseEntry | None = Field(None, description="coordinates of the floating base")
    sole: SoleEntry | None = Field(None, description="sole of a foot")
    turn: AxialRotationEntry | None = Field(None, description="rotation about the long axis")
    unseen: AssumedMotionEntry | None = Field(
        None, description="assumed motion if it has no markers; omitted = fixed to its parent"
    )
    centre: Literal["refined"] | None = Field(None, description="joint centre refined from the walking trial")

    @model_validator(mode="after")
    def _require_valid_entries(self) -> BodyEntry:
        for exact, plane in self.frames:
            for rule in (exact, plane):
                if rule[0] not in AXES or (len(rule) == 4 and rule[3] != "lateral"):
                    raise ValueError(f"'frames': a rule must be [x, y or z, landmark, landmark], found {list(rule)}")
                if rule[1] == rule[2]:
                    raise ValueError(f"'frames': an axis needs two different landmarks, found '{rule[1]}' twice")
            if exact[0] == plane[0]:
                raise ValueError(
                    f"'frames': the two rules of a pair must define different axes, found {exact[0]} twice"
                )
        if any(first.axis == second.axis for first, second in pairwise(self.rotations)):
            raise ValueError("'rotations': two consecutive rotations have the same axis")
        if self.sole is not None and self.sole.back == self.sole.front:
            raise ValueError("'sole' needs two different landmarks, but 'back' and 'front' are the same")
        if (self.base is None) != bool(self.parent):
            raise ValueError("only the body without 'parent' may have a 'base'")
        if not self.parent and self.rotations:
            raise ValueError("the body without 'parent' is the floating base, which needs 'base' and no 'rotations'")
        if self.template is not None and max(abs(share) for share in self.template) > 2.0:
            raise ValueError("'template' must be fractions of body height of at most 2")
        return self


class SkeletonTable(TitledTable):
    """Skeleton: a list of bodies, or another skeleton in which only some bodies have movable joints."""

    extends: Text | None = Field(None, description="skeleton of the library, or TOML file, that has the bodies")
    free: Names = Field((), description="bodies with movable joints; the others are fixed to their parents")
    body: Annotated[tuple[BodyEntry, ...], Field(strict=False)] = Field((), description="bodies")

    @model_validator(mode="after")
    def _require_complete(self) -> SkeletonTable:
        if self.extends is not None and (self.body or not self.free):
            raise ValueError("with 'extends' it needs 'free', a list of bodies, and no [[body]]")
        if self.extends is None and (self.free or not self.body):
            raise ValueError("it has no [[body]]" if not self.body else "'free' needs 'extends'")
        return self


# -- uncertainties ----------------------------------------------------------------------------------------------------


Millimetres = Annotated[float, Field(ge=0, le=200)]
_Degrees = Annotated[tuple[Annotated[float, Field(ge=0, le=90)], ...], Field(strict=False, min_length=3, max_length=3)]
_Shares = Annotated[
    tuple[Annotated[float, Field(ge=0, le=1)], ...], Field(strict=False, min_length=1, max_length=50)
]  # fmt: skip
_SHARES_OF_HARMONICS = "fractions of the variance: mean over the stride, then each harmonic of the stride frequency"


def _sum_to_one(shares: tuple[float, ...]) -> tuple[float, ...]:
    if abs(sum(shares) - 1.0) > 1e-6:  # typed in decimals
        raise ValueError(f"the sum of 'shares' must be 1, found {sum(shares):g}")
    return shares


class _Source(Table):
    """Table that states the source of its numbers."""

    title: str = Field("", max_length=2000, description="title")
    citation: str = Field("", max_length=2000, description="source of the number")


class _MarkerNoise(_Source):
    """White noise of the markers."""

    sd_mm: Millimetres = Field(description="standard deviation, mm")
    from_hz: float = Field(gt=0, le=1e5, description="frequency above which the noise of a trial is estimated, Hz")


class _SoftTissue(_Source):
    """Movement of markers relative to the bones."""

    shares: Annotated[_Shares, AfterValidator(_sum_to_one)] = Field(description=_SHARES_OF_HARMONICS)
    stride_s: float = Field(gt=0.1, le=100, description="stride time used if none was measured, s")
    sd_mm: dict[Name, Millimetres] = Field(description="standard deviation by segment, mm")
    common: dict[Name, Annotated[float, Field(ge=0, le=1)]] = Field(
        default_factory=dict, description="fraction of the variance that is common to all markers of a segment"
    )


class _PoseNoise(_Source):
    """White noise of measured segment poses."""

    origin_mm: Millimetres = Field(description="standard deviation along each axis, mm")
    turn_deg: float = Field(ge=0, le=45, description="standard deviation about each axis, deg")


class _PoseErrors(_PoseNoise):
    """Other errors of measured segment poses."""

    shares: Annotated[_Shares, AfterValidator(_sum_to_one)] = Field(description=_SHARES_OF_HARMONICS)


class _JointCentres(_Source):
    """Errors of the positions of the joint centres."""

    sd_mm: dict[Name, Millimetres] = Field(description="standard deviation by segment, mm")
    believed: Names = Field((), description="segments that use the prior of the subject fit")

    @model_validator(mode="after")
    def _require_one_source(self) -> _JointCentres:
        both = sorted(set(self.believed) & set(self.sd_mm))
        if both:
            raise ValueError(f"{', '.join(both)}: specify either a number in 'sd_mm' or 'believed', not both")
        return self


class _SdBySource(Table):
    """Additional standard deviations of the joint centres, mm, by the source of the static posture."""

    quiet_part: dict[Name, Millimetres] = Field(description="static posture from a quiet part of another recording")
    stored_offsets: dict[Name, Millimetres] = Field(description="joint offsets stored by the laboratory")
    walk: dict[Name, Millimetres] = Field(description="static posture from the walking trial")


class _Calibration(_Source):
    """Additional errors of models without a static trial."""

    sd_mm: _SdBySource = Field(description="added to the joint centres without a static trial, mm")


class _Inertias(_Source):
    """Errors of mass, moments of inertia and centre of mass of a segment."""

    mass_percent: float = Field(ge=0, le=100, description="standard deviation, %")
    moment_percent: float = Field(ge=0, le=100, description="standard deviation, %")
    centre_mm: Millimetres = Field(description="standard deviation, mm")


class _CentreOfPressure(_Source):
    """Error of the centre of pressure."""

    sd_mm: Millimetres = Field(description="standard deviation, mm")


class _Cutoff(_Source):
    """Error of the cut-off frequency."""

    sd_hz: float = Field(ge=0, le=20, description="standard deviation, Hz")


class _UnseenSegments(_Source):
    """Deviation of segments without markers from their assumed motion."""

    harmonics: _Shares = Field((1.0,), description="fractions of the variance in each harmonic of the stride frequency")
    offset_deg: dict[Name, _Degrees] = Field(
        default_factory=dict, description="standard deviation of a segment's mean tilt, list and rotation, deg"
    )
    stride_deg: dict[Name, _Degrees] = Field(
        default_factory=dict, description="standard deviation of its motion during the stride, deg"
    )


class Uncertainties(Table):
    """Standard deviations of all sources of error."""

    marker_noise: _MarkerNoise = Field(description="table of the marker noise")
    soft_tissue: _SoftTissue = Field(description="table of the soft tissue motion")
    pose_noise: _PoseNoise | None = Field(None, description="table of the noise of measured poses")
    pose_errors: _PoseErrors | None = Field(None, description="table of the errors of measured poses")
    joint_centres: _JointCentres = Field(description="table of the joint centre errors")
    calibration: _Calibration | None = Field(None, description="table of models without a static trial")
    inertias: _Inertias = Field(description="table of the inertia errors")
    centre_of_pressure: _CentreOfPressure = Field(description="table of the error of the centre of pressure")
    cutoff: _Cutoff = Field(description="table of the error of the cut-off frequency")
    unseen_segments: _UnseenSegments | None = Field(None, description="table of the motion of segments without markers")


# -- norms ------------------------------------------------------------------------------------------------------------


class _Speed(StrictTable):
    """Walking speeds: groups of trials, or a model of speed relative to a reference."""

    measure: Literal["dimensionless", "heights_per_s", "m_s"]
    names: Names = ()
    mean: Numbers = ()
    sd: Numbers = ()
    people: Annotated[tuple[Annotated[int, Field(gt=0)], ...], Field(strict=False, min_length=1)]
    reference: float | None = Field(None, gt=0)
    range: Range | None = None

    @model_validator(mode="after")
    def _require_groups_or_model(self) -> _Speed:
        groups = len(self.names)
        if (self.reference is None) != (self.range is None) or (self.reference is None) == (groups == 0):
            raise ValueError("specify either 'names', 'mean', 'sd' of groups, or 'reference' and 'range' of a model")
        if groups and not groups == len(self.mean) == len(self.sd) == len(self.people):
            raise ValueError(f"'mean', 'sd' and 'people' must have {groups} values, one for each of 'names'")
        if any(later <= earlier for earlier, later in pairwise(self.mean)) or any(sd <= 0 for sd in self.sd):
            raise ValueError("'mean' must increase, and every 'sd' must be positive")
        if self.range is not None and not self.range[0] <= self.range[1]:
            raise ValueError("'range' must increase")
        return self


class _Age(StrictTable):
    """Age of the reference group, years."""

    reference: float = Field(ge=0, le=120)


class _Curve(StrictTable):
    """Norm of one variable over the gait cycle: mean and SD."""

    published: Text = "with the sign convention of biodyn"
    sign: Literal[1, -1] = 1
    unit: Name
    mean: Annotated[tuple[Numbers, ...], Field(strict=False, min_length=1)]
    sd: Annotated[tuple[Numbers, ...], Field(strict=False)] = ()
    sd_growth: float = 0.0
    reach: float = Field(1.0, gt=0)


class _Scalar(StrictTable):
    """Norm of one discrete parameter: mean and SD."""

    title: Text | None = None
    variable: Name | None = None
    operation: Literal["max", "min", "range"] | None = None
    unit: Name
    mean: Annotated[tuple[float, ...], Field(strict=False, min_length=1)]
    per_decade: float = 0.0
    sd: Annotated[tuple[float, ...], Field(strict=False, min_length=1)]

    @model_validator(mode="after")
    def _require_variable_and_operation(self) -> _Scalar:
        if (self.variable is None) != (self.operation is None):
            raise ValueError("specify both 'variable' and 'operation', or neither")
        if any(sd <= 0 for sd in self.sd):
            raise ValueError("every 'sd' must be positive")
        return self


class _DeviationIndex(StrictTable):
    """Basis of the gait deviation index."""

    vectors: Annotated[tuple[Numbers, ...], Field(strict=False, min_length=15, max_length=15)]
    log_mean: float
    log_sd: float = Field(gt=0)

    @model_validator(mode="after")
    def _require_vector_sizes(self) -> _DeviationIndex:
        if any(len(row) != 459 for row in self.vectors):
            raise ValueError("'vectors' must have 459 values each: nine angles at 0, 2 ... 100 % of the cycle")
        return self


class Norms(StrictTable):
    """Curves and discrete parameters of a reference group; see docs/norms.md."""

    name: Name
    group: Text
    short: Name
    band: Text
    citation: Text
    licence: Text
    made_by: Text | None = None
    ages: Range | None = None
    serves: Range | None = None
    percent: Annotated[tuple[Annotated[float, Field(ge=0, le=100)], ...], Field(strict=False, min_length=2)]
    speed: _Speed
    age: _Age | None = None
    curve: dict[Name, _Curve] = Field(default_factory=dict)
    scalar: dict[Name, _Scalar] = Field(default_factory=dict)
    gdi: _DeviationIndex | None = None

    @model_validator(mode="after")
    def _require_complete(self) -> Norms:
        if self.percent[0] != 0 or self.percent[-1] != 100 or any(b <= a for a, b in pairwise(self.percent)):
            raise ValueError("'percent' must increase from 0 to 100")
        for what, limits in (("ages", self.ages), ("serves", self.serves)):
            if limits is not None and not limits[0] <= limits[1]:
                raise ValueError(f"'{what}' must increase, found {list(limits)}")
        if not self.curve and not self.scalar:
            raise ValueError("at least one [curve.NAME] or [scalar.NAME] is needed")
        groups = len(self.speed.names)
        for name, curve in self.curve.items():
            _require_rows(f"curve.{name}", len(curve.mean), len(curve.sd), groups)
            if any(len(row) != len(self.percent) for row in (*curve.mean, *curve.sd)):
                raise ValueError(f"'curve.{name}' must have {len(self.percent)} values, one for each of 'percent'")
            if any(value < 0 for row in curve.sd for value in row):
                raise ValueError(f"'curve.{name}.sd' must not be negative")
        for name, scalar in self.scalar.items():
            _require_rows(f"scalar.{name}", len(scalar.mean), len(scalar.sd), groups)
            if scalar.per_decade and self.age is None:
                raise ValueError(f"'scalar.{name}.per_decade' needs [age]")
        return self


def _require_rows(what: str, mean: int, sd: int, groups: int) -> None:
    """Require one row per speed group, or for a model at most three rows of the mean (powers of speed) and one of the SD."""
    if groups and (mean != groups or sd not in (0, groups)):
        raise ValueError(f"'{what}' must have {groups} rows, one for each of 'speed.names'")
    if not groups and (mean > 3 or sd > 1):
        raise ValueError(f"'{what}' must have at most three rows of 'mean' and one of 'sd'")


# -- column maps ------------------------------------------------------------------------------------------------------


_Length = Literal["m", "cm", "mm"]
_Number = Annotated[float, Field(ge=-1e6, le=1e6)]
_TwoOrThree = Annotated[tuple[Text, ...], Field(strict=False, min_length=2, max_length=3)]
_Three = Annotated[tuple[Text, Text, Text], Field(strict=False)]
_Four = Annotated[tuple[Text, Text, Text, Text], Field(strict=False)]
_Nine = Annotated[tuple[Text, Text, Text, Text, Text, Text, Text, Text, Text], Field(strict=False)]
#: A column, or a number for every row, e.g. the height of the floor or a direction that was not measured.
_Parts = Annotated[tuple[Text | _Number, Text | _Number, Text | _Number], Field(strict=False)]
_Place = Annotated[tuple[_Number, _Number, _Number], Field(strict=False)]
_Corners = Annotated[tuple[_Place, _Place, _Place, _Place], Field(strict=False)]


class _Force(StrictTable):
    """Columns of one ground force."""

    force: _Parts
    point: _Parts
    moment: _Parts | None = None
    side: Literal["right", "left"] | None = None

    @model_validator(mode="after")
    def _require_force_column(self) -> _Force:
        if not any(isinstance(part, str) for part in self.force):
            raise ValueError("'force' contains no column")
        return self


class _Plate(StrictTable):
    """Columns and position of one force plate."""

    force: _Three
    moment: _Three
    corners: _Corners
    axes: Literal["plate", "laboratory"] = "plate"
    about: _Place | None = None
    length: _Length = "m"
    moments: Literal["Nm", "Nmm"] = "Nm"


class _Pose(StrictTable):
    """Columns of the pose of one segment."""

    origin: _Three
    quaternion: _Four | None = None
    matrix: _Nine | None = None

    @model_validator(mode="after")
    def _require_one_rotation(self) -> _Pose:
        if (self.quaternion is None) == (self.matrix is None):
            raise ValueError("a pose has either 'quaternion' or 'matrix'")
        return self


class ColumnMap(StrictTable):
    """Columns of a spreadsheet and their units."""

    time: Text | None = None
    rate_hz: float | None = Field(None, gt=0, le=20_000)
    length: _Length | None = None
    angle: Literal["deg", "rad"] | None = None
    markers: dict[str, _TwoOrThree] = Field(default_factory=dict)
    poses: dict[Text, _Pose] = Field(default_factory=dict)
    forces: Annotated[tuple[_Force, ...], Field(strict=False)] = ()
    plates: Annotated[tuple[_Plate, ...], Field(strict=False)] = ()
    coordinates: dict[Name, Text] = Field(default_factory=dict)


#: Schema of each kind of table (`tables.ROLES`, "column_map").
SCHEMAS: dict[str, type[BaseModel]] = {
    "anthropometry": AnthropometryTable,
    "column_map": ColumnMap,
    "hip_centres": HipCentreTable,
    "markersets": MarkerSetTable,
    "norms": Norms,
    "skeletons": SkeletonTable,
    "uncertainty": Uncertainties,
}
