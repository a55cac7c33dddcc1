"""One run at a time in an output folder."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from biodyn.errors import StudyError

LOCK_NAME = ".running"
_PATIENCE_S = 10.0  # processes of a killed run end within moments, a trial in work at the latest


@contextmanager
def only_run(out: Path, owner: str) -> Iterator[tuple[int, ...]]:
    """Hold the lock of an output folder; yields the descriptors that its trial processes should inherit.

    The lock's file stays and says whose folder it is (`owner`).
    While one of them lives the lock is held, so that no run begins beside what a killed one left working.
    Raises StudyError where another run holds it. Where the file system knows no locks, nothing is held.
    """
    if os.name != "posix":
        (out / LOCK_NAME).write_bytes(os.fsencode(f"{owner}\n"))
        yield ()
        return
    import fcntl

    lock = os.open(out / LOCK_NAME, os.O_CREAT | os.O_RDWR, 0o644)
    try:
        last = time.monotonic() + _PATIENCE_S
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > last:
                    raise StudyError(
                        f"Another run is working in '{out}'.", "Wait until it is done, or choose another --out."
                    ) from None
                time.sleep(0.1)
            except OSError:  # no locks on this file system (some network ones)
                break
        os.ftruncate(lock, 0)
        os.pwrite(lock, os.fsencode(f"{owner}\n"), 0)  # a folder's name need not be Unicode
        yield (lock,)
    finally:
        os.close(lock)
