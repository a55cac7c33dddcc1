"""Options that several commands have, each with its one description."""

from __future__ import annotations

from typing import Annotated

import typer

Preset = Annotated[
    str | None,
    typer.Option(
        help="The analysis as another program does it: plug_in_gait, visual3d, opensim; settings stand over it.",
        metavar="NAME",
    ),
]
Entries = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        help="One setting over all others, e.g. signals.cutoff_hz=8; may be given several times.",
        metavar="SECTION.KEY=VALUE",
    ),
]
Workers = Annotated[
    int | None, typer.Option(help="Processes on this machine; by default one per core.", min=1, metavar="N")
]
