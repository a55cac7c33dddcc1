"""An OpenSim model made as large as a person: by an OpenSim scale set-up, or by what a static trial itself tells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.errors import InputFileError, ModelError
from biodyn.io.opensim.ik_setup import IkSetup
from biodyn.io.opensim.scale_setup import ScaleSetup, read_scale_setup
from biodyn.processing.calibration.model_scaling import (
    StandingMarkers,
    factors_by_body,
    marker_places,
    measured_factor,
)
from biodyn.processing.kinematics.model_markers import fit_model
from biodyn.rigid_body import OpenSimModel
from biodyn.rigid_body.osim.document import model_bytes
from biodyn.rigid_body.osim.model import model_document, model_of
from biodyn.rigid_body.osim.scaling import move_markers, scaled, with_markers
from biodyn.trial.model_recording import read_points, tasks_of


@dataclass(frozen=True, eq=False)
class ScaledModel:
    """A model of one person.

    Attributes:
        model: as scaled. content: an .osim file of it; its muscles, shapes and contacts are not scaled.
        record: factors by body, mass, markers moved. files: what was read besides the model. notes: what was said on the way.
    """

    model: OpenSimModel
    content: bytes
    record: Mapping[str, Any]
    files: Mapping[str, Path]
    notes: tuple[Diagnostic, ...]


def scaled_by_setup(
    model: str | Path, setup: str | Path, static: str | Path | None = None, mass_kg: float | None = None
) -> ScaledModel:
    """Return a generic model scaled, and its markers placed, as an OpenSim ScaleTool set-up says.

    static: the recording measured and stood in, instead of those the set-up names. mass_kg: instead of the set-up's.
    Raises InputFileError, ModelError: files that cannot be read, no static trial, no measurement that can be taken.
    """
    asked = read_scale_setup(setup)
    generic_document, version = model_document(model)
    document = with_markers(generic_document, asked.markers)
    generic = model_of(document)
    given = None if static is None else Path(static)
    files = {"scale_setup": asked.path}
    factors: dict[str, FloatArray] = {}
    notes: list[Diagnostic] = []
    measuring = given or asked.scale_markers
    for what in asked.order:
        if what == "measurements" and asked.measurements:
            notes += _measure(asked, generic, _standing(measuring, asked.path, generic), factors)
            files["static"] = _named(measuring, asked.path)
        elif what == "manualScale":
            factors |= asked.by_hand
        elif what != "measurements":
            raise InputFileError(
                f"'{asked.path.name}' scales by '{what}', which is neither measurements nor manualScale."
            )
    notes += _unknown(factors, generic)
    mass = asked.mass_kg if mass_kg is None else mass_kg
    document = scaled(document, factors, mass, asked.keep_shares)
    moved: tuple[str, ...] = ()
    if asked.place:
        standing = given or asked.place_markers
        files["static"] = _named(standing, asked.path)
        moved = _place(document, asked, _standing(standing, asked.path, generic))
    made = model_of(document)
    content = model_bytes(document, version)
    return ScaledModel(made, content, _record(factors, made, moved), files, tuple(notes))


def scaled_by_markers(model: str | Path, static: str | Path, mass_kg: float | None = None) -> ScaledModel:
    """Return a generic model scaled by what the markers on each of its bodies tell of a static trial.

    Each body has one factor for all axes (`factors_by_body`); then its markers are placed where the static trial has them, in
    the pose that fits them best. mass_kg: None = the model keeps its own. Raises InputFileError, ModelError.
    """
    document, version = model_document(model)
    generic = model_of(document)
    standing = _standing(Path(static), Path(static), generic)
    by_body, overall, measured = factors_by_body(generic, standing)
    factors = {body: np.full(3, factor) for body, factor in by_body.items()}
    document = scaled(document, factors, mass_kg)
    moved = _move(document, standing.mean(), standing.labels, fit_to(document, standing))
    made = model_of(document)
    total = made.multibody.total_mass_kg
    own = ", the generic model's own" if mass_kg is None else ""
    message = (
        f"The model is scaled by the static trial: {len(measured)} of {len(by_body)} bodies by the distances between their own "
        f"markers, the others by {overall:.3f} as all of them together; {len(moved)} markers are placed where the trial has "
        f"them. Mass: {total:.1f} kg{own}."
    )
    hint = "An OpenSim scale set-up (--scale-setup) says more." + (" Give --mass." if mass_kg is None else "")
    note = Diagnostic(
        "model-scaled-by-markers", "warning" if mass_kg is None else "info", message, value=overall, hint=hint
    )
    content = model_bytes(document, version)
    return ScaledModel(made, content, _record(factors, made, moved), {"static": Path(static)}, (note,))


def fit_to(document: ET.Element, standing: StandingMarkers, setup: IkSetup | None = None) -> FloatArray:
    """Return q (n,) of the model that stands as the mean of a static trial."""
    model = model_of(document)
    mean = standing.mean()[None]
    tasks = tasks_of(setup, model, standing.time_s[:1])
    fit = fit_model(model, standing.labels, mean, standing.time_s[:1], tasks)
    if not np.isfinite(fit.q).all():
        raise ModelError("The static trial shows fewer than three markers of the model: it cannot stand in it.")
    return np.asarray(fit.q[0])


def _standing(path: Path | None, setup: Path, model: OpenSimModel) -> StandingMarkers:
    if path is None:
        raise InputFileError(
            f"'{setup.name}' names no marker file to measure the person in.", "Give it with --static STATIC.trc."
        )
    points = read_points(path, model)
    return StandingMarkers(points.labels, points.positions, points.time_s)


def _named(path: Path | None, setup: Path) -> Path:
    return setup if path is None else path


def _measure(
    asked: ScaleSetup, generic: OpenSimModel, standing: StandingMarkers, factors: dict[str, FloatArray]
) -> list[Diagnostic]:
    """Fill factors by the measurements; say which could not be taken."""
    places, part = marker_places(generic), standing.part(asked.scale_range_s)
    lacking = []
    for measurement in asked.measurements:
        factor = measured_factor(measurement.pairs, places, part)
        if not np.isfinite(factor):
            lacking.append(measurement.name)
            continue
        for body, axes in measurement.bodies:
            values = factors.get(body, np.ones(3)).copy()
            values[list(axes)] = factor
            factors[body] = values
    if len(lacking) == len(asked.measurements):
        raise InputFileError(
            f"None of the {len(lacking)} measurements of '{asked.path.name}' can be taken: model and static trial lack their "
            "markers.",
            f"The static trial has {', '.join(standing.labels[:8])} ...",
        )
    if not lacking:
        return []
    message = f"Measurements without their markers: {', '.join(lacking)}; their bodies keep their size."
    return [Diagnostic("scale-measurement", "warning", message, value=float(len(lacking)))]


def _unknown(factors: dict[str, FloatArray], model: OpenSimModel) -> list[Diagnostic]:
    """Take out factors of bodies that the model does not have, and name them."""
    own = set(model.multibody.body_names)
    unknown = [name for name in factors if name not in own]
    for name in unknown:
        del factors[name]
    if not unknown:
        return []
    message = f"The scale set-up names bodies that the model does not have: {', '.join(unknown)}."
    return [Diagnostic("scale-unknown-body", "info", message, value=float(len(unknown)))]


def _place(document: ET.Element, asked: ScaleSetup, standing: StandingMarkers) -> tuple[str, ...]:
    part = standing.part(asked.place_range_s)
    setup = IkSetup(asked.path, asked.weights, asked.tasks, asked.coordinate_file)
    return _move(document, part.mean(), part.labels, fit_to(document, part, setup))


def _move(document: ET.Element, mean: FloatArray, labels: tuple[str, ...], q: FloatArray) -> tuple[str, ...]:
    """Place every marker that is not fixed where the recording has it (M, 3) in the pose q; return those moved."""
    model = model_of(document)
    R, p = model.coupled.body_poses(q[None])
    fixed = {
        str(one.get("name"))
        for one in document.iter("Marker")
        if (one.findtext("fixed") or "").strip().lower() in ("true", "1")
    }
    places, moved = {}, []
    for marker in model.markers:
        if marker.name not in labels:
            continue
        place = mean[labels.index(marker.name)]
        places[marker.name] = np.array(marker.place_m)
        if marker.body is not None and marker.name not in fixed and np.isfinite(place).all():
            b = model.multibody.body_index(marker.body)
            places[marker.name] = R[0, b].T @ (place - p[0, b])
            moved.append(marker.name)
    move_markers(document, places)
    return tuple(moved)


def _record(factors: Mapping[str, FloatArray], model: OpenSimModel, moved: tuple[str, ...]) -> dict[str, Any]:
    return {
        "factors": {body: [float(one) for one in values] for body, values in factors.items()},
        "mass_kg": model.multibody.total_mass_kg,
        "markers_placed": list(moved),
    }
