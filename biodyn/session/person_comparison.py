"""Decide whether two files can be recordings of one person, by stored parameters, then by names."""

from __future__ import annotations

import os
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from biodyn.io.point_classification import STRANGERS
from biodyn.recording import FileFacts
from biodyn.session.name_tokens import (
    Kind,
    Token,
    load_vocabulary,
    numbered_sessions,
    plain_text,
    split_name,
    walk_words,
)

#: Kinds of words that state only the kind of trials in a folder.
KINDS_OF_TRIALS: tuple[Kind, ...] = ("static", "other", "empty", "activity", "condition", "counter")


def has_static_name(path: Path) -> bool:
    """Return whether the name of a file or folder indicates a static trial."""
    return any(token.kind == "static" for token in split_name(path.stem))


def has_walk_name(path: Path) -> bool:
    """Return whether the name of a file or folder indicates a walk."""
    return any(token.kind == "activity" or token.word in walk_words() for token in split_name(path.stem))


def names_only_trial_kind(folder: Path) -> bool:
    """Return whether the name of a folder states only a kind of trial."""
    words = split_name(folder.name)
    return bool(words) and all(token.kind in KINDS_OF_TRIALS or token.word in walk_words() for token in words)


def distinguishing_words(path: Path) -> set[str]:
    """Return the words of a file name, except words for static trials and walks."""
    words = split_name(path.stem)
    return {t.text.casefold() for t in words if t.kind not in ("static", "activity") and t.word not in walk_words()}


def nearby_folders(folder: Path) -> tuple[Path, ...]:
    """Return the folders in which files that belong to a recording are searched, the nearest first."""
    folder = folder.resolve()
    parent = folder.parent
    folders = [folder, *_subfolders(folder)]
    # A folder named only after a kind of trial (Straight, Turn) is next to folders with other kinds of the same person.
    only_a_kind = names_only_trial_kind(folder)
    folders += [parent, *(other for other in _subfolders(parent) if only_a_kind or has_static_name(other))]
    for above in (parent.parent, parent.parent.parent)[: 2 if only_a_kind else 1]:
        for other in _subfolders(above):
            if has_static_name(other):
                kinds = [below for below in _subfolders(other) if names_only_trial_kind(below)]
                folders += [other / folder.name, other / parent.name, other, *kinds]
    unique = dict.fromkeys(f for f in folders if is_folder(f))
    return tuple(unique)


def is_folder(entry: Path | os.DirEntry[str]) -> bool:
    """Return whether a path is a folder that can be accessed."""
    try:
        return entry.is_dir()
    except OSError:
        return False


def _subfolders(folder: Path) -> list[Path]:
    try:
        entries = sorted(folder.iterdir())
    except OSError:
        return []
    return [entry for entry in entries if not entry.name.startswith(".") and is_folder(entry)]


def nearby_recordings(folders: Sequence[Path], walk: Path, is_one: Callable[[Path], bool], limit: int) -> list[Path]:
    """Return the files accepted by `is_one`, without the walk; beyond `limit`, files named as static trials are preferred."""

    def iterate_files() -> Iterator[Path]:
        for folder in folders:
            try:
                yield from sorted(p for p in folder.iterdir() if p.is_file() and is_one(p))
            except OSError:
                continue

    walk_path = walk.resolve()
    recordings = [path for path in iterate_files() if path.resolve() != walk_path]
    if len(recordings) > limit:
        recordings.sort(key=lambda p: not (has_static_name(p) or has_static_name(p.parent)))
    return recordings[:limit]


@dataclass(frozen=True)
class PathWords:
    """Words (lower case) in the part of a path that another path does not share, grouped by their meaning.

    `condition` and `session` are words joined to one text.
    """

    subjects: frozenset[str]
    codes: frozenset[str]
    plain: frozenset[str]
    condition: str
    session: str


class NeighbouringFiles:
    """Names of the files near a walk, from which it is inferred whether a word can name a person."""

    def __init__(self, paths: Iterable[Path]) -> None:
        self._patterns: dict[str, set[tuple[str, ...]]] = defaultdict(set)
        for path in set(paths):
            words = [t for t in split_name(path.stem) if t.kind != "counter"]
            for token in words:
                rest = tuple(t.text.casefold() for t in words if t is not token)
                self._patterns[token.text.casefold()].add(rest)

    def is_word_of_several_kinds(self, word: str) -> bool:
        """Return whether a word occurs in file names that otherwise differ, apart from counters."""
        return len(self._patterns.get(word, ())) > 1


