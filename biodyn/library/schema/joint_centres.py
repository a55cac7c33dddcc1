"""Rows of numbers of the hip joint centre."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, RootModel, model_validator

from biodyn.library.schema import SCHEMAS
from biodyn.library.schema.base import AXES, Name, Table, Titled

# the largest published are .36 of a length and .02 m: a slipped decimal point is refused
Coefficients = Annotated[
    dict[Literal["PD", "PW", "LL", "constant"], Annotated[float, Field(ge=-1, le=1)]], Field(min_length=1)
]


class Newington(Table):
    """Constants of Davis et al. 1991."""

    c_LL: float = Field(ge=-1, le=1, description="coefficient")
    c_constant: float = Field(ge=-1, le=1, description="m")
    at_LL: float = Field(ge=-1, le=1, description="coefficient")
    at_constant: float = Field(ge=-1, le=1, description="m")
    theta_rad: float = Field(ge=-3.2, le=3.2, description="rad")
    beta_rad: float = Field(ge=-3.2, le=3.2, description="rad")


@SCHEMAS.register("hip_centres")
class HipCentreTable(Titled):
    """One row of the hip joint centre: coefficients of a regression, constants, or the numbers of a named method."""

    x: Coefficients | None = Field(None, description="forward")
    y: Coefficients | None = Field(None, description="up")
    z: Coefficients | None = Field(None, description="towards the hip's side")
    newington: Newington | None = Field(None, description="constants of Davis et al. 1991")
    method: Name | None = Field(None, description="method of model/from_library/joint_centres that the row is for")
    numbers: dict[Name, float] = Field(default_factory=dict, description="what that method reads")

    @model_validator(mode="after")
    def _is_one(self) -> HipCentreTable:
        axes = [axis for axis in AXES if getattr(self, axis) is not None]
        if self.numbers and self.method is None:
            raise ValueError("'numbers' needs 'method', the method that reads them")
        if self.method is not None and (axes or self.newington is not None):
            raise ValueError("it has 'method' and its 'numbers', or x, y and z, or 'newington', not two of them")
        if self.method is None and self.newington is None and len(axes) < 3:
            missing = next(axis for axis in AXES if axis not in axes)
            raise ValueError(f"'{missing}' is missing: it needs x, y and z, coefficients of PD, PW, LL and a constant")
        if self.newington is not None and axes:
            raise ValueError("it has x, y and z, or 'newington', not both")
        return self


@SCHEMAS.register("body/joint_centres")
class HipCentreRows(RootModel[dict[Name, HipCentreTable]]):
    """All rows of the library, by the names that settings give."""
