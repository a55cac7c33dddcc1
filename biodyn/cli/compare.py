"""`biodyn compare`: where two analyses differ, and why; what changed between two sessions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from biodyn.cli.endings import plain_errors
from biodyn.cli.screen import open_console, progress

if TYPE_CHECKING:
    from rich.console import Console


def compare(
    first: Annotated[
        Path,
        typer.Argument(
            help="A result folder of 'biodyn run', or of 'biodyn session': the earlier one.", metavar="RESULT_DIR"
        ),
    ],
    second: Annotated[
        Path,
        typer.Argument(
            help="Another result of the same recording, or a file with what other software computed from it; or a later session.",
            metavar="RESULT_DIR|FILE",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            help="Write compare.csv, compare.json, compare.png and report.html there; of sessions changes.csv and report.html.",
            metavar="DIR",
        ),
    ] = None,
) -> None:
    """Say where two analyses of a recording differ and why, or what changed from one session of a person to a later one."""
    console = open_console()
    with plain_errors():
        if (first / "study.json").is_file() and (second / "study.json").is_file():
            _sessions(first, second, out, console)
            return
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
            console.print(f"Comparison: {folder} (begin with report.html)", highlight=False, soft_wrap=True)


def _sessions(before: Path, after: Path, out: Path | None, console: Console) -> None:
    """Tell what changed between two sessions, against what the walks of both can detect."""
    from biodyn.study.session_change import compare_sessions

    found = compare_sessions(before, after)
    folder = None if out is None else found.save(out)
    for line in found.lines():
        console.print(line, highlight=False, markup=False, soft_wrap=True)
    if folder is not None:
        console.print(f"Change: {folder} (begin with report.html)", highlight=False, markup=False, soft_wrap=True)
