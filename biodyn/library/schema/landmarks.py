"""Landmarks that are computed, measures and what stands in for them, places where no marker can be."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from biodyn.library.schema import SCHEMAS
from biodyn.library.schema.base import Name, Names, OneOrMore, Range, Table, Text, Three


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
