"""`biodyn unpack`: an archive of trials as a folder of recordings."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from biodyn.cli.endings import plain_errors
from biodyn.cli.screen import open_console, progress


def unpack(
    archive: Annotated[Path, typer.Argument(help="A .b3d archive of AddBiomechanics.", metavar="FILE.b3d")],
    out: Annotated[
        Path | None, typer.Option(help="Output folder; by default FILE beside the archive.", metavar="DIR")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an earlier unpacking.")] = False,
) -> None:
    """Make a folder of recordings of an archive of trials (.b3d of AddBiomechanics)."""
    console = open_console()
    with plain_errors():
        with progress(console) as step:
            step("unpacking")
            from biodyn.trial.unpack import unpack as unpack_archive

            made = unpack_archive(archive, out, force=force)
        for note in made.notes:
            console.print(f"info: {note}", highlight=False, markup=False, soft_wrap=True)
        trials = f"{len(made.trials)} trial{'s' if len(made.trials) != 1 else ''}"
        console.print(f"Unpacked {trials}: {made.folder}", highlight=False, markup=False, soft_wrap=True)
