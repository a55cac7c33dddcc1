"""What a user says of the columns of a spreadsheet: NAME.columns.toml beside NAME.csv, or columns.toml for all in a folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from biodyn.conventions import Side
from biodyn.errors import InputFileError, TableError
from biodyn.io.ground_forces.columns import ForceColumns
from biodyn.io.tables.roles import ColumnRoles, roles_of
from biodyn.library.load import load_table, nearest, read_user_toml
from biodyn.library.schema import require_valid

_SIDES: dict[str, Side] = {"right": "r", "left": "l"}


@dataclass(frozen=True)
class ColumnMap:
    """A column map: `path` of its file, None where there is none; `content` as `library.schema.column_map` has it."""

    path: Path | None
    content: dict[str, Any]

    def text(self, entry: str) -> str:
        """An entry, "" where it is not said."""
        return str(self.content.get(entry) or "")


def map_file(table: Path) -> Path | None:
    """Return the column map of a spreadsheet, None where there is none."""
    for path in (table.with_name(f"{table.stem}.columns.toml"), table.with_name("columns.toml")):
        if path.is_file():
            return path
    return None


def column_map(table: Path) -> ColumnMap:
    """Return the column map of a spreadsheet, an empty one where there is none; InputFileError where it is not valid."""
    path = map_file(table)
    if path is None:
        return ColumnMap(None, {})
    try:
        file = read_user_toml(path, "column map")
        require_valid(file, "formats/column_map")
    except TableError as error:
        raise InputFileError(error.message, error.hint) from error
    return ColumnMap(path, file.content)


def mapped_roles(names: tuple[str, ...], given: ColumnMap) -> tuple[ColumnRoles, dict[str, str]]:
    """Return the roles of columns by a map, by their names where it says nothing of a kind; and columns that get another name.

    Raises InputFileError with the nearest column for one that is not there.
    """
    content = given.content
    by_name = roles_of(names, points=True)

    def known(name: str) -> str:
        if name not in names:
            raise InputFileError(f"'{given.path}' names the column '{name}', which is not there.", nearest(name, names))
        return name

    markers = {label: tuple(map(known, three)) for label, three in content.get("markers", {}).items()}
    forces = tuple(
        ForceColumns(
            f"{number}",
            _SIDES.get(one.get("side", "")),
            *(tuple(map(known, one.get(part, ()))) for part in ("force", "point", "moment")),
        )
        for number, one in enumerate(content.get("forces", ()), start=1)
    )
    renamed = {known(column): name for name, column in content.get("coordinates", {}).items()}
    said = {name for three in markers.values() for name in three} | {name for one in forces for name in one.columns}
    free = {name for name in names if name not in said and name not in renamed}
    if not markers:
        markers = {label: three for label, three in by_name.markers.items() if free.issuperset(three)}
    if not forces:
        forces = tuple(one for one in by_name.forces if free.issuperset(one.columns))
    beginnings = tuple(load_table("formats/opensim_names")["coordinates"]["beginnings"])
    coordinates = tuple(renamed) or tuple(name for name in by_name.coordinates if name.lower().startswith(beginnings))
    used = {name for three in markers.values() for name in three} | {name for one in forces for name in one.columns}
    others = tuple(name for name in names if name not in used and name not in coordinates)
    return ColumnRoles(markers, forces, coordinates, others), renamed  # type: ignore[arg-type]  # three each
