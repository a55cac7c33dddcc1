"""Words of marker labels: sides, places, parts of the body."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from biodyn.library.schema import SCHEMAS
from biodyn.library.schema.base import Name, Names, OneOrMore, Strict, Table

_Letter = Annotated[str, Field(min_length=1, max_length=1)]
_Pair = Annotated[tuple[Name, ...], Field(strict=False, min_length=2, max_length=2)]


class _Sides(Strict):
    pairs: Annotated[tuple[_Pair, ...], Field(strict=False, min_length=1)]


class _Nothing(Strict):
    spelt: OneOrMore


class _Place(Strict):
    spelt: OneOrMore
    single: Annotated[tuple[_Letter, ...], Field(strict=False)] = Field(
        (), description="letters read beside a word only"
    )
    contrast: Annotated[tuple[_Letter, ...], Field(strict=False)] = Field(
        (), description="letters read only where the file has the opposite one at the same place"
    )


class _Many(Strict):
    landmarks: OneOrMore


class _Keypoints(Strict):
    without: Name = Field(description="segment on which keypoints have no landmark")
    joints: OneOrMore = Field(description="joints that keypoints name bare, on both sides")
    others: OneOrMore = Field(description="keypoints of which one is beside them")


@SCHEMAS.register("body/label_words")
class LabelWords(Table):
    """Words that labels are made of."""

    sides: _Sides
    nothing: _Nothing = Field(description="words without a meaning of their own")
    number: dict[Name, OneOrMore] = Field(description="numbers written out")
    place: dict[Name, _Place] = Field(description="where on a part")
    part: dict[Name, OneOrMore] = Field(description="parts of the body and their spellings")
    joined: dict[Name, Name] = Field(description="spellings that stand for several words")
    writing: dict[Name, Name] = Field(description="words of other writings and what stands for them")
    letters: dict[Name, Name] = Field(description="letters that are no accented ones and what they are compared as")
    accented: dict[Name, Name] = Field(
        description="words that without accents would be others and what stands for them"
    )
    segment: dict[Name, Name] = Field(
        description="words that name a segment: before its landmarks they say nothing more"
    )
    many: _Many = Field(description="landmarks of which a second one follows its segment")
    keypoints: _Keypoints = Field(description="names by which keypoints of videos are told")
    regions: dict[Name, Names] = Field(description="segments that are marked together or not at all")
