"""Which columns of a table load which body: ExternalLoads XML, the names of a plain table of ground forces, a column map."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from biodyn.errors import InputFileError, ModelError
from biodyn.io.opensim.storage import TABLE_SUFFIXES, Storage, read_storage
from biodyn.io.tables.columns import ForceColumns, force_columns
from biodyn.io.tables.spreadsheet import SPREADSHEET_SUFFIXES, Spreadsheet, read_spreadsheet
from biodyn.library.load import load_table
from biodyn.rigid_body.osim.document import excerpt, members, name_of, read_document, read_flag, text_of


@dataclass(frozen=True)
class ExternalForce:
    """One load.

    Attributes:
        name: of the load. body: it acts on. force, point, moment: (3) columns of the table each, empty = none of it.
        force_in, point_in: the bodies in which force and point are expressed; "ground" = the world.
    """

    name: str
    body: str
    force: tuple[str, ...]
    point: tuple[str, ...]
    moment: tuple[str, ...]
    force_in: str
    point_in: str


@dataclass(frozen=True, eq=False)
class ExternalForces:
    """The loads and the table their columns are in."""

    loads: tuple[ExternalForce, ...]
    table: Storage


def read_external_loads(path: str | Path) -> ExternalForces:
    """Return the loads of an ExternalLoads XML, or of a table or spreadsheet that says which foot its forces belong to.

    Raises InputFileError: no such file, no loads, columns that are not there or not three of a kind.
    """
    path = Path(path)
    if path.suffix.lower() in TABLE_SUFFIXES:
        table = read_storage(path)
        return ExternalForces(_on_feet(table, force_columns(table.names)), table)
    if path.suffix.lower() in SPREADSHEET_SUFFIXES:
        return loads_of_sheet(read_spreadsheet(path))
    try:
        root = read_document(path)
    except ModelError as error:
        raise InputFileError(str(error)) from error
    loads_element = next((element for element in root if element.tag == "ExternalLoads"), None)
    if loads_element is None:
        raise InputFileError(f"'{path.name}' holds no <ExternalLoads>.")
    file = text_of(loads_element, "datafile")
    if not file or file.lower() == "unassigned":
        raise InputFileError(f"'{path.name}' names no <datafile> with the forces.")
    table = read_storage(named_file(path, file))
    loads = []
    for element in members(loads_element, "objects") if loads_element.find("objects") is not None else loads_element:
        if element.tag not in ("ExternalForce", "PrescribedForce"):
            continue
        if read_flag(element, "isDisabled") or not read_flag(element, "appliesForce", True):
            continue
        force, point, moment = (
            _columns(table, text_of(element, f"{what}_identifier")) for what in ("force", "point", "torque")
        )
        loads.append(
            ExternalForce(
                name_of(element),
                text_of(element, "applied_to_body"),
                force,
                point,
                moment,
                text_of(element, "force_expressed_in_body", otherwise="ground"),
                text_of(element, "point_expressed_in_body", otherwise="ground"),
            )
        )
    if not loads:
        raise InputFileError(f"'{path.name}' holds no load that is applied.")
    return ExternalForces(tuple(loads), table)


def named_file(path: Path, file: str) -> Path:
    """Return the file that an XML names: as stated, else its last part in the folder of the XML."""
    file = file.strip()
    stated = path.parent / file
    try:
        return stated if stated.is_file() else path.parent / re.split(r"[\\/]", file)[-1]
    except OSError as error:  # not a valid file name
        raise InputFileError(
            f"'{path.name}' names the file '{excerpt(file)}': {error.strerror}.",
            "Correct the name of the file.",
        ) from error


def _columns(table: Storage, identifier: str) -> tuple[str, ...]:
    """Return the three columns with names that begin with the identifier, in the table's order."""
    if not identifier or identifier.lower() == "unassigned":
        return ()
    columns = tuple(name for name in table.names if name.startswith(identifier))
    if len(columns) != 3:
        raise InputFileError(
            f"'{table.path.name}' has {len(columns)} columns that begin with '{excerpt(identifier)}', not the three of a vector."
        )
    return columns


def loads_of_sheet(sheet: Spreadsheet) -> ExternalForces:
    """Return the loads of a spreadsheet that says on which feet its forces act; InputFileError where it says of none."""
    return ExternalForces(_on_feet(sheet.table, sheet.roles.forces), sheet.table)


def _on_feet(table: Storage, forces: Sequence[ForceColumns]) -> tuple[ExternalForce, ...]:
    """Return loads of a plain table: the side of each of its forces says which foot it acts on."""
    bodies = load_table("formats/opensim_names")["ground_force"]["bodies"]
    sided = sorted((force for force in forces if force.side), key=lambda force: str(force.side), reverse=True)
    if not sided:
        raise InputFileError(
            f"The columns of '{table.path.name}' do not say which foot they load.",
            "Give the ExternalLoads XML that goes with it (--forces LOADS.xml).",
        )
    return tuple(
        ExternalForce(
            f"ground_{force.side}",
            bodies[force.side],
            force.force,
            force.point,
            force.moment,
            force_in="ground",
            point_in="ground",
        )
        for force in sided
    )
