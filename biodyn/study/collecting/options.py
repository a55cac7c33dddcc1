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
    csv: bool = Field(default=True, description="write study.csv: the whole data set as text")
    csv_max_rows: int = Field(
        default=20_000_000, gt=0, description="a larger data set is written as study.parquet only (20 million: 1.5 GB)"
    )
    wide: bool = Field(
        default=True, description="write study_wide.csv: one row per cycle and variable, one column per percent"
    )
    wide_percent_step: Literal[1, 2, 5, 10] = Field(default=1, description="distance of its columns, percent")
    wide_variables: tuple[str, ...] | None = Field(
        default=None, description="variables in study_wide.csv; omitted = all"
    )
    xlsx: bool = Field(default=True, description="write study.xlsx: the summary and the group results as sheets")
    xlsx_max_cells: int = Field(
        default=2_000_000, gt=0, description="a table with more cells is no sheet of it (2 million: about 10 s, 10 MB)"
    )
