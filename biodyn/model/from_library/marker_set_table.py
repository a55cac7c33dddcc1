"""Reader of marker sets from TOML files: entries, requirements, extended and renamed sets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from biodyn.errors import TableError
from biodyn.library.tables import expand_sides, load_entry, parent_table_name
from biodyn.library.toml_files import is_path, suggest_name
from biodyn.model.from_library.label_reading.label_dictionary import dictionary_meaning
from biodyn.model.from_library.label_reading.spelling import normalise


@dataclass(frozen=True)
class MarkerEntry:
    """One marker of a set. `keys`: its normalised labels; `spelling`: the first label as spelt in the set."""

    keys: tuple[str, ...]
    landmark: str
    body: str
    weight: float
    static_only: bool
    soft: bool
    spelling: str = ""


@dataclass(frozen=True)
class MarkerSet:
    """A marker set: entries, groups of labels or landmarks of which one is required, and renamed labels."""

    name: str
    title: str
    entries: tuple[MarkerEntry, ...]
    requires: tuple[tuple[str, ...], ...]
    requires_landmarks: tuple[tuple[str, ...], ...]
    renamed: frozenset[str] = frozenset()

    def find(self, label: str) -> MarkerEntry | None:
        """Return the entry with a label; None if the set does not contain it."""
        key = normalise(label)
        return next((entry for entry in self.entries if key in entry.keys), None)

    def original_spelling(self, key: str) -> str:
        """Return a normalised label as it is spelt in the marker set."""
        return next((e.spelling for e in self.entries if e.keys[:1] == (key,) and e.spelling), key)


def load_marker_set(name: str) -> MarkerSet:
    """Return a marker set of the library by name, or of a TOML file by path, including entries of the sets that it extends."""
    return _load_extended(name, ()) if is_path(name) else _load_from_library(name)


@cache
def _load_from_library(name: str) -> MarkerSet:
    return _load_extended(name, ())


def _load_extended(name: str, above: tuple[str, ...]) -> MarkerSet:
    table = load_entry("markersets", name)
    entries = tuple(_parse_entry(filled) for raw in table.get("marker", ()) for _, filled in expand_sides(raw))
    entries += _dictionary_entries(name, table)
    requires = tuple(tuple(normalise(label) for label in group) for group in table.get("requires", ()))
    landmarks = tuple(tuple(group) for group in table.get("requires_landmarks", ()))
    _require_unique_labels(name, entries)
    title, renamed = table["title"], frozenset[str]()
    if "extends" in table:
        parent_name = parent_table_name("markersets", table["extends"], name, above)
        parent = _load_extended(parent_name, (*above, name)) if is_path(parent_name) else load_marker_set(parent_name)
        parent = _rename_labels(parent, table.get("rename", {}), name)
        if title == Path(name).stem and is_path(name):  # the file has no title
            title = f"{parent.title} as in {Path(name).name}"
        # an entry of the set replaces one of the set that it extends
        defined = frozenset(key for entry in entries for key in entry.keys)
        kept = tuple(entry for entry in (_remove_labels(entry, defined) for entry in parent.entries) if entry.keys)
        entries = kept + entries
        requires = parent.requires + requires
        landmarks = parent.requires_landmarks + landmarks
        renamed = parent.renamed
    return MarkerSet(table["name"], title, entries, requires, landmarks, renamed)


def _dictionary_entries(name: str, table: Mapping[str, Any]) -> tuple[MarkerEntry, ...]:
    """Return the entries of the labels defined in the dictionary."""
    static_only = {normalise(label) for pattern in table.get("static_only", ()) for _, label in expand_sides(pattern)}
    entries = []
    for pattern in table.get("labels", ()):
        for side, label in expand_sides(pattern):
            meaning = dictionary_meaning(pattern, side)
            if meaning is None:
                raise TableError(
                    f"'{name}', labels: the meaning of '{pattern}' in the dictionary of labels is not unique.",
                    "Write a [[marker]] with its landmark and segment.",
                )
            key = normalise(label)
            static = meaning.static_only or key in static_only
            entries.append(
                MarkerEntry((key,), meaning.landmark, meaning.body, meaning.weight, static, meaning.soft, label)
            )
    return tuple(entries)


def _require_unique_labels(name: str, entries: tuple[MarkerEntry, ...]) -> None:
    keys = [key for entry in entries for key in set(entry.keys)]
    repeated = next((key for key in keys if keys.count(key) > 1), None)
    if repeated is not None and is_path(name):
        raise TableError(
            f"'{name}' has two markers with the label '{repeated}' (labels are compared in capitals, without blanks, _ . and -).",
            "Use the label for one of them only.",
        )


def _remove_labels(entry: MarkerEntry, keys: frozenset[str]) -> MarkerEntry:
    return entry if keys.isdisjoint(entry.keys) else replace(entry, keys=tuple(k for k in entry.keys if k not in keys))


def _rename_labels(parent: MarkerSet, rename: Mapping[str, str], name: str) -> MarkerSet:
    """Return the set with renamed labels, also in its requirements: `rename` is label in the file -> label of the set.

    A label of the file that is renamed loses its former meaning; the label of the set remains valid.
    """
    if not rename:
        return parent
    pairs = _label_pairs(parent, rename, name)
    renamed = [label for labels in pairs.values() for label in labels]

    def rename_keys(keys: tuple[str, ...]) -> tuple[str, ...]:
        new = [label for key in keys for label in pairs.get(key, ())]
        return (*new, *(key for key in keys if key not in renamed))

    requires = tuple(rename_keys(group) for group in parent.requires)
    for group, before in zip(requires, parent.requires, strict=True):
        if not group:
            lost = " or ".join(before)
            raise TableError(
                f"'{name}', [rename]: {lost} is renamed, and no label remains for its marker.",
                f"Also rename the label that the file uses for {lost}.",
            )
    followed = (replace(entry, keys=rename_keys(entry.keys)) for entry in parent.entries)
    entries = tuple(entry for entry in followed if entry.keys)
    return replace(parent, entries=entries, requires=requires, renamed=parent.renamed | frozenset(renamed))


def _label_pairs(parent: MarkerSet, rename: Mapping[str, str], name: str) -> dict[str, list[str]]:
    """Return label of the set -> labels in the file that replace it, for both sides."""
    pairs: dict[str, list[str]] = {}
    known = {key for entry in parent.entries for key in entry.keys}
    for raw in rename.items():
        for _, (label, meant) in expand_sides(list(raw)):
            if normalise(meant) not in known:
                raise TableError(
                    f"'{name}', [rename]: '{label}' is renamed to '{meant}', which is not a label of {parent.title}.",
                    suggest_name(normalise(meant), sorted(known)),
                )
            pairs.setdefault(normalise(meant), []).append(normalise(label))
    renamed = [label for labels in pairs.values() for label in labels]
    repeated = next((label for label in renamed if renamed.count(label) > 1), None)
    if repeated is not None:
        raise TableError(f"'{name}', [rename]: '{repeated}' is renamed to two labels.", "Rename it to one label.")
    return pairs


def _parse_entry(raw: dict[str, Any]) -> MarkerEntry:
    return MarkerEntry(
        keys=tuple(normalise(label) for label in raw["labels"]),
        landmark=raw.get("landmark", ""),
        body=raw["body"],
        weight=float(raw.get("weight", 1.0)),
        static_only=bool(raw.get("static_only", False)),
        soft=bool(raw.get("soft", False)),
        spelling=raw["labels"][0],
    )
