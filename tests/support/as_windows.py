"""A stand-in for what Windows refuses of names and paths, on a system that takes them: Python tells of each before it is done."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PureWindowsPath
from typing import Any

LONGEST_FILE, LONGEST_FOLDER = 259, 247
_MAKING = {"os.mkdir": (0,), "os.rename": (1,)}
_asked: list[Path] = []  # the folder below which it holds; a hook cannot be removed


class WindowsRefusal(OSError):
    """The system's error: it has a number of its own, as there."""

    def __init__(self, number: int, code: int, said: str, path: str) -> None:
        super().__init__(code, said, path)
        self.winerror = number


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if not _asked:
        return
    for number in (0,) if event == "open" and arguments[0] is not None else _MAKING.get(event, ()):
        if isinstance(arguments[number], (str, bytes, os.PathLike)):
            _require(os.path.abspath(os.fsdecode(arguments[number])), event)


def _require(path: str, event: str) -> None:
    if not Path(path).is_relative_to(_asked[0]):
        return
    if len(path) > (LONGEST_FOLDER if event == "os.mkdir" else LONGEST_FILE):
        if event == "open":  # of the C library
            raise FileNotFoundError(errno.ENOENT, "No such file or directory", path)
        raise WindowsRefusal(206, errno.ENOENT, "The filename or extension is too long", path)
    for part in Path(path).relative_to(_asked[0]).parts:
        if is_excluded(part):
            raise WindowsRefusal(
                123, errno.EINVAL, "The filename, directory name, or volume label syntax is incorrect", part
            )
    name = os.path.basename(path)
    if event != "open" and not os.path.exists(path) and os.path.isdir(os.path.dirname(path)):
        alike = [other for other in os.listdir(os.path.dirname(path)) if other.upper() == name.upper()]
        if alike:
            raise WindowsRefusal(183, errno.EEXIST, f"There is '{alike[0]}'", path)


def is_excluded(name: str) -> bool:
    """True of a name that Windows does not take as it is (by Python's own word for devices)."""
    return PureWindowsPath(name).is_reserved() or name != name.rstrip(". ") or bool(set(name) & set('<>:"|?*\\'))


@contextmanager
def as_on_windows(folder: Path) -> Iterator[None]:
    """Let this process meet what Windows refuses below a folder."""
    if _hook not in _installed:
        sys.addaudithook(_hook)
        _installed.append(_hook)
    _asked.append(folder)
    try:
        yield
    finally:
        _asked.clear()


_installed: list[Any] = []
