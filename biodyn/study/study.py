"""Run studies and sessions from Python: open a folder, run the study, read the results."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, TypedDict, Unpack

from biodyn.errors import InputFileError, StudyError
from biodyn.io import read
from biodyn.output.report.pdf_report import Letterhead, requested_letterhead
from biodyn.output.store.folder import (
    remove_all_unfinished,
    remove_written_files,
    replace_file,
    require_valid_path,
    trial_file_test,
)
from biodyn.processing.calibration.subject_measurements import require_plausible_body
from biodyn.recording import PlateCalibration
from biodyn.settings import merge_tables, parse_entries, settings_from, with_subject_record
from biodyn.study.discovery import StudyDefinition, discover_trials, read_definition
from biodyn.study.discovery.definition import DEFINITION_NAME, safe_name
from biodyn.study.options import Reports
from biodyn.study.plan import PlannedTrial, StudyPlan, no_walk_error
from biodyn.study.result import (
    SESSION,
    STUDY,
    STUDY_FILES,
    STUDY_RECORD_NAME,
    StudyKind,
    StudyResult,
    relative_path,
    study_record,
)
from biodyn.study.running.task import (
    Limits,
    Outcome,
    Task,
    lock_output_folder,
    program_version,
    read_owner,
    require_output_folder,
)
from biodyn.study.running.task_execution import OnOutcome, ignore_arguments, run_locally, run_on_cluster
from biodyn.study.trial_record import TRIAL_RECORD_NAME
from biodyn.trial.trial_files import with_calibrated_plates


class SubjectInputs(TypedDict, total=False):
    """Keyword arguments with data on the subject of a session, see `run_trial`."""

    height_m: float | None
    age_years: float | None
    sex: str | None
    side: str | None


@dataclass
class Progress:
    """Counter of the finished trials of a run; `total`: number of trials, `clock`: function that returns the time in
    seconds."""

    total: int
    clock: Callable[[], float] = time.monotonic
    done: int = 0
    failed: int = 0
    kept: int = 0
    checks_failed: int = 0
    _start: float = field(init=False)

    def __post_init__(self) -> None:
        self._start = self.clock()

    def add(self, outcome: Outcome) -> None:
        """Add the outcome of one trial to the counts."""
        self.done += 1
        self.failed += outcome.failed
        self.checks_failed += outcome.status == "fail"
        self.kept += outcome.kept

    @property
    def rate_per_s(self) -> float | None:
        """Return the trials analysed per second since the start, without kept results; None before the first."""
        seconds, analysed = self.clock() - self._start, self.done - self.kept
        return analysed / seconds if analysed and seconds > 0.0 else None

    def remaining_text(self) -> str:
        """Return a sentence on the number of finished and remaining trials."""
        if self.done == self.total:
            return f"all {self.total} trials are finished; group results and report remain."
        return f"{self.done} of {self.total} trials are finished and kept, {self.total - self.done} remain."

    def status_line(self) -> str:
        """Return one line of text: finished, failed and kept trials, rate, and remaining time."""
        parts = [f"{self.done} of {self.total} trials", f"{self.failed} failed"]
        if self.kept:
            parts.append(f"{self.kept} earlier results kept")
        rate = self.rate_per_s
        if rate is not None:
            parts += [f"{rate:.1f} per second", f"{duration_text((self.total - self.done) / rate)} left"]
        return ", ".join(parts)


def progress_callbacks(
    progress: Callable[[str], None] | None, total: int, on_outcome: Callable[[Outcome], None] | None
) -> tuple[Callable[[Outcome], None], Callable[[str], None]]:
    """Return callbacks `on_outcome` and `say` that report steps and counts of `total` trials to `progress`."""
    on_outcome = on_outcome or ignore_arguments
    if progress is None:
        return on_outcome, ignore_arguments
    say, count = progress, Progress(total)

    def report_outcome(outcome: Outcome) -> None:
        on_outcome(outcome)
        count.add(outcome)
        say(count.status_line())

    return report_outcome, say


def duration_text(seconds: float) -> str:
    """Return a duration as h:mm:ss, or m:ss below an hour."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def apply_overrides(
    definition: StudyDefinition, preset: str | None, entries: Sequence[str] = (), reports: Reports | None = None
) -> StudyDefinition:
    """Return a definition with a preset below its settings, entries "section.key=value" above them, and the choice of reports.

    Raises SettingsError for an invalid choice before trials are run.
    """
    if reports is not None:
        output = definition.output.model_copy(update={"reports": reports})
        definition = definition.model_copy(update={"output": output})
    if preset is None and not entries:
        return definition
    named = {} if preset is None else {"preset": preset}
    settings_from(named, entries=entries)
    return definition.model_copy(update={"settings": merge_tables(definition.settings, named, *parse_entries(entries))})


