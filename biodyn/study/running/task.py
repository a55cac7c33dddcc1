"""Request to a trial process and its outcome, program version, lock of the output folder; few imports, for the supervisor."""

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
from biodyn.output.store.folder import RECORD_NAME, remove_unfinished, replace_folder, trial_files
from biodyn.study.plan import PlannedTrial
from biodyn.study.record import CYCLES_NAME, FAILED, Status, TrialRecord, read_record, write_record
from biodyn.version import VERSION

TRACEBACK_NAME = "error.txt"


@dataclass(frozen=True)
class Limits:
    """What one trial may use: seconds of time, and memory of its process, MB (0: any)."""

    time_s: float = 300.0
    memory_mb: int = 2048


@dataclass(frozen=True)
class Task:
    """One trial to analyse.

    Attributes:
        trial: from the plan. root: folder of the study's files. out: output folder of the study; both absolute.
        program: `program_version()` of who asks; a worker with another one refuses.
        limits: what the trial may use. retry: analyse a trial again that failed before.
        reports: which trials get a report.html: "all", "warn" (warn and fail) or "none"; one that is there stays.
    """

    trial: PlannedTrial
    root: Path
    out: Path
    program: str
    limits: Limits = Limits()
    retry: bool = False
    reports: str = "none"

    def wants_report(self, status: Status) -> bool:
        """Whether a trial with this outcome is to have a report."""
        return (self.reports == "all" and status != FAILED) or (self.reports == "warn" and status in ("warn", "fail"))

    @property
    def folder(self) -> Path:
        """The trial's result folder."""
        return self.out / self.trial.folder


_TASK: TypeAdapter[Task] = TypeAdapter(Task)


def as_json(task: Task) -> bytes:
    """Return a task for a trial process, in one line; names of files that are no text are kept."""
    return json.dumps(_TASK.dump_python(task), default=os.fspath).encode("ascii")


def from_json(line: bytes | str) -> Task:
    """Return the task that `as_json` wrote."""
    return _TASK.validate_python(json.loads(line))


def limited(key: str, limits: Limits) -> str:
    """Return the key of a trial that exceeded its limits: larger limits change it."""
    return f"{key} within {limits.time_s:g} s, {limits.memory_mb} MB"


@dataclass(frozen=True)
class Outcome:
    """What became of a task: the record's status and reason; `kept` where an earlier result still holds."""

    subject: str
    trial: str
    status: Status
    reason: str = ""
    kept: bool = False

    @property
    def failed(self) -> bool:
        """True where the trial has no result."""
        return self.status == FAILED


def outcome_of(trial: PlannedTrial, record: TrialRecord, kept: bool = False) -> Outcome:
    """Return the outcome that a record tells of."""
    return Outcome(trial.subject, trial.trial, record.status, record.reason, kept)


def without_report(previous: Outcome, reason: str) -> Outcome:
    """Return the outcome of a result that is kept although its report could not be made now."""
    return replace(previous, reason=f"{previous.reason} Its report was not made: {reason}".strip())


def kept_record(task: Task, key: str) -> TrialRecord | None:
    """Return the record of an earlier run with this key and complete files, or None."""
    record = read_record(task.folder)
    if record is None or record.key not in (key, limited(key, task.limits)) or (record.failed and task.retry):
        return None
    if not record.failed and not all((task.folder / name).is_file() for name in (RECORD_NAME, CYCLES_NAME)):
        return None
    return record


def write_failed(folder: Path, record: TrialRecord, trace: str = "") -> None:
    """Put the record of a failure where the trial's result would be."""
    remove_unfinished(folder)
    with replace_folder(folder, trial_files) as place:
        if trace:
            (place / TRACEBACK_NAME).write_text(trace, encoding="utf-8")
        write_record(record, place)


_PROGRAM_FILES = (".py", ".toml", ".j2")


@cache
def program_version() -> str:
    """Version number and a digest of the program's own files: an edited program is another program."""
    root = Path(__file__).parents[2]
    digest = hashlib.sha256()
    for path in sorted(p for p in root.rglob("*") if p.suffix in _PROGRAM_FILES):
        digest.update(f"{path.relative_to(root).as_posix()}\0".encode())
        digest.update(path.read_bytes())
    return f"{VERSION}+{digest.hexdigest()[:12]}"


LOCK_NAME = ".running"
_PATIENCE_S = 10.0  # processes of a killed run end within moments, a trial in work at the latest


@contextmanager
def only_run(out: Path, owner: str) -> Iterator[tuple[int, ...]]:
    """Hold the lock of an output folder; yields the descriptors that its trial processes should inherit.

    The lock file stays and names the `owner` of the folder. If this process is killed, the lock is held until its trial processes
    end, so that no other run starts while they write (not on Windows).
    Raises StudyError where another run holds it. Where the file system knows no locks, nothing is held.
    """
    held: list[int] = []

    def acquired(descriptor: int) -> None:
        os.ftruncate(descriptor, 0)
        os.lseek(descriptor, 0, os.SEEK_SET)
        os.write(descriptor, os.fsencode(f"{owner}\n"))  # a folder's name need not be Unicode
        held.append(descriptor)

    path = out / LOCK_NAME
    lock = filelock.FileLock(
        path, timeout=_PATIENCE_S, mode=0o644, fallback_to_soft=False, preserve_lock_file=True, on_acquired=acquired
    )
    try:
        lock.acquire()
    except filelock.Timeout:
        raise StudyError(
            f"Another run is working in '{out}'.", "Wait until it is done, or choose another --out."
        ) from None
    except (OSError, NotImplementedError):  # no locks on this file system (some network ones)
        path.write_bytes(os.fsencode(f"{owner}\n"))
    try:
        yield tuple(held) if sys.platform != "win32" else ()
    finally:
        lock.release()


def require_there(out: Path) -> None:
    """Raise StudyError where an output folder that a run holds is not there any more: nothing is written in its place."""
    if not (out / LOCK_NAME).exists():
        raise StudyError(
            f"The output folder '{out}' is gone.",
            "Bring it back (mount its disk), and run the study again: it resumes.",
        )


def owner_of(out: Path) -> str | None:
    """Return the owner of an output folder, empty if unknown, None without a study."""
    path = out / LOCK_NAME
    if not path.is_file():
        return None
    try:
        return os.fsdecode(path.read_bytes()).strip()
    except PermissionError:  # Windows: a locked file is not readable
        return ""
