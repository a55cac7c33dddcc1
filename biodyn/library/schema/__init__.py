"""Schemas of the tables that a user may write: strict pydantic models, one for each kind of table.

Input: the content of a user's TOML file. Output: nothing where it is valid, else an error that names file, entry and key, with
the nearest known name (`require_valid`, `table_error`; sentences in `library.faults`).

Read `base` (strictness, names, placeholders of the sides), then `body` (marker sets, skeletons, anthropometry, hip centres),
`uncertainty`, `norms` and `column_map`. Names of landmarks and segments are plain text here: which names exist depends on
several tables together (`model.from_library.user_tables`). The library's own tables of other kinds have no schema.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from pydantic import BaseModel, ValidationError

from biodyn.errors import TableError
from biodyn.library.faults import first_fault
from biodyn.library.load import UserFile


def schema_of(kind: str) -> type[BaseModel]:
    """Return the schema of a kind of table (`tables.ROLES`, "column_map")."""
    # imported when a user's table is read: most runs have none, and pydantic models take time to build
    from biodyn.library.schema import body, column_map, norms, uncertainty

    return {
        "anthropometry": body.AnthropometryTable,
        "column_map": column_map.ColumnMap,
        "hip_centres": body.HipCentreTable,
        "markersets": body.MarkerSetTable,
        "norms": norms.Norms,
        "skeletons": body.SkeletonTable,
        "uncertainty": uncertainty.Uncertainties,
    }[kind]


@lru_cache(maxsize=64)
def require_valid(file: UserFile, kind: str) -> None:
    """Raise TableError, naming file, entry and key, where a file is not a valid table of its kind."""
    schema = schema_of(kind)
    try:
        schema.model_validate(file.content)
    except ValidationError as error:
        fault = first_fault(error, schema)
        raise table_error(file, fault.path, fault.problem, fault.hint) from error


def table_error(file: UserFile, path: tuple[str | int, ...], problem: str, hint: str = "") -> TableError:
    """Return the error that names file, entry (`[[marker]] 3 (LKNE)`) and key, and describes the problem."""
    entry, key = _location(file.content, path)
    where = ", ".join(filter(None, (f"'{file.path}'", entry, f"key '{key}'" if key else "")))
    return TableError(f"{where}: {problem.rstrip('.')}.", hint)


def _location(content: dict[str, Any], path: tuple[str | int, ...]) -> tuple[str, str]:
    """Return the list entry on a path, as text, and the key below it."""
    at = next((i for i, part in enumerate(path) if isinstance(part, int)), None)
    if at is None or at == 0 or not isinstance(content.get(str(path[0])), list):
        return "", ".".join(map(str, path))
    entries = content[str(path[0])]
    number = int(path[at])
    entry = entries[number] if at == 1 and number < len(entries) else None
    if not isinstance(entry, dict):
        return "", f"{path[0]}, number {number + 1}"
    named = entry.get("name", entry.get("labels", ""))
    words = ", ".join(map(str, named)) if isinstance(named, list) else str(named)
    below = [str(part + 1) if isinstance(part, int) else part for part in path[at + 1 :]]
    return f"[[{path[0]}]] {number + 1}" + (f" ({words[:60]})" if words else ""), ".".join(below)
