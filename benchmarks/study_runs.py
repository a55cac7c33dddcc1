"""`biodyn study` as a user starts it, watched from outside, and what it leaves: for benchmarks/study.py, on Linux.

A run stands in a session of its own, so that everything it started is found again, measured and ended. What a study left is
told by the digests of its files.
"""

from __future__ import annotations

import hashlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from common import environment_of

from biodyn.study import Study
from biodyn.study.trial_record import read_trial_record

COMMAND = (sys.executable, "-m", "biodyn.cli", "study")
WORKER = "biodyn.study.running.worker"
# Not part of the results: who works in the folder, and how long each trial took on this occasion.
_PASSING = re.compile(r"^\.running$|^trials/[^/]+/[^/]+/run\.json$")
_LONGEST_S = 3600.0


# -- processes ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Process:
    """One line of the system's process table."""

    pid: int
    parent: int
    session: int
    command: str


def processes() -> list[Process]:
    """Return the processes of this machine, from /proc."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            # the command's name stands in brackets and may hold anything
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except (FileNotFoundError, ProcessLookupError):
            continue
        if fields[0] != "Z":
            found.append(Process(int(entry.name), int(fields[1]), int(fields[3]), command))
    return found


def peak_mb(pid: int) -> float:
    """Return the largest resident memory a process had so far, MB; 0 when it is gone."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    return int(found[1]) / 1024.0 if found else 0.0


@dataclass
class Run:
    """`biodyn study` as a user starts it, in a session of its own.

    Attributes:
        lasted_s: from the start to the end, once `wait` saw it.
        peaks: largest memory (MB) seen of the coordinator ("coordinator") and of each of its processes by number.
    """

    process: subprocess.Popen[bytes]
    log: Path
    started: float = field(default_factory=time.monotonic)
    peaks: dict[str, float] = field(default_factory=dict)
    lasted_s: float = 0.0

    def members(self) -> list[Process]:
        """The coordinator and all it started, wherever they hang in the tree."""
        return [process for process in processes() if process.session == self.process.pid]

    def workers(self) -> list[Process]:
        """The trial processes, and what reads a file for them."""
        return [process for process in self.members() if WORKER in process.command]

    def kill(self) -> None:
        """Kill -9 every process of the run at once."""
        for member in self.members():
            kill(member.pid)
        self.process.wait()

    def kill_group(self) -> None:
        """Kill -9 the process group of the coordinator, as a shell does; its workers must notice by themselves."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def wait(self, seconds: float = _LONGEST_S, every_s: float = 0.1) -> int | None:
        """Wait for the end and watch the memory; return the exit code, None where the time passed before."""
        end = time.monotonic() + seconds
        while self.process.poll() is None:
            if time.monotonic() > end:
                return None
            self._watch()
            time.sleep(min(every_s, max(0.0, end - time.monotonic())))
        self.lasted_s = self.lasted_s or time.monotonic() - self.started
        return self.process.returncode

    def said(self) -> str:
        """What it has printed."""
        return self.log.read_text(errors="replace")

    def _watch(self) -> None:
        for member in self.members():
            name = "coordinator" if member.pid == self.process.pid else f"worker {member.pid}"
            if name == "coordinator" or (WORKER in member.command and member.parent == self.process.pid):
                self.peaks[name] = max(self.peaks.get(name, 0.0), peak_mb(member.pid))


def kill(pid: int) -> None:
    """Kill -9 a process; one that is gone already is no matter."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


@contextmanager
def started(folder: Path, out: Path, *options: str, tree: Path | None = None, log: Path | None = None) -> Iterator[Run]:
    """Start `biodyn study`, of another tree where one is given, and leave nothing of it behind; `log`: by default OUT.log."""
    log = log or out.with_name(f"{out.name}.log")
    with log.open("wb") as stream:
        process = subprocess.Popen(
            [*COMMAND, str(folder), "--out", str(out), *options],
            env=None if tree is None else environment_of(tree),
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    run = Run(process, log)
    try:
        yield run
    finally:
        run.kill()


def finish(folder: Path, out: Path, *options: str, tree: Path | None = None) -> Run:
    """Run a study to its end; SystemExit with its output where it ends in another way than done or some trials failed."""
    with started(folder, out, *options, tree=tree) as run:
        code = run.wait()
    if code not in (0, 1, 3):
        raise SystemExit(f"biodyn study ended with {code}:\n{run.said()}")
    return run


# -- results --------------------------------------------------------------------------------------------------------


def fingerprint(out: Path) -> dict[str, str]:
    """Return a digest of every file of a finished study but what is different on every occasion."""
    digests = {}
    for path in sorted(p for p in out.rglob("*") if p.is_file()):
        name = path.relative_to(out).as_posix()
        if not _PASSING.search(name):
            digests[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return digests


def differences(mine: Mapping[str, str], theirs: Mapping[str, str]) -> list[str]:
    """Return one line for every file that two studies do not share."""
    found = [f"only one has {name}" for name in sorted(mine.keys() ^ theirs.keys())]
    return found + [f"{name} differs" for name in sorted(mine.keys() & theirs.keys()) if mine[name] != theirs[name]]


def left_over(out: Path) -> list[str]:
    """Return what is neither a result nor the lock: temporary files of killed runs."""
    names = [path.relative_to(out).as_posix() for path in sorted(out.rglob(".*"))]
    return [name for name in names if name != ".running"]


def trial_states(folder: Path, out: Path) -> dict[Path, tuple[str, str]]:
    """Return (status, reason and hint) of every trial by its file; "missing" where no record stands."""
    states = {}
    for trial in Study.open(folder).plan.trials:
        record = read_trial_record(out / trial.folder)
        text = "" if record is None else f"{record.reason} {record.hint}"
        states[folder / trial.path] = ("missing" if record is None else record.status, text)
    return states
