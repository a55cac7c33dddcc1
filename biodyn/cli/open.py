"""`biodyn open`: open the local page."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from biodyn.cli.exit_codes import exit_on_expected_error
from biodyn.errors import InputFileError, SettingsError


def open_page(
    folder: Annotated[Path, typer.Argument(help="Folder of the recordings. Default: this folder.")] = Path(),
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in the browser.")] = True,
) -> None:
    """Open a local page to look at, correct, run and review a folder of recordings."""
    with exit_on_expected_error():
        if not folder.is_dir():
            raise InputFileError(f"'{folder}' is not a folder.", "Give the folder of the recordings.")
        if any(find_spec(name) is None for name in ("starlette", "uvicorn", "tomlkit")):
            raise SettingsError(
                "The page requires packages that are not installed.", "Install them with: pip install 'biodyn[app]'"
            )
        from biodyn.app.server import serve

        serve(folder, browser, lambda text: print(text, flush=True))
