"""What every table of the library may hold: strict pydantic models, found by the path of the table.

Goes in: the content of a TOML file, biodyn's own or a user's. Comes out: nothing where it is as it should be, else one
sentence that names file, entry and key, with the nearest name (`require_valid`, `table_error`; the words in
`library.faults`).

Read `base` (strictness, names, signs for the sides), then `body` (marker sets, skeletons, landmarks, anthropometry),
`recordings` (file formats), `analysis` (events, checks, uncertainties, variables) and `results` (figures, reports, studies,
conventions). `@SCHEMAS.register("folder/table")` registers a model for a table, "folder" for
every table of a folder. Names of landmarks and segments are text here: which exist depends on several tables
together (`model.from_library.user_tables`).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from pydantic import BaseModel, ValidationError

from biodyn.errors import TableError
from biodyn.library.faults import first_fault
from biodyn.library.load import UserFile
from biodyn.library.registry import Registry

#: By table or folder of the library, and by kind where a user's file is one row of a table (`tables.ROLES`).
SCHEMAS: Registry[type[BaseModel]] = Registry("biodyn.library.schema", "table schema")


def schema_of(table: str) -> type[BaseModel] | None:
    """Return the model of a table by its path in the library: its own, or its folder's; None where neither has one."""
    while table and table not in SCHEMAS:
        table = table.rpartition("/")[0]
    return SCHEMAS[table] if table else None


@lru_cache(maxsize=64)
def require_valid(file: UserFile, table: str) -> None:
    """Raise TableError, naming file, entry and key, where a file is no `table` of the library, by path or folder."""
    schema = schema_of(table)
    assert schema is not None, f"no schema for '{table}'"
    try:
        schema.model_validate(file.content)
    except ValidationError as error:
        fault = first_fault(error, schema)
        raise table_error(file, fault.path, fault.problem, fault.hint) from error


def table_error(file: UserFile, path: tuple[str | int, ...], problem: str, hint: str = "") -> TableError:
    """Return the error that names file, entry (`[[marker]] 3 (LKNE)`) and key, and says what is wrong."""
    entry, key = _place(file.content, path)
    where = ", ".join(filter(None, (f"'{file.path}'", entry, f"key '{key}'" if key else "")))
    return TableError(f"{where}: {problem.rstrip('.')}.", hint)


def _place(content: dict[str, Any], path: tuple[str | int, ...]) -> tuple[str, str]:
    """The list entry a path goes through, in words, and the key below it."""
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
