"""Read and write the record of every trial of a study, `trial.json` in the folder of the trial."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

from biodyn.diagnostics import Diagnostic
from biodyn.errors import ResultError
from biodyn.output.store.result_reader import TABLE_READERS
from biodyn.processing.gait.activity import WALKING
from biodyn.study.plan import StudyPlan

if TYPE_CHECKING:
    import pandas as pd


TRIAL_RECORD_NAME = "trial.json"
CYCLES_NAME = "cycles.parquet"
RECORD_VERSION = 2  # version 2: verdicts instead of "fine", "look" and "checks failed"; `metrics` instead of `figures`

#: Status of a trial that has no result.
FAILED: Final = "failed"
#: The verdict of a result (`diagnostics.Status`), or `FAILED`.
Status = Literal["pass", "warn", "fail", "not_assessed", "failed"]


@dataclass(frozen=True)
class TrialRecord:
    """Outcome of one trial; equal inputs give an equal record (no times, no host names).

    Attributes:
        key: hash of inputs, settings and program version; the trial is analysed again if it changes.
        status: verdict of the result (`run.json`), or "failed" without a result.
        error: class of the error of a failed trial. reason, hint: its message and hint; for other states those of the first
            finding that determined the status.
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
        """Return whether the trial has no result."""
        return self.status == FAILED


def write_trial_record(record: TrialRecord, folder: Path) -> None:
    """Write trial.json into an existing folder."""
    content = {"record_version": RECORD_VERSION, **asdict(record)}
    (folder / TRIAL_RECORD_NAME).write_text(
        json.dumps(content, indent=2, sort_keys=True, allow_nan=False) + "\n", encoding="utf-8"
    )


def read_trial_record(folder: Path) -> TrialRecord | None:
    """Return the record of a trial's folder; None if it is missing, damaged or of another version."""
    try:
        content = json.loads((folder / TRIAL_RECORD_NAME).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(content, dict) or content.get("record_version") != RECORD_VERSION:
        return None
    texts = {name: content.get(name, "") for name in ("key", "status", "error", "reason", "hint")}
    metrics = content.get("metrics", {})
    if texts["status"] not in get_args(Status) or not all(isinstance(text, str) for text in texts.values()):
        return None
    if not isinstance(metrics, dict) or not all(_is_metric(value) for value in metrics.values()):
        return None
    return TrialRecord(**texts, metrics=metrics)


def _is_metric(value: Any) -> bool:
    return value is None or isinstance(value, (str, int)) or (isinstance(value, float) and math.isfinite(value))


def count_with_noun(number: int, noun: str) -> str:
    """Return a number with its noun in singular or plural: "1 trial", "2 trials"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


# -- Strides --------------------------------------------------------------------------------------------------------


STRIDES_NAME = "tables/spatiotemporal.csv"  # file in the folder of a trial
_TIMES = ("start_s", "foot_off_s", "end_s")  # keys within the trial, not stride parameters


def read_strides(path: Path) -> dict[tuple[str, int], dict[str, float]]:
    """Return the stride parameters of a trial by (side, cycle), from its spatiotemporal.csv or the packed form of this table.

    The result is empty if the file does not exist. Raises ResultError if it has other columns.
    """
    try:
        for suffix, read in TABLE_READERS.items():
            if path.with_suffix(suffix).is_file():
                columns = read(path.with_suffix(suffix).read_bytes()).to_dict("list")
                keys = zip(columns.pop("side"), columns.pop("cycle"), strict=True)
                return {
                    (str(side), int(cycle)): {
                        str(name): float(values[row]) for name, values in columns.items() if name not in _TIMES
                    }
                    for row, (side, cycle) in enumerate(keys)
                }
    except (OSError, KeyError, ValueError, TypeError) as error:
        folder = path.parent.parent
        raise ResultError(
            f"'{STRIDES_NAME}' of trial '{folder.name}' cannot be read.",
            f"Remove the folder '{folder.name}' and run the study again.",
        ) from error
    return {}


# -- Excluded trials ------------------------------------------------------------------------------------------------


def exclusion_reason(record: TrialRecord) -> str:
    """Return the reason why a trial that failed its checks is excluded from group results; "" if it is included.

    The reason contains no trial-specific numbers, so that equal reasons can be counted.
    """
    if record.status != "fail":
        return ""
    titles = str(record.metrics.get("checks_failed") or "")
    return f"the trial failed its checks: {titles}" if titles else "the trial failed its checks"


def excluded_trials(plan: StudyPlan, out: Path, include_failed: bool) -> dict[tuple[str, str], str]:
    """Return the reasons for excluding trials from the group results, by (subject, trial); failed checks unless
    `include_failed`."""
    reasons = {}
    activities: dict[str, dict[tuple[str, str], str]] = {}
    for trial in plan.trials:
        record = read_trial_record(out / trial.folder)
        if record is None or record.failed:
            continue
        key = (trial.subject, trial.trial)
        reason = trial.rejected or ("" if include_failed else exclusion_reason(record))
        if reason:
            reasons[key] = reason
        elif record.metrics.get("activity"):
            activities.setdefault(trial.condition, {})[key] = str(record.metrics["activity"])
    for by_trial in activities.values():
        reasons |= other_activity_reasons(by_trial)
    return reasons


def warned_trials(plan: StudyPlan, out: Path) -> set[tuple[str, str]]:
    """Return the (subject, trial) of all trials that did not pass all checks."""
    records = ((trial, read_trial_record(out / trial.folder)) for trial in plan.trials)
    return {(trial.subject, trial.trial) for trial, record in records if record is not None and record.status != "pass"}


def other_activity_reasons(activities: Mapping[tuple[str, str], str]) -> dict[tuple[str, str], str]:
    """Return the reasons for excluding trials of another activity than most trials of the condition.

    activities: recognised activity by (subject, trial).
    """
    counts = Counter(activities.values())
    usual = max(counts, key=lambda kind: (counts[kind], kind == WALKING.kind), default="")
    return {
        key: f"its activity is {kind}, but that of most trials of its condition is {usual}"
        for key, kind in activities.items()
        if kind != usual
    }


def remove_trials(frame: pd.DataFrame, trials: Collection[str]) -> pd.DataFrame:
    """Return the rows of a subject without the rows of the given trials."""
    return frame[~frame["trial"].isin(list(trials))] if trials else frame


def exclusion_finding(excluded: Mapping[tuple[str, str], str], trials: int) -> Diagnostic | None:
    """Return the finding that lists the excluded trials with reasons; None if no trial is excluded."""
    max_listed = 5
    if not excluded:
        return None
    by_reason: dict[str, list[str]] = {}
    for (subject, trial), reason in excluded.items():
        by_reason.setdefault(reason, []).append(f"{subject} {trial}")
    parts = [
        f"{len(names)} because {reason} ({', '.join(names[:max_listed])}{', ...' if len(names) > max_listed else ''})"
        for reason, names in by_reason.items()
    ]
    return Diagnostic(
        "trials-excluded",
        "warning",
        f"Excluded from the group results: {len(excluded)} of {trials} trials; {'; '.join(parts)}.",
        value=float(len(excluded)),
        hint="Check their reports. To include trials that failed their checks, set include_failed = true under "
        "[analysis] in study.toml. Assign trials with another activity to a separate condition.",
    )
