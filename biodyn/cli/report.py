"""`biodyn report`: figures and report again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from biodyn.cli.endings import plain_errors
from biodyn.cli.screen import open_console, progress


def report(
    result: Annotated[Path, typer.Argument(help="A result folder of 'biodyn run'.", metavar="RESULT_DIR")],
) -> None:
    """Make figures and report of a result again, from the recorded inputs and settings."""
    console = open_console()
    notes: list[str] = []
    with plain_errors(), progress(console) as step:
        from biodyn.trial.run import remake_report

        remake_report(result, progress=step, say=notes.append)
    for note in notes:
        console.print(note, highlight=False, markup=False, soft_wrap=True)
    console.print(f"Report: {result / 'report.html'}", highlight=False, soft_wrap=True)
