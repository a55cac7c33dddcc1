"""`biodyn models`: what the library offers."""

from __future__ import annotations

from typing import Annotated

import typer

from biodyn.cli.endings import plain_errors
from biodyn.cli.screen import open_console


def models(
    landmarks: Annotated[
        bool, typer.Option("--landmarks", help="List the landmarks and segments that a marker set may name.")
    ] = False,
) -> None:
    """List the skeletons, marker sets, anthropometric tables and hip regressions that are available."""
    console = open_console()
    with plain_errors():
        from biodyn.model.from_library.user_tables import catalogue, landmark_catalogue

        if landmarks:
            for heading, rows in landmark_catalogue():
                console.print(heading, style="bold")
                for name, text in rows:
                    console.print(f"  {name:<24} {text}", highlight=False, markup=False, soft_wrap=True)
            return
        for heading, entries in catalogue():
            console.print(heading, style="bold")
            for name, title in entries:
                console.print(f"  {name:<24} {title}", highlight=False)
