"""Systems that store poses of segments."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from biodyn.library.schema import SCHEMAS
from biodyn.library.schema.base import Name, Names, Strict, Text

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
