"""`biodyn check`: what is in a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from biodyn.cli.endings import CHECKS_FAILED, plain_errors
from biodyn.cli.screen import open_console, open_in_browser, print_diagnostics


def check(
    file: Annotated[
        Path,
        typer.Argument(
            help="A recording (C3D, TRC, .b3d, a spreadsheet), a table (.mot, .sto) or an OpenSim model.",
            metavar="FILE",
        ),
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
    out: Annotated[
        Path | None,
        typer.Option(help="Write a page with the 3-D view of markers and plates: DIR/FILE.check.html.", metavar="DIR"),
    ] = None,
    open_page: Annotated[
        bool, typer.Option("--open", help="Open that page in the browser; without --out it is a temporary file.")
    ] = False,
) -> None:
    """Say what is in a recording, which marker set, which plates, and what looks wrong."""
    console = open_console()
    with plain_errors():
        from biodyn.errors import SettingsError
        from biodyn.trial.inspect import check_file, start_marker_set, write_check_page

        if write_marker_set is not None:
            if settings is not None or marker_set is not None or out is not None or open_page:
                raise SettingsError(
                    "--write-marker-set only writes a file: it cannot go with --settings, --marker-set, --out or --open.",
                    "Write the file first, then try it.",
                )
            console.print(f"Written: {start_marker_set(file, write_marker_set)}", highlight=False, soft_wrap=True)
            return
        page = None
        if out is None and not open_page:
            findings = check_file(file, settings, marker_set, model)
        else:
            findings, page = write_check_page(file, out, settings, marker_set, model)
        for line in findings.lines:
            console.print(line, highlight=False, markup=False, soft_wrap=True)
        print_diagnostics(console, findings.diagnostics)
        if page is not None:
            console.print(f"Page: {page}", highlight=False, markup=False, soft_wrap=True)
        if page is not None and open_page:
            open_in_browser(page, console)
    if any(finding.severity == "error" for finding in findings.diagnostics):
        raise typer.Exit(CHECKS_FAILED)
