"""How commands end: exit codes, one sentence for what cannot be done, signals, faults of the program itself."""

from __future__ import annotations

import atexit
import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from biodyn.errors import BiodynError, system_refusal

#: Finished, some checks failed; bad usage or unreadable input; some trials of a study failed. 0 is fine.
CHECKS_FAILED, BAD_INPUT, SOME_FAILED = 1, 2, 3
INTERRUPTED = 130  # as shells say of Ctrl-C; other signals end with 128 and their number too
PROGRAM_ERROR = 70  # EX_SOFTWARE of sysexits.h: outside the meanings above
_TRACEBACK_SWITCH = "BIODYN_TRACEBACK"
_NEW_OBJECTS = 100_000  # tens of megabytes at most; Python's own limit is 700
#: Said when the program is asked to end before it is done.
STOPPED = "biodyn: stopped. What was being written is removed; results that are complete stay."


class StoppedError(SystemExit):
    """A signal asked the program to end."""


def collect_seldom() -> None:
    """Look for unreachable cycles of objects seldom, and not at all when the program ends.

    Libraries and kernels are 150,000 objects and more that live until then. Python looks through all of them several times while
    they are loaded and again at the end, which took a sixth of the processor time of a run. What no cycle holds is freed at
    once as ever.
    """
    gc.set_threshold(_NEW_OBJECTS, 20, 20)
    atexit.register(gc.freeze)  # frozen objects are not looked through


def end_in_order() -> None:
    """Let SIGTERM and a closed terminal end the program as Ctrl-C does, so that what it was writing is removed."""
    import signal
    from types import FrameType

    def stop(number: int, frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_IGN)  # once is enough: the second would interrupt the tidying
        raise StoppedError(128 + number)

    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)  # Windows has no SIGHUP
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, stop)


def tell_program_error(error: Exception) -> None:
    """Say that the program failed and what to send; the traceback goes to a file, and to the screen if asked for."""
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
def plain_errors() -> Iterator[None]:
    """Turn what cannot be done into one sentence on standard error and exit code 2."""
    import typer

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
        print(STOPPED, file=sys.stderr)
        raise typer.Exit(INTERRUPTED) from None
    except StoppedError:
        print(STOPPED, file=sys.stderr)
        raise


def _refuse(error: BiodynError) -> NoReturn:
    import typer

    print(f"biodyn: {error.message}{' ' + error.hint if error.hint else ''}", file=sys.stderr)
    _forget_what_cannot_be_printed()
    raise typer.Exit(BAD_INPUT) from None


def _forget_what_cannot_be_printed() -> None:
    """Let text that standard output refuses not be tried again at the end: Python would turn the exit code into 120."""
    try:
        sys.stdout.flush()
    except OSError:
        import os

        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
