"""The command line. It only calls the Python API; imports are lazy, so that help answers at once."""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from biodyn.errors import BiodynError, system_refusal

if TYPE_CHECKING:
    from rich.console import Console

    from biodyn.diagnostics import Diagnostic
    from biodyn.study import Study
    from biodyn.study.progress import Progress
    from biodyn.study.running.task import Outcome
    from biodyn.trial.result import TrialResult

app = typer.Typer(
    name="biodyn",
    help="From a gait laboratory's raw C3D files to joint torques one can trust.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

_FINE, _CHECKS_FAILED, _BAD_INPUT, _SOME_FAILED = 0, 1, 2, 3
_INTERRUPTED = 130  # as shells say of Ctrl-C; other signals end with 128 and their number too
_PROGRAM_ERROR = 70  # EX_SOFTWARE of sysexits.h: outside the meanings above
_TRACEBACK_SWITCH = "BIODYN_TRACEBACK"
_TELL_EVERY_S = 10.0  # of a study, where there is no terminal for a live line
_SEVERITY_STYLE = {"info": "dim", "warning": "yellow", "error": "red"}


def _show_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        print(f"biodyn {version('biodyn')}")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """From a gait laboratory's raw C3D files to joint torques one can trust."""


@app.command()
def run(
    walk: Annotated[
        Path, typer.Argument(help="The walk: a C3D file with markers and force plates.", metavar="WALK.c3d")
    ],
    static: Annotated[
        Path | None,
        typer.Option(help="The static trial; by default it is looked for beside the walk.", metavar="STATIC.c3d"),
    ] = None,
    mass: Annotated[float | None, typer.Option(help="Body mass, kg.", metavar="KG")] = None,
    height: Annotated[float | None, typer.Option(help="Body height, m.", metavar="M")] = None,
    settings: Annotated[Path | None, typer.Option(help="Settings over the defaults.", metavar="FILE.toml")] = None,
    out: Annotated[
        Path | None, typer.Option(help="Result folder; by default reports/<name of the walk>.", metavar="DIR")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing result folder.")] = False,
    vary: Annotated[
        str | None,
        typer.Option(
            help="Analyse again with other choices and show what they change: hip_centre, anthropometry, cutoff, "
            "marker_weights; several with commas.",
            metavar="FACTORS",
        ),
    ] = None,
) -> None:
    """Analyse one walk: joint torques, moments, angles, powers, tables, figures and a report."""
    from biodyn.output.store.replacing import default_folder, require_free

    console = _console()
    with _plain_errors():
        folder = out if out is not None else default_folder(walk)
        require_free(folder, force)  # before any work is done
        with _progress(console) as step:
            result = _analysed(walk, static, mass, height, settings, vary, step)
            result.save(folder, force=force, progress=step)
        for line in result.summary():
            console.print(line, highlight=False, markup=False, soft_wrap=True)
        _print_diagnostics(console, tuple(result.verdict.besides(result.diagnostics)))
        console.print(f"Result: {folder}", highlight=False, soft_wrap=True)
    if result.failed:
        raise typer.Exit(_CHECKS_FAILED)


def _analysed(
    walk: Path,
    static: Path | None,
    mass: float | None,
    height: float | None,
    settings: Path | None,
    vary: str | None,
    step: Callable[[str], None],
) -> TrialResult:
    if vary is None:
        from biodyn.trial.run import run_trial

        return run_trial(walk, static, mass_kg=mass, height_m=height, settings=settings, progress=step)
    from biodyn.trial.sensitivity import vary_trial

    factors = [name.strip() for name in vary.split(",") if name.strip()]
    return vary_trial(walk, factors, static, mass_kg=mass, height_m=height, settings=settings, progress=step)


@app.command()
def check(
    file: Annotated[Path, typer.Argument(help="A C3D file.", metavar="FILE.c3d")],
    settings: Annotated[
        Path | None, typer.Option(help="Settings it would be analysed with; checked too.", metavar="FILE.toml")
    ] = None,
    marker_set: Annotated[
        str | None, typer.Option(help="Try this marker set: a name, or a TOML file.", metavar="NAME|FILE.toml")
    ] = None,
    write_marker_set: Annotated[
        Path | None,
        typer.Option(
            help="Write a marker set file for the labels of FILE to start from, and stop.", metavar="FILE.toml"
        ),
    ] = None,
) -> None:
    """Say what is in a C3D file, which marker set, which plates, and what looks wrong."""
    console = _console()
    with _plain_errors():
        from biodyn.errors import SettingsError
        from biodyn.trial.inspect import check_file, start_marker_set

        if write_marker_set is not None:
            if settings is not None or marker_set is not None:
                raise SettingsError(
                    "--write-marker-set only writes a file: it cannot go with --settings or --marker-set.",
                    "Write the file first, then try it.",
                )
            console.print(f"Written: {start_marker_set(file, write_marker_set)}", highlight=False, soft_wrap=True)
            return
        findings = check_file(file, settings, marker_set)
        for line in findings.lines:
            console.print(line, highlight=False, markup=False, soft_wrap=True)
        _print_diagnostics(console, findings.diagnostics)
    if any(finding.severity == "error" for finding in findings.diagnostics):
        raise typer.Exit(_CHECKS_FAILED)


@app.command()
def replay(
    result: Annotated[Path, typer.Argument(help="A result folder of 'biodyn run'.", metavar="RESULT_DIR")],
    method: Annotated[
        str | None, typer.Option(help="Integrator: euler, rk4 or solve_ivp; by default that of the settings.")
    ] = None,
) -> None:
    """Forward dynamics with the computed torques: does the model reproduce the recorded motion?"""
    console = _console()
    with _plain_errors():
        with _progress(console) as step:
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


@app.command()
def report(
    result: Annotated[Path, typer.Argument(help="A result folder of 'biodyn run'.", metavar="RESULT_DIR")],
) -> None:
    """Make figures and report of a result again, from the recorded inputs and settings."""
    console = _console()
    notes: list[str] = []
    with _plain_errors(), _progress(console) as step:
        from biodyn.trial.run import remake_report

        remake_report(result, progress=step, say=notes.append)
    for note in notes:
        console.print(note, highlight=False, markup=False, soft_wrap=True)
    console.print(f"Report: {result / 'report.html'}", highlight=False, soft_wrap=True)


@app.command()
def study(
    source: Annotated[
        Path, typer.Argument(help="A folder of C3D files, or a study.toml.", metavar="FOLDER|STUDY.toml")
    ],
    out: Annotated[
        Path | None, typer.Option(help="Output folder; by default reports/<name of the study>.", metavar="DIR")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(help="Processes on this machine; by default one per core.", min=1, metavar="N")
    ] = None,
    scheduler: Annotated[
        str | None, typer.Option(help="Run on the Dask cluster at this address instead.", metavar="ADDRESS")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the role of each file, and stop.")] = False,
    init: Annotated[bool, typer.Option("--init", help="Write FOLDER/study.toml to start from, and stop.")] = False,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Analyse trials again that failed before.")
    ] = False,
) -> None:
    """Analyse a whole folder of recordings: one data set, group results, a report. Resumes where it stopped."""
    console = _console()
    with _plain_errors():
        from biodyn.study import Study
        from biodyn.study.discovery import plan_lines, write_definition

        found = Study.open(source)
        if dry_run or init:
            for line in plan_lines(found.plan):
                console.print(line, highlight=False, markup=False, soft_wrap=True)
            if init:
                console.print(f"Written: {write_definition(found.plan)}", highlight=False, soft_wrap=True)
            return
        folder = out if out is not None else found.default_folder
        try:
            progress = _run_study(console, found, folder, workers, scheduler, retry_failed)
        except (KeyboardInterrupt, SystemExit):
            console.print("Stopped. The same command resumes where it stopped.", highlight=False)
            raise
        console.print(f"{progress.line()}.", highlight=False)
        console.print(f"Study: {folder} (begin with report.html)", highlight=False, soft_wrap=True)
    if progress.failed:
        raise typer.Exit(_SOME_FAILED)
    if progress.checks_failed:
        raise typer.Exit(_CHECKS_FAILED)


def _run_study(
    console: Console, found: Study, folder: Path, workers: int | None, scheduler: str | None, retry_failed: bool
) -> Progress:
    """Run with a live line on a terminal, and a line now and then elsewhere; failures are told as they come."""
    from biodyn.study.progress import Progress

    progress = Progress(len(found.plan.trials))
    step, told = "", time.monotonic()
    with console.status("starting") as status:

        def say(text: str) -> None:
            nonlocal step
            step = text
            status.update(f"{text} ...")
            if not console.is_terminal:
                console.print(text, highlight=False)

        def ended(outcome: Outcome) -> None:
            nonlocal told
            progress.add(outcome)
            if outcome.failed and not outcome.kept:
                text = f"failed: {outcome.subject}/{outcome.trial}: {outcome.reason}"
                console.print(text, style=_SEVERITY_STYLE["error"], highlight=False, markup=False, soft_wrap=True)
            status.update(f"{step}: {progress.line()}")
            if not console.is_terminal and time.monotonic() - told > _TELL_EVERY_S:
                told = time.monotonic()
                console.print(progress.line(), highlight=False)

        found.run(folder, workers, scheduler, retry_failed=retry_failed, on_outcome=ended, say=say)
    return progress


@app.command()
def models(
    landmarks: Annotated[
        bool, typer.Option("--landmarks", help="List the landmarks and segments that a marker set may name.")
    ] = False,
) -> None:
    """List the skeletons, marker sets, anthropometric tables and hip regressions that are available."""
    console = _console()
    with _plain_errors():
        from biodyn.model.from_library.catalogue import catalogue, landmark_catalogue

        if landmarks:
            for heading, rows in landmark_catalogue():
                console.print(heading, style="bold")
                for name, text in rows:
                    console.print(f"  {name:<24} {text}", highlight=False, markup=False, soft_wrap=True)
            return
        for heading, entries in catalogue():
            console.print(heading, style="bold")
            for name, title in entries:
                console.print(f"  {name:<24} {title}", highlight=False)


def main() -> None:
    """Entry point of the `biodyn` command; a fault of the program itself ends with one sentence and exit code 70."""
    _print_what_the_terminal_can()
    _end_in_order()
    try:
        app()
    except Exception as error:  # whatever was not foreseen: the only place that may catch it
        _tell_program_error(error)
        sys.exit(_PROGRAM_ERROR)


def _end_in_order() -> None:
    """Let SIGTERM and a closed terminal end the program as Ctrl-C does, so that what it was writing is removed."""
    import signal
    from types import FrameType

    def stop(number: int, frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_IGN)  # once is enough: the second would interrupt the tidying
        sys.exit(128 + number)

    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)  # Windows has no SIGHUP
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, stop)


