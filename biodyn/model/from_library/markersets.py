"""Which laboratory's markers are these? Labels matched to landmarks and segments."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from biodyn.conventions import SIDES
from biodyn.errors import MarkerSetError, TableError
from biodyn.library.load import is_path, nearest
from biodyn.library.tables import entry_names, extended, for_each_side, load_entry
from biodyn.model.marker_roles import MarkerMapping, MarkerRole

_GENERIC = "anatomical"
_HALF_THERE = 0.5
_SIDE_ENDS = frozenset(f"_{side}" for side in SIDES)
_MOST_OF_A_LEG = 0.5
_IGNORED_CHARACTERS = re.compile(r"[\s_.\-]+")


@dataclass(frozen=True)
class _Entry:
    keys: tuple[str, ...]
    landmark: str
    body: str
    weight: float
    static_only: bool
    soft: bool


@dataclass(frozen=True)
class MarkerSet:
    """A marker set: entries by normalised label, the groups that must be there, and labels that stand for others."""

    name: str
    title: str
    entries: tuple[_Entry, ...]
    requires: tuple[tuple[str, ...], ...]
    requires_landmarks: tuple[tuple[str, ...], ...]
    renamed: frozenset[str] = frozenset()

    def find(self, label: str) -> _Entry | None:
        """Return the entry a label belongs to."""
        key = normalise(label)
        return next((entry for entry in self.entries if key in entry.keys), None)


def normalise(label: str) -> str:
    """Return a label as it is compared: capitals, without blanks, underscores, dots and dashes."""
    return _IGNORED_CHARACTERS.sub("", label.upper())


def load_marker_set(name: str) -> MarkerSet:
    """Read a marker set of the library (or a TOML path), with the set it extends and the labels it renames."""
    return _loaded(name, ()) if is_path(name) else _of_library(name)


@cache
def _of_library(name: str) -> MarkerSet:
    return _loaded(name, ())


def _loaded(name: str, above: tuple[str, ...]) -> MarkerSet:
    table = load_entry("markersets", name)
    own = tuple(_entry(filled) for raw in table.get("marker", ()) for _, filled in for_each_side(raw))
    requires = tuple(tuple(normalise(label) for label in group) for group in table.get("requires", ()))
    landmarks = tuple(tuple(group) for group in table.get("requires_landmarks", ()))
    _require_one_meaning(name, own)
    title, renamed = table["title"], frozenset[str]()
    if "extends" in table:
        parent_name = extended("markersets", table["extends"], name, above)
        parent = _loaded(parent_name, (*above, name)) if is_path(parent_name) else load_marker_set(parent_name)
        parent = _renamed(parent, table.get("rename", {}), name)
        if title == Path(name).stem and is_path(name):  # the file says no title of its own
            title = f"{parent.title} as in {Path(name).name}"
        # what a set says of a label goes before what the set says that it extends
        said = frozenset(key for entry in own for key in entry.keys)
        entries = tuple(entry for entry in (_without(entry, said) for entry in parent.entries) if entry.keys) + own
        requires = parent.requires + requires
        landmarks = parent.requires_landmarks + landmarks
        renamed = parent.renamed
    else:
        entries = own
    return MarkerSet(table["name"], title, entries, requires, landmarks, renamed)


def _require_one_meaning(name: str, entries: tuple[_Entry, ...]) -> None:
    keys = [key for entry in entries for key in set(entry.keys)]
    twice = next((key for key in keys if keys.count(key) > 1), None)
    if twice is not None and is_path(name):
        raise TableError(
            f"'{name}' has two markers with the label '{twice}' (labels are compared in capitals, without blanks, _ . and -).",
            "Give the label to one of them.",
        )


def _without(entry: _Entry, keys: frozenset[str]) -> _Entry:
    return entry if keys.isdisjoint(entry.keys) else replace(entry, keys=tuple(k for k in entry.keys if k not in keys))


def _renamed(parent: MarkerSet, rename: Mapping[str, str], name: str) -> MarkerSet:
    """The set with labels renamed: `rename` is label in the file -> label of the set; requirements follow.

    A label that is renamed loses the meaning it had; the label it stands for keeps its own beside it.
    """
    if not rename:
        return parent
    pairs: dict[str, list[str]] = {}
    known = {key for entry in parent.entries for key in entry.keys}
    for raw in rename.items():
        for _, (label, meant) in for_each_side(list(raw)):
            if normalise(meant) not in known:
                raise TableError(
                    f"'{name}', [rename]: '{label}' is to stand for '{meant}', which is no label of {parent.title}.",
                    nearest(normalise(meant), sorted(known)),
                )
            pairs.setdefault(normalise(meant), []).append(normalise(label))
    renamed = [label for labels in pairs.values() for label in labels]
    twice = next((label for label in renamed if renamed.count(label) > 1), None)
    if twice is not None:
        raise TableError(f"'{name}', [rename]: '{twice}' stands for two labels.", "Let it stand for one.")

    def follow(keys: tuple[str, ...]) -> tuple[str, ...]:
        stand_in = [label for key in keys for label in pairs.get(key, ())]
        return (*stand_in, *(key for key in keys if key not in renamed))

    requires = tuple(follow(group) for group in parent.requires)
    for group, before in zip(requires, parent.requires, strict=True):
        if not group:
            lost = " or ".join(before)
            raise TableError(
                f"'{name}', [rename]: {lost} is given another meaning, and no label is left for what it was.",
                f"Name the label that the file has for {lost} too.",
            )
    moved = tuple(replace(entry, keys=follow(entry.keys)) for entry in parent.entries)
    entries = tuple(entry for entry in moved if entry.keys)
    return replace(parent, entries=entries, requires=requires, renamed=parent.renamed | frozenset(renamed))


def _entry(raw: dict[str, Any]) -> _Entry:
    return _Entry(
        keys=tuple(normalise(label) for label in raw["labels"]),
        landmark=raw.get("landmark", ""),
        body=raw["body"],
        weight=float(raw.get("weight", 1.0)),
        static_only=bool(raw.get("static_only", False)),
        soft=bool(raw.get("soft", False)),
    )


def recognise(labels: Sequence[str], marker_set: str = "auto") -> MarkerMapping:
    """Match labels to a marker set: the named one, or the most specific whose required markers are all there.

    Labels the set does not explain are looked up among the anatomical names, unless their landmark is taken.
    MarkerSetError says which set came closest and what it lacks.
    """
    names = entry_names("markersets") if marker_set == "auto" else (marker_set,)
    sets = [load_marker_set(name) for name in names]
    missing = {candidate.name: _missing(candidate, labels) for candidate in sets}
    scores = {candidate.name: _score(candidate, labels) for candidate in sets}
    complete = [candidate for candidate in sets if not missing[candidate.name]]
    complete = complete or [candidate for candidate in sets if lacks_one_leg(candidate, labels)]
    if not complete:
        raise _not_recognised(labels, sets, missing)
    # The specific sets explain labels more sharply than the dictionary of anatomical names: it is the last resort.
    best = max(complete, key=lambda candidate: (candidate.name != _GENERIC, _matched(candidate, labels)))
    roles, unknown = _assign(labels, best, load_marker_set(_GENERIC))
    return MarkerMapping(best.name, best.title, roles, unknown, scores)


def _assign(
    labels: Sequence[str], best: MarkerSet, generic: MarkerSet
) -> tuple[tuple[MarkerRole, ...], tuple[str, ...]]:
    roles: dict[str, MarkerRole] = {}
    taken: set[str] = set()
    for source in (best, generic):
        # a label that the user renamed goes before one that has its name by chance
        for label in sorted(labels, key=lambda label: normalise(label) not in source.renamed):
            entry = source.find(label)
            if label in roles or entry is None or (entry.landmark and entry.landmark in taken):
                continue
            if entry.landmark:
                taken.add(entry.landmark)
            roles[label] = MarkerRole(
                label, entry.landmark, entry.body, entry.weight, entry.static_only, source.name, entry.soft
            )
    ordered = tuple(roles[label] for label in labels if label in roles)
    return ordered, tuple(label for label in labels if label not in roles)


def _matched(candidate: MarkerSet, labels: Sequence[str]) -> int:
    return sum(candidate.find(label) is not None for label in labels)


def _score(candidate: MarkerSet, labels: Sequence[str]) -> float:
    expected = [entry for entry in candidate.entries if not entry.static_only]
    present = {normalise(label) for label in labels}
    return sum(bool(present.intersection(entry.keys)) for entry in expected) / max(len(expected), 1)


def _missing(candidate: MarkerSet, labels: Sequence[str]) -> list[str]:
    present = {normalise(label) for label in labels}
    absent = [" or ".join(group) for group in candidate.requires if not present.intersection(group)]
    found = {entry.landmark for entry in candidate.entries if present.intersection(entry.keys)}
    return absent + [" or ".join(group) for group in candidate.requires_landmarks if not found.intersection(group)]


def lacks_one_leg(candidate: MarkerSet, labels: Sequence[str]) -> bool:
    """True where everything that a set requires and does not find belongs to the same leg: an amputee, a set of one leg.

    Most of what it requires of that leg is missing; a few labels that are spelt otherwise are no missing leg.
    """
    present = {normalise(label) for label in labels}
    found = {entry.landmark for entry in candidate.entries if present.intersection(entry.keys)}
    groups = [(_sides_of(candidate, group), not present.intersection(group)) for group in candidate.requires]
    groups += [({name[-2:] for name in group}, not found.intersection(group)) for group in candidate.requires_landmarks]
    absent = [sides for sides, lacking in groups if lacking]
    if not absent or any(len(sides) != 1 or sides != absent[0] or sides.isdisjoint(_SIDE_ENDS) for sides in absent):
        return False
    return len(absent) > _MOST_OF_A_LEG * sum(sides == absent[0] for sides, _ in groups)


def _sides_of(candidate: MarkerSet, keys: Sequence[str]) -> set[str]:
    """Endings ("_r", "_l", others for the middle of the body) of the segments that labels belong to."""
    return {entry.body[-2:] for entry in candidate.entries if set(entry.keys).intersection(keys)}


def _closeness(candidate: MarkerSet, labels: Sequence[str], missing: int) -> tuple[bool, float, int]:
    """How near the labels come to a set: share of what it requires that is there, then labels it explains.

    The dictionary of anatomical names knows the labels of the other sets too: it is the nearest only where none of them is
    half there, for its message speaks of landmarks, not of the labels that a laboratory knows.
    """
    required = len(candidate.requires) + len(candidate.requires_landmarks)
    share = 1.0 - missing / max(required, 1)
    return candidate.name != _GENERIC and share > _HALF_THERE, share, _matched(candidate, labels)


def missing_from(candidate: MarkerSet, labels: Sequence[str]) -> list[str]:
    """What a set requires and does not find among the labels: labels or landmarks, "A or B" where one of them would do."""
    return _missing(candidate, labels)


def set_to_extend(labels: Sequence[str]) -> MarkerSet:
    """The set of the library that explains most of the labels, of those that are half there, whether it is whole or not."""

    def rank(candidate: MarkerSet) -> tuple[bool, int, float]:
        half_there, share, matched = _closeness(candidate, labels, len(_missing(candidate, labels)))
        return half_there, matched, share

    return max((load_marker_set(name) for name in entry_names("markersets")), key=rank)


def _not_recognised(labels: Sequence[str], sets: list[MarkerSet], missing: dict[str, list[str]]) -> MarkerSetError:
    closest = max(sets, key=lambda candidate: _closeness(candidate, labels, len(missing[candidate.name])))
    shown = ", ".join(labels[:12]) + (" ..." if len(labels) > 12 else "")
    return MarkerSetError(
        f"The markers match no known marker set: the closest, {closest.title}, lacks {', '.join(missing[closest.name])} "
        f"(the file has {shown or 'none'}).",
        "Give a marker set file that names your labels ('biodyn check FILE.c3d --write-marker-set my_markers.toml' begins "
        "one): [model] marker_set = 'my_markers.toml' in a settings TOML.",
    )
