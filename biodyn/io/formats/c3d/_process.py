"""Run the C3D parser in a process of its own and bring back its answer, or say how it died.

This process reads the file itself meanwhile: `parsing` starts the others, and nobody waits for them before `answers`.
"""

from __future__ import annotations

import json
import math
import os
import selectors
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.io.formats.c3d import _ezc3d
from biodyn.io.formats.c3d.forker import start_reader

if sys.platform == "linux":
    import fcntl

# What parsing may take beyond what the process already uses: the whole file in doubles, several times over.
_MEMORY_BASE_BYTES = 1 << 30
_MEMORY_PER_FILE_BYTE = 40
_CHUNK = 1 << 20
_SIGKILL = 9  # not in `signal` on every system
_ATTEMPTS = 4  # at a file whose reader somebody kills
_HEARD_S = 1.0  # for a reader that had to wait with its answer until somebody took it
# What C++ says when it is asked for more memory than there is, or for a negative amount.
_SIZE_ERRORS = ("std::", "vector", "basic_string")


@dataclass(frozen=True)
class Parsed:
    """A file as ezc3d gave it.

    Attributes:
        facts: first_frame (1-based), rate_hz, channels (0-based analog channels kept), channel_count, parameters.
        points: (T, N, 3) file units, NaN where not seen.
        samples: (Ta, C) scaled analog samples of the kept channels.
    """

    facts: dict[str, Any]
    points: FloatArray
    samples: FloatArray


@dataclass(frozen=True)
class Failure:
    """Why there is no answer: `reason` completes the sentence 'it could not be read: ...'.

    Attributes: `killed` tells that somebody else ended the parser (SIGKILL), which says nothing of the file.
    """

    reason: str
    killed: bool = False


def _may_fork() -> bool:
    """Forking costs milliseconds, a fresh interpreter a tenth of a second.

    A child of a process with threads must not wait for a lock one of them held. This one imports nothing that is not
    loaded already, prints nothing and takes no lock of Python's: it parses, allocates (glibc's allocator and loader are
    fork-safe), writes to its pipe and leaves. Elsewhere than on Linux system libraries do not promise as much.
    """
    return sys.platform == "linux"


def _first_sentence(text: str) -> str:
    """Without the C++ exception's class in front and its advice to programmers behind."""
    line = (text.splitlines() or [""])[0].partition(": ")[2].partition(". ")[0]
    if not line or line.startswith(_SIZE_ERRORS):
        return "its parameters announce impossible sizes"
    return line.removesuffix(": iostream error").rstrip(". ") or "unknown error"


def _decode(data: bytes, exit_code: int) -> Parsed | Failure:
    length_bytes = _ezc3d.ANSWER_LENGTH_BYTES
    length = int.from_bytes(data[:length_bytes], "little")
    if exit_code != 0 or len(data) < length_bytes + length:
        how = f"signal {-exit_code}" if exit_code < 0 else f"exit status {exit_code}"
        if exit_code == -_SIGKILL:
            return Failure("its reader was killed from outside, or for want of memory", killed=True)
        return Failure(f"the C3D library broke down on it ({how}), which damaged files cause")
    facts = json.loads(data[length_bytes : length_bytes + length])
    if "error" in facts:
        return Failure(f"the C3D library says: {_first_sentence(str(facts['error']))}")
    arrays = []
    offset = length_bytes + length
    for shape in facts["shapes"]:
        count = math.prod(shape)
        if len(data) < offset + 8 * count:
            return Failure("the C3D library broke down while handing over the data")
        arrays.append(np.frombuffer(data, dtype="<f8", count=count, offset=offset).reshape(shape))
        offset += 8 * count
    return Parsed(facts, arrays[0], arrays[1])


def _memory_bytes(path: Path) -> int:
    return _MEMORY_BASE_BYTES + _MEMORY_PER_FILE_BYTE * path.stat().st_size


def _widen(pipe_fd: int) -> None:
    """Let a pipe hold most of an answer, so that its writer can end before somebody reads; as it is where that is refused."""
    if sys.platform == "linux":
        with suppress(OSError):
            fcntl.fcntl(pipe_fd, fcntl.F_SETPIPE_SZ, _CHUNK)


class _Fork:
    """A forked parser and the bytes it has sent so far; forked by this process, or by its forker."""

    fd: int
    deadline: float
    chunks: list[bytes]

    def __init__(self, path: Path, timeout_s: float) -> None:
        _ezc3d.preload()
        self.chunks = []
        self.deadline = time.monotonic() + timeout_s
        self.fd, write_fd = os.pipe()
        _widen(self.fd)
        self._reader = start_reader(str(path.absolute()), _memory_bytes(path), timeout_s, write_fd, self.fd)
        os.close(write_fd)

    def end(self) -> None:
        """Kill the parser; harmless where it has ended."""
        self._reader.kill()

    def finish(self) -> int:
        """Close the pipe, reap the process and return its exit status, negative for a signal."""
        os.close(self.fd)
        return self._reader.exit_code()


def _too_late(timeout_s: float) -> Failure:
    return Failure(f"the C3D library did not finish within {timeout_s:g} s")


class _Begun(Protocol):
    """Files that are being parsed."""

    def look(self) -> None:
        """Take what has come, without waiting."""

    def answers(self) -> list[Parsed | Failure]:
        """Wait for all; the answers stand in the order of the files."""

    def end(self) -> None:
        """End what still runs."""


