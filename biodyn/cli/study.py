"""`biodyn study` and `biodyn session`: many recordings."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from biodyn.cli.console_output import SEVERITY_STYLE, STATUS_STYLE, open_console, print_lines, status_text, wrap_text
from biodyn.cli.exit_codes import CHECKS_FAILED, SOME_FAILED, exit_on_expected_error
from biodyn.cli.options import (
    AffectedSide,
    Age,
    Entries,
    Head,
    Height,
    Mass,
    Pdf,
    Plates,
    Preset,
    Sex,
    Verbose,
    Workers,
    model_setting_entry,
)

if TYPE_CHECKING:
    from rich.console import Console

    from biodyn.study import Study
    from biodyn.study.running.task import Outcome
    from biodyn.study.study import Progress


class PageChoice(StrEnum):
    """Trials that get a separate report."""

    all = "all"
    warn = "warn"
    none = "none"


RetryFailed = Annotated[bool, typer.Option("--retry-failed", help="Analyse trials again that failed before.")]


def analyse_study(
    source: Annotated[
        Path,
        typer.Argument(
            help="A folder of recordings (C3D, TRC, .b3d, exports of Nexus, QTM and Visual3D; other spreadsheets with a "
            "column map), or a study.toml.",
            metavar="FOLDER|STUDY.toml",
        ),
    ],
    out: Annotated[
        Path | None, typer.Option(help="Output folder. Default: reports/<name of the study>.", metavar="DIR")
    ] = None,
    workers: Workers = None,
    scheduler: Annotated[
        str | None, typer.Option(help="Run on the Dask cluster at this address instead.", metavar="ADDRESS")
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(
            help="OpenSim model that follows the markers of every trial. For a model per subject, set model.osim in "
            "study.toml.",
            metavar="MODEL.osim",
        ),
    ] = None,
    plates: Plates = None,
    preset: Preset = None,
    entries: Entries = None,
    reports: Annotated[
        PageChoice | None,
        typer.Option(help="Trials that get a report.html: all, those that warn or fail (warn), none."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the role of each file, and stop.")] = False,
    init: Annotated[bool, typer.Option("--init", help="Write a draft FOLDER/study.toml, and stop.")] = False,
    retry_failed: RetryFailed = False,
    verbose: Verbose = False,
    pdf: Pdf = False,
    head: Head = None,
) -> None:
    """Analyse a folder of recordings: one data set, group results, a report. Resumes after an interruption."""
    console = open_console()
    with exit_on_expected_error(), _explain_early_interruption(console):
        from biodyn.output.report.pdf_report import requested_letterhead
        from biodyn.study import Study
        from biodyn.study.discovery import plan_lines, write_definition

        paper = requested_letterhead(pdf, head)
        overrides = list(entries or ())
        if model is not None:
            overrides.append(model_setting_entry(model))
        opened = Study.open(source, preset, overrides, None if reports is None else reports.value, plates)
    with exit_on_expected_error():
        if dry_run or init:
            print_lines(console, *plan_lines(opened.plan))
            if init:
                print_lines(console, f"Written: {write_definition(opened.plan)}")
            return
        folder = out if out is not None else opened.default_folder
        options = {"workers": workers, "scheduler": scheduler, "retry_failed": retry_failed, "paper": paper}
        progress = _run_study(console, opened, folder, verbose, options)
        print_lines(console, f"Study: {folder} (begin with report.html)")
    _exit_with_status(progress)


def analyse_session(
    walks: Annotated[
        list[Path],
        typer.Argument(
            help="The walks of one person and day, or the folder that holds them.", metavar="WALK.c3d... | FOLDER"
        ),
    ],
    out: Annotated[Path | None, typer.Option(help="Output folder. Default: reports/<person>.", metavar="DIR")] = None,
    static: Annotated[
        Path | None,
        typer.Option(help="The static trial of all walks. Default: searched among them.", metavar="STATIC.c3d"),
    ] = None,
    mass: Mass = None,
    height: Height = None,
    age: Age = None,
    sex: Sex = None,
    side: AffectedSide = None,
    model: Annotated[
        Path | None,
        typer.Option(
            help="OpenSim model that follows the markers of every walk. --static and --mass scale it once for all "
            "walks; without them it is used unchanged.",
            metavar="MODEL.osim",
        ),
    ] = None,
    plates: Plates = None,
    workers: Workers = None,
    preset: Preset = None,
    entries: Entries = None,
    retry_failed: RetryFailed = False,
    force: Annotated[
        bool, typer.Option("--force", help="Analyse all walks again. Default: only new and changed walks.")
    ] = False,
    verbose: Verbose = False,
    pdf: Pdf = False,
    head: Head = None,
) -> None:
    """Analyse the walks of one person and day: one subject model, all cycles, means and repeatability, one report."""
    console = open_console()
    with exit_on_expected_error(), _explain_early_interruption(console):
        from biodyn.output.report.pdf_report import requested_letterhead
        from biodyn.study import open_session

        overrides = [*(entries or ()), *([] if model is None else [model_setting_entry(model)])]
        opened = open_session(
            walks, preset, overrides, static, mass, plates, height_m=height, age_years=age, sex=sex, side=side
        )
        folder = out if out is not None else opened.default_folder
        paper = requested_letterhead(pdf, head)
    with exit_on_expected_error():
        options = {"workers": workers, "retry_failed": retry_failed, "force": force, "paper": paper}
        progress = _run_study(console, opened, folder, verbose, options)
        print_lines(console, f"Session: {folder} (begin with report.html)")
    _exit_with_status(progress)


def _exit_with_status(progress: Progress) -> None:
    """Exit with a non-zero code if a trial failed or its checks failed."""
    if progress.failed:
        raise typer.Exit(SOME_FAILED)
    if progress.checks_failed:
        raise typer.Exit(CHECKS_FAILED)


@contextmanager
def _explain_early_interruption(console: Console) -> Iterator[None]:
    """Print how to resume after an interruption before the first trial, during imports and discovery."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        console.print("Stopped before the first trial. The same command resumes.", highlight=False)
        raise


