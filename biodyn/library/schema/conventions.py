"""How other programs name, sign and scale what a result holds."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from biodyn.library.schema import SCHEMAS
from biodyn.library.schema.base import Strict, Text, Texts


class _Axis(Strict):
    of: Text
    sign: Literal[1, -1]
    mirror: bool = False
    positive: Text


class _Channel(Strict):
    name: Text
    group: Literal["angle", "position", "moment", "power", "force"]
    unit: Text
    factor: float = Field(1.0, gt=0)
    per_mass: bool = False
    at: Literal[0, 1, 2] = 0
    axes: Annotated[tuple[_Axis, ...], Field(strict=False, min_length=1, max_length=3)]


@SCHEMAS.register("conventions")
class Convention(Strict):
    """A convention: channels of up to three components, each a column of the tables with a sign."""

    title: Text
    citation: Text
    each: Annotated[tuple[Literal["angle", "position", "torque"], ...], Field(strict=False)] = ()
    channel: Annotated[tuple[_Channel, ...], Field(strict=False)] = ()


class _Column(Strict):
    match: Text
    meaning: Text
    unit: str = ""
    tables: Texts = ()


@SCHEMAS.register("formats/columns")
class Columns(Strict):
    """What the columns of a result's tables mean."""

    column: Annotated[tuple[_Column, ...], Field(strict=False, min_length=1)]
