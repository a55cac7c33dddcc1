"""What an inverse kinematics follows: the tasks of an InverseKinematicsTool, or of an IKTaskSet in a file of its own."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from xml.etree import ElementTree as ET

from biodyn.diagnostics import Diagnostic
from biodyn.errors import InputFileError, ModelError
from biodyn.rigid_body.osim.document import read_document
from biodyn.rigid_body.osim.elements import is_true, members, name_of, number, text_of

# The misspelt one stands in the files of OpenSim 2.
_TOOLS: Final = ("InverseKinematicsTool", "InverseKinemtaticsTool", "IKTool")
_BARE: Final = ("IKTaskSet", *_TOOLS)


@dataclass(frozen=True)
class CoordinateTask:
    """One coordinate drawn to a value: rad or m; None = the model's default. from_file: the values stand in a file."""

    name: str
    weight: float
    value: float | None = None
    from_file: bool = False


@dataclass(frozen=True)
class IkSetup:
    """The tasks of one set-up.

    Attributes:
        markers: weight of each marker that is followed; empty = no marker is named, all count 1.
        coordinates: what coordinates are drawn to. coordinate_file: where the values of those `from_file` stand.
        marker_file, time_range_s: the recording it was written for and the part of it that it names, as the file says.
    """

    path: Path
    markers: dict[str, float]
    coordinates: tuple[CoordinateTask, ...] = ()
    coordinate_file: Path | None = None
    marker_file: str = ""
    time_range_s: tuple[float, float] | None = None
    notes: tuple[Diagnostic, ...] = ()


def read_ik_setup(path: str | Path) -> IkSetup:
    """Return the tasks of an inverse kinematics set-up.

    Raises InputFileError: no OpenSim XML, no tasks in it, weights that are no numbers or negative.
    """
    path = Path(path)
    try:
        return _read(path)
    except ModelError as error:
        raise InputFileError(error.message, error.hint) from error


def _read(path: Path) -> IkSetup:
    root = read_document(path, _BARE)
    tool = next((one for one in root.iter() if one.tag in _TOOLS), root)
    tasks = next((one for one in tool.iter() if one.tag == "IKTaskSet"), None)
    if tasks is None:
        raise InputFileError(f"'{path.name}' holds no <IKTaskSet>, so no weights of an inverse kinematics.")
    if tasks.get("file"):
        other = beside(path, str(tasks.get("file")))
        document = read_document(other, _BARE)
        tasks = next((one for one in document.iter() if one.tag == "IKTaskSet"), None)
        if tasks is None:
            raise InputFileError(f"'{other.name}' holds no <IKTaskSet>, so no weights of an inverse kinematics.")
    markers, coordinates = tasks_of(tasks, path.name)
    if not markers and not coordinates:
        raise InputFileError(f"'{path.name}' names no marker and no coordinate to follow.")
    stated = text_of(tool, "coordinate_file")
    file = beside(path, stated) if stated and stated.lower() != "unassigned" else None
    held = next((one for one in (tool, *tool.iter("IKTrial")) if one.find("marker_file") is not None), tool)
    return IkSetup(path, markers, coordinates, file, text_of(held, "marker_file"), _range(held), _notes(tool))


def tasks_of(tasks: ET.Element, file: str) -> tuple[dict[str, float], tuple[CoordinateTask, ...]]:
    """Return the weights of the markers and the coordinate tasks of an <IKTaskSet>; those not applied are left out."""
    markers: dict[str, float] = {}
    coordinates = []
    for task in members(tasks, "objects") if tasks.find("objects") is not None else tasks:
        if task.tag not in ("IKMarkerTask", "IKCoordinateTask") or not is_true(task, "apply", True):
            continue
        name, weight = name_of(task), number(task, "weight", 0.0)
        if weight < 0.0:
            raise InputFileError(f"'{file}' gives '{name}' the weight {weight:g}: weights are not negative.")
        if task.tag == "IKMarkerTask":
            markers[name] = weight
            continue
        kind = text_of(task, "value_type", otherwise="default_value").lower()
        given = is_true(task, "from_file") or kind == "from_file"
        value = number(task, "value", 0.0) if kind == "manual_value" else None
        coordinates.append(CoordinateTask(name, weight, value, given))
    return markers, tuple(coordinates)


def beside(path: Path, file: str) -> Path:
    """Return the file a set-up names; the last part of a foreign path lies beside it."""
    file = file.strip()
    there = path.parent / file
    return there if there.is_file() else path.parent / re.split(r"[\\/]", file)[-1]


def _range(tool: ET.Element) -> tuple[float, float] | None:
    words = text_of(tool, "time_range").split()
    try:
        first, last = (float(word) for word in words)
    except ValueError:
        return None
    return (first, last) if last > first else None


def _notes(tool: ET.Element) -> tuple[Diagnostic, ...]:
    weight = text_of(tool, "constraint_weight").lower()
    if weight in ("", "inf", "infinity", "unassigned"):
        return ()
    message = f"Couplings of coordinates hold exactly; the set-up's constraint_weight ({weight}) is not used."
    return (Diagnostic("ik-constraint-weight", "info", message),)
