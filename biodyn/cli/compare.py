"""`biodyn compare`: where two analyses differ, and why."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from biodyn.cli.endings import plain_errors
from biodyn.cli.screen import open_console, progress


def compare(
    first: Annotated[Path, typer.Argument(help="A result folder of 'biodyn run'.", metavar="RESULT_DIR")],
    second: Annotated[
        Path,
        typer.Argument(
            help="Another result of the same recording, or a file with what other software computed from it.",
            metavar="RESULT_DIR|FILE",
        ),
    ],
    out: Annotated[
        Path | None, typer.Option(help="Write compare.csv, compare.json and compare.png there.", metavar="DIR")
    ] = None,
) -> None:
    """Say where two analyses of a recording differ, and how much of it comes from which cause."""
    console = open_console()
    with plain_errors():
        with progress(console) as step:
            from biodyn.trial.differences import compare as compare_results

            step("comparing")
            found = compare_results(first, second)
            folder = None if out is None else found.save(out)
        rows = [("difference in", "RMS", "RMS of the first", "causes"), *found.rows()]
        widths = [max(len(row[column]) for row in rows) for column in range(3)]
        for what, rms, size, why in rows:
            line = f"{what:<{widths[0]}}  {rms:>{widths[1]}}  {size:>{widths[2]}}  {why}"
            console.print(line, highlight=False, markup=False, soft_wrap=True)
        for line in found.summary():
            console.print(line, highlight=False, markup=False, soft_wrap=True)
        if folder is not None:
            console.print(f"Comparison: {folder}", highlight=False, soft_wrap=True)
