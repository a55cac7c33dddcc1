"""`biodyn export`: a result in the files of other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from biodyn.cli.endings import plain_errors
from biodyn.cli.screen import open_console, progress


def export(
    result: Annotated[Path, typer.Argument(help="A result folder of 'biodyn run'.", metavar="RESULT_DIR")],
    to: Annotated[str, typer.Option(help="Format: opensim, c3d, mat or xlsx.", metavar="FORMAT")],
    out: Annotated[
        Path | None, typer.Option(help="Output folder; by default RESULT_DIR_<format>.", metavar="DIR")
    ] = None,
    convention: Annotated[
        str,
        typer.Option(help="Names, signs, frames and units of: isb, opensim, plug_in_gait or visual3d.", metavar="NAME"),
    ] = "",
    recording: Annotated[
        Path | None,
        typer.Option(help="The walk's C3D, if it was moved since the analysis (--to c3d).", metavar="WALK.c3d"),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an earlier export.")] = False,
) -> None:
    """Write a result for other programs: OpenSim, C3D, MATLAB, spreadsheets."""
    console = open_console()
    with plain_errors():
        with progress(console) as step:
            step("exporting")
            from biodyn.trial.export import export as export_result

            made = export_result(result, to, out, convention=convention, recording=recording, force=force)
        for note in made.notes:
            console.print(f"info: {note}", highlight=False, soft_wrap=True)
        console.print(f"Export: {made.folder} ({', '.join(made.files)})", highlight=False, soft_wrap=True)
