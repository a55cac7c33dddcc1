"""Schema of a user's table of uncertainties."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field, model_validator

from biodyn.library.schema.base import Name, Names, Table

Millimetres = Annotated[float, Field(ge=0, le=200)]
_Degrees = Annotated[tuple[Annotated[float, Field(ge=0, le=90)], ...], Field(strict=False, min_length=3, max_length=3)]
_Shares = Annotated[
    tuple[Annotated[float, Field(ge=0, le=1)], ...], Field(strict=False, min_length=1, max_length=50)
]  # fmt: skip
_SHARES_OF_HARMONICS = "shares of the variance: offset, then harmonics of the stride"


def _sum_to_one(shares: tuple[float, ...]) -> tuple[float, ...]:
    if abs(sum(shares) - 1.0) > 1e-6:  # typed in decimals
        raise ValueError(f"'shares' must sum to 1, they sum to {sum(shares):g}")
    return shares


class _Source(Table):
    title: str = Field("", max_length=2000, description="title")
    citation: str = Field("", max_length=2000, description="source of the number")


class _MarkerNoise(_Source):
    sd_mm: Millimetres = Field(description="standard deviation, mm")
    from_hz: float = Field(gt=0, le=1e5, description="frequency above which a trial shows its own noise, Hz")


class _SoftTissue(_Source):
    shares: Annotated[_Shares, AfterValidator(_sum_to_one)] = Field(description=_SHARES_OF_HARMONICS)
    stride_s: float = Field(gt=0.1, le=100, description="stride time used where none was measured, s")
    sd_mm: dict[Name, Millimetres] = Field(description="standard deviation by segment, mm")


class _PoseNoise(_Source):
    origin_mm: Millimetres = Field(description="standard deviation along each axis, mm")
    turn_deg: float = Field(ge=0, le=45, description="standard deviation about each axis, deg")


class _PoseErrors(_PoseNoise):
    shares: Annotated[_Shares, AfterValidator(_sum_to_one)] = Field(description=_SHARES_OF_HARMONICS)


class _JointCentres(_Source):
    sd_mm: dict[Name, Millimetres] = Field(description="standard deviation by segment, mm")
    believed: Names = Field((), description="segments that use the prior of the fit of the subject's model")

    @model_validator(mode="after")
    def _one_of_both(self) -> _JointCentres:
        both = sorted(set(self.believed) & set(self.sd_mm))
        if both:
            raise ValueError(f"{', '.join(both)}: either a number in 'sd_mm' or 'believed'")
        return self


class _SdBySource(Table):
    quiet_part: dict[Name, Millimetres] = Field(description="static posture from a quiet part of another recording")
    stored_offsets: dict[Name, Millimetres] = Field(description="joint offsets stored by the laboratory")
    walk: dict[Name, Millimetres] = Field(description="static posture from the walking trial")


class _Calibration(_Source):
    sd_mm: _SdBySource = Field(description="added to the joint centres where there is no static trial, mm")


class _Inertias(_Source):
    mass_percent: float = Field(ge=0, le=100, description="standard deviation, %")
    moment_percent: float = Field(ge=0, le=100, description="standard deviation, %")
    centre_mm: Millimetres = Field(description="standard deviation, mm")


class _CentreOfPressure(_Source):
    sd_mm: Millimetres = Field(description="standard deviation, mm")


class _Cutoff(_Source):
    sd_hz: float = Field(ge=0, le=20, description="standard deviation, Hz")


class _UnseenSegments(_Source):
    harmonics: _Shares = Field((1.0,), description="shares of the variance of 'stride_deg': harmonics of the stride")
    offset_deg: dict[Name, _Degrees] = Field(
        default_factory=dict, description="standard deviation of a segment's mean tilt, list and rotation, deg"
    )
    stride_deg: dict[Name, _Degrees] = Field(
        default_factory=dict, description="standard deviation of its motion during the stride, deg"
    )


class Uncertainties(Table):
    """Standard deviations of every source of error."""

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
