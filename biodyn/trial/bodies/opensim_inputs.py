"""Read the inputs of an OpenSim model: markers in its ground frame with Y up, tasks of its fit, and the scaled model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree as ET

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.errors import InputFileError, ModelError
from biodyn.io import read
from biodyn.io.name_tables import load_name_table
from biodyn.io.opensim.storage import read_storage
from biodyn.io.opensim.tool_setups import IkSetup, ScaleSetup, read_scale_setup
from biodyn.io.recording_reader import NO_FORCES
from biodyn.processing.calibration.model_scaling import (
    StandingMarkers,
    default_marker_positions,
    measured_scale_factor,
    scale_factors_by_body,
)
from biodyn.processing.kinematics.opensim_inverse_kinematics import TrackingTasks, fit_to_markers
from biodyn.processing.signals.derivatives import spline_derivatives
from biodyn.processing.signals.world_frame import find_world
from biodyn.recording import PlateCalibration, Recording
from biodyn.rigid_body import OpenSimModel
from biodyn.rigid_body.osim.document import model_bytes
from biodyn.rigid_body.osim.model import build_model, read_model_document
from biodyn.rigid_body.osim.scaling import add_marker_elements, move_markers, scale_model
from biodyn.trial.trial_files import with_calibrated_plates

# A standing body: smallest extent of its markers, m, and smallest ratio to the horizontal extent.
_BODY_M: Final = 0.8
_LONGER: Final = 1.3
# Rotation from a laboratory with Z up to OpenSim's ground with Y up, as in OpenSim's tools.
_Z_UP: Final = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])


@dataclass(frozen=True, eq=False)
class ModelPoints:
    """The points of a recording to which a model is fitted.

    Attributes:
        recording: recording rotated so that Y is up. labels, positions: labels and positions (T, M, 3) m of the points.
        time_s: (T,) s on the clock of the file. notes: notes of reading and rotation.
        R_GL: (3, 3) rotation from laboratory to ground axes.
    """

    recording: Recording
    labels: tuple[str, ...]
    positions: FloatArray
    time_s: FloatArray
    notes: tuple[Diagnostic, ...]
    R_GL: FloatArray


def read_points(
    path: str | Path, model: OpenSimModel, forces_beside: bool = False, plates: PlateCalibration | None = None
) -> ModelPoints:
    """Read the points of a .trc or .c3d file in the ground frame of a model; InputFileError if it cannot be read.

    forces_beside: whether forces in a file next to it are also read. Frames that they do not cover are then omitted, and a
    laboratory with Z up is rotated so that X is the direction of travel; otherwise X is kept. plates: calibration of the
    plates.
    """
    recorded = read(path, None if forces_beside else NO_FORCES)
    recorded = recorded if plates is None else with_calibrated_plates(recorded, plates)
    recording, R_WL, notes = _with_y_up(recorded, not forces_beside)
    time_s = recording.start_s + np.arange(recording.markers.frame_count) / recording.markers.rate_hz
    labels, positions = model_points(recording, model, R_WL)
    return ModelPoints(recording, labels, positions, time_s, (*_reading_notes(recording, labels), *notes), R_WL)


def model_points(recording: Recording, model: OpenSimModel, R_WL: FloatArray) -> tuple[tuple[str, ...], FloatArray]:
    """Return labels and positions (T, M, 3) m of the recorded points that the model has as markers.

    Computed points (such as joint centres) are included if the model has a marker with their name; R_WL (3, 3) rotates them
    from laboratory axes, in which the recording stores them.
    """
    markers, metres = recording.markers, load_name_table()["length_units"]
    wanted = {marker.name for marker in model.markers} - set(markers.labels)
    computed = [
        (label, output.values @ R_WL.T * metres[output.unit.lower()])
        for label, output in recording.model_outputs.items()
        if label in wanted and output.unit.lower() in metres and output.kind == "virtual_point"
    ]
    if not computed:
        return markers.labels, markers.positions
    more = np.stack([values for _, values in computed], axis=1)
    return (*markers.labels, *(label for label, _ in computed)), np.concatenate([markers.positions, more], axis=1)


def tasks_of_setup(setup: IkSetup | None, model: OpenSimModel, time_s: FloatArray) -> TrackingTasks:
    """Return the tasks of a set-up, with values of its coordinate file at the times (T,) s of the recording."""
    if setup is None:
        return TrackingTasks()
    table = None if setup.coordinate_file is None else read_storage(setup.coordinate_file)
    own = {coordinate.name: coordinate for coordinate in model.coordinates}
    coordinates: dict[str, tuple[float, float | FloatArray | None]] = {}
    for task in setup.coordinates:
        target: float | FloatArray | None = task.value
        if task.from_file:
            if table is None:
                raise InputFileError(
                    f"'{setup.path.name}' reads '{task.name}' from a coordinate file, but <coordinate_file> is missing."
                )
            turns = task.name in own and own[task.name].rotational and table.in_degrees is not False
            values = table.column(task.name)[:, None]
            target = spline_derivatives(table.time_s, np.radians(values) if turns else values, 0.0, time_s)[0][:, 0]
        coordinates[task.name] = (task.weight, target)
    return TrackingTasks(setup.markers or None, coordinates)


def _reading_notes(recording: Recording, labels: tuple[str, ...]) -> list[Diagnostic]:
    """Return the findings of reading; the one on computed points is omitted if the model uses these points."""
    followed = len(labels) > len(recording.markers.labels)
    return [note for note in recording.diagnostics if not (followed and note.code == "computed-points")]


def _with_y_up(recording: Recording, keep_heading: bool) -> tuple[Recording, FloatArray, list[Diagnostic]]:
    """Return the recording rotated to Y up as in OpenSim models, the rotation (3, 3), and notes.

    A file without a stated vertical axis (.trc) is not rotated, unless it shows a body that is upright along Z.
    """
    has_vertical = recording.vertical is not None or bool(recording.plates)
    if not has_vertical and not _is_upright_along_z(recording.markers.positions):
        return recording, np.eye(3), []
    world = find_world(recording)
    up = world.R_WL[1]
    if up[1] > 0.5:
        return recording, np.eye(3), []
    turn = _Z_UP if keep_heading and up[2] > 0.5 else world.R_WL
    axis = "+-"[int(up.sum() < 0)] + "XYZ"[int(np.argmax(np.abs(up)))]
    message = (
        f"{axis} of the laboratory is up; markers and plates are rotated to the ground frame of the model with Y up"
        + (
            " and unchanged X; given forces must be in this frame."
            if turn is _Z_UP
            else " and X in the direction of travel."
        )
    )
    return recording.rotated(turn), turn, [Diagnostic("model-ground", "info", message)]


def _is_upright_along_z(positions: FloatArray) -> bool:
    """Return whether markers (T, M, 3) m are as tall as a body along Z, and much longer than along X and Y."""
    seen = positions[np.isfinite(positions[..., 0]).any(axis=1)]
    x, y, z = np.median(np.nanmax(seen, axis=1) - np.nanmin(seen, axis=1), axis=0)
    return bool(z > _BODY_M and z > _LONGER * max(x, y))


@dataclass(frozen=True, eq=False)
class ScaledModel:
    """A model scaled to one person.

    Attributes:
        model: scaled model. content: its .osim file, in which muscles, shapes and contacts are not scaled.
        record: factors by body, mass and moved markers. files: files read in addition to the model. notes: notes for the user.
    """

    model: OpenSimModel
    content: bytes
    record: Mapping[str, Any]
    files: Mapping[str, Path]
    notes: tuple[Diagnostic, ...]


def scale_by_setup(
    model: str | Path, setup: str | Path, static: str | Path | None = None, mass_kg: float | None = None
) -> ScaledModel:
    """Scale a generic model and move its markers according to an OpenSim ScaleTool set-up.

    static: static trial, replaces the recordings of the set-up. mass_kg: body mass, replaces that of the set-up.
    Raises InputFileError or ModelError if files cannot be read, or without a static trial or a usable measurement.
    """
    scale_setup = read_scale_setup(setup)
    generic_document, version = read_model_document(model)
    document = add_marker_elements(generic_document, scale_setup.markers)
    generic = build_model(document)
    given = None if static is None else Path(static)
    files = {"scale_setup": scale_setup.path}
    factors: dict[str, FloatArray] = {}
    notes: list[Diagnostic] = []
    measuring = given or scale_setup.scale_markers
    for what in scale_setup.order:
        if what == "measurements" and scale_setup.measurements:
            notes += _fill_scale_factors(
                scale_setup, generic, _read_standing_markers(measuring, scale_setup.path, generic), factors
            )
            files["static"] = measuring or scale_setup.path
        elif what == "manualScale":
            factors |= scale_setup.manual_factors
        elif what != "measurements":
            raise InputFileError(
                f"'{scale_setup.path.name}' requests scaling by '{what}'; only measurements and manualScale are supported."
            )
    notes += _drop_unknown_bodies(factors, generic)
    mass = scale_setup.mass_kg if mass_kg is None else mass_kg
    document = scale_model(document, factors, mass, scale_setup.keep_shares)
    moved_markers: tuple[str, ...] = ()
    if scale_setup.place:
        standing = given or scale_setup.place_markers
        files["static"] = standing or scale_setup.path
        moved_markers = _place_markers(
            document, scale_setup, _read_standing_markers(standing, scale_setup.path, generic)
        )
    made = build_model(document)
    content = model_bytes(document, version)
    return ScaledModel(made, content, _scaling_record(factors, made, moved_markers), files, tuple(notes))


def scale_by_markers(model: str | Path, static: str | Path, mass_kg: float | None = None) -> ScaledModel:
    """Scale a generic model by the distances between markers in a static trial.

    Each body has one factor for all axes (`scale_factors_by_body`). Then the markers are moved to their positions in the static
    trial, in the best-fitting pose. mass_kg: None = mass of the model. Raises InputFileError or ModelError.
    """
    document, version = read_model_document(model)
    generic = build_model(document)
    standing = _read_standing_markers(Path(static), Path(static), generic)
    by_body, overall, measured = scale_factors_by_body(generic, standing)
    factors = {body: np.full(3, factor) for body, factor in by_body.items()}
    document = scale_model(document, factors, mass_kg)
    moved_markers = _move_markers(document, standing.mean(), standing.labels, fit_standing_pose(document, standing))
    made = build_model(document)
    total = made.multibody.total_mass_kg
    mass_words = ", that of the generic model" if mass_kg is None else ""
    message = (
        f"The model is scaled by the static trial: {len(measured)} of {len(by_body)} bodies by distances between their "
        f"markers, the others by the common factor {overall:.3f}. {len(moved_markers)} markers are moved to their positions "
        f"in the trial. Mass: {total:.1f} kg{mass_words}."
    )
    hint = "For scaling by axis, give an OpenSim scale set-up (--scale-setup)." + (
        " Give the body mass with --mass." if mass_kg is None else ""
    )
    note = Diagnostic("model-scaling", "warning" if mass_kg is None else "info", message, value=overall, hint=hint)
    content = model_bytes(document, version)
    return ScaledModel(made, content, _scaling_record(factors, made, moved_markers), {"static": Path(static)}, (note,))


def fit_standing_pose(document: ET.Element, standing: StandingMarkers, setup: IkSetup | None = None) -> FloatArray:
    """Return q (n,) of the model in the mean posture of a static trial."""
    model = build_model(document)
    mean = standing.mean()[None]
    tasks = tasks_of_setup(setup, model, standing.time_s[:1])
    fit = fit_to_markers(model, standing.labels, mean, standing.time_s[:1], tasks)
    if not np.isfinite(fit.q).all():
        raise ModelError(
            "The static trial has fewer than three markers of the model, so the standing pose cannot be determined."
        )
    return np.asarray(fit.q[0])


def _read_standing_markers(path: Path | None, setup: Path, model: OpenSimModel) -> StandingMarkers:
    if path is None:
        raise InputFileError(
            f"'{setup.name}' states no marker file for the measurements.", "Give it with --static STATIC.trc."
        )
    points = read_points(path, model)
    return StandingMarkers(points.labels, points.positions, points.time_s)


def _fill_scale_factors(
    scale_setup: ScaleSetup, generic: OpenSimModel, standing: StandingMarkers, factors: dict[str, FloatArray]
) -> list[Diagnostic]:
    """Compute the scale factors of the measurements and add them to `factors`; return notes on measurements without markers."""
    places, part = default_marker_positions(generic), standing.select_time_range(scale_setup.scale_range_s)
    lacking = []
    for name, pairs, bodies in scale_setup.measurements:
        factor = measured_scale_factor(pairs, places, part)
        if not np.isfinite(factor):
            lacking.append(name)
            continue
        for body, axes in bodies:
            values = factors.get(body, np.ones(3)).copy()
            values[list(axes)] = factor
            factors[body] = values
    if len(lacking) == len(scale_setup.measurements):
        raise InputFileError(
            f"None of the {len(lacking)} measurements of '{scale_setup.path.name}' can be used, because their markers are "
            f"missing in the model or the static trial.",
            f"The static trial has {', '.join(standing.labels[:8])} ...",
        )
    if not lacking:
        return []
    message = f"Markers are missing for the measurements {', '.join(lacking)}; these bodies are not scaled."
    return [Diagnostic("model-scaling", "warning", message, value=float(len(lacking)))]


def _drop_unknown_bodies(factors: dict[str, FloatArray], model: OpenSimModel) -> list[Diagnostic]:
    """Remove factors of bodies that the model lacks, and return a note."""
    body_names = set(model.multibody.body_names)
    unknown = [name for name in factors if name not in body_names]
    for name in unknown:
        del factors[name]
    if not unknown:
        return []
    message = f"The scale set-up refers to bodies that the model does not have: {', '.join(unknown)}."
    return [Diagnostic("model-scaling", "info", message, value=float(len(unknown)))]


def _place_markers(document: ET.Element, scale_setup: ScaleSetup, standing: StandingMarkers) -> tuple[str, ...]:
    part = standing.select_time_range(scale_setup.place_range_s)
    setup = IkSetup(scale_setup.path, scale_setup.weights, scale_setup.tasks, scale_setup.coordinate_file)
    return _move_markers(document, part.mean(), part.labels, fit_standing_pose(document, part, setup))


def _move_markers(document: ET.Element, mean: FloatArray, labels: tuple[str, ...], q: FloatArray) -> tuple[str, ...]:
    """Move every marker that is not fixed to its mean recorded position (M, 3) m in the pose q; return their labels."""
    model = build_model(document)
    R, p = model.coupled.body_poses(q[None])
    fixed = {
        str(element.get("name"))
        for element in document.iter("Marker")
        if (element.findtext("fixed") or "").strip().lower() in ("true", "1")
    }
    places, moved_markers = {}, []
    for marker in model.markers:
        if marker.name not in labels:
            continue
        place = mean[labels.index(marker.name)]
        places[marker.name] = np.array(marker.place_m)
        if marker.body is not None and marker.name not in fixed and np.isfinite(place).all():
            b = model.multibody.body_index(marker.body)
            places[marker.name] = R[0, b].T @ (place - p[0, b])
            moved_markers.append(marker.name)
    move_markers(document, places)
    return tuple(moved_markers)


def _scaling_record(
    factors: Mapping[str, FloatArray], model: OpenSimModel, moved_markers: tuple[str, ...]
) -> dict[str, Any]:
    return {
        "factors": {body: [float(value) for value in values] for body, values in factors.items()},
        "mass_kg": model.multibody.total_mass_kg,
        "markers_placed": list(moved_markers),
    }
