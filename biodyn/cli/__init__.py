"""The command line: one command a file, over the Python interface.

In: words of a terminal. Out: lines on it, result folders, and an exit code (`endings`). A command reads its arguments, calls
the function of `biodyn.trial` or `biodyn.study` that does the same from Python, and prints what that returns; it computes
nothing. Imports inside commands are lazy, so that help answers at once.

Read `run` first, with `several` (more than one walk in a call); `session`, `study`, `check`, `compare`, `replay`, `report`,
`export`, `unpack` and `models` are built like it; `norms` has two commands of its own; `demo` is `run` on the walk that biodyn
carries.
`options` are those that several commands have, `screen` is how commands print and show progress, `endings` how they end:
exit codes, one sentence for what cannot be done, signals, faults of the program itself. A new command is a function in a
file of its own and a line in the list below, whose order is that of the help.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from biodyn.cli.check import check
from biodyn.cli.compare import compare
from biodyn.cli.demo import demo
from biodyn.cli.endings import PROGRAM_ERROR, collect_seldom, end_in_order, tell_program_error
from biodyn.cli.export import export
from biodyn.cli.models import models
from biodyn.cli.norms import norms
from biodyn.cli.one_walk import ready_beside
from biodyn.cli.replay import replay
from biodyn.cli.report import report
from biodyn.cli.run import run
from biodyn.cli.screen import print_what_the_terminal_can
from biodyn.cli.session import session
from biodyn.cli.study import study
from biodyn.cli.unpack import unpack
from biodyn.threads import use_one_thread
from biodyn.version import VERSION

__all__ = ["app", "main"]

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


def main() -> None:
    """Entry point of the `biodyn` command; a fault of the program itself ends with one sentence and exit code 70."""
    use_one_thread()
    collect_seldom()
    print_what_the_terminal_can()
    end_in_order()
    try:
        with ready_beside(sys.argv[1:]) as other:
            app(
                prog_name=app.info.name, obj=other
            )  # also as python -m biodyn.cli: completion scripts are made for this name
    except Exception as error:  # whatever was not foreseen: the only place that may catch it
        tell_program_error(error)
        sys.exit(PROGRAM_ERROR)
