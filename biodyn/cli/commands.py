"""The command `biodyn` with its subcommands."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from biodyn.cli.inspect import check, find_plate_errors, list_models, norms, unpack
from biodyn.cli.open import open_page
from biodyn.cli.results import compare, export, regenerate_report, replay
from biodyn.cli.run import run, run_demo
from biodyn.cli.study import analyse_session, analyse_study
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
def define_program_options(
    version: Annotated[
        bool, typer.Option("--version", "-V", help="Print the version.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """Define the options of the command `biodyn` without a subcommand."""


_NAMES = "run session study check plates compare replay report export unpack models demo open"
_FUNCTIONS: list[Any] = [run, analyse_session, analyse_study, check, find_plate_errors, compare, replay]
_FUNCTIONS += [regenerate_report, export, unpack, list_models, run_demo, open_page]
for _name, _function in zip(_NAMES.split(), _FUNCTIONS, strict=True):
    app.command(_name)(_function)
app.add_typer(norms, name="norms")
