"""A process of its own that forks the readers of C3D files in place of the process that wants to read.

A fork copies the tables of all memory of the process, and every page that the process writes to before the reader has ended is
copied, or marked as its own again, one fault a page: of a process that has analysed a trial, that takes longer than the reading.
The first reading of a process starts its forker (`forker_of_this_process`), and only this fork is of the process itself;
`start_forker` starts it while the process is small. What a reader may do to itself stays the same.
"""

from __future__ import annotations

import atexit
import gc
import json
import mmap
import os
import signal
import socket
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from biodyn.io.formats.c3d import _ezc3d
from biodyn.threads import ending_with

_LONGEST_REQUEST = 1 << 16  # bytes; a path has a few thousand at most
_LONGEST_ANSWER = 64
_LARGEST_OWNER_BYTES = 500 << 20  # all libraries and kernels, and a long recording
_SIGKILL = 9  # not in `signal` on every system


def fork_reader(path: str, memory_bytes: int, timeout_s: float, answer_fd: int, close_fd: int) -> int:
    """Fork a process that reads a file, within so much more memory, and answers into a descriptor; returns its number.

    `close_fd`: not for the reader. It ends with this process, and by itself `timeout_s` and a little later.
    """
    if sys.platform == "win32":
        raise NotImplementedError("Windows cannot fork.")
    end_with_this = ending_with(os.getpid())
    pid = _fork()
    if pid == 0:
        code = 1
        try:
            end_with_this()
            gc.disable()  # which would write to every object of the parent's, and so copy its memory
            os.close(close_fd)
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            _ezc3d.end_in(timeout_s)  # should nobody end it
            _ezc3d.limit_this_process(memory_bytes)
            _ezc3d.serve(_unicode_path(path), answer_fd)
            code = 0
        finally:
            os._exit(code)  # never run the parent's exit handlers
    return pid


def _fork() -> int:
    if sys.platform == "win32":
        raise NotImplementedError("Windows cannot fork.")
    with warnings.catch_warnings():  # Python >= 3.12 warns of forking with threads: see _process._may_fork
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def _unicode_path(path: str) -> str:
    """A path that the C3D library takes: it knows UTF-8 only, and names of files may be any bytes."""
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        return f"/proc/self/fd/{os.open(path, os.O_RDONLY)}"  # of the forked process, so on Linux
    return path


@dataclass(frozen=True)
class Forker:
    """The process, by its number and the socket to it; calls may come from several threads.

    A request is sent at once and has a number, by which its answer is asked for when it is needed.
    `owner`: the only process that may ask it. The socket is closed once it has ended.
    """

    owner: int
    pid: int
    line: socket.socket
    _turn: threading.Lock = field(default_factory=threading.Lock)
    _numbers: Iterator[int] = field(default_factory=count)
    _answers: dict[int, int] = field(default_factory=dict)  # that came before they were asked for

    def fork(self, path: str, memory_bytes: int, timeout_s: float, answer_fd: int) -> int | None:
        """Have a process forked as of `fork_reader`; returns the request's number, None where the forker has ended.

        `path`: from the root on, for the owner may have changed its folder.
        """
        return self._ask({"path": path, "memory": memory_bytes, "timeout": timeout_s}, [answer_fd])

    def status(self, pid: int) -> int | None:
        """Wait for a process that was forked; its status as of `os.waitpid`, None where the forker has ended."""
        request = self._ask({"ended": pid}, [])
        return None if request is None else self.answer(request)

    def answer(self, request: int) -> int | None:
        """Wait for the answer to a request, the number of the process; None where the forker has ended."""
        with self._turn:
            while request not in self._answers:
                try:
                    text = self.line.recv(_LONGEST_ANSWER)
                except OSError:
                    text = b""
                if not text:
                    self.end()
                    return None
                number, answer = json.loads(text)
                self._answers[number] = answer
            return self._answers.pop(request)

    def end(self) -> None:
        """End it, and what it forked; in another process than its owner only the socket is closed."""
        if sys.platform == "win32" or self.line.fileno() < 0:
            return
        self.line.close()
        if self.owner != os.getpid():
            return
        with suppress(ChildProcessError):  # somebody else has waited for it
            if os.waitpid(self.pid, os.WNOHANG)[0] == 0:
                os.kill(self.pid, _SIGKILL)
                os.waitpid(self.pid, 0)

    def _ask(self, request: dict[str, Any], descriptors: list[int]) -> int | None:
        if sys.platform == "win32":
            raise NotImplementedError("Windows cannot fork.")
        number = next(self._numbers)
        with self._turn:
            try:
                socket.send_fds(self.line, [json.dumps({"number": number, **request}).encode()], descriptors)
            except OSError:
                self.end()
                return None
        return number


