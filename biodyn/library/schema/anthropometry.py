"""Anthropometric tables: masses, centres of mass and radii of gyration of the segments."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, model_validator

from biodyn.library.faults import found
from biodyn.library.schema import SCHEMAS
from biodyn.library.schema.base import SIDES, Name, Table, Text, Titled


class SegmentRow(Table):
    """Numbers of a segment for one sex."""

    mass: float = Field(gt=0, le=1, description="share of body mass")
    com: Any = Field(
        description="centre of mass: share of the way from - to, or three shares of its length with 'origin'"
    )
    radii: Annotated[
        tuple[Annotated[float, Field(ge=0, le=2)], ...], Field(strict=False, min_length=3, max_length=3)
    ] = Field(description="radii of gyration about X, Y, Z, shares of the length")
    products: (
        Annotated[tuple[Annotated[float, Field(ge=-2, le=2)], ...], Field(strict=False, min_length=3, max_length=3)]
        | None
    ) = Field(None, description="signed radii of the products of inertia XY, XZ, YZ")

    @model_validator(mode="after")
    def _com_is_one_or_three_numbers(self) -> SegmentRow:
        three = isinstance(self.com, list)
        values = self.com if three else [self.com]
        low, high = (-2.0, 2.0) if three else (-0.5, 1.5)  # three may lie beside the line, one lies on it
        numbers = all(isinstance(v, (int, float)) and not isinstance(v, bool) and low <= v <= high for v in values)
        if not numbers or len(values) != (3 if three else 1):
            raise ValueError(f"'com' must be a number from -0.5 to 1.5, or three from -2 to 2, found {found(self.com)}")
        return self


class Segment(Table):
    """`[[segment]]`: mass, centre of mass and radii of gyration, added to those of its body."""

    name: Name = Field(description="of the segment")
    body: Name = Field(description="body of the skeleton it belongs to")
    start: Name = Field(alias="from", description="landmark at its beginning")
    end: Name = Field(alias="to", description="landmark at its end")
    origin: Name | None = Field(None, description="landmark that 'com' starts from, where it is three numbers")
    y: Annotated[tuple[Name, Name], Field(strict=False)] | None = Field(
        None,
        description="landmarks from which to which the numbers' Y axis runs, where it is not the body's; with 'origin'",
    )
    male: SegmentRow = Field(description="table of the numbers for men")
    female: SegmentRow = Field(description="table of the numbers for women")

    @model_validator(mode="after")
    def _agrees(self) -> Segment:
        for sex, row in (("male", self.male), ("female", self.female)):
            if isinstance(row.com, list) != (self.origin is not None):
                raise ValueError(f"'{sex}.com' must be three numbers with an 'origin', and one number without")
        if self.y is not None and self.origin is None:
            raise ValueError("'y' needs an 'origin': one number 'com' lies on the line from - to")
        if (self.male.products is None) != (self.female.products is None):
            raise ValueError("'products' must be there for both sexes or for neither")
        return self

    @property
    def copies(self) -> int:
        """2 where it stands for both sides."""
        return 2 if any(sign in self.body for sign in SIDES) else 1


@SCHEMAS.register("body/anthropometry")
class AnthropometryTable(Titled):
    """Masses, centres of mass and radii of gyration of the segments."""

    extends: Text | None = Field(
        None, description="table whose segments are taken, where there are none here: a library's, or a TOML file"
    )
    across: Name | None = Field(
        None, description="table of the library that says how far beside the segments' lines mass centres lie"
    )
    segment: Annotated[tuple[Segment, ...], Field(strict=False, min_length=1)] | None = Field(
        None, description="segments"
    )

    @model_validator(mode="after")
    def _has_segments(self) -> AnthropometryTable:
        if (self.segment is None) == (self.extends is None):
            raise ValueError("it must have either [[segment]] or 'extends', which names a table that has some")
        return self

    @model_validator(mode="after")
    def _is_a_whole_body(self) -> AnthropometryTable:
        if self.segment is None:
            return self
        for sex in ("male", "female"):
            total = sum(segment.copies * getattr(segment, sex).mass for segment in self.segment)
            # published tables sum to 1 within their rounding, .999 to 1.002; sums are scaled, a typo must not be
            if not 0.9 <= total <= 1.1:
                raise ValueError(f"'{sex}.mass' of all segments, both sides, sums to {total:.3g}, expected 0.9 to 1.1")
        return self
