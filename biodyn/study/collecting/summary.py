"""summary.csv: a row for every planned trial, done or not, with its outcome and metrics."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from biodyn.errors import printable
from biodyn.output.tables.csv import spreadsheet_text
from biodyn.study.collecting.metrics import metric_columns
from biodyn.study.collecting.schema import LABELS
from biodyn.study.plan import PlannedTrial
from biodyn.study.record import TrialRecord

SUMMARY_NAME = "summary.csv"
NOT_RUN = "not run"
#: Six digits tell more than any of these is known to.
_DIGITS = 6


def summary_columns() -> tuple[str, ...]:
    """Return the columns: the same whatever trials there are."""
    return (*LABELS, "file", "status", "error", "reason", "hint", "excluded", *metric_columns())


def summary_row(trial: PlannedTrial, record: TrialRecord | None, excluded: str = "") -> dict[str, Any]:
    """Return the row of one trial by column; None for what is unknown. `excluded`: why it is in no group result."""
    if record is None:
        outcome = {"status": NOT_RUN, "error": "", "reason": "", "hint": ""}
    else:
        outcome = {name: getattr(record, name) for name in ("status", "error", "reason", "hint")}
    metrics: Mapping[str, Any] = {} if record is None else record.metrics
    labels = {name: getattr(trial, name) for name in LABELS}
    known = {name: metrics.get(name) for name in metric_columns()}
    return {**labels, "file": printable(trial.path.as_posix()), **outcome, "excluded": excluded, **known}


class SummaryFile:
    """summary.csv while it is written."""

    def __init__(self, path: Path) -> None:
        self._stream = path.open("w", encoding="utf-8", newline="")
        self._writer = csv.writer(self._stream, lineterminator="\n")
        self._writer.writerow(summary_columns())

    def add(self, row: Mapping[str, Any]) -> None:
        """Write a row of `summary_row`."""
        self._writer.writerow([_cell(row[name]) for name in summary_columns()])

    def close(self) -> None:
        """Finish the file."""
        self._stream.close()


def _cell(value: Any) -> Any:
    if value is None:
        return ""
    if isinstance(value, str):
        return spreadsheet_text(printable(value, keep="\n\t"))
    return f"{value:.{_DIGITS}g}" if isinstance(value, float) else value
