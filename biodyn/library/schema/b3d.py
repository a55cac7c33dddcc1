"""The messages of a .b3d archive."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from biodyn.library.schema import SCHEMAS
from biodyn.library.schema.base import Name, Strict, Text

_FieldNumber = Annotated[int, Field(ge=1, le=536_870_911)]
_Field = Annotated[tuple[_FieldNumber, Name], Field(strict=False)]


@SCHEMAS.register("formats/b3d")
class B3dTable(Strict):
    """Fields of each message: number and kind."""

    citation: Text
    message: dict[Name, dict[Name, _Field]]
