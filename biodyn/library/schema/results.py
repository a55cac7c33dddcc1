"""Tables of results: figures, sources of the report, studies, other programs' conventions and presets."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from biodyn.library.schema import SCHEMAS
from biodyn.library.schema.base import Name, OneOrMore, Range, Strict, Text, Texts


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


class _Representative(Strict):
    variables: Texts
    sizes: dict[Name, Annotated[float, Field(gt=0)]]


class _ScoreVariable(Strict):
    name: Name
    variable: Name
    pelvis: bool = False


class _GaitScores(Strict):
    source: Text
    mcid_gps_deg: float = Field(gt=0)
    published: Texts
    variable: Annotated[tuple[_ScoreVariable, ...], Field(strict=False, min_length=1)]


@SCHEMAS.register("study/analysis")
class AnalysisDefaults(Strict):
    """What is compared where study.toml does not say."""

    curves: Texts
    compared: Texts
    representative: _Representative
    gait_scores: _GaitScores


class _Peak(Strict):
    name: Name
    unit: Name
    variable: Name
    of: Literal["max", "min"]
    window: Range
    sign: Literal[1, -1] = 1


class _Stride(Strict):
    means: Texts


@SCHEMAS.register("study/summary_metrics")
class SummaryMetrics(Strict):
    """Numbers of a trial in summary.csv."""

    peak: Annotated[tuple[_Peak, ...], Field(strict=False)]
    stride: _Stride


class _File(Strict):
    name: Name
    text: Text
    shown: Text | None = None


@SCHEMAS.register("study/report")
class StudyReport(Strict):
    """Files of a study and sources that its report cites."""

    file: Annotated[tuple[_File, ...], Field(strict=False)]
    reference: dict[Name, Text]


class _Axis(Strict):
    of: Text
    sign: Literal[1, -1]
    mirror: bool = False
    positive: Text


class _Channel(Strict):
    name: Text
    group: Literal["angle", "position", "moment", "power", "force"]
    unit: Text
    factor: float = Field(1.0, gt=0)
    per_mass: bool = False
    at: Literal[0, 1, 2] = 0
    axes: Annotated[tuple[_Axis, ...], Field(strict=False, min_length=1, max_length=3)]


@SCHEMAS.register("conventions")
class Convention(Strict):
    """A convention: channels of up to three components, each a column of the tables with a sign."""

    title: Text
    citation: Text
    each: Annotated[tuple[Literal["angle", "position", "torque"], ...], Field(strict=False)] = ()
    channel: Annotated[tuple[_Channel, ...], Field(strict=False)] = ()


class _Column(Strict):
    match: Text
    meaning: Text
    unit: str = ""
    tables: Texts = ()


@SCHEMAS.register("formats/columns")
class Columns(Strict):
    """What the columns of a result's tables mean."""

    column: Annotated[tuple[_Column, ...], Field(strict=False, min_length=1)]


@SCHEMAS.register("presets")
class Preset(Strict):
    """A preset: its settings are checked as any others, when they are used."""

    title: Text
    citation: Text
    settings: dict[str, dict[str, Any]] = Field(min_length=1)
