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


_COMMANDS: dict[str, Any] = {
    "run": run,
    "session": analyse_session,
    "study": analyse_study,
    "check": check,
    "plates": find_plate_errors,
    "compare": compare,
    "replay": replay,
    "report": regenerate_report,
    "export": export,
    "unpack": unpack,
    "models": list_models,
    "demo": run_demo,
    "open": open_page,
}
for _name, _function in _COMMANDS.items():
    app.command(_name)(_function)
app.add_typer(norms, name="norms")
