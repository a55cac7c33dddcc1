"""Two parts side by side: the same values, faults and order as one after the other."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextvars import Context
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits
from typer.testing import CliRunner

from biodyn import run_trial, threads
from biodyn.cli import app
from biodyn.errors import BiodynError, SettingsError
from biodyn.estimation.banded import Factor, Normal
from biodyn.study.running.trial_process import _ONE_THREAD
from biodyn.threads import (
    ONE_THREAD,
    PROCESSORS_VARIABLE,
    by_halves,
    linear_algebra_in_one_thread,
    processors,
    side_by_side,
    threads_of_a_trial,
)


@pytest.fixture
def two(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("biodyn.threads.processors", lambda: 2)
    monkeypatch.delenv(PROCESSORS_VARIABLE, raising=False)


@pytest.mark.usefixtures("two")
def test_both_parts_run_at_the_same_time() -> None:
    met = threading.Barrier(2, timeout=10.0)  # one part alone would wait for the other until it breaks
    assert side_by_side(lambda: met.wait() >= 0, lambda: met.wait() >= 0) == (True, True)


@pytest.mark.parametrize("allowed", ["1", " 1 ", "01"])
@pytest.mark.usefixtures("two")
def test_a_process_that_may_take_one_processor_starts_no_thread(allowed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PROCESSORS_VARIABLE, allowed)
    assert threads_of_a_trial() == 1
    assert side_by_side(threading.get_ident, threading.get_ident) == (threading.get_ident(),) * 2


@pytest.mark.parametrize("allowed", ["0", "-1", "1.5", "two", "all", "\u00b2", "\u0662"])
def test_a_number_of_processors_that_is_none_is_refused(allowed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In Python and by every command, before any work: one sentence, exit code 2."""
    monkeypatch.setenv(PROCESSORS_VARIABLE, allowed)
    with pytest.raises(SettingsError, match=f"{PROCESSORS_VARIABLE} is '{allowed}': expected a whole number"):
        threads_of_a_trial()
    for command in (["models"], ["run", "no-such-file.c3d"]):
        done = CliRunner().invoke(app, command)
        assert done.exit_code == 2
        (line,) = done.stderr.splitlines()
        assert line.startswith(f"biodyn: The environment variable {PROCESSORS_VARIABLE} is '{allowed}'")
        assert "no-such-file" not in line


@pytest.mark.parametrize("allowed", ["", " ", "2", "64"])
@pytest.mark.usefixtures("two")
def test_more_processors_are_two(allowed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PROCESSORS_VARIABLE, allowed)
    assert threads_of_a_trial() == 2


