"""Run the C3D parser in a process of its own and bring back its answer, or say how it died."""

from __future__ import annotations

import json
import math
import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.io import _ezc3d

# What parsing may take beyond what the process already uses: the whole file in doubles, several times over.
_MEMORY_BASE_BYTES = 1 << 30
_MEMORY_PER_FILE_BYTE = 40
_CHUNK = 1 << 20


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
    """Why there is no answer: `reason` completes the sentence 'it could not be read: ...'."""

    reason: str


class _Child:
    """One parser process, a fork or a fresh interpreter, and the bytes it has sent so far."""

    def __init__(self, path: Path, fork: bool) -> None:
        memory = _MEMORY_BASE_BYTES + _MEMORY_PER_FILE_BYTE * path.stat().st_size
        self.chunks: list[bytes] = []
        self.process: subprocess.Popen[bytes] | None = None
        self.pid = -1
        if fork:
            self._fork(path, memory)
        else:
            command = [sys.executable, "-P", str(Path(_ezc3d.__file__)), str(path.resolve()), str(memory)]
            environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
            )
            assert self.process.stdout is not None
            self.fd = self.process.stdout.fileno()

    def _fork(self, path: Path, memory: int) -> None:
        _ezc3d.preload()
        self.fd, write_fd = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            code = 1
            try:
                os.close(self.fd)
                signal.signal(signal.SIGINT, signal.SIG_IGN)
                _ezc3d.limit_this_process(memory)
                _ezc3d.serve(str(path), write_fd)
                code = 0
            finally:
                os._exit(code)  # never run the parent's exit handlers
        os.close(write_fd)

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
        else:
            os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> int:
        """Close the pipe, reap the process and return its exit status, negative for a signal."""
        if self.process is not None:
            assert self.process.stdout is not None
            self.process.stdout.close()
            return self.process.wait()
        os.close(self.fd)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def _may_fork() -> bool:
    """Forking is cheap, and safe where no other thread can hold a lock the child would wait for."""
    return sys.platform == "linux" and threading.active_count() == 1


def _first_sentence(text: str) -> str:
    """Without the C++ exception's class in front and its advice to programmers behind."""
    line = (text.splitlines() or [""])[0].partition(": ")[2].partition(". ")[0]
    return line.removesuffix(": iostream error").rstrip(". ") or "unknown error"


def _decode(data: bytes, exit_code: int) -> Parsed | Failure:
    length_bytes = _ezc3d.ANSWER_LENGTH_BYTES
    length = int.from_bytes(data[:length_bytes], "little")
    if exit_code != 0 or len(data) < length_bytes + length:
        how = f"signal {-exit_code}" if exit_code < 0 else f"exit status {exit_code}"
        return Failure(f"the C3D library broke down on it ({how}), which damaged files cause")
    facts = json.loads(data[length_bytes : length_bytes + length])
    if "error" in facts:
        return Failure(f"the C3D library says '{_first_sentence(str(facts['error']))}'")
    arrays = []
    offset = length_bytes + length
    for shape in facts["shapes"]:
        count = math.prod(shape)
        if len(data) < offset + 8 * count:
            return Failure("the C3D library broke down while handing over the data")
        arrays.append(np.frombuffer(data, dtype="<f8", count=count, offset=offset).reshape(shape))
        offset += 8 * count
    return Parsed(facts, arrays[0], arrays[1])


def parse_files(paths: Sequence[Path], timeout_s: float, fork: bool | None = None) -> list[Parsed | Failure]:
    """Parse the files side by side, each in its own process; the answers stand in the order of `paths`.

    `timeout_s` is for each file from the start of its process. `fork` chooses the kind of process (None: by itself).
    """
    use_fork = _may_fork() if fork is None else fork
    at_once = max(1, min(4, os.cpu_count() or 1))
    results: list[Parsed | Failure] = [Failure("not read")] * len(paths)
    waiting = list(enumerate(paths))[::-1]
    running: dict[int, tuple[int, _Child, float]] = {}
    with selectors.DefaultSelector() as selector:
        while waiting or running:
            while waiting and len(running) < at_once:
                index, path = waiting.pop()
                child = _Child(path, use_fork)
                running[child.fd] = (index, child, time.monotonic() + timeout_s)
                selector.register(child.fd, selectors.EVENT_READ)
            soonest = min(deadline for _, _, deadline in running.values())
            ready = {key.fd for key, _ in selector.select(max(0.0, soonest - time.monotonic()))}
            for fd, (index, child, deadline) in list(running.items()):
                finished = False
                if fd in ready:
                    chunk = os.read(fd, _CHUNK)
                    child.chunks.append(chunk)
                    finished = not chunk
                late = not finished and time.monotonic() > deadline
                if late:
                    child.kill()
                if finished or late:
                    selector.unregister(fd)
                    del running[fd]
                    code = child.wait()
                    results[index] = (
                        Failure(f"the C3D library did not finish within {timeout_s:g} s")
                        if late
                        else _decode(b"".join(child.chunks), code)
                    )
    return results
