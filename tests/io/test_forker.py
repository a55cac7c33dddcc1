"""A process of its own forks the readers of C3D files: the same answers, the same guard, and nothing left behind."""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from biodyn.io.formats.c3d import _ezc3d, forker
from biodyn.io.formats.c3d._process import Failure, Parsed, parse_files

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="fork is used on Linux")


@pytest.fixture
def start(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], forker.Forker]]:
    """Starts a forker as the process is now; it ends with the test."""
    started = []
    monkeypatch.setattr(forker, "_LARGEST_OWNER_BYTES", 1 << 60)  # however many tests ran before

    def begin() -> forker.Forker:
        monkeypatch.setattr(forker, "_started", None)
        found = forker.forker_of_this_process()
        assert found is not None
        started.append(found)
        return found

    yield begin
    for one in started:
        one.end()


def counting(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that this process itself forked a reader for."""
    own: list[str] = []
    fork = forker.fork_reader
    monkeypatch.setattr(forker, "fork_reader", lambda path, *rest: (own.append(path), fork(path, *rest))[1])
    return own


def test_it_reads_what_a_fork_of_this_process_reads(write_c3d, start, monkeypatch):
    paths = [write_c3d(f"{i}.c3d") for i in range(7)]
    with monkeypatch.context() as alone:
        alone.setattr(forker, "forker_of_this_process", lambda: None)
        direct = parse_files(paths, 60.0)
    start()
    own = counting(monkeypatch)
    for mine, other in zip(parse_files(paths, 60.0), direct, strict=True):
        assert isinstance(mine, Parsed)
        assert isinstance(other, Parsed)
        assert mine.facts == other.facts
        np.testing.assert_array_equal(mine.points, other.points)
        np.testing.assert_array_equal(mine.samples, other.samples)
    assert own == []


def test_a_name_that_is_no_unicode_is_read(write_c3d, start):
    path = write_c3d()
    strange = Path(os.fsdecode(os.fsencode(path.parent) + b"/\xff.c3d"))
    path.rename(strange)
    start()
    assert isinstance(parse_files([strange], 60.0)[0], Parsed)


@pytest.mark.parametrize(
    ("parse", "words"),
    [
        (lambda path: os.kill(os.getpid(), signal.SIGSEGV), "broke down on it (signal 11)"),
        (lambda path: time.sleep(60), "did not finish within 3 s"),
        (lambda path: bytearray(1 << 36), "impossible sizes"),
    ],
)
def test_a_reader_that_fails_costs_its_file_only(write_c3d, start, monkeypatch, parse, words):
    whole = _ezc3d.parse
    monkeypatch.setattr(_ezc3d, "parse", lambda path: (parse if "bad" in path else whole)(path))
    start()
    own = counting(monkeypatch)
    bad, good = parse_files([write_c3d("bad.c3d"), write_c3d("good.c3d")], 3.0 if "finish" in words else 60.0)
    assert isinstance(bad, Failure)
    assert words in bad.reason
    assert isinstance(good, Parsed)
    assert own == [], "the forker goes on"


def test_without_its_forker_a_process_forks_by_itself(write_c3d, start, monkeypatch):
    found = start()
    os.kill(found.pid, signal.SIGKILL)
    own = counting(monkeypatch)
    for _ in range(2):
        assert isinstance(parse_files([write_c3d()], 60.0)[0], Parsed)
    assert len(own) == 2
    with pytest.raises(ChildProcessError):  # nothing of it is left
        os.waitpid(found.pid, 0)


def test_what_a_dying_forker_leaves_in_the_pipe_is_not_taken_for_the_answer(write_c3d, start, monkeypatch):
    """It may die when it has forked a reader and not told so: two would write into the same pipe."""

    def dying(line: socket.socket) -> None:
        _, descriptors, _, _ = socket.recv_fds(line, 1 << 16, 1)
        os.write(descriptors[0], b"a part of an answer")

    monkeypatch.setattr(forker, "_serve", dying)
    start()
    assert isinstance(parse_files([write_c3d()], 60.0)[0], Parsed)


def test_a_forker_that_is_killed_while_it_is_asked_costs_no_file(write_c3d, start, monkeypatch):
    whole = _ezc3d.parse

    def parse(path):
        if os.getppid() != owner:  # the forker's reader
            os.kill(os.getppid(), signal.SIGKILL)
            time.sleep(60)
        return whole(path)

    owner = os.getpid()
    monkeypatch.setattr(_ezc3d, "parse", parse)
    start()
    assert isinstance(parse_files([write_c3d()], 60.0)[0], Parsed)


def test_a_fork_of_the_owner_starts_a_forker_of_its_own(write_c3d, start):
    """And leaves its parent's alone, by its end, too."""
    found, path = start(), write_c3d()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            own = forker.forker_of_this_process()
            read = isinstance(parse_files([path], 60.0)[0], Parsed)
            code = 0 if own is not None and own.pid != found.pid and found.line.fileno() < 0 and read else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert forker.forker_of_this_process() is found
    assert isinstance(parse_files([path], 60.0)[0], Parsed)


def test_a_thread_that_may_end_before_its_process_starts_none(write_c3d, monkeypatch):
    monkeypatch.setattr(forker, "_started", None)
    own = counting(monkeypatch)
    with ThreadPoolExecutor(1) as threads:
        answer = threads.submit(parse_files, [write_c3d()], 60.0).result()[0]
    assert isinstance(answer, Parsed)
    assert len(own) == 1
    assert forker._started is None


def test_a_process_that_has_grown_large_forks_by_itself(write_c3d, monkeypatch):
    """Its forker would keep what it frees."""
    monkeypatch.setattr(forker, "_started", None)
    monkeypatch.setattr(forker, "_LARGEST_OWNER_BYTES", 1 << 20)
    own = counting(monkeypatch)
    (found,) = parse_files([write_c3d("walk.c3d")], 60.0)
    assert isinstance(found, Parsed)
    assert len(own) == 1
    assert forker._started is None


def test_files_are_found_from_the_folder_that_the_owner_is_in(write_c3d, start, monkeypatch):
    path = write_c3d()
    start()
    monkeypatch.chdir(path.parent)
    assert isinstance(parse_files([Path(path.name)], 60.0)[0], Parsed)


def test_it_holds_nothing_of_its_owner_open(start):
    """A pipe that the owner closes is closed for whoever reads it."""
    reading, writing = os.pipe()
    start()
    os.close(writing)
    assert select.select([reading], [], [], 30.0)[0]  # as long as somebody holds it open there is nothing to read
    assert os.read(reading, 1) == b""
    os.close(reading)


def test_it_goes_on_after_an_interrupt_that_its_owner_survives(write_c3d, start, monkeypatch):
    found = start()
    os.kill(found.pid, signal.SIGINT)
    own = counting(monkeypatch)
    assert isinstance(parse_files([write_c3d()], 60.0)[0], Parsed)
    assert own == []


def test_nothing_is_left_or_told_when_its_owner_ends(write_c3d):
    code = (
        "import sys\nfrom biodyn.io import read\nfrom biodyn.io.formats.c3d import forker\n"
        "read(sys.argv[1])\nprint(forker.forker_of_this_process().pid)\n"
    )
    command = [sys.executable, "-X", "dev", "-W", "error::ResourceWarning", "-c", code, str(write_c3d())]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "ResourceWarning" not in done.stderr
    assert not Path(f"/proc/{done.stdout.strip()}").exists()


def test_it_ends_with_its_owner():
    code = (
        "import os, sys\n"
        "from biodyn.io.formats.c3d import forker\n"
        "print(forker.forker_of_this_process().pid, flush=True)\n"
        "sys.stdin.read(1)\n"
    )
    owner = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert owner.stdout is not None
    number = int(owner.stdout.readline())
    assert _runs(number)
    owner.kill()
    owner.wait()
    end = time.monotonic() + 20.0
    while _runs(number):
        assert time.monotonic() < end, "the forker outlived its owner"
        time.sleep(0.02)
    owner.communicate()


@pytest.mark.parametrize("way", ["by the forker", "by a fork", "by a new interpreter"])
def test_a_reader_that_hangs_ends_with_the_process_that_asked_for_it(tmp_path, way):
    """It hangs in the library, which holds Python's lock; the process is killed alone, as one that took too long may be."""
    pipe = tmp_path / "endless.c3d"
    os.mkfifo(pipe)
    alone = "forker.forker_of_this_process = lambda: None" if way == "by a fork" else "pass"
    code = (
        "import sys\nfrom pathlib import Path\n"
        "from biodyn.io.formats.c3d import forker\n"
        "from biodyn.io.formats.c3d._process import parse_files\n"
        f"{alone}\n"
        f"parse_files([Path(sys.argv[1])], 60.0, fork={way != 'by a new interpreter'})\n"
    )
    owner = subprocess.Popen([sys.executable, "-c", code, str(pipe)])
    end = time.monotonic() + 60.0
    written = -1
    while written < 0:
        assert time.monotonic() < end
        try:
            written = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)  # refused until somebody reads it
        except OSError:
            time.sleep(0.02)
    started = _below(owner.pid)
    assert len(started) == (2 if way == "by the forker" else 1)
    owner.kill()
    owner.wait()
    end = time.monotonic() + 5.0
    while any(map(_runs, started)) and time.monotonic() < end:
        time.sleep(0.02)
    left = [pid for pid in started if _runs(pid)]
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    os.close(written)
    assert not left


