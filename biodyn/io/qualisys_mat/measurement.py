"""The variable of a measurement, and the recording that is made of it.

One variable, named after the measurement, holds `FrameRate`, `StartFrame`, `Trajectories.Labeled` (`Labels`; `Data`: markers x
X, Y, Z, residual x frames, mm), `Events` (`Label`, `Frame`) and for each plate an element of `Force`: `Force` N, `Moment` N m,
`COP` mm (3 x samples each), `Frequency`, `ForcePlateLocation` (four corners, mm), `ForcePlateOrientation` (0: the plate's axes,
1: the laboratory's). Source: Qualisys Track Manager's manual, "MAT file format".

What else is written with this ending (results, MATLAB 7.3) is refused in a sentence.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Final

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.errors import InputFileError
from biodyn.io.events import StoredEvent
from biodyn.io.files import COPY_AGAIN, EXPORT_AGAIN, check_path, file_bytes, file_head
from biodyn.io.ground_forces.attach import with_ground_forces, with_unusable
from biodyn.io.ground_forces.read import GroundForces
from biodyn.io.matlab import MARK, MARK_73, MatlabError, Record, is_matlab, variables_of
from biodyn.io.opensim.storage import Storage
from biodyn.io.plate_exports.qualisys import plates_of_loads
from biodyn.io.qualisys_mat.fields import by, finite, number, possible_rate, records, texts
from biodyn.io.qualisys_mat.plates import MeasuredPlates, plates_of
from biodyn.io.tables import recording_of
from biodyn.io.tables.columns import ColumnRoles
from biodyn.io.text import clean_text
from biodyn.recording import Recording

SUFFIX: Final = ".mat"
_MOST_BYTES = 1_000_000_000
_AXES: Final = "xyz"
_OF_QTM = {"FrameRate", "Trajectories"}


@dataclass(frozen=True, eq=False)
class Measurement:
    """What one file holds.

    Attributes:
        labels, positions: (T, M, 3) mm, NaN where a marker is not seen. rate_hz, first_frame: of the frames. events: time 0 at
            the first frame, NaN where a frame is not told.
    """

    labels: tuple[str, ...]
    positions: FloatArray
    rate_hz: float
    first_frame: int
    events: tuple[StoredEvent, ...]
    plates: MeasuredPlates


def holds_measurement(path: Path) -> bool:
    """Whether a file of MATLAB is a measurement of Qualisys Track Manager; False also where it cannot be read."""
    try:
        return path.suffix.lower() == SUFFIX and is_matlab(file_head(path, len(MARK))) and bool(_stored(path))
    except InputFileError:
        return False


def read_qualisys_mat(path: Path) -> Recording:
    """Read one measurement; InputFileError in one sentence for what is none, or is damaged."""
    content = _content(path)
    found = _measurement(path, _stored(path, content))
    digest = sha256(content).hexdigest()
    names = {label: tuple(f"{label}_{axis}" for axis in _AXES) for label in found.labels}
    table = Storage(
        path,
        tuple(name for three in names.values() for name in three),
        np.arange(len(found.positions)) / found.rate_hz,
        found.positions.reshape(len(found.positions), -1),
        None,
    )
    roles = ColumnRoles({label: (three[0], three[1], three[2]) for label, three in names.items()})
    made = recording_of(table, roles, digest, length="mm", events=found.events)
    first_frame = found.first_frame - 1 + made.first_frame  # the table counts its rows from 1
    made = replace(made, first_frame=first_frame, diagnostics=(*made.diagnostics, *found.plates.notes))
    return _with_plates(made, found.plates) if found.plates.plates else made


def _with_plates(made: Recording, measured: MeasuredPlates) -> Recording:
    """The recording with its plates; it says so where these cannot be used."""
    path = made.path
    time_s = np.arange(len(measured.plates[0][0].force)) / measured.rate_hz
    try:
        exported = plates_of_loads([path] * len(measured.plates), measured.plates, measured.said, time_s)
        forces = GroundForces(path, exported.table, (), (), (), exported.plates, exported.notes)
        return with_ground_forces(made, forces)
    except InputFileError as error:
        return with_unusable(made, f"The force plates of '{path.name}'", error)


def _content(path: Path) -> bytes:
    check_path(path)
    if path.stat().st_size > _MOST_BYTES:
        raise InputFileError(
            f"'{path.name}' has more than {_MOST_BYTES / 1e9:.0f} GB.", "Export without analog channels."
        )
    return file_bytes(path)


def _stored(path: Path, content: bytes | None = None) -> Record:
    """The fields of the measurement."""
    content = _content(path) if content is None else content
    if content.startswith(MARK_73):
        raise InputFileError(
            f"'{path.name}' is a file of MATLAB 7.3, which is not read.",
            "Save it with -v7, or export the trial as C3D.",
        )
    try:
        variables = variables_of(content)
        structures = {name: variables.record(name) for name in variables}  # what else stands there may be of any size
    except MatlabError as error:
        raise InputFileError(f"'{path.name}' is no sound file of MATLAB: {error}.", COPY_AGAIN) from error
    found = {name: one for name, one in structures.items() if one is not None and one.keys() >= _OF_QTM}
    if len(found) == 1:
        return next(iter(found.values()))
    if found:
        raise InputFileError(
            f"'{path.name}' holds {len(found)} measurements: {_shown(found)}.", "Save each in a file of its own."
        )
    raise InputFileError(
        f"'{path.name}' is no measurement of Qualisys Track Manager: no variable with FrameRate and Trajectories; it holds "
        f"{_shown(variables) or 'nothing'}.",
        "Export the trial as C3D.",
    )


def _shown(names: Iterable[str]) -> str:
    return clean_text(", ".join(islice(names, 5))[:100])


def _measurement(path: Path, stored: Record) -> Measurement:
    try:
        rate_hz, first_frame = possible_rate(number(stored, "FrameRate")), int(number(stored, "StartFrame", 1.0))
        labelled = records(records(stored, "Trajectories", 1)[0], "Labeled", 1)[0]
        labels = _told_apart([text.strip() for text in texts(labelled, "Labels")])
        data = finite(labelled, "Data", len(labels), None)
        data = data[:, :, None] if data.ndim == 2 else data  # of one frame
        if data.ndim != 3 or data.shape[1] < len(_AXES):
            raise MatlabError(f"Data is {by(data)}")
        events = tuple(_event(event, first_frame, rate_hz) for event in records(stored, "Events"))
        plates = plates_of(path, stored, rate_hz)
    except MatlabError as error:
        raise InputFileError(
            f"'{path.name}' is no whole measurement of Qualisys Track Manager: {error}.", EXPORT_AGAIN
        ) from error
    positions = np.ascontiguousarray(np.moveaxis(data[:, : len(_AXES)], 2, 0))
    return Measurement(labels, positions, rate_hz, first_frame, events, plates)


def _event(event: Record, first_frame: int, rate_hz: float) -> StoredEvent:
    """An event, without a label or a time where these are not told: nobody can use it, and it is named."""
    label, frame = event.get("Label"), event.get("Frame")
    number = float(frame.flat[0]) if isinstance(frame, np.ndarray) and frame.size == 1 else np.nan
    return StoredEvent(label if isinstance(label, str) else "", "", (number - first_frame) / rate_hz)


def _told_apart(labels: Sequence[str]) -> tuple[str, ...]:
    """Labels, each once: a second trajectory of LASI is LASI_2."""
    told: list[str] = []
    for label in labels:
        numbered = (label, *(f"{label}_{k}" for k in range(2, len(labels) + 2)))
        told.append(next(one for one in numbered if one not in told and (one == label or one not in labels)))
    return tuple(told)
