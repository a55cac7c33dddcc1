"""A study as people use it from Python: open a folder, run, look at the results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from biodyn.errors import StudyError
from biodyn.output.report.paper import PaperHead, asked_paper
from biodyn.output.store.folder import remove_all_unfinished, remove_written, require_possible, trial_files
from biodyn.settings import joined, settings_from, stated
from biodyn.study.collecting.options import Reports
from biodyn.study.discovery import StudyDefinition, discover, read_definition
from biodyn.study.discovery.definition import safe_name
from biodyn.study.discovery.listing import DEFINITION_NAME
from biodyn.study.plan import PlannedTrial, StudyPlan, no_walk
from biodyn.study.progress import told
from biodyn.study.record import TRIAL_RECORD_NAME
from biodyn.study.result import STUDY, STUDY_RECORD_NAME, StudyKind, StudyResult, seen_from, study_record, write_whole
from biodyn.study.running.lock import only_run, owner_of, require_there
from biodyn.study.running.program import program_version
from biodyn.study.running.run import OnOutcome, run_local, run_on_cluster
from biodyn.study.running.task import Limits, Task


def with_choices(
    definition: StudyDefinition, preset: str | None, entries: Sequence[str] = (), reports: Reports | None = None
) -> StudyDefinition:
    """Return a definition with a preset under its settings, "section.key=value" over them, and other reports of trials.

    Raises SettingsError for a choice that is not valid, now and not in each trial.
    """
    if reports is not None:
        output = definition.output.model_copy(update={"reports": reports})
        definition = definition.model_copy(update={"output": output})
    if preset is None and not entries:
        return definition
    named = {} if preset is None else {"preset": preset}
    settings_from(named, entries=entries)
    return definition.model_copy(update={"settings": joined(definition.settings, named, *stated(entries))})


def with_entries(plan: StudyPlan, entries: Sequence[str]) -> StudyPlan:
    """Return a plan whose trials have the entries over what study.toml says of single subjects and files."""
    if not entries:
        return plan
    over = stated(entries)
    trials = tuple(replace(trial, settings=joined(trial.settings, *over)) for trial in plan.trials)
    return replace(plan, trials=trials)


# -- Output folder --------------------------------------------------------------------------------------------------


# Files beside the folders; each is written as .NAME.part and then renamed.
_WRITTEN = (
    STUDY_RECORD_NAME, "study.parquet", "study.csv", "summary.csv", "study_wide.csv", "study.xlsx", "report.html"
)  # fmt: skip


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
    if owner and owner != seen_from(folder, root):
        raise StudyError(
            f"'{folder}' holds the study of another folder, '{owner}' as seen from there.", "Choose another --out."
        )


def remove_obsolete(folder: Path, trials: Sequence[PlannedTrial]) -> None:
    """Remove results of trials that are no longer in the plan, so that no folder tells of what no table counts.

    And what killed runs left half done; the lock says that nobody is writing. Of all that, only what biodyn wrote:
    files that somebody put beside it stay, and links are not followed.
    """
    _remove_unfinished_everywhere(folder)
    planned = {folder / trial.folder for trial in trials}
    for record in sorted(folder.glob(f"trials/*/*/{TRIAL_RECORD_NAME}")):
        place = record.parent
        if place not in planned and not any(p.is_symlink() for p in (place, place.parent, place.parent.parent)):
            remove_written(place, trial_files(place))
    for subject in sorted(folder.glob("trials/*")):
        if subject.is_dir() and not subject.is_symlink() and not any(subject.iterdir()):
            subject.rmdir()


def _remove_unfinished_everywhere(folder: Path) -> None:
    remove_all_unfinished(folder, _WRITTEN)
    for place in (folder / "group", folder / "subjects", *sorted(folder.glob("trials/*"))):
        if place.is_dir() and not place.is_symlink():
            remove_all_unfinished(place)


@contextmanager
def tidy_when_stopped(folder: Path) -> Iterator[None]:
    """Remove what was being written when a study ends early; its trial processes are dead by then."""
    try:
        yield
    except BaseException:
        if folder.is_dir():  # its disk may be gone
            _remove_unfinished_everywhere(folder)
        raise


# -- The study ------------------------------------------------------------------------------------------------------


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
    kind: StudyKind = STUDY

    @classmethod
    def open(
        cls,
        source: str | Path,
        preset: str | None = None,
        entries: Sequence[str] = (),
        reports: Reports | None = None,
    ) -> Study:
        """Return the study of a folder, or of a study.toml (in the folder it names, else beside it).

        A study.toml in the folder is followed. `preset`: settings under all others, in place of the one that study.toml names.
        `entries`: "section.key=value" over all settings. `reports`: trials that get a page of their own, in place of
        study.toml's `[output] reports`.

        Raises StudyError where there is no such folder, SettingsError for a bad study.toml.
        """
        path = Path(source)
        if path.suffix.lower() == ".toml":
            definition = with_choices(read_definition(path), preset, entries, reports)
            study = cls(definition, with_entries(discover(definition.folder(path), definition), entries))
            study._require_possible()
            return study
        if not path.is_dir():
            raise StudyError(f"'{path}' is no folder.", "Give a folder of recordings, or a study.toml.")
        if (path / DEFINITION_NAME).is_file():
            return cls.open(path / DEFINITION_NAME, preset, entries, reports)
        definition = with_choices(StudyDefinition(), preset, entries, reports)
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
        force: bool = False,
        on_outcome: OnOutcome = _silent,
        say: Say = _silent,
        paper: PaperHead | None = None,
    ) -> StudyResult:
        """Do everything: analyse what is new or changed, collect, compare, report. Returns the results.

        Parameters:
            out: output folder; a run that was stopped resumes where it stopped.
            workers: processes of this machine (None: study.toml's, else one per core).
            scheduler: address of a Dask cluster whose workers see the same files, instead of local processes.
            retry_failed: analyse trials again that failed before with the same inputs. force: all of them, whatever is there.
            on_outcome: called as each trial ends. say: called with the name of each step.
            paper: write report.pdf too, with this head.

        Raises StudyError where nothing can be run (no trials, folder taken by another study or run).
        """
        folder = Path(out).resolve()
        if not self.plan.trials:
            raise no_walk(self.plan)
        self._require_possible()
        # On a cluster others may still be writing when this process is stopped: the next run tidies up.
        alone = tidy_when_stopped(folder) if scheduler is None else nullcontext()
        with self._owned(folder) as keep_open, alone:
            try:
                remove_obsolete(folder, () if force else self.plan.trials)
                self._analyse(folder, workers, scheduler, retry_failed, on_outcome, keep_open, say)
                require_there(folder)
                self.summarise(folder, say, paper)
            except OSError as error:
                where = f": '{error.filename}'" if error.filename else ""
                raise StudyError(
                    f"The results cannot be written: {error.strerror}{where}.", "Make room, and run the study again."
                ) from error
        return StudyResult(folder)

    def summarise(self, out: str | Path, say: Say = _silent, paper: PaperHead | None = None) -> None:
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
        record = study_record(self.definition, self.plan, folder, collected.files, findings, self.kind)
        write_whole(folder / STUDY_RECORD_NAME, record)
        say("writing the report")
        write_study_report(folder, paper)

    # -- inside -------------------------------------------------------------------------------------------------

    def _require_possible(self) -> None:
        """Raise SettingsError for an entry of study.toml that no result can satisfy."""
        from biodyn.study.group.analyse import require_possible

        require_possible(self.plan, self.definition.analysis)

    def _owned(self, folder: Path) -> Any:
        """The lock of the output folder, once it is sure that the folder is this study's."""
        require_free(folder, self.plan.root)
        require_possible(max((folder / trial.folder for trial in self.plan.trials), key=lambda place: len(str(place))))
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StudyError(f"'{folder}' cannot be written: {error.strerror}.", "Choose another --out.") from error
        return only_run(folder, seen_from(folder, self.plan.root))

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
        running = self.definition.running
        limits = Limits(running.time_limit_s, running.memory_limit_mb)
        root = self.plan.root.resolve()
        program, reports = program_version(), self.definition.output.reports
        tasks = [Task(trial, root, folder, program, limits, retry_failed, reports) for trial in self.plan.trials]
        if scheduler is not None:
            run_on_cluster(tasks, scheduler, limits, on_outcome, say)
        else:
            run_local(tasks, workers or running.workers, limits, on_outcome, keep_open, say)


def run_study(
    source: str | Path,
    out: str | Path | None = None,
    workers: int | None = None,
    scheduler: str | None = None,
    *,
    retry_failed: bool = False,
    on_outcome: OnOutcome = _silent,
    progress: Say | None = None,
    pdf: bool = False,
    head: str | Path | None = None,
) -> StudyResult:
    """Run the study of a folder or a study.toml, as `biodyn study` does; `out` is by default reports/<its name>.

    `progress`: called with the name of each step as it begins, as of `run_trial`, and with a line of how many trials are done;
    `progress=print` shows them. `pdf`: write report.pdf too, `head` a TOML file with the laboratory's lines (docs/results.md).
    See `Study.run` for the other parameters and what is raised.
    """
    paper, study = asked_paper(pdf, head), Study.open(source)
    target = study.default_folder if out is None else out
    ended, say = told(progress, len(study.plan.trials), on_outcome)
    return study.run(target, workers, scheduler, retry_failed=retry_failed, on_outcome=ended, say=say, paper=paper)


def rerender_study_report(
    folder: str | Path,
    progress: Callable[[str], None] | None = None,
    *,
    pdf: bool = False,
    head: str | Path | None = None,
) -> Path:
    """Write the pages of a study's or session's folder again; returns the path of report.html.

    `pdf`: write report.pdf too, `head` a TOML file with the laboratory's lines. The pages of its trials stay as they are.
    Raises ResultError where the folder holds no finished study, StudyError while a run works in it.
    """
    from biodyn.study.report import write_study_report

    out, paper = Path(folder), asked_paper(pdf, head)
    if progress is not None:
        progress("writing the report")
    with only_run(out, owner_of(out) or ""):
        return write_study_report(out, paper)
