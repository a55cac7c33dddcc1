"""Entries of the library by kind and name (skeletons, marker sets, anthropometric tables, norms), or a user's own by path."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from biodyn.conventions import SIDES, other_side
from biodyn.errors import ModelError, TableError
from biodyn.library.load import SUFFIX, UserFile, beside, is_path, load_table, nearest, read_user_toml

_ROOT = files(__package__)
#: Folder of each kind that has one; its tables share a schema.
_FOLDERS = {
    "skeletons": "body/skeletons",
    "markersets": "body/markersets",
    "anthropometry": "body/anthropometry",
    "norms": "variables/norms",
    "presets": "presets",
    "conventions": "conventions",
}
KINDS = ("skeletons", "markersets", "anthropometry")
#: What a user's own file of a kind is called in messages and records.
ROLES = {
    "skeletons": "skeleton",
    "markersets": "marker set",
    "anthropometry": "anthropometric table",
    "hip_centres": "hip centre table",
    "uncertainty": "table of uncertainties",
    "norms": "table of norms",
}


def library_entry(kind: str, name: str) -> dict[str, Any]:
    """Return an entry of a kind (`KINDS`, "norms") by its name; ModelError where the library has none of that name."""
    if name not in entry_names(kind):
        raise _unknown(name, kind)
    return load_table(f"{_FOLDERS[kind]}/{name}")


def _unknown(name: str, kind: str) -> ModelError:
    role = ROLES.get(kind, f"table of {kind}" if kind else "table")
    known = entry_names(kind) if kind in KINDS else ()
    hint = f"{nearest(name, known)} The path of a file of your own ends in {SUFFIX}." if known else ""
    return ModelError(f"No {role} of the library is called '{name}'.", hint)


def user_table(kind: str, path: str) -> UserFile:
    """Read a user's own TOML file of a kind and hold it against the schema; TableError names file, entry and key."""
    # only here: a schema takes time to load, and most runs need none
    from biodyn.library.schema import require_valid

    names = ", ".join(entry_names(kind)) if kind in KINDS else ""
    file = read_user_toml(path, ROLES[kind], missing=f"The library has {names}." if names else "Give an existing file.")
    require_valid(file, kind)
    return file


def load_entry(kind: str, name: str) -> dict[str, Any]:
    """Return a library entry by name, or a user's own TOML file where `name` is a path to one.

    A file of one's own need not say its name and title: they are the file's.
    """
    if not is_path(name):
        return library_entry(kind, name)
    stem = Path(name).stem
    return {"name": stem, "title": stem, "citation": ""} | user_table(kind, name).content


def extended(kind: str, parent: str, name: str, above: tuple[str, ...]) -> str:
    """Return the table that `name` extends: its `parent`, a path being relative to the file of `name`.

    Raises TableError where the files extend each other in a circle.
    """
    parent = beside(parent, Path(name)) if is_path(name) else parent
    chain = [str(Path(one).expanduser().resolve()) for one in (*above, name) if is_path(one)]
    if is_path(parent) and str(Path(parent).resolve()) in chain:
        raise TableError(
            f"The {ROLES[kind]} '{name}' extends '{Path(parent).name}', which leads back to itself.",
            "Let 'extends' name a set of the library in one of them.",
        )
    return parent


def sided_entries(kind: str, name: str, key: str) -> tuple[tuple[str, dict[str, Any]], ...]:
    """Return (side, entry) for the list `key` of an entry (`load_entry`), sides filled in; not to be changed."""
    if is_path(name):
        return _sided(load_entry(kind, name)[key])
    return sided_rows(f"{_FOLDERS[kind]}/{name}", key)


@cache
def sided_rows(table: str, key: str) -> tuple[tuple[str, dict[str, Any]], ...]:
    """Return (side, entry) for the list `key` of a table (`load_table`), sides filled in; not to be changed."""
    return _sided(load_table(table)[key])


def _sided(entries: list[dict[str, Any]]) -> tuple[tuple[str, dict[str, Any]], ...]:
    return tuple(found for raw in entries for found in for_each_side(raw))


@cache
def entry_names(kind: str) -> tuple[str, ...]:
    """Names of the entries of one kind, e.g. all marker sets."""
    return tuple(
        sorted(
            entry.name.removesuffix(".toml")
            for entry in _ROOT.joinpath(_FOLDERS[kind]).iterdir()
            if entry.name.endswith(".toml")
        )
    )


def for_each_side(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield (side, value) with the placeholders filled in: {s} side, {o} other side, {S} capital side.

    A value without placeholders is yielded once, with an empty side.
    """
    if not _has_placeholder(value):
        yield "", value
        return
    for side in SIDES:
        yield side, fill_side(value, side)


def fill_side(value: Any, side: str) -> Any:
    """Return `value` (string, list or table) with the side placeholders replaced."""
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