class _Forks:
    """Files that are parsed by forks, so many at once, each until its time is over."""

    def __init__(self, paths: Sequence[Path], timeout_s: float, at_once: int) -> None:
        self._results: list[Parsed | Failure] = [Failure("not read")] * len(paths)
        self._waiting = list(enumerate(paths))[::-1]
        self._running: dict[int, tuple[int, _Fork]] = {}
        self._timeout_s, self._at_once = timeout_s, at_once
        self._selector = selectors.DefaultSelector()
        try:
            self._start()
        except BaseException:  # no further process is allowed: those that were started end
            self.end()
            raise

    def look(self) -> None:
        self._take(0.0)

    def answers(self) -> list[Parsed | Failure]:
        heard = time.monotonic() + _HEARD_S
        for _, child in self._running.values():  # it may stand before a full pipe
            child.deadline = max(child.deadline, heard)
        while self._running:
            soonest = min(child.deadline for _, child in self._running.values())
            self._take(max(0.0, soonest - time.monotonic()))
        return self._results

    def end(self) -> None:
        self._waiting.clear()
        for _, child in self._running.values():
            child.end()
            child.finish()
        self._running.clear()
        self._selector.close()

    def _start(self) -> None:
        while self._waiting and len(self._running) < self._at_once:
            index, path = self._waiting.pop()
            child = _Fork(path, self._timeout_s)
            self._running[child.fd] = (index, child)
            self._selector.register(child.fd, selectors.EVENT_READ)

    def _take(self, longest_s: float) -> None:
        """Take what comes within so many seconds, end what is late, and start what waits."""
        ready = {key.fd for key, _ in self._selector.select(longest_s)}
        for fd, (index, child) in list(self._running.items()):
            if fd in ready:
                child.chunks.append(os.read(fd, _CHUNK))
            finished = fd in ready and not child.chunks[-1]
            late = fd not in ready and time.monotonic() > child.deadline
            if not finished and not late:
                continue
            if late:
                child.end()
            self._selector.unregister(fd)
            del self._running[fd]
            exit_code = child.finish()
            self._results[index] = _too_late(self._timeout_s) if late else _decode(b"".join(child.chunks), exit_code)
        self._start()


def _parse_fresh(path: Path, timeout_s: float) -> Parsed | Failure:
    """Parse in a new interpreter: slower by its start (0.1 s), but possible everywhere."""
    limits = [str(_memory_bytes(path)), str(timeout_s), str(os.getpid())]
    command = [sys.executable, "-P", str(Path(_ezc3d.__file__)), str(path.resolve()), *limits]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return _too_late(timeout_s)
    return _decode(done.stdout, done.returncode)


class _Interpreters:
    """Files that are parsed by new interpreters, so many at once."""

    def __init__(self, paths: Sequence[Path], timeout_s: float, at_once: int) -> None:
        self._pool = ThreadPoolExecutor(at_once)
        self._results = [self._pool.submit(_parse_fresh, path, timeout_s) for path in paths]

    def look(self) -> None:
        pass  # threads do

    def answers(self) -> list[Parsed | Failure]:
        return [result.result() for result in self._results]

    def end(self) -> None:
        self._pool.shutdown(cancel_futures=True)


class Parsing:
    """Files that are parsed side by side, each in its own process, see `parsing`."""

    def __init__(self, paths: Sequence[Path], timeout_s: float, fork: bool | None) -> None:
        self._paths, self._timeout_s, self._fork = paths, timeout_s, fork
        self._begun = _begin(paths, timeout_s, fork)

    def look(self) -> None:
        """Take what has been read so far, and let the next file begin; called now and then by who does something else."""
        self._begun.look()

    def answers(self) -> list[Parsed | Failure]:
        """Wait for what is missing; the answers stand in the order of the files.

        A reader that was killed from outside starts anew, a few times.
        """
        answers = self._begun.answers()
        for _ in range(_ATTEMPTS - 1):
            again = [i for i, answer in enumerate(answers) if isinstance(answer, Failure) and answer.killed]
            if not again:
                break
            self._begun.end()
            self._begun = _begin([self._paths[i] for i in again], self._timeout_s, self._fork)
            for i, answer in zip(again, self._begun.answers(), strict=True):
                answers[i] = answer
        return answers

    def end(self) -> None:
        """End what still runs."""
        self._begun.end()


@contextmanager
def parsing(paths: Sequence[Path], timeout_s: float, fork: bool | None = None) -> Iterator[Parsing]:
    """Start to parse files; no process of it is left when the block ends.

    `timeout_s` is for each file from the start of its process. `fork` chooses the kind of process (None: by itself).
    """
    begun = Parsing(paths, timeout_s, fork)
    try:
        yield begun
    finally:
        begun.end()


def parse_files(paths: Sequence[Path], timeout_s: float, fork: bool | None = None) -> list[Parsed | Failure]:
    """Parse the files and wait for them; see `parsing` and `Parsing.answers`."""
    with parsing(paths, timeout_s, fork) as begun:
        return begun.answers()


def _begin(paths: Sequence[Path], timeout_s: float, fork: bool | None) -> _Begun:
    at_once = max(1, min(4, os.cpu_count() or 1))
    kind = _Forks if (_may_fork() if fork is None else fork) else _Interpreters
    return kind(paths, timeout_s, at_once)
