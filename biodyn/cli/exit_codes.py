"""Entry point of the command `biodyn`: exit codes, error messages, signals, errors of the program itself."""

from __future__ import annotations

import atexit
import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from biodyn.errors import BiodynError, system_refusal

#: Finished with failed checks; wrong usage or unreadable input; some trials of a study failed. Success is 0.
CHECKS_FAILED, BAD_INPUT, SOME_FAILED = 1, 2, 3
INTERRUPTED = 130  # Ctrl-C, as in shells; other signals end with 128 + signal number
PROGRAM_ERROR = 70  # EX_SOFTWARE of sysexits.h
#: Message after a signal that ends the program.
STOPPED = "biodyn: stopped. Unfinished files were removed; completed results are kept."


class StoppedError(SystemExit):
    """Raised when a signal requests that the program ends; `reported`: the message has been printed."""

    reported = False


def main() -> None:
    """Run the command `biodyn`. An unexpected error ends with one sentence and exit code 70."""
    from biodyn.cli.console_output import escape_unprintable
    from biodyn.threads import use_one_thread

    use_one_thread()
    collect_garbage_rarely()
    escape_unprintable()
    exit_on_signals()
    try:
        from biodyn.cli.commands import app

        # also for python -m biodyn.cli, because completion scripts use this name
        app(prog_name=app.info.name)
    except KeyboardInterrupt:  # during imports
        print(STOPPED, file=sys.stderr)
        sys.exit(INTERRUPTED)
    except StoppedError as stop:
        if not stop.reported:  # during imports
            print(STOPPED, file=sys.stderr)
        raise
    except Exception as error:  # the only place that catches every error
        report_program_error(error)
        sys.exit(PROGRAM_ERROR)


def collect_garbage_rarely() -> None:
    """Raise the threshold of the garbage collector and skip the collection at exit.

    Libraries and kernels keep 150,000 objects until exit. With Python's own threshold of 700 they are traversed several
    times during imports, a sixth of the processor time of a run.
    """
    new_objects = 100_000  # some tens of megabytes
    gc.set_threshold(new_objects, 20, 20)
    atexit.register(gc.freeze)  # frozen objects are not traversed


def exit_on_signals() -> None:
    """Let SIGTERM and SIGHUP end the program like Ctrl-C, so that unfinished files are removed."""
    import signal
    from types import FrameType

    def stop_program(number: int, frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_IGN)  # a second signal would interrupt the clean-up
        raise StoppedError(128 + number)

    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)  # Windows has no SIGHUP
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, stop_program)


def report_program_error(error: Exception) -> None:
    """Print that the program failed, and write the traceback to a file (with BIODYN_TRACEBACK=1 also to the screen)."""
    import os
    import platform
    import tempfile
    import traceback

    from biodyn.version import VERSION

    trace = "".join(traceback.format_exception(error))
    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix="biodyn-error-", suffix=".txt", delete=False, encoding="utf-8", errors="backslashreplace"
        ) as stream:
            stream.write(f"biodyn {VERSION}, Python {platform.python_version()}, {platform.platform()}\n")
            stream.write(f"{' '.join(sys.argv)}\n\n{trace}")
        attachment = stream.name
    except OSError:
        attachment = "the output of BIODYN_TRACEBACK=1"
    if os.environ.get("BIODYN_TRACEBACK"):
        print(trace, file=sys.stderr)
    first = str(error).splitlines()[0] if str(error) else ""
    print(
        f"biodyn: the program failed ({type(error).__name__}{': ' + first if first else ''}). This is an error of biodyn, not "
        f"of your data. Please report it with {attachment} (command and traceback, no measured data).",
        file=sys.stderr,
    )


@contextmanager
def exit_on_expected_error() -> Iterator[None]:
    """Print an expected error as one sentence on standard error and exit with code 2."""
    import typer

    try:
        yield
    except BiodynError as error:
        _print_error_and_exit(error)
    except (OSError, MemoryError) as error:
        refusal = system_refusal(error)
        if refusal is None:
            raise
        _print_error_and_exit(refusal)
    except EOFError as error:  # typer would take it for the end of standard input
        raise RuntimeError(f"unexpected end of data: {error}") from error
    except KeyboardInterrupt:
        print(STOPPED, file=sys.stderr)
        raise typer.Exit(INTERRUPTED) from None
    except StoppedError as stop:
        print(STOPPED, file=sys.stderr)
        stop.reported = True
        raise


def _print_error_and_exit(error: BiodynError) -> NoReturn:
    import typer

    print(f"biodyn: {error.message}{' ' + error.hint if error.hint else ''}", file=sys.stderr)
    _discard_unwritten_output()
    raise typer.Exit(BAD_INPUT) from None


def _discard_unwritten_output() -> None:
    """Discard text that could not be written to standard output. Otherwise Python writes it again at exit and changes the
    exit code to 120."""
    try:
        sys.stdout.flush()
    except OSError:
        import os

        devnull = os.open(os.devnull, os.O_WRONLY)
        os.dup2(devnull, sys.stdout.fileno())
        os.close(devnull)
