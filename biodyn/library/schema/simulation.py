"""The simulated person: template, walk, skin."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from biodyn.library.schema import SCHEMAS
from biodyn.library.schema.base import Name, Names, Numbers, OneOrMore, Strict, Table, Texts, Three

Metres = Annotated[float, Field(gt=0, lt=3)]
Share = Annotated[float, Field(ge=0, le=1)]


@SCHEMAS.register("simulation/person")
class Person(Table):
    """Template of a standing person."""

    reference_height_m: Metres
    hip_height_m: Metres
    along_the_leg: Texts
    measures: dict[Name, Metres]
    markers: dict[Name, Three]


class _Place(Table):
    body: Name
    marks: Name | None = None
    at: Three | None = None
    marker: Name | None = None
    from_: Name | None = Field(None, alias="from")
    through: Name | None = None
    rods: Three | None = None


class _Outfit(Table):
    wears: dict[Name, Name]
    sides: Annotated[tuple[Name, Name], Field(strict=False)] | None = None
    also: Names = ()
    static_only: Names = ()
    walk_only: Names = ()
    plates: Annotated[tuple[OneOrMore, ...], Field(strict=False)] = ()
    set: Name | None = None


@SCHEMAS.register("simulation/outfits")
class Outfits(Table):
    """Marker sets that simulated people wear beside the template's."""

    place: dict[Name, _Place]
    outfit: dict[Name, _Outfit]


class _Bulge(Strict):
    mm: float = Field(ge=0)
    phase: Share
    width: float = Field(gt=0, le=0.5)


class _Toes(Strict):
    forward_mm: float
    upward_mm: float
    phase: Share
    width: float = Field(gt=0, le=0.5)


class _Swing(Strict):
    mm: float = Field(ge=0)
    hz: float = Field(gt=0, le=100)
    damping: float = Field(gt=0, lt=1)


class _Wobble(Table):
    together: Share
    other_leg: Share
    spread: Share
    segments: dict[Name, _Swing]


@SCHEMAS.register("simulation/soft_tissue")
class SoftTissue(Table):
    """How far skin moves, mm."""

    cycle_share: Share
    cycle_harmonics: int = Field(ge=1)
    landmark: dict[Name, Annotated[float, Field(ge=0)]]
    body: dict[Name, Annotated[float, Field(ge=0)]]
    muscle: dict[Name, _Bulge]
    wobble: _Wobble
    toes: dict[Name, _Toes]
    plate_turn_deg: dict[Name, Annotated[float, Field(ge=0, le=20)]]


class _Timing(Strict):
    double_support: Share
    double_support_per_m_s: float
    reference_speed_m_s: float = Field(gt=0)
    heel_planted_from: Share
    heel_planted: Share
    ball_planted_from: Share
    clear_until: Share
    landing_counts: float = Field(ge=1)


class _Foot(Strict):
    heel: Share
    ball: Share
    pressure_start: Share
    pressure_end: Share
    toe_out_deg: float


class _Waves(Strict):
    cos: Numbers
    sin: Numbers


class _GroundWaves(_Waves):
    tolerance: float = Field(gt=0)


class _Ground(Strict):
    forward: _GroundWaves
    upward: _GroundWaves
    push: Share


class _Rotation(_Waves):
    mean: float
    tolerance_deg: float = Field(gt=0)
    mean_free: bool = False


class _Translation(_Waves):
    mean: float
    tolerance_m: float = Field(gt=0)


class _Base(Strict):
    reference_height_m: Metres
    tilt: _Rotation
    list: _Rotation
    rotation: _Rotation
    forward: _Translation
    upward: _Translation
    sideways: _Translation
    harmonics: int = Field(ge=0)


class _Coordinate(_Rotation):
    harmonics: int = Field(ge=0)
    static_offset: bool = False


@SCHEMAS.register("simulation/gait")
class Gait(Strict):
    """The simulated walk."""

    timing: _Timing
    foot: _Foot
    ground: _Ground
    base: _Base
    coordinates: dict[Name, _Coordinate]


