"""Schema of a column map: which columns of a spreadsheet hold what, and in which units."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from biodyn.library.schema.base import Name, Strict, Text

_Length = Literal["m", "cm", "mm"]
_Number = Annotated[float, Field(ge=-1e6, le=1e6)]
_TwoOrThree = Annotated[tuple[Text, ...], Field(strict=False, min_length=2, max_length=3)]
_Three = Annotated[tuple[Text, Text, Text], Field(strict=False)]
_Four = Annotated[tuple[Text, Text, Text, Text], Field(strict=False)]
_Nine = Annotated[tuple[Text, Text, Text, Text, Text, Text, Text, Text, Text], Field(strict=False)]
#: A column, or a number used in every row: the height of the floor, a direction that was not measured.
_Parts = Annotated[tuple[Text | _Number, Text | _Number, Text | _Number], Field(strict=False)]
_Place = Annotated[tuple[_Number, _Number, _Number], Field(strict=False)]
_Corners = Annotated[tuple[_Place, _Place, _Place, _Place], Field(strict=False)]


class _Force(Strict):
    force: _Parts
    point: _Parts
    moment: _Parts | None = None
    side: Literal["right", "left"] | None = None

    @model_validator(mode="after")
    def _measured(self) -> _Force:
        if not any(isinstance(part, str) for part in self.force):
            raise ValueError("'force' names no column")
        return self


class _Plate(Strict):
    force: _Three
    moment: _Three
    corners: _Corners
    axes: Literal["plate", "laboratory"] = "plate"
    about: _Place | None = None
    length: _Length = "m"
    moments: Literal["Nm", "Nmm"] = "Nm"


class _Pose(Strict):
    origin: _Three
    quaternion: _Four | None = None
    matrix: _Nine | None = None

    @model_validator(mode="after")
    def _one_rotation(self) -> _Pose:
        if (self.quaternion is None) == (self.matrix is None):
            raise ValueError("a pose has either 'quaternion' or 'matrix'")
        return self


class ColumnMap(Strict):
    """Columns of a spreadsheet and their units."""

    time: Text | None = None
    rate_hz: float | None = Field(None, gt=0, le=20_000)
    length: _Length | None = None
    angle: Literal["deg", "rad"] | None = None
    markers: dict[str, _TwoOrThree] = Field(default_factory=dict)
    poses: dict[Text, _Pose] = Field(default_factory=dict)
    forces: Annotated[tuple[_Force, ...], Field(strict=False)] = ()
    plates: Annotated[tuple[_Plate, ...], Field(strict=False)] = ()
    coordinates: dict[Name, Text] = Field(default_factory=dict)
