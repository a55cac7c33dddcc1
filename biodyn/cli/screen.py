"""How commands print: the terminal, a live line of progress, findings."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from biodyn.diagnostics import Diagnostic

SEVERITY_STYLE = {"info": "dim", "warning": "yellow", "error": "red"}


def print_what_the_terminal_can() -> None:
    """A letter that the terminal's encoding lacks is printed as its code: no name of a marker may end the program."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


@contextmanager
def progress(console: Console) -> Iterator[Callable[[str], None]]:
    """Yield a function that shows the name of a step; kernels that are compiled meanwhile are told in a sentence."""
    from biodyn.kernels.watch import watched

    def tell(sentence: str) -> None:
        console.print(sentence, highlight=False, markup=False, soft_wrap=True)

    with console.status("starting") as status, watched(tell):
        yield lambda name: status.update(f"{name} ...")


def open_console() -> Console:
    """Return where commands print."""
    from rich.console import Console

    return Console()


def print_diagnostics(console: Console, diagnostics: tuple[Diagnostic, ...]) -> None:
    """Print findings, errors first."""
    order = {"error": 0, "warning": 1, "info": 2}
    for finding in sorted(diagnostics, key=lambda d: order[d.severity]):
        hint = f" {finding.hint}" if finding.hint else ""
        console.print(
            f"{finding.severity}: {finding.message}{hint}",
            style=SEVERITY_STYLE[finding.severity],
            highlight=False,
            markup=False,
            soft_wrap=True,
        )
