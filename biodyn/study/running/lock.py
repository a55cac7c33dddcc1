"""One run at a time in an output folder."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import filelock

from biodyn.errors import StudyError

LOCK_NAME = ".running"
_PATIENCE_S = 10.0  # processes of a killed run end within moments, a trial in work at the latest


@contextmanager
def only_run(out: Path, owner: str) -> Iterator[tuple[int, ...]]:
    """Hold the lock of an output folder; yields the descriptors that its trial processes should inherit.

    The lock's file stays and says whose folder it is (`owner`). Where this process is killed, the lock is held while one
    of those processes lives, so that no run begins beside what it is writing; Windows has no such inheritance.
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
    """Return whose output folder this is, empty where that is not known, None where no study was run there."""
    path = out / LOCK_NAME
    if not path.is_file():
        return None
    try:
        return os.fsdecode(path.read_bytes()).strip()
    except PermissionError:  # Windows lets nobody read a file while a run holds its lock
        return ""
