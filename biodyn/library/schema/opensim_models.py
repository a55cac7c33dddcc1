"""Names of the bodies, joints and coordinates of OpenSim models."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from biodyn.library.schema import SCHEMAS
from biodyn.library.schema.base import Name, OneOrMore, Strict, Texts, Three


class _Feet(Strict):
    bodies: OneOrMore
    toes: OneOrMore


class _Root(Strict):
    rotations: Annotated[tuple[Name, Name, Name], Field(strict=False)]
    translations: Annotated[tuple[Name, Name, Name], Field(strict=False)]


class _Coordinate(Strict):
    names: OneOrMore
    axis: Three


class _SegmentRules(Strict):
    leg: Texts
    unsided: Texts


@SCHEMAS.register("body/opensim_models")
class OpenSimModels(Strict):
    """What the parts of a model are called, and what they are here."""

    sides: dict[Literal["r", "l"], Texts]
    feet: _Feet
    root: _Root
    segments: dict[Name, Texts]
    segment_rules: _SegmentRules
    joint_segments: dict[Name, Name]
    joints: dict[Name, OneOrMore]
    coordinates: dict[Name, _Coordinate]
