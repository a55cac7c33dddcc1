"""What a ScaleTool set-up asks for: mass, measurements, factors given by hand, and where markers are placed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final
from xml.etree import ElementTree as ET

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.errors import InputFileError, ModelError
from biodyn.io.opensim.ik_setup import CoordinateTask, beside, tasks_of
from biodyn.rigid_body.osim.document import read_document
from biodyn.rigid_body.osim.elements import is_true, name_of, number, numbers, text_of

_AXES: Final = {"X": 0, "Y": 1, "Z": 2}


@dataclass(frozen=True)
class Measurement:
    """Distances between markers, recorded over modelled, scale bodies along some of their axes (0, 1, 2)."""

    name: str
    pairs: tuple[tuple[str, str], ...]
    bodies: tuple[tuple[str, tuple[int, ...]], ...]


@dataclass(frozen=True, eq=False)
class ScaleSetup:
    """One ScaleTool set-up.

    Attributes:
        mass_kg: of the subject, None where the file gives none. keep_shares: preserve_mass_distribution.
        markers: <Marker> elements that the model is given first.
        order: "measurements", "manualScale" in the order they are applied; empty = no scaling.
        measurements, by_hand: what is measured; factors (3,) by body. scale_markers, scale_range_s: recording and part of it.
        place: whether markers are placed; weights, tasks of that fit; place_markers, place_range_s: its recording.
    """

    path: Path
    mass_kg: float | None
    keep_shares: bool
    markers: dict[str, ET.Element]
    order: tuple[str, ...]
    measurements: tuple[Measurement, ...]
    by_hand: dict[str, FloatArray]
    scale_markers: Path | None
    scale_range_s: tuple[float, float] | None
    place: bool
    weights: dict[str, float]
    tasks: tuple[CoordinateTask, ...]
    coordinate_file: Path | None
    place_markers: Path | None
    place_range_s: tuple[float, float] | None


def read_scale_setup(path: str | Path) -> ScaleSetup:
    """Return what a ScaleTool XML asks for.

    Raises InputFileError: no OpenSim XML, no <ScaleTool>, pairs that are not two names, axes other than X Y Z, no numbers.
    """
    path = Path(path)
    try:
        return _read(path)
    except ModelError as error:
        raise InputFileError(error.message, error.hint) from error


def _read(path: Path) -> ScaleSetup:
    root = read_document(path, ("ScaleTool",))
    tool = next((one for one in root.iter() if one.tag == "ScaleTool"), None)
    if tool is None:
        raise InputFileError(f"'{path.name}' holds no <ScaleTool>.")
    nothing = ET.Element("nothing")
    scaler, placer, maker = (
        found if (found := tool.find(tag)) is not None else nothing
        for tag in ("ModelScaler", "MarkerPlacer", "GenericModelMaker")
    )
    scaling = scaler is not nothing and is_true(scaler, "apply", True)
    tasks = next((one for one in placer.iter("IKTaskSet")), nothing)
    weights, coordinates = tasks_of(tasks, path.name)
    mass = number(tool, "mass", -1.0)
    return ScaleSetup(
        path=path,
        mass_kg=mass if mass > 0.0 else None,
        keep_shares=is_true(scaler, "preserve_mass_distribution"),
        markers=_marker_set(path, text_of(maker, "marker_set_file")),
        order=tuple(text_of(scaler, "scaling_order").split()) if scaling else (),
        measurements=tuple(_measurements(scaler, path.name)),
        by_hand=_by_hand(scaler, path.name),
        scale_markers=_file(path, scaler),
        scale_range_s=_range(scaler),
        place=placer is not nothing and is_true(placer, "apply", True) and is_true(placer, "move_model_markers", True),
        weights=weights,
        tasks=coordinates,
        coordinate_file=_file(path, placer, "coordinate_file"),
        place_markers=_file(path, placer),
        place_range_s=_range(placer),
    )


def _file(path: Path, element: ET.Element, tag: str = "marker_file") -> Path | None:
    stated = text_of(element, tag)
    return None if not stated or stated.lower() == "unassigned" else beside(path, stated)


def _range(element: ET.Element) -> tuple[float, float] | None:
    if not text_of(element, "time_range"):
        return None
    first, last = (float(one) for one in numbers(element, "time_range", 2))
    return (first, last) if last >= first else None


def _marker_set(path: Path, stated: str) -> dict[str, ET.Element]:
    if not stated or stated.lower() == "unassigned":
        return {}
    root = read_document(beside(path, stated), ("MarkerSet",))
    found = next((one for one in root.iter() if one.tag == "MarkerSet"), None)
    if found is None:
        raise InputFileError(f"'{stated}' holds no <MarkerSet>.")
    return {name_of(one): one for one in found.iter("Marker")}


def _measurements(scaler: ET.Element, file: str) -> list[Measurement]:
    found = []
    for element in scaler.iter("Measurement"):
        if not is_true(element, "apply", True):
            continue
        name = name_of(element)
        pairs = tuple(tuple(text_of(pair, "markers").split()) for pair in element.iter("MarkerPair"))
        if any(len(pair) != 2 for pair in pairs):
            raise InputFileError(f"A marker pair of the measurement '{name}' in '{file}' is not two names.")
        bodies = []
        for body in element.iter("BodyScale"):
            letters = text_of(body, "axes").upper().split()
            if any(letter not in _AXES for letter in letters):
                raise InputFileError(
                    f"The measurement '{name}' in '{file}' scales along '{' '.join(letters)}', not X Y Z."
                )
            bodies.append((name_of(body), tuple(_AXES[letter] for letter in letters)))
        found.append(Measurement(name, tuple((pair[0], pair[1]) for pair in pairs), tuple(bodies)))
    return found


def _by_hand(scaler: ET.Element, file: str) -> dict[str, FloatArray]:
    """Factors given in the set-up, or in a file of its own that it names."""
    factors: dict[str, FloatArray] = {}
    for element in scaler.iter("Scale"):
        if is_true(element, "apply", True):
            values = numbers(element, "scales", 3)
            if not (values > 0.0).all():
                raise InputFileError(f"'{file}' scales '{text_of(element, 'segment')}' by {values}: not positive.")
            factors[text_of(element, "segment")] = np.asarray(values)
    return factors
