"""study.json: what a study did with which files, written last."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal

from biodyn.diagnostics import STATUS_WORDS, Diagnostic
from biodyn.errors import printable
from biodyn.output.store.folder import KIND_ENTRY
from biodyn.settings import with_table_paths
from biodyn.study.discovery import StudyDefinition
from biodyn.study.discovery.definition import all_table_paths
from biodyn.study.plan import PlannedTrial, StudyPlan
from biodyn.study.record import FAILED, TrialRecord, read_record
from biodyn.study.running.program import program_version

STUDY_RECORD_NAME = "study.json"
STUDY_RECORD_VERSION = 1
StudyKind = Literal["study", "session"]
STUDY: Final = "study"
SESSION: Final = "session"


def seen_from(folder: Path, place: str | Path) -> str:
    """Return the path of a place relative to a folder; the whole path where there is none, as between drives of Windows."""
    try:
        return os.path.relpath(place, folder)
    except ValueError:
        return os.path.abspath(place)


def study_record(
    definition: StudyDefinition,
    plan: StudyPlan,
    folder: Path,
    written: Sequence[Mapping[str, Any]],
    diagnostics: Sequence[Diagnostic],
    kind: StudyKind = STUDY,
) -> dict[str, Any]:
    """Return the values of study.json; `written`: the files of the data set, `kind`: a study, or the walks of one session."""

    def seen_from_here(table: str) -> str:
        return seen_from(folder, table)

    trials, counts = [], dict.fromkeys((*STATUS_WORDS, FAILED, "not run"), 0)
    for trial in plan.trials:
        record = read_record(folder / trial.folder)
        status = "not run" if record is None else record.status
        counts[status] += 1
        trials.append(_trial_record(trial, record, status, seen_from_here))
    return {
        "record_version": STUDY_RECORD_VERSION,
        KIND_ENTRY: kind,
        "name": plan.name,
        "program": program_version(),
        "root": printable(seen_from(folder, plan.root)),
        "definition": all_table_paths(definition.model_dump(mode="json"), seen_from_here),
        "counts": counts,
        "trials": trials,
        "files": [
            {"path": printable(f.path.as_posix()), "role": f.role, "reason": printable(f.reason)} for f in plan.files
        ],
        "data_set": list(written),
        "diagnostics": [diagnostic.as_dict() for diagnostic in diagnostics],
    }


def _trial_record(
    trial: PlannedTrial, record: TrialRecord | None, status: str, seen_from_here: Callable[[str], str]
) -> dict[str, Any]:
    return {
        "subject": trial.subject,
        "session": trial.session,
        "condition": trial.condition,
        "group": trial.group,
        "site": trial.site,
        "trial": trial.trial,
        "file": printable(trial.path.as_posix()),
        "static": None if trial.static is None else printable(trial.static.as_posix()),
        "statics": [printable(path.as_posix()) for path in trial.statics],
        "mass_kg": trial.mass_kg,
        "height_m": trial.height_m,
        "settings": with_table_paths(trial.settings, seen_from_here),
        "status": status,
        "reason": "" if record is None else record.reason,
        "key": "" if record is None else record.key,
    }


def write_whole(path: Path, content: Mapping[str, Any]) -> None:
    """Write JSON under another name, then rename it: a reader never sees half of it."""
    temporary = path.with_name(f".{path.name}.part")
    try:
        temporary.write_text(json.dumps(content, indent=2, allow_nan=False) + "\n", encoding="utf-8")
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
