"""Which laboratory's markers are these? Labels matched to landmarks and segments."""

from __future__ import annotations

from collections.abc import Sequence

from biodyn.library.load import load_table
from biodyn.library.tables import entry_names
from biodyn.model.from_library.label_reading.meanings import LabelReading, read_labels
from biodyn.model.from_library.label_reading.spelling import normalise, without_shared_ending
from biodyn.model.from_library.label_reading.words import DICTIONARY
from biodyn.model.from_library.marker_set_missing import lacks_one_leg, missing_from, not_recognised
from biodyn.model.from_library.marker_set_table import MarkerSet, load_marker_set
from biodyn.model.marker_roles import MarkerMapping, MarkerRole

_HALF_THERE = 0.5


def recognise(
    labels: Sequence[str], marker_set: str = "auto", whole: bool = True, sparing: bool = False
) -> MarkerMapping:
    """Match labels to a marker set: the named one, or the most specific whose required markers are all there.

    Parameters: `whole` False for the labels of one file, which may be a walk whose static trial has more; `sparing` True
    where a set may lack what can be done without: one PSIS of two; markers of one leg, the other stays, where every label is
    understood, so that none of them is the missing one under another name.

    Labels the set does not explain are read word by word (`label_reading`), unless their landmark is taken.
    MarkerSetError says which set came closest, what it lacks and what that costs.
    """
    names = entry_names("markersets") if marker_set == "auto" else (marker_set,)
    sets = [load_marker_set(name) for name in names]
    plain = _plain(labels)
    reading = read_labels(labels)
    missing = {candidate.name: missing_from(candidate, plain, reading, whole, sparing) for candidate in sets}
    scores = {candidate.name: _score(candidate, plain, reading) for candidate in sets}
    usable = {name for name, lacked in missing.items() if not lacked}
    usable = usable or {candidate.name for candidate in sets if lacks_one_leg(candidate, missing[candidate.name])}
    if not usable and sparing:
        one_leg = (candidate for candidate in sets if lacks_one_leg(candidate, missing[candidate.name], least=0.0))
        usable = {candidate.name for candidate in one_leg if not _mapping(labels, candidate, scores, "").unknown}
    if not usable:
        nearest = sorted(sets, key=lambda candidate: _closeness(candidate, plain, reading), reverse=True)
        raise not_recognised(labels, nearest, missing, scores, reading)

    # The specific sets explain labels more sharply than the dictionary of labels: it is the last resort.
    def rank(candidate: MarkerSet) -> tuple[bool, bool, int, float]:
        return (
            candidate.name in usable,
            candidate.name != DICTIONARY,
            _matched(candidate, plain),
            scores[candidate.name],
        )

    best, *others = sorted(sets, key=rank, reverse=True)
    runner_up = next((other.name for other in others if scores[other.name] > 0.0), "")
    return _mapping(labels, best, scores, runner_up)


def set_to_extend(labels: Sequence[str]) -> MarkerSet:
    """The set of the library that explains most of the labels, of those that are half there, whether it is whole or not."""
    plain, reading = _plain(labels), read_labels(labels)

    def rank(candidate: MarkerSet) -> tuple[bool, int, float]:
        half_there, share, matched = _closeness(candidate, plain, reading)
        return half_there, matched, share

    return max((load_marker_set(name) for name in entry_names("markersets")), key=rank)


def lacking(candidate: MarkerSet, labels: Sequence[str]) -> list[str]:
    """What a set requires and does not find among the labels: labels or landmarks, "A or B" where one of them would do."""
    return [one.text for one in missing_from(candidate, _plain(labels), read_labels(labels))]


def _plain(labels: Sequence[str]) -> dict[str, str]:
    """Label -> as it is compared with those of a set: what laboratories put behind every label is taken away."""
    endings = frozenset(load_table("body/label_words")["nothing"]["spelt"])
    return {label: normalise(bare) for label, bare in without_shared_ending(labels, endings).items()}


def _mapping(labels: Sequence[str], best: MarkerSet, scores: dict[str, float], runner_up: str) -> MarkerMapping:
    """Roles of the set's own labels first, then of what the words of the others mean."""
    roles = {} if best.name == DICTIONARY else _own_roles(labels, best)
    rest = read_labels(labels, {label: role.landmark for label, role in roles.items()})
    for label, point in rest.points.items():
        roles[label] = MarkerRole(
            label, point.landmark, point.body, point.weight, point.static_only, DICTIONARY, point.soft
        )
    ordered = tuple(roles[label] for label in labels if label in roles)
    unknown = tuple(label for label in labels if label not in roles)
    return MarkerMapping(best.name, best.title, ordered, unknown, scores, dict(rest.ambiguous), runner_up)


def _own_roles(labels: Sequence[str], best: MarkerSet) -> dict[str, MarkerRole]:
    roles: dict[str, MarkerRole] = {}
    taken: set[str] = set()
    plain = _plain(labels)
    # a label that the user renamed goes before one that has its name by chance
    for label in sorted(labels, key=lambda label: normalise(label) not in best.renamed):
        entry = best.find(label) or best.find(plain[label])
        if entry is None or (entry.landmark and entry.landmark in taken):
            continue
        if entry.landmark:
            taken.add(entry.landmark)
        roles[label] = MarkerRole(
            label, entry.landmark, entry.body, entry.weight, entry.static_only, best.name, entry.soft
        )
    return roles


def _matched(candidate: MarkerSet, plain: dict[str, str]) -> int:
    keys = {key for entry in candidate.entries for key in entry.keys}
    return sum(key in keys or normalise(label) in keys for label, key in plain.items())


def _score(candidate: MarkerSet, plain: dict[str, str], reading: LabelReading) -> float:
    """Share of the set's markers of a walk that are there; of the dictionary, the share of the labels that it explains."""
    if candidate.name == DICTIONARY:
        return len(reading.points) / max(len(plain), 1)
    expected = [entry for entry in candidate.entries if not entry.static_only]
    present = set(plain.values()) | {normalise(label) for label in plain}
    return sum(bool(present.intersection(entry.keys)) for entry in expected) / max(len(expected), 1)


def _closeness(candidate: MarkerSet, plain: dict[str, str], reading: LabelReading) -> tuple[bool, float, int]:
    """How near the labels come to a set: share of what it requires that is there, then labels it explains.

    The dictionary knows the labels of the other sets too: it is the nearest only where none of them is half there and
    explains half of what can be read, for its message speaks of landmarks, not of the labels that a laboratory knows.
    """
    required = len(candidate.requires) + len(candidate.requires_landmarks)
    share = 1.0 - len(missing_from(candidate, plain, reading)) / max(required, 1)
    matched = _matched(candidate, plain)
    worn = share > _HALF_THERE and matched > _HALF_THERE * len(reading.points)
    return candidate.name != DICTIONARY and worn, share, matched
