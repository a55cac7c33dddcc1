"""The command `biodyn` with its subcommands, each in a file of its own."""

from __future__ import annotations

from typing import Annotated

import typer

from biodyn.cli.check import check
from biodyn.cli.compare import compare
from biodyn.cli.demo import demo
from biodyn.cli.export import export
from biodyn.cli.models import models
from biodyn.cli.norms import norms
from biodyn.cli.replay import replay
from biodyn.cli.report import report
from biodyn.cli.run import run
from biodyn.cli.session import session
from biodyn.cli.study import study
from biodyn.cli.unpack import unpack
from biodyn.version import VERSION

app = typer.Typer(
    name="biodyn",
    help="From a gait laboratory's raw C3D files to joint torques one can trust.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
)


def _show_version(asked: bool) -> None:
    if asked:
        print(f"biodyn {VERSION}")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool, typer.Option("--version", "-V", help="Print the version.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """From a gait laboratory's raw C3D files to joint torques one can trust."""


for _command in (run, session, study, check, compare, replay, report, export, unpack, models, demo):
    app.command()(_command)
app.add_typer(norms, name="norms")
