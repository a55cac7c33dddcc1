"""Tables of file formats: names in C3D files, columns, laboratory outputs, segment poses, words of file names."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from biodyn.library.schema import SCHEMAS
from biodyn.library.schema.base import Name, Names, Range, Strict, Text, Texts

_FieldNumber = Annotated[int, Field(ge=1, le=536_870_911)]
_Field = Annotated[tuple[_FieldNumber, Name], Field(strict=False)]


@SCHEMAS.register("formats/b3d")
class B3dTable(Strict):
    """Fields of each message: number and kind."""

    citation: Text
    message: dict[Name, dict[Name, _Field]]


Length = Literal["m", "cm", "mm"]
Number = Annotated[float, Field(ge=-1e6, le=1e6)]
TwoOrThree = Annotated[tuple[Text, ...], Field(strict=False, min_length=2, max_length=3)]
Three = Annotated[tuple[Text, Text, Text], Field(strict=False)]
Four = Annotated[tuple[Text, Text, Text, Text], Field(strict=False)]
Nine = Annotated[tuple[Text, Text, Text, Text, Text, Text, Text, Text, Text], Field(strict=False)]
#: A column, or a number that holds in every row: the height of the floor, a direction that was not measured.
Parts = Annotated[tuple[Text | Number, Text | Number, Text | Number], Field(strict=False)]
Place = Annotated[tuple[Number, Number, Number], Field(strict=False)]
Corners = Annotated[tuple[Place, Place, Place, Place], Field(strict=False)]


class _Force(Strict):
    force: Parts
    point: Parts
    moment: Parts | None = None
    side: Literal["right", "left"] | None = None

    @model_validator(mode="after")
    def _measured(self) -> _Force:
        if not any(isinstance(part, str) for part in self.force):
            raise ValueError("'force' names no column")
        return self


class _Plate(Strict):
    force: Three
    moment: Three
    corners: Corners
    axes: Literal["plate", "laboratory"] = "plate"
    about: Place | None = None
    length: Length = "m"
    moments: Literal["Nm", "Nmm"] = "Nm"


class _Pose(Strict):
    origin: Three
    quaternion: Four | None = None
    matrix: Nine | None = None

    @model_validator(mode="after")
    def _turned_by_one(self) -> _Pose:
        if (self.quaternion is None) == (self.matrix is None):
            raise ValueError("a pose has either 'quaternion' or 'matrix'")
        return self


@SCHEMAS.register("formats/column_map")
class ColumnMap(Strict):
    """Which columns of a spreadsheet are what, and in which units."""

    time: Text | None = None
    rate_hz: float | None = Field(None, gt=0, le=20_000)
    length: Length | None = None
    angle: Literal["deg", "rad"] | None = None
    markers: dict[str, TwoOrThree] = Field(default_factory=dict)
    poses: dict[Text, _Pose] = Field(default_factory=dict)
    forces: Annotated[tuple[_Force, ...], Field(strict=False)] = ()
    plates: Annotated[tuple[_Plate, ...], Field(strict=False)] = ()
    coordinates: dict[Name, Text] = Field(default_factory=dict)


Axis = Literal["x", "y", "z"]


class _Segment(Strict):
    label: Name
    body: Name
    joint: Name | None = None


class _Point(Strict):
    landmark: Name
    segment: Name
    at: Name | None = None
    parameter: Name | None = None
    along: Axis | None = None

    @model_validator(mode="after")
    def _told_by_one(self) -> _Point:
        if (self.at is None) == (self.parameter is None):
            raise ValueError("a point has either 'at' or 'parameter'")
        return self


class _System(Strict):
    name: Name
    title: Text
    citation: Text
    axes: Annotated[tuple[Axis, Axis, Axis], Field(strict=False)]
    half_mm: float = Field(gt=10, le=1000)
    suffix: str = ""
    unused: Names = ()
    parameters: str = ""
    segment: Annotated[tuple[_Segment, ...], Field(strict=False, min_length=3)]
    point: Annotated[tuple[_Point, ...], Field(strict=False)] = ()

    @model_validator(mode="after")
    def _right_handed(self) -> _System:
        if self.axes not in (("x", "y", "z"), ("y", "z", "x"), ("z", "x", "y")):
            raise ValueError("'axes' must be right-handed: x y z, y z x or z x y")
        return self


@SCHEMAS.register("formats/segment_poses")
class SegmentPosesTable(Strict):
    """Names, axes and joints of the systems."""

    system: Annotated[tuple[_System, ...], Field(strict=False, min_length=1)]


class _Bids(Strict):
    subject: Name
    session: Name
    condition: Texts


@SCHEMAS.register("session/names")
class SessionNames(Strict):
    """Words in names of folders and files, and what they say."""

    functional: Texts
    other: Texts
    empty: Texts
    activity: Texts
    running: Texts
    condition: Texts
    session: Texts
    session_numbered: Texts
    counter_numbered: Texts
    group: Texts
    site: Texts
    subject: Texts
    nobody: Texts
    bids: _Bids


@SCHEMAS.register("session/static_trials")
class StaticTrials(Strict):
    """How a static trial is known."""

    words: Texts
    stems: Texts
    walk_words: Texts
    same_rad: float = Field(gt=0)


Factors = dict[str, Annotated[float, Field(gt=0)]]
Group = Literal["angle", "force", "moment", "power", "scalar", "virtual_point"]


class _Unlabelled(Strict):
    always: Texts
    when_several: Texts
    several: int = Field(ge=1)


class _Prefix(Strict):
    not_a_name: Texts
    segments: Texts


class _Computed(Strict):
    labels: Texts
    descriptions: Texts


class _ModelOutputs(Strict):
    groups: dict[str, Group]
    unit_parameters: dict[Group, Name]
    patterns: dict[Group, Texts]
    computed: _Computed


class _SegmentAxes(Strict):
    suffixes: Annotated[tuple[Texts, ...], Field(strict=False)]
    stems: Texts
    least: int = Field(ge=2, le=4)
    max_cosine: float = Field(gt=0, lt=1)
    max_length_ratio: float = Field(gt=1)


class _ModelPoint(Strict):
    pattern: Text
    unless: Texts = ()


class _ModelPoints(Strict):
    model: Text
    signature: Text
    points: Annotated[tuple[_ModelPoint, ...], Field(strict=False, min_length=1)]


class _Events(Strict):
    foot_strike: Texts
    foot_off: Texts


class _Sides(Strict):
    r: Texts
    l: Texts  # noqa: E741  a side's letter


class _Quantity(Strict):
    names: Texts
    range: Range
    units: Annotated[tuple[Annotated[float, Field(gt=0)], ...], Field(strict=False, min_length=1)]


class _Measure(_Quantity):
    sided: bool


class _Subject(Strict):
    groups: Texts
    name_parameters: Texts
    static_parameters: Texts
    static_offsets: Texts
    sex_names: Texts
    male: Texts
    female: Texts
    mass: _Quantity
    height: _Quantity
    age: _Quantity
    measures: dict[Name, _Measure]
    stated_units: Factors


@SCHEMAS.register("formats/c3d_names")
class C3dNames(Strict):
    """Names in C3D files and what they mean."""

    length_units: Factors
    force_units: Factors
    moment_units: Factors
    unlabelled: _Unlabelled
    subject_prefix: _Prefix
    model_outputs: _ModelOutputs
    segment_axes: _SegmentAxes
    model_points: Annotated[tuple[_ModelPoints, ...], Field(strict=False)]
    events: _Events
    sides: _Sides
    subject: _Subject


class _LabOutput(Strict):
    variable: Text
    kind: Literal["angle", "moment"]
    channels: Texts
    component: Literal[0, 1, 2]
    sign: Literal[1, -1]
    most_rms: float = Field(gt=0)
    least_r: float | None = Field(None, gt=0, le=1)
    coordinate: Name | None = None
    joint: Name | None = None
    frame: Literal["proximal", "distal", "jcs"] | None = None
    axis: Literal[0, 1, 2] | None = None
    scale: float | None = None


@SCHEMAS.register("formats/lab_outputs")
class LabOutputs(Strict):
    """Channels of laboratory software and their counterparts here."""

    name: Name
    title: Text
    citation: Text
    output: Annotated[tuple[_LabOutput, ...], Field(strict=False, min_length=1)]


class _LabSegment(Strict):
    name: Name
    axes: Text
    origin: Text
    far: Text | None = None
    mass_share: float | None = Field(None, gt=0, lt=1)
    mass_centre: float | None = Field(None, gt=0, lt=1)
    gyration: float | None = Field(None, gt=0, lt=1)


_Sign = Literal[1, -1]
_Signs = Annotated[tuple[_Sign, _Sign, _Sign], Field(strict=False)]
_Axis = Literal["x", "y", "z"]


class _LabMoment(Strict):
    joint: Name
    channels: Texts
    unit: Literal["Nmm/kg", "Nm/kg", "Nmm", "Nm"]
    frame: Literal["proximal", "distal", "world", "jcs"]
    axes: Annotated[tuple[_Axis, _Axis, _Axis], Field(strict=False)]
    signs: _Signs
    mirrored: bool = False


class _LabAngle(Strict):
    joint: Name
    channels: Texts
    signs: _Signs
    mirrored: bool = False


@SCHEMAS.register("formats/lab_segments")
class LabSegments(Strict):
    """Segments, moments and angles of laboratory software, and how they are written."""

    name: Name
    title: Text
    citation: Text
    suffixes: Annotated[tuple[Text, Text, Text, Text], Field(strict=False)]
    segment: Annotated[tuple[_LabSegment, ...], Field(strict=False, min_length=1)]
    moment: Annotated[tuple[_LabMoment, ...], Field(strict=False, min_length=1)]
    angle: Annotated[tuple[_LabAngle, ...], Field(strict=False)]


class _Forms(Strict):
    point: Texts
    moment: Texts
    force: Texts


class _GroundForce(Strict):
    sides: dict[Name, Literal["r", "l"]]
    bodies: dict[Literal["r", "l"], Name]
    axis_first: Name
    forms: _Forms


class _CoordinateNames(Strict):
    beginnings: Texts


class _Beside(Strict):
    force_words: Texts
    sure_words: Texts
    motion_words: Texts
    force_folders: Texts


@SCHEMAS.register("formats/opensim_names")
class OpenSimNames(Strict):
    """How plain tables of ground forces name their columns, the foot and the file."""

    ground_force: _GroundForce
    beside: _Beside
    coordinates: _CoordinateNames
