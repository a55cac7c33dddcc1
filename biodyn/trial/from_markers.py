"""Joint torques of an OpenSim model from a recording of markers: its inverse kinematics, then its inverse dynamics.

The coordinates are those at which OpenSim's objective is least (`processing.kinematics.model_markers`); they are smoothed and
differentiated as OpenSim's tool does it (`processing.signals.coordinate_motion`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.errors import InputFileError
from biodyn.io import read
from biodyn.io.opensim.external_loads import read_external_loads
from biodyn.io.opensim.first_time import first_time_s
from biodyn.io.opensim.ik_setup import IkSetup, read_ik_setup
from biodyn.io.opensim.storage import read_storage
from biodyn.processing.kinematics.model_markers import ModelFit, Tasks, fit_model
from biodyn.processing.signals.automatic_cutoff import automatic_cutoff
from biodyn.processing.signals.coordinate_motion import LEAST_ROWS, coordinate_motion
from biodyn.processing.signals.orientation import find_world
from biodyn.recording import Recording
from biodyn.rigid_body import OpenSimModel, from_osim
from biodyn.trial.from_coordinates import too_short
from biodyn.trial.model_result import CoordinateResult
from biodyn.trial.model_torques import Loads, no_loads, table_loads, torques

_METRES: Final = {"m": 1.0, "cm": 0.01, "mm": 0.001, "meters": 1.0, "millimeters": 0.001}
# No camera sees a marker as exactly as this.
_OWN_MARKERS_M: Final = 1e-6
# A body that stands: its markers span more than this, and that much more than they do across.
_BODY_M: Final = 0.8
_LONGER: Final = 1.3
# Laboratory with Z up to OpenSim's ground with Y up, as its own tools turn files.
_Z_UP = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])


def run_markers(
    walk: str | Path,
    model: str | Path,
    forces: str | Path | None = None,
    ik_setup: str | Path | None = None,
    cutoff_hz: float | None = None,
    progress: Callable[[str], None] = lambda step: None,
) -> CoordinateResult:
    """Return the joint torques of an OpenSim model that follows the markers of a recording.

    Parameters:
        walk: .trc or .c3d. model: .osim whose markers have the recording's names.
        forces: ExternalLoads XML, or a table of forces whose columns name the foot; None = no load.
        ik_setup: InverseKinematicsTool or IKTaskSet XML with weights; None = every marker counts 1.
        cutoff_hz: low-pass of the coordinates, as for `run_coordinates`; None = as noise and speed of the markers ask for it
            (`processing.signals.automatic_cutoff`), none at all where the markers are the model's own.

    Raises InputFileError, ModelError: a file that cannot be read, fewer than three common markers, too few frames.
    """
    progress("reading")
    body, recording = from_osim(model), read(walk)
    setup = None if ik_setup is None else read_ik_setup(ik_setup)
    files = {"motion": Path(walk), "model": Path(model)}
    if setup is not None:
        files["ik_setup"] = setup.path
    recording, notes = _upright(recording, keep_heading=forces is not None)
    start_s = first_time_s(walk) if Path(walk).suffix.lower() == ".trc" else 0.0
    time_s = start_s + np.arange(recording.markers.frame_count) / recording.markers.rate_hz
    labels, positions = model_points(recording, body)
    kept = _part_named(setup, recording.path, time_s)
    time_s, positions = time_s[kept], positions[kept]
    progress("inverse kinematics")
    fit = fit_model(body, labels, positions, time_s, tasks_of(setup, body, time_s))
    loads, acting = [], no_loads(len(time_s))
    if forces is not None:
        measured = read_external_loads(forces)
        files["forces"] = measured.table.path
        loads, acting = [(load.name, load.body) for load in measured.loads], table_loads(body, measured, time_s)
    progress("inverse dynamics")
    chosen = [] if cutoff_hz is not None else [_chosen_cutoff(fit, positions, recording.markers.rate_hz)]
    hz = cutoff_hz if cutoff_hz is not None else float(chosen[0].value or 0.0)
    result = solved(body, fit, time_s, acting, hz)
    return replace(
        result,
        files=files,
        loads=loads,
        notes=(
            *_of_reading(recording, labels),
            *notes,
            *chosen,
            *(() if setup is None else setup.notes),
            *result.notes,
        ),
    )


def _chosen_cutoff(fit: ModelFit, positions: FloatArray, rate_hz: float) -> Diagnostic:
    """Return the cut-off that the markers ask for, as a note with its value."""
    if fit.rms_m < _OWN_MARKERS_M:
        message = "The markers were computed with this model: they lie on it, and its coordinates need no filter."
        return Diagnostic("model-cutoff", "info", message, value=0.0, unit="Hz")
    found = automatic_cutoff(positions, rate_hz)
    message = (
        f"Coordinates are low-passed at {found.cutoff_hz:g} Hz, chosen by the markers' noise and the speed of the steps "
        "(signals.cutoff_hz gives another one)."
    )
    return Diagnostic("model-cutoff", "info", message, value=found.cutoff_hz, unit="Hz")


def _of_reading(recording: Recording, labels: Sequence[str]) -> list[Diagnostic]:
    """Return the notes of reading but the one on computed points, where the model follows them."""
    followed = len(labels) > len(recording.markers.labels)
    return [note for note in recording.diagnostics if not (followed and note.code == "computed-points")]


def solved(model: OpenSimModel, fit: ModelFit, time_s: FloatArray, loads: Loads, cutoff_hz: float) -> CoordinateResult:
    """Return the torques of a fitted motion (T, n) under loads; frames without coordinates have none."""
    q, v, vdot = (np.full_like(fit.q, np.nan) for _ in range(3))
    stretches = _stretches(np.asarray(np.isfinite(fit.q).all(axis=1)))
    if not stretches:
        raise InputFileError(
            f"No {LEAST_ROWS} frames in a row show enough markers of the model; accelerations need as many."
        )
    for at in stretches:
        q[at], v[at], vdot[at] = coordinate_motion(time_s[at], fit.q[at], cutoff_hz)
    tau, proof = torques(model, q, v, vdot, loads)
    tau[~loads.covered] = np.nan
    return CoordinateResult(
        model=model,
        files={},
        loads=(),
        time_s=time_s,
        q=q,
        v=v,
        vdot=vdot,
        tau=tau,
        cutoff_hz=cutoff_hz,
        notes=(*fit.notes, *too_short(loads.covered), *model.notes),
        proof=proof,
        fit=fit,
    )


def model_points(recording: Recording, model: OpenSimModel) -> tuple[tuple[str, ...], FloatArray]:
    """Return labels and positions (T, M, 3) m of the recorded points that the model has as markers.

    Points that a program computed (joint centres, say) are followed too where the model has a marker of their name.
    """
    markers = recording.markers
    names = {marker.name for marker in model.markers}
    computed = [
        (label, output.values * _METRES[output.unit.lower()])
        for label, output in recording.model_outputs.items()
        if label in names - set(markers.labels) and output.unit.lower() in _METRES and output.kind == "virtual_point"
    ]
    if not computed:
        return markers.labels, markers.positions
    more = np.stack([values for _, values in computed], axis=1)
    return (*markers.labels, *(label for label, _ in computed)), np.concatenate([markers.positions, more], axis=1)


def tasks_of(setup: IkSetup | None, model: OpenSimModel, time_s: FloatArray) -> Tasks:
    """Return what a set-up lets the fit follow; values from its file of coordinates at the times (T,) of the recording."""
    if setup is None:
        return Tasks()
    table = None if setup.coordinate_file is None else read_storage(setup.coordinate_file)
    own = {one.name: one for one in model.coordinates}
    coordinates: dict[str, tuple[float, float | FloatArray | None]] = {}
    for task in setup.coordinates:
        target: float | FloatArray | None = task.value
        if task.from_file:
            if table is None:
                raise InputFileError(
                    f"'{setup.path.name}' takes '{task.name}' from a file, but names no <coordinate_file>."
                )
            turns = task.name in own and own[task.name].rotational and table.in_degrees is not False
            values = table.column(task.name)[:, None]
            target = coordinate_motion(table.time_s, np.radians(values) if turns else values, 0.0, time_s)[0][:, 0]
        coordinates[task.name] = (task.weight, target)
    return Tasks(setup.markers or None, coordinates)


def _upright(recording: Recording, keep_heading: bool) -> tuple[Recording, list[Diagnostic]]:
    """Return the recording in a frame with Y up, as models have it: turned only where it is not.

    A file that does not tell its vertical axis (.trc) is taken as it is, unless a body stands upright along Z in it.
    """
    told = recording.vertical is not None or bool(recording.plates)
    if not told and not _stands_along_z(recording.markers.positions):
        return recording, []
    world = find_world(recording)
    up = world.R_WL[1]
    if up[1] > 0.5:
        return recording, []
    turn = _Z_UP if keep_heading and up[2] > 0.5 else world.R_WL
    axis = "+-"[int(up.sum() < 0)] + "XYZ"[int(np.argmax(np.abs(up)))]
    message = f"{axis} of the laboratory is up; markers and plates are turned to the model's ground, Y up" + (
        ", X staying X: the forces given must be in that frame." if turn is _Z_UP else ", X in the direction of travel."
    )
    return recording.rotated(turn), [Diagnostic("model-ground", "info", message)]


def _stands_along_z(positions: FloatArray) -> bool:
    """Whether all markers (T, M, 3) m together are as tall as a body along Z, and by far longest there."""
    seen = positions[np.isfinite(positions[..., 0]).any(axis=1)]
    x, y, z = np.median(np.nanmax(seen, axis=1) - np.nanmin(seen, axis=1), axis=0)
    return bool(z > _BODY_M and z > _LONGER * max(x, y))


def _part_named(setup: IkSetup | None, walk: Path, time_s: FloatArray) -> slice:
    """Return the frames the set-up asks for, where it was written for this very recording."""
    if setup is None or setup.time_range_s is None or Path(setup.marker_file.strip()).name != walk.name:
        return slice(None)
    first, last = (int(np.argmin(np.abs(time_s - t))) for t in setup.time_range_s)
    return slice(first, last + 1)


def _stretches(known: np.ndarray) -> list[slice]:
    """Return the unbroken stretches of True that are long enough to differentiate."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], known, [False]]).astype(int)))
    pairs = zip(edges[::2], edges[1::2], strict=True)
    return [slice(int(a), int(b)) for a, b in pairs if b - a >= LEAST_ROWS]
