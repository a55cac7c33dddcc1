"""`biodyn session`: the walks of one person and day."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from biodyn.cli.endings import plain_errors
from biodyn.cli.options import Entries, Head, Mass, Pdf, Preset, Workers, model_entry
from biodyn.cli.screen import open_console
from biodyn.cli.study import end_as, run_shown


def session(
    walks: Annotated[
        list[Path],
        typer.Argument(
            help="The walks of one person and day, or the folder that holds them.", metavar="WALK.c3d... | FOLDER"
        ),
    ],
    out: Annotated[Path | None, typer.Option(help="Output folder; by default reports/<person>.", metavar="DIR")] = None,
    static: Annotated[
        Path | None,
        typer.Option(help="The static trial of all walks, by default found among them.", metavar="STATIC.c3d"),
    ] = None,
    mass: Mass = None,
    model: Annotated[
        Path | None,
        typer.Option(
            help="OpenSim model that follows the markers of every walk; scaled once, for all, by --static and --mass, and else "
            "taken as it is.",
            metavar="MODEL.osim",
        ),
    ] = None,
    workers: Workers = None,
    preset: Preset = None,
    entries: Entries = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Analyse walks again that failed before.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Analyse all walks again; by default what is done and unchanged stays.")
    ] = False,
    pdf: Pdf = False,
    head: Head = None,
) -> None:
    """Analyse several walks of one person and day: one subject model, all cycles, means and repeatability, one report."""
    console = open_console()
    with plain_errors():
        from biodyn.output.report.paper import asked_paper
        from biodyn.study import open_session

        chosen = [*(entries or ()), *([] if model is None else [model_entry(model)])]
        found = open_session(walks, preset, chosen, static, mass)
        folder = out if out is not None else found.default_folder
        paper = asked_paper(pdf, head)
        progress = run_shown(console, found, folder, workers, None, retry_failed, paper, force)
        console.print(f"Session: {folder} (begin with report.html)", highlight=False, soft_wrap=True)
    end_as(progress)
