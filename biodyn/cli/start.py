"""Entry point of the command `biodyn`."""

from __future__ import annotations

import sys

from biodyn.cli.endings import (
    INTERRUPTED,
    PROGRAM_ERROR,
    STOPPED,
    collect_seldom,
    end_in_order,
    tell_program_error,
)
from biodyn.cli.screen import print_what_the_terminal_can
from biodyn.threads import use_one_thread


def main() -> None:
    """Entry point of the `biodyn` command; a fault of the program itself ends with one sentence and exit code 70."""
    use_one_thread()
    collect_seldom()
    print_what_the_terminal_can()
    end_in_order()
    try:
        from biodyn.cli.commands import app

        # also as python -m biodyn.cli: completion scripts are made for this name
        app(prog_name=app.info.name)
    except KeyboardInterrupt:  # before a command could hear it
        print(STOPPED, file=sys.stderr)
        sys.exit(INTERRUPTED)
    except Exception as error:  # whatever was not foreseen: the only place that may catch it
        tell_program_error(error)
        sys.exit(PROGRAM_ERROR)
