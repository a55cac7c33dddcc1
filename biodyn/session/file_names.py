"""What the words in the names of files and folders say of a trial."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

from biodyn.library.load import load_table


def words(text: str) -> set[str]:
    """Words and numbers of a file name, split at case changes too: 'PiG_Calibration3_FF' -> pi g calibration 3 ff."""
    return {word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", text)}


@cache
def static_table() -> dict[str, Any]:
    """Return `library/session/static_trials.toml`; treat it as read-only."""
    return load_table("session/static_trials")


def static_words() -> frozenset[str]:
    """Words that speak for a static trial."""
    return frozenset(static_table()["words"])


def walk_words() -> frozenset[str]:
    """Words that speak for a walk."""
    return frozenset(static_table()["walk_words"])


def has_static_name(path: Path) -> bool:
    """True where a word of the name of a file or folder speaks for a static trial."""
    return bool(words(path.stem) & static_words())


def has_walk_name(path: Path) -> bool:
    """True where a word of the name speaks for a walk."""
    return bool(words(path.stem) & walk_words())


def own_words(path: Path) -> set[str]:
    """What a file's name says besides that it is a static or a walk."""
    return words(path.stem) - static_words() - walk_words()


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
