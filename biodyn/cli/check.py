"""`biodyn check`: what is in a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from biodyn.cli.endings import CHECKS_FAILED, plain_errors
from biodyn.cli.screen import open_console, print_diagnostics


def check(
    file: Annotated[
        Path, typer.Argument(help="A recording (C3D, TRC), a table (.mot, .sto) or an OpenSim model.", metavar="FILE")
    ],
    settings: Annotated[
        Path | None, typer.Option(help="Settings it would be analysed with; checked too.", metavar="FILE.toml")
    ] = None,
    marker_set: Annotated[
        str | None, typer.Option(help="Try this marker set: a name, or a TOML file.", metavar="NAME|FILE.toml")
    ] = None,
    model: Annotated[
        Path | None, typer.Option(help="OpenSim model that is to follow the markers of FILE.", metavar="MODEL.osim")
    ] = None,
    write_marker_set: Annotated[
        Path | None,
        typer.Option(
            help="Write a marker set file for the labels of FILE to start from, and stop.", metavar="FILE.toml"
        ),
    ] = None,
) -> None:
    """Say what is in a recording, which marker set, which plates, and what looks wrong."""
    console = open_console()
    with plain_errors():
        from biodyn.errors import SettingsError
        from biodyn.trial.inspect import check_file, start_marker_set

        if write_marker_set is not None:
            if settings is not None or marker_set is not None:
                raise SettingsError(
                    "--write-marker-set only writes a file: it cannot go with --settings or --marker-set.",
                    "Write the file first, then try it.",
                )
            console.print(f"Written: {start_marker_set(file, write_marker_set)}", highlight=False, soft_wrap=True)
            return
        findings = check_file(file, settings, marker_set, model)
        for line in findings.lines:
            console.print(line, highlight=False, markup=False, soft_wrap=True)
        print_diagnostics(console, findings.diagnostics)
    if any(finding.severity == "error" for finding in findings.diagnostics):
        raise typer.Exit(CHECKS_FAILED)
