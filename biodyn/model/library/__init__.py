"""Access to the data files of the body models: skeletons, marker sets, anthropometric tables, regressions, norms."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from biodyn.conventions import SIDES, other_side
from biodyn.errors import ModelError

_ROOT = files(__package__)
KINDS = ("skeletons", "markersets", "anthropometry")


@cache
def load_table(name: str) -> dict[str, Any]:
    """Return a TOML file of the library by its path below it without suffix, e.g. ``skeletons/full_body``."""
    resource = _ROOT.joinpath(f"{name}.toml")
    if not resource.is_file():
        kind, _, entry = name.rpartition("/")
        available = ", ".join(entry_names(kind)) if kind else "none"
        raise ModelError(f"'{entry}' is not one of the library's {kind or 'tables'}.", f"Available: {available}.")
    return tomllib.loads(resource.read_text(encoding="utf-8"))


def load_entry(kind: str, name: str) -> dict[str, Any]:
    """Return a library entry by name, or a user's own TOML file where `name` is a path to one."""
    path = Path(name)
    if path.suffix == ".toml":
        if not path.is_file():
            raise ModelError(f"'{name}' does not exist.", f"Library names: {', '.join(entry_names(kind))}.")
        try:
            return tomllib.loads(path.read_text(encoding="utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ModelError(f"'{name}' is not a valid TOML file: {error}.") from error
    return load_table(f"{kind}/{name}")


def sided_entries(kind: str, name: str, key: str) -> tuple[tuple[str, dict[str, Any]], ...]:
    """Return (side, entry) for the list `key` of a library entry (`load_entry`), sides filled in; not to be changed.

    An empty `kind` means a table of the library itself (`load_table`).
    """
    if name.endswith(".toml"):
        return _sided(load_entry(kind, name)[key])
    return _sided_of_library(f"{kind}/{name}" if kind else name, key)


@cache
def _sided_of_library(table: str, key: str) -> tuple[tuple[str, dict[str, Any]], ...]:
    return _sided(load_table(table)[key])


def _sided(entries: list[dict[str, Any]]) -> tuple[tuple[str, dict[str, Any]], ...]:
    return tuple(found for raw in entries for found in for_each_side(raw))


@cache
def entry_names(kind: str) -> tuple[str, ...]:
    """Names of the entries of one kind, e.g. all marker sets."""
    return tuple(
        sorted(
            entry.name.removesuffix(".toml") for entry in _ROOT.joinpath(kind).iterdir() if entry.name.endswith(".toml")
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
