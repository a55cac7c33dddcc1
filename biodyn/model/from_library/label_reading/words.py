"""The dictionary: whole spellings and words put together, and what they mark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import groupby, product
from typing import Any

from biodyn.library.load import load_table
from biodyn.library.tables import fill_side, load_entry
from biodyn.model.from_library.label_reading.spelling import normalise, pieces

#: The set whose labels and words are the dictionary.
DICTIONARY = "anatomical"
_ANY_PLACES = "..."
_PART = "part"
# Longer rows of letters than any label has words in are noise, and would cost time to cut.
_LONGEST = 48
_MOST_WORDS = 6
_MOST_LETTERS = 2


@dataclass(frozen=True)
class Point:
    """What a label can mark: an entry of the dictionary before its side is filled in.

    `yields`: it gives way where another label marks the same landmark more clearly (KNE beside KNEL).
    """

    landmark: str
    body: str
    weight: float
    static_only: bool
    soft: bool
    sided: bool
    yields: bool

    def on_side(self, side: str) -> Point:
        """Return it with the side filled in ("" for one of the midline)."""
        names = (fill_side(self.landmark, side), fill_side(self.body, side))
        return Point(*names, self.weight, self.static_only, self.soft, self.sided, self.yields)


@dataclass(frozen=True)
class Candidate:
    """A point that a stem may mean. `cost`: 0 for a whole spelling, else the words that it took.

    `needs`: stems of which the file must have one, for what counts only beside it (KNE beside KNI, MK beside LK). `short`: an
    abbreviation is among the words, which needs other labels in its region of the body. `otherwise`: what it means where another
    label marks `point` (LEP is the elbow's epicondyle beside LFC).
    """

    point: Point
    cost: float
    needs: frozenset[str] = frozenset()
    short: bool = False
    otherwise: Point | None = None


@dataclass(frozen=True)
class _Word:
    """One spelling of a word: what it means, and whether it is one letter that needs company or contrast."""

    means: tuple[str, ...]
    single: bool = False
    opposite: tuple[str, ...] = ()
    short: bool = False


@dataclass(frozen=True)
class _Cut:
    means: tuple[str, ...]
    cost: float
    needs: frozenset[str]
    short: bool


@lru_cache(8192)
def candidates(pieces: tuple[str, ...], sided: bool) -> tuple[Candidate, ...]:
    """Return the points that the pieces of a label may mean after its side was taken out; the cheapest first."""
    stem = "".join(pieces)
    if len(stem) > _LONGEST:
        return ()
    second = next((point for point in _second_meanings().get(stem, ()) if point.sided == sided), None)
    whole = [Candidate(point, 0.0, otherwise=second) for point in _spellings().get(stem, ()) if point.sided == sided]
    if whole:
        return tuple(whole)
    found = {
        point: Candidate(point, 0.0, others, short=True)
        for point, others in _beside().get(stem, ())
        if point.sided == sided
    }
    for cut in _cuts(pieces):
        for point in _points_of(cut.means) or _behind_segment(cut.means):
            known = found.get(point)
            if point.sided == sided and (known is None or (cut.cost, len(cut.needs)) < (known.cost, len(known.needs))):
                found[point] = Candidate(point, cut.cost, cut.needs, cut.short)
    return tuple(sorted(found.values(), key=lambda candidate: candidate.cost))


def dictionary_point(pattern: str, side: str) -> Point | None:
    """Return what a label pattern of a marker set ({S} for the side) means; None where that is not one thing."""
    found = candidates(pieces(pattern.replace("{S}", " ")), "{S}" in pattern)
    best = [candidate.point for candidate in found if candidate.cost == found[0].cost and not candidate.needs]
    return best[0].on_side(side) if len({(point.landmark, point.body) for point in best}) == 1 else None


# -- cutting ------------------------------------------------------------------------------------------------------------


def _cuts(pieces: tuple[str, ...]) -> Iterator[_Cut]:
    """Every way to read all letters of the pieces as words."""
    several = len(pieces) > 1
    stem = "".join(pieces)
    start = 0
    options = []
    for piece in pieces:
        options.append(list(_cut_piece(piece, several, stem, start)))
        start += len(piece)
    for choice in product(*options):
        means = tuple(sorted(word for cut in choice for word in cut.means))
        if means and len(means) <= _MOST_WORDS:
            needs = frozenset[str]().union(*(cut.needs for cut in choice))
            yield _Cut(means, sum(cut.cost for cut in choice), needs, any(cut.short for cut in choice))


def _cut_piece(piece: str, several: bool, stem: str, start: int) -> Iterator[_Cut]:
    """Every way to read one piece; one-letter words stand alone beside other pieces, or at an end of a longer word."""
    if piece.isdigit():
        yield _Cut((_number(piece),), 0.5, frozenset(), False)
        return

    def go(at: int, taken: tuple[tuple[str, _Word], ...]) -> Iterator[tuple[tuple[str, _Word], ...]]:
        if at == len(piece):
            yield taken
            return
        if len(taken) == _MOST_WORDS:
            return
        if piece[at].isdigit():
            end = at + 1
            while end < len(piece) and piece[end].isdigit():
                end += 1
            yield from go(end, (*taken, (piece[at:end], _Word((_number(piece[at:end]),)))))
            return
        for end in range(len(piece), at, -1):
            for word in _words().get(piece[at:end], ()):
                yield from go(end, (*taken, (piece[at:end], word)))

    for row in go(0, ()):
        if not _well_placed([word.single for _, word in row], several):
            continue
        ones = sum(word.single for _, word in row)
        means = tuple(name for _, word in row for name in word.means)
        words = sum(0.5 if text.isdigit() or not word.means else 1.0 for text, word in row)
        yield _Cut(means, words + 0.25 * ones, _needed(row, stem, start), any(word.short for _, word in row))


def _well_placed(single: list[bool], several: bool) -> bool:
    """True where one-letter words stand together at one end of a longer word, or alone beside other pieces."""
    if all(single):
        return several and len(single) == 1
    runs = [sum(1 for _ in run) for letter, run in groupby(single) if letter]
    return not runs or (len(runs) == 1 and runs[0] <= _MOST_LETTERS and (single[0] or single[-1]))


def _needed(row: tuple[tuple[str, _Word], ...], stem: str, start: int) -> frozenset[str]:
    """Stems of the opposite letters for a letter that is a word only by contrast."""
    at, found = start, set()
    for text, word in row:
        found |= {stem[:at] + letter + stem[at + 1 :] for letter in word.opposite}
        at += len(text)
    return frozenset(found)


def _number(digits: str) -> str:
    return str(int(digits))


# -- the tables as read --------------------------------------------------------------------------------------------------


@cache
def _words() -> Mapping[str, tuple[_Word, ...]]:
    """Spelling -> what it may mean."""
    table = load_table("body/label_words")
    found: dict[str, list[_Word]] = {}

    def add(spelling: str, word: _Word) -> None:
        if word not in found.setdefault(spelling, []):
            found[spelling].append(word)

    for spelling in table["nothing"]["spelt"]:
        add(spelling, _Word(()))
    for number, spellings in table["number"].items():
        for spelling in spellings:
            add(spelling, _Word((number,)))
    for name, row in table["place"].items():
        for spelling in row["spelt"]:
            add(spelling, _Word((name,)))
        for letter in row.get("single", ()):
            add(letter, _Word((name,), single=True))
        for letter in row.get("contrast", ()):
            add(letter, _Word((name,), single=True, opposite=_opposite_letters(name)))
    for name, spellings in table[_PART].items():
        for spelling in spellings:
            add(spelling, _Word((name,)))
    for spelling, names in table["joined"].items():
        add(spelling, _Word(tuple(names.split()), short=True))
    return {spelling: tuple(words) for spelling, words in found.items()}


def _opposite_letters(name: str) -> tuple[str, ...]:
    places = load_table("body/label_words")["place"]
    return tuple(letter for other, row in places.items() if other != name for letter in row.get("contrast", ()))


@cache
def _entries() -> tuple[tuple[dict[str, Any], Point], ...]:
    rows = load_entry("markersets", DICTIONARY)["marker"]
    either = [(row, _point(row, row["or_landmark"])) for row in rows if "or_landmark" in row]
    return (*((row, _point(row, row.get("landmark", ""))) for row in rows), *either)


def _point(row: Mapping[str, Any], landmark: str) -> Point:
    sided = any("{S}" in label for label in row["labels"])
    return Point(
        landmark,
        row["body"],
        float(row.get("weight", 1.0)),
        bool(row.get("static_only", False)),
        bool(row.get("soft", False)),
        sided,
        bool(row.get("yields", False)),
    )


@cache
def _spellings() -> Mapping[str, tuple[Point, ...]]:
    """Whole label without its side -> the points that it may mean."""
    found: dict[str, dict[Point, None]] = {}
    for row, point in _entries():
        for label in row["labels"]:
            found.setdefault(normalise(label.replace("{S}", "")), {})[point] = None
    return {stem: tuple(points) for stem, points in found.items()}


@cache
def _second_meanings() -> Mapping[str, tuple[Point, ...]]:
    """Whole label without its side -> the points that it means where another label marks what it means first."""
    found: dict[str, list[Point]] = {}
    for row, point in _entries():
        for label in row.get("otherwise", ()):
            found.setdefault(normalise(label.replace("{S}", "")), []).append(point)
    return {stem: tuple(points) for stem, points in found.items()}


@cache
def _beside() -> Mapping[str, tuple[tuple[Point, frozenset[str]], ...]]:
    """Whole label without its side -> the points that it may mean where the file has one of the others, without their sides."""
    found: dict[str, list[tuple[Point, frozenset[str]]]] = {}
    for row, point in _entries():
        for label, others in row.get("beside", {}).items():
            stem, *needed = (normalise(text.replace("{S}", "")) for text in (label, *others.split("|")))
            found.setdefault(stem, []).append((point, frozenset(needed)))
    return {stem: tuple(points) for stem, points in found.items()}


@cache
def _patterns() -> tuple[Mapping[tuple[str, ...], tuple[Point, ...]], Mapping[tuple[str, ...], tuple[Point, ...]]]:
    """Words that must be there exactly -> points; words that may have any places and numbers beside them -> points."""
    exact: dict[tuple[str, ...], list[Point]] = {}
    open_ended: dict[tuple[str, ...], list[Point]] = {}
    for row, point in _entries():
        for pattern in row.get("words", ()):
            table = open_ended if _ANY_PLACES in pattern else exact
            for words in _written_out(pattern.replace(_ANY_PLACES, "").split()):
                if point not in table.setdefault(words, []):
                    table[words].append(point)
    return {w: tuple(p) for w, p in exact.items()}, {w: tuple(p) for w, p in open_ended.items()}


def _written_out(elements: list[str]) -> Iterator[tuple[str, ...]]:
    """`a b|c d?` -> (a, b), (a, c), (a, b, d), (a, c, d), each sorted."""
    choices = [[*element.rstrip("?").split("|"), *([""] if element.endswith("?") else [])] for element in elements]
    for choice in product(*choices):
        yield tuple(sorted(word for word in choice if word))


@lru_cache(8192)
def _points_of(means: tuple[str, ...]) -> tuple[Point, ...]:
    exact, open_ended = _patterns()
    places = load_table("body/label_words")["place"]
    if means in exact:
        return exact[means]
    core = tuple(word for word in means if word not in places and not word.isdigit())
    return open_ended.get(core, ()) if len(core) < len(means) else ()


@lru_cache(8192)
def _behind_segment(means: tuple[str, ...]) -> tuple[Point, ...]:
    """Points on a segment that one of the words names: it says nothing more of them (Pelvis_R_ASIS)."""
    segments = load_table("body/label_words")["segment"]
    found: dict[Point, None] = {}
    for word in set(means) & set(segments):
        rest = list(means)
        rest.remove(word)
        found.update(dict.fromkeys(point for point in _points_of(tuple(rest)) if point.body == segments[word]))
    return tuple(found)
