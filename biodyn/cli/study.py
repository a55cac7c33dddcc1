"""`biodyn study`: a whole folder of recordings."""

from __future__ import annotations

import time
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from biodyn.cli.endings import CHECKS_FAILED, SOME_FAILED, plain_errors
from biodyn.cli.options import Entries, Head, Pdf, Preset, Workers, model_entry
from biodyn.cli.screen import SEVERITY_STYLE, as_status, open_console

if TYPE_CHECKING:
    from rich.console import Console

    from biodyn.output.report.paper import PaperHead
    from biodyn.study import Study
    from biodyn.study.progress import Progress
    from biodyn.study.running.task import Outcome


class PageChoice(StrEnum):
    """Trials that get a page of their own."""

    all = "all"
    warn = "warn"
    none = "none"


_TELL_EVERY_S = 10.0  # where there is no terminal for a live line


def study(
    source: Annotated[
        Path,
        typer.Argument(
            help="A folder of recordings (C3D, TRC, .b3d, exports of Nexus, QTM and Visual3D; other spreadsheets with a "
            "column map), or a study.toml.",
            metavar="FOLDER|STUDY.toml",
        ),
    ],
    out: Annotated[
        Path | None, typer.Option(help="Output folder; by default reports/<name of the study>.", metavar="DIR")
    ] = None,
    workers: Workers = None,
    scheduler: Annotated[
        str | None, typer.Option(help="Run on the Dask cluster at this address instead.", metavar="ADDRESS")
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(
            help="OpenSim model that follows the markers of every trial; one a subject stands in study.toml as model.osim.",
            metavar="MODEL.osim",
        ),
    ] = None,
    preset: Preset = None,
    entries: Entries = None,
    reports: Annotated[
        PageChoice | None, typer.Option(help="Trials that get a report.html: all, those with a warning or fault, none.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the role of each file, and stop.")] = False,
    init: Annotated[bool, typer.Option("--init", help="Write FOLDER/study.toml to start from, and stop.")] = False,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Analyse trials again that failed before.")
    ] = False,
    pdf: Pdf = False,
    head: Head = None,
) -> None:
    """Analyse a whole folder of recordings: one data set, group results, a report. Resumes where it stopped."""
    console = open_console()
    with plain_errors():
        from biodyn.output.report.paper import asked_paper
        from biodyn.study import Study
        from biodyn.study.discovery import plan_lines, write_definition

        paper = asked_paper(pdf, head)
        chosen = list(entries or ())
        if model is not None:
            chosen.append(model_entry(model))
        found = Study.open(source, preset, chosen, None if reports is None else reports.value)
        if dry_run or init:
            for line in plan_lines(found.plan):
                console.print(line, highlight=False, markup=False, soft_wrap=True)
            if init:
                console.print(f"Written: {write_definition(found.plan)}", highlight=False, soft_wrap=True)
            return
        folder = out if out is not None else found.default_folder
        progress = run_shown(console, found, folder, workers, scheduler, retry_failed, paper)
        console.print(f"Study: {folder} (begin with report.html)", highlight=False, soft_wrap=True)
    end_as(progress)


def end_as(progress: Progress) -> None:
    """End with the exit code of how the trials ended."""
    if progress.failed:
        raise typer.Exit(SOME_FAILED)
    if progress.checks_failed:
        raise typer.Exit(CHECKS_FAILED)


def run_shown(
    console: Console,
    found: Study,
    folder: Path,
    workers: int | None,
    scheduler: str | None,
    retry_failed: bool,
    paper: PaperHead | None,
    force: bool = False,
) -> Progress:
    """Run, tell how it goes and in a line how it ended; a run that is stopped says that it can be resumed."""
    from biodyn.study.progress import Progress

    progress = Progress(len(found.plan.trials))
    try:
        _run_study(console, found, folder, workers, scheduler, (retry_failed, force, paper), progress)
    except (KeyboardInterrupt, SystemExit):
        console.print(f"Stopped: {progress.remaining()} The same command resumes where it stopped.", highlight=False)
        raise
    console.print(f"{progress.line()}.", highlight=False)
    return progress


def _run_study(
    console: Console,
    found: Study,
    folder: Path,
    workers: int | None,
    scheduler: str | None,
    asked: tuple[bool, bool, PaperHead | None],
    progress: Progress,
) -> None:
    """Run with a live line on a terminal, and a line now and then elsewhere; failures are told as they come."""
    step, told = "", time.monotonic()
    with console.status("starting") as status:

        def say(text: str) -> None:
            nonlocal step
            step = text
            status.update(as_status(f"{text} ..."))
            if not console.is_terminal:
                console.print(text, highlight=False)

        def ended(outcome: Outcome) -> None:
            nonlocal told
            progress.add(outcome)
            if outcome.failed and not outcome.kept:
                text = f"failed: {outcome.subject}/{outcome.trial}: {outcome.reason}"
                console.print(text, style=SEVERITY_STYLE["error"], highlight=False, markup=False, soft_wrap=True)
            status.update(as_status(f"{step}: {progress.line()}"))
            if not console.is_terminal and time.monotonic() - told > _TELL_EVERY_S:
                told = time.monotonic()
                console.print(progress.line(), highlight=False)

        retry_failed, force, paper = asked
        found.run(
            folder, workers, scheduler, retry_failed=retry_failed, force=force, on_outcome=ended, say=say, paper=paper
        )
