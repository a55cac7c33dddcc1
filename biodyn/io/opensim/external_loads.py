"""Determine which columns of a table are the load on which body: by ExternalLoads XML, column names, or a column map."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from biodyn.errors import InputFileError, ModelError
from biodyn.io.opensim.storage import TABLE_SUFFIXES, Storage, read_storage
from biodyn.io.tables.column_roles import ForceColumns, force_columns
from biodyn.io.tables.spreadsheet import SPREADSHEET_SUFFIXES, Spreadsheet, read_spreadsheet
from biodyn.library.toml_files import load_table
from biodyn.rigid_body.osim.document import (
    element_name,
    element_text,
    excerpt,
    iterate_members,
    read_document,
    read_flag,
)


@dataclass(frozen=True)
class ExternalForce:
    """One load on a body.

    Attributes:
        name: name of the load. body: body on which it acts. force, point, moment: three columns of the table each, empty =
        none.
        force_in, point_in: bodies in whose axes force and point are expressed; "ground" = World.
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
    """External loads on bodies, and the table that contains their columns."""

    loads: tuple[ExternalForce, ...]
    table: Storage


def read_external_loads(path: str | Path) -> ExternalForces:
    """Return the loads of an ExternalLoads XML, or of a table or spreadsheet that states the foot of each force.

    Raises InputFileError if the file is missing, has no loads, or columns are missing or not three per vector.
    """
    path = Path(path)
    if path.suffix.lower() in TABLE_SUFFIXES:
        table = read_storage(path)
        return ExternalForces(_foot_loads(table, force_columns(table.names)), table)
    if path.suffix.lower() in SPREADSHEET_SUFFIXES:
        return loads_of_sheet(read_spreadsheet(path))
    try:
        root = read_document(path)
    except ModelError as error:
        raise InputFileError(str(error)) from error
    loads_element = next((element for element in root if element.tag == "ExternalLoads"), None)
    if loads_element is None:
        raise InputFileError(f"'{path.name}' contains no <ExternalLoads>.")
    file = element_text(loads_element, "datafile")
    if not file or file.lower() == "unassigned":
        raise InputFileError(f"'{path.name}' states no <datafile> with the forces.")
    table = read_storage(resolve_stated_file(path, file))
    loads = []
    for element in (
        iterate_members(loads_element, "objects") if loads_element.find("objects") is not None else loads_element
    ):
        if element.tag not in ("ExternalForce", "PrescribedForce"):
            continue
        if read_flag(element, "isDisabled") or not read_flag(element, "appliesForce", True):
            continue
        force, point, moment = (
            _vector_columns(table, element_text(element, f"{what}_identifier")) for what in ("force", "point", "torque")
        )
        loads.append(
            ExternalForce(
                element_name(element),
                element_text(element, "applied_to_body"),
                force,
                point,
                moment,
                element_text(element, "force_expressed_in_body", otherwise="ground"),
                element_text(element, "point_expressed_in_body", otherwise="ground"),
            )
        )
    if not loads:
        raise InputFileError(f"'{path.name}' contains no applied load.")
    return ExternalForces(tuple(loads), table)


def resolve_stated_file(path: Path, file: str) -> Path:
    """Return the path of a file stated in an XML: as stated, else its file name in the folder of the XML."""
    file = file.strip()
    stated = path.parent / file
    try:
        return stated if stated.is_file() else path.parent / re.split(r"[\\/]", file)[-1]
    except OSError as error:  # not a valid file name
        raise InputFileError(
            f"'{path.name}' refers to the file '{excerpt(file)}', which cannot be read: {error.strerror}.",
            "Correct the file name.",
        ) from error


def _vector_columns(table: Storage, identifier: str) -> tuple[str, ...]:
    """Return the three columns whose names start with the identifier, in the order of the table."""
    if not identifier or identifier.lower() == "unassigned":
        return ()
    columns = tuple(name for name in table.names if name.startswith(identifier))
    if len(columns) != 3:
        raise InputFileError(
            f"'{table.path.name}' has {len(columns)} columns that start with '{excerpt(identifier)}'; three are expected for "
            f"a vector."
        )
    return columns


def loads_of_sheet(sheet: Spreadsheet) -> ExternalForces:
    """Return the loads of a spreadsheet that states the feet of its forces; InputFileError if it states none."""
    return ExternalForces(_foot_loads(sheet.table, sheet.roles.forces), sheet.table)


def _foot_loads(table: Storage, forces: Sequence[ForceColumns]) -> tuple[ExternalForce, ...]:
    """Return the loads of a plain table; the side of each force determines the foot."""
    bodies = load_table("formats/opensim_names")["ground_force"]["bodies"]
    sided = sorted((force for force in forces if force.side), key=lambda force: str(force.side), reverse=True)
    if not sided:
        raise InputFileError(
            f"The columns of '{table.path.name}' do not state the foot on which each force acts.",
            "Give the ExternalLoads XML of this table (--forces LOADS.xml).",
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
