"""The jointed person that markers are recognised by."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from biodyn.library.schema import SCHEMAS
from biodyn.library.schema.base import Name, Strict, Table, Texts, Three

Spread = Annotated[float, Field(gt=0, lt=1)]


class _Segment(Strict):
    name: Name
    parent: Name = ""
    centre: Three
    flexion: Three
    abduction: Three
    turning: Three
    along: Literal["x", "y"] = "y"
    length: Spread
    breadth: Spread


class _Place(Strict):
    landmark: Name = ""
    labels: Texts = ()
    body: Name
    position: Three
    sd: Three


@SCHEMAS.register("body/person")
class Person(Table):
    """Segments with their joints, and places of markers, each with its spread."""

    reference_height_m: float = Field(gt=0, lt=3)
    height_sd: Spread
    unmodelled_sd_m: Spread
    parts: list[list[Name]]
    segment: list[_Segment]
    place: list[_Place]
