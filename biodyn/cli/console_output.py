"""Console of the commands: progress line, summary of a result, findings."""

from __future__ import annotations

import io
import os
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

from biodyn.diagnostics import STATUS_WORDS, Diagnostic, Status

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from biodyn.trial.result import TrialResult

SEVERITY_STYLE = {"error": "red", "warning": "yellow", "info": "dim"}  # in the order of printing
STATUS_STYLE = {"pass": "green", "warn": "yellow", "fail": "red", "not_assessed": "dim"}
#: A line of the summary, with the status that gives its colour.
Line = tuple[str, Status | None]
_WIDTH = 100  # characters of a line of the summary


# -- Console ------------------------------------------------------------------------------------------------------------


def escape_unprintable() -> None:
    """Print characters that the terminal's encoding lacks as escape sequences; otherwise such a marker name raises an
    error."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


@contextmanager
def show_progress(console: Console, heading: str = "") -> Iterator[Callable[[str], None]]:
    """Yield a function that shows the name of the current step, after the heading."""
    with console.status("starting") as status:
        yield lambda name: status.update(status_text(f"{heading}{': ' if heading else ''}{name} ..."))


def open_console(on_error: bool = False) -> Console:
    """Return the console of the commands: standard output, or standard error.

    Texts contain names from recordings. Therefore control characters and marks of writing direction are printed as escape
    sequences, and square brackets are not markup.
    """
    from rich.console import Console

    from biodyn.errors import printable_text

    class PlainConsole(Console):
        def render_str(self, text: str, **options: Any) -> Text:
            return super().render_str(printable_text(text, keep="\n\t"), **options)

        def on_broken_pipe(self) -> None:
            _exit_on_closed_pipe(sys.stderr if on_error else sys.stdout)

    return PlainConsole(stderr=on_error, markup=False, emoji=False, highlight=False)


def print_lines(console: Console, *lines: str, style: str | None = None) -> None:
    """Print lines as they are; the terminal wraps them."""
    for line in lines:
        console.print(line, style=style, highlight=False, markup=False, soft_wrap=True)


def print_data(text: str) -> None:
    """Print text for another program on standard output."""
    try:
        print(text, end="", flush=True)
    except BrokenPipeError:
        _exit_on_closed_pipe(sys.stdout)


def _exit_on_closed_pipe(stream: TextIO) -> NoReturn:
    """Exit with the exit code of SIGPIPE, after the program that reads the output has ended (as in '| head')."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    raise SystemExit(141)


def status_text(text: str) -> Text:
    """Return a text for the progress line, in which square brackets are not markup."""
    from rich.text import Text

    from biodyn.errors import printable_text

    return Text(printable_text(text))


def open_in_browser(page: Path, console: Console) -> None:
    """Open a page in the browser; if this is not possible, print the reason."""
    import webbrowser

    if not page.is_file():
        print_lines(
            console, "There is no report to open: [output] report is off, or this kind of result has no report."
        )
    elif not webbrowser.open(page.resolve().as_uri()):
        print_lines(console, f"No browser was found; the report is {page}.")


# -- Result of a walk ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RunOptions:
    """Options of `biodyn run`.

    Attributes:
        quiet: print only the verdict and the folder. verbose: print every check, finding and decision.
        as_json: print run.json on standard output. open_page: open the report in the browser.
        heading: number and name of the walk if there are several; each is then printed in one line.
        inputs: arguments of `trial.request.trial_request` as given; `static_frames` as text.
        factors: factors of --vary; None without it. force: replace a result folder. pdf, head: see `TrialResult.save`.
    """

    quiet: bool = False
    verbose: bool = False
    as_json: bool = False
    open_page: bool = False
    heading: str = ""
    inputs: Mapping[str, Any] = field(default_factory=dict)
    factors: Sequence[str] | None = None
    force: bool = False
    pdf: bool = False
    head: Path | None = None
    timings: bool = False


def print_result(
    console: Console, lines: Sequence[Line], findings: Sequence[Diagnostic], folder: Path, options: RunOptions
) -> None:
    """Print the lines and findings of an analysis and its folder; write JSON and open the report on request."""
    max_lines = 15  # of the summary of a walk without warnings
    if options.heading:
        print_lines(console, f"{options.heading}: {lines[0][0]} Result: {folder}", style=_status_style(lines[0][1]))
        if options.open_page:
            open_in_browser(folder / "report.html", console)
        return
    for line, status in lines[:1] if options.quiet else lines:
        print_lines(console, line, style=_status_style(status))
    if options.verbose and not options.quiet:
        print_diagnostics(console, findings)
    elif not options.quiet:
        _print_merged_findings(console, findings, room=max_lines - len(lines) - 1)
    pages = [name for name in ("report.html", "report.pdf") if (folder / name).is_file() and not options.quiet]
    print_lines(console, f"Result: {folder}" + (f" (begin with {', '.join(pages)})" if pages else ""))
    if options.as_json:
        print_data((folder / "run.json").read_text(encoding="utf-8"))
    if options.open_page:
        open_in_browser(folder / "report.html", console)


