"""What a user's column map may say of a spreadsheet."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from biodyn.library.schema import SCHEMAS
from biodyn.library.schema.base import Name, Strict, Text

Three = Annotated[tuple[Text, Text, Text], Field(strict=False)]


class _Force(Strict):
    force: Three
    point: Three
    moment: Three | None = None
    side: Literal["right", "left"] | None = None


@SCHEMAS.register("formats/column_map")
class ColumnMap(Strict):
    """Which columns of a spreadsheet are what, and in which units."""

    time: Text | None = None
    rate_hz: float | None = Field(None, gt=0, le=20_000)
    length: Literal["m", "cm", "mm"] | None = None
    angle: Literal["deg", "rad"] | None = None
    markers: dict[str, Three] = Field(default_factory=dict)
    forces: Annotated[tuple[_Force, ...], Field(strict=False)] = ()
    coordinates: dict[Name, Text] = Field(default_factory=dict)