def find_name_difference(walk: Path, other: Path, neighbours: NeighbouringFiles) -> tuple[str, str, str]:
    """Return the reasons in the names why two files differ in person, differ in day, or may differ in person; "" without a
    reason."""
    mine, theirs = differing_words(walk, other)
    if mine.session and theirs.session and mine.session != theirs.session:
        return "", f"its name states another session ({theirs.session}; walk: {mine.session})", ""
    if mine.subjects and theirs.subjects:
        if mine.subjects.isdisjoint(theirs.subjects):
            return _other_words_reason(theirs.subjects), "", ""
        return "", "", ""
    if mine.codes and theirs.codes:
        if not mine.codes.isdisjoint(theirs.codes):
            return "", "", ""
        telling = any(neighbours.is_word_of_several_kinds(code) for code in (*mine.codes, *theirs.codes))
        return (_other_words_reason(theirs.codes), "", "") if telling else ("", "", _other_words_reason(theirs.codes))
    strange = theirs.plain | theirs.subjects | theirs.codes
    if not strange or not strange.isdisjoint(mine.plain):
        return "", "", ""
    my_words = mine.plain | mine.subjects | mine.codes
    if all(any(neighbours.is_word_of_several_kinds(word) for word in words) for words in (strange, my_words)):
        return _other_words_reason(strange), "", ""
    return "", "", _other_words_reason(strange)


def files_of_same_condition(walk: Path, others: Iterable[Path]) -> list[Path]:
    """Return the files with the condition of the walk, else those without a condition, else all."""
    named = {path: differing_words(walk, path) for path in others}
    same = [path for path, (mine, theirs) in named.items() if mine.condition == theirs.condition]
    return same or [path for path, (_, theirs) in named.items() if not theirs.condition] or list(named)


@lru_cache(maxsize=4096)
def differing_words(walk: Path, other: Path) -> tuple[PathWords, PathWords]:
    """Return the words of two paths in the parts that they do not share."""
    mine, theirs = _unshared_parts(walk, other)
    return _words_of_parts(mine), _words_of_parts(theirs)


def unshared_folders(walk: Path, other: Path) -> tuple[str, ...]:
    """Return the names of folders of the other file that the walk is not in, the innermost first."""
    return _unshared_parts(walk, other)[1][-2::-1]


