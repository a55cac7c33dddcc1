"""`biodyn report`: figures and report again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from biodyn.cli.endings import plain_errors
from biodyn.cli.screen import open_console, progress


def report(
    result: Annotated[Path, typer.Argument(help="A result folder of 'biodyn run'.", metavar="RESULT_DIR")],
    pdf: Annotated[bool, typer.Option("--pdf", help="Write report.pdf too: at most four pages for the file.")] = False,
    head: Annotated[
        Path | None,
        typer.Option("--head", help="TOML file with laboratory, address and contact, for the head of the PDF."),
    ] = None,
) -> None:
    """Make figures and report of a result again, from the recorded inputs and settings."""
    console = open_console()
    notes: list[str] = []
    with plain_errors(), progress(console) as step:
        from biodyn.trial.run import remake_report

        remake_report(result, progress=step, say=notes.append, pdf=pdf, head=head)
    for note in notes:
        console.print(note, highlight=False, markup=False, soft_wrap=True)
    for name in ("report.html", "report.pdf") if pdf else ("report.html",):
        console.print(f"Report: {result / name}", highlight=False, markup=False, soft_wrap=True)
