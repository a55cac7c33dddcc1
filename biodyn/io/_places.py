"""Where a trial's companions lie, and what the names of files and folders say of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from biodyn.io._names import names


def folders_near(folder: Path) -> tuple[Path, ...]:
    """Folders to search, the nearest first."""
    folder = folder.resolve()
    parent = folder.parent
    found = [folder, *_subfolders(folder)]
    # A folder called nothing but a kind of trial (Straight, Turn) has the person's other kinds beside it.
    only_a_kind = bool(_words(folder.name)) and not own_words(folder)
    found += [parent, *(other for other in _subfolders(parent) if only_a_kind or has_static_name(other))]
    for other in _subfolders(parent.parent):
        if has_static_name(other):
            found += [other / folder.name, other / parent.name, other]
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


def c3d_files(folders: Sequence[Path], walk: Path, limit: int) -> list[Path]:
    """C3D files of the folders without the walk, those with a static's name first where there are too many."""

    def files() -> Iterator[Path]:
        for folder in folders:
            try:
                yield from sorted(p for p in folder.iterdir() if p.suffix.lower() == ".c3d" and p.is_file())
            except OSError:
                continue

    own = walk.resolve()
    found = [path for path in files() if path.resolve() != own]
    if len(found) > limit:
        found.sort(key=lambda p: not (has_static_name(p) or has_static_name(p.parent)))
    return found[:limit]


def _set(key: str) -> frozenset[str]:
    return frozenset(names()["static"][key])


def _words(text: str) -> set[str]:
    """Words and numbers of a file name, split at case changes too: 'PiG_Calibration3_FF' -> pi g calibration 3 ff."""
    return {word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", text)}


def has_static_name(path: Path) -> bool:
    """True where a word of the name of a file or folder speaks for a static trial."""
    return bool(_words(path.stem) & _set("words"))


def has_walk_name(path: Path) -> bool:
    """True where a word of the name speaks for a walk."""
    return bool(_words(path.stem) & _set("walk_words"))


def own_words(path: Path) -> set[str]:
    """What a file's name says besides that it is a static or a walk."""
    return _words(path.stem) - _set("words") - _set("walk_words")


def named_otherwise(walk: Path, path: Path) -> str:
    """Why names of file and folder speak of somebody else, "" if they do not.

    Only asked where the files themselves do not name the person. In a file's name counters of one or two digits may
    differ, a longer word (a subject's code) may not; another folder's name may hold nothing the walk's folders do not.
    """
    strange = {word for word in own_words(path) - own_words(walk) if len(word) > 2}
    folder, its_folder = walk.parent.resolve(), path.parent.resolve()
    if its_folder != folder:
        strange |= own_words(its_folder) - own_words(folder) - own_words(folder.parent)
    return f"its name speaks of something else ({', '.join(sorted(strange))})" if strange else ""
