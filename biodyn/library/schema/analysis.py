"""Tables of the analysis: gait events, limits of checks, uncertainties, variables and norms."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Literal

from pydantic import Field, model_validator

from biodyn.library.schema import SCHEMAS
from biodyn.library.schema.base import Name, Names, Numbers, OneOrMore, Range, Strict, Table, Text


class _Error(Strict):
    error_s: float = Field(gt=0, lt=1)
    repeat_s: float | None = Field(None, gt=0, lt=1)
    bias_s: float | None = Field(None, gt=-1, lt=1)
    late_strides: float | None = Field(None, gt=-1, lt=1)


class _Source(Strict):
    foot_strike: _Error
    foot_off: _Error


class _Weights(Strict):
    heel_height: float
    toe_height: float
    heel_upward_velocity: float
    toe_upward_velocity: float
    heel_speed: float
    toe_speed: float
    heel_upward_acceleration: float
    toe_upward_acceleration: float


class _Contact(Strict):
    intercept: float
    half_s: float = Field(gt=0, lt=0.5)
    spread_s: float = Field(ge=0, lt=1)
    weights: _Weights


class _Mark(Strict):
    late_s: float = Field(gt=-0.2, lt=0.2)
    share: float = Field(ge=0, le=1)
    error_s: float = Field(gt=0, lt=1)


class _Marked(Strict):
    foot_off: _Mark


class _Kinematic(_Source):
    own_weight: float = Field(gt=0)


@SCHEMAS.register("gait/events")
class EventErrors(Strict):
    """Errors of events by where they come from."""

    close_s: float = Field(gt=0, lt=1)
    tail_df: float = Field(gt=2)  # below, the distribution has no standard deviation
    plate: _Source
    kinematic: _Kinematic
    contact: _Contact
    marked: _Marked
    file: _Source


class _Peak(Strict):
    name: Name
    axis: Literal["x", "y", "z"]
    of: Literal["max", "min"]
    window: Range
    sign: Literal[1, -1] = 1
    mirrored: bool = False


@SCHEMAS.register("gait/ground_peaks")
class GroundPeaks(Strict):
    """Peaks of the ground reaction of a stance."""

    peak: tuple[_Peak, ...] = Field(strict=False, min_length=1)


class _Pressure(Strict):
    cutoff_hz: float = Field(gt=1, le=200)
    still: float = Field(gt=0, lt=1)
    near: float = Field(gt=0, lt=0.5)
    lead_start: float = Field(ge=0, le=1)
    rear_end: float = Field(ge=0, le=1)


class _Direction(Strict):
    rear_growth: float
    lead: float
    rear_across: float
    lead_across: float


class _ShareError(Strict):
    vertical: float = Field(ge=0, lt=1)
    along: float = Field(ge=0, lt=1)
    across: float = Field(ge=0, lt=1)
    twist_m: float = Field(ge=0, lt=1)
    point_m: float = Field(ge=0, lt=1)


@SCHEMAS.register("gait/double_support")
class DoubleSupport(Strict):
    """How a load of two feet on one plate is shared."""

    pressure: _Pressure
    direction: _Direction
    error: _ShareError


Positive = Annotated[float, Field(gt=0)]


class _PressurePath(Strict):
    share: Annotated[tuple[float, ...], Field(strict=False, min_length=3, max_length=3)]
    share_sd: Positive
    outward_sd_m: Positive
    person_forward_sd_m: Positive
    person_outward_sd_m: Positive
    step_sd_m: Positive


class _Body(Strict):
    vertical_force_sd: Positive
    forward_force_sd: Positive
    sideways_force_sd: Positive
    lever_sd_m: Positive
    lever_forward_m: float
    lever_person_forward_sd_m: Positive
    lever_person_outward_sd_m: Positive
    lever_step_forward_sd_m: Positive
    lever_step_outward_sd_m: Positive


_Four = Annotated[tuple[Positive, Positive, Positive, Positive], Field(strict=False)]


class _PlateGain(Strict):
    judges: OneOrMore
    place_forward: _Four
    place_outward: _Four
    free_moment: _Four
    vertical: _Four
    forward: _Four
    outward: _Four
    lever_forward: _Four
    lever_outward: _Four
    twist: _Four
    parts_alike: Positive
    least_gain: Positive
    least_share: Annotated[float, Field(ge=0.0, lt=1.0)]
    least_change: Positive
    least_known: Positive
    least_lead: Positive
    sound: Positive
    silent_force: Positive
    silent_moment_m: Positive


class _PlateHeight(Strict):
    ankle: Name
    flat_deg: Positive
    markers_sd_m: Positive
    lowest_marker_m: Positive
    ankle_share: Positive
    usual_ankle_share: Positive
    ankle_range: Annotated[tuple[Positive, Positive], Field(strict=False)]
    ankle_margin: Positive
    raised_m: Positive


class _Facing(Strict):
    part: Name
    front: OneOrMore
    back: OneOrMore
    right: OneOrMore
    left: OneOrMore


@SCHEMAS.register("checks/checks")
class CheckNumbers(Strict):
    """What tells a usual recording from a faulty one."""

    pressure_path: _PressurePath
    body: _Body
    plate_gain: _PlateGain
    plate_height: _PlateHeight
    facing: Annotated[tuple[_Facing, ...], Field(strict=False, min_length=1)]


@SCHEMAS.register("checks/finding_titles")
class FindingTitles(Strict):
    """Titles of findings that steps of the analysis make."""

    finding_titles: dict[Name, Text]


Millimetres = Annotated[float, Field(ge=0, le=200)]


class _Source_uncertainty(Table):
    title: str = Field("", max_length=2000, description="for people")
    citation: str = Field("", max_length=2000, description="where the number comes from")


class _Noise(_Source_uncertainty):
    sd_mm: Millimetres = Field(description="one standard deviation, mm")
    from_hz: float = Field(gt=0, le=1e5, description="a trial shows its own noise above this frequency, Hz")


class _SoftTissue(_Source_uncertainty):
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


class _PoseNoise(_Source_uncertainty):
    origin_mm: Millimetres = Field(description="one standard deviation along each axis, mm")
    turn_deg: float = Field(ge=0, le=45, description="one standard deviation about each axis, deg")


class _PoseErrors(_PoseNoise):
    shares: Annotated[
        tuple[Annotated[float, Field(ge=0, le=1)], ...], Field(strict=False, min_length=1, max_length=50)
    ] = Field(description="of the variance: offset, then harmonics of the stride")

    @model_validator(mode="after")
    def _all_of_it(self) -> _PoseErrors:
        if abs(sum(self.shares) - 1.0) > 1e-6:  # typed in decimals
            raise ValueError(f"'shares' must sum to 1, they sum to {sum(self.shares):g}")
        return self


class _Centres(_Source_uncertainty):
    sd_mm: dict[Name, Millimetres] = Field(description="one standard deviation of every segment, mm")
    believed: Names = Field((), description="segments for which it is what the fit of the subject's model believes")

    @model_validator(mode="after")
    def _once(self) -> _Centres:
        both = sorted(set(self.believed) & set(self.sd_mm))
        if both:
            raise ValueError(f"{', '.join(both)}: either a number in 'sd_mm' or 'believed'")
        return self


class _CentresBySource(Table):
    quiet_part: dict[Name, Millimetres] = Field(description="a quiet part of another recording stood for it")
    stored_offsets: dict[Name, Millimetres] = Field(description="joint offsets that the laboratory stored")
    walk: dict[Name, Millimetres] = Field(description="nothing but the walk itself")


class _Calibration(_Source_uncertainty):
    sd_mm: _CentresBySource = Field(description="added to the joint centres, by what stood for a static trial, mm")


class _Inertias(_Source_uncertainty):
    mass_percent: float = Field(ge=0, le=100, description="one standard deviation, %")
    moment_percent: float = Field(ge=0, le=100, description="one standard deviation, %")
    centre_mm: Millimetres = Field(description="one standard deviation, mm")


class _Pressure_uncertainty(_Source_uncertainty):
    sd_mm: Millimetres = Field(description="one standard deviation, mm")


class _Cutoff(_Source_uncertainty):
    sd_hz: float = Field(ge=0, le=20, description="one standard deviation, Hz")


Degrees = Annotated[tuple[Annotated[float, Field(ge=0, le=90)], ...], Field(strict=False, min_length=3, max_length=3)]


class _Unseen(_Source_uncertainty):
    harmonics: Annotated[
        tuple[Annotated[float, Field(ge=0, le=1)], ...], Field(strict=False, min_length=1, max_length=50)
    ] = Field((1.0,), description="of the variance of `stride_deg`: harmonics of the stride")
    offset_deg: dict[Name, Degrees] = Field(
        default_factory=dict, description="one standard deviation of a segment's mean tilt, list and turn, deg"
    )
    stride_deg: dict[Name, Degrees] = Field(
        default_factory=dict, description="the same of its movement in the stride, deg"
    )


@SCHEMAS.register("uncertainty")
class MagnitudesTable(Table):
    """One standard deviation of every source of error."""

    marker_noise: _Noise = Field(description="table of the markers' noise")
    soft_tissue: _SoftTissue = Field(description="table of soft tissue movement")
    pose_noise: _PoseNoise | None = Field(
        None, description="table of the noise of measured poses; omitted = the library's"
    )
    pose_errors: _PoseErrors | None = Field(
        None, description="table of the errors of measured poses; omitted = the library's"
    )
    joint_centres: _Centres = Field(description="table of the joint centres' errors")
    calibration: _Calibration | None = Field(
        None, description="table of models without a static trial; as the library's"
    )
    inertias: _Inertias = Field(description="table of the inertias' errors")
    centre_of_pressure: _Pressure_uncertainty = Field(description="table of the centre of pressure's error")
    cutoff: _Cutoff = Field(description="table of the cut-off's error")
    unseen_segments: _Unseen | None = Field(
        None, description="table of the errors of the motion that is assumed without markers"
    )


class _Variable(Strict):
    title: Text
    positive: Text
    negative: Text
    limits: Range
    clinical_sign: Literal[1, -1] = 1
    mirrored: bool = False
    jump: float | None = Field(None, gt=0)
    note: Text | None = None

    @model_validator(mode="after")
    def _rises(self) -> _Variable:
        if not self.limits[0] < self.limits[1]:
            raise ValueError(f"'limits' must rise, found {list(self.limits)}")
        return self


class _Kind(Strict):
    unit: Name
    jump: float = Field(gt=0)
    note: Text | None = None
    variable: dict[Name, _Variable]


class _Published(Strict):
    """Published norms in the order in which they are tried, and how a person's age is judged where nobody told it."""

    tried: Names
    scores: Name
    adult_from_m: float = Field(gt=0)
    child_below_m: float = Field(gt=0)
    leg_share_of_height: float = Field(gt=0, lt=1)