def override_settings(plan: StudyPlan, tables: Sequence[Mapping[str, Any]]) -> StudyPlan:
    """Return a plan in which tables of settings have priority over settings of subjects and files in study.toml."""
    trials = tuple(replace(trial, settings=merge_tables(trial.settings, *tables)) for trial in plan.trials)
    return replace(plan, trials=trials)


def set_plate_calibration(plan: StudyPlan, plates: str | Path | None) -> StudyPlan:
    """Return a plan with trials that use a calibration of the force plates.

    Raises SettingsError for an unusable file, PlateError if it does not fit the first walk.
    """
    if plates is None:
        return plan
    calibration = PlateCalibration.read(plates)
    for trial in plan.trials[:1]:
        with suppress(InputFileError):  # the trial will fail with this error
            with_calibrated_plates(read(plan.root / trial.path), calibration)
    return replace(plan, trials=tuple(replace(trial, plates=Path(plates).absolute()) for trial in plan.trials))


# -- Output folder --------------------------------------------------------------------------------------------------


def require_usable_output_folder(folder: Path, root: Path) -> None:
    """Raise StudyError if `folder` cannot be the output of a study of the files in `root`."""
    try:
        there = folder.exists()
    except OSError as error:  # for example a name that is too long
        raise StudyError(f"'{folder.parent}': {error.strerror}.", "Choose another --out.") from error
    if there and not folder.is_dir():
        raise StudyError(f"'{folder}' is a file, not a folder.", "Choose another --out.")
    owner = read_owner(folder)
    if owner is None:
        if folder.is_dir() and any(folder.iterdir()):
            raise StudyError(
                f"'{folder}' is not empty and does not contain a study of biodyn.", "Choose another --out."
            )
        return
    if owner and owner != relative_path(folder, root):
        raise StudyError(
            f"'{folder}' contains the study of another folder, '{owner}' (relative path).", "Choose another --out."
        )


def remove_obsolete_results(folder: Path, trials: Sequence[PlannedTrial]) -> None:
    """Remove results of trials that are no longer in the plan, and unfinished files of killed runs.

    Requires the lock of the folder. Only files of biodyn are removed; links are not followed.
    """
    _remove_unfinished_everywhere(folder)
    planned = {folder / trial.folder for trial in trials}
    for record in sorted(folder.glob(f"trials/*/*/{TRIAL_RECORD_NAME}")):
        place = record.parent
        if place not in planned and not any(p.is_symlink() for p in (place, place.parent, place.parent.parent)):
            remove_written_files(place, trial_file_test(place))
    for subject in sorted(folder.glob("trials/*")):
        if subject.is_dir() and not subject.is_symlink() and not any(subject.iterdir()):
            subject.rmdir()


def _remove_unfinished_everywhere(folder: Path) -> None:
    remove_all_unfinished(folder, STUDY_FILES)
    for place in (folder / "group", folder / "subjects", *sorted(folder.glob("trials/*"))):
        if place.is_dir() and not place.is_symlink():
            remove_all_unfinished(place)


@contextmanager
def remove_unfinished_on_error(folder: Path) -> Iterator[None]:
    """Remove incomplete files when a study ends early, after its trial processes have ended."""
    try:
        yield
    except BaseException:
        if folder.is_dir():  # the disk may not be mounted
            _remove_unfinished_everywhere(folder)
        raise


