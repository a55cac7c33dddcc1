"""The file of the ground forces: a plain table (.mot, .sto), an ExternalLoads XML that names one, or a spreadsheet."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from biodyn.diagnostics import Diagnostic
from biodyn.errors import InputFileError
from biodyn.io.files import file_sha256
from biodyn.io.opensim.external_loads import ExternalForce, read_external_loads
from biodyn.io.opensim.storage import Storage, read_storage
from biodyn.io.plate_exports import read_exported_plates
from biodyn.io.plate_exports.qualisys import plate_files_of
from biodyn.io.tables.columns import ForceColumns, PlateColumns, force_columns, side_of
from biodyn.io.tables.spreadsheet import SPREADSHEET_SUFFIXES, read_spreadsheet

LOADS_SUFFIX = ".xml"


@dataclass(frozen=True, eq=False)
class GroundForces:
    """Ground forces of a walk.

    Attributes:
        path: the file that was named. table: their numbers. forces: its columns, plates: those of plates by six components.
        left_out: loads on bodies that are no foot. files: everything that was read, with the hash of its bytes. notes: what was
            decided on the way.
    """

    path: Path
    table: Storage
    forces: tuple[ForceColumns, ...]
    left_out: tuple[str, ...]
    files: tuple[tuple[Path, str], ...]
    plates: tuple[PlateColumns, ...] = ()
    notes: tuple[Diagnostic, ...] = ()


def read_ground_forces(path: str | Path) -> GroundForces:
    """Return the ground forces of a table, of an ExternalLoads XML, of a spreadsheet or of what a laboratory's software exports.

    Raises InputFileError in one sentence: no such file, no force with its point, forces in the axes of a body.
    """
    path = Path(path)
    if path.suffix.lower() == ".c3d" and path.is_file():
        raise InputFileError(
            f"'{path.name}' is a recording with plates of its own, no table of ground forces.",
            "Run it itself, with its markers; or export its forces as a table.",
        )
    exported = read_exported_plates(path)
    if exported is not None:
        files = tuple((file, file_sha256(file)) for file in plate_files_of(path))
        return GroundForces(path, exported.table, exported.forces, (), files, exported.plates, exported.notes)
    if path.suffix.lower() in SPREADSHEET_SUFFIXES:
        sheet = read_spreadsheet(path)
        forces, plates = sheet.roles.forces, sheet.roles.plates
        if not (forces or plates):
            raise _no_force(sheet.table)
        return GroundForces(path, sheet.table, forces, (), ((path, sheet.table.sha256), *sheet.maps), plates)
    if path.suffix.lower() != LOADS_SUFFIX:
        table = read_storage(path)
        forces = force_columns(table.names)
        if not forces:
            raise _no_force(table)
        return GroundForces(path, table, forces, (), ((path, table.sha256),))
    loads = read_external_loads(path)
    feet = [load for load in loads.loads if side_of(load.body) is not None and load.point]
    if not feet:
        raise InputFileError(f"'{path.name}' loads no foot: {', '.join(load.body for load in loads.loads)}.")
    for load in feet:
        if not load.force_in.lower() == load.point_in.lower() == "ground":
            raise InputFileError(
                f"'{path.name}' gives the load '{load.name}' in the axes of a body: that needs the model it was made for.",
                "Run it on that model (--model MODEL.osim).",
            )
    left_out = tuple(load.name for load in loads.loads if load not in feet)
    files = ((path, file_sha256(path)), (loads.table.path, loads.table.sha256))
    return GroundForces(path, loads.table, tuple(map(_columns, feet)), left_out, files)


def _no_force(table: Storage) -> InputFileError:
    return InputFileError(
        f"'{table.path.name}' holds no ground force: no three columns of force with three of the point where it acts.",
        f"Its columns are {', '.join(table.names[:6])} ...; expected such as ground_force_vx and ground_force_px.",
    )


def _columns(load: ExternalForce) -> ForceColumns:
    return ForceColumns(load.name, side_of(load.body), load.force, load.point, load.moment)
