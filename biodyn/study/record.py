"""What is kept of every trial of a study, done or failed: `trial.json` in the trial's folder."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, get_args

from biodyn.output.store.read import OLD_TRIAL_STATUS

TRIAL_RECORD_NAME = "trial.json"
CYCLES_NAME = "cycles.parquet"
RECORD_VERSION = 2  # 2: verdicts instead of "fine", "look" and "checks failed"; `metrics` instead of `figures`
#: Records of version 1 differ in the name of one entry and in the words of the status.
_READ = (1, 2)

#: Status of a trial that has no result.
FAILED: Final = "failed"
#: The verdict of a result (`diagnostics.Status`), or `FAILED`.
Status = Literal["pass", "warn", "fail", "not_assessed", "failed"]


@dataclass(frozen=True)
class TrialRecord:
    """Outcome of one trial; holds nothing that differs between two runs of the same inputs (no times, no host).

    Attributes:
        key: hash of inputs, settings and program version; another key means: analyse again.
        status: verdict of the result (`run.json`), or "failed" where there is none.
        error: class of the error of a failed trial. reason, hint: its sentence and what to do; for other states the
            first finding that decided the status.
        metrics: summary metrics of the trial by name, one row of summary.csv; JSON values, None for missing.
    """

    key: str
    status: Status
    error: str = ""
    reason: str = ""
    hint: str = ""
    metrics: Mapping[str, Any] = field(default_factory=dict)

    @property
    def failed(self) -> bool:
        """True where the trial has no result."""
        return self.status == FAILED


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
    if not isinstance(content, dict) or content.get("record_version") not in _READ:
        return None
    texts = {name: content.get(name, "") for name in ("key", "status", "error", "reason", "hint")}
    texts["status"] = OLD_TRIAL_STATUS.get(str(texts["status"]), texts["status"])
    metrics = content.get("metrics", content.get("figures", {}))  # "figures" was the name in version 1
    if texts["status"] not in get_args(Status) or not all(isinstance(text, str) for text in texts.values()):
        return None
    if not isinstance(metrics, dict) or not all(_is_metric(value) for value in metrics.values()):
        return None
    return TrialRecord(**texts, metrics=metrics)


def _is_metric(value: Any) -> bool:
    return value is None or isinstance(value, (str, int)) or (isinstance(value, float) and math.isfinite(value))