@SCHEMAS.register("variables/variables")
class Variables(Strict):
    """Variables by kind: title, signs, limits."""

    kind: dict[Name, _Kind]
    about_transverse_axis: dict[Name, Text]
    norms: _Published


class _Speed(Strict):
    """At which speeds people walked: groups of walks, or one model of speed around a reference."""

    measure: Literal["dimensionless", "heights_per_s", "m_s"]
    names: Names = ()
    mean: Numbers = ()
    sd: Numbers = ()
    people: Annotated[tuple[Annotated[int, Field(gt=0)], ...], Field(strict=False, min_length=1)]
    reference: float | None = Field(None, gt=0)
    range: Range | None = None

    @model_validator(mode="after")
    def _groups_or_model(self) -> _Speed:
        groups = len(self.names)
        if (self.reference is None) != (self.range is None) or (self.reference is None) == (groups == 0):
            raise ValueError("needs either 'names', 'mean', 'sd' of groups, or 'reference' and 'range' of a model")
        if groups and not groups == len(self.mean) == len(self.sd) == len(self.people):
            raise ValueError(f"'mean', 'sd' and 'people' must have {groups} values, as many as 'names'")
        if any(later <= earlier for earlier, later in pairwise(self.mean)) or any(sd <= 0 for sd in self.sd):
            raise ValueError("'mean' must rise, and every 'sd' be positive")
        if self.range is not None and not self.range[0] <= self.range[1]:
            raise ValueError("'range' must rise")
        return self