def _unshared_parts(walk: Path, other: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    folders = 3  # number of folder levels above a file that are read
    mine, theirs = _path_parts(walk), _path_parts(other)
    while mine[:-1] and theirs[:-1] and mine[0] == theirs[0]:
        mine, theirs = mine[1:], theirs[1:]
    return mine[-folders - 1 :], theirs[-folders - 1 :]


def _path_parts(path: Path) -> tuple[str, ...]:
    return (*_folder_parts(path.parent), path.stem)


@lru_cache(maxsize=1024)
def _folder_parts(folder: Path) -> tuple[str, ...]:
    return folder.resolve().parts[1:]


def _words_of_parts(parts: tuple[str, ...]) -> PathWords:
    long_number, persons_number = 3, 5  # digits: shorter numbers count trials, longer ones denote a person or a day
    table = load_vocabulary()
    counting = table["counter_numbered"] | table["session_numbered"]
    words = [token for part in parts for token in split_name(part)]
    codes = {t.text.casefold() for t in words if t.kind == "code" and t.word not in counting}
    numbers = [t.text for t in words if t.kind == "number"]
    codes |= {number for number in numbers if long_number <= len(number) < persons_number}
    subjects = {t.text.casefold() for t in words if t.kind == "subject"}
    subjects |= {number for number in numbers if len(number) >= persons_number}
    sessions = [session for part in parts[:-1] for session in numbered_sessions(plain_text(part), split_name(part))]
    sessions += [token.text for token in split_name(parts[-1]) if token.kind == "session"]
    return PathWords(
        frozenset(subjects),
        frozenset(codes),
        frozenset(t.text.casefold() for t in words if t.kind == "plain" and len(t.text) > 1),
        "_".join(sorted({text for part in parts for text in _condition_words(split_name(part))})),
        "_".join(sorted({session.casefold() for session in sessions})),
    )


def _condition_words(words: tuple[Token, ...]) -> list[str]:
    """Return the words of a condition joined with adjacent words: no AFO -> noafo."""
    texts: list[str] = []
    for i, token in enumerate(words):
        if token.kind != "condition":
            continue
        before = words[i - 1] if i else None
        touches = before is not None and before.kind == "plain" and before.end == token.start
        texts.append((before.text if touches and before else "").casefold() + token.text.casefold())
    return texts


def _other_words_reason(words: Iterable[str]) -> str:
    return f"its name has other words ({', '.join(sorted(words))})"


_ROLE_KINDS = ("static", "activity", "other", "empty")


def compare_persons(walk: FileFacts, other: FileFacts, neighbours: NeighbouringFiles | None) -> tuple[str, bool, str]:
    """Compare the persons of a walk and another file by stored names, measures and names of files and folders.

    Returns the reason why person or day differ ("" if they do not), whether both store the same subject name, and words that
    may name another person.

    neighbours: files near both; None if other data already show that the person is the same, so file and folder names are
    ignored. An equal stored subject name has priority over file names, except for the day.
    """
    strange = person_difference_reason(walk, other)
    name = person_name(walk.subject)
    same_name = bool(name) and name == person_name(other.subject)
    if strange or neighbours is None:
        return strange, same_name, ""
    person, day, doubt = find_name_difference(walk.path, other.path, neighbours)
    return (day, same_name, "") if same_name else (day or person, same_name, doubt)


def without_role_words(stored: str) -> str:
    """Return a stored subject name without words for the kind of trial: 'X_static' and 'X_dynamic 2' become X.

    A name that has only such words is unchanged.
    """
    text = plain_text(stored).strip()
    words = list(split_name(text))
    if all(token.kind in (*_ROLE_KINDS, "counter") for token in words):
        return text
    while words[-1].kind in _ROLE_KINDS or (words[-1].kind == "counter" and words[-2].kind in _ROLE_KINDS):
        words.pop()
    while words[0].kind in _ROLE_KINDS:
        words.pop(0)
    whole = words[0].start == split_name(text)[0].start and words[-1].end == split_name(text)[-1].end
    return text if whole else text[words[0].start : words[-1].end]


def person_name(stored: str) -> str:
    """Return a stored name normalised for comparison: letters and digits in lower case, without words such as "patient".

    The result is empty for names of templates and devices.
    """
    whole, name = (letters_and_digits_only(text) for text in (stored, without_role_words(stored)))
    return "" if load_vocabulary()["nobody"].intersection((whole, name)) else name


def letters_and_digits_only(text: str) -> str:
    """Return letters and digits in lower case without accents, because files store 'Emile' for 'Émile'."""
    apart = unicodedata.normalize("NFKD", plain_text(text).casefold())
    return "".join(c for c in apart if c.isalnum())


@lru_cache(256)
def labels_without_prefix(labels: frozenset[str]) -> frozenset[str]:
    """Return labels without a common prefix up to '_', so that 'Anna_static_LASI' equals 'Anna_walk_LASI'."""
    while len(labels) > 1:
        starts = Counter(label.partition("_")[0] for label in labels if "_" in label)
        start, count = starts.most_common(1)[0] if starts else ("", 0)
        if not start or len(labels) - count > STRANGERS * len(labels):
            break
        rest = frozenset(label.removeprefix(f"{start}_") for label in labels) - {""}
        if len(rest) < len(labels) - 1:  # the remaining labels are ambiguous
            break
        labels = rest
    return labels


def measure_difference_reason(mine: FileFacts, theirs: FileFacts) -> str:
    """Return the reason why the stored body measures are of different persons; "" if they may be of one."""
    same_measure = 0.01  # largest relative difference of mass, height and leg length stored for one person
    pairs = [("body mass", mine.mass_kg, theirs.mass_kg), ("height", mine.height_m, theirs.height_m)]
    shared = mine.leg_lengths_m.keys() & theirs.leg_lengths_m.keys()
    pairs += [(key, mine.leg_lengths_m[key], theirs.leg_lengths_m[key]) for key in sorted(shared)]
    for name, a, b in pairs:
        if a is not None and b is not None and abs(a - b) > same_measure * abs(a):
            return f"its stored {name.replace('_', ' ')} is {b:.4g}, that of the walk {a:.4g}"
    return ""


def person_difference_reason(mine: FileFacts, theirs: FileFacts) -> str:
    """Return the reason why the stored parameters are of different persons; "" if they may be of one."""
    names = person_name(mine.subject), person_name(theirs.subject)
    if all(names) and names[0] != names[1]:
        return f"its subject is '{theirs.subject}', that of the walk '{mine.subject}'"
    return measure_difference_reason(mine, theirs)
