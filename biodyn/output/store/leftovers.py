"""What killed runs leave beside the folders they wrote is removed by the next one, and nothing else is."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from biodyn.output.store.owned import foreign_files, remove_owned, trial_files, walk_files
from biodyn.output.store.study_files import is_study_file

UNFINISHED, REPLACED = ".part", ".old"
#: Lies in a folder that is being written, and is locked meanwhile.
MARK = ".unfinished"
_RANDOM = "[a-z0-9_]{8}"  # as tempfile makes names
_SURELY_OVER_S = 86_400.0  # no writing takes a day
_LONGEST_NAME = 120  # bytes; with the random part and the suffix it must stay below 255


def short_name(name: str) -> str:
    """The name of a folder as it stands in the names of its temporary siblings."""
    if len(os.fsencode(name)) <= _LONGEST_NAME:
        return name
    return hashlib.sha256(os.fsencode(name)).hexdigest()[:16]


@contextmanager
def being_written(folder: Path) -> Iterator[None]:
    """Mark a folder as unfinished, and hold the mark as long as this process works on it."""
    mark = folder / MARK
    descriptor = os.open(mark, os.O_CREAT | os.O_RDWR, 0o644)
    try:
        _lock(descriptor)
        yield
    finally:
        os.close(descriptor)
    mark.unlink(missing_ok=True)  # Windows removes no file that is open


def _lock(descriptor: int) -> bool | None:
    """Lock an open file; False where another holds it, None where the file system knows no locks."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    except OSError:  # some network ones
        return None
    return True


def remove_unfinished(folder: Path) -> None:
    """Remove what killed runs left when they wrote `folder`; others may be writing it, and its siblings.

    Where a run was killed between the two renames that replace a folder, the older one takes its name again.
    """
    name = re.escape(short_name(folder.name))
    if folder.parent.is_dir():
        _remove(folder.parent, re.compile(rf"\.(?P<name>{name})\.{_RANDOM}(?P<kind>\.part|\.old)"))


def remove_all_unfinished(parent: Path, files: Iterable[str] = ()) -> None:
    """Remove what killed runs left when they wrote folders in `parent`, and the unfinished ones of these files."""
    _remove(parent, re.compile(rf"\.(?P<name>.+)\.{_RANDOM}(?P<kind>\.part|\.old)", re.DOTALL))
    for name in files:
        for left in (parent / f".{name}{UNFINISHED}", parent / f".{name}{UNFINISHED}.raw"):
            if left.is_file() and not left.is_symlink():
                left.unlink(missing_ok=True)


def _remove(parent: Path, pattern: re.Pattern[str]) -> None:
    for left in sorted(parent.iterdir()):
        match = pattern.fullmatch(left.name)
        if match is None or left.is_symlink() or not left.is_dir():
            continue
        with suppress(OSError):  # what cannot be looked into stays
            if match["kind"] == UNFINISHED:
                _remove_new(left)
            else:
                _put_back_or_remove(left, match["name"])


def _remove_new(left: Path) -> None:
    """Remove a folder that was never completed."""
    mark = left / MARK
    if mark.is_file() and not mark.is_symlink():
        descriptor = os.open(mark, os.O_RDWR)
        try:
            free = _lock(descriptor)
            old = time.time() - os.fstat(descriptor).st_mtime > _SURELY_OVER_S
        finally:
            os.close(descriptor)
        if free or (free is None and old):
            shutil.rmtree(left, ignore_errors=True)
    elif _holds_only_ours(left):
        shutil.rmtree(left, ignore_errors=True)


def _put_back_or_remove(left: Path, name: str) -> None:
    """Of a folder that was moved aside: back to its name where that is free, else away with what biodyn wrote."""
    for old in sorted(left.iterdir()):
        target = left.parent / old.name
        if short_name(old.name) == name and not os.path.lexists(target):
            os.replace(old, target)
        elif _holds_only_ours(old):
            remove_owned(old, lambda path: True)
    with suppress(OSError):
        left.rmdir()


def _holds_only_ours(folder: Path) -> bool:
    """True where every file has a name that biodyn gives: of a trial, of a study's group results, or of its pages."""
    owns = trial_files(folder)
    return not foreign_files(folder, lambda path: owns(path) or is_study_file(folder, path)) and all(
        not (folder / path).is_symlink() for path in walk_files(folder)
    )