class _Age(Strict):
    reference: float = Field(ge=0, le=120)


_Rows = Annotated[tuple[Numbers, ...], Field(strict=False, min_length=1)]


class _Curve(Strict):
    published: Text = "in this program's signs"
    sign: Literal[1, -1] = 1
    unit: Name
    mean: _Rows
    sd: Annotated[tuple[Numbers, ...], Field(strict=False)] = ()
    sd_growth: float = 0.0
    reach: float = Field(1.0, gt=0)


class _Scalar(Strict):
    title: Text | None = None
    variable: Name | None = None
    operation: Literal["max", "min", "range"] | None = None
    unit: Name
    mean: Annotated[tuple[float, ...], Field(strict=False, min_length=1)]
    per_decade: float = 0.0
    sd: Annotated[tuple[float, ...], Field(strict=False, min_length=1)]

    @model_validator(mode="after")
    def _of_a_curve_or_not(self) -> _Scalar:
        if (self.variable is None) != (self.operation is None):
            raise ValueError("'variable' and 'operation' go together")
        if any(sd <= 0 for sd in self.sd):
            raise ValueError("every 'sd' must be positive")
        return self


@SCHEMAS.register("variables/norms")
class Norms(Strict):
    """Curves and numbers of a group of people; docs/norms.md."""

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

    @model_validator(mode="after")
    def _whole(self) -> Norms:
        if self.percent[0] != 0 or self.percent[-1] != 100 or any(b <= a for a, b in pairwise(self.percent)):
            raise ValueError("'percent' must rise from 0 to 100")
        for what, limits in (("ages", self.ages), ("serves", self.serves)):
            if limits is not None and not limits[0] <= limits[1]:
                raise ValueError(f"'{what}' must rise, found {list(limits)}")
        if not self.curve and not self.scalar:
            raise ValueError("needs a [curve.NAME] or a [scalar.NAME]")
        groups = len(self.speed.names)
        for name, curve in self.curve.items():
            self._require_rows(f"curve.{name}", len(curve.mean), len(curve.sd), groups)
            if any(len(row) != len(self.percent) for row in (*curve.mean, *curve.sd)):
                raise ValueError(f"'curve.{name}' must have {len(self.percent)} values, as many as 'percent'")
            if any(value < 0 for row in curve.sd for value in row):
                raise ValueError(f"'curve.{name}.sd' must not be negative")
        for name, scalar in self.scalar.items():
            self._require_rows(f"scalar.{name}", len(scalar.mean), len(scalar.sd), groups)
            if scalar.per_decade and self.age is None:
                raise ValueError(f"'scalar.{name}.per_decade' needs [age]")
        return self

    @staticmethod
    def _require_rows(what: str, mean: int, sd: int, groups: int) -> None:
        """A row for each speed; of a model one to three of the mean (its powers of speed) and one of the spread."""
        if groups and (mean != groups or sd not in (0, groups)):
            raise ValueError(f"'{what}' must have {groups} rows, one for each of 'speed.names'")
        if not groups and (mean > 3 or sd > 1):
            raise ValueError(f"'{what}' must have at most three rows of 'mean' and one of 'sd'")
