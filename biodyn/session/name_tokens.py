"""Split names of folders and files into tokens with a meaning: `P01_walkFast03` -> subject, walk, fast, 3."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any, Literal

from biodyn.library.toml_files import load_table

Kind = Literal[
    "static",
    "other",
    "empty",
    "activity",
    "condition",
    "session",
    "group",
    "site",  # a word for a laboratory: Lab2, Hospital North
    "subject",  # a word for a person and a number: P01, subject 3
    "code",  # a few letters and a number: C1, HC030A
    "number",  # a number at the start of the name: 2014001_walk
    "counter",
    "plain",
]

_DATE = re.compile(
    r"(?<!\d)(?:(?:19|20)\d\d[-_. ]?(?:0[1-9]|1[0-2])[-_. ]?(?:0[1-9]|[12]\d|3[01])"
    r"|(?:0[1-9]|[12]\d|3[01])[-_.](?:0[1-9]|1[0-2])[-_.](?:19|20)\d\d)(?!\d)"
)
_SUFFIX = re.compile(r"(?i)(?<![^\W_])c3ds?(?![^\W_])")  # a word that contains a digit
_SHORTEST_PART = 3
_SIDE_LETTERS = frozenset("lr")  # P01L05 and P01R05 are of one person


@dataclass(frozen=True)
class Token:
    """One word of a name: its text, kind and position, and the letters before its number."""

    text: str
    kind: Kind
    start: int
    end: int
    word: str = ""


@cache
def static_table() -> dict[str, Any]:
    """Return `library/session/static_trials.toml`; callers must not change it."""
    return load_table("session/static_trials")


@cache
def static_words() -> frozenset[str]:
    """Return the words that indicate a static trial."""
    return frozenset(static_table()["words"])


def is_static_word(word: str) -> bool:
    """Return whether a word, or its start, is a known word for a static trial: statique, statisch, calibrazione."""
    return word in static_words() or word.startswith(tuple(static_table()["stems"]))


@cache
def walk_words() -> frozenset[str]:
    """Return the words that indicate a walk."""
    return frozenset(static_table()["walk_words"])


@cache
def load_vocabulary() -> dict[str, Any]:
    """Return the words of `library/session/names.toml` by kind, as sets; callers must not change the result."""
    words = load_table("session/names")
    sets = {key: frozenset(value) if isinstance(value, list) else value for key, value in words.items()}
    other = sets["other"] | sets["functional"] | sets["contraction"]
    return {**sets, "other": other, "condition": sets["condition"] | sets["running"]}


@cache
def _kind_of_word(word: str) -> Kind:
    kinds: tuple[Kind, ...] = ("other", "empty", "activity", "condition", "session", "group", "site")
    if is_static_word(word):
        return "static"
    return next((kind for kind in kinds if word in load_vocabulary()[kind]), "plain")


@cache
def _split_word(word: str) -> tuple[int, ...]:
    """Return the split positions of an unknown word that consists of two known ones: slowwalk -> slow walk."""
    if _kind_of_word(word) != "plain":
        return ()
    known = (i for i in range(_SHORTEST_PART, len(word) - _SHORTEST_PART + 1) if _are_known_words(word[:i], word[i:]))
    return tuple(known)[:1]


def _are_known_words(*words: str) -> bool:
    return all(_kind_of_word(word) not in ("plain", "group", "session", "site") for word in words)


def plain_text(name: str) -> str:
    """Return the text of a name in composed Unicode; undecodable characters become '_'."""
    text = unicodedata.normalize("NFC", name)
    return "".join("_" if "\ud800" <= c <= "\udfff" or c == "\0" else c for c in text)


@cache
def split_name(name: str) -> tuple[Token, ...]:
    """Split a name (without suffix) into its tokens."""
    text = plain_text(name)
    result: list[Token] = []
    position = 0
    whole: list[tuple[re.Match[str], Kind]] = [(match, "session") for match in _DATE.finditer(text)]
    whole += [(m, "empty") for m in _SUFFIX.finditer(text)]
    for match, kind in sorted(whole, key=lambda entry: entry[0].start()):
        result += _tokens_of_part(text, position, match.start())
        result.append(Token(match.group(), kind, match.start(), match.end()))
        position = match.end()
    return tuple(result + _tokens_of_part(text, position, len(text)))


def _tokens_of_part(text: str, start: int, end: int) -> list[Token]:
    pieces = list(_split_by_case(text, start, end))
    result: list[Token] = []
    i = 0
    while i < len(pieces):
        a, b = pieces[i]
        if text[a].isdigit():
            result.append(Token(text[a:b], "number" if a == 0 else "counter", a, b))
            i += 1
            continue
        word = text[a:b].casefold()
        number = pieces[i + 1] if i + 1 < len(pieces) and text[pieces[i + 1][0]].isdigit() else None
        touches = number is not None and number[0] == b
        # a single letter, a separator and a number denote a person only at the start of the name: S-01, P_3
        kind = _kind_with_number(text[a:b], touches or (a == 0 and b - a == 1)) if number is not None else None
        if kind is None or number is None:
            cuts = [a, *(a + cut for cut in _split_word(word) if len(word) == b - a), b]
            for c, d in pairwise(cuts):
                result.append(Token(text[c:d], _kind_of_word(text[c:d].casefold()), c, d, text[c:d].casefold()))
            i += 1
            continue
        last, used = number[1], 2
        if kind != "counter" and i + 2 < len(pieces) and _is_code_suffix(text, pieces, i):
            last, used = pieces[i + 2][1], 3
        result.append(Token(text[a:last], kind, a, last, word))
        i += used
    return result


def _kind_with_number(letters: str, touches: bool) -> Kind | None:
    """Return the kind of the token that a word forms with the number after it; None if word and number are separate tokens."""
    longest_code = 3  # number of letters of a person's code before its number; one more if all are capitals
    word, table = letters.casefold(), load_vocabulary()
    alone = _kind_of_word(word)
    if len(word) > 1 and word in table["session_numbered"]:
        return "session"
    if word in table["site"]:
        return "site"
    if word in table["subject"] and (touches or len(word) > 1) and alone not in ("static", "other", "condition"):
        return "subject"
    if word in table["counter_numbered"] and len(word) > 1:
        return "counter"
    if not touches or alone not in ("plain", "group"):
        return None
    short = len(word) <= longest_code or (len(word) == longest_code + 1 and letters.isupper())
    return "code" if short else None


def _is_code_suffix(text: str, pieces: list[tuple[int, int]], i: int) -> bool:
    """Return whether a single letter after the number belongs to the code: HC030A05 is trial 05 of HC030A."""
    (c, d), (e, f) = pieces[i + 1], pieces[i + 2]
    if e != d or f - e != 1 or d - c < 2 or text[e].casefold() in _SIDE_LETTERS:
        return False
    after = pieces[i + 3] if i + 3 < len(pieces) else None
    return after is None or after[0] > f or text[after[0]].isdigit()


def _split_by_case(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield runs of letters or digits, split at changes of case: walkFast -> walk Fast, AMGait -> AM Gait."""
    begin = None
    for i in range(start, end + 1):
        character = text[i] if i < end else ""
        usable = i < end and (character.isalpha() or character.isdecimal() or unicodedata.combining(character) > 0)
        if begin is not None and (not usable or _is_boundary(text, i, end)):
            yield begin, i
            begin = None
        if begin is None and usable:
            begin = i


def _is_boundary(text: str, i: int, end: int) -> bool:
    before, here = text[i - 1], text[i]
    if before.isdecimal() != here.isdecimal():
        return True
    if before.islower() and here.isupper():
        return True
    after = text[i + 1] if i + 1 < end else ""
    return before.isupper() and here.isupper() and after.islower()


def numbered_sessions(text: str, words: Sequence[Token]) -> list[str]:
    """Return the session words of a folder, each with the number after it, so that 'post 2' differs from 'post 1'."""
    following = [*words[1:], None]
    return [
        text[token.start : after.end if after is not None and after.kind == "counter" else token.end]
        for token, after in zip(words, following, strict=False)
        if token.kind == "session"
    ]
