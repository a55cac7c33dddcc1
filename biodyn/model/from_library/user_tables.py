"""Reader and checks of a user's tables for an analysis, and a catalogue of the library."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from biodyn.conventions import SIDES
from biodyn.library.entry_faults import table_error
from biodyn.library.tables import ROLES, entry_names, expand_sides, load_entry, parent_table_name, read_user_table
from biodyn.library.toml_files import UserFile, is_path, load_table, suggest_name
from biodyn.model.from_library.anthropometry import segment_bodies
from biodyn.model.from_library.hip_centre import hip_regression
from biodyn.model.from_library.marker_set_table import load_marker_set
from biodyn.model.from_library.skeleton_recipes import SkeletonRecipe, load_skeleton

_RECIPE_INPUTS = (
    *("of", "from", "to", "through", "proximal", "lateral", "plane", "towards"),
    *("front", "back", "right", "left", "leg", "origin", "scale_from", "scale_to"),
)


@dataclass(frozen=True)
class TableChoice:
    """Names of the tables of an analysis: names in the library, or paths of a user's files (`*.toml`)."""

    skeleton: str
    marker_set: str
    anthropometry: str
    hip_centre: str
    magnitudes: str | None = None
    norms: str | None = None


def load_user_tables(choice: TableChoice) -> tuple[UserFile, ...]:
    """Check and return the user's files, including those that they extend.

    Raises TableError (a ModelError) with file, entry and key, and for an unknown name the most similar known name.
    """
    files: list[UserFile] = []
    for kind, name in (
        ("skeletons", choice.skeleton),
        ("markersets", choice.marker_set),
        ("anthropometry", choice.anthropometry),
    ):
        files += _extended_files(kind, name)
    for file in files:
        _check_com_table(file)
    files += [read_user_table("hip_centres", choice.hip_centre)] if is_path(choice.hip_centre) else []
    files += [read_user_table("uncertainty", choice.magnitudes)] if choice.magnitudes is not None else []
    files += [read_user_table("norms", choice.norms)] if choice.norms is not None else []
    skeleton = load_skeleton(choice.skeleton)
    hip_regression(choice.hip_centre)
    if choice.marker_set != "auto":
        load_marker_set(choice.marker_set)
    load_entry("anthropometry", choice.anthropometry)
    if files:
        _check_names(files, skeleton, choice)
    return tuple(files)


def _extended_files(kind: str, name: str) -> list[UserFile]:
    """Return the user file with this name and the user files that it extends, directly or indirectly."""
    files: list[UserFile] = []
    above: tuple[str, ...] = ()
    while is_path(name):
        file = read_user_table(kind, name)
        files.append(file)
        if "extends" not in file.content:
            break
        parent = parent_table_name(kind, file.content["extends"], name, above)
        if is_path(parent) and not Path(parent).is_file():
            raise table_error(file, ("extends",), f"no file '{parent}' exists", "A path is relative to this file.")
        if not is_path(parent) and parent not in entry_names(kind):
            problem = f"the library has no {ROLES[kind]} '{parent}', and it is not the path of a TOML file"
            raise table_error(file, ("extends",), problem, suggest_name(parent, entry_names(kind)))
        above, name = (*above, name), parent
    return files


def _check_com_table(file: UserFile) -> None:
    """Raise TableError if the table for the centres of mass across the segments is not one of the library."""
    name, known = file.content.get("across"), entry_names("anthropometry")
    if name is not None and name not in known:
        raise table_error(
            file, ("across",), f"the library has no anthropometric table '{name}'", suggest_name(name, known)
        )


# -- names ------------------------------------------------------------------------------------------


