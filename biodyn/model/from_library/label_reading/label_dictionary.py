"""Dictionary of labels: complete spellings and combinations of words, and their landmarks or segments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import groupby, product
from typing import Any, TypeAlias

from biodyn.library.tables import fill_side, load_entry
from biodyn.library.toml_files import load_table
from biodyn.model.from_library.label_reading.spelling import normalise, split_label

#: The marker set with the labels and words of the dictionary.
DICTIONARY = "anatomical"
_MOST_WORDS = 6
#: Interpretation of a label as words: their sorted names, cost, needed labels, and whether one is an abbreviation.
_Parse: TypeAlias = tuple[tuple[str, ...], float, frozenset[str], bool]


@dataclass(frozen=True)
class LabelMeaning:
    """Landmark and segment that a label can mark, before its side is filled in.

    `yields`: label that has priority, because it marks the same landmark more clearly (KNEL over KNE).
    """

    landmark: str
    body: str
    weight: float
    static_only: bool
    soft: bool
    sided: bool
    yields: bool

    def with_side(self, side: str) -> LabelMeaning:
        """Return the meaning with the side filled in ("" for the midline)."""
        return replace(self, landmark=fill_side(self.landmark, side), body=fill_side(self.body, side))


@dataclass(frozen=True)
class MeaningCandidate:
    """A possible meaning of a label without its side.

    Attributes:
        cost: 0 for a complete spelling, else the number of words.
        needs: labels without side of which the file must have one (KNI for KNE, LK for MK); empty = none.
        short: one of the words is an abbreviation, which needs other labels in its region of the body.
        otherwise: meaning that applies if another label already has the first one (LEP marks the elbow if LFC is present).
    """

    meaning: LabelMeaning
    cost: float
    needs: frozenset[str] = frozenset()
    short: bool = False
    otherwise: LabelMeaning | None = None


@dataclass(frozen=True)
class _Word:
    """Meaning of one spelling; `single`: a single letter, which is a word only next to other words, or if another label has one
    of the `opposite` letters."""

    names: tuple[str, ...]
    single: bool = False
    opposite: tuple[str, ...] = ()
    short: bool = False


@dataclass(frozen=True)
class _Dictionary:
    """Tables of the dictionary, keyed by spelling.

    Attributes:
        words: word -> its meanings.
        spellings, otherwise: complete label without side -> its meanings, first and second.
        conditional: complete label without side -> (meaning, labels of which the file must have one).
        exact: words -> meanings. open_ended: words to which any location words and numbers may be added -> meanings.
        places: location words. segments: word -> segment.
    """

    words: Mapping[str, tuple[_Word, ...]]
    spellings: Mapping[str, dict[LabelMeaning, None]]
    otherwise: Mapping[str, dict[LabelMeaning, None]]
    conditional: Mapping[str, list[tuple[LabelMeaning, frozenset[str]]]]
    exact: Mapping[tuple[str, ...], dict[LabelMeaning, None]]
    open_ended: Mapping[tuple[str, ...], dict[LabelMeaning, None]]
    places: frozenset[str]
    segments: Mapping[str, str]


@cache
def _load_dictionary() -> _Dictionary:
    table = load_table("body/label_words")
    rows = load_entry("markersets", DICTIONARY)["marker"]
    entries = [(row, _row_meaning(row, row.get("landmark", ""))) for row in rows]
    entries += [(row, _row_meaning(row, row["or_landmark"])) for row in rows if "or_landmark" in row]
    spellings: dict[str, dict[LabelMeaning, None]] = {}
    otherwise: dict[str, dict[LabelMeaning, None]] = {}
    conditional: dict[str, list[tuple[LabelMeaning, frozenset[str]]]] = {}
    exact: dict[tuple[str, ...], dict[LabelMeaning, None]] = {}
    open_ended: dict[tuple[str, ...], dict[LabelMeaning, None]] = {}
    for row, meaning in entries:
        for label in row["labels"]:
            spellings.setdefault(_strip_side(label), {})[meaning] = None
        for label in row.get("otherwise", ()):
            otherwise.setdefault(_strip_side(label), {})[meaning] = None
        for label, others in row.get("beside", {}).items():
            needed = frozenset(_strip_side(other) for other in others.split("|"))
            conditional.setdefault(_strip_side(label), []).append((meaning, needed))
        for pattern in row.get("words", ()):
            target = open_ended if "..." in pattern else exact
            for words in _expand_pattern(pattern.replace("...", "").split()):
                target.setdefault(words, {})[meaning] = None
    places = frozenset(table["place"])
    return _Dictionary(
        _word_table(table), spellings, otherwise, conditional, exact, open_ended, places, table["segment"]
    )


def _row_meaning(row: Mapping[str, Any], landmark: str) -> LabelMeaning:
    return LabelMeaning(
        landmark,
        row["body"],
        float(row.get("weight", 1.0)),
        bool(row.get("static_only", False)),
        bool(row.get("soft", False)),
        any("{S}" in label for label in row["labels"]),
        bool(row.get("yields", False)),
    )


def _strip_side(label: str) -> str:
    return normalise(label.replace("{S}", ""))


def _expand_pattern(elements: list[str]) -> Iterator[tuple[str, ...]]:
    """Yield the combinations of a pattern, sorted: `a b|c d?` -> (a, b), (a, c), (a, b, d), (a, c, d)."""
    choices = [[*element.rstrip("?").split("|"), *([""] if element.endswith("?") else [])] for element in elements]
    for choice in product(*choices):
        yield tuple(sorted(word for word in choice if word))


def _word_table(table: Mapping[str, Any]) -> Mapping[str, tuple[_Word, ...]]:
    words: dict[str, dict[_Word, None]] = {}
    spelt = [(spelling, _Word(())) for spelling in table["nothing"]["spelt"]]
    spelt += [(spelling, _Word((number,))) for number, row in table["number"].items() for spelling in row]
    for name, row in table["place"].items():
        others = [other for key, other in table["place"].items() if key != name]
        opposite = tuple(letter for other in others for letter in other.get("contrast", ()))
        spelt += [(spelling, _Word((name,))) for spelling in row["spelt"]]
        spelt += [(letter, _Word((name,), single=True)) for letter in row.get("single", ())]
        spelt += [(letter, _Word((name,), single=True, opposite=opposite)) for letter in row.get("contrast", ())]
    spelt += [(spelling, _Word((name,))) for name, row in table["part"].items() for spelling in row]
    spelt += [(spelling, _Word(tuple(names.split()), short=True)) for spelling, names in table["joined"].items()]
    for spelling, word in spelt:
        words.setdefault(spelling, {})[word] = None
    return {spelling: tuple(row) for spelling, row in words.items()}


@lru_cache(8192)
def possible_meanings(pieces: tuple[str, ...], sided: bool) -> tuple[MeaningCandidate, ...]:
    """Return the possible meanings of the pieces of a label after its side was removed; the cheapest first."""
    table, stem = _load_dictionary(), "".join(pieces)
    if len(stem) > 48:  # longer than any label composed of words
        return ()
    second = next((meaning for meaning in table.otherwise.get(stem, ()) if meaning.sided == sided), None)
    complete = [
        MeaningCandidate(meaning, 0.0, otherwise=second)
        for meaning in table.spellings.get(stem, ())
        if meaning.sided == sided
    ]
    if complete:
        return tuple(complete)
    best = {
        meaning: MeaningCandidate(meaning, 0.0, needs, short=True)
        for meaning, needs in table.conditional.get(stem, ())
        if meaning.sided == sided
    }
    for names, cost, needs, short in _parse_words(pieces):
        for meaning in _dictionary_meanings(names) or _meanings_on_segment(names):
            known = best.get(meaning)
            if meaning.sided == sided and (known is None or (cost, len(needs)) < (known.cost, len(known.needs))):
                best[meaning] = MeaningCandidate(meaning, cost, needs, short)
    return tuple(sorted(best.values(), key=lambda candidate: candidate.cost))


def dictionary_meaning(pattern: str, side: str) -> LabelMeaning | None:
    """Return the meaning of a label pattern of a marker set ({S} for the side); None if it is not unique."""
    options = possible_meanings(split_label(pattern.replace("{S}", " ")), "{S}" in pattern)
    best = [option.meaning for option in options if option.cost == options[0].cost and not option.needs]
    return best[0].with_side(side) if len({(meaning.landmark, meaning.body) for meaning in best}) == 1 else None


def _parse_words(pieces: tuple[str, ...]) -> Iterator[_Parse]:
    """Yield every way to read all letters of the pieces as words."""
    stem, start = "".join(pieces), 0
    options = []
    for piece in pieces:
        options.append(list(_parse_piece(piece, len(pieces) > 1, stem, start)))
        start += len(piece)
    for choice in product(*options):
        names = tuple(sorted(name for parsed, *_ in choice for name in parsed))
        if names and len(names) <= _MOST_WORDS:
            needs = frozenset[str]().union(*(needed for _, _, needed, _ in choice))
            yield names, sum(cost for _, cost, _, _ in choice), needs, any(short for *_, short in choice)


def _parse_piece(piece: str, several: bool, stem: str, start: int) -> Iterator[_Parse]:
    """Yield every way to read one piece, which begins at `start` in the label; `several`: there are other pieces."""
    words = _load_dictionary().words
    if piece.isdigit():
        yield (str(int(piece)),), 0.5, frozenset(), False
        return

    def extend_words(at: int, taken: tuple[tuple[str, _Word], ...]) -> Iterator[tuple[tuple[str, _Word], ...]]:
        if at == len(piece):
            yield taken
            return
        if len(taken) == _MOST_WORDS:
            return
        if piece[at].isdigit():
            end = at + 1
            while end < len(piece) and piece[end].isdigit():
                end += 1
            yield from extend_words(end, (*taken, (piece[at:end], _Word((str(int(piece[at:end])),)))))
            return
        for end in range(len(piece), at, -1):
            for word in words.get(piece[at:end], ()):
                yield from extend_words(end, (*taken, (piece[at:end], word)))

    for row in extend_words(0, ()):
        if not _are_single_letters_valid([word.single for _, word in row], several):
            continue
        letters = sum(word.single for _, word in row)
        names = tuple(name for _, word in row for name in word.names)
        cost = sum(0.5 if text.isdigit() or not word.names else 1.0 for text, word in row)
        yield names, cost + 0.25 * letters, _needed_labels(row, stem, start), any(word.short for _, word in row)


def _are_single_letters_valid(single: list[bool], several: bool) -> bool:
    """Return whether one-letter words (at most two) are at one end of longer words, or are separate pieces."""
    if all(single):
        return several and len(single) == 1
    runs = [sum(1 for _ in run) for letter, run in groupby(single) if letter]
    return not runs or (len(runs) == 1 and runs[0] <= 2 and (single[0] or single[-1]))


def _needed_labels(row: tuple[tuple[str, _Word], ...], stem: str, start: int) -> frozenset[str]:
    """Return the labels, each with an opposite letter, of which one must be present so that a single letter counts as a word."""
    at, needed = start, set()
    for text, word in row:
        needed |= {stem[:at] + letter + stem[at + 1 :] for letter in word.opposite}
        at += len(text)
    return frozenset(needed)


@lru_cache(8192)
def _dictionary_meanings(names: tuple[str, ...]) -> tuple[LabelMeaning, ...]:
    table = _load_dictionary()
    if names in table.exact:
        return tuple(table.exact[names])
    core = tuple(word for word in names if word not in table.places and not word.isdigit())
    return tuple(table.open_ended.get(core, ())) if len(core) < len(names) else ()


@lru_cache(8192)
def _meanings_on_segment(names: tuple[str, ...]) -> tuple[LabelMeaning, ...]:
    """Return the meanings of the other words if one of the words only names the segment that they are on (Pelvis_R_ASIS)."""
    segments = _load_dictionary().segments
    found: dict[LabelMeaning, None] = {}
    for word in set(names) & set(segments):
        rest = list(names)
        rest.remove(word)
        found.update(dict.fromkeys(m for m in _dictionary_meanings(tuple(rest)) if m.body == segments[word]))
    return tuple(found)