# -- The study ------------------------------------------------------------------------------------------------------


Say = Callable[[str], None]


@dataclass(frozen=True)
class Study:
    """A study: its definition (study.toml, or defaults) and its plan of trials.

    Create it with `Study.open`; `run` analyses, collects, compares and reports.
    """

    definition: StudyDefinition
    plan: StudyPlan
    kind: StudyKind = STUDY

    def __repr__(self) -> str:
        people = len({trial.subject for trial in self.plan.trials})
        return f"<biodyn {self.kind} {self.plan.name}: {len(self.plan.trials)} trials of {people} people>"

    @classmethod
    def open(
        cls,
        source: str | Path,
        preset: str | None = None,
        entries: Sequence[str] = (),
        reports: Reports | None = None,
        plates: str | Path | None = None,
    ) -> Study:
        """Return the study of a folder, or of a study.toml (in the folder that it specifies, otherwise in its own folder).

        A study.toml in the folder is used. `preset`: settings with the lowest priority, replaces that of study.toml. `entries`:
        "section.key=value" with the highest priority. `reports`: trials that get a report, replaces `[output] reports` of
        study.toml. `plates`: calibration file of the force plates (`biodyn plates`).

        Raises StudyError for a missing folder, SettingsError for an invalid study.toml.
        """
        path = Path(source)
        if path.suffix.lower() == ".toml":
            definition = apply_overrides(read_definition(path), preset, entries, reports)
            plan = override_settings(discover_trials(definition.folder(path), definition), parse_entries(entries))
            study = cls(definition, set_plate_calibration(plan, plates))
            study._require_possible_names()
            return study
        if not path.is_dir():
            raise StudyError(f"'{path}' is not a folder.", "Give a folder of recordings, or a study.toml.")
        if (path / DEFINITION_NAME).is_file():
            return cls.open(path / DEFINITION_NAME, preset, entries, reports, plates)
        definition = apply_overrides(StudyDefinition(), preset, entries, reports)
        return cls(definition, set_plate_calibration(discover_trials(path, definition), plates))

    @property
    def default_folder(self) -> Path:
        """Return the default output folder reports/<name of the study>."""
        return Path("reports") / safe_name(self.plan.name)

    def run(
        self,
        out: str | Path,
        workers: int | None = None,
        scheduler: str | None = None,
        *,
        retry_failed: bool = False,
        force: bool = False,
        only: Collection[Path] | None = None,
        on_outcome: OnOutcome | None = None,
        say: Say | None = None,
        paper: Letterhead | None = None,
    ) -> StudyResult:
        """Analyse new and changed trials, collect, compare and report; return the results.

        Parameters:
            out: output folder; a run that was stopped resumes where it stopped.
            workers: processes of this machine (None: as in study.toml, else one per core).
            scheduler: address of a Dask cluster with access to the same files, instead of local processes.
            retry_failed: whether to repeat trials that failed with the same inputs. force: whether to repeat all trials.
            only: recordings of the trials to analyse; the others keep their results.
            on_outcome: called when a trial ends. say: called with the name of each step.
            paper: letterhead of report.pdf; None = no PDF.

        Raises StudyError if nothing can be run (no trials, or the folder is used by another study or run).
        """
        folder, say = Path(out).resolve(), say or ignore_arguments
        if not self.plan.trials:
            raise no_walk_error(self.plan)
        self._require_possible_names()
        # On a cluster, workers may still be writing when this process is stopped; the next run removes their files.
        alone = remove_unfinished_on_error(folder) if scheduler is None else nullcontext()
        with self._lock_folder(folder) as keep_open, alone:
            try:
                remove_obsolete_results(folder, () if force else self.plan.trials)
                chosen = [trial for trial in self.plan.trials if only is None or trial.path in only]
                running, program = self.definition.running, program_version()
                limits, root = Limits(running.time_limit_s, running.memory_limit_mb), self.plan.root.resolve()
                reports, on_outcome = self.definition.output.reports, on_outcome or ignore_arguments
                tasks = [Task(trial, root, folder, program, limits, retry_failed, reports) for trial in chosen]
                if scheduler is not None:
                    run_on_cluster(tasks, scheduler, limits, on_outcome, say)
                else:
                    run_locally(tasks, workers or running.workers, limits, on_outcome, keep_open, say)
                require_output_folder(folder)
                self.summarise(folder, say, paper)
            except OSError as error:
                where = f": '{error.filename}'" if error.filename else ""
                raise StudyError(
                    f"The results cannot be written: {error.strerror}{where}.",
                    "Free disk space, and run the study again.",
                ) from error
        return StudyResult(folder)

    def summarise(self, out: str | Path, say: Say | None = None, paper: Letterhead | None = None) -> None:
        """Collect existing results, compare and report, without analysing any trial."""
        from biodyn.study.collecting import collect_results, export_tables
        from biodyn.study.group.group_analysis import analyse_study
        from biodyn.study.report import write_study_report

        folder, say = Path(out), say or ignore_arguments
        say("collecting")
        collected = collect_results(self.plan, folder, include_failed=self.definition.analysis.include_failed)
        say("group results")
        group = analyse_study(self.plan, folder, self.definition.analysis)
        say("exporting")
        exported = export_tables(self.plan, folder)
        findings = (*collected.diagnostics, *group.diagnostics, *exported)
        record = study_record(self.definition, self.plan, folder, collected.files, findings, self.kind)
        text = json.dumps(record, indent=2, allow_nan=False) + "\n"
        replace_file(folder / STUDY_RECORD_NAME, text.encode())
        say("writing the report")
        write_study_report(folder, paper)

    # -- inside -------------------------------------------------------------------------------------------------

    def _require_possible_names(self) -> None:
        """Raise SettingsError for an entry of study.toml with a name that no result can have."""
        from biodyn.study.group.group_analysis import require_possible_names

        require_possible_names(self.plan, self.definition.analysis)

    def _lock_folder(self, folder: Path) -> Any:
        """Create and lock the output folder, and return its lock; StudyError if it cannot be the output of this study."""
        require_usable_output_folder(folder, self.plan.root)
        require_valid_path(
            max((folder / trial.folder for trial in self.plan.trials), key=lambda place: len(str(place)))
        )
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StudyError(f"'{folder}' cannot be written: {error.strerror}.", "Choose another --out.") from error
        return lock_output_folder(folder, relative_path(folder, self.plan.root))