def _check_names(files: list[UserFile], skeleton: SkeletonRecipe, choice: TableChoice) -> None:
    """Raise TableError for landmarks, bodies and measures that do not exist.

    A new landmark must be marked by the user's marker set and used by the user's skeleton or anthropometric table.
    """
    bodies = {body.name for body in skeleton.bodies}
    marked: set[str] = set()
    used: set[str] = set()
    for file in files:
        landmarks = marked if file.role == ROLES["markersets"] else used
        landmarks |= {name for kind, _, name in _iterate_names(file) if kind == "landmark"}
    known = set(landmark_names())
    believed = {name for row in load_table("body/subject_fit")["centre_mm"] for _, name in expand_sides(row)}
    measures = {f"{name}{side}" for name in load_table("body/measures")["measure"] for side in ("", "_r", "_l")}
    for file in files:
        other = used if file.role == ROLES["markersets"] else marked
        allowed = {"landmark": known | other, "body": bodies, "measure": measures, "believed centre": believed}
        for kind, path, name in _iterate_names(file):
            if name not in allowed[kind]:
                raise table_error(file, path, f"there is no {kind} '{name}'", suggest_name(name, sorted(allowed[kind])))
    if is_path(choice.anthropometry):
        missing = sorted(bodies - segment_bodies(choice.anthropometry))
        if missing:
            file = next(file for file in files if file.role == ROLES["anthropometry"])
            raise table_error(file, (), f"it has no [[segment]] for {', '.join(missing)}")


_Where = tuple[str | int, ...]


def _iterate_names(file: UserFile) -> Iterator[tuple[str, _Where, str]]:
    """Yield (kind, position in the file, name) of every landmark, body and measure that a file refers to, for both sides."""
    for kind, path, pattern in _name_patterns(file):
        for _, name in expand_sides(pattern):
            yield kind, path, name


def _name_patterns(file: UserFile) -> Iterator[tuple[str, _Where, str]]:
    table = file.content
    for i, marker in enumerate(table.get("marker", ())):
        yield "body", ("marker", i, "body"), marker["body"]
        if marker.get("landmark"):
            yield "landmark", ("marker", i, "landmark"), marker["landmark"]
    for i, group in enumerate(table.get("requires_landmarks", ())):
        yield from (("landmark", ("requires_landmarks", i), name) for name in group)
    for i, segment in enumerate(table.get("segment", ())):
        yield "body", ("segment", i, "body"), segment["body"]
        yield from (
            ("landmark", ("segment", i, key), segment[key]) for key in ("from", "to", "origin") if key in segment
        )
        yield from (("landmark", ("segment", i, "y", k), name) for k, name in enumerate(segment.get("y", ())))
    for i, body in enumerate(table.get("body", ())):
        yield from _body_name_patterns(("body", i), body)
    if file.role == ROLES["uncertainty"]:
        for source in ("soft_tissue", "joint_centres"):
            yield from (("body", (source, "sd_mm", name), name) for name in table[source]["sd_mm"])
        yield from (
            ("believed centre", ("joint_centres", "believed", k), name)
            for k, name in enumerate(table["joint_centres"].get("believed", ()))
        )


def _body_name_patterns(at: _Where, body: dict[str, Any]) -> Iterator[tuple[str, _Where, str]]:
    yield "landmark", (*at, "origin"), body["origin"]
    for pair in body["frames"]:
        for rule in pair:
            yield from (("landmark", (*at, "frames"), name) for name in rule[1:3])
    if "sole" in body:
        yield from (("landmark", (*at, "sole", key), body["sole"][key]) for key in ("back", "front"))
        yield "measure", (*at, "sole", "width"), body["sole"]["width"]
    for name in body.get("turn", {}).get("known_from", ()):
        yield "landmark", (*at, "turn", "known_from"), name


@cache
def landmark_names() -> tuple[str, ...]:
    """Return every landmark of the library that a marker set, a recipe or another table refers to."""
    names = {entry.landmark for name in entry_names("markersets") for entry in load_marker_set(name).entries}
    for raw in load_table("body/landmarks")["landmark"]:
        for _, entry in expand_sides(raw):
            names.add(entry["name"])
            for recipe in entry["recipes"]:
                values = [recipe[key] for key in _RECIPE_INPUTS if key in recipe]
                names |= {name for value in values for name in (value if isinstance(value, list) else [value])}
    return tuple(sorted(names - {""}))


