"""Options shared by several commands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer


def parse_number(text: str) -> float:
    """Parse a number; a decimal comma is accepted. Raises BadParameter with the text if it is not a number."""
    try:
        return float(text.replace(",", ".") if text.count(",") == 1 and "." not in text else text)
    except ValueError:
        raise typer.BadParameter(f"'{text}' is not a number such as 76.5.") from None


Mass = Annotated[float | None, typer.Option("--mass", help="Body mass, kg.", metavar="KG", parser=parse_number)]
Height = Annotated[float | None, typer.Option("--height", help="Body height, m.", metavar="M", parser=parse_number)]
Age = Annotated[
    float | None, typer.Option("--age", help="Age, years; selects the norms.", metavar="YEARS", parser=parse_number)
]
Sex = Annotated[str | None, typer.Option("--sex", help="Sex, for segment masses.", metavar="female|male")]
AffectedSide = Annotated[
    str | None, typer.Option("--side", help="Affected side, for the head of the report.", metavar="right|left|both")
]
AxesChoice = Annotated[
    str | None,
    typer.Option("--axes", help="Axes of curves: clinical (the same on every page) or auto.", metavar="clinical|auto"),
]
Preset = Annotated[
    str | None,
    typer.Option(
        help="Settings of another program: plug_in_gait, visual3d or opensim. Your settings take precedence.",
        metavar="NAME",
    ),
]
Entries = Annotated[
    list[str] | None,
    typer.Option(
        "--set", help="Override one setting, e.g. model.fit=session. May be repeated.", metavar="SECTION.KEY=VALUE"
    ),
]
Plates = Annotated[
    Path | None, typer.Option(help="Calibration of the force plates, written by 'biodyn plates'.", metavar="FILE.toml")
]
Pdf = Annotated[bool, typer.Option("--pdf", help="Also write report.pdf, a few A4 pages for the patient file.")]
Head = Annotated[
    Path | None,
    typer.Option(
        "--head", help="Header of the PDF pages: laboratory, address, signed_by and further lines.", metavar="HEAD.toml"
    ),
]
Workers = Annotated[
    int | None, typer.Option(help="Number of processes on this machine. Default: one per core.", min=1, metavar="N")
]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Print every check, finding and decision.")]
Force = Annotated[bool, typer.Option("--force", help="Replace an existing result folder.")]
OpenPage = Annotated[bool, typer.Option("--open", help="Open the report in the browser.")]
ResultFolder = Annotated[Path, typer.Argument(help="A result folder of 'biodyn run'.", metavar="RESULT_DIR")]


def model_setting_entry(model: Path) -> str:
    """Return the setting of an OpenSim model in the form of `--set`."""
    return f"model.osim={json.dumps(str(model.absolute()), ensure_ascii=False)}"