def run_study(
    source: str | Path,
    out: str | Path | None = None,
    workers: int | None = None,
    scheduler: str | None = None,
    *,
    retry_failed: bool = False,
    on_outcome: OnOutcome | None = None,
    progress: Say | None = None,
    pdf: bool = False,
    head: str | Path | None = None,
    plates: str | Path | None = None,
) -> StudyResult:
    """Run the study of a folder or a study.toml, as `biodyn study` does; `out` is by default reports/<name>.

    `progress`: called with the name of each step and with the number of finished trials (`progress=print` shows them). `pdf`:
    whether to write report.pdf; `head`: TOML file with the letterhead (docs/results.md). `plates`: calibration file of the
    force plates. See `Study.run` for other parameters and errors.
    """
    paper, study = requested_letterhead(pdf, head), Study.open(source, plates=plates)
    target = study.default_folder if out is None else out
    ended, say = progress_callbacks(progress, len(study.plan.trials), on_outcome)
    return study.run(target, workers, scheduler, retry_failed=retry_failed, on_outcome=ended, say=say, paper=paper)


def rerender_study_report(
    folder: str | Path,
    progress: Callable[[str], None] | None = None,
    *,
    pdf: bool = False,
    head: str | Path | None = None,
) -> Path:
    """Regenerate the pages of a study or session folder; returns the path of report.html.

    `pdf`: whether to write report.pdf; `head`: TOML file with the letterhead. Reports of trials are not changed. Raises
    StudyError if the folder has no finished study, or if a run uses it.
    """
    from biodyn.study.report import write_study_report

    out, paper = Path(folder), requested_letterhead(pdf, head)
    if progress is not None:
        progress("writing the report")
    with lock_output_folder(out, read_owner(out) or ""):
        return write_study_report(out, paper)


