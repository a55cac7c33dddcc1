"""Read and write the output folder of a study: study.json, which is written last, and its tables as pandas."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Final, Literal

import pandas as pd

from biodyn.diagnostics import STATUS_WORDS, Diagnostic, Verdict, worst_status
from biodyn.errors import ResultError, StudyError, printable_text
from biodyn.output.figures.trial import TrialView
from biodyn.output.report.plotting import PlottableResult, side_list
from biodyn.output.store.folder import (
    KIND_ENTRY,
    PAPER_NAME,
    IsWritten,
    copy_files,
    foreign_files,
    group_file_test,
    iterate_files,
    path_list_text,
    replace_folder,
    subject_page_test,
    trial_file_test,
)
from biodyn.output.store.result_reader import ResultFolder, StoredResult, diagnostics_from_record
from biodyn.output.tables.table_access import COORDINATES, LazyTables, Signs, convert_signs, set_meaning, set_signs
from biodyn.settings import map_table_paths
from biodyn.study.discovery import StudyDefinition
from biodyn.study.discovery.definition import map_all_table_paths
from biodyn.study.group.group_data import mean_over_trials
from biodyn.study.plan import PlannedTrial, StudyPlan
from biodyn.study.running.task import LOCK_NAME, program_version
from biodyn.study.trial_record import FAILED, TrialRecord, read_trial_record
from biodyn.variables.gait_variables import variable_name_hint
from biodyn.variables.norms import NONE, norms_record, read_covariates

STUDY_RECORD_NAME = "study.json"
STUDY_RECORD_VERSION = 1
StudyKind = Literal["study", "session"]
STUDY: Final = "study"
SESSION: Final = "session"


# Files in the output folder; each is written as .NAME.part and renamed.
STUDY_FILES = (
    STUDY_RECORD_NAME, "study.parquet", "study.csv", "summary.csv", "study_wide.csv", "study.xlsx", "report.html"
)  # fmt: skip


def study_file_test(folder: Path) -> IsWritten:
    """Return a function that tests whether biodyn wrote a file of a study or session, by its path in the folder."""
    of_trial = cache(lambda place: trial_file_test(folder / place))
    of_group, of_subjects = group_file_test(folder / "group"), subject_page_test(folder / "subjects")

    def is_written(path: str) -> bool:
        part, _, rest = path.partition("/")
        *place, name = path.split("/", 3)
        if part == "trials" and len(place) == 3:
            return bool(of_trial("/".join(place))(name))
        tests: dict[str, IsWritten] = {"group": of_group, "subjects": of_subjects}
        return tests[part](rest) if part in tests else path in (*STUDY_FILES, PAPER_NAME, LOCK_NAME)

    return is_written


def relative_path(folder: Path, place: str | Path) -> str:
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

    def path_from_folder(table: str) -> str:
        return relative_path(folder, table)

    trials, counts = [], dict.fromkeys((*STATUS_WORDS, FAILED, "not run"), 0)
    for trial in plan.trials:
        record = read_trial_record(folder / trial.folder)
        status = "not run" if record is None else record.status
        counts[status] += 1
        trials.append(_trial_entry(trial, record, status, path_from_folder))
    return {
        "record_version": STUDY_RECORD_VERSION,
        KIND_ENTRY: kind,
        "name": plan.name,
        "program": program_version(),
        "root": printable_text(relative_path(folder, plan.root)),
        "definition": map_all_table_paths(definition.model_dump(mode="json"), path_from_folder),
        "counts": counts,
        "trials": trials,
        "files": [
            {"path": printable_text(f.path.as_posix()), "role": f.role, "reason": printable_text(f.reason)}
            for f in plan.files
        ],
        "data_set": list(written),
        "diagnostics": [diagnostic.as_dict() for diagnostic in diagnostics],
    }


def _trial_entry(
    trial: PlannedTrial, record: TrialRecord | None, status: str, seen_from_here: Callable[[str], str]
) -> dict[str, Any]:
    return {
        "subject": trial.subject,
        "session": trial.session,
        "condition": trial.condition,
        "group": trial.group,
        "site": trial.site,
        "trial": trial.trial,
        "file": printable_text(trial.path.as_posix()),
        "static": None if trial.static is None else printable_text(trial.static.as_posix()),
        "statics": [printable_text(path.as_posix()) for path in trial.statics],
        "mass_kg": trial.mass_kg,
        "height_m": trial.height_m,
        "settings": map_table_paths(trial.settings, seen_from_here),
        "status": status,
        "reason": "" if record is None else record.reason,
        "key": "" if record is None else record.key,
    }


def read_study_json(folder: Path, name: str) -> Mapping[str, Any]:
    """Return the values of a JSON file of a study; StudyError if the study is not finished."""
    try:
        content: Mapping[str, Any] = json.loads((folder / name).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise unfinished_study_error(folder) from error
    return content


def unfinished_study_error(folder: Path) -> StudyError:
    """Return the error for a folder without a finished study."""
    return StudyError(f"'{folder}' contains no finished study.", "Run 'biodyn study FOLDER --out DIR' to its end.")


# -- Tables ---------------------------------------------------------------------------------------------------------


_LABELS = ("subject", "session", "condition", "group", "site", "trial", "reason", "hint", "error", "excluded")
_CYCLES = "gait_cycles"


class StudyResult(PlottableResult):
    """The output folder of a study or session: tables as pandas, read on first use; figures of all cycles or subjects.

    Attributes and methods have the names of a trial's result. Rows of tables begin with subject, session, condition, trial.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder: Path = Path(folder)

    def __repr__(self) -> str:
        counts = ", ".join(f"{count} {status}" for status, count in self.record["counts"].items() if count)
        return f"<biodyn {self.version} {self.record.get('kind', 'study')} {self.name}: {counts}>"

    @cached_property
    def record(self) -> Mapping[str, Any]:
        """Return the values of study.json; StudyError if the folder contains no finished study."""
        return read_study_json(self.folder, STUDY_RECORD_NAME)

    @property
    def name(self) -> str:
        """Return the name of the study."""
        return str(self.record["name"])

    @property
    def version(self) -> str:
        """Return the version of biodyn that wrote the result."""
        return str(self.record["program"])

    @property
    def settings(self) -> Mapping[str, Any]:
        """Return the settings in study.toml or on the command line that differ from the defaults."""
        return dict(self.record["definition"]["settings"])

    @cached_property
    def trials(self) -> pd.DataFrame:
        """Return one row per trial: status, reason and summary metrics (summary.csv)."""
        return self._read_labelled_csv(self.folder / "summary.csv")

    @cached_property
    def verdict(self) -> Verdict:
        """Return the most severe verdict of the trials with the checks of all trials; titles begin with the name of the
        trial."""
        verdicts = {name: StoredResult(folder).verdict for name, folder in self._result_folders.items()}
        without_result = ["fail"] if len(self._result_folders) < len(self.trials) else []
        status = worst_status([*(verdict.status for verdict in verdicts.values()), *without_result])  # type: ignore[list-item]
        checks, causes = (
            tuple(
                replace(check, title=f"{name}: {check.title}")
                for name, verdict in verdicts.items()
                for check in getattr(verdict, kind)
            )
            for kind in ("checks", "causes")
        )
        return Verdict(status, checks, causes)

    @property
    def failed(self) -> bool:
        """Return whether any trial has no result or failed its checks; see `trials`."""
        return bool(self.trials["status"].isin([FAILED, "fail"]).any())

    @cached_property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Return the findings about the study as a whole."""
        return diagnostics_from_record(self.record)

    @cached_property
    def _result_folders(self) -> Mapping[str, Path]:
        """Return the folders of the trials with a result, by title of the trial (with the subject if there are several)."""
        rows = self.trials[self.trials["status"].isin(list(STATUS_WORDS))]
        several = rows["subject"].nunique() > 1
        return {
            f"{subject}, {trial}" if several else trial: self.trial_folder(subject, trial)
            for subject, trial in zip(rows["subject"].astype(str), rows["trial"].astype(str), strict=True)
        }

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
        return self._read_labelled_csv(self.folder / "group" / f"{name}.csv")

    @cached_property
    def _lazy_tables(self) -> Mapping[str, pd.DataFrame]:
        return LazyTables((_CYCLES, *self.group_tables), self._read_table, store=False)

    def _read_table(self, name: str) -> pd.DataFrame:
        return self._read_cycles() if name == _CYCLES else self.group_table(name)

    def _table_attributes(self) -> Collection[str]:
        return (_CYCLES, *self.group_tables)

    def _read_cycles(self, **wanted: Any) -> pd.DataFrame:
        from biodyn.study.collecting.data_set_reader import read_cycles

        return read_cycles(self.folder, **wanted)

    def cycles(
        self, *names: str, side: str | None = None, signs: Signs = COORDINATES, **wanted: str | Sequence[str]
    ) -> pd.DataFrame:
        """Return the gait cycles of variables as a tidy table, e.g. `cycles("knee_angle", side="right", subject="S01")`.

        Parameters: as for the result of a trial; `wanted`: values of other columns, one or several.
        Raises ResultError for an unknown name.
        """
        for name in names:
            if name not in self._variable_names:
                raise ResultError(
                    f"'{name}' is not a variable of the gait cycles.", variable_name_hint(name, self._variable_names)
                )
        table = self._read_cycles(side=side_list(side), **wanted, **({"variable": names} if names else {}))
        set_meaning(_CYCLES, table)
        set_signs(_CYCLES, table, {})
        return convert_signs(_CYCLES, table, signs, {})

    @cached_property
    def _variable_names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self._read_cycles(columns=["variable"])["variable"].astype(str)))

    @cached_property
    def view(self) -> TrialView:
        """Return the curves for figures: all cycles of one subject, or the mean curves of several."""
        trials = self.trials[self.trials["excluded"] == ""]
        strides = self.parameters.reindex(columns=["stance", "speed"]).reset_index()
        strides = strides.rename(columns={"stance": "stance_percent", "speed": "speed_m_s"})
        if trials["subject"].nunique() == 1:
            curves = self._read_cycles()
            curves = curves[curves["trial"].isin(list(trials["trial"]))]
        else:
            curves = pd.read_parquet(self.folder / "group" / "subject_curves.parquet").rename(columns={"mean": "value"})
        speed = float(strides["speed_m_s"].mean())
        records = [ResultFolder(folder).record for folder in self._result_folders.values()]
        covariates = [read_covariates(record, speed) for record in records]
        stages = {entry.age_stage for entry in covariates}
        setting = NONE if len(stages) > 1 else str(self._group_record["options"]["norms"])
        norms = norms_record(setting, mean_over_trials(covariates)) if covariates else {"shown": [], "reasons": []}
        # what all trials have in common; a study has no frames, arrays or model of its own
        subject = records[0]["subject"] if records else {}
        return TrialView(
            {"norms": norms, "subject": subject, "model": {}}, {_CYCLES: curves, "spatiotemporal": strides}, {}
        )

    @cached_property
    def _group_record(self) -> Mapping[str, Any]:
        return read_study_json(self.folder, "group/group.json")

    @cached_property
    def _parameter_rows(self) -> pd.DataFrame:
        titles = {entry["name"]: entry["title"] for entry in self._group_record["parameters"]}
        rows = self.group_table("parameters")
        return rows.assign(title=rows["parameter"].map(titles))

    def _html_lines(self) -> tuple[str, list[str]]:
        rows = self.trials[["trial", "status", "reason"]].astype(str).itertuples(index=False)
        reasons = [f"{trial}: {status}. {reason}" for trial, status, reason in rows if reason]
        return repr(self).strip("<>"), reasons[:3]

    def save(self, folder: str | Path, force: bool = False) -> Path:
        """Copy the result into another folder, completely or not at all, and return its path.

        An existing study is replaced only with `force`, and only if biodyn wrote all its files; StudyError otherwise.
        """
        target, is_written = Path(folder), study_file_test(self.folder)
        paths = [path for path in iterate_files(self.folder) if is_written(path)]
        if target.exists():
            if not force:
                raise StudyError(
                    f"'{target}' exists.", "Choose another folder, or replace the existing study with force=True."
                )
            foreign = foreign_files(target, study_file_test(target))
            if foreign or not (target / STUDY_RECORD_NAME).is_file():
                problem = (
                    f"holds files that biodyn did not write ({path_list_text(foreign)})"
                    if foreign
                    else "is not a study"
                )
                raise StudyError(f"'{target}' {problem} and is not replaced.", "Choose another folder.")
        with replace_folder(target, study_file_test) as place:
            copy_files(self.folder, paths, place)
        return target

    def trial_folder(self, subject: str, trial: str) -> Path:
        """Return the result folder of a trial, for `biodyn report` and `biodyn replay`."""
        folder = self.folder / "trials" / subject / trial
        if not folder.is_dir():
            raise StudyError(f"The study has no trial '{trial}' of subject '{subject}'.", "See `summary`.")
        return folder

    @staticmethod
    def _read_labelled_csv(path: Path) -> pd.DataFrame:
        from biodyn.output.tables.csv import read_csv

        # The subject 007 is a text; the session of a trial without a session is "".
        frame = read_csv(path, dtype=dict.fromkeys(_LABELS, str))
        labels = [name for name in _LABELS if name in frame]
        frame[labels] = frame[labels].fillna("")
        return frame
