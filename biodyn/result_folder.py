"""Result folders appear whole or not at all: written beside their place, then renamed."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from biodyn.errors import ResultError

RECORD_NAME = "run.json"
_UNFINISHED, _REPLACED = ".part", ".old"
_SHOWN = 120  # characters of a path on the screen


def require_free(folder: Path, force: bool) -> None:
    """Raise ResultError if `folder` cannot become a result folder.

    An existing folder is replaced only with `force`, and only if it is empty or itself a result.
    """
    if not _exists(folder):
        above = next((parent for parent in _without_links(folder).parents if parent.exists()), None)
        if above is None or not above.is_dir() or not os.access(above, os.W_OK | os.X_OK):
            raise ResultError(
                f"'{folder}' cannot be written: '{above}' is no folder to write into.", "Choose another --out."
            )
        _try_to_write(folder, above)
        return
    if not folder.is_dir():
        raise ResultError(f"'{folder}' is a file, not a folder.", "Choose another --out.")
    try:
        if not any(folder.iterdir()):
            return
    except OSError as error:
        raise ResultError(f"'{folder}' cannot be read: {error.strerror}.", "Choose another --out.") from error
    if not (folder / RECORD_NAME).is_file():
        raise ResultError(
            f"'{folder}' exists and is not a biodyn result: it will not be replaced.", "Choose another --out."
        )
    if not force:
        raise ResultError(f"'{folder}' already holds a result.", "Choose another --out, or replace it with --force.")


def _exists(folder: Path) -> bool:
    try:
        return folder.exists()
    except OSError as error:  # such as a name that is too long
        raise _unwritable(folder, error) from error


def _try_to_write(folder: Path, above: Path) -> None:
    """Make the temporary folder that `replacing` will need, and remove it: long names, full and locked disks show now."""
    try:
        os.rmdir(tempfile.mkdtemp(prefix=f".{folder.name}.", suffix=_UNFINISHED, dir=above))
    except OSError as error:
        raise _unwritable(folder, error) from error


def _unwritable(folder: Path, error: OSError) -> ResultError:
    shown = str(folder) if len(str(folder)) <= _SHOWN else f"{str(folder)[:_SHOWN]}..."
    return ResultError(f"'{shown}' cannot be written: {error.strerror}.", "Choose another --out.")


def _without_links(folder: Path) -> Path:
    """The absolute path with links followed, also where nothing is there yet."""
    return Path(os.path.realpath(folder))


@contextmanager
def writing(folder: Path, force: bool = False) -> Iterator[Path]:
    """Yield a temporary sibling of `folder` to write into; it takes the folder's name when the block ends well.

    On an error it is removed and an older result stays as it was.
    """
    folder = _without_links(folder)  # what a link points to is replaced, not the link
    require_free(folder, force)
    with replacing(folder) as temporary:
        yield temporary
        require_free(folder, force)  # another run may have been quicker


@contextmanager
def replacing(folder: Path) -> Iterator[Path]:
    """Yield a temporary sibling of `folder` that takes its place, whatever stands there, when the block ends well."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", suffix=_UNFINISHED, dir=folder.parent))
    except OSError as error:
        raise _unwritable(folder, error) from error
    try:
        yield temporary
        os.chmod(temporary, 0o755)  # mkdtemp makes it private
        if folder.exists():
            old = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", suffix=_REPLACED, dir=folder.parent))
            os.replace(folder, old / folder.name)
            os.replace(temporary, folder)
            shutil.rmtree(old)
        else:
            os.replace(temporary, folder)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


@contextmanager
def updating(folder: Path) -> Iterator[Path]:
    """Yield a temporary folder whose files take their places in `folder` when the block ends well.

    On an error nothing in `folder` has changed: what needs room or permission is done before the first file moves.
    """
    temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", suffix=_UNFINISHED, dir=folder))
    try:
        yield temporary
        files = sorted(path for path in temporary.rglob("*") if path.is_file())
        for path in files:
            (folder / path.relative_to(temporary)).parent.mkdir(parents=True, exist_ok=True)
        for path in files:
            os.replace(path, folder / path.relative_to(temporary))
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def remove_unfinished(folder: Path) -> None:
    """Remove what killed runs left beside a result folder when they wrote it; others may be writing its siblings."""
    ours = re.compile(rf"\.{re.escape(folder.name)}\.[^.]+({re.escape(_UNFINISHED)}|{re.escape(_REPLACED)})")
    if not folder.parent.is_dir():
        return
    for left in folder.parent.iterdir():
        if ours.fullmatch(left.name):
            shutil.rmtree(left, ignore_errors=True)


def remove_all_unfinished(parent: Path) -> None:
    """Remove what killed runs left beside all results in `parent`, folders and files; only where nobody is writing one."""
    for suffix in (_UNFINISHED, _REPLACED):
        for left in parent.glob(f".*{suffix}"):
            if left.is_dir():
                shutil.rmtree(left, ignore_errors=True)
            else:
                left.unlink(missing_ok=True)
