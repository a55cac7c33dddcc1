"""Task of a trial process and its outcome, program version, and lock of the output folder.

This module has few imports, because the supervisor of the trial processes starts with it.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import filelock
from pydantic import TypeAdapter

from biodyn.errors import StudyError
from biodyn.output.store.folder import RECORD_NAME, remove_unfinished_folders, replace_folder, trial_file_test
from biodyn.study.plan import PlannedTrial
from biodyn.study.trial_record import CYCLES_NAME, FAILED, Status, TrialRecord, read_trial_record, write_trial_record
from biodyn.version import VERSION

TRACEBACK_NAME = "error.txt"


@dataclass(frozen=True)
class Limits:
    """Limits of one trial: time, s, and memory of its process, MB (0: no limit)."""

    time_s: float = 300.0
    memory_mb: int = 2048


@dataclass(frozen=True)
class Task:
    """One trial to analyse.

    Attributes:
        trial: planned trial. root: absolute folder of the recordings. out: absolute output folder of the study.
        program: `program_version()` of the supervisor; a worker with another version rejects the task.
        limits: limits of the trial. retry: whether to analyse a trial again that failed before.
        reports: trials that get a report.html: "all", "warn" (warn and fail) or "none"; existing reports are kept.
    """

    trial: PlannedTrial
    root: Path
    out: Path
    program: str
    limits: Limits = Limits()
    retry: bool = False
    reports: str = "none"

    def requires_report(self, status: Status) -> bool:
        """Return whether a trial with this status gets a report."""
        return (self.reports == "all" and status != FAILED) or (self.reports == "warn" and status in ("warn", "fail"))

    @property
    def folder(self) -> Path:
        """Return the result folder of the trial."""
        return self.out / self.trial.folder


_TASK: TypeAdapter[Task] = TypeAdapter(Task)


def task_to_json(task: Task) -> bytes:
    """Return a task for a trial process as one line of JSON; undecodable file names are preserved."""
    return json.dumps(_TASK.dump_python(task), default=os.fspath).encode("ascii")


def task_from_json(line: bytes | str) -> Task:
    """Return the task from a line written by `task_to_json`."""
    return _TASK.validate_python(json.loads(line))


def limited_key(key: str, limits: Limits) -> str:
    """Return the key of a trial combined with its limits, for a trial that failed because it exceeded them."""
    return f"{key} within {limits.time_s:g} s, {limits.memory_mb} MB"


@dataclass(frozen=True)
class Outcome:
    """Outcome of a task: status and reason of the record; `kept`: whether an earlier result is still valid."""

    subject: str
    trial: str
    status: Status
    reason: str = ""
    kept: bool = False

    @property
    def failed(self) -> bool:
        """Return whether the trial has no result."""
        return self.status == FAILED


def task_outcome(trial: PlannedTrial, record: TrialRecord, kept: bool = False) -> Outcome:
    """Return the outcome of a task from the record of its trial; `kept`: whether the record is from an earlier run."""
    return Outcome(trial.subject, trial.trial, record.status, record.reason, kept)


def outcome_without_report(previous: Outcome, reason: str) -> Outcome:
    """Return the outcome of an earlier result that is kept although its report could not be written."""
    return replace(previous, reason=f"{previous.reason} Its report was not written: {reason}".strip())


def kept_record(task: Task, key: str) -> TrialRecord | None:
    """Return the record of an earlier run if its key is `key` and its files are complete; None otherwise."""
    record = read_trial_record(task.folder)
    if record is None or record.key not in (key, limited_key(key, task.limits)) or (record.failed and task.retry):
        return None
    if not record.failed and not all((task.folder / name).is_file() for name in (RECORD_NAME, CYCLES_NAME)):
        return None
    return record


def write_failure(folder: Path, record: TrialRecord, trace: str = "") -> None:
    """Write the record of a failure into the result folder of the trial."""
    remove_unfinished_folders(folder)
    with replace_folder(folder, trial_file_test) as place:
        if trace:
            (place / TRACEBACK_NAME).write_text(trace, encoding="utf-8")
        write_trial_record(record, place)


_PROGRAM_FILES = (".py", ".toml", ".j2")


@cache
def program_version() -> str:
    """Return the version number with a digest of the program files, which changes when the program is edited."""
    root = Path(__file__).parents[2]
    digest = hashlib.sha256()
    for path in sorted(p for p in root.rglob("*") if p.suffix in _PROGRAM_FILES):
        digest.update(f"{path.relative_to(root).as_posix()}\0".encode())
        digest.update(path.read_bytes())
    return f"{VERSION}+{digest.hexdigest()[:12]}"


LOCK_NAME = ".running"
_PATIENCE_S = 10.0  # time after which processes of a killed run have ended, s


@contextmanager
def lock_output_folder(out: Path, owner: str) -> Iterator[tuple[int, ...]]:
    """Hold the lock of an output folder; yields the descriptors for its trial processes to inherit.

    The lock file is kept and states the `owner` of the folder. If this process is killed, the lock is held until its trial
    processes end, so that no other run starts while they write (not on Windows). Raises StudyError if another run holds the
    lock. File systems that do not support locks have none.
    """
    held: list[int] = []

    def write_owner(descriptor: int) -> None:
        os.ftruncate(descriptor, 0)
        os.lseek(descriptor, 0, os.SEEK_SET)
        os.write(descriptor, os.fsencode(f"{owner}\n"))  # the name of a folder may not be valid Unicode
        held.append(descriptor)

    path = out / LOCK_NAME
    lock = filelock.FileLock(
        path, timeout=_PATIENCE_S, mode=0o644, fallback_to_soft=False, preserve_lock_file=True, on_acquired=write_owner
    )
    try:
        lock.acquire()
    except filelock.Timeout:
        raise StudyError(
            f"Another run is writing to '{out}'.", "Wait until it has finished, or choose another --out."
        ) from None
    except (OSError, NotImplementedError):  # no locks on this file system (some network ones)
        path.write_bytes(os.fsencode(f"{owner}\n"))
    try:
        yield tuple(held) if sys.platform != "win32" else ()
    finally:
        lock.release()


def require_output_folder(out: Path) -> None:
    """Raise StudyError if the output folder of a run no longer exists, so that nothing is written in its place."""
    if not (out / LOCK_NAME).exists():
        raise StudyError(
            f"The output folder '{out}' does not exist any more.",
            "Restore it (mount its disk), and run the study again; it resumes.",
        )


def read_owner(out: Path) -> str | None:
    """Return the owner of an output folder; "" if unknown, None if it has no study."""
    path = out / LOCK_NAME
    if not path.is_file():
        return None
    try:
        return os.fsdecode(path.read_bytes()).strip()
    except PermissionError:  # Windows: a locked file is not readable
        return ""
