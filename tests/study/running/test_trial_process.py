"""A trial process may crash, hang, be killed or refuse: it costs its trial, and is told in one sentence."""

from __future__ import annotations

import errno
import io
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from biodyn.errors import StudyError
from biodyn.output.store.folder import RECORD_NAME
from biodyn.study.plan import PlannedTrial
from biodyn.study.running.task import LOCK_NAME, Limits, Task
from biodyn.study.running.task_execution import TrialProcess
from biodyn.study.trial_record import CYCLES_NAME, TrialRecord, read_trial_record, write_trial_record

# A process that speaks the protocol and does what the subject's name says. It keeps count of its starts in a file.
_ACTOR = r"""
import json, os, signal, sys, time
say = lambda **m: (sys.stdout.write(json.dumps(m) + "\n"), sys.stdout.flush())
say(ready=True)
for line in sys.stdin:
    task = json.loads(line)
    role, name = task["trial"]["subject"].split("-")[0], task["trial"]["trial"]
    say(key="k")
    count = os.path.join(task["out"], role)
    starts = int(open(count).read()) + 1 if os.path.exists(count) else 1
    open(count, "w").write(str(starts))
    if role == "crash" or (role == "crashonce" and starts == 1):
        os.abort()
    if role == "killed" or (role == "killedtwice" and starts <= 2):
        os.kill(os.getpid(), signal.SIGKILL)
    if role == "leave":
        sys.exit(3)
    if role == "hang":
        time.sleep(60)
    if role == "refuse":
        say(fatal="No room.", hint="Make room.")
        continue
    say(outcome=dict(subject=task["trial"]["subject"], trial=name, status="pass", reason="", kept=False))
"""


@pytest.fixture
def process() -> Iterator[TrialProcess]:
    watched = TrialProcess(Limits(time_s=2.0), command=(sys.executable, "-c", _ACTOR))
    yield watched
    watched.close()


def _task(out: Path, role: str) -> Task:
    (out / LOCK_NAME).touch()
    return Task(PlannedTrial(role, "t", Path("a.c3d")), out, out, "program")


@pytest.mark.parametrize("role", ["fine", "crashonce", "killedtwice"])
def test_a_trial_whose_process_died_for_once_is_done_by_another(
    tmp_path: Path, process: TrialProcess, role: str
) -> None:
    assert process.run(_task(tmp_path, role)).status == "pass"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("role", "error", "words", "starts"),
    [
        ("crash", "Crash", "SIGABRT", 2),
        ("leave", "Crash", "exit status 3", 2),
        ("killed", "Killed", "killed 10 times", 10),
        ("hang", "TimeLimit", "2 s", 1),
    ],
)
def test_a_trial_that_keeps_breaking_its_process_fails_with_its_reason(
    tmp_path: Path, process: TrialProcess, role: str, error: str, words: str, starts: int
) -> None:
    outcome = process.run(_task(tmp_path, role))
    assert outcome.status == "failed"
    assert words in outcome.reason
    record = read_trial_record(tmp_path / "trials" / role / "t")
    assert record is not None
    assert record.error == error
    assert record.reason == outcome.reason
    assert (tmp_path / role).read_text() == str(starts)
    assert process.run(_task(tmp_path, "fine")).status == "pass", "the next trial must not suffer"


class _EndedPipe(io.BytesIO):
    """What Windows makes of a pipe whose reader has ended."""

    def write(self, _: object) -> int:
        raise OSError(errno.EINVAL, "Invalid argument")


def test_a_process_that_ended_before_its_task_is_noticed_on_windows(
    tmp_path: Path, process: TrialProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    process.start()
    first = process._process
    assert first is not None
    assert first.stdin is not None
    real, first.stdin = first.stdin, _EndedPipe()
    real.close()  # it ends, as one that crashed between two trials
    assert process.run(_task(tmp_path, "fine")).status == "pass"
    assert process._process is not first


def test_what_is_true_of_every_trial_ends_the_study(tmp_path: Path, process: TrialProcess) -> None:
    with pytest.raises(StudyError, match="No room"):
        process.run(_task(tmp_path, "refuse"))


def test_a_process_that_cannot_start_is_said() -> None:
    with pytest.raises(StudyError, match="exit status 7"):
        TrialProcess(Limits(), command=(sys.executable, "-c", "raise SystemExit(7)")).start()


def test_a_process_that_says_why_it_cannot_work_is_heard() -> None:
    code = """print('{"fatal": "No kernels.", "hint": "Compile."}', flush=True); input()"""
    with pytest.raises(StudyError, match="No kernels"):
        TrialProcess(Limits(), command=(sys.executable, "-c", code)).start()


def test_closing_from_another_thread_ends_the_work_and_starts_nothing_again(
    tmp_path: Path, process: TrialProcess
) -> None:
    caught: list[BaseException] = []

    def work() -> None:
        try:
            process.run(_task(tmp_path, "hang"))
        except StudyError as error:
            caught.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    while not (tmp_path / "hang").exists():
        time.sleep(0.01)
    process.close()
    thread.join(10.0)
    assert not thread.is_alive()
    assert len(caught) == 1


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a process with its parent")
def test_a_worker_dies_with_its_parent(tmp_path: Path) -> None:
    code = (
        "import sys, time\n"
        "from biodyn.study.running.task_execution import TrialProcess\n"
        "from biodyn.study.running.task import Limits\n"
        "process = TrialProcess(Limits()); process.start()\n"
        "print(process._process.pid, flush=True); time.sleep(60)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    worker = int(parent.stdout.readline())
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    for _ in range(500):
        if not _is_alive(worker):
            return
        time.sleep(0.01)
    os.kill(worker, signal.SIGKILL)
    pytest.fail("the worker outlived its parent by 5 s")


def _is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


@pytest.mark.slow
@pytest.mark.parametrize("role", ["crash", "hang", "killed"])
def test_a_result_stays_where_only_its_report_breaks_the_process(
    tmp_path: Path, process: TrialProcess, role: str
) -> None:
    task = _task(tmp_path, role)
    task.folder.mkdir(parents=True)
    for name in (RECORD_NAME, CYCLES_NAME):
        (task.folder / name).write_text("made before")
    write_trial_record(TrialRecord("k", "warn", reason="Residual."), task.folder)
    outcome = process.run(task)
    assert (outcome.status, outcome.kept) == ("warn", True)
    assert outcome.reason.startswith("Residual. Its report was not written: ")
    assert read_trial_record(task.folder) == TrialRecord("k", "warn", reason="Residual.")
    assert (task.folder / CYCLES_NAME).read_text() == "made before"
    write_trial_record(TrialRecord("of other inputs", "warn"), task.folder)
    assert process.run(task).failed
    assert read_trial_record(task.folder) not in (None, TrialRecord("of other inputs", "warn"))
