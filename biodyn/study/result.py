"""Read and write the output folder of a study: study.json, which is written last, and its tables as pandas."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from biodyn.diagnostics import STATUS_WORDS, Diagnostic
from biodyn.errors import StudyError, printable
from biodyn.output.store.folder import KIND_ENTRY
from biodyn.settings import map_table_paths
from biodyn.study.discovery import StudyDefinition
from biodyn.study.discovery.definition import all_table_paths
from biodyn.study.plan import PlannedTrial, StudyPlan
from biodyn.study.record import FAILED, TrialRecord, read_record
from biodyn.study.running.task import program_version

if TYPE_CHECKING:
    import pandas as pd


STUDY_RECORD_NAME = "study.json"
STUDY_RECORD_VERSION = 1
StudyKind = Literal["study", "session"]
STUDY: Final = "study"
SESSION: Final = "session"


def seen_from(folder: Path, place: str | Path) -> str:
    """Return a path relative to a folder; an absolute path if they are on different drives of Windows."""
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
    """Return the values of study.json; `written`: files of the data set, `kind`: a study, or the walks of one session."""

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
        "settings": map_table_paths(trial.settings, seen_from_here),
        "status": status,
        "reason": "" if record is None else record.reason,
        "key": "" if record is None else record.key,
    }


def write_whole(path: Path, content: Mapping[str, Any]) -> None:
    """Write JSON under a temporary name, then rename it, so that readers never get an incomplete file."""
    temporary = path.with_name(f".{path.name}.part")
    try:
        temporary.write_text(json.dumps(content, indent=2, allow_nan=False) + "\n", encoding="utf-8")
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


# -- Tables ---------------------------------------------------------------------------------------------------------


_LABELS = ("subject", "session", "condition", "group", "site", "trial", "reason", "hint", "error", "excluded")


@dataclass(frozen=True)
class StudyResult:
    """The output folder of a study, with tables as pandas that are read on first access."""

    folder: Path

    def __init__(self, folder: str | Path) -> None:
        object.__setattr__(self, "folder", Path(folder))

    def __repr__(self) -> str:
        counts = ", ".join(f"{count} {status}" for status, count in self.record["counts"].items() if count)
        return f"<biodyn {self.record.get('kind', 'study')} {self.record['name']}: {counts}>"

    @cached_property
    def record(self) -> Mapping[str, Any]:
        """Return the values of study.json; StudyError if the folder contains no finished study."""
        try:
            content: Mapping[str, Any] = json.loads((self.folder / STUDY_RECORD_NAME).read_text(encoding="utf-8"))
        except FileNotFoundError as error:
            raise StudyError(
                f"'{self.folder}' contains no finished study.", "Run 'biodyn study FOLDER --out DIR' to its end."
            ) from error
        return content

    @cached_property
    def summary(self) -> pd.DataFrame:
        """Return one row per trial: status, reason, summary metrics."""
        return self._csv(self.folder / "summary.csv")

    @property
    def failed(self) -> pd.DataFrame:
        """Return the rows of `summary` for trials without a result."""
        return self.summary[self.summary["status"] == FAILED]

    @property
    def group_tables(self) -> tuple[str, ...]:
        """Return the names of the available group results, for `group_table`."""
        return tuple(sorted(path.stem for path in (self.folder / "group").glob("*.csv")))

    def group_table(self, name: str) -> pd.DataFrame:
        """Return a table of group/ by name; StudyError lists the available ones."""
        if name not in self.group_tables:
            raise StudyError(
                f"The study has no group table '{name}'.", f"Its tables are {', '.join(self.group_tables)}."
            )
        return self._csv(self.folder / "group" / f"{name}.csv")

    def cycles(self, **wanted: str | Sequence[str]) -> pd.DataFrame:
        """Return rows of study.parquet, e.g. `cycles(variable="knee_angle", subject=["S01", "S02"])`."""
        from biodyn.study.collecting.read import read_cycles

        return read_cycles(self.folder, **wanted)

    def trial_folder(self, subject: str, trial: str) -> Path:
        """Return the result folder of a trial, for `biodyn report` and `biodyn replay`."""
        folder = self.folder / "trials" / subject / trial
        if not folder.is_dir():
            raise StudyError(f"The study has no trial '{trial}' of subject '{subject}'.", "See `summary`.")
        return folder

    @staticmethod
    def _csv(path: Path) -> pd.DataFrame:
        from biodyn.output.tables.csv import read_csv

        # The subject 007 is a text; the session of a trial without a session is "".
        frame = read_csv(path, dtype=dict.fromkeys(_LABELS, str))
        labels = [name for name in _LABELS if name in frame]
        frame[labels] = frame[labels].fillna("")
        return frame
