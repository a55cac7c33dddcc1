"""What variables mean, and published curves."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from biodyn.library.schema import SCHEMAS
from biodyn.library.schema.base import Name, Numbers, Range, Strict, Text, Texts


class _Variable(Strict):
    title: Text
    positive: Text
    negative: Text
    limits: Range
    clinical_sign: Literal[1, -1] = 1
    mirrored: bool = False
    jump: float | None = Field(None, gt=0)
    note: Text | None = None

    @model_validator(mode="after")
    def _rises(self) -> _Variable:
        if not self.limits[0] < self.limits[1]:
            raise ValueError(f"'limits' must rise, found {list(self.limits)}")
        return self


class _Kind(Strict):
    unit: Name
    jump: float = Field(gt=0)
    note: Text | None = None
    variable: dict[Name, _Variable]


class _Usual(Strict):
    usual: Texts


@SCHEMAS.register("variables/variables")
class Variables(Strict):
    """Variables by kind: title, signs, limits."""

    kind: dict[Name, _Kind]
    norms: _Usual


class _Curve(Strict):
    published: Text
    sign: Literal[1, -1]
    unit: Name
    mean: Numbers
    sd: Numbers = ()


@SCHEMAS.register("variables/norms")
class Norms(Strict):
    """Published curves of a group of people."""

    name: Name
    group: Text
    short: Name
    band: Text
    citation: Text
    percent: Annotated[tuple[Annotated[float, Field(ge=0, le=100)], ...], Field(strict=False, min_length=2)]
    curve: dict[Name, _Curve]

    @model_validator(mode="after")
    def _as_long_as_percent(self) -> Norms:
        for name, curve in self.curve.items():
            if len(curve.mean) != len(self.percent) or len(curve.sd) not in (0, len(self.percent)):
                raise ValueError(f"'curve.{name}' must have {len(self.percent)} values, as many as 'percent'")
        return self
