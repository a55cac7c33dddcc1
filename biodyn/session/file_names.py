"""What the words in the names of files and folders say of a trial."""

from __future__ import annotations

from pathlib import Path

from biodyn.session.words import Kind, tokens, walk_words

#: Kinds of words that say only which kind of trials a folder holds.
KINDS_OF_TRIALS: tuple[Kind, ...] = ("static", "other", "empty", "activity", "condition", "counter")


def has_static_name(path: Path) -> bool:
    """True where a word of the name of a file or folder speaks for a static trial."""
    return any(token.kind == "static" for token in tokens(path.stem))


def has_walk_name(path: Path) -> bool:
    """True where a word of the name speaks for a walk."""
    return any(token.kind == "activity" or token.word in walk_words() for token in tokens(path.stem))


def names_a_kind(folder: Path) -> bool:
    """True for a folder whose name says only which kind of trials it holds."""
    found = tokens(folder.name)
    return bool(found) and all(token.kind in KINDS_OF_TRIALS or token.word in walk_words() for token in found)


def own_words(path: Path) -> set[str]:
    """What a file's name says besides that it is a static or a walk."""
    found = tokens(path.stem)
    return {t.text.casefold() for t in found if t.kind not in ("static", "activity") and t.word not in walk_words()}
