"""What the library offers, for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from biodyn.conventions import SIDES
from biodyn.library.load import load_table
from biodyn.library.tables import entry_names, for_each_side, load_entry
from biodyn.model.from_library.marker_set_table import load_marker_set
from biodyn.model.from_library.user_tables import body_names, landmark_names

_LABELS_SHOWN = 8
_HEADINGS = {"skeletons": "Skeletons", "markersets": "Marker sets", "anthropometry": "Anthropometric tables"}


def catalogue() -> list[tuple[str, list[tuple[str, str]]]]:
    """Return (heading, [(name, title), ...]) of everything a settings file can name."""
    listing = [
        (heading, [(name, str(load_entry(kind, name)["title"])) for name in entry_names(kind)])
        for kind, heading in _HEADINGS.items()
    ]
    hips = [(name, str(row["title"])) for name, row in load_table("body/joint_centres/hip").items()]
    return [*listing, ("Hip joint centre regressions", hips)]


def landmark_catalogue() -> list[tuple[str, list[tuple[str, str]]]]:
    """Return (heading, [(name, what it is)]) of the landmarks and segments that a user's own tables may name.

    Names of both sides are written once, with {s}, and explained for the right one.
    """
    marked = _labels_of_landmarks()
    computed = {
        entry["name"]: entry for raw in load_table("body/landmarks")["landmark"] for _, entry in for_each_side(raw)
    }
    by_marker, by_recipe = [], []
    for name, pattern in _one_side(landmark_names()):
        ways = [recipe_words(recipe) for recipe in computed[name]["recipes"]] if name in computed else []
        labels = marked.get(name, ())
        told = ", ".join(labels[:_LABELS_SHOWN]) + (" ..." if len(labels) > _LABELS_SHOWN else "")
        if labels or name not in computed:
            by_marker.append(
                (pattern, "; else ".join(filter(None, (told or "(no set of the library marks it)", *ways))))
            )
        else:
            by_recipe.append((pattern, "; else ".join(ways)))
    return [
        (
            "Landmarks that markers mark (labels of the library's sets; of the right side where {s} stands for r and l)",
            by_marker,
        ),
        ("Landmarks that are computed (a marker may mark them too)", by_recipe),
        ("Segments", [(pattern, _worn_on(name)) for name, pattern in _one_side(body_names())]),
    ]


def _one_side(names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield (name, name as it is written for both sides), left-hand names of a pair left out."""
    right, left = (f"_{side}" for side in SIDES)
    for name in names:
        if name.endswith(left) and name.removesuffix(left) + right in names:
            continue
        paired = name.endswith(right) and name.removesuffix(right) + left in names
        yield name, f"{name.removesuffix(right)}_{{s}}" if paired else name


def recipe_words(recipe: Mapping[str, Any]) -> str:
    """A recipe in one line: the operation and what it takes."""
    inputs = [f"{key.replace('_', ' ')} {_listed(value)}" for key, value in recipe.items() if key != "op"]
    return f"{recipe['op'].replace('_', ' ')}: {', '.join(inputs)}"


def _listed(value: Any) -> str:
    return " and ".join(map(str, value)) if isinstance(value, list) else str(value)


def _labels_of_landmarks() -> dict[str, tuple[str, ...]]:
    """Landmark -> every label that marks it in a set of the library."""
    found: dict[str, dict[str, None]] = {}
    for name in entry_names("markersets"):
        for entry in load_marker_set(name).entries:
            if entry.landmark:
                found.setdefault(entry.landmark, {}).update(dict.fromkeys(entry.keys))
    return {landmark: tuple(labels) for landmark, labels in found.items()}


def _worn_on(body: str) -> str:
    entries = (e for name in entry_names("markersets") for e in load_marker_set(name).entries if e.body == body)
    labels = tuple(dict.fromkeys(e.keys[0] for e in entries))
    return "markers: " + ", ".join(labels[:_LABELS_SHOWN]) + (" ..." if len(labels) > _LABELS_SHOWN else "")
