"""`biodyn report`: figures and report again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from biodyn.cli.endings import plain_errors
from biodyn.cli.options import Head, Pdf
from biodyn.cli.screen import open_console, progress


def report(
    result: Annotated[
        Path,
        typer.Argument(
            help="A result folder of 'biodyn run', 'biodyn session' or 'biodyn study'.", metavar="RESULT_DIR"
        ),
    ],
    pdf: Pdf = False,
    head: Head = None,
) -> None:
    """Make figures and report of a result again, from the recorded inputs and settings."""
    console = open_console()
    notes: list[str] = []
    with plain_errors(), progress(console) as step:
        if (result / "study.json").is_file():
            from biodyn.study.study import remake_study_report

            remake_study_report(result, step, pdf=pdf, head=head)
        else:
            from biodyn.trial.run import remake_report

            remake_report(result, progress=step, say=notes.append, pdf=pdf, head=head)
    for note in notes:
        console.print(note, highlight=False, markup=False, soft_wrap=True)
    for name in ("report.html", "report.pdf") if pdf else ("report.html",):
        console.print(f"Report: {result / name}", highlight=False, markup=False, soft_wrap=True)
