"""Read MATLAB files of Qualisys Track Manager: markers, events and force plates in one variable.

The variable is named after the measurement and holds `FrameRate`, `StartFrame`, `Trajectories.Labeled` (`Labels`; `Data`:
markers x X, Y, Z, residual x frames, mm), `Events` (`Label`, `Frame`) and for each plate an element of `Force`: `Force` N,
`Moment` N m, `COP` mm (3 x samples each), `Frequency`, `ForcePlateLocation` (four corners, mm), `ForcePlateOrientation` (0: plate
axes, 1: laboratory axes). Source: Qualisys Track Manager's manual, "MAT file format". Other files with this suffix
(results, MATLAB 7.3) are rejected; a plate that cannot be used is omitted with a warning.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Final

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.errors import InputFileError
from biodyn.io.events import StoredEvent
from biodyn.io.file_access import COPY_AGAIN, EXPORT_AGAIN, file_bytes, file_head
from biodyn.io.format import LARGEST_NUMBER, RATES_HZ
from biodyn.io.ground_forces import with_ground_forces, with_unusable_forces_note
from biodyn.io.matlab import MARK, MARK_73, MatlabError, Record, is_matlab, read_variables
from biodyn.io.opensim.storage import Storage
from biodyn.io.plate_exports import PlateLoads, mask_unloaded_cop, plates_of_loads
from biodyn.io.tables import recording_of_table
from biodyn.io.tables.column_roles import METRES, ColumnRoles, implausible_corners_reason
from biodyn.io.text_decoding import clean_text
from biodyn.recording import Recording


def structure_elements(record: Record, field: str, count: int | None = None) -> tuple[Record, ...]:
    """Return the elements of a structure; empty if the field is missing or empty; MatlabError unless there are `count`."""
    value = record.get(field)
    elements = value if isinstance(value, tuple) else ()
    if count is not None and len(elements) != count:
        raise MatlabError(f"it has no {field}")
    return elements


def numeric_array(record: Record, field: str, *sizes: int | None) -> FloatArray:
    """Return the array of a field with the given first dimensions (None = any); MatlabError if a number is implausibly
    large."""
    return _require_possible_numbers(_array_of_shape(record, field, *sizes), field)


def finite_array(record: Record, field: str, *sizes: int | None) -> FloatArray:
    """Return the array of a field like `numeric_array`, with infinite numbers replaced by NaN."""
    value = _array_of_shape(record, field, *sizes)
    return _require_possible_numbers(np.where(np.isfinite(value), value, np.nan), field)


def _require_possible_numbers(value: FloatArray, field: str) -> FloatArray:
    if np.nanmax(np.abs(value), initial=0.0) > LARGEST_NUMBER:
        raise MatlabError(f"{field} contains implausibly large numbers")
    return value


def _array_of_shape(record: Record, field: str, *sizes: int | None) -> FloatArray:
    value = record.get(field)
    if not isinstance(value, np.ndarray):
        raise MatlabError(f"it has no numeric field {field}")
    if value.ndim < len(sizes) or any(n is not None and n != m for n, m in zip(sizes, value.shape, strict=False)):
        raise MatlabError(f"{field} has the shape {shape_text(value)}")
    return value


def shape_text(value: FloatArray) -> str:
    return " x ".join(map(str, value.shape))


def single_number(record: Record, field: str, default: float | None = None) -> float:
    """Return the number in a field; `default` if the field is missing."""
    value = record.get(field)
    if default is not None and not (isinstance(value, np.ndarray) and np.isfinite(value).any()):
        return default
    value = numeric_array(record, field)
    if value.size != 1 or not np.isfinite(value).all():
        raise MatlabError(f"{field} is not a number")
    return float(value.flat[0])


def require_possible_rate(per_s: float) -> float:
    if not RATES_HZ[0] <= per_s <= RATES_HZ[1]:
        raise MatlabError(f"{per_s:.3g} frames or samples per second are not possible")
    return per_s


def nonempty_texts(record: Record, field: str) -> list[str]:
    value = record.get(field)
    cells = value if isinstance(value, list) else [value]
    nonempty = [cell for cell in cells if isinstance(cell, str) and cell.strip()]
    if not nonempty or len(nonempty) != len(cells):
        raise MatlabError(f"{field} does not consist of texts")
    return nonempty


_SAID: Final = {0: "local", 1: "world"}


@dataclass(frozen=True, eq=False)
class _StoredPlate:
    """One plate: loads, corners (4, 3) m, "local" or "world" axes of the loads ("" if not stated), and samples per second."""

    loads: PlateLoads
    corners: FloatArray
    said: str
    rate_hz: float


def read_plates(path: Path, stored: Record, frame_hz: float) -> tuple[list[_StoredPlate], tuple[Diagnostic, ...]]:
    """Return the plates with the same sampling rate and duration, and notes on all other plates; `frame_hz`: frames per
    second."""
    plates: list[_StoredPlate] = []
    notes: list[Diagnostic] = []
    for name, record in _named_plates(stored):
        try:
            plate = _read_plate(name, record, frame_hz)
            if plate is not None:
                _require_same_sampling(plates[:1], plate)
                plates.append(plate)
        except MatlabError as error:
            text = f"{name} of '{path.name}' is not used: {error}."
            notes.append(Diagnostic("forces-unusable", "warning", text, hint=EXPORT_AGAIN))
    rows = min((len(plate.loads.force) for plate in plates), default=0)
    return [replace(plate, loads=plate.loads.select_rows_before(rows)) for plate in plates], tuple(notes)


def _named_plates(stored: Record) -> Iterator[tuple[str, Record]]:
    return ((f"plate {count}", record) for count, record in enumerate(structure_elements(stored, "Force"), start=1))


def _require_same_sampling(first: Sequence[_StoredPlate], plate: _StoredPlate) -> None:
    """Raise MatlabError if a plate has another sampling rate or duration than the first plate."""
    for other in first:
        samples, others = len(plate.loads.force), len(other.loads.force)
        if plate.rate_hz != other.rate_hz or abs(samples - others) > 1:
            raise MatlabError(
                f"it has {samples} samples at {plate.rate_hz:g} Hz, but {other.loads.name} has {others} at {other.rate_hz:g} Hz"
            )


def _read_plate(name: str, stored: Record, frame_hz: float) -> _StoredPlate | None:
    """Return one plate; None if it has no samples. Raises MatlabError if its fields do not describe a plate."""
    if not numeric_array(stored, "Force", None, None).size:
        return None
    force, moment, pressure = (numeric_array(stored, what, 3, None).T for what in ("Force", "Moment", "COP"))
    if not len(force) == len(moment) == len(pressure):
        raise MatlabError("force, moment and COP differ in the number of samples")
    corners = METRES["mm"] * numeric_array(stored, "ForcePlateLocation", 4, 3)
    wrong = implausible_corners_reason(corners) if np.isfinite(corners).all() else "some coordinates are missing"
    if wrong:
        raise MatlabError(f"its corners are not those of a plate: {wrong}")
    per_frame = single_number(stored, "SamplingFactor", 1.0)
    return _StoredPlate(
        PlateLoads(name, force, moment, mask_unloaded_cop(force, METRES["mm"] * pressure)),
        corners,
        _SAID.get(int(single_number(stored, "ForcePlateOrientation", -1.0)), ""),
        require_possible_rate(single_number(stored, "Frequency", frame_hz * per_frame)),
    )


SUFFIX: Final = ".mat"
_AXES: Final = "xyz"
_OF_QTM = {"FrameRate", "Trajectories"}


def holds_measurement(path: Path) -> bool:
    """Return whether a MATLAB file is a measurement of Qualisys Track Manager; also False if it cannot be read."""
    try:
        return path.suffix.lower() == SUFFIX and is_matlab(file_head(path, len(MARK))) and bool(_find_measurement(path))
    except InputFileError:
        return False


def read_qualisys_mat(path: Path) -> Recording:
    """Read the measurement in a MATLAB file; InputFileError if the file is damaged or contains no such measurement."""
    content = file_bytes(path)
    stored = _find_measurement(path, content)
    try:
        rate_hz = require_possible_rate(single_number(stored, "FrameRate"))
        first_frame = int(single_number(stored, "StartFrame", 1.0))
        labelled = structure_elements(structure_elements(stored, "Trajectories", 1)[0], "Labeled", 1)[0]
        labels = _unique_labels([text.strip() for text in nonempty_texts(labelled, "Labels")])
        data = finite_array(labelled, "Data", len(labels), None)
        data = data[:, :, None] if data.ndim == 2 else data  # data of a single frame
        if data.ndim != 3 or data.shape[1] < len(_AXES):
            raise MatlabError(f"Data has the shape {shape_text(data)}")
        events = tuple(_read_event(event, first_frame, rate_hz) for event in structure_elements(stored, "Events"))
        plates, notes = read_plates(path, stored, rate_hz)
    except MatlabError as error:
        raise InputFileError(
            f"'{path.name}' is not a complete measurement of Qualisys Track Manager: {error}.", EXPORT_AGAIN
        ) from error
    positions = np.ascontiguousarray(np.moveaxis(data[:, : len(_AXES)], 2, 0)).reshape(data.shape[2], -1)
    columns = {label: (f"{label}_x", f"{label}_y", f"{label}_z") for label in labels}
    names = tuple(name for three in columns.values() for name in three)
    table = Storage(path, names, np.arange(len(positions)) / rate_hz, positions, None)
    made = recording_of_table(table, ColumnRoles(columns), sha256(content).hexdigest(), length="mm", events=events)
    first_frame += made.first_frame - 1  # the table numbers its rows from 1
    made = replace(made, first_frame=first_frame, diagnostics=(*made.diagnostics, *notes))
    return _with_plates(made, plates) if plates else made


def _with_plates(made: Recording, plates: Sequence[_StoredPlate]) -> Recording:
    """Return the recording with the plates, or with a note if they cannot be used."""
    path = made.path
    time_s = np.arange(len(plates[0].loads.force)) / plates[0].rate_hz
    axes = {plate.said for plate in plates}
    loads = [(plate.loads, plate.corners) for plate in plates]
    try:
        forces = plates_of_loads([path] * len(plates), loads, axes.pop() if len(axes) == 1 else "", time_s)
        return with_ground_forces(made, forces)
    except InputFileError as error:
        return with_unusable_forces_note(made, f"The force plates of '{path.name}'", error)


def _find_measurement(path: Path, content: bytes | None = None) -> Record:
    """Return the fields of the variable that holds the measurement; InputFileError if there are none or several measurements."""
    content = file_bytes(path) if content is None else content
    if content.startswith(MARK_73):
        raise InputFileError(
            f"'{path.name}' is a MATLAB 7.3 file, which is not supported.",
            "Save it with -v7, or export the trial as C3D.",
        )
    try:
        variables = read_variables(content)
        structures = {name: variables.record(name) for name in variables}  # other variables are not read
    except MatlabError as error:
        raise InputFileError(f"'{path.name}' is not a valid MATLAB file: {error}.", COPY_AGAIN) from error
    measurements = {
        name: structure
        for name, structure in structures.items()
        if structure is not None and structure.keys() >= _OF_QTM
    }
    if len(measurements) == 1:
        return next(iter(measurements.values()))
    if measurements:
        raise InputFileError(
            f"'{path.name}' holds {len(measurements)} measurements: {_name_list(measurements)}.",
            "Save each measurement in a separate file.",
        )
    raise InputFileError(
        f"'{path.name}' is not a measurement of Qualisys Track Manager: it has no variable with FrameRate and Trajectories, "
        f"but {_name_list(variables) or 'no variables'}.",
        "Export the trial as C3D.",
    )


def _name_list(names: Iterable[str]) -> str:
    return clean_text(", ".join(islice(names, 5))[:100])


def _read_event(event: Record, first_frame: int, rate_hz: float) -> StoredEvent:
    """Return an event as stored; an event without label or time is reported later and not used."""
    label, frame = event.get("Label"), event.get("Frame")
    number = float(frame.flat[0]) if isinstance(frame, np.ndarray) and frame.size == 1 else np.nan
    return StoredEvent(label if isinstance(label, str) else "", "", (number - first_frame) / rate_hz)


def _unique_labels(labels: Sequence[str]) -> tuple[str, ...]:
    """Return unique labels: a second trajectory LASI becomes LASI_2."""
    unique: list[str] = []
    for label in labels:
        numbered = (label, *(f"{label}_{k}" for k in range(2, len(labels) + 2)))
        unique.append(next(name for name in numbered if name not in unique and (name == label or name not in labels)))
    return tuple(unique)
