"""How labels are spelled: pieces, separators, alphabets, and the letter or word of the side."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from biodyn.conventions import SIDES
from biodyn.library.load import load_table

_NO_LETTER = re.compile(r"[^A-Z0-9]+")
_NO_LETTER_BEHIND = r"(?![^\W\d_])"
_IGNORED_CHARACTERS = re.compile(r"[\s_.\-]+")
# three letters and a 1, on this many labels and this share of them
_NUMBERED_ONE = re.compile(r".*[^\W\d_]{3}[\s_.\-]?1")
_MOST_LETTERS = 255  # of a label that is read: as many as a C3D file can hold
_FEWEST_NUMBERED, _MOST_LABELS = 8, 0.75
# 1st, 2nd, 5th: the number alone tells, but where nothing but a side stands beside it (R5TH) its letters say that it is no number
# of a cluster
_BARE_ORDINAL = re.compile(r"[A-Z]?[^A-Z0-9]*[0-9](ST|ND|RD|TH)[^A-Z0-9]*[A-Z]?")
_ORDINAL = re.compile(r"(?<![0-9])([0-9])(ST|ND|RD|TH)(?![0-9])")


@lru_cache(4096)
def normalise(label: str) -> str:
    """Return a label as it is compared: capitals, without blanks, underscores, dots and dashes."""
    return _IGNORED_CHARACTERS.sub("", _in_latin(label).upper())


def _in_latin(label: str) -> str:
    """The label with East Asian words as those that the dictionary has for them, and wide letters as narrow ones."""
    if label.isascii():
        return label
    words = _writing()
    if not any(word in label for word in words):
        return label
    label = unicodedata.normalize("NFKC", label)
    for word, meant in words.items():
        label = label.replace(word, f" {meant} ")
    return label.strip()


def _unaccented(label: str) -> str:
    """The label in capitals of the Latin alphabet; words that are others without accents as the dictionary has them."""
    capitals = label.upper()
    if capitals.isascii():
        return capitals
    table = load_table("body/label_words")
    capitals = unicodedata.normalize("NFC", capitals)
    for word, meant in table["accented"].items():
        capitals = re.sub(f"{word}{_NO_LETTER_BEHIND}", f" {meant} ", capitals)
    for letter, plain in table["letters"].items():
        capitals = capitals.replace(letter, plain)
    return "".join(c for c in unicodedata.normalize("NFKD", capitals) if not unicodedata.combining(c))


@cache
def _writing() -> dict[str, str]:
    """East Asian words and what stands for them, the longest first."""
    table: dict[str, str] = load_table("body/label_words")["writing"]
    return dict(sorted(table.items(), key=lambda row: -len(row[0])))


@lru_cache(4096)
def pieces(label: str) -> tuple[str, ...]:
    """Return what stands between the separators of a label, in capitals of the Latin alphabet without accents."""
    plain = _unaccented(_in_latin(label))
    if not _BARE_ORDINAL.fullmatch(plain):
        plain = _ORDINAL.sub(r"\1", plain)
    return tuple(piece for piece in _NO_LETTER.split(plain) if piece)


def without_shared_ending(labels: Sequence[str], endings: frozenset[str]) -> dict[str, str]:
    """Return label -> label without a last word of `endings` behind a separator ("_study"), where a label has one.

    A 1 behind most of the labels (RASI1, LHEE1) numbers a person or a pass, not the markers of a segment: it goes, too.
    """
    found = {}
    for label in labels:
        head, separator, last = _last_word(label)
        found[label] = head if separator and head and last.upper() in endings else label
    numbered = [label for label in labels if _NUMBERED_ONE.fullmatch(found[label])]
    if len(numbered) >= max(_FEWEST_NUMBERED, _MOST_LABELS * len(labels)):
        found |= {label: found[label].rstrip("1").rstrip("_. -") for label in numbered}
    return found


def _last_word(label: str) -> tuple[str, str, str]:
    match = re.fullmatch(r"(.*?[A-Za-z0-9])([\s_.\-]+)([A-Za-z]+)", label)
    return (match[1], match[2], match[3]) if match else (label, "", "")


_PLACES = ("alone", "first", "last", "inside")


@dataclass(frozen=True)
class SideReading:
    """One way to take a side out of a label.

    Attributes:
        side: "r" or "l".
        rest: the pieces that are left, in capitals.
        habit: (number of the pair of side words, where the word stands): what a laboratory does with all its labels.
        mirror: the label of the other side, its pieces joined.
    """

    side: str
    rest: tuple[str, ...]
    habit: tuple[int, str]
    mirror: str


@cache
def side_readings(parts: tuple[str, ...]) -> tuple[SideReading, ...]:
    """Return every way to take a side out of a label that is cut into pieces, likelier places first; none of a longer text."""
    if sum(map(len, parts)) > _MOST_LETTERS:
        return ()
    found = [
        reading
        for number, pair in enumerate(side_pairs())
        for side, word, other in ((SIDES[0], pair[0], pair[1]), (SIDES[1], pair[1], pair[0]))
        for i in range(len(parts))
        for reading in _in_piece(parts, i, side, word, other, number)
    ]
    return tuple(sorted(found, key=lambda reading: _PLACES.index(reading.habit[1])))


def _in_piece(parts: tuple[str, ...], i: int, side: str, word: str, other: str, number: int) -> Sequence[SideReading]:
    """Readings in which the side word stands in piece `i`."""
    piece, found = parts[i], []
    at = piece.find(word)
    while at >= 0:
        before, after = piece[:at], piece[at + len(word) :]
        rest = tuple(part for part in (*parts[:i], before, after, *parts[i + 1 :]) if part)
        if not before and not after:
            place = "alone"
        elif not before and i == 0:
            place = "first"
        else:
            place = "last" if not after and i == len(parts) - 1 else "inside"
        if rest:
            mirror = "".join((*parts[:i], before, other, after, *parts[i + 1 :]))
            found.append(SideReading(side, rest, (number, place), mirror))
        at = piece.find(word, at + 1)
    return found


@cache
def side_pairs() -> tuple[tuple[str, str], ...]:
    """Return the words of the right and the left side in every language."""
    return tuple((right, left) for right, left in load_table("body/label_words")["sides"]["pairs"])


def mirrored(label: str, side: str) -> str:
    """Return the label that the other side would have, `side` being this one's, "" where no letters of it are a side."""
    readings = [reading for reading in side_readings(pieces(label)) if reading.side == side]
    if not readings:
        return ""
    number, place = readings[0].habit
    right, left = side_pairs()[number]
    word, other = (right, left) if side == SIDES[0] else (left, right)
    capitals = label.upper()
    at = capitals.rfind(word) if place == "last" else capitals.find(word)
    if at < 0 or len(capitals) != len(label):
        return ""
    own = label[at : at + len(word)]
    new = other if own.isupper() else other.lower() if own.islower() else other.capitalize()
    return label[:at] + new + label[at + len(word) :]
