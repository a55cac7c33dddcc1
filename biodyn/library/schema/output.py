"""Layout of figures, sources that reports cite, files of older result folders."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from biodyn.library.schema import SCHEMAS
from biodyn.library.schema.base import Name, OneOrMore, Strict, Text, Texts


class _Figure(Strict):
    name: Name
    title: Text
    panels: OneOrMore


class _CycleFigure(_Figure):
    caption: Text


class _StandardRow(Strict):
    title: Text
    side: Literal["motion", "loads"]
    panels: Annotated[tuple[str, ...], Field(strict=False, min_length=3, max_length=3)]


class _Overview(Strict):
    name: Name
    title: Text
    angles: OneOrMore
    moments: OneOrMore


@SCHEMAS.register("figures/display")
class Display(Strict):
    """Which variables stand in which panel."""

    screen: OneOrMore
    figure: Annotated[tuple[_CycleFigure, ...], Field(strict=False, min_length=1)]
    standard: Annotated[tuple[_StandardRow, ...], Field(strict=False, min_length=1)]
    stance_figure: _Figure
    overview: _Overview


@SCHEMAS.register("report/references")
class References(Strict):
    """Sources by key."""

    reference: dict[Name, Text]


@SCHEMAS.register("results/version_1")
class FirstRecords(Strict):
    """Files and columns of the results of biodyn 0.1.0."""

    tables: Texts
    tables_on_request: Texts
    figures: Texts
    replay: Texts
    files: Texts
    every_frame: Texts
    columns: dict[Name, Texts]
