"""What is kept of every trial of a study, done or failed: `trial.json` in the trial's folder."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

TRIAL_RECORD_NAME = "trial.json"
CYCLES_NAME = "cycles.arrow"
RECORD_VERSION = 1

Status = Literal["fine", "look", "checks failed", "failed"]


@dataclass(frozen=True)
class TrialRecord:
    """Outcome of one trial; holds nothing that differs between two runs of the same inputs (no times, no host).

    Attributes:
        key: hash of inputs, settings and program version; another key means: analyse again.
        status: of the result (`run.json`), or "failed" where there is none.
        error: class of the error of a failed trial. reason, hint: its sentence and what to do; for other states the
            first finding that decided the status.
        figures: key figures of the trial by name, one row of summary.csv; JSON values, None for missing.
    """

    key: str
    status: Status
    error: str = ""
    reason: str = ""
    hint: str = ""
    figures: Mapping[str, Any] = field(default_factory=dict)

    @property
    def failed(self) -> bool:
        """True where the trial has no result."""
        return self.status == "failed"


def write_record(record: TrialRecord, folder: Path) -> None:
    """Write the record into an existing folder."""
    content = {"record_version": RECORD_VERSION, **asdict(record)}
    (folder / TRIAL_RECORD_NAME).write_text(
        json.dumps(content, indent=2, sort_keys=True, allow_nan=False) + "\n", encoding="utf-8"
    )


def read_record(folder: Path) -> TrialRecord | None:
    """Return the record of a trial's folder; None where there is none, or it is damaged or of another version."""
    try:
        content = json.loads((folder / TRIAL_RECORD_NAME).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(content, dict) or content.get("record_version") != RECORD_VERSION:
        return None
    texts = {name: content.get(name, "") for name in ("key", "status", "error", "reason", "hint")}
    figures = content.get("figures", {})
    if texts["status"] not in get_args(Status) or not all(isinstance(text, str) for text in texts.values()):
        return None
    if not isinstance(figures, dict) or not all(_is_figure(value) for value in figures.values()):
        return None
    return TrialRecord(**texts, figures=figures)


def _is_figure(value: Any) -> bool:
    return value is None or isinstance(value, (str, int)) or (isinstance(value, float) and math.isfinite(value))
