"""Read the set-up files of OpenSim tools: the tasks of inverse kinematics and of scaling."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from xml.etree import ElementTree as ET

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.errors import InputFileError, ModelError
from biodyn.io.opensim.external_loads import resolve_stated_file
from biodyn.rigid_body.osim.document import (
    element_name,
    element_text,
    iterate_members,
    read_document,
    read_flag,
    read_number,
    read_numbers,
)

# The misspelt one occurs in files of OpenSim 2.
_TOOLS: Final = ("InverseKinematicsTool", "InverseKinemtaticsTool", "IKTool")
_BARE: Final = ("IKTaskSet", *_TOOLS)


@dataclass(frozen=True)
class CoordinateTask:
    """A coordinate tracked toward a value (rad or m, None = default of the model) or toward values of a file (`from_file`)."""

    name: str
    weight: float
    value: float | None = None
    from_file: bool = False


@dataclass(frozen=True)
class IkSetup:
    """The tasks of an inverse kinematics set-up.

    Attributes:
        markers: weight of each tracked marker; empty = no marker is listed, all have weight 1.
        coordinates: coordinate tasks. coordinate_file: file with the values of the tasks `from_file`.
        marker_file, time_range_s: recording and time range (s) for which the set-up was written, as stated.
    """

    path: Path
    markers: dict[str, float]
    coordinates: tuple[CoordinateTask, ...] = ()
    coordinate_file: Path | None = None
    marker_file: str = ""
    time_range_s: tuple[float, float] | None = None
    notes: tuple[Diagnostic, ...] = ()


@contextmanager
def _convert_model_errors() -> Iterator[None]:
    try:
        yield
    except ModelError as error:
        raise InputFileError(error.message, error.hint) from error


@_convert_model_errors()
def read_ik_setup(path: str | Path) -> IkSetup:
    """Return the tasks of an inverse kinematics set-up.

    Raises InputFileError if the file is not an OpenSim XML or has no tasks, or weights are negative or not numbers.
    """
    path = Path(path)
    root = read_document(path, _BARE)
    tool = next((element for element in root.iter() if element.tag in _TOOLS), root)
    tasks = _find_element(tool, "IKTaskSet", path)
    if tasks.get("file"):
        other = resolve_stated_file(path, str(tasks.get("file")))
        tasks = _find_element(read_document(other, _BARE), "IKTaskSet", other)
    markers, coordinates = read_ik_tasks(tasks, path.name)
    if not markers and not coordinates:
        raise InputFileError(f"'{path.name}' lists no marker and no coordinate to track.")
    file = _stated_file(path, tool, "coordinate_file")
    held = next((element for element in (tool, *tool.iter("IKTrial")) if element.find("marker_file") is not None), tool)
    return IkSetup(
        path,
        markers,
        coordinates,
        file,
        element_text(held, "marker_file"),
        _read_time_range(held),
        _unused_weight_note(tool),
    )


def _find_element(root: ET.Element, tag: str, path: Path) -> ET.Element:
    """Return the first element with a tag; InputFileError if a document has none."""
    found = next(root.iter(tag), None)
    if found is None:
        raise InputFileError(f"'{path.name}' contains no <{tag}>.")
    return found


def read_ik_tasks(tasks: ET.Element, file: str) -> tuple[dict[str, float], tuple[CoordinateTask, ...]]:
    """Return the marker weights and the coordinate tasks of an <IKTaskSet>, without tasks that are not applied."""
    markers: dict[str, float] = {}
    coordinates = []
    for task in iterate_members(tasks, "objects") if tasks.find("objects") is not None else tasks:
        if task.tag not in ("IKMarkerTask", "IKCoordinateTask") or not read_flag(task, "apply", True):
            continue
        name, weight = element_name(task), read_number(task, "weight", 0.0)
        if weight < 0.0:
            raise InputFileError(f"'{file}' gives '{name}' the weight {weight:g}; weights must not be negative.")
        if task.tag == "IKMarkerTask":
            markers[name] = weight
            continue
        kind = element_text(task, "value_type", otherwise="default_value").lower()
        given = read_flag(task, "from_file") or kind == "from_file"
        value = read_number(task, "value", 0.0) if kind == "manual_value" else None
        coordinates.append(CoordinateTask(name, weight, value, given))
    return markers, tuple(coordinates)


def _read_time_range(tool: ET.Element) -> tuple[float, float] | None:
    words = element_text(tool, "time_range").split()
    try:
        first, last = (float(word) for word in words)
    except ValueError:
        return None
    return (first, last) if last > first else None


def _unused_weight_note(tool: ET.Element) -> tuple[Diagnostic, ...]:
    weight = element_text(tool, "constraint_weight").lower()
    if weight in ("", "inf", "infinity", "unassigned"):
        return ()
    message = f"Coupled coordinates are enforced exactly; the constraint_weight of the set-up ({weight}) is not used."
    return (Diagnostic("osim-not-used", "info", message),)


_AXES: Final = {"X": 0, "Y": 1, "Z": 2}


#: Name of a measurement; marker pairs, whose ratio of recorded to modelled distance scales bodies; body and axes (0, 1, 2).
Measurement = tuple[str, tuple[tuple[str, str], ...], tuple[tuple[str, tuple[int, ...]], ...]]


@dataclass(frozen=True, eq=False)
class ScaleSetup:
    """A ScaleTool set-up.

    Attributes:
        mass_kg: mass of the subject, None if not stated. keep_shares: value of preserve_mass_distribution.
        markers: <Marker> elements that are added to the model first.
        order: "measurements" and "manualScale" in the order in which they are applied; empty = no scaling.
        measurements: distances between markers. manual_factors: manual factors (3,) by body.
        scale_markers, scale_range_s: recording for scaling and its time range.
        place: whether markers are moved to their measured positions; weights, tasks: weights and tasks of this fit;
            place_markers, place_range_s: recording for this fit and its time range.
    """

    path: Path
    mass_kg: float | None
    keep_shares: bool
    markers: dict[str, ET.Element]
    order: tuple[str, ...]
    measurements: tuple[Measurement, ...]
    manual_factors: dict[str, FloatArray]
    scale_markers: Path | None
    scale_range_s: tuple[float, float] | None
    place: bool
    weights: dict[str, float]
    tasks: tuple[CoordinateTask, ...]
    coordinate_file: Path | None
    place_markers: Path | None
    place_range_s: tuple[float, float] | None


@_convert_model_errors()
def read_scale_setup(path: str | Path) -> ScaleSetup:
    """Return the settings of a ScaleTool XML.

    Raises InputFileError if the file is not an OpenSim XML or has no <ScaleTool>, if a marker pair is not two names, if axes
    are not X Y Z, or if values are not numbers.
    """
    path = Path(path)
    tool = _find_element(read_document(path, ("ScaleTool",)), "ScaleTool", path)
    nothing = ET.Element("nothing")
    scaler, placer, maker = (
        child if (child := tool.find(tag)) is not None else nothing
        for tag in ("ModelScaler", "MarkerPlacer", "GenericModelMaker")
    )
    scaling = scaler is not nothing and read_flag(scaler, "apply", True)
    tasks = next((element for element in placer.iter("IKTaskSet")), nothing)
    weights, coordinates = read_ik_tasks(tasks, path.name)
    mass = read_number(tool, "mass", -1.0)
    return ScaleSetup(
        path=path,
        mass_kg=mass if mass > 0.0 else None,
        keep_shares=read_flag(scaler, "preserve_mass_distribution"),
        markers=_read_marker_set(path, element_text(maker, "marker_set_file")),
        order=tuple(element_text(scaler, "scaling_order").split()) if scaling else (),
        measurements=tuple(_read_measurements(scaler, path.name)),
        manual_factors=_manual_scale_factors(scaler, path.name),
        scale_markers=_stated_file(path, scaler),
        scale_range_s=_scale_time_range(scaler),
        place=placer is not nothing
        and read_flag(placer, "apply", True)
        and read_flag(placer, "move_model_markers", True),
        weights=weights,
        tasks=coordinates,
        coordinate_file=_stated_file(path, placer, "coordinate_file"),
        place_markers=_stated_file(path, placer),
        place_range_s=_scale_time_range(placer),
    )


def _stated_file(path: Path, element: ET.Element, tag: str = "marker_file") -> Path | None:
    stated = element_text(element, tag)
    return None if not stated or stated.lower() == "unassigned" else resolve_stated_file(path, stated)


def _scale_time_range(element: ET.Element) -> tuple[float, float] | None:
    if not element_text(element, "time_range"):
        return None
    first, last = (float(value) for value in read_numbers(element, "time_range", 2))
    return (first, last) if last >= first else None


def _read_marker_set(path: Path, stated: str) -> dict[str, ET.Element]:
    if not stated or stated.lower() == "unassigned":
        return {}
    other = resolve_stated_file(path, stated)
    marker_set = _find_element(read_document(other, ("MarkerSet",)), "MarkerSet", other)
    return {element_name(element): element for element in marker_set.iter("Marker")}


def _read_measurements(scaler: ET.Element, file: str) -> list[Measurement]:
    measurements: list[Measurement] = []
    for element in scaler.iter("Measurement"):
        if not read_flag(element, "apply", True):
            continue
        name = element_name(element)
        pairs = tuple(tuple(element_text(pair, "markers").split()) for pair in element.iter("MarkerPair"))
        if any(len(pair) != 2 for pair in pairs):
            raise InputFileError(
                f"A marker pair of the measurement '{name}' in '{file}' does not consist of two names."
            )
        bodies = []
        for body in element.iter("BodyScale"):
            letters = element_text(body, "axes").upper().split()
            if any(letter not in _AXES for letter in letters):
                raise InputFileError(
                    f"The measurement '{name}' in '{file}' scales along '{' '.join(letters)}'; only X, Y and Z are possible."
                )
            bodies.append((element_name(body), tuple(_AXES[letter] for letter in letters)))
        measurements.append((name, tuple((pair[0], pair[1]) for pair in pairs), tuple(bodies)))
    return measurements


def _manual_scale_factors(scaler: ET.Element, file: str) -> dict[str, FloatArray]:
    """Return the factors (3,) by body given in the set-up, or in a separate file to which it refers."""
    factors: dict[str, FloatArray] = {}
    for element in scaler.iter("Scale"):
        if read_flag(element, "apply", True):
            values = read_numbers(element, "scales", 3)
            if not (values > 0.0).all():
                raise InputFileError(
                    f"'{file}' scales '{element_text(element, 'segment')}' by {values}; scale factors must be positive."
                )
            factors[element_text(element, "segment")] = np.asarray(values)
    return factors
