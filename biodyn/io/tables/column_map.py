"""Read the column map of a spreadsheet: NAME.columns.toml for NAME.csv, or columns.toml for a whole folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from biodyn.conventions import Side
from biodyn.errors import InputFileError, TableError
from biodyn.io.tables.column_roles import ColumnRoles, ForceColumns, determine_column_roles, plate_of_map, poses_of_map
from biodyn.library.entry_faults import require_valid_table
from biodyn.library.toml_files import load_table, read_user_toml, suggest_name

_POINT = "point"
_SIDES: dict[str, Side] = {"right": "r", "left": "l"}


#: Path of a column map (None without one), and its content according to `library.schema.ColumnMap`.
ColumnMap = tuple[Path | None, dict[str, Any]]


def column_map_file(table: Path) -> Path | None:
    """Return the path of the column map of a spreadsheet; None if absent."""
    for path in (table.with_name(f"{table.stem}.columns.toml"), table.with_name("columns.toml")):
        if path.is_file():
            return path
    return None


def read_column_map(table: Path) -> ColumnMap:
    """Read the column map of a spreadsheet, an empty one if absent; InputFileError if it is invalid."""
    path = column_map_file(table)
    if path is None:
        return None, {}
    try:
        file = read_user_toml(path, "column map")
        require_valid_table(file, "column_map")
    except TableError as error:
        raise InputFileError(error.message, error.hint) from error
    return path, file.content


def mapped_column_roles(
    names: tuple[str, ...], given: ColumnMap
) -> tuple[ColumnRoles, dict[str, str], dict[str, float]]:
    """Return the roles of columns by a map; kinds that the map does not contain are determined by column names.

    Also returned are the coordinate of each renamed column, and the value of each constant column that is not in the file.

    Raises InputFileError for a missing column (with the most similar one as a hint) and for a column with two roles.
    """
    path, content = given
    reading = _MapReader(path, names)
    markers = {
        label: reading.names(columns, f"markers.{label}") for label, columns in content.get("markers", {}).items()
    }
    for label, columns in markers.items():
        if len(columns) != len("xyz"):
            raise InputFileError(
                f"'{path}' lists {len(columns)} columns for the marker {label}.", "Give three columns, x y z."
            )
    poses = poses_of_map(content.get("poses", {}))
    for label, pose in poses.items():
        reading.names(pose.columns, f"poses.{label}")
    plates = tuple(
        plate_of_map(entry, *(reading.names(entry[part], f"plates {number}, {part}") for part in ("force", "moment")))
        for number, entry in enumerate(content.get("plates", ()), start=1)
    )
    forces = tuple(
        ForceColumns(
            f"{number}",
            _SIDES.get(entry.get("side", "")),
            *(reading.names(entry.get(part, ()), f"forces {number}, {part}") for part in ("force", _POINT, "moment")),
        )
        for number, entry in enumerate(content.get("forces", ()), start=1)
    )
    renamed = {
        reading.names([column], f"coordinates.{name}")[0]: name
        for name, column in content.get("coordinates", {}).items()
    }
    said = ColumnRoles(markers, forces, tuple(renamed), (), poses, plates)  # type: ignore[arg-type]  # three each
    for column, name in renamed.items():
        if name in names and name != column:
            raise InputFileError(
                f"'{path}' renames the column '{column}' to '{name}', but there is another column with this name.",
                f"Use coordinates.{name} = '{name}' to select the other column.",
            )
    free = [name for name in names if name not in reading.used]
    return _with_roles_by_name(said, free), renamed, reading.constants


class _MapReader:
    """Reader of the columns listed in a map, each of which must exist in the file and have one role."""

    def __init__(self, path: Path | None, names: Sequence[str]) -> None:
        self._path = path
        self._names = names
        self.used: dict[str, str] = {}
        self.constants: dict[str, float] = {}

    def names(self, parts: Sequence[str | float], entry: str) -> tuple[str, ...]:
        """Return the column names listed under an entry; a number is replaced by the name of a constant column."""
        return tuple(self._use_column(part, entry) for part in parts)

    def _use_column(self, part: str | float, entry: str) -> str:
        if not isinstance(part, str):
            name = f"{float(part)!r} in every row"
            self.constants[name] = float(part)
            return name
        if part not in self._names:
            raise InputFileError(
                f"'{self._path}' refers to the column '{part}', which does not exist.", suggest_name(part, self._names)
            )
        # a constant column, such as the height of the floor
        shared = entry.endswith(_POINT) and self.used.get(part, "").endswith(_POINT)
        if part in self.used and not shared:
            raise InputFileError(
                f"'{self._path}' uses the column '{part}' twice: in {self.used[part]} and in {entry}.",
                "A column can have only one role.",
            )
        self.used[part] = entry
        return part


def _with_roles_by_name(said: ColumnRoles, free: Sequence[str]) -> ColumnRoles:
    """Return the roles in a map, completed by column names for kinds that the map does not contain."""
    by_name = determine_column_roles(free, points=True)
    markers = said.markers or by_name.markers
    poses = said.poses or by_name.poses
    forces = said.forces or (by_name.forces if not said.plates else ())
    beginnings = tuple(load_table("formats/opensim_names")["coordinates"]["beginnings"])
    coordinates = said.coordinates or tuple(n for n in by_name.coordinates if n.lower().startswith(beginnings))
    used = {name for three in markers.values() for name in three} | {*coordinates}
    used |= {name for pose in poses.values() for name in pose.columns}
    used |= {name for force in forces for name in force.columns} | {name for p in said.plates for name in p.columns}
    others = tuple(name for name in free if name not in used)
    return ColumnRoles(markers, forces, coordinates, others, poses, said.plates)
