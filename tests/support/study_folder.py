"""A small study as `running` leaves it: folders of done, failed and missing trials."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from biodyn.study.collecting.cycles import LABELS, summary_metrics
from biodyn.study.plan import PlannedTrial, StudyPlan
from biodyn.study.trial_record import TrialRecord, write_trial_record
from biodyn.trial.result import TrialResult
from support.shards import cycle_rows, stored_rows, write_rows


@dataclass(frozen=True)
class StudyFolder:
    """Plan and output folder; `done` trials have a result, `rows` are what they wrote, with labels, by (subject, trial)."""

    plan: StudyPlan
    out: Path
    done: tuple[PlannedTrial, ...]
    rows: Mapping[tuple[str, str], pd.DataFrame]
    metrics: Mapping[str, Any]


def made_study_folder(walk_result: TrialResult, root: Path) -> StudyFolder:
    """Write three subjects with five walks that were analysed (each with other values), one that failed, one not run yet."""
    trials = tuple(
        PlannedTrial(subject, trial, Path(f"{subject}/{trial}.c3d"), condition=condition, group=group)
        for subject, trial, condition, group in (
            ("S01", "walk01", "slow", "a"),
            ("S01", "walk02", "fast", "a"),
            ("S02", "broken", "slow", "b"),
            ("S02", "walk01", "slow", "b"),
            ("S02", "waiting", "slow", "b"),
            ("Zoë, 3", "walk01", 'barefoot, "slow"', "ß"),
            ("Zoë, 3", "walk02", "fast", "ß"),
        )
    )
    done = tuple(trial for trial in trials if trial.trial.startswith("walk"))
    table, metrics = cycle_rows(walk_result), summary_metrics(walk_result)
    rows = {}
    for n, trial in enumerate(done):
        folder = root / "out" / trial.folder
        folder.mkdir(parents=True)
        write_rows(_other(table, n), folder)
        (folder / "run.json").write_text(json.dumps(walk_result.record), encoding="utf-8")
        write_trial_record(TrialRecord("key", "warn", reason="review it", metrics=metrics), folder)
        frame = stored_rows(folder)
        for place, label in enumerate(LABELS):
            frame.insert(place, label, getattr(trial, label))
        rows[trial.subject, trial.trial] = frame
    folder = root / "out" / trials[2].folder
    folder.mkdir(parents=True)
    write_trial_record(TrialRecord("key", "failed", "PlateError", 'No plate, "none" at all.', "Look."), folder)
    return StudyFolder(StudyPlan("study", Path("data"), trials, ()), root / "out", done, rows, metrics)


def _other(table: pd.DataFrame, n: int) -> pd.DataFrame:
    """The same cycles with other values and, in odd trials, the words of the texts listed in another order."""
    table = table.assign(value=table["value"] * (1.0 + n / 7.0))
    if n % 2:
        for name in ("variable", "unit", "side"):
            table[name] = table[name].cat.set_categories(table[name].cat.categories[::-1])
    return table
