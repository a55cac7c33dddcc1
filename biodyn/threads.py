"""Processors, processes and how they end; one thread for the libraries below numpy, two for loops of our own.

Matrices here are small: threads of linear algebra that wait for each other double the processor time and win none, and sums
in another order change the last digits. A command says so before numpy is imported (`use_one_thread`), an analysis that Python
calls while it lasts (`linear_algebra_in_one_thread`).

Loops of our own leave the interpreter to others while they run. What has two parts that need nothing of each other is done
`side_by_side`: the parts are the same with one processor, one after the other, and so is every bit of what they give. A trial
may take two processors; the trials of a study take one each (`PROCESSORS_VARIABLE`), for they are many.
"""

from __future__ import annotations

import math
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from contextvars import ContextVar, copy_context
from functools import cache
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from biodyn.errors import SettingsError

if TYPE_CHECKING:
    import subprocess

#: What OpenBLAS, MKL, Accelerate and OpenMP read when they are loaded.
ONE_THREAD: Final = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"), "1"
)

_PR_SET_PDEATHSIG: Final = 1  # prctl(2)
_SIGKILL: Final = 9  # not in `signal` on every system
_LOOK_AGAIN_S: Final = 0.5
#: Environment variable: a whole number, how many processors a trial may take. Two are the most that it can use.
PROCESSORS_VARIABLE: Final = "BIODYN_PROCESSORS"

A = TypeVar("A")
B = TypeVar("B")
_WORTH_A_THREAD: Final = 200  # frames, of some microseconds each: to hand over a part costs some tens
_IDLE_S: Final = 0.1  # a fork warns of threads: none is left when the caller goes on
_beside: ContextVar[bool] = ContextVar("beside", default=False)


def side_by_side(first: Callable[[], A], second: Callable[[], B]) -> tuple[A, B]:
    """Return what both give: computed at the same time where this process may take two processors, else one after the other.

    Neither may need what the other does. Within a part everything is done one after the other. What the first raises is raised
    here, else what the second does; none of both goes on then. The second part is done here, too, where the other thread did not
    come to it by the end of the first: where others use the processors.
    """
    if _beside.get() or threads_of_a_trial() < 2:
        return first(), second()
    part = _Part(second)
    if not _other_thread().does(part):  # no further thread is allowed
        return first(), second()
    before = _beside.set(True)
    try:
        result = first()
    finally:
        _beside.reset(before)
        is_left = part.take()
        if not is_left:
            part.wait()
    return result, second() if is_left else part.result()


class _Part(Generic[B]):
    """The second of two parts, for whoever takes it first."""

    def __init__(self, work: Callable[[], B]) -> None:
        self._work, self._context, self._as_here = work, copy_context(), _number_errors()
        self._turn, self._running = Lock(), Lock()
        self._running.acquire()
        self._found: list[B] = []
        self._raised: list[BaseException] = []

    def take(self) -> bool:
        """Whether it is the caller's from now on: nobody took it before."""
        return self._turn.acquire(blocking=False)

    def run(self) -> None:
        """Do it, as the thread that asked for it would."""
        try:
            self._context.run(self._in_context)
        finally:
            self._running.release()

    def _in_context(self) -> None:
        _beside.set(True)
        try:
            with self._as_here:
                self._found.append(self._work())
        except BaseException as error:  # raised again by `result`
            self._raised.append(error)

    def wait(self) -> None:
        """Wait until it was run."""
        self._running.acquire()

    def result(self) -> B:
        """What it gave, or raise what it raised."""
        if self._raised:
            raise self._raised[0]
        return self._found[0]


class _OtherThread:
    """A thread of this process that does one part after the other; it ends when none came for a while."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        self._parts: SimpleQueue[_Part[Any]] = SimpleQueue()
        self._changing, self._runs = Lock(), False

    def does(self, part: _Part[Any]) -> bool:
        """Hand over a part; False where no thread can be started."""
        with self._changing:
            if not self._runs:
                try:
                    # one that waits for parts keeps no process from ending
                    Thread(target=self._serve, name="biodyn beside", daemon=True).start()
                except RuntimeError:
                    return False
                self._runs = True
            self._parts.put(part)
        return True

    def _serve(self) -> None:
        while True:
            try:
                part = self._parts.get(timeout=_IDLE_S)
            except Empty:
                with self._changing:
                    if self._parts.empty():
                        self._runs = False
                        return
            else:
                if part.take():
                    part.run()
                del part  # what it holds may be large


_thread: _OtherThread | None = None


def _other_thread() -> _OtherThread:
    """That of this process: a forked one has none of its parent's threads."""
    global _thread
    if _thread is None or _thread.owner != os.getpid():
        _thread = _OtherThread()
    return _thread


def _number_errors() -> AbstractContextManager[object]:
    """What numpy does here about errors of numbers, for another thread: before numpy 2 that is each thread's own."""
    if "numpy" not in sys.modules:
        return nullcontext()
    import numpy as np

    return np.errstate(**np.geterr())