def _status_style(status: str | None) -> str | None:
    return STATUS_STYLE.get(status) if status else None


def print_diagnostics(console: Console, diagnostics: Iterable[Diagnostic]) -> None:
    """Print every finding with its hint, errors first."""
    order = list(SEVERITY_STYLE)
    for finding in sorted(diagnostics, key=lambda d: order.index(d.severity)):
        hint = f" {finding.hint}" if finding.hint else ""
        print_lines(console, f"{finding.severity}: {finding.message}{hint}", style=SEVERITY_STYLE[finding.severity])


def _print_merged_findings(console: Console, findings: Iterable[Diagnostic], room: int) -> None:
    """Print one entry per code of finding, with its count: warnings and errors in full, others in `room` lines."""
    groups: dict[tuple[str, str], list[Diagnostic]] = {}
    for finding in findings:
        groups.setdefault((finding.severity, finding.code), []).append(finding)
    for severity, style in SEVERITY_STYLE.items():
        merged = [group for (level, _), group in groups.items() if level == severity]
        fits = severity != "info" or len(merged) <= max(room, 1)
        shown = merged if fits else merged[: max(room, 1) - 1]
        for group in shown:
            count = f" (and {len(group) - 1} similar)" if len(group) > 1 else ""
            text = f"{severity}: {group[0].message}"
            if severity == "info":
                print_lines(console, _shorten_line(text, count), style=style)
            else:
                hint = f" {group[0].hint}" if group[0].hint else ""
                print_lines(console, *wrap_text(f"{text}{hint}{count}"), style=style)
        if not fits:
            print_lines(console, f"info: {sum(map(len, merged[len(shown) :]))} more notes: --verbose.", style=style)


def _shorten_line(text: str, ending: str = "") -> str:
    return textwrap.shorten(text, _WIDTH - len(ending), placeholder=" ...") + ending


def wrap_text(text: str) -> list[str]:
    """Return a text as lines of at most 100 characters, indented from the second line on."""
    return textwrap.wrap(text, _WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def summary_lines(result: TrialResult) -> list[Line]:
    """Return the summary of a walk: verdict and its causes, walking speed, peaks, and what the analysis is based on."""
    max_causes = 3  # causes of a verdict that are printed in full
    from biodyn.conventions import SIDE_NAMES
    from biodyn.output.report.formatted_parameters import peak_lines

    verdict = result.verdict
    lines: list[Line] = [(f"{verdict.sentence}.", verdict.status)]
    causes = verdict.ordered_causes
    for cause in causes[:max_causes]:
        text = f"{STATUS_WORDS[cause.status]}: {cause.title}: {cause.text}{f' {cause.hint}' if cause.hint else ''}"
        lines += [(line, cause.status) for line in wrap_text(text)]
    if len(causes) > max_causes:
        lines.append((f"{len(causes) - max_causes} more causes: --verbose.", None))
    analysis = result.analysis
    if analysis.imported is not None:  # describes itself in few lines
        return [*lines, *(line for line in result.status_lines()[1:] if line[1] is None)]
    subject = analysis.subject
    sources = "; ".join(dict.fromkeys((subject.mass_source, subject.height_source)))
    feet = dict.fromkeys(f"{c.plate} {SIDE_NAMES[c.side] if c.side else 'no'} foot" for c in analysis.contacts)
    numbers = [*_stride_line(result), *peak_lines(result.view)]
    basis = [
        f"Activity: {analysis.activity.kind}. Method: {result.record['smoothing']}.",
        f"Subject: {subject.mass_kg:.1f} kg, {subject.height_m:.2f} m ({sources})",
        f"Model: {len(analysis.model.markers)} markers of {analysis.mapping.title}",
        analysis.static.sentence,
        *([f"Force plates: {', '.join(feet)}"] if feet else []),
    ]
    return [*lines, *((text, None) for text in (*numbers, *map(_shorten_line, basis)))]


def _stride_line(result: TrialResult) -> list[str]:
    """Walking speed and cadence, means of all strides; empty without strides."""
    strides = result.tables.get("spatiotemporal")
    if strides is None or not len(strides):
        return []
    means = strides[["speed_m_s", "cadence_steps_min"]].mean()
    if means.isna().any():
        return []
    return [
        f"Walking speed {means['speed_m_s']:.2f} m/s, cadence {means['cadence_steps_min']:.0f} steps/min "
        f"({len(strides)} strides)"
    ]