#: Settings with the lowest priority: one model for all walks, and outputs of every walk as in `biodyn run`.
SESSION_SETTINGS: Final[dict[str, Any]] = {
    "model": {"fit": "session"},
    "output": {"figures": True, "report": True, "tables": "csv"},
    "uncertainty": {"compute": True},
}


def open_session(
    source: str | Path | Sequence[str | Path],
    preset: str | None = None,
    entries: Sequence[str] = (),
    static: str | Path | None = None,
    mass_kg: float | None = None,
    plates: str | Path | None = None,
    **subject: Unpack[SubjectInputs],
) -> Study:
    """Return the study of the walks of one person and day.

    Parameters:
        source: folder of one session, or its walks. A study.toml in the folder (in the nearest common folder of the walks) is
            used.
        preset, entries: see `Study.open`. With `model.osim` all walks use this OpenSim model.
        static, mass_kg: static trial and body mass of all walks, with priority over study.toml; they scale the OpenSim model.
        plates: calibration file of the force plates.
        subject: height_m, age_years, sex and affected side, with priority over subject.toml and study.toml.

    Raises StudyError if no walk is found, a file is not a walk, or there are several people, sessions, or static trials that
    scale a model.
    """
    paths = [Path(source)] if isinstance(source, (str, Path)) else [Path(path) for path in source]
    root, walks = _session_root(paths)
    path = root / DEFINITION_NAME
    stated = read_definition(path) if path.is_file() else StudyDefinition()
    under = stated.model_copy(update={"settings": merge_tables(SESSION_SETTINGS, stated.settings)})
    definition = apply_overrides(under, preset, entries)
    folder = definition.folder(path)
    given = {name: value for name, value in subject.items() if value is not None}
    with_subject_record(settings_from({}), {}, given)  # raises for an invalid value
    over = [*parse_entries(entries), *([{"subject": given}] if given else [])]
    plan = override_settings(discover_trials(folder, definition), over)
    trials = plan.trials if walks is None else _selected_trials(plan, walks)
    if not trials:
        raise no_walk_error(plan)
    trials = _set_static_trial(trials, static, mass_kg)
    name = _require_single_session(trials, root)
    _require_one_model(trials)
    return Study(definition, set_plate_calibration(replace(plan, name=name, trials=trials), plates), SESSION)


def _name_list(names: Sequence[str]) -> str:
    """Return a text with the first few names, for a message."""
    max_listed = 6
    shown = ", ".join(name or "(none)" for name in names[:max_listed])
    return shown + (", ..." if len(names) > max_listed else "")


def _session_root(given: Sequence[Path]) -> tuple[Path, list[Path] | None]:
    """Return the folder of a session, and its walks if they are given."""
    # largest number of folder levels between a walk and the common folder of a session
    max_levels = 3
    if not given:
        raise StudyError("No walk was given.", "Give a folder, or the walks of one person and day.")
    if len(given) == 1 and given[0].is_dir():
        return given[0], None
    for path in given:
        if path.is_dir():
            raise StudyError(f"'{path}' is a folder, but walks are given.", "Give either one folder or walks.")
        if not path.exists():
            raise StudyError(f"'{path}' does not exist.")
    walks = [path.absolute() for path in given]
    try:
        root = Path(os.path.commonpath([path.parent for path in walks]))
    except ValueError:  # on different drives
        root = Path(walks[0].anchor)
    if any(len(path.parent.relative_to(root).parts) > max_levels for path in walks if path.is_relative_to(root)):
        raise StudyError(
            f"The walks are more than {max_levels} folders below their common folder '{root}'.",
            "Copy the walks of the session into one folder.",
        )
    return root, walks


