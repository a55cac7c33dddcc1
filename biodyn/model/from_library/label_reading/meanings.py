"""The labels of one file judged together: what each marks, what could be more than one thing, what says nothing."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

from biodyn.conventions import SIDES
from biodyn.library.load import load_table
from biodyn.model.from_library.label_reading.spelling import (
    SideReading,
    pieces,
    side_pairs,
    side_readings,
    without_shared_ending,
)
from biodyn.model.from_library.label_reading.words import Candidate, Point, candidates

# A habit of naming sides counts for a label whose other side is missing where this many labels show both sides.
_ESTABLISHED = 4
# A word of so many letters between separators says the side by itself (RIGHT, LINKS, not RE).
_SPELT_OUT = 4
_SURE_PLACES = ("alone", "first", "last")


@dataclass(frozen=True)
class LabelReading:
    """What the labels of one file mean.

    Attributes:
        points: label -> what it marks, sides filled in; each landmark once.
        ambiguous: label -> the landmarks (or segments) it could mean, where the other labels do not tell which.
        repeated: label -> the landmark that another label marks already.
    """

    points: dict[str, Point] = field(default_factory=dict)
    ambiguous: dict[str, tuple[str, ...]] = field(default_factory=dict)
    repeated: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class _Reading:
    """A label with its side taken out: several labels, one a side, share a stem and so a meaning."""

    label: str
    side: str
    stem: tuple[str, ...]
    options: tuple[Candidate, ...]


def read_labels(labels: Sequence[str], known: Mapping[str, str] | None = None) -> LabelReading:
    """Return what the labels mean, judged together.

    Parameters: `known` names labels whose landmark ("" for none) is settled already, by a marker set: their landmarks are
    taken, and no other label gets them.
    """
    settled = dict(known or {})
    readings = _sided(labels)
    reading = LabelReading()
    taken = {landmark for landmark in settled.values() if landmark}
    open_readings = [one for label, one in readings.items() if label not in settled]
    regions = _regions(readings)
    groups: dict[tuple[tuple[str, ...], bool], list[_Reading]] = defaultdict(list)
    for one in open_readings:
        groups[one.stem, bool(one.side)].append(one)
    waiting = sorted(groups.values(), key=lambda group: _order(group[0]))
    unsure: list[list[_Reading]] = []
    for group in waiting:
        options = group[0].options
        if len(_meanings(options)) == 1 and (not options[0].short or _region(options[0].point) in regions):
            _claim(group, _first_free(group, options[0], taken), taken, reading)
        else:
            unsure.append(group)
    chosen: dict[frozenset[str], str] = {}
    for _ in range(len(unsure)):
        left = [group for group in unsure if not _settle(group, taken, regions, reading, chosen)]
        if len(left) == len(unsure):
            break
        unsure = left
    for group in unsure:
        _leave(group, taken, regions, reading)
    return reading


def _order(one: _Reading) -> tuple[bool, bool, float]:
    """Clear readings first: last what has a second meaning, before it what yields to others; whole spellings before words."""
    best = one.options[0]
    return best.otherwise is not None, best.point.yields, best.cost


def _first_free(group: Sequence[_Reading], option: Candidate, taken: set[str]) -> Point:
    """What the labels mean first, or, where another label marks that on one side, what they mean otherwise."""
    if option.otherwise is None or not any(option.point.on_side(one.side).landmark in taken for one in group):
        return option.point
    return option.otherwise


def _meanings(options: Sequence[Candidate]) -> set[tuple[str, str]]:
    """Landmark, or segment where it marks none, of the cheapest options."""
    best = options[0].cost if options else 0.0
    return {(o.point.landmark, "" if o.point.landmark else o.point.body) for o in options if o.cost == best}


def _claim(group: list[_Reading], point: Point, taken: set[str], reading: LabelReading) -> None:
    # what gives way on one side does so on the other, where the clearer label may be lost
    gives_way = point.yields and any(point.on_side(side).landmark in taken for side in SIDES)
    for one in group:
        here = point.on_side(one.side)
        if here.landmark and (gives_way or here.landmark in taken):
            if point.landmark in load_table("body/label_words")["many"]["landmarks"]:
                reading.points[one.label] = replace(here, landmark="")
            else:
                reading.repeated[one.label] = here.landmark
            continue
        if here.landmark:
            taken.add(here.landmark)
        reading.points[one.label] = here


def _settle(
    group: list[_Reading],
    taken: set[str],
    regions: frozenset[str],
    reading: LabelReading,
    chosen: dict[frozenset[str], str],
) -> bool:
    """Decide a stem of several meanings by what the other labels leave over; False where that is not one meaning.

    `chosen`: segments between which a stem was undecided -> the one it got; others between the same segments get it, too (MEPI
    is the knee's where LEPI is).
    """
    options = _cheapest(group)
    left = _left_over(group, taken, regions)
    between = frozenset(option.point.body for option in options)
    if len(_meanings(left)) > 1:
        left = [option for option in left if option.point.body == chosen.get(between)]
    if len(_meanings(left)) != 1:
        return False
    chosen.setdefault(between, left[0].point.body)
    _claim(group, left[0].point, taken, reading)
    return True


def _leave(group: list[_Reading], taken: set[str], regions: frozenset[str], reading: LabelReading) -> None:
    """Name what the labels could mean; they follow their segment where it is the same whichever they mean."""
    options = _cheapest(group)
    left = _left_over(group, taken, regions)
    for one in group:
        points = [option.point.on_side(one.side) for option in options]
        reading.ambiguous[one.label] = tuple(dict.fromkeys(point.landmark or point.body for point in points))
        if left and len({point.body for point in points}) == 1:
            weight = min(point.weight for point in points)
            reading.points[one.label] = replace(points[0], landmark="", weight=weight)


def _cheapest(group: list[_Reading]) -> list[Candidate]:
    return [option for option in group[0].options if option.cost == group[0].options[0].cost]


def _left_over(group: list[_Reading], taken: set[str], regions: frozenset[str]) -> list[Candidate]:
    """Those of the meanings that no other label has, in regions that the file marks where there are such."""
    options = _cheapest(group)
    free = [o for o in options if not any(o.point.on_side(one.side).landmark in taken for one in group)]
    return [o for o in free if _region(o.point) in regions] or [o for o in free if not o.short]


# -- regions of the body that the labels show ---------------------------------------------------------------------------


@cache
def _region_of() -> Mapping[str, str]:
    """Segment -> the region of the body that a laboratory marks as a whole."""
    rows = load_table("body/label_words")["regions"]
    return {body: region for region, bodies in rows.items() for body in bodies}


def _region(point: Point) -> str:
    return _region_of().get(point.body, "")


def _regions(readings: Mapping[str, _Reading]) -> frozenset[str]:
    """Regions in which a label has one meaning alone, and no abbreviation; where arms are marked, the trunk may be, too."""
    clear = (one.options[0] for one in readings.values() if len(_meanings(one.options)) == 1)
    found = {_region(option.point) for option in clear if not option.short}
    return frozenset(found | {"trunk"} if "arms" in found else found)


# -- sides ----------------------------------------------------------------------------------------------------------------


def _sided(labels: Sequence[str]) -> dict[str, _Reading]:
    """The one way to read the side of every label that means anything."""
    endings = frozenset(load_table("body/label_words")["nothing"]["spelt"])
    bare = without_shared_ending(labels, endings)
    cut = {label: pieces(bare[label]) for label in labels}
    joined = {label: "".join(parts) for label, parts in cut.items()}
    present = Counter(joined.values())
    found = {label: _sided_options(cut[label], present) for label in labels}
    stems = {"".join(r.rest) for options in found.values() for r, _ in options} | set(present)
    found = {label: _with_contrast(options, stems) for label, options in found.items()}
    habits = _habits(found, present)
    found = _in_one_language(found, habits)
    readings = {}
    for label in labels:
        alone = _kept(candidates(cut[label], False), stems)
        one = _best_reading(label, cut[label], found[label], alone, habits, present)
        if one is not None:
            readings[label] = one
    return readings


_Options = list[tuple[SideReading, tuple[Candidate, ...]]]


def _sided_options(parts: tuple[str, ...], present: Counter[str]) -> _Options:
    """The ways to take a side out of a label that leave something with a meaning."""
    options = []
    for reading in side_readings(parts):
        if reading.habit[1] in _SURE_PLACES or present[reading.mirror]:
            meant = candidates(reading.rest, True)
            if meant:
                options.append((reading, meant))
    return options


def _kept(options: tuple[Candidate, ...], stems: set[str]) -> tuple[Candidate, ...]:
    return tuple(option for option in options if not option.needs or option.needs & stems)


def _with_contrast(options: _Options, stems: set[str]) -> _Options:
    kept = ((reading, _kept(meant, stems)) for reading, meant in options)
    return [(reading, meant) for reading, meant in kept if meant]


def _habits(found: Mapping[str, _Options], present: Counter[str]) -> Counter[tuple[int, str]]:
    """How many labels follow each habit of naming the side and have their counterpart on the other one."""
    return Counter(
        habit
        for options in found.values()
        for habit in {reading.habit for reading, _ in options if present[reading.mirror]}
    )


def _in_one_language(found: Mapping[str, _Options], habits: Counter[tuple[int, str]]) -> dict[str, _Options]:
    """Without pairs of side words that share a word with one that more labels follow: P is no right side where R is beside L."""
    followed: Counter[int] = Counter()
    for (number, _), count in habits.items():
        followed[number] += count
    pairs = side_pairs()
    foreign = {
        number
        for number, pair in enumerate(pairs)
        if any(set(pair) & set(pairs[other]) and followed[other] > followed[number] for other in followed)
    }
    return {
        label: [option for option in options if option[0].habit[0] not in foreign] for label, options in found.items()
    }


def _spelt_out(reading: SideReading) -> bool:
    """True where a whole word between separators says the side: Right_Knee is right whatever the others are called."""
    number, place = reading.habit
    return place == "alone" and len(side_pairs()[number][SIDES.index(reading.side)]) >= _SPELT_OUT  # type: ignore[arg-type]


def _best_reading(
    label: str,
    parts: tuple[str, ...],
    options: _Options,
    alone: tuple[Candidate, ...],
    habits: Counter[tuple[int, str]],
    present: Counter[str],
) -> _Reading | None:
    """The side that the other labels support best; none where nothing supports it and the label means something without."""

    def rank(option: tuple[SideReading, tuple[Candidate, ...]]) -> tuple[bool, int, float]:
        reading, meant = option
        return present[reading.mirror] > 0, habits[reading.habit], -meant[0].cost

    ranked = sorted(options, key=rank, reverse=True)
    if ranked and not present[ranked[0][0].mirror]:
        established = max(habits.values(), default=0) >= _ESTABLISHED
        ranked = [
            option
            for option in ranked
            if not established or habits[option[0].habit] >= _ESTABLISHED or _spelt_out(option[0])
        ]
        if alone and (not ranked or alone[0].cost <= ranked[0][1][0].cost):
            ranked = []
    if not ranked:
        return _Reading(label, "", parts, alone) if alone else None
    best = ranked[0]
    rivals = [option for option in ranked if rank(option) == rank(best) and option[0].side != best[0].side]
    if rivals:
        return None
    return _Reading(label, best[0].side, best[0].rest, best[1])
