"""Tables of a study: what is compared, metrics of the summary, files of the report."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from biodyn.library.schema import SCHEMAS
from biodyn.library.schema.base import Name, Range, Strict, Text, Texts


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
