"""Resolution of the labels of a file into unique, ambiguous and unknown ones."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

from biodyn.conventions import SIDES
from biodyn.library.toml_files import load_table
from biodyn.model.from_library.label_reading.label_dictionary import LabelMeaning, MeaningCandidate, possible_meanings
from biodyn.model.from_library.label_reading.spelling import (
    SideReading,
    side_pairs,
    side_readings,
    split_label,
    strip_common_ending,
)

# Number of labels with a counterpart that a style of naming sides needs to be used for a label without one.
_ESTABLISHED = 4


@dataclass(frozen=True)
class LabelReading:
    """Meaning of the labels of one file.

    Attributes:
        points: label -> its meaning, side filled in; each landmark once.
        ambiguous: label -> possible landmarks (or segments), if the other labels do not decide.
        repeated: label -> landmark already marked by another label.
    """

    points: dict[str, LabelMeaning] = field(default_factory=dict)
    ambiguous: dict[str, tuple[str, ...]] = field(default_factory=dict)
    repeated: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class _LabelInterpretation:
    """Interpretation of a label without its side; the labels of both sides have the same stem and meaning."""

    label: str
    side: str
    stem: tuple[str, ...]
    options: tuple[MeaningCandidate, ...]


def read_labels(labels: Sequence[str], known: Mapping[str, str] | None = None) -> LabelReading:
    """Return the meanings of the labels of a file.

    Args: `known`: landmark ("" for none) of labels defined by a marker set; no other label gets these landmarks.
    """
    settled = dict(known or {})
    readings = _interpret_labels(labels)
    reading = LabelReading()
    taken = {landmark for landmark in settled.values() if landmark}
    regions = _marked_regions(readings)
    groups: dict[tuple[tuple[str, ...], bool], list[_LabelInterpretation]] = defaultdict(list)
    for label, entry in readings.items():
        if label not in settled:
            groups[entry.stem, bool(entry.side)].append(entry)
    ambiguous: list[list[_LabelInterpretation]] = []
    for group in sorted(groups.values(), key=lambda group: _sort_key(group[0])):
        options = group[0].options
        if len(_cheapest_meanings(options)) == 1 and (
            not options[0].short or _region_of_meaning(options[0].meaning) in regions
        ):
            _assign_meaning(group, _first_available_meaning(group, options[0], taken), taken, reading)
        else:
            ambiguous.append(group)
    chosen: dict[frozenset[str], str] = {}
    for _ in range(len(ambiguous)):
        remaining = [group for group in ambiguous if not _assign_if_unique(group, taken, regions, reading, chosen)]
        if len(remaining) == len(ambiguous):
            break
        ambiguous = remaining
    for group in ambiguous:
        _report_ambiguous(group, taken, regions, reading)
    return reading


def _sort_key(reading: _LabelInterpretation) -> tuple[bool, bool, float]:
    """Return the sort key: complete spellings, then words, then labels with less priority, then labels with alternative
    meanings."""
    best = reading.options[0]
    return best.otherwise is not None, best.meaning.yields, best.cost


def _first_available_meaning(
    group: Sequence[_LabelInterpretation], option: MeaningCandidate, taken: set[str]
) -> LabelMeaning:
    """Return the first meaning of the labels, or the alternative one if another label has the first on either side."""
    if option.otherwise is None or not any(option.meaning.with_side(entry.side).landmark in taken for entry in group):
        return option.meaning
    return option.otherwise


def _cheapest_meanings(options: Sequence[MeaningCandidate]) -> set[tuple[str, str]]:
    """Return (landmark, "") of the options with the lowest cost, or ("", segment) for a meaning without landmark."""
    best = options[0].cost if options else 0.0
    return {(o.meaning.landmark, "" if o.meaning.landmark else o.meaning.body) for o in options if o.cost == best}


def _assign_meaning(
    group: list[_LabelInterpretation], meaning: LabelMeaning, taken: set[str], reading: LabelReading
) -> None:
    # a label that yields on one side also yields on the other, where the clearer label may be missing
    yields = meaning.yields and any(meaning.with_side(side).landmark in taken for side in SIDES)
    for entry in group:
        sided = meaning.with_side(entry.side)
        if sided.landmark and (yields or sided.landmark in taken):
            if meaning.landmark in load_table("body/label_words")["many"]["landmarks"]:
                reading.points[entry.label] = replace(sided, landmark="")
            else:
                reading.repeated[entry.label] = sided.landmark
            continue
        if sided.landmark:
            taken.add(sided.landmark)
        reading.points[entry.label] = sided


def _assign_if_unique(
    group: list[_LabelInterpretation],
    taken: set[str],
    regions: frozenset[str],
    reading: LabelReading,
    chosen: dict[frozenset[str], str],
) -> bool:
    """Assign the only meaning that no other label has; return False if there are several.

    `chosen`: alternative segments of a label -> the chosen one, which is used for other labels with the same alternatives (MEPI
    is on the knee if LEPI is).
    """
    options = _unused_meanings(group, taken, regions)
    bodies = frozenset(option.meaning.body for option in _cheapest_candidates(group))
    if len(_cheapest_meanings(options)) > 1:
        options = [option for option in options if option.meaning.body == chosen.get(bodies)]
    if len(_cheapest_meanings(options)) != 1:
        return False
    chosen.setdefault(bodies, options[0].meaning.body)
    _assign_meaning(group, options[0].meaning, taken, reading)
    return True


def _report_ambiguous(
    group: list[_LabelInterpretation], taken: set[str], regions: frozenset[str], reading: LabelReading
) -> None:
    """Record the possible meanings of the labels, and attach the labels to their segment if it is the same for all meanings."""
    options = _cheapest_candidates(group)
    is_free = bool(_unused_meanings(group, taken, regions))
    for entry in group:
        meanings = [option.meaning.with_side(entry.side) for option in options]
        reading.ambiguous[entry.label] = tuple(dict.fromkeys(m.landmark or m.body for m in meanings))
        if is_free and len({m.body for m in meanings}) == 1:
            weight = min(m.weight for m in meanings)
            reading.points[entry.label] = replace(meanings[0], landmark="", weight=weight)


def _cheapest_candidates(group: list[_LabelInterpretation]) -> list[MeaningCandidate]:
    return [option for option in group[0].options if option.cost == group[0].options[0].cost]


def _unused_meanings(
    group: list[_LabelInterpretation], taken: set[str], regions: frozenset[str]
) -> list[MeaningCandidate]:
    """Return the meanings that no other label has, preferably in regions of the body that the file marks."""
    options = _cheapest_candidates(group)
    free = [o for o in options if not any(o.meaning.with_side(entry.side).landmark in taken for entry in group)]
    return [o for o in free if _region_of_meaning(o.meaning) in regions] or [o for o in free if not o.short]


# -- regions of the body with markers ---------------------------------------------------------------------------


@cache
def _region_by_segment() -> Mapping[str, str]:
    """Return the body region of each segment; usually either all or none of the segments of a region have markers."""
    rows = load_table("body/label_words")["regions"]
    return {body: region for region, bodies in rows.items() for body in bodies}


def _region_of_meaning(meaning: LabelMeaning) -> str:
    return _region_by_segment().get(meaning.body, "")


def _marked_regions(readings: Mapping[str, _LabelInterpretation]) -> frozenset[str]:
    """Return the body regions with an unambiguous label without abbreviations; the trunk, too, if the arms have one."""
    clear = (reading.options[0] for reading in readings.values() if len(_cheapest_meanings(reading.options)) == 1)
    regions = {_region_of_meaning(option.meaning) for option in clear if not option.short}
    return frozenset(regions | {"trunk"} if "arms" in regions else regions)


# -- sides ----------------------------------------------------------------------------------------------------------------


def _interpret_labels(labels: Sequence[str]) -> dict[str, _LabelInterpretation]:
    """Return, by label, the side and possible meanings that the other labels support best; labels without meaning are omitted."""
    endings = frozenset(load_table("body/label_words")["nothing"]["spelt"])
    shortened = strip_common_ending(labels, endings)
    parts = {label: split_label(shortened[label]) for label in labels}
    present = Counter("".join(part) for part in parts.values())
    options = {label: _side_options(parts[label], present) for label in labels}
    stems = {"".join(side.rest) for row in options.values() for side, _ in row} | set(present)
    options = {label: _options_with_needed_labels(row, stems) for label, row in options.items()}
    styles = _count_styles(options, present)
    options = _drop_minor_languages(options, styles)
    readings = {}
    for label in labels:
        unsided = _available_options(possible_meanings(parts[label], False), stems)
        reading = _best_reading(label, parts[label], options[label], unsided, styles, present)
        if reading is not None:
            readings[label] = reading
    return readings


_Options = list[tuple[SideReading, tuple[MeaningCandidate, ...]]]


def _side_options(parts: tuple[str, ...], present: Counter[str]) -> _Options:
    """Return the ways to separate the side from a label so that the rest has a meaning."""
    options = []
    for side in side_readings(parts):
        if side.style[1] != "inside" or present[side.mirror]:
            meanings = possible_meanings(side.rest, True)
            if meanings:
                options.append((side, meanings))
    return options


def _available_options(options: tuple[MeaningCandidate, ...], stems: set[str]) -> tuple[MeaningCandidate, ...]:
    """Return the candidates with all needed labels present in the file; `stems`: labels of the file without sides."""
    return tuple(option for option in options if not option.needs or option.needs & stems)


def _options_with_needed_labels(options: _Options, stems: set[str]) -> _Options:
    available = ((side, _available_options(meanings, stems)) for side, meanings in options)
    return [(side, meanings) for side, meanings in available if meanings]


def _count_styles(options: Mapping[str, _Options], present: Counter[str]) -> Counter[tuple[int, str]]:
    """Return for each style of naming the side how many labels have it and a counterpart on the other side."""
    return Counter(
        style for row in options.values() for style in {side.style for side, _ in row if present[side.mirror]}
    )


def _drop_minor_languages(options: Mapping[str, _Options], styles: Counter[tuple[int, str]]) -> dict[str, _Options]:
    """Remove pairs of side words that share a word with a more frequent pair: P is not right if R and L are used."""
    count: Counter[int] = Counter()
    for (number, _), labels in styles.items():
        count[number] += labels
    pairs = side_pairs()
    foreign = {
        number
        for number, pair in enumerate(pairs)
        if any(set(pair) & set(pairs[other]) and count[other] > count[number] for other in count)
    }
    return {label: [option for option in row if option[0].style[0] not in foreign] for label, row in options.items()}


def _is_spelt_out(side: SideReading) -> bool:
    """Return whether the side is a word of at least four letters between separators (RIGHT, LINKS, but not RE)."""
    number, position = side.style
    return position == "alone" and len(side_pairs()[number][SIDES.index(side.side)]) >= 4  # type: ignore[arg-type]


def _best_reading(
    label: str,
    parts: tuple[str, ...],
    options: _Options,
    unsided: tuple[MeaningCandidate, ...],
    styles: Counter[tuple[int, str]],
    present: Counter[str],
) -> _LabelInterpretation | None:
    """Return the side best supported by the other labels; no side if none supports it and the label has a meaning without
    side."""

    def support_rank(option: tuple[SideReading, tuple[MeaningCandidate, ...]]) -> tuple[bool, int, float]:
        side, meanings = option
        return present[side.mirror] > 0, styles[side.style], -meanings[0].cost

    ranked = sorted(options, key=support_rank, reverse=True)
    if ranked and not present[ranked[0][0].mirror]:
        established = max(styles.values(), default=0) >= _ESTABLISHED
        ranked = [
            option
            for option in ranked
            if not established or styles[option[0].style] >= _ESTABLISHED or _is_spelt_out(option[0])
        ]
        if unsided and (not ranked or unsided[0].cost <= ranked[0][1][0].cost):
            ranked = []
    if not ranked:
        return _LabelInterpretation(label, "", parts, unsided) if unsided else None
    best = ranked[0]
    if any(support_rank(option) == support_rank(best) and option[0].side != best[0].side for option in ranked):
        return None
    return _LabelInterpretation(label, best[0].side, best[0].rest, best[1])
