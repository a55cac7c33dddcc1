"""Run the C3D parser in a process of its own and bring back its answer, or say how it died."""

from __future__ import annotations

import json
import math
import os
import selectors
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.io.formats.c3d import _ezc3d
from biodyn.io.formats.c3d.forker import Forker, fork_reader, running_forker

# What parsing may take beyond what the process already uses: the whole file in doubles, several times over.
_MEMORY_BASE_BYTES = 1 << 30
_MEMORY_PER_FILE_BYTE = 40
_CHUNK = 1 << 20
_SIGKILL = 9  # not in `signal` on every system
_ATTEMPTS = 4  # at a file whose reader somebody kills
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


class _Fork:
    """A forked parser and the bytes it has sent so far; forked by this process, or by the small one that it started."""

    fd: int
    pid: int
    deadline: float
    chunks: list[bytes]
    _forker: Forker | None

    def __init__(self, path: Path, timeout_s: float) -> None:
        if sys.platform == "win32":
            raise NotImplementedError("Windows cannot fork.")
        _ezc3d.preload()
        self.chunks = []
        self.deadline = time.monotonic() + timeout_s
        self._forker = running_forker()
        asked = str(path), _memory_bytes(path), timeout_s
        self.fd, write_fd = os.pipe()
        pid = None if self._forker is None else self._forker.forked(*asked, write_fd)
        if self._forker is not None and pid is None:
            # It has ended, and a reader that it forked in its last moment may write into this pipe.
            os.close(write_fd)
            os.close(self.fd)
            self.fd, write_fd = os.pipe()
        if pid is None:
            self._forker, pid = None, fork_reader(*asked, write_fd, self.fd)
        self.pid = pid
        os.close(write_fd)

    def end(self) -> None:
        """Kill the parser; harmless where it has ended and its forker, too."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, _SIGKILL)

    def finish(self) -> int:
        """Close the pipe, reap the process and return its exit status, negative for a signal."""
        os.close(self.fd)
        status = os.waitpid(self.pid, 0)[1] if self._forker is None else self._forker.status(self.pid)
        return -_SIGKILL if status is None else os.waitstatus_to_exitcode(status)  # None: the forker was killed


def _too_late(timeout_s: float) -> Failure:
    return Failure(f"the C3D library did not finish within {timeout_s:g} s")


def _parse_forked(paths: Sequence[Path], timeout_s: float, at_once: int) -> list[Parsed | Failure]:
    results: list[Parsed | Failure] = [Failure("not read")] * len(paths)
    waiting = list(enumerate(paths))[::-1]
    running: dict[int, tuple[int, _Fork]] = {}
    with selectors.DefaultSelector() as selector:
        while waiting or running:
            while waiting and len(running) < at_once:
                index, path = waiting.pop()
                child = _Fork(path, timeout_s)
                running[child.fd] = (index, child)
                selector.register(child.fd, selectors.EVENT_READ)
            soonest = min(child.deadline for _, child in running.values())
            ready = {key.fd for key, _ in selector.select(max(0.0, soonest - time.monotonic()))}
            for fd, (index, child) in list(running.items()):
                if fd in ready:
                    child.chunks.append(os.read(fd, _CHUNK))
                finished = fd in ready and not child.chunks[-1]
                late = not finished and time.monotonic() > child.deadline
                if not finished and not late:
                    continue
                if late:
                    child.end()
                selector.unregister(fd)
                del running[fd]
                exit_code = child.finish()
                results[index] = _too_late(timeout_s) if late else _decode(b"".join(child.chunks), exit_code)
    return results


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


def parse_files(paths: Sequence[Path], timeout_s: float, fork: bool | None = None) -> list[Parsed | Failure]:
    """Parse the files side by side, each in its own process; the answers stand in the order of `paths`.

    `timeout_s` is for each file from the start of its process. `fork` chooses the kind of process (None: by itself).
    A reader that is killed from outside starts anew, a few times.
    """
    answers = _parse_once(paths, timeout_s, fork)
    for _ in range(_ATTEMPTS - 1):
        again = [i for i, answer in enumerate(answers) if isinstance(answer, Failure) and answer.killed]
        if not again:
            break
        for i, answer in zip(again, _parse_once([paths[i] for i in again], timeout_s, fork), strict=True):
            answers[i] = answer
    return answers


def _parse_once(paths: Sequence[Path], timeout_s: float, fork: bool | None) -> list[Parsed | Failure]:
    at_once = max(1, min(4, os.cpu_count() or 1))
    if _may_fork() if fork is None else fork:
        return _parse_forked(paths, timeout_s, at_once)
    with ThreadPoolExecutor(at_once) as pool:
        return list(pool.map(lambda path: _parse_fresh(path, timeout_s), paths))
