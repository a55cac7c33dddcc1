"""`biodyn replay`: forward dynamics with the computed torques."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from biodyn.cli.endings import plain_errors
from biodyn.cli.screen import open_console, progress


def replay(
    result: Annotated[Path, typer.Argument(help="A result folder of 'biodyn run'.", metavar="RESULT_DIR")],
    method: Annotated[
        str | None, typer.Option(help="Integrator: euler, rk4 or solve_ivp; by default that of the settings.")
    ] = None,
) -> None:
    """Forward dynamics with the computed torques: does the model reproduce the recorded motion?"""
    console = open_console()
    with plain_errors():
        with progress(console) as step:
            from biodyn.trial.replay import changed_files
            from biodyn.trial.replay import replay as replay_result

            notes = changed_files(result)
            replayed = replay_result(result, {} if method is None else {"method": method}, progress=step)
            folder = replayed.save(result, progress=step)
        for line in (*replayed.summary(), *notes):
            console.print(line, highlight=False)
        console.print(
            f"Replay: {folder} ('biodyn report {result}' takes it into the report)", highlight=False, soft_wrap=True
        )
