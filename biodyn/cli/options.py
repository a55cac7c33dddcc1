"""Options that several commands have, each with its one description."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer


def number(text: str) -> float:
    """Return the number of a word; a decimal comma will do. Raises BadParameter with the word where it is none."""
    try:
        return float(text.replace(",", ".") if text.count(",") == 1 and "." not in text else text)
    except ValueError:
        raise typer.BadParameter(f"'{text}' is no number, as 76.5 is.") from None


Mass = Annotated[float | None, typer.Option("--mass", help="Body mass, kg.", metavar="KG", parser=number)]
Height = Annotated[float | None, typer.Option("--height", help="Body height, m.", metavar="M", parser=number)]
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
        help="One setting over all others, e.g. model.fit=session; may be given several times.",
        metavar="SECTION.KEY=VALUE",
    ),
]
Pdf = Annotated[bool, typer.Option("--pdf", help="Write report.pdf too: a few A4 pages for the file.")]
Head = Annotated[
    Path | None,
    typer.Option(
        "--head",
        help="What the laboratory writes on the pages of the PDF: laboratory, address, signed_by and more lines.",
        metavar="HEAD.toml",
    ),
]
Workers = Annotated[
    int | None, typer.Option(help="Processes on this machine; by default one per core.", min=1, metavar="N")
]


def model_entry(model: Path) -> str:
    """Return the setting that names an OpenSim model, as `--set` writes it."""
    return f"model.osim={json.dumps(str(model.absolute()), ensure_ascii=False)}"
