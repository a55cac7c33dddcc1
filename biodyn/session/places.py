"""Where a trial's companions lie."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from biodyn.session.file_names import has_static_name, names_a_kind


def folders_near(folder: Path) -> tuple[Path, ...]:
    """Folders to search, the nearest first."""
    folder = folder.resolve()
    parent = folder.parent
    found = [folder, *_subfolders(folder)]
    # A folder called nothing but a kind of trial (Straight, Turn) has the person's other kinds beside it.
    only_a_kind = names_a_kind(folder)
    found += [parent, *(other for other in _subfolders(parent) if only_a_kind or has_static_name(other))]
    for above in (parent.parent, parent.parent.parent)[: 2 if only_a_kind else 1]:
        for other in _subfolders(above):
            if has_static_name(other):
                kinds = [below for below in _subfolders(other) if names_a_kind(below)]
                found += [other / folder.name, other / parent.name, other, *kinds]
    unique = dict.fromkeys(f for f in found if _is_folder(f))
    return tuple(unique)


def _is_folder(path: Path) -> bool:
    """False also where permissions keep us out: a folder nobody lets us into is no place to search."""
    try:
        return path.is_dir()
    except OSError:
        return False


def _subfolders(folder: Path) -> list[Path]:
    try:
        entries = sorted(folder.iterdir())
    except OSError:
        return []
    return [entry for entry in entries if not entry.name.startswith(".") and _is_folder(entry)]


def recordings_beside(folders: Sequence[Path], walk: Path, is_one: Callable[[Path], bool], limit: int) -> list[Path]:
    """Return the files that `is_one` takes without the walk, those with a static's name first where there are too many."""

    def files() -> Iterator[Path]:
        for folder in folders:
            try:
                yield from sorted(p for p in folder.iterdir() if p.is_file() and is_one(p))
            except OSError:
                continue

    own = walk.resolve()
    found = [path for path in files() if path.resolve() != own]
    if len(found) > limit:
        found.sort(key=lambda p: not (has_static_name(p) or has_static_name(p.parent)))
    return found[:limit]
