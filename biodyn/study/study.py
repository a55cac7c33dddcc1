"""A study as people use it from Python: open a folder, run, look at the results."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from biodyn.diagnostics import STATUS_WORDS
from biodyn.errors import StudyError, printable
from biodyn.output.store.leftovers import remove_all_unfinished
from biodyn.output.store.owned import remove_owned, trial_files
from biodyn.settings import with_table_paths
from biodyn.study.discovery import StudyDefinition, discover, read_definition
from biodyn.study.discovery.definition import all_table_paths
from biodyn.study.discovery.naming import safe_name
from biodyn.study.plan import PlannedTrial, StudyPlan
from biodyn.study.record import FAILED, TRIAL_RECORD_NAME, TrialRecord, read_record
from biodyn.study.running.lock import only_run, owner_of
from biodyn.study.running.program import program_version
from biodyn.study.running.run import run_local, run_on_cluster
from biodyn.study.running.task import Limits, Outcome, Task

if TYPE_CHECKING:
    import pandas as pd

    from biodyn.diagnostics import Diagnostic

DEFINITION_NAME = "study.toml"
STUDY_RECORD_NAME = "study.json"
STUDY_RECORD_VERSION = 1
# Files beside the folders; each is written as .NAME.part and then renamed.
_WRITTEN = (
    STUDY_RECORD_NAME, "study.parquet", "study.csv", "summary.csv", "study_wide.csv", "study.xlsx", "report.html"
)  # fmt: skip
_LABELS = ("subject", "session", "condition", "group", "trial", "reason", "hint", "error", "excluded")
OnOutcome = Callable[[Outcome], None]
Say = Callable[[str], None]


def _silent(_: object) -> None:
    """Say nothing."""


@dataclass(frozen=True)
class Study:
    """What a study will do: its definition (study.toml, or all defaults) and its plan of trials.

    Make one with `Study.open`; `run` analyses, collects, compares and reports; each step can be done by itself too.
    """

    definition: StudyDefinition
    plan: StudyPlan

    @classmethod
    def open(cls, source: str | Path) -> Study:
        """Return the study of a folder, or of a study.toml (in the folder it names, else beside it).

        A study.toml in the folder is followed.

        Raises StudyError where there is no such folder or no C3D file in it, SettingsError for a bad study.toml.
        """
        path = Path(source)
        if path.suffix.lower() == ".toml":
            definition = read_definition(path)
            study = cls(definition, discover(definition.folder(path), definition))
            study._require_possible()
            return study
        if not path.is_dir():
            raise StudyError(f"'{path}' is no folder.", "Give a folder of C3D files, or a study.toml.")
        if (path / DEFINITION_NAME).is_file():
            return cls.open(path / DEFINITION_NAME)
        definition = StudyDefinition()
        return cls(definition, discover(path, definition))

    @property
    def default_folder(self) -> Path:
        """Where the results go when no folder is named: reports/<name of the study>, as a name of one folder."""
        return Path("reports") / safe_name(self.plan.name)

    def run(
        self,
        out: str | Path,
        workers: int | None = None,
        scheduler: str | None = None,
        *,
        retry_failed: bool = False,
        on_outcome: OnOutcome = _silent,
        say: Say = _silent,
    ) -> StudyResult:
        """Do everything: analyse what is new or changed, collect, compare, report. Returns the results.

        Parameters:
            out: output folder; a run that was stopped resumes where it stopped.
            workers: processes of this machine (None: study.toml's, else one per core).
            scheduler: address of a Dask cluster whose workers see the same files, instead of local processes.
            retry_failed: analyse trials again that failed before with the same inputs.
            on_outcome: called as each trial ends. say: called with the name of each step.

        Raises StudyError where nothing can be run (no trials, folder taken by another study or run).
        """
        folder = Path(out).resolve()
        if not self.plan.trials:
            raise StudyError(
                f"No walk was found among the {len(self.plan.files)} C3D files of '{self.plan.root}'.",
                "See 'biodyn study FOLDER --dry-run' for the role of each file.",
            )
        self._require_possible()
        # On a cluster others may still be writing when this process is stopped: the next run tidies up.
        alone = _tidy_when_stopped(folder) if scheduler is None else nullcontext()
        with self._owned(folder) as keep_open, alone:
            try:
                self._analyse(folder, workers, scheduler, retry_failed, on_outcome, keep_open, say)
                self.summarise(folder, say)
            except OSError as error:
                where = f": '{error.filename}'" if error.filename else ""
                raise StudyError(
                    f"The results cannot be written: {error.strerror}{where}.", "Make room, and run the study again."
                ) from error
        return StudyResult(folder)

    def summarise(self, out: str | Path, say: Say = _silent) -> None:
        """Collect the trials' results again, compare and report, without analysing any trial."""
        from biodyn.study.collecting import collect, export
        from biodyn.study.group import analyse_study
        from biodyn.study.report import write_study_report

        folder = Path(out)
        say("collecting")
        collected = collect(
            self.plan, folder, self.definition.output, include_failed=self.definition.analysis.include_failed
        )
        say("group results")
        group = analyse_study(self.plan, folder, self.definition.analysis)
        say("exporting")
        exported = export(self.plan, folder, self.definition.output)
        findings = (*collected.diagnostics, *group.diagnostics, *exported)
        _write_whole(folder / STUDY_RECORD_NAME, self._record(folder, collected.files, findings))
        say("writing the report")
        write_study_report(folder)

    # -- inside -------------------------------------------------------------------------------------------------

    def _require_possible(self) -> None:
        """Raise SettingsError for an entry of study.toml that no result can satisfy."""
        from biodyn.study.group.beforehand import require_possible

        wide = {"output.wide_variables": self.definition.output.wide_variables or ()}
        require_possible(self.plan, self.definition.analysis, wide)

    def _owned(self, folder: Path) -> Any:
        """The lock of the output folder, once it is sure that the folder is this study's."""
        require_free(folder, self.plan.root)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StudyError(f"'{folder}' cannot be written: {error.strerror}.", "Choose another --out.") from error
        return only_run(folder, os.path.relpath(self.plan.root, folder))

    def _analyse(
        self,
        folder: Path,
        workers: int | None,
        scheduler: str | None,
        retry_failed: bool,
        on_outcome: OnOutcome,
        keep_open: tuple[int, ...],
        say: Say,
    ) -> None:
        _remove_obsolete(folder, self.plan.trials)
        running = self.definition.running
        limits = Limits(running.time_limit_s, running.memory_limit_mb)
        root = self.plan.root.resolve()
        tasks = [Task(trial, root, folder, program_version(), limits, retry_failed) for trial in self.plan.trials]
        if scheduler is not None:
            run_on_cluster(tasks, scheduler, limits, on_outcome, say)
        else:
            run_local(tasks, workers or running.workers, limits, on_outcome, keep_open, say)

    def _record(
        self, folder: Path, written: Sequence[Mapping[str, Any]], diagnostics: Sequence[Diagnostic]
    ) -> dict[str, Any]:
        def seen_from_here(table: str) -> str:
            return os.path.relpath(table, folder)

        trials, counts = [], dict.fromkeys((*STATUS_WORDS, FAILED, "not run"), 0)
        for trial in self.plan.trials:
            record = read_record(folder / trial.folder)
            status = "not run" if record is None else record.status
            counts[status] += 1
            trials.append(_trial_record(trial, record, status, seen_from_here))
        return {
            "record_version": STUDY_RECORD_VERSION,
            "name": self.plan.name,
            "program": program_version(),
            "root": printable(os.path.relpath(self.plan.root, folder)),
            "definition": all_table_paths(self.definition.model_dump(mode="json"), seen_from_here),
            "counts": counts,
            "trials": trials,
            "files": [
                {"path": printable(f.path.as_posix()), "role": f.role, "reason": printable(f.reason)}
                for f in self.plan.files
            ],
            "data_set": list(written),
            "diagnostics": [diagnostic.as_dict() for diagnostic in diagnostics],
        }


@dataclass(frozen=True)
class StudyResult:
    """The output folder of a study: tables as pandas, read when first asked for."""

    folder: Path

    @cached_property
    def record(self) -> Mapping[str, Any]:
        """The values of study.json; StudyError where the folder holds no finished study."""
        try:
            content: Mapping[str, Any] = json.loads((self.folder / STUDY_RECORD_NAME).read_text(encoding="utf-8"))
        except FileNotFoundError as error:
            raise StudyError(
                f"'{self.folder}' holds no finished study.", "Run 'biodyn study FOLDER --out DIR' to its end."
            ) from error
        return content

    @cached_property
    def summary(self) -> pd.DataFrame:
        """One row per trial: status, reason, summary metrics."""
        return self._csv(self.folder / "summary.csv")

    @property
    def failed(self) -> pd.DataFrame:
        """The rows of `summary` of trials without a result."""
        return self.summary[self.summary["status"] == FAILED]

    @property
    def group_tables(self) -> tuple[str, ...]:
        """Names of the group results there are, for `group_table`."""
        return tuple(sorted(path.stem for path in (self.folder / "group").glob("*.csv")))

    def group_table(self, name: str) -> pd.DataFrame:
        """Return a table of group/ by name; StudyError names those there are."""
        if name not in self.group_tables:
            raise StudyError(f"There is no group table '{name}'.", f"There are {', '.join(self.group_tables)}.")
        return self._csv(self.folder / "group" / f"{name}.csv")

    def cycles(self, **wanted: str | Sequence[str]) -> pd.DataFrame:
        """Return rows of study.parquet, e.g. `cycles(variable="knee_angle", subject=["S01", "S02"])`."""
        from biodyn.study.collecting.read import read_cycles

        return read_cycles(self.folder, **wanted)

    def trial_folder(self, subject: str, trial: str) -> Path:
        """Return the result folder of a trial, for `biodyn report` and `biodyn replay`."""
        folder = self.folder / "trials" / subject / trial
        if not folder.is_dir():
            raise StudyError(f"There is no trial '{trial}' of subject '{subject}'.", "See `summary`.")
        return folder

    @staticmethod
    def _csv(path: Path) -> pd.DataFrame:
        from biodyn.output.tables.csv import read_csv

        # A subject called 007 is no number, and a trial without a session has the session "".
        frame = read_csv(path, dtype=dict.fromkeys(_LABELS, str))
        labels = [name for name in _LABELS if name in frame]
        frame[labels] = frame[labels].fillna("")
        return frame


def run_study(
    source: str | Path,
    out: str | Path | None = None,
    workers: int | None = None,
    scheduler: str | None = None,
    *,
    retry_failed: bool = False,
    on_outcome: OnOutcome = _silent,
    say: Say = _silent,
) -> StudyResult:
    """Run the study of a folder or a study.toml, as `biodyn study` does; `out` is by default reports/<its name>.

    See `Study.run` for the parameters and what is raised.
    """
    study = Study.open(source)
    target = study.default_folder if out is None else out
    return study.run(target, workers, scheduler, retry_failed=retry_failed, on_outcome=on_outcome, say=say)


def require_free(folder: Path, root: Path) -> None:
    """Raise StudyError if `folder` cannot be the output of a study of the files in `root`."""
    try:
        there = folder.exists()
    except OSError as error:  # such as a name that is too long
        raise StudyError(f"'{folder.parent}': {error.strerror}.", "Choose another --out.") from error
    if there and not folder.is_dir():
        raise StudyError(f"'{folder}' is a file, not a folder.", "Choose another --out.")
    owner = owner_of(folder)
    if owner is None:
        if folder.is_dir() and any(folder.iterdir()):
            raise StudyError(f"'{folder}' is not empty and holds no study of ours.", "Choose another --out.")
        return
    if owner and owner != os.path.relpath(root, folder):
        raise StudyError(
            f"'{folder}' holds the study of another folder, '{owner}' as seen from there.", "Choose another --out."
        )


def _remove_obsolete(folder: Path, trials: Sequence[PlannedTrial]) -> None:
    """Remove results of trials that are no longer in the plan, so that no folder tells of what no table counts.

    And what killed runs left half done; the lock says that nobody is writing. Of all that, only what biodyn wrote:
    files that somebody put beside it stay, and links are not followed.
    """
    _remove_unfinished_everywhere(folder)
    planned = {folder / trial.folder for trial in trials}
    for record in sorted(folder.glob(f"trials/*/*/{TRIAL_RECORD_NAME}")):
        place = record.parent
        if place not in planned and not any(p.is_symlink() for p in (place, place.parent, place.parent.parent)):
            remove_owned(place, trial_files(place))
    for subject in sorted(folder.glob("trials/*")):
        if subject.is_dir() and not subject.is_symlink() and not any(subject.iterdir()):
            subject.rmdir()


def _remove_unfinished_everywhere(folder: Path) -> None:
    remove_all_unfinished(folder, _WRITTEN)
    for place in (folder / "group", folder / "subjects", *sorted(folder.glob("trials/*"))):
        if place.is_dir() and not place.is_symlink():
            remove_all_unfinished(place)


@contextmanager
def _tidy_when_stopped(folder: Path) -> Iterator[None]:
    """Remove what was being written when a study ends early; its trial processes are dead by then."""
    try:
        yield
    except BaseException:
        _remove_unfinished_everywhere(folder)
        raise


def _trial_record(
    trial: PlannedTrial, record: TrialRecord | None, status: str, seen_from_here: Callable[[str], str]
) -> dict[str, Any]:
    return {
        "subject": trial.subject,
        "session": trial.session,
        "condition": trial.condition,
        "group": trial.group,
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


def _write_whole(path: Path, content: Mapping[str, Any]) -> None:
    temporary = path.with_name(f".{path.name}.part")
    try:
        temporary.write_text(json.dumps(content, indent=2, allow_nan=False) + "\n", encoding="utf-8")
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
