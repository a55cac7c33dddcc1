"""What is believed of a person before the walk is seen."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from biodyn.library.schema import SCHEMAS
from biodyn.library.schema.base import Name, Table

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
