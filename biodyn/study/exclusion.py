"""Which trials have a result and stay out of the group results all the same: checks that failed, another activity."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from biodyn.diagnostics import Diagnostic
from biodyn.processing.gait.activity import WALKING
from biodyn.study.plan import StudyPlan
from biodyn.study.record import TrialRecord, read_record

if TYPE_CHECKING:
    import pandas as pd

#: What a record says of a trial that was analysed and must not be trusted: today's verdict, and the status of version 0.1.
_FAILED_WORDS = frozenset({"fail", "checks failed"})
_LISTED = 5


def trial_failed(record: TrialRecord) -> bool:
    """Whether a trial has a result whose checks failed; one without a result has nothing to leave out."""
    return not record.failed and record.status in _FAILED_WORDS


def exclusion_reason(record: TrialRecord) -> str:
    """Why a trial is left out, in words that stay the same from trial to trial; "" where it is not."""
    if not trial_failed(record):
        return ""
    titles = str(record.metrics.get("checks_failed") or "")
    return f"the trial failed its checks: {titles}" if titles else "the trial failed its checks"


def excluded_trials(plan: StudyPlan, out: Path, include_failed: bool) -> dict[tuple[str, str], str]:
    """Reasons by (subject, trial) of the trials that stay out of the group results; `include_failed`: of checks none."""
    found = {}
    activities: dict[str, dict[tuple[str, str], str]] = {}
    for trial in plan.trials:
        record = read_record(out / trial.folder)
        if record is None or record.failed:
            continue
        key = (trial.subject, trial.trial)
        reason = "" if include_failed else exclusion_reason(record)
        if reason:
            found[key] = reason
        elif record.metrics.get("activity"):
            activities.setdefault(trial.condition, {})[key] = str(record.metrics["activity"])
    for own in activities.values():
        found |= other_activities(own)
    return found


def other_activities(activities: Mapping[tuple[str, str], str]) -> dict[tuple[str, str], str]:
    """Reasons of the trials of one condition that are of another activity than most: a run is no part of the mean walk.

    `activities`: by (subject, trial), the kind that was recognised.
    """
    counts = Counter(activities.values())
    usual = max(counts, key=lambda kind: (counts[kind], kind == WALKING.kind), default="")
    return {
        key: f"its activity is {kind}, that of most trials of its condition {usual}"
        for key, kind in activities.items()
        if kind != usual
    }


def without_trials(frame: pd.DataFrame, trials: Collection[str]) -> pd.DataFrame:
    """The rows of one subject without those of some trials."""
    return frame[~frame["trial"].isin(list(trials))] if trials else frame


def exclusion_finding(excluded: Mapping[tuple[str, str], str], trials: int) -> Diagnostic | None:
    """What the study as a whole says of the excluded trials; None where there are none."""
    if not excluded:
        return None
    by_reason: dict[str, list[str]] = {}
    for (subject, trial), reason in excluded.items():
        by_reason.setdefault(reason, []).append(f"{subject} {trial}")
    parts = [
        f"{len(names)} because {reason} ({', '.join(names[:_LISTED])}{', ...' if len(names) > _LISTED else ''})"
        for reason, names in by_reason.items()
    ]
    return Diagnostic(
        "trials-excluded",
        "warning",
        f"Excluded from the group results: {len(excluded)} of {trials} trials; {'; '.join(parts)}.",
        value=float(len(excluded)),
        hint="Look at their reports. Set include_failed = true under [analysis] in study.toml to include those whose checks "
        "failed, and give trials of another activity a condition of their own.",
    )
