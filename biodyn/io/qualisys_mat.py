"""MATLAB files of Qualisys Track Manager: trajectories, events and force plates of one measurement.

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
from typing import Final, TypeAlias

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.errors import InputFileError
from biodyn.io.events import StoredEvent
from biodyn.io.files import COPY_AGAIN, EXPORT_AGAIN, check_path, file_bytes, file_head
from biodyn.io.format import LARGEST_NUMBER, RATES_HZ
from biodyn.io.ground_forces.attach import with_ground_forces
from biodyn.io.ground_forces.read import GroundForces
from biodyn.io.matlab import MARK, MARK_73, MatlabError, Value, is_matlab, variables_of
from biodyn.io.opensim.storage import Storage
from biodyn.io.plate_exports.loads import PlateLoads, placed
from biodyn.io.plate_exports.qualisys import plates_of_loads
from biodyn.io.tables import recording_of
from biodyn.io.tables.plate_columns import METRES
from biodyn.io.tables.roles import ColumnRoles
from biodyn.io.text import clean_text
from biodyn.recording import Recording

SUFFIX: Final = ".mat"
_MOST_BYTES = 1_000_000_000
_AXES: Final = "xyz"
_SAID = {0: "local", 1: "world"}
_OF_QTM = {"FrameRate", "Trajectories"}

Record: TypeAlias = dict[str, Value]


@dataclass(frozen=True, eq=False)
class Measurement:
    """What one file holds.

    Attributes:
        labels, positions: (T, M, 3) mm, NaN where a marker is not seen. rate_hz, first_frame: of the frames. events: time 0 at
            the first frame. plates: of each its loads and corners (4, 3) m; said: whose axes, "" where it is not said;
            force_hz: their samples per second.
    """

    labels: tuple[str, ...]
    positions: FloatArray
    rate_hz: float
    first_frame: int
    events: tuple[StoredEvent, ...]
    plates: tuple[tuple[PlateLoads, FloatArray], ...]
    said: str
    force_hz: float


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
    made = replace(made, first_frame=found.first_frame - 1 + made.first_frame)  # the table counts its rows from 1
    if not found.plates:
        return made
    samples = len(found.plates[0][0].force)
    exported = plates_of_loads(
        [path] * len(found.plates), found.plates, found.said, np.arange(samples) / found.force_hz
    )
    forces = GroundForces(path, exported.table, (), (), (), exported.plates, exported.notes)
    return with_ground_forces(made, forces)


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
    except MatlabError as error:
        raise InputFileError(f"'{path.name}' is no sound file of MATLAB: {error}.", COPY_AGAIN) from error
    found = {
        name: one[0]
        for name, one in variables.items()
        if isinstance(one, tuple) and len(one) == 1 and one[0].keys() >= _OF_QTM
    }
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
        rate_hz, first_frame = _rate(_number(stored, "FrameRate")), int(_number(stored, "StartFrame", 1.0))
        labelled = _records(_records(stored, "Trajectories", 1)[0], "Labeled", 1)[0]
        labels = _told_apart([text.strip() for text in _texts(labelled, "Labels")])
        data = _numbers(labelled, "Data", len(labels), None)
        data = data[:, :, None] if data.ndim == 2 else data  # of one frame
        if data.ndim != 3 or data.shape[1] < len(_AXES):
            raise MatlabError(f"Data is {_by(data)}")
        plates, said, force_hz = _plates(stored, rate_hz)
        events = tuple(
            StoredEvent(_text(event, "Label"), "", (_number(event, "Frame") - first_frame) / rate_hz)
            for event in _records(stored, "Events")
        )
    except MatlabError as error:
        raise InputFileError(
            f"'{path.name}' is no whole measurement of Qualisys Track Manager: {error}.", EXPORT_AGAIN
        ) from error
    positions = np.ascontiguousarray(np.moveaxis(data[:, : len(_AXES)], 2, 0))
    return Measurement(labels, positions, rate_hz, first_frame, events, plates, said, force_hz)


def _plates(stored: Record, rate_hz: float) -> tuple[tuple[tuple[PlateLoads, FloatArray], ...], str, float]:
    """Loads and corners of the plates that measured, words for their axes, and their samples per second."""
    plates: list[tuple[PlateLoads, FloatArray]] = []
    said, rates = set(), set()
    for number, plate in enumerate(_records(stored, "Force"), start=1):
        if not _numbers(plate, "Force", None, None).size:
            continue
        force, moment, pressure = (_numbers(plate, what, 3, None).T for what in ("Force", "Moment", "COP"))
        if not len(force) == len(moment) == len(pressure):
            raise MatlabError(f"force, moment and COP of plate {number} differ in their samples")
        corners = METRES["mm"] * _numbers(plate, "ForcePlateLocation", 4, 3)
        if not np.isfinite(corners).all():
            raise MatlabError(f"corners of plate {number} are no numbers")
        plates.append((PlateLoads(f"plate {number}", force, moment, placed(force, METRES["mm"] * pressure)), corners))
        said.add(_SAID.get(int(_number(plate, "ForcePlateOrientation", -1.0)), ""))
        rates.add(_rate(_number(plate, "Frequency", rate_hz * _number(plate, "SamplingFactor", 1.0))))
    if len(rates) > 1 or len({len(loads.force) for loads, _ in plates}) > 1:
        raise MatlabError("its force plates were sampled at different rates")
    return tuple(plates), said.pop() if len(said) == 1 else "", rates.pop() if rates else rate_hz


def _told_apart(labels: Sequence[str]) -> tuple[str, ...]:
    """Labels, each once: a second trajectory of LASI is LASI_2."""
    told: list[str] = []
    for label in labels:
        numbered = (label, *(f"{label}_{k}" for k in range(2, len(labels) + 2)))
        told.append(next(one for one in numbered if one not in told and (one == label or one not in labels)))
    return tuple(told)


# -- fields, as they must be; MatlabError where they are not ------------------------------------------------------------


def _records(record: Record, field: str, count: int | None = None) -> tuple[Record, ...]:
    """The elements of a structure; none where the field is not there or empty, unless `count` are needed."""
    value = record.get(field)
    found = value if isinstance(value, tuple) else ()
    if count is not None and len(found) != count:
        raise MatlabError(f"it has no {field}")
    return found


def _numbers(record: Record, field: str, *sizes: int | None) -> FloatArray:
    """Numbers whose first dimensions have these sizes (None: any), none of them larger than anything in a laboratory."""
    value = record.get(field)
    if not isinstance(value, np.ndarray):
        raise MatlabError(f"it has no numbers {field}")
    if value.ndim < len(sizes) or any(n is not None and n != m for n, m in zip(sizes, value.shape, strict=False)):
        raise MatlabError(f"{field} is {_by(value)}")
    if np.isinf(value).any() or np.nanmax(np.abs(value), initial=0.0) > LARGEST_NUMBER:
        raise MatlabError(f"{field} holds numbers beyond any laboratory")
    return value


def _by(value: FloatArray) -> str:
    return " x ".join(map(str, value.shape))


def _number(record: Record, field: str, default: float | None = None) -> float:
    if default is not None and field not in record:
        return default
    value = _numbers(record, field)
    if value.size != 1 or not np.isfinite(value).all():
        raise MatlabError(f"{field} is no number")
    return float(value.flat[0])


def _rate(per_s: float) -> float:
    if not RATES_HZ[0] <= per_s <= RATES_HZ[1]:
        raise MatlabError(f"{per_s:.3g} frames or samples per second are impossible")
    return per_s


def _text(record: Record, field: str) -> str:
    value = record.get(field)
    if not isinstance(value, str):
        raise MatlabError(f"{field} is no text")
    return value


def _texts(record: Record, field: str) -> list[str]:
    value = record.get(field)
    cells = value if isinstance(value, list) else [value]
    texts = [cell for cell in cells if isinstance(cell, str) and cell.strip()]
    if not texts or len(texts) != len(cells):
        raise MatlabError(f"{field} are no texts")
    return texts
