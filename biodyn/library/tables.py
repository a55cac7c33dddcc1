"""Access to tables by kind and name (skeletons, marker sets, anthropometric tables, norms), or to a user's file by path."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from biodyn.conventions import SIDE_NAMES, SIDES, other_side, without_side
from biodyn.errors import ModelError, TableError
from biodyn.library.toml_files import (
    SUFFIX,
    UserFile,
    is_path,
    load_table,
    read_user_toml,
    resolve_table_name,
    suggest_name,
)

_ROOT = files(__package__)
#: Folder of each kind.
_FOLDERS = {
    "skeletons": "body/skeletons",
    "markersets": "body/markersets",
    "anthropometry": "body/anthropometry",
    "norms": "variables/norms",
    "presets": "presets",
    "conventions": "conventions",
}
KINDS = ("skeletons", "markersets", "anthropometry")
#: Name of each kind in messages and records.
ROLES = {
    "skeletons": "skeleton",
    "markersets": "marker set",
    "anthropometry": "anthropometric table",
    "hip_centres": "hip centre table",
    "uncertainty": "table of uncertainties",
    "norms": "table of norms",
}


def library_entry(kind: str, name: str) -> dict[str, Any]:
    """Return a table of the library by kind and name; ModelError if it does not exist."""
    if name not in entry_names(kind):
        hint = (
            f"{suggest_name(name, entry_names(kind))} The path of a file must end in {SUFFIX}." if kind in KINDS else ""
        )
        raise ModelError(f"The library has no {ROLES.get(kind, f'table of {kind}')} with the name '{name}'.", hint)
    return load_table(f"{_FOLDERS[kind]}/{name}")


def read_user_table(kind: str, path: str) -> UserFile:
    """Read a user's TOML file and check it against the schema of its kind; raise TableError with file, entry and key."""
    # imported here, because schemas take time to load and most runs need none
    from biodyn.library.entry_faults import require_valid_table

    names = ", ".join(entry_names(kind)) if kind in KINDS else ""
    file = read_user_toml(
        path, ROLES[kind], missing=f"The library has {names}." if names else "Specify an existing file."
    )
    require_valid_table(file, kind)
    return file


def load_entry(kind: str, name: str) -> dict[str, Any]:
    """Return a table of the library by name, or a user's TOML file by path; its name and title default to the file name."""
    if not is_path(name):
        return library_entry(kind, name)
    stem = Path(name).stem
    return {"name": stem, "title": stem, "citation": ""} | read_user_table(kind, name).content


def parent_table_name(kind: str, parent: str, name: str, above: tuple[str, ...]) -> str:
    """Return the name of the table that the table `name` extends; a path `parent` is relative to the file of this table.

    Raises TableError if the files extend each other circularly.
    """
    parent = resolve_table_name(parent, Path(name)) if is_path(name) else parent
    chain = [str(Path(path).expanduser().resolve()) for path in (*above, name) if is_path(path)]
    if is_path(parent) and str(Path(parent).resolve()) in chain:
        raise TableError(
            f"The {ROLES[kind]} '{name}' extends '{Path(parent).name}', which in turn extends it (circular reference).",
            "Use the name of a table of the library in 'extends' of one of them.",
        )
    return parent


def sided_entries(kind: str, name: str, key: str) -> tuple[tuple[str, dict[str, Any]], ...]:
    """Return (side, entry) for the list `key` of an entry (`load_entry`), sides filled in; it must not be changed."""
    if is_path(name):
        return _expand_sides(load_entry(kind, name)[key])
    return sided_rows(f"{_FOLDERS[kind]}/{name}", key)


@cache
def sided_rows(table: str, key: str) -> tuple[tuple[str, dict[str, Any]], ...]:
    """Return (side, entry) for the list `key` of a table (`load_table`), sides filled in; it must not be changed."""
    return _expand_sides(load_table(table)[key])


def _expand_sides(entries: list[dict[str, Any]]) -> tuple[tuple[str, dict[str, Any]], ...]:
    return tuple(row for raw in entries for row in expand_sides(raw))


@cache
def entry_names(kind: str) -> tuple[str, ...]:
    """Return the names of the library's tables of one kind, e.g. all marker sets."""
    return tuple(
        sorted(
            entry.name.removesuffix(".toml")
            for entry in _ROOT.joinpath(_FOLDERS[kind]).iterdir()
            if entry.name.endswith(".toml")
        )
    )


def expand_sides(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield (side, value) with the placeholders filled in: {s} side, {o} other side, {S} capital side.

    A value without placeholders is yielded once, with an empty side.
    """
    if not _has_placeholder(value):
        yield "", value
        return
    for side in SIDES:
        yield side, fill_side(value, side)


def fill_side(value: Any, side: str) -> Any:
    """Return a value (text, list or table) with the placeholders of the sides replaced."""
    if isinstance(value, str):
        if side:
            other = other_side(side)  # type: ignore[arg-type]
            value = value.replace("{s}", side).replace("{S}", side.upper()).replace("{o}", other)
        return value
    if isinstance(value, list):
        return [fill_side(item, side) for item in value]
    if isinstance(value, dict):
        return {key: fill_side(item, side) for key, item in value.items()}
    return value


def _has_placeholder(value: Any) -> bool:
    if isinstance(value, str):
        return "{s}" in value or "{S}" in value
    if isinstance(value, list):
        return any(_has_placeholder(item) for item in value)
    if isinstance(value, dict):
        return any(_has_placeholder(item) for item in value.values())
    return False


def segment_title(name: str) -> str:
    """Return the name of a body for texts, with its side, e.g. "right upper arm" for "humerus_r"."""
    side = next((side for side in SIDES if name.endswith(f"_{side}")), "")
    stem = without_side(name, side)
    title = load_table("variables/variables")["segment_titles"].get(stem, stem.replace("_", " "))
    return f"{SIDE_NAMES[side]} {title}" if side else str(title)