def body_names() -> tuple[str, ...]:
    """Return the names of all segments in the skeletons of the library, parents first."""
    names = [body.name for name in entry_names("skeletons") for body in load_skeleton(name).bodies]
    return tuple(dict.fromkeys(names))


def user_table_path(name: str) -> Path | None:
    """Return the absolute path of a user's table, None for a table of the library."""
    return Path(name).expanduser().absolute() if is_path(name) else None


def user_table_name(name: str | None) -> str:
    """Return the file name of a user's table, "" for a table of the library."""
    return Path(name).name if name is not None and is_path(name) else ""


_HEADINGS = {"skeletons": "Skeletons", "markersets": "Marker sets", "anthropometry": "Anthropometric tables"}


def table_catalogue() -> list[tuple[str, list[tuple[str, str]]]]:
    """Return (heading, [(name, title), ...]) of all tables that a settings file can name."""
    listing = [
        (heading, [(name, str(load_entry(kind, name)["title"])) for name in entry_names(kind)])
        for kind, heading in _HEADINGS.items()
    ]
    hips = [(name, str(row["title"])) for name, row in load_table("body/joint_centres/hip").items()]
    return [*listing, ("Hip joint centre regressions", hips)]


def landmark_catalogue() -> list[tuple[str, list[tuple[str, str]]]]:
    """Return (heading, [(name, description)]) of the landmarks and segments for a user's tables.

    Names of both sides are listed once, with {s}, and described for the right side.
    """
    labels: dict[str, dict[str, None]] = {}
    labels_on: dict[str, dict[str, None]] = {}
    for name in entry_names("markersets"):
        for marker in load_marker_set(name).entries:
            labels_on.setdefault(marker.body, {})[marker.keys[0]] = None
            if marker.landmark:
                labels.setdefault(marker.landmark, {}).update(dict.fromkeys(marker.keys))
    recipes = {
        entry["name"]: entry["recipes"]
        for raw in load_table("body/landmarks")["landmark"]
        for _, entry in expand_sides(raw)
    }
    by_marker, by_recipe = [], []
    for name, pattern in _fold_sides(landmark_names()):
        ways = [recipe_text(recipe) for recipe in recipes.get(name, ())]
        if name in labels or name not in recipes:
            ways.insert(0, _first_labels(labels.get(name, ())) or "(no marker in any set of the library)")
            by_marker.append((pattern, "; else ".join(ways)))
        else:
            by_recipe.append((pattern, "; else ".join(ways)))
    segments = [
        (pattern, f"markers: {_first_labels(labels_on.get(name, ()))}") for name, pattern in _fold_sides(body_names())
    ]
    return [
        ("Landmarks with markers (labels in the sets of the library; right side if {s} is r and l)", by_marker),
        ("Computed landmarks (markers may also be assigned to them)", by_recipe),
        ("Segments", segments),
    ]


def _first_labels(labels: Collection[str]) -> str:
    """Return the first eight labels, as text."""
    return ", ".join(list(labels)[:8]) + (" ..." if len(labels) > 8 else "")


def _fold_sides(names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield (name, pattern of both sides) without the left name of each pair."""
    right, left = (f"_{side}" for side in SIDES)
    for name in names:
        if name.endswith(left) and name.removesuffix(left) + right in names:
            continue
        paired = name.endswith(right) and name.removesuffix(right) + left in names
        yield name, f"{name.removesuffix(right)}_{{s}}" if paired else name


def recipe_text(recipe: Mapping[str, Any]) -> str:
    """Return a description in words of the recipe of a landmark."""
    values = {key: _list_text(value) for key, value in recipe.items()}

    def fill_optional_part(part: re.Match[str]) -> str:
        return part[1] if set(re.findall(r"<(\w+)>", part[1])) <= set(values) else ""

    text = load_table("body/operations")[recipe["op"]]
    text = re.sub(r"\[([^]]*)\]", fill_optional_part, text)
    return re.sub(r"<(\w+)>", lambda key: values[key[1]], text)


def _list_text(value: Any) -> str:
    if not isinstance(value, list):
        return str(value)
    return (" and " if isinstance(value[0], str) else ", ").join(map(str, value))
