"""`biodyn demo`: the walk that biodyn carries."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from biodyn.cli.endings import plain_errors
from biodyn.cli.run import run
from biodyn.errors import InputFileError

WALK = "walk01.c3d"


def demo(
    out: Annotated[Path, typer.Option(help="Result folder.", metavar="DIR", show_default=True)] = Path(
        "reports", "demo"
    ),
    force: Annotated[bool, typer.Option("--force", help="Replace an existing result folder.")] = False,
    open_page: Annotated[bool, typer.Option("--open", help="Open the report in the browser.")] = False,
) -> None:
    """Analyse the sample walk that comes with biodyn: nothing of your own is needed."""
    with plain_errors():
        walk = sample_folder() / WALK
    run([walk], out=out, force=force, open_page=open_page)


def sample_folder() -> Path:
    """Return where the sample walk lies: in the installed package, or in the copy of the project that is run.

    Raises InputFileError where there is neither.
    """
    package = Path(__file__).parents[1]
    for folder in (package / "sample", package.parent / "sample_data" / "subject01"):
        if (folder / WALK).is_file():
            return folder
    raise InputFileError("The sample walk is not part of this installation.", "Install biodyn again with pip.")