def _selected_trials(plan: StudyPlan, walks: Sequence[Path]) -> tuple[PlannedTrial, ...]:
    """Return the trials of the given walks, in the order of the plan; StudyError for a file that is not a trial."""
    wanted = {os.path.realpath(path): path for path in walks}
    trials = {os.path.realpath(plan.root / trial.path): trial for trial in plan.trials}
    reasons = {os.path.realpath(plan.root / file.path): file for file in plan.files}
    for place, path in wanted.items():
        if place not in trials:
            file = reasons.get(place)
            why = f"is not a walk: {file.role}. {file.reason}" if file is not None else "is not a readable recording"
            raise StudyError(
                f"'{path.name}' {why}".rstrip(".") + ".", "Omit it, or set its role in a study.toml next to it."
            )
    return tuple(trial for place, trial in trials.items() if place in wanted)


def _set_static_trial(
    trials: Sequence[PlannedTrial], static: str | Path | None, mass_kg: float | None
) -> tuple[PlannedTrial, ...]:
    """Return the trials with the static trial and the body mass that were specified for all of them; None: unchanged."""
    require_plausible_body(mass_kg, None)
    if static is not None and not Path(static).is_file():
        raise StudyError(f"The static trial '{static}' does not exist.")
    changes: dict[str, Any] = {} if mass_kg is None else {"mass_kg": mass_kg}
    if static is not None:
        changes |= {"static": Path(static).absolute(), "statics": (), "named_static": True}
    return tuple(replace(trial, **changes) for trial in trials)


def _require_one_model(trials: Sequence[PlannedTrial]) -> None:
    """Raise StudyError if the walks would use differently scaled models."""
    scaled = [trial for trial in trials if trial.settings.get("model", {}).get("osim") is not None]
    models = {(t.settings["model"]["osim"], str(t.static) if t.named_static else "", t.mass_kg) for t in scaled}
    if len(models) + (len(scaled) < len(trials)) > 1:
        raise StudyError(
            "The walks of this session would use several models, because model.osim, static trial or mass differ.",
            "Specify one model, static trial and body mass for all walks: --model, --static, --mass.",
        )


def _require_single_session(trials: Sequence[PlannedTrial], root: Path) -> str:
    """Return the name of the person and session; StudyError if there are several."""
    people = list(dict.fromkeys(trial.subject for trial in trials))
    if len(people) > 1:
        raise StudyError(
            f"'{root}' holds walks of {len(people)} people: {_name_list(people)}. A session must be of one person and day.",
            "Give the walks of one person, specify the subjects in a study.toml, or run 'biodyn study'.",
        )
    sessions = list(dict.fromkeys(trial.session for trial in trials))
    if len(sessions) > 1:
        raise StudyError(
            f"'{root}' holds {len(sessions)} sessions of {people[0]}: {_name_list(sessions)}. A session must be of "
            f"one person and day.",
            "Give the walks of one session, or run 'biodyn study'.",
        )
    return ", ".join(filter(None, (people[0], sessions[0])))


def run_session(
    source: str | Path | Sequence[str | Path],
    out: str | Path | None = None,
    *,
    workers: int | None = None,
    preset: str | None = None,
    entries: Sequence[str] = (),
    static: str | Path | None = None,
    mass_kg: float | None = None,
    plates: str | Path | None = None,
    on_outcome: OnOutcome | None = None,
    progress: Say | None = None,
    pdf: bool = False,
    head: str | Path | None = None,
    **subject: Unpack[SubjectInputs],
) -> StudyResult:
    """Analyse the walks of one person and day with one subject model, as `biodyn session` does.

    `source`, `preset`, `entries`, `static`, `mass_kg`, `plates`, `subject`: see `open_session`. `out`: by default
    reports/<person>[, <session>]. `progress`, `pdf`, `head`: see `run_study`. Other parameters and errors: see `Study.run`.
    """
    paper = requested_letterhead(pdf, head)
    session = open_session(source, preset, entries, static, mass_kg, plates, **subject)
    target = session.default_folder if out is None else out
    ended, say = progress_callbacks(progress, len(session.plan.trials), on_outcome)
    return session.run(target, workers, on_outcome=ended, say=say, paper=paper)
