"""Which letters of a label are its side: told by the label that the other side has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from biodyn.conventions import SIDES
from biodyn.library.load import load_table
from biodyn.model.from_library.label_reading.spelling import pieces

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
    """Return every way to take a side out of a label that is cut into pieces, likelier places first."""
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
