"""Marker sets: labels, what they mark, and which of them must be there."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from biodyn.library.schema import SCHEMAS
from biodyn.library.schema.base import SIDES, Name, Names, OneOrMore, Table, Text, Titled


class MarkerEntry(Table):
    """`[[marker]]`: one marker, or the same marker on both sides."""

    labels: OneOrMore = Field(description="spellings of its label; {S} stands for R and L")
    landmark: str = Field("", max_length=100, description="landmark it marks; omitted = none")
    body: Name = Field(description="segment that carries it")
    weight: float = Field(1.0, ge=0, le=1000, description="in the fit; 0 = not fitted")
    words: OneOrMore | None = Field(
        None, description="words that mean it: 'knee medial', 'a|b' either, 'a?' may be missing, '...' with any places"
    )
    beside: dict[Name, Name] = Field(
        default_factory=dict,
        description="spellings that count only where the file has the other label, too; 'A|B' either",
    )
    or_landmark: str = Field(
        "", max_length=100, description="other landmark that it may mark: the file's other labels decide"
    )
    otherwise: OneOrMore | None = Field(
        None, description="spellings that mean it where another label marks what they mean first"
    )
    yields: bool = Field(False, description="gives way to a label that marks the same landmark more clearly")
    static_only: bool = Field(False, description="not expected in walks")
    soft: bool = Field(False, description="its place on the segment is taken from the walk")

    @model_validator(mode="after")
    def _both_sides_have_labels(self) -> MarkerEntry:
        sided = any(sign in f"{self.landmark} {self.body}" for sign in SIDES)
        one_sided = next((label for label in self.labels if not any(sign in label for sign in SIDES)), None)
        if sided and one_sided is not None:
            raise ValueError(f"label '{one_sided}' is the same for both sides: write {{S}} where it has R and L")
        return self


@SCHEMAS.register("body/markersets")
class MarkerSetTable(Titled):
    """A marker set."""

    extends: Text | None = Field(None, description="set that this one adds to: a library's, or a TOML file")
    rename: dict[Name, Name] = Field(default_factory=dict, description="label in the file = label of the extended set")
    labels: OneOrMore | None = Field(None, description="labels that mean what the anatomical set says of them")
    static_only: Names = Field((), description="those of `labels` that are not expected in walks")
    requires: Annotated[tuple[OneOrMore, ...], Field(strict=False)] = Field(
        (), description="of each group one label must be there"
    )
    requires_landmarks: Annotated[tuple[OneOrMore, ...], Field(strict=False)] = Field(
        (), description="of each group one landmark must be marked"
    )
    marker: Annotated[tuple[MarkerEntry, ...], Field(strict=False)] = Field((), description="markers")

    @model_validator(mode="after")
    def _is_whole(self) -> MarkerSetTable:
        if self.extends is None:
            if self.rename:
                raise ValueError("[rename] needs 'extends': the set whose labels are renamed")
            if not self.marker and not self.labels:
                raise ValueError("it has no [[marker]] and no 'labels', and no 'extends' that names a set with some")
            if not (self.requires or self.requires_landmarks):
                raise ValueError("without 'extends' it must say in 'requires' which markers have to be there")
        return self
