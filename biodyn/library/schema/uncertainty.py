"""Magnitudes of the errors that the bands are made of."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from biodyn.library.schema import SCHEMAS
from biodyn.library.schema.base import Name, Names, Table

Millimetres = Annotated[float, Field(ge=0, le=200)]


class _Source(Table):
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


class _PoseNoise(_Source):
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


class _Centres(_Source):
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


class _Calibration(_Source):
    sd_mm: _CentresBySource = Field(description="added to the joint centres, by what stood for a static trial, mm")


class _Inertias(_Source):
    mass_percent: float = Field(ge=0, le=100, description="one standard deviation, %")
    moment_percent: float = Field(ge=0, le=100, description="one standard deviation, %")
    centre_mm: Millimetres = Field(description="one standard deviation, mm")


class _Pressure(_Source):
    sd_mm: Millimetres = Field(description="one standard deviation, mm")


class _Cutoff(_Source):
    sd_hz: float = Field(ge=0, le=20, description="one standard deviation, Hz")


Degrees = Annotated[tuple[Annotated[float, Field(ge=0, le=90)], ...], Field(strict=False, min_length=3, max_length=3)]


class _Unseen(_Source):
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
    centre_of_pressure: _Pressure = Field(description="table of the centre of pressure's error")
    cutoff: _Cutoff = Field(description="table of the cut-off's error")
    unseen_segments: _Unseen | None = Field(
        None, description="table of the errors of the motion that is assumed without markers"
    )