@pytest.mark.parametrize(
    ("files", "worth"),
    [
        ({"cpu.max": "150000 100000"}, 2),
        ({"cpu.max": "max 100000"}, math.inf),
        ({"cpu/cpu.cfs_quota_us": "100000", "cpu/cpu.cfs_period_us": "100000"}, 1),
        ({"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, math.inf),
        ({}, math.inf),
    ],
)
def test_a_limit_of_processor_time_counts_as_fewer_processors(
    files: dict[str, str], worth: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"{text}\n")
    assert threads._time_limit(tmp_path) == worth
    free = processors()
    monkeypatch.setattr(threads, "_time_limit", lambda: worth)
    assert processors() == min(free, worth)


def test_workers_of_a_study_take_one_processor_each() -> None:
    assert _ONE_THREAD[PROCESSORS_VARIABLE] == "1"


@pytest.mark.usefixtures("two")
def test_parts_of_parts_start_no_further_threads() -> None:
    def inner() -> tuple[int, int]:
        return side_by_side(threading.get_ident, threading.get_ident)

    for own in side_by_side(inner, inner):
        assert own[0] == own[1]


@pytest.mark.usefixtures("two")
def test_what_a_part_raises_is_raised_here_when_both_have_ended() -> None:
    begun, ended = threading.Event(), []

    def fail(name: str) -> None:
        raise ValueError(name)

    def fail_beside(name: str) -> None:
        assert begun.wait(10.0)
        fail(name)

    def last() -> None:
        begun.set()
        time.sleep(0.05)
        ended.append(True)

    with pytest.raises(ValueError, match="first"):
        side_by_side(lambda: fail_beside("first"), last)
    assert ended == [True]
    with pytest.raises(ValueError, match="second"):
        side_by_side(last, lambda: fail("second"))
    with pytest.raises(ValueError, match="first"):  # as one after the other, where the second is never begun
        side_by_side(lambda: fail("first"), lambda: fail("second"))


@pytest.mark.usefixtures("two")
def test_no_thread_is_left_when_no_part_came_for_a_while() -> None:
    side_by_side(lambda: None, lambda: None)
    limit = time.monotonic() + 30.0
    while [thread for thread in threading.enumerate() if "beside" in thread.name]:
        assert time.monotonic() < limit
        time.sleep(0.01)
    met = threading.Barrier(2, timeout=10.0)  # and another one comes when it is asked for
    assert side_by_side(lambda: met.wait() >= 0, lambda: met.wait() >= 0) == (True, True)


@pytest.mark.usefixtures("two")
def test_a_part_that_the_other_thread_does_not_come_to_is_done_here() -> None:
    """Another caller keeps it busy; what this caller's first part raises leaves the second one undone."""
    busy, free = threading.Event(), threading.Event()

    def until_free() -> None:
        busy.set()
        assert free.wait(30.0)

    def keep_busy() -> None:
        side_by_side(lambda: free.wait(30.0), until_free)

    caller = threading.Thread(target=keep_busy)
    caller.start()
    try:
        assert busy.wait(10.0)
        assert side_by_side(threading.get_ident, threading.get_ident) == (threading.get_ident(),) * 2
        done: list[bool] = []
        with pytest.raises(ZeroDivisionError):
            side_by_side(lambda: 1 / 0, lambda: done.append(True))
    finally:
        free.set()
        caller.join()
    side_by_side(lambda: None, lambda: None)  # behind what was handed over and taken back
    assert not done


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
@pytest.mark.usefixtures("two")
def test_a_forked_process_has_a_thread_of_its_own() -> None:
    side_by_side(lambda: None, lambda: None)
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            met = threading.Barrier(2, timeout=10.0)
            code = 0 if side_by_side(lambda: met.wait() >= 0, lambda: met.wait() >= 0) == (True, True) else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


@pytest.mark.usefixtures("two")
def test_where_no_thread_can_be_started_one_does_both(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    assert side_by_side(threading.get_ident, threading.get_ident) == (threading.get_ident(),) * 2


@pytest.mark.usefixtures("two")
def test_the_other_part_keeps_what_the_caller_set() -> None:
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        side_by_side(lambda: None, lambda: np.ones(1) / np.zeros(1))


@pytest.mark.usefixtures("two")
def test_the_other_part_keeps_it_where_a_new_context_would_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before numpy 2 a thread has its own settings, whatever context it runs in."""
    monkeypatch.setattr("biodyn.threads.copy_context", Context)
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        side_by_side(lambda: None, lambda: np.ones(1) / np.zeros(1))


@pytest.mark.parametrize("frames", [0, 1, 199, 200, 1001])
@pytest.mark.usefixtures("two")
def test_halves_cover_every_frame_once(frames: int) -> None:
    met = np.zeros(frames, dtype=np.int64)

    def work(part: slice) -> None:
        met[part] += 1

    by_halves(frames, work)
    assert (met == 1).all()


@pytest.mark.usefixtures("two")
def test_equations_are_solved_to_the_same_bits_with_one_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    def solved() -> bytes:
        rng, n, reach, frames = np.random.default_rng(3), 9, 4, 301
        normal = Normal.empty(frames, reach, n)
        normal.add_wide(0, rng.normal(size=(frames - reach, 7, reach + 1, n)), rng.normal(size=(frames - reach, 7)))
        normal.add_diagonal(0, np.ones(1), np.ones((frames, n)), np.zeros((frames, n)))
        return Factor(normal).solve(normal.g).tobytes()

    several = {solved() for _ in range(5)}
    monkeypatch.setenv(PROCESSORS_VARIABLE, "1")
    assert several == {solved()}


@pytest.mark.skipif(sys.platform == "win32", reason="there is no signal to send")
def test_ctrl_c_ends_both_parts(tmp_path: Path) -> None:
    """The interpreter ends as it does without threads: when the other part, which cannot be interrupted, has."""
    ready = tmp_path / "ready"
    code = (
        "import biodyn.threads as t, time, pathlib, signal; t.processors = lambda: 2; "
        "signal.signal(signal.SIGINT, signal.default_int_handler); "  # a shell's background job ignores it
        f"t.side_by_side(lambda: (pathlib.Path({str(ready)!r}).touch(), time.sleep(60)), lambda: time.sleep(0.5))"
    )
    environment = {name: value for name, value in os.environ.items() if name != PROCESSORS_VARIABLE}
    with subprocess.Popen([sys.executable, "-c", code], env=environment, stderr=subprocess.PIPE) as process:
        try:
            while not ready.exists():
                assert process.poll() is None
                time.sleep(0.01)
            process.send_signal(signal.SIGINT)
            _, told = process.communicate(timeout=30.0)
        finally:
            process.kill()
    assert b"KeyboardInterrupt" in told
    assert process.returncode != 0


_SAMPLE = Path(__file__).parents[1] / "sample_data" / "subject01" / "walk01.c3d"


def threads_of_linear_algebra() -> set[int]:
    return {one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"}


@pytest.fixture
def of_two_threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A process whose user has said nothing, with two threads of linear algebra."""
    for name in ONE_THREAD:
        monkeypatch.delenv(name, raising=False)
    with threadpool_limits(2, user_api="blas"):
        yield


@pytest.mark.usefixtures("of_two_threads")
def test_an_analysis_that_python_calls_takes_one_thread_of_linear_algebra() -> None:
    during: list[set[int]] = []
    run_trial(_SAMPLE, progress=lambda step: during.append(threads_of_linear_algebra()))
    assert len(during) > 3
    assert all(one == {1} for one in during)
    assert threads_of_linear_algebra() == {2}


@pytest.mark.usefixtures("of_two_threads")
def test_what_overlaps_gives_back_what_the_first_found() -> None:
    one, other = linear_algebra_in_one_thread(), linear_algebra_in_one_thread()
    with one:
        other.__enter__()
    assert threads_of_linear_algebra() == {1}
    other.__exit__(None, None, None)
    assert threads_of_linear_algebra() == {2}


@pytest.mark.usefixtures("of_two_threads")
def test_an_analysis_that_fails_gives_the_threads_back(tmp_path: Path) -> None:
    with pytest.raises(BiodynError):
        run_trial(tmp_path / "none.c3d")
    assert threads_of_linear_algebra() == {2}


@pytest.mark.usefixtures("of_two_threads")
def test_what_the_user_says_of_threads_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "2")
    with linear_algebra_in_one_thread():
        assert threads_of_linear_algebra() == {2}
