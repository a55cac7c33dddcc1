"""The command `biodyn` with its subcommands."""

from __future__ import annotations

from typing import Annotated

import typer

from biodyn.cli.inspect import check, models, norms, plates, unpack
from biodyn.cli.open import open_page
from biodyn.cli.results import compare, export, replay, report
from biodyn.cli.run import demo, run
from biodyn.cli.study import session, study
from biodyn.version import VERSION

_PURPOSE = "Compute joint torques with uncertainty from raw C3D files of a gait laboratory."
app = typer.Typer(
    name="biodyn",
    help=_PURPOSE,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
)


def _show_version(requested: bool) -> None:
    if requested:
        print(f"biodyn {VERSION}")
        raise typer.Exit


@app.callback(help=_PURPOSE)
def common(
    version: Annotated[
        bool, typer.Option("--version", "-V", help="Print the version.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """Define the options of the command itself."""


for _command in (run, session, study, check, plates, compare, replay, report, export, unpack, models, demo):
    app.command()(_command)
app.command("open")(open_page)
app.add_typer(norms, name="norms")
