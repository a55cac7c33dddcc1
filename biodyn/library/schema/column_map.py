"""What a user's column map may say of a spreadsheet."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from biodyn.library.schema import SCHEMAS
from biodyn.library.schema.base import Name, Strict, Text

Length = Literal["m", "cm", "mm"]
Number = Annotated[float, Field(ge=-1e6, le=1e6)]
TwoOrThree = Annotated[tuple[Text, ...], Field(strict=False, min_length=2, max_length=3)]
Three = Annotated[tuple[Text, Text, Text], Field(strict=False)]
Four = Annotated[tuple[Text, Text, Text, Text], Field(strict=False)]
Nine = Annotated[tuple[Text, Text, Text, Text, Text, Text, Text, Text, Text], Field(strict=False)]
#: A column, or a number that holds in every row: the height of the floor, a direction that was not measured.
Parts = Annotated[tuple[Text | Number, Text | Number, Text | Number], Field(strict=False)]
Place = Annotated[tuple[Number, Number, Number], Field(strict=False)]
Corners = Annotated[tuple[Place, Place, Place, Place], Field(strict=False)]


class _Force(Strict):
    force: Parts
    point: Parts
    moment: Parts | None = None
    side: Literal["right", "left"] | None = None

    @model_validator(mode="after")
    def _measured(self) -> _Force:
        if not any(isinstance(part, str) for part in self.force):
            raise ValueError("'force' names no column")
        return self


class _Plate(Strict):
    force: Three
    moment: Three
    corners: Corners
    axes: Literal["plate", "laboratory"] = "plate"
    about: Place | None = None
    length: Length = "m"
    moments: Literal["Nm", "Nmm"] = "Nm"


class _Pose(Strict):
    origin: Three
    quaternion: Four | None = None
    matrix: Nine | None = None

    @model_validator(mode="after")
    def _turned_by_one(self) -> _Pose:
        if (self.quaternion is None) == (self.matrix is None):
            raise ValueError("a pose has either 'quaternion' or 'matrix'")
        return self


@SCHEMAS.register("formats/column_map")
class ColumnMap(Strict):
    """Which columns of a spreadsheet are what, and in which units."""

    time: Text | None = None
    rate_hz: float | None = Field(None, gt=0, le=20_000)
    length: Length | None = None
    angle: Literal["deg", "rad"] | None = None
    markers: dict[str, TwoOrThree] = Field(default_factory=dict)
    poses: dict[Text, _Pose] = Field(default_factory=dict)
    forces: Annotated[tuple[_Force, ...], Field(strict=False)] = ()
    plates: Annotated[tuple[_Plate, ...], Field(strict=False)] = ()
    coordinates: dict[Name, Text] = Field(default_factory=dict)
