"""Spelling of labels: pieces, separators, alphabets, and the letter or word of the side."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from biodyn.conventions import SIDES
from biodyn.library.toml_files import load_table

_SEPARATORS = re.compile(r"[\s_.\-]+")
_MOST_LETTERS = 255  # largest length of a label, as in a C3D file
_ORDINAL = re.compile(r"(?<![0-9])([0-9])(ST|ND|RD|TH)(?![0-9])")  # 1st, 2nd, 5th: the number is sufficient
# ... but its letters show that it is not the number of a cluster marker if the rest is only a side (R5TH)
_BARE_ORDINAL = re.compile(r"[A-Z]?[^A-Z0-9]*[0-9](ST|ND|RD|TH)[^A-Z0-9]*[A-Z]?")


@lru_cache(4096)
def normalise(label: str) -> str:
    """Return a label in the form in which labels are compared: capitals, without blanks, underscores, dots and dashes."""
    return _SEPARATORS.sub("", _translate_to_latin(label).upper())


def _translate_to_latin(label: str) -> str:
    """Return the label with East Asian words translated by the dictionary, and wide letters as narrow ones."""
    if label.isascii():
        return label
    words = _east_asian_words()
    if not any(word in label for word in words):
        return label
    label = unicodedata.normalize("NFKC", label)
    for word, meant in words.items():
        label = label.replace(word, f" {meant} ")
    return label.strip()


def _remove_accents(label: str) -> str:
    """Return the label in Latin capitals without accents; words that accents distinguish are replaced by the dictionary."""
    capitals = label.upper()
    if capitals.isascii():
        return capitals
    table = load_table("body/label_words")
    capitals = unicodedata.normalize("NFC", capitals)
    for word, meant in table["accented"].items():
        capitals = re.sub(rf"{word}(?![^\W\d_])", f" {meant} ", capitals)
    for letter, plain in table["letters"].items():
        capitals = capitals.replace(letter, plain)
    return "".join(c for c in unicodedata.normalize("NFKD", capitals) if not unicodedata.combining(c))


@cache
def _east_asian_words() -> dict[str, str]:
    """Return the East Asian words and their translations, the longest first."""
    table: dict[str, str] = load_table("body/label_words")["writing"]
    return dict(sorted(table.items(), key=lambda row: -len(row[0])))


@lru_cache(4096)
def split_label(label: str) -> tuple[str, ...]:
    """Return the parts of a label between its separators, in Latin capitals without accents."""
    plain = _remove_accents(_translate_to_latin(label))
    if not _BARE_ORDINAL.fullmatch(plain):
        plain = _ORDINAL.sub(r"\1", plain)
    return tuple(piece for piece in re.split(r"[^A-Z0-9]+", plain) if piece)


def strip_common_ending(labels: Sequence[str], endings: frozenset[str]) -> dict[str, str]:
    """Return label -> label without a last word of `endings` after a separator ("_study").

    A 1 at the end of most labels (RASI1, LHEE1) numbers a person or a trial, not the markers of a segment: it is also removed.
    """
    numbered_one = re.compile(r".*[^\W\d_]{3}[\s_.\-]?1")  # three letters and a 1
    shortened = {}
    for label in labels:
        match = re.fullmatch(r"(.*?[A-Za-z0-9])[\s_.\-]+([A-Za-z]+)", label)
        shortened[label] = match[1] if match and match[2].upper() in endings else label
    numbered = [label for label in labels if numbered_one.fullmatch(shortened[label])]
    if len(numbered) >= max(8, 0.75 * len(labels)):
        shortened |= {label: shortened[label].rstrip("1").rstrip("_. -") for label in numbered}
    return shortened


_PLACES = ("alone", "first", "last", "inside")


@dataclass(frozen=True)
class SideReading:
    """One way to separate the side from a label.

    Attributes:
        side: "r" or "l".
        rest: the remaining pieces, in capitals.
        style: (index of the pair of side words, position of the word), usually the same for all labels of a laboratory.
        mirror: the label of the other side, with its pieces joined.
    """

    side: str
    rest: tuple[str, ...]
    style: tuple[int, str]
    mirror: str


@cache
def side_readings(parts: tuple[str, ...]) -> tuple[SideReading, ...]:
    """Return all ways to separate the side from the pieces of a label, likely positions first; () for long texts."""
    if sum(map(len, parts)) > _MOST_LETTERS:
        return ()
    readings = [
        reading
        for number, pair in enumerate(side_pairs())
        for side, word, other in ((SIDES[0], pair[0], pair[1]), (SIDES[1], pair[1], pair[0]))
        for i in range(len(parts))
        for reading in _sides_in_piece(parts, i, side, word, other, number)
    ]
    return tuple(sorted(readings, key=lambda reading: _PLACES.index(reading.style[1])))


def _sides_in_piece(
    parts: tuple[str, ...], i: int, side: str, word: str, other: str, number: int
) -> Sequence[SideReading]:
    """Return the ways to separate a side word from piece `i` of a label."""
    piece, readings = parts[i], []
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
            readings.append(SideReading(side, rest, (number, place), mirror))
        at = piece.find(word, at + 1)
    return readings


@cache
def side_pairs() -> tuple[tuple[str, str], ...]:
    """Return the words of the right and the left side in every language."""
    return tuple((right, left) for right, left in load_table("body/label_words")["sides"]["pairs"])


def mirror_label(label: str, side: str) -> str:
    """Return the label of the other side, `side` being that of the label; "" if it has no letters for the side."""
    readings = [reading for reading in side_readings(split_label(label)) if reading.side == side]
    if not readings:
        return ""
    number, place = readings[0].style
    right, left = side_pairs()[number]
    word, other = (right, left) if side == SIDES[0] else (left, right)
    capitals = label.upper()
    at = capitals.rfind(word) if place == "last" else capitals.find(word)
    if at < 0 or len(capitals) != len(label):
        return ""
    letters = label[at : at + len(word)]
    new = other if letters.isupper() else other.lower() if letters.islower() else other.capitalize()
    return label[:at] + new + label[at + len(word) :]
