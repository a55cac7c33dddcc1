"""How commands print: the terminal, a live line of progress, findings."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from biodyn.diagnostics import Diagnostic

_PIPE_CLOSED = 141  # as shells say of a program that SIGPIPE ended
SEVERITY_STYLE = {"info": "dim", "warning": "yellow", "error": "red"}

STATUS_STYLE = {"pass": "green", "warn": "yellow", "fail": "red", "not_assessed": "dim"}
_PAGES = ("report.html", "report.pdf")


def print_what_the_terminal_can() -> None:
    """A letter that the terminal's encoding lacks is printed as its code: no name of a marker may end the program."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


@contextmanager
def progress(console: Console, heading: str = "") -> Iterator[Callable[[str], None]]:
    """Yield a function that shows the name of a step, behind what is being done."""
    with console.status("starting") as status:
        yield lambda name: status.update(as_status(f"{heading}{': ' if heading else ''}{name} ..."))


def open_console(on_error: bool = False) -> Console:
    """Return where commands print: standard output, or standard error where that is for something else.

    Texts hold names of other people's files: what would steer the terminal or turn the direction of writing is printed as an
    escape, and square brackets are no markup.
    """
    from rich.console import Console

    from biodyn.errors import printable

    class Plain(Console):
        def render_str(self, text: str, **options: Any) -> Text:
            return super().render_str(printable(text, keep="\n\t"), **options)

        def on_broken_pipe(self) -> None:
            _end_unheard(sys.stderr if on_error else sys.stdout)

    return Plain(stderr=on_error, markup=False, emoji=False, highlight=False)


def _end_unheard(stream: TextIO) -> NoReturn:
    """End where whoever read has left ('| head'); exit code 1 would say that checks failed."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    raise SystemExit(_PIPE_CLOSED)


def print_data(text: str) -> None:
    """Print what another program reads, on standard output."""
    try:
        print(text, end="", flush=True)
    except BrokenPipeError:
        _end_unheard(sys.stdout)


def as_status(text: str) -> Text:
    """A text for the live line, as it is: a plain one would be read as markup."""
    from rich.text import Text

    from biodyn.errors import printable

    return Text(printable(text))


@dataclass(frozen=True)
class Shown:
    """How much of a result is told: `quiet` the first line and the folder, `as_json` the record too; `open_page` in a browser.

    `heading`: which of several walks it is, told in one line without its record.
    """

    quiet: bool = False
    as_json: bool = False
    open_page: bool = False
    heading: str = ""


def tell_result(
    console: Console,
    lines: Sequence[tuple[str, str | None]],
    findings: tuple[Diagnostic, ...],
    folder: Path,
    shown: Shown,
) -> None:
    """Print what an analysis says of itself, where its result lies, and what else was asked for.

    `lines`: with the status that colours each, as its first word says it; None: no colour.
    """
    if shown.heading:
        text = f"{shown.heading}: {' '.join(text for text, _ in lines[:1])} Result: {folder}"
        console.print(text, style=_style(lines[0][1]), highlight=False, markup=False, soft_wrap=True)
        if shown.open_page:
            open_in_browser(folder / "report.html", console)
        return
    for line, status in lines[:1] if shown.quiet else lines:
        console.print(line, style=_style(status), highlight=False, markup=False, soft_wrap=True)
    if not shown.quiet:
        print_diagnostics(console, findings)
    console.print(f"Result: {folder}", highlight=False, markup=False, soft_wrap=True)
    for name in () if shown.quiet else _PAGES:
        if (folder / name).is_file():
            console.print(f"Report: {folder / name}", highlight=False, markup=False, soft_wrap=True)
    if shown.as_json:
        print_data((folder / "run.json").read_text(encoding="utf-8"))
    if shown.open_page:
        open_in_browser(folder / "report.html", console)


def _style(status: str | None) -> str | None:
    return STATUS_STYLE.get(status) if status else None


def open_in_browser(page: Path, console: Console) -> None:
    """Open a page, or say why it cannot be."""
    import webbrowser

    if not page.is_file():
        console.print(
            "There is no report to open: [output] report is off, or results of this kind have none.",
            highlight=False,
            markup=False,
        )
    elif not webbrowser.open(page.resolve().as_uri()):
        console.print(f"No browser was found; the report is {page}.", highlight=False, markup=False, soft_wrap=True)


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
