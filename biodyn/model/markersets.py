"""Which laboratory's markers are these? Labels matched to landmarks and segments."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from biodyn.errors import MarkerSetError
from biodyn.model.library import entry_names, for_each_side, load_entry

_GENERIC = "anatomical"
_HALF_THERE = 0.5
_IGNORED_CHARACTERS = re.compile(r"[\s_.\-]+")


@dataclass(frozen=True)
class MarkerRole:
    """What one marker is for: the landmark it marks ("" if none), its segment, its weight in the fit.

    `soft`: it rides on skin or a girdle that the model does not have; its place on the segment is taken from the walk.
    """

    label: str
    landmark: str
    body: str
    weight: float
    static_only: bool
    source: str
    soft: bool = False


@dataclass(frozen=True)
class MarkerMapping:
    """A recognised marker set.

    Attributes:
        name, title: of the set.
        roles: one for each label that was understood.
        unknown: labels nobody explains; the fit attaches them by their movement.
        score: share of the set's labels that are there, for the candidates: {name: score}.
    """

    name: str
    title: str
    roles: tuple[MarkerRole, ...]
    unknown: tuple[str, ...]
    scores: dict[str, float]

    def role(self, label: str) -> MarkerRole | None:
        """The role of a label, None if unknown."""
        return next((role for role in self.roles if role.label == label), None)


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
    """A marker set of the library: entries by normalised label, and the groups that must be there."""

    name: str
    title: str
    entries: tuple[_Entry, ...]
    requires: tuple[tuple[str, ...], ...]
    requires_landmarks: tuple[tuple[str, ...], ...]

    def find(self, label: str) -> _Entry | None:
        """Return the entry a label belongs to."""
        key = normalise(label)
        return next((entry for entry in self.entries if key in entry.keys), None)


def normalise(label: str) -> str:
    """Return a label as it is compared: capitals, without blanks, underscores, dots and dashes."""
    return _IGNORED_CHARACTERS.sub("", label.upper())


def load_marker_set(name: str) -> MarkerSet:
    """Read a marker set of the library (or a TOML path), with the set it extends."""
    return _loaded(name) if name.endswith(".toml") else _of_library(name)


@cache
def _of_library(name: str) -> MarkerSet:
    return _loaded(name)


def _loaded(name: str) -> MarkerSet:
    table = load_entry("markersets", name)
    parent = load_marker_set(table["extends"]) if "extends" in table else None
    entries = tuple(_entry(filled) for raw in table.get("marker", ()) for _, filled in for_each_side(raw))
    requires = tuple(tuple(normalise(label) for label in group) for group in table.get("requires", ()))
    landmarks = tuple(tuple(group) for group in table.get("requires_landmarks", ()))
    if parent is not None:
        entries = parent.entries + entries
        requires = parent.requires + requires
        landmarks = parent.requires_landmarks + landmarks
    return MarkerSet(table["name"], table["title"], entries, requires, landmarks)


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
        for label in labels:
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


def _closeness(candidate: MarkerSet, labels: Sequence[str], missing: int) -> tuple[bool, float, int]:
    """How near the labels come to a set: share of what it requires that is there, then labels it explains.

    The dictionary of anatomical names knows the labels of the other sets too: it is the nearest only where none of them is
    half there, for its message speaks of landmarks, not of the labels that a laboratory knows.
    """
    required = len(candidate.requires) + len(candidate.requires_landmarks)
    share = 1.0 - missing / max(required, 1)
    return candidate.name != _GENERIC and share > _HALF_THERE, share, _matched(candidate, labels)


def _not_recognised(labels: Sequence[str], sets: list[MarkerSet], missing: dict[str, list[str]]) -> MarkerSetError:
    closest = max(sets, key=lambda candidate: _closeness(candidate, labels, len(missing[candidate.name])))
    shown = ", ".join(labels[:12]) + (" ..." if len(labels) > 12 else "")
    return MarkerSetError(
        f"The markers match no known marker set: the closest, {closest.title}, lacks {', '.join(missing[closest.name])} "
        f"(the file has {shown or 'none'}).",
        "Give a marker set file that names your labels: [model] marker_set = 'my_markers.toml' in a settings TOML.",
    )
