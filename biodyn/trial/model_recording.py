"""A recording as an OpenSim model sees it: points with its markers' names in a ground with Y up; tasks of a set-up."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.errors import InputFileError
from biodyn.io import read
from biodyn.io.names import names
from biodyn.io.opensim.ik_setup import IkSetup
from biodyn.io.opensim.storage import read_storage
from biodyn.io.reading import NO_FORCES
from biodyn.processing.kinematics.model_markers import Tasks
from biodyn.processing.signals.coordinate_motion import coordinate_motion
from biodyn.processing.signals.orientation import find_world
from biodyn.recording import Recording
from biodyn.rigid_body import OpenSimModel

# A body that stands: its markers span more than this, and that much more than they do across.
_BODY_M: Final = 0.8
_LONGER: Final = 1.3
# Laboratory with Z up to OpenSim's ground with Y up, as its own tools turn files.
_Z_UP: Final = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])


@dataclass(frozen=True, eq=False)
class Points:
    """What a model can follow of a recording.

    Attributes:
        recording: turned so that Y is up. labels, positions (T, M, 3) m. time_s: (T,) as the file counts it.
        notes: of reading and turning. R_GL: (3, 3) turn from the laboratory to that ground.
    """

    recording: Recording
    labels: tuple[str, ...]
    positions: FloatArray
    time_s: FloatArray
    notes: tuple[Diagnostic, ...]
    R_GL: FloatArray


def read_points(path: str | Path, model: OpenSimModel, forces_beside: bool = False) -> Points:
    """Return the points of a .trc or .c3d in the ground of a model; InputFileError where it cannot be read.

    forces_beside: the forces that lie in a file beside it are read too; frames that they do not cover are left out, and of a
    laboratory with Z up X becomes the direction of travel. Else such a laboratory is only tilted.
    """
    recording, R_WL, notes = _upright(read(path, None if forces_beside else NO_FORCES), not forces_beside)
    time_s = recording.start_s + np.arange(recording.markers.frame_count) / recording.markers.rate_hz
    labels, positions = model_points(recording, model, R_WL)
    return Points(recording, labels, positions, time_s, (*_of_reading(recording, labels), *notes), R_WL)


def model_points(recording: Recording, model: OpenSimModel, R_WL: FloatArray) -> tuple[tuple[str, ...], FloatArray]:
    """Return labels and positions (T, M, 3) m of the recorded points that the model has as markers.

    Points that a program computed (joint centres, say) are followed too where the model has a marker of their name; the
    recording keeps them in the laboratory's frame, from which R_WL (3, 3) turns them.
    """
    markers, metres = recording.markers, names()["length_units"]
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


def _of_reading(recording: Recording, labels: tuple[str, ...]) -> list[Diagnostic]:
    """Return the notes of reading but the one on computed points, where the model follows them."""
    followed = len(labels) > len(recording.markers.labels)
    return [note for note in recording.diagnostics if not (followed and note.code == "computed-points")]


def _upright(recording: Recording, keep_heading: bool) -> tuple[Recording, FloatArray, list[Diagnostic]]:
    """Return the recording in a frame with Y up, as models have it, and its turn (3, 3): the unit matrix where Y is up.

    A file that does not tell its vertical axis (.trc) is taken as it is, unless a body stands upright along Z in it.
    """
    told = recording.vertical is not None or bool(recording.plates)
    if not told and not _stands_along_z(recording.markers.positions):
        return recording, np.eye(3), []
    world = find_world(recording)
    up = world.R_WL[1]
    if up[1] > 0.5:
        return recording, np.eye(3), []
    turn = _Z_UP if keep_heading and up[2] > 0.5 else world.R_WL
    axis = "+-"[int(up.sum() < 0)] + "XYZ"[int(np.argmax(np.abs(up)))]
    message = f"{axis} of the laboratory is up; markers and plates are turned to the model's ground, Y up" + (
        ", X staying X: the forces given must be in that frame." if turn is _Z_UP else ", X in the direction of travel."
    )
    return recording.rotated(turn), turn, [Diagnostic("model-ground", "info", message)]


def _stands_along_z(positions: FloatArray) -> bool:
    """Whether all markers (T, M, 3) m together are as tall as a body along Z, and by far longest there."""
    seen = positions[np.isfinite(positions[..., 0]).any(axis=1)]
    x, y, z = np.median(np.nanmax(seen, axis=1) - np.nanmin(seen, axis=1), axis=0)
    return bool(z > _BODY_M and z > _LONGER * max(x, y))
