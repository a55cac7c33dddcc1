"""Result folders appear whole or not at all: written beside their place, then renamed."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from biodyn.errors import ResultError, printable
from biodyn.output.store.leftovers import (
    REPLACED,
    UNFINISHED,
    being_written,
    remove_all_unfinished,
    remove_unfinished,
    short_name,
)
from biodyn.output.store.owned import (
    OwnedIn,
    Owns,
    foreign_files,
    raw_record,
    remove_owned,
    require_only_own,
    trial_files,
    walk_files,
)
from biodyn.output.store.possible import portable_name, require_possible

_SHOWN = 120  # characters of a path on the screen
# Tell that a folder is complete: they are moved last.
_RECORDS = ("trial.json", "run.json", "group.json")


def require_free(folder: Path, force: bool) -> None:
    """Raise ResultError if `folder` cannot become a result folder, for its name, its length or what is there.

    An existing folder is replaced only with `force`, and only if it is empty, or a result that holds nothing but what
    biodyn wrote into it.
    """
    require_possible(folder)
    try:
        remove_unfinished(without_links(folder))  # an older result that a killed run had moved aside comes back first
        _require_free(folder, force)
    except OSError as error:  # such as a name that is too long
        raise _unwritable(folder, error) from error


def _require_free(folder: Path, force: bool) -> None:
    if not folder.exists():
        above = next((parent for parent in without_links(folder).parents if parent.exists()), None)
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
    if raw_record(folder) is not None:
        remove_all_unfinished(folder)  # of a report or replay that was killed
    else:
        raise ResultError(
            f"'{folder}' exists and is not a biodyn result: it will not be replaced.", "Choose another --out."
        )
    if not force:
        raise ResultError(f"'{folder}' already holds a result.", "Choose another --out, or replace it with --force.")
    require_only_own(folder)


def _try_to_write(folder: Path, above: Path) -> None:
    """Make the temporary folder that `replacing` will need, and remove it: full and locked disks show now."""
    try:
        os.rmdir(tempfile.mkdtemp(prefix=f".{short_name(folder.name)}.", suffix=UNFINISHED, dir=above))
    except OSError as error:
        raise _unwritable(folder, error) from error


def _unwritable(folder: Path, error: OSError) -> ResultError:
    shown = str(folder) if len(str(folder)) <= _SHOWN else f"{str(folder)[:_SHOWN]}..."
    return ResultError(f"'{shown}' cannot be written: {error.strerror or error}.", "Choose another --out.")


def without_links(folder: Path) -> Path:
    """The absolute path with links followed, also where nothing is there yet."""
    return Path(os.path.realpath(folder))


def default_folder(walk: Path) -> Path:
    """Where the result of a walk goes when no folder is named: reports/<name of the walk>, always inside of reports."""
    name = portable_name(walk.absolute().stem)
    return Path("reports") / (
        name if name.strip(". ") and printable(name) == name else short_name(name.strip(". ") or "walk")
    )


@contextmanager
def writing(folder: Path, force: bool = False) -> Iterator[Path]:
    """Yield a temporary sibling of `folder` to write into; it takes the folder's name when the block ends well.

    On an error it is removed and an older result stays as it was.
    """
    require_possible(folder)  # a name as it is given: Windows finds devices elsewhere
    folder = without_links(folder)  # what a link points to is replaced, not the link
    require_free(folder, force)
    with replacing(folder, trial_files) as temporary:
        yield temporary
        require_free(folder, force)  # another run may have been quicker, or somebody put a file there meanwhile


@contextmanager
def replacing(folder: Path, owned: OwnedIn) -> Iterator[Path]:
    """Yield a temporary sibling of `folder` that takes its place when the block ends well.

    `owned` tells which files of an older folder biodyn wrote: these go. Where it holds others they stay in their place,
    and the new files come beside them.
    """
    folder = without_links(folder)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        temporary = _beside(folder, UNFINISHED)
    except OSError as error:
        raise _unwritable(folder, error) from error
    try:
        with being_written(temporary):
            yield temporary
        os.chmod(temporary, 0o755)  # mkdtemp makes it private
        _put(temporary, folder, owned)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


@contextmanager
def updating(folder: Path) -> Iterator[Path]:
    """Yield a temporary folder whose files take their places in `folder` when the block ends well.

    On an error nothing in `folder` has changed: what needs room or permission is done before the first file moves.
    """
    remove_all_unfinished(folder)  # of an update that was killed
    temporary = Path(tempfile.mkdtemp(prefix=f".{short_name(folder.name)}.", suffix=UNFINISHED, dir=folder))
    try:
        with being_written(temporary):
            yield temporary
        files = sorted(path for path in temporary.rglob("*") if path.is_file())
        for path in files:
            (folder / path.relative_to(temporary)).parent.mkdir(parents=True, exist_ok=True)
        for path in files:
            os.replace(path, folder / path.relative_to(temporary))
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _beside(folder: Path, suffix: str) -> Path:
    return Path(tempfile.mkdtemp(prefix=f".{short_name(folder.name)}.", suffix=suffix, dir=folder.parent))


def _put(new: Path, folder: Path, owned: OwnedIn) -> None:
    """Give a complete folder its name."""
    if not os.path.lexists(folder):
        os.replace(new, folder)
        return
    if not folder.is_dir():
        raise ResultError(f"'{folder}' is a file, not a folder.", "Move it away, or choose another --out.")
    owns = owned(folder)
    if foreign_files(folder, owns):
        _merge(new, folder, owns)
        return
    old = _beside(folder, REPLACED)
    try:
        os.replace(folder, old / folder.name)
    except OSError:  # on Windows where a program has one of its files open
        old.rmdir()
        raise
    try:
        os.replace(new, folder)
    except OSError:
        os.replace(old / folder.name, folder)
        old.rmdir()
        raise
    # Whatever somebody put there in the last moment comes back.
    remove_owned(old / folder.name, owned(old / folder.name))
    if (old / folder.name).exists():
        _merge(old / folder.name, folder, lambda path: False)
    with suppress(OSError):
        old.rmdir()


def _merge(new: Path, folder: Path, owns: Owns) -> None:
    """Put the files of `new` among those of `folder`, file by file; its own older ones go, others keep their content.

    The record goes first and comes last: without one a folder counts as unfinished.
    """
    foreign = set(foreign_files(folder, owns))
    names = sorted(walk_files(new), key=lambda path: (path in _RECORDS, path))
    for path in _RECORDS:
        if path not in foreign:
            (folder / path).unlink(missing_ok=True)
    for path in names:
        target = folder / path
        _make_way(folder, path, foreign)
        target.parent.mkdir(parents=True, exist_ok=True)
        os.replace(new / path, target)
    for path in set(walk_files(folder)) - set(names) - foreign:
        if owns(path):
            (folder / path).unlink(missing_ok=True)
    shutil.rmtree(new, ignore_errors=True)


def _make_way(folder: Path, path: str, foreign: set[str]) -> None:
    """Rename a user's file or link that has the name of a new file or of a folder above it."""
    parts = path.split("/")
    for i in range(1, len(parts) + 1):
        place = folder.joinpath(*parts[:i])
        is_link_or_file = place.is_symlink() or place.is_file()
        if is_link_or_file and (i < len(parts) or "/".join(parts) in foreign):
            os.rename(place, _free_name(place))
            return
        if i == len(parts) and place.is_dir():
            os.rename(place, _free_name(place))


def _free_name(path: Path) -> Path:
    number = 1
    while os.path.lexists(found := path.with_name(f"{path.stem} (yours {number}){path.suffix}")):
        number += 1
    return found
