"""Schema of a table of norms, the library's or a user's own."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Literal

from pydantic import Field, model_validator

from biodyn.library.schema.base import Name, Names, Numbers, Range, Strict, Text


class _Speed(Strict):
    """Walking speeds: groups of trials, or one model of speed around a reference."""

    measure: Literal["dimensionless", "heights_per_s", "m_s"]
    names: Names = ()
    mean: Numbers = ()
    sd: Numbers = ()
    people: Annotated[tuple[Annotated[int, Field(gt=0)], ...], Field(strict=False, min_length=1)]
    reference: float | None = Field(None, gt=0)
    range: Range | None = None

    @model_validator(mode="after")
    def _groups_or_model(self) -> _Speed:
        groups = len(self.names)
        if (self.reference is None) != (self.range is None) or (self.reference is None) == (groups == 0):
            raise ValueError("needs either 'names', 'mean', 'sd' of groups, or 'reference' and 'range' of a model")
        if groups and not groups == len(self.mean) == len(self.sd) == len(self.people):
            raise ValueError(f"'mean', 'sd' and 'people' must have {groups} values, as many as 'names'")
        if any(later <= earlier for earlier, later in pairwise(self.mean)) or any(sd <= 0 for sd in self.sd):
            raise ValueError("'mean' must rise, and every 'sd' be positive")
        if self.range is not None and not self.range[0] <= self.range[1]:
            raise ValueError("'range' must rise")
        return self


class _Age(Strict):
    reference: float = Field(ge=0, le=120)


class _Curve(Strict):
    published: Text = "in this program's signs"
    sign: Literal[1, -1] = 1
    unit: Name
    mean: Annotated[tuple[Numbers, ...], Field(strict=False, min_length=1)]
    sd: Annotated[tuple[Numbers, ...], Field(strict=False)] = ()
    sd_growth: float = 0.0
    reach: float = Field(1.0, gt=0)


class _Scalar(Strict):
    title: Text | None = None
    variable: Name | None = None
    operation: Literal["max", "min", "range"] | None = None
    unit: Name
    mean: Annotated[tuple[float, ...], Field(strict=False, min_length=1)]
    per_decade: float = 0.0
    sd: Annotated[tuple[float, ...], Field(strict=False, min_length=1)]

    @model_validator(mode="after")
    def _of_a_curve_or_not(self) -> _Scalar:
        if (self.variable is None) != (self.operation is None):
            raise ValueError("'variable' and 'operation' go together")
        if any(sd <= 0 for sd in self.sd):
            raise ValueError("every 'sd' must be positive")
        return self


class Norms(Strict):
    """Curves and discrete parameters of a reference group; see docs/norms.md."""

    name: Name
    group: Text
    short: Name
    band: Text
    citation: Text
    licence: Text
    made_by: Text | None = None
    ages: Range | None = None
    serves: Range | None = None
    percent: Annotated[tuple[Annotated[float, Field(ge=0, le=100)], ...], Field(strict=False, min_length=2)]
    speed: _Speed
    age: _Age | None = None
    curve: dict[Name, _Curve] = Field(default_factory=dict)
    scalar: dict[Name, _Scalar] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _complete(self) -> Norms:
        if self.percent[0] != 0 or self.percent[-1] != 100 or any(b <= a for a, b in pairwise(self.percent)):
            raise ValueError("'percent' must rise from 0 to 100")
        for what, limits in (("ages", self.ages), ("serves", self.serves)):
            if limits is not None and not limits[0] <= limits[1]:
                raise ValueError(f"'{what}' must rise, found {list(limits)}")
        if not self.curve and not self.scalar:
            raise ValueError("needs a [curve.NAME] or a [scalar.NAME]")
        groups = len(self.speed.names)
        for name, curve in self.curve.items():
            _require_rows(f"curve.{name}", len(curve.mean), len(curve.sd), groups)
            if any(len(row) != len(self.percent) for row in (*curve.mean, *curve.sd)):
                raise ValueError(f"'curve.{name}' must have {len(self.percent)} values, as many as 'percent'")
            if any(value < 0 for row in curve.sd for value in row):
                raise ValueError(f"'curve.{name}.sd' must not be negative")
        for name, scalar in self.scalar.items():
            _require_rows(f"scalar.{name}", len(scalar.mean), len(scalar.sd), groups)
            if scalar.per_decade and self.age is None:
                raise ValueError(f"'scalar.{name}.per_decade' needs [age]")
        return self


def _require_rows(what: str, mean: int, sd: int, groups: int) -> None:
    """Require one row per speed group; of a model up to three of the mean (powers of speed) and one of the spread."""
    if groups and (mean != groups or sd not in (0, groups)):
        raise ValueError(f"'{what}' must have {groups} rows, one for each of 'speed.names'")
    if not groups and (mean > 3 or sd > 1):
        raise ValueError(f"'{what}' must have at most three rows of 'mean' and one of 'sd'")