def _run_study(console: Console, opened: Study, folder: Path, verbose: bool, options: dict[str, Any]) -> Progress:
    """Run a study with a progress line, print failures at once and the outcome at the end; return the counts."""
    from biodyn.study.study import Progress

    progress = Progress(len(opened.plan.trials))
    try:
        with console.status("starting") as status:
            on_outcome, on_step = _study_callbacks(console, status, progress)
            opened.run(folder, on_outcome=on_outcome, say=on_step, **options)
    except (KeyboardInterrupt, SystemExit):
        print_lines(console, f"Stopped: {progress.remaining_text()} The same command resumes where it stopped.")
        raise
    print_lines(console, f"{progress.status_line()}.")
    _print_verdicts(console, folder, verbose)
    return progress


def _study_callbacks(
    console: Console, status: Any, progress: Progress
) -> tuple[Callable[[Outcome], None], Callable[[str], None]]:
    """Return the functions to call with each outcome and with each step of a study.

    Without a terminal, steps are printed, and counts every ten seconds.
    """
    interval_s = 10.0
    step, printed_s = "", time.monotonic()

    def on_step(text: str) -> None:
        nonlocal step
        step = text
        status.update(status_text(f"{text} ..."))
        if not console.is_terminal:
            console.print(text, highlight=False)

    def on_outcome(outcome: Outcome) -> None:
        nonlocal printed_s
        progress.add(outcome)
        if outcome.failed and not outcome.kept:
            text = f"failed: {outcome.subject}/{outcome.trial}: {outcome.reason}"
            print_lines(console, text, style=SEVERITY_STYLE["error"])
        status.update(status_text(f"{step}: {progress.status_line()}"))
        if not console.is_terminal and time.monotonic() - printed_s > interval_s:
            printed_s = time.monotonic()
            console.print(progress.status_line(), highlight=False)

    return on_outcome, on_step


def _print_verdicts(console: Console, folder: Path, verbose: bool) -> None:
    """Print the number of trials by verdict, and the most frequent reasons of failures and warnings."""
    max_reasons = 3  # most frequent reasons that are printed for each status
    from biodyn.study import StudyResult

    record = StudyResult(folder).record
    counts = {status: count for status, count in record["counts"].items() if count}
    print_lines(console, f"Verdicts: {', '.join(f'{count} {name}' for name, count in counts.items())}.")
    for status in ("failed", "fail", "warn"):
        trials: dict[str, list[str]] = {}
        for trial in record["trials"]:
            if trial["status"] == status:
                trials.setdefault(trial["reason"], []).append(f"{trial['subject']}/{trial['trial']}")
        reasons = sorted(trials.items(), key=lambda item: -len(item[1]))
        for reason, names in reasons if verbose else reasons[:max_reasons]:
            which = f"{names[0]}{f' and {len(names) - 1} more' if len(names) > 1 else ''}"
            print_lines(console, *wrap_text(f"{status}: {which}: {reason}"), style=STATUS_STYLE.get(status, "red"))
    warnings = [finding for finding in record["diagnostics"] if finding["severity"] != "info"]
    for finding in record["diagnostics"] if verbose else warnings[:max_reasons]:
        text = f"{finding['severity']}: {finding['message']} {finding['hint']}"
        print_lines(console, *wrap_text(text.strip()), style=SEVERITY_STYLE[finding["severity"]])
