"""How labels are compared: capitals, without accents; pieces between separators; what stands behind every label."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import cache, lru_cache

from biodyn.library.load import load_table

_NO_LETTER = re.compile(r"[^A-Z0-9]+")
_NO_LETTER_BEHIND = r"(?![^\W\d_])"
_IGNORED_CHARACTERS = re.compile(r"[\s_.\-]+")
# three letters and a 1, on this many labels and this share of them
_NUMBERED_ONE = re.compile(r".*[^\W\d_]{3,}[\s_.\-]?1")
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
