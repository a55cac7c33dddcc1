"""What a study writes beside its data set: section [output] of study.toml, every default here."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

#: Which trials of a study get a page of their own.
Reports = Literal["all", "warn", "none"]


class OutputOptions(BaseModel):
    """Which files are written for whom; study.parquet and summary.csv always are."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    reports: Reports = Field(
        default="none",
        description='trials that get a report.html: "all", "warn" (those whose checks did not all pass), or "none"',
    )
    csv: bool = Field(default=True, description="write study.csv: the whole data set as text, up to 20 million rows")
    wide: bool = Field(
        default=True,
        description="write study_wide.csv: one row per cycle and variable, one column per percent, up to 20 million values",
    )
    xlsx: bool = Field(
        default=True,
        description="write study.xlsx: the summary and the group results as sheets, up to 2 million cells a table",
    )