def by_halves(frames: int, work: Callable[[slice], object]) -> None:
    """Do what is done in every frame by itself: many frames in two parts side by side. `work` takes the frames of a part."""
    half = frames // 2
    if frames < _WORTH_A_THREAD:
        work(slice(0, frames))
    else:
        side_by_side(lambda: work(slice(0, half)), lambda: work(slice(half, frames)))


def threads_of_a_trial() -> int:
    """How many threads a trial may use: two where there is a second processor and `PROCESSORS_VARIABLE` leaves it to one.

    Raises SettingsError where the variable is set to something else than a whole number from 1 on.
    """
    allowed = os.environ.get(PROCESSORS_VARIABLE, "").strip()
    if allowed and not (allowed.isascii() and allowed.isdecimal() and int(allowed) >= 1):
        raise SettingsError(
            f"The environment variable {PROCESSORS_VARIABLE} is '{allowed}': expected a whole number of processors, 1 or more.",
            "Correct it, or leave it out: a trial then takes two where they are free.",
        )
    return 1 if processors() < 2 or (allowed and int(allowed) < 2) else 2


def use_one_thread() -> None:
    """Say so to this process and those it starts, where the user has not chosen otherwise."""
    for name, count in ONE_THREAD.items():
        os.environ.setdefault(name, count)


class _Limits:
    """Those of linear algebra, one for each analysis that began since none went on."""

    def __init__(self) -> None:
        self.changing, self.going_on = Lock(), 0
        self.set: list[Any] = []


_limits: Final = _Limits()


@contextmanager
def linear_algebra_in_one_thread() -> Iterator[None]:
    """Keep the libraries of linear algebra that are loaded to one thread meanwhile, where the user has not chosen otherwise.

    They keep it for all threads of the process. Where several overlap, the last to end gives back what the first one found.
    """
    if any(os.environ.get(name) for name in ONE_THREAD):
        yield
        return
    from threadpoolctl import threadpool_limits

    with _limits.changing:
        _limits.set.append(threadpool_limits(limits=1, user_api="blas"))
        _limits.going_on += 1
    try:
        yield
    finally:
        with _limits.changing:
            _limits.going_on -= 1
            while _limits.set and not _limits.going_on:
                _limits.set.pop().restore_original_limits()


def processors() -> int:
    """Processors this process may use: those it may run on, and no more than a container's limit of processor time is worth."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return int(min(count, _time_limit()))


@cache
def _time_limit(groups: Path = Path("/sys/fs/cgroup")) -> float:
    """Processors' worth of time that the system's control groups allow this process, rounded up; infinite without a limit.

    A container sees its own group at the root: `cpu.max` of version 2 ("quota period" or "max period"), two files of version 1
    (quota -1 without a limit); microseconds.
    """
    for names in (("cpu.max",), ("cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us")):
        try:
            quota, period = " ".join((groups / name).read_text("ascii") for name in names).split()
            return math.ceil(int(quota) / int(period)) if int(quota) > 0 else math.inf
        except (OSError, ValueError):  # no such file, or "max"
            continue
    return math.inf


def may_start_python() -> bool:
    """Whether what runs this program is Python: where that is part of another program, that one would be started."""
    return Path(sys.executable or "").stem.lower().startswith("python")


def start_python(code: str, **options: Any) -> subprocess.Popen[bytes]:
    """Start a process of this Python, with its path, that runs `code`; OSError where no further process is allowed.

    options: of `subprocess.Popen`. It looks for unreachable objects as seldom as this process does: compiling and loading
    make millions that stay.
    """
    import gc
    import subprocess

    begin = f"import gc, sys; gc.set_threshold(*{gc.get_threshold()!r}); sys.path[:] = {sys.path!r}"
    return subprocess.Popen([sys.executable, "-P", "-c", f"{begin}; {code}"], **options)


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kill a process that was started with a process group of its own, and what it started; harmless where it has ended."""
    with suppress(ProcessLookupError):
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)


def ending_with(parent: int) -> Callable[[], None]:
    """Return what a process calls first to end when the process `parent` that started it does, however that ends.

    It imports what it needs before it is called, so that a fork need not. On Linux the system kills the process, whatever it
    does, and already when the thread that started it ends: one that outlives the process has to start it. On other
    systems but Windows a thread of it looks every half second, and not while a library holds the interpreter.
    """
    import ctypes
    import threading
    import time

    own = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_LOOK_AGAIN_S)
        os._exit(1)

    def begin() -> None:
        if own is not None:
            own.prctl(_PR_SET_PDEATHSIG, _SIGKILL)
            if os.getppid() != parent:  # it died before
                os._exit(1)
        elif sys.platform != "win32":
            threading.Thread(target=watch, daemon=True).start()

    return begin


def is_processor_free() -> bool:
    """Whether a second process of this program would find a processor that nobody uses, as far as the system tells."""
    count = processors()
    return count > 1 and _load() < count


def _load() -> float:
    """Processes that ran or waited for a processor in the last minute, on average; 0 where the system does not tell."""
    if sys.platform == "win32":
        return 0.0
    try:
        return os.getloadavg()[0]
    except OSError:  # a sandbox
        return 0.0