def test_elsewhere_than_on_linux_a_process_looks_after_its_parent():
    inner = (
        "import sys, time; sys.platform = 'darwin'; from biodyn.threads import ending_with\n"
        "ending_with({0})(); print(flush=True); time.sleep(60)\n"
    )
    code = (
        "import os, subprocess, sys\n"
        "inner = sys.argv[1].format(os.getpid())\n"
        "child = subprocess.Popen([sys.executable, '-c', inner], stdout=subprocess.PIPE)\n"
        "child.stdout.readline(); print(child.pid, flush=True); sys.stdin.read()\n"
    )
    pipe = subprocess.PIPE
    parent = subprocess.Popen([sys.executable, "-c", code, inner], stdin=pipe, stdout=pipe)
    assert parent.stdout is not None
    number = int(parent.stdout.readline())
    time.sleep(1.0)
    assert _runs(number)
    parent.kill()
    parent.communicate()
    end = time.monotonic() + 20.0
    while _runs(number):
        assert time.monotonic() < end, "the process outlived its parent"
        time.sleep(0.02)


def _below(pid: int) -> list[int]:
    """The processes that a process started, and those that they did."""
    parents = {}
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(place.parent.name)] = int(place.read_text().rpartition(")")[2].split()[1])
        except OSError:  # it ended meanwhile
            continue
    found = [pid]
    for one in found:
        found += [child for child, parent in parents.items() if parent == one]
    return found[1:]


def _runs(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False


@pytest.mark.skipif(sys.platform != "linux", reason="there a thread of the process looks after the starter")
def test_a_process_ends_with_the_thread_that_started_it() -> None:
    """So whoever starts one waits for it in a thread that outlives it."""
    code = f"from biodyn.threads import ending_with; ending_with({os.getpid()})(); print(flush=True); input()"
    with ThreadPoolExecutor(1) as threads:
        process = threads.submit(
            subprocess.Popen, [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ).result()
        with process:
            assert process.stdout is not None
            process.stdout.readline()
            assert process.poll() is None
            threads.shutdown()
            assert process.wait(10.0) == -signal.SIGKILL