_started: Forker | None = None


def forker_of_this_process() -> Forker | None:
    """Return the forker of this process, which the first call starts; None where the process has to fork by itself.

    That is where it has ended; in a thread that the process may outlive, for the forker ends with the thread that starts it; and
    where the process has grown large, for its forker would hold on to all that it frees or changes later.
    """
    if _started is not None and _started.owner == os.getpid():
        return None if _started.line.fileno() < 0 else _started
    if threading.current_thread() is not threading.main_thread() or _memory_in_use() > _LARGEST_OWNER_BYTES:
        return None
    try:
        start_forker()
    except OSError:  # no further process, or no further file, is allowed
        return None
    return _started


def start_forker(prepare: Callable[[], object] = lambda: None) -> None:
    """Start a forker for this process, on Linux; elsewhere nothing is forked. `prepare` is called in it, to limit itself say.

    The smaller the process is by now, the quicker its readers start. The forker ends when its owner does, however that ends.
    Raises OSError where the system allows no further process.
    """
    global _started
    if sys.platform != "linux":
        return
    _ezc3d.preload()
    end_with_this = ending_with(os.getpid())
    mine, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # until the forker ignores it
    try:
        pid = _fork()
        if pid == 0:
            try:
                end_with_this()  # while it waits for a reader, too
                _leave_the_owner_alone(other.fileno())
                signal.pthread_sigmask(signal.SIG_SETMASK, before)
                prepare()
                _serve(other)
            finally:
                os._exit(0)  # never run the owner's exit handlers
    except OSError:
        mine.close()
        other.close()
        raise
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    other.close()
    if _started is None:
        atexit.register(_end_forker)
    else:  # of the process that this one was forked from
        _started.end()
    _started = Forker(os.getpid(), pid, mine)


def _memory_in_use() -> int:
    """Bytes of this process that lie in memory, 0 where the system does not tell."""
    try:
        with open("/proc/self/statm", encoding="ascii") as sizes:
            return int(sizes.read().split()[1]) * mmap.PAGESIZE
    except OSError:
        return 0


class Reader:
    """A process that reads a file: the forker's, whose number is the answer to `request`, or a fork of this process, `pid`."""

    def __init__(self, forker: Forker | None, request: int = 0, pid: int | None = None) -> None:
        self._forker, self._request, self._pid = forker, request, pid

    def kill(self) -> None:
        """Kill it; harmless where it has ended, or its forker has, which takes it along."""
        pid = self._number()
        if pid is not None:
            with suppress(ProcessLookupError):
                os.kill(pid, _SIGKILL)

    def exit_code(self) -> int:
        """Wait for it; its exit code, negative for a signal."""
        if sys.platform == "win32":
            raise NotImplementedError("Windows cannot fork.")
        pid, status = self._number(), None
        if pid is not None:
            status = os.waitpid(pid, 0)[1] if self._forker is None else self._forker.status(pid)
        return -_SIGKILL if status is None else os.waitstatus_to_exitcode(status)  # None: killed with its forker

    def _number(self) -> int | None:
        if self._forker is not None and self._pid is None:
            self._pid = self._forker.answer(self._request)
        return self._pid


def start_reader(path: str, memory_bytes: int, timeout_s: float, answer_fd: int, close_fd: int) -> Reader:
    """Have a reader forked, see `fork_reader`: by the forker of this process, else by this process itself."""
    forker = forker_of_this_process()
    request = None if forker is None else forker.fork(path, memory_bytes, timeout_s, answer_fd)
    if request is not None:
        return Reader(forker, request)
    return Reader(None, pid=fork_reader(path, memory_bytes, timeout_s, answer_fd, close_fd))


def _end_forker() -> None:
    if _started is not None:
        _started.end()


def _leave_the_owner_alone(line_fd: int) -> None:
    """Hold none of the owner's files and pipes open, print nothing, and do nothing of its own at a signal.

    Ctrl-C goes to all processes of a terminal; the owner may go on after it.
    """
    gc.disable()
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2 and int(name) != line_fd:
            with suppress(OSError):  # the listing's own
                os.close(int(name))
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in range(3):
        os.dup2(nothing, standard)
    signal.set_wakeup_fd(-1)
    for number in signal.valid_signals():
        if callable(signal.getsignal(number)):
            signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform != "win32":
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # else nobody is told how a reader ended


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
        line.send(json.dumps([request["number"], answer]).encode())
