"""A small process that forks the readers of C3D files in place of a large one.

A fork copies the tables of all memory of the process, and every page that the process then writes to is copied once more: of a
process of 400 MB that reads one recording after the other some 50 ms each, ten times what the reading takes. `start_forker` is
called while the process is small; what a reader may do to itself stays the same.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from biodyn.io.formats.c3d import _ezc3d
from biodyn.threads import ending_with

_LONGEST_REQUEST = 1 << 16  # bytes; a path has a few thousand at most
_LONGEST_ANSWER = 64


def fork_reader(path: str, memory_bytes: int, timeout_s: float, answer_fd: int, close_fd: int) -> int:
    """Fork a process that reads a file, within so much more memory, and answers into a descriptor; returns its number.

    `close_fd`: not for the reader. It ends with this process, and by itself `timeout_s` and a little later.
    """
    if sys.platform == "win32":
        raise NotImplementedError("Windows cannot fork.")
    end_with_this = ending_with(os.getpid())
    with warnings.catch_warnings():  # Python >= 3.12 warns of forking with threads: see _process._may_fork
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        code = 1
        try:
            end_with_this()
            os.close(close_fd)
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            _ezc3d.end_in(timeout_s)  # should nobody end it
            _ezc3d.limit_this_process(memory_bytes)
            _ezc3d.serve(_unicode_path(path), answer_fd)
            code = 0
        finally:
            os._exit(code)  # never run the parent's exit handlers
    return pid


def _unicode_path(path: str) -> str:
    """A path that the C3D library takes: it knows UTF-8 only, and names of files may be any bytes."""
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        return f"/proc/self/fd/{os.open(path, os.O_RDONLY)}"  # of the forked process, so on Linux
    return path


@dataclass(frozen=True)
class Forker:
    """The process, by the socket to it; calls may come from several threads. `owner`: the process that may ask it."""

    owner: int
    line: socket.socket
    turn: threading.Lock

    def forked(self, path: str, memory_bytes: int, timeout_s: float, answer_fd: int) -> int | None:
        """Return the number of a process as of `fork_reader`; None where the forker has ended."""
        return self._ask({"path": path, "memory": memory_bytes, "timeout": timeout_s}, [answer_fd])

    def status(self, pid: int) -> int | None:
        """Wait for a process that was forked; its status as of `os.waitpid`, None where the forker has ended."""
        return self._ask({"ended": pid}, [])

    def _ask(self, request: dict[str, Any], descriptors: list[int]) -> int | None:
        if sys.platform == "win32":
            raise NotImplementedError("Windows cannot fork.")
        with self.turn:
            try:
                socket.send_fds(self.line, [json.dumps(request).encode()], descriptors)
                answer = self.line.recv(_LONGEST_ANSWER)
            except OSError:
                answer = b""
        return int(answer) if answer else None


_started: Forker | None = None


def start_forker(prepare: Callable[[], None]) -> None:
    """Start a forker for this process, on Linux; elsewhere nothing is forked. `prepare` is called in it, to limit itself say.

    For a process without threads that has not grown yet. The forker ends when its owner does, however that ends.
    """
    global _started
    if sys.platform != "linux":
        return
    _ezc3d.preload()
    mine, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    end_with_this = ending_with(os.getpid())
    pid = os.fork()
    if pid == 0:
        try:
            end_with_this()  # while it waits for a reader, too
            mine.close()
            prepare()
            _serve(other)
        finally:
            os._exit(0)  # never run the owner's exit handlers
    other.close()
    _started = Forker(os.getpid(), mine, threading.Lock())


def running_forker() -> Forker | None:
    """Return the forker of this process, None where it started none."""
    return _started if _started is not None and _started.owner == os.getpid() else None


def _serve(line: socket.socket) -> None:
    """Fork and reap as asked, until the owner closes the socket or ends."""
    if sys.platform == "win32":
        raise NotImplementedError("Windows cannot fork.")
    while True:
        data, descriptors, _, _ = socket.recv_fds(line, _LONGEST_REQUEST, 1)
        if not data:
            return
        request = json.loads(data)
        if "ended" in request:
            answer = os.waitpid(request["ended"], 0)[1]
        else:
            answer = fork_reader(request["path"], request["memory"], request["timeout"], descriptors[0], line.fileno())
            os.close(descriptors[0])
        line.send(str(answer).encode())