def _print_what_the_terminal_can() -> None:
    """A letter that the terminal's encoding lacks is printed as its code: no name of a marker may end the program."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _tell_program_error(error: Exception) -> None:
    """Say that the program failed and what to send; the traceback goes to a file, and to the screen if asked for."""
    import os
    import platform
    import tempfile
    import traceback
    from importlib.metadata import version

    trace = "".join(traceback.format_exception(error))
    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix="biodyn-error-", suffix=".txt", delete=False, encoding="utf-8", errors="backslashreplace"
        ) as stream:
            stream.write(f"biodyn {version('biodyn')}, Python {platform.python_version()}, {platform.platform()}\n")
            stream.write(f"{' '.join(sys.argv)}\n\n{trace}")
        place = stream.name
    except OSError:
        place = f"what {_TRACEBACK_SWITCH}=1 shows"
    if os.environ.get(_TRACEBACK_SWITCH):
        print(trace, file=sys.stderr)
    first = str(error).splitlines()[0] if str(error) else ""
    print(
        f"biodyn: the program failed ({type(error).__name__}{': ' + first if first else ''}): a fault of biodyn, not of your "
        f"data; please report it with {place} (what was called and where it failed, no measured data).",
        file=sys.stderr,
    )


@contextmanager
def _plain_errors() -> Iterator[None]:
    """Turn what cannot be done into one sentence on standard error and exit code 2."""
    try:
        yield
    except BiodynError as error:
        _refuse(error)
    except (OSError, MemoryError) as error:
        refusal = system_refusal(error)
        if refusal is None:
            raise
        _refuse(refusal)
    except EOFError as error:  # to typer the end of standard input, which is never read here
        raise RuntimeError(f"unexpected end of data: {error}") from error
    except KeyboardInterrupt:
        print("biodyn: stopped.", file=sys.stderr)
        raise typer.Exit(_INTERRUPTED) from None


def _refuse(error: BiodynError) -> NoReturn:
    print(f"biodyn: {error.message}{' ' + error.hint if error.hint else ''}", file=sys.stderr)
    raise typer.Exit(_BAD_INPUT) from None


@contextmanager
def _progress(console: Console) -> Iterator[Callable[[str], None]]:
    from biodyn.kernels.watch import watched

    def tell(sentence: str) -> None:
        console.print(sentence, highlight=False, markup=False, soft_wrap=True)

    with console.status("starting") as status, watched(tell):
        yield lambda name: status.update(f"{name} ...")


def _console() -> Console:
    from rich.console import Console

    return Console()


def _print_diagnostics(console: Console, diagnostics: tuple[Diagnostic, ...]) -> None:
    order = {"error": 0, "warning": 1, "info": 2}
    for finding in sorted(diagnostics, key=lambda d: order[d.severity]):
        hint = f" {finding.hint}" if finding.hint else ""
        console.print(
            f"{finding.severity}: {finding.message}{hint}",
            style=_SEVERITY_STYLE[finding.severity],
            highlight=False,
            markup=False,
            soft_wrap=True,
        )


if __name__ == "__main__":
    main()