@SCHEMAS.register("simulation/motions")
class Motions(Strict):
    """Names that plans of motions use, and tolerances of their curves."""

    parts: dict[Name, Name]
    root: dict[Name, Annotated[float, Field(gt=0)]]
    joints: dict[Name, Annotated[float, Field(gt=0)]]


_Positive = Annotated[float, Field(gt=0)]


class _Impact(Strict):
    peak_bw: float = Field(ge=0, le=3)
    length_s: float = Field(gt=0, le=0.1)
    recoil_s: Annotated[tuple[_Positive, _Positive], Field(strict=False)]
    forward: float = Field(ge=-1, le=1)
    sideways: float = Field(ge=-1, le=1)


class _LaterImpact(_Impact):
    delay_s: float = Field(ge=0, le=0.2)


class _Landing(Strict):
    begins_s: float = Field(gt=0, le=0.3)
    rests_s: float = Field(ge=0, le=0.1)
    planted: Share
    returns: float = Field(gt=0, le=1)


class _Burst(Strict):
    before_s: float = Field(ge=0, le=0.1)
    length_s: float = Field(gt=0, le=0.2)
    torque: dict[Name, float]


class _ImpactSpread(Strict):
    size: Share
    step: Share
    length: Share


class _ImpactWindow(Strict):
    before_s: _Positive
    after_s: _Positive
    taper_s: _Positive
    knot_s: _Positive


class _Damping(Strict):
    share_s: _Positive
    tolerance_rad: _Positive


@SCHEMAS.register("simulation/rough")
class Rough(Table):
    """Foot strikes and what the body makes of them."""

    heel: _Impact
    brake: _LaterImpact
    ball: _LaterImpact
    landing: _Landing
    burst: _Burst
    spread: _ImpactSpread
    window: _ImpactWindow
    stiffness: dict[Name, _Positive]
    damping: _Damping
    tremor: dict[Name, Annotated[float, Field(ge=0)]]


class _StyleChange(Strict):
    shift_deg: float = 0.0
    scale: float = Field(1.0, gt=0, le=3)


class _StyleTiming(Strict):
    heel_planted_from: Share
    clear_until: Share
    landing_counts: float = Field(ge=1)


class _StyleSpeed(Strict):
    angles: float
    forces: float
    most_bw: _Positive
    most_bw_per_m_s: float
    least_bw: _Positive
    least_bw_per_m_s: float
    most_friction: _Positive
    most_friction_per_m_s: float


@SCHEMAS.register("simulation/styles")
class Styles(Strict):
    """Gaits other than normal walking."""

    timing: _StyleTiming
    speed: _StyleSpeed
    style: dict[Name, dict[Name, _StyleChange]]


class _RecordingErrors(Strict):
    plate_mm: float = Field(ge=0)
    plate_gain: float = Field(ge=0, le=1)
    force_noise_n: float = Field(ge=0)
    force_offset_n: float = Field(ge=0)


_FromTo = Annotated[tuple[_Positive, _Positive], Field(strict=False)]


class _WalkClass(Strict):
    style: str
    speed_m_s: _FromTo
    noise_mm: float = Field(ge=0)
    smoothed_hz: _FromTo | None = None
    plate_mm: float | None = Field(None, ge=0)
    plate_gain: float | None = Field(None, ge=0, le=1)
    lower: bool = False
    runs: bool = False


@SCHEMAS.register("simulation/rough_walks")
class RoughWalks(Strict):
    """Classes of simulated walks that analyses are held against."""

    errors: _RecordingErrors
    class_: dict[Name, _WalkClass] = Field(alias="class")


class _KneeMotion(Strict):
    axis: Name
    mean: float
    sd: float = Field(ge=0)
    limits: Annotated[tuple[float, float], Field(strict=False)]


@SCHEMAS.register("simulation/knees")
class Knees(Strict):
    """What goes with the flexion of a knee."""

    joint: Name
    driver: Name
    reach_deg: float = Field(gt=0, le=120)
    bend: float = Field(gt=0, le=2)
    turns_deg: dict[Name, _KneeMotion]
    glides_mm: dict[Name, _KneeMotion]
