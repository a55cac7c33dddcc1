"""The .b3d archives of AddBiomechanics: markers, force plates and fitted motions of one person, several trials in a
file.

An archive of one trial is read as a `Recording`; `biodyn unpack` converts an archive of several trials to a folder of
recordings. The fields of the protobuf messages are in `library/formats/b3d.toml`. Archives hold moments about the centre of
pressure or about the origin of World and do not state which. Because a foot cannot pull, the moment about the centre of
pressure is vertical. The reference point with the smaller horizontal moments is therefore assumed.
Source: the AddBiomechanics dataset (doi:10.1007/978-3-031-73223-2_27); the layout is that written by nimblephysics.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.errors import InputFileError
from biodyn.io.file_access import COPY_AGAIN, ReaderLimits, file_bytes
from biodyn.io.format import RATES_HZ
from biodyn.io.opensim.storage import Storage
from biodyn.io.tables import recording_of_table
from biodyn.io.tables.column_roles import ColumnRoles, ForceColumns
from biodyn.io.text_decoding import clean_text
from biodyn.library.toml_files import load_table
from biodyn.recording import Recording, SubjectParameters

_PACKAGE: Final = "biodyn_b3d"


@cache
def message_class(name: str) -> Any:
    """Return the Python class of a protobuf message of the archive; `FromString` of it raises DecodeError for invalid bytes."""
    from google.protobuf import message_factory

    return message_factory.GetMessageClass(_message_descriptors().FindMessageTypeByName(f"{_PACKAGE}.{name}"))


@cache
def _message_descriptors() -> Any:
    # Imported here because only these files need the library.
    from google.protobuf import descriptor_pb2, descriptor_pool

    file = descriptor_pb2.FileDescriptorProto(name=f"{_PACKAGE}.proto", package=_PACKAGE, syntax="proto3")
    field_class = descriptor_pb2.FieldDescriptorProto
    for message, fields in load_table("formats/b3d")["message"].items():
        described = file.message_type.add(name=message)
        for name, (number, kind) in fields.items():
            several, plain = kind.startswith("["), kind.strip("[]")
            field = described.field.add(name=name, number=number)
            field.label = field_class.LABEL_REPEATED if several else field_class.LABEL_OPTIONAL
            if plain[0].isupper():
                field.type, field.type_name = field_class.TYPE_MESSAGE, f".{_PACKAGE}.{plain}"
            else:
                field.type = getattr(field_class, f"TYPE_{plain.upper()}")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return pool


_LENGTH_BYTES: Final = 8
_KINDS: Final = ("kinematics", "dynamics", "lowpass")


@dataclass(frozen=True, eq=False)
class ArchivedTrial:
    """One trial of an archive, in World with y up.

    Attributes:
        name: name of the trial. rate_hz: frames per second. labels: labels of the markers seen in the trial.
        markers: (T, M, 3) m, NaN = not seen.
        plates: (T, P, 3, 3) centre of pressure m, moment Nm, force N of each plate in World, as stored.
        without_forces: (T,) True in frames that the file marks as without ground forces.
        model: index of the pass that computed `coordinates`, None without one. coordinates: (T, n) rad, m.
    """

    name: str
    rate_hz: float
    labels: tuple[str, ...]
    markers: FloatArray
    plates: FloatArray
    without_forces: np.ndarray
    model: int | None
    coordinates: FloatArray


@dataclass(frozen=True, eq=False)
class Archive:
    """One archive: subject data (None or 0 if not stated), the trials, and the models of the processing passes (kinematics,
    lowpass or dynamics): the kind of the pass and the text of its .osim file."""

    path: Path
    sha256: str
    mass_kg: float | None
    height_m: float | None
    age_years: int | None
    sex: str
    notes: str
    models: tuple[tuple[str, str], ...]
    trials: tuple[ArchivedTrial, ...]


def is_archive(head: bytes) -> bool:
    """Return whether the first bytes of a file belong to a .b3d archive: the length of a header, then its first field."""
    length = int.from_bytes(head[:_LENGTH_BYTES], "little")
    return (
        0 < length <= ReaderLimits.B3D_HEADER_BYTES
        and len(head) > _LENGTH_BYTES
        and head[_LENGTH_BYTES] in (0x08, 0x10, 0x18)
    )


def read_archive(path: str | Path) -> Archive:
    """Read a .b3d archive.

    Raises InputFileError if protobuf is not installed, or the file is not an archive, is truncated or damaged.
    """
    place = Path(path)
    try:
        from google.protobuf.message import DecodeError
    except ModuleNotFoundError as error:
        raise InputFileError(
            f"Reading {place.name} requires the Python package protobuf, which is not installed.",
            "pip install 'biodyn[b3d]'",
        ) from error

    content = file_bytes(place)
    if not is_archive(content):
        raise _damaged_archive_error(place, "it does not start with a header")
    start = _LENGTH_BYTES + int.from_bytes(content[:_LENGTH_BYTES], "little")
    try:
        header = message_class("Header").FromString(content[_LENGTH_BYTES:start])
        _require_consistent_sizes(place, header, len(content) - start)
        trials = tuple(_read_trials(place, header, memoryview(content)[start:]))
    except DecodeError as error:
        raise _damaged_archive_error(place, "part of it cannot be decoded") from error
    return Archive(
        path=place,
        sha256=hashlib.sha256(content).hexdigest(),
        mass_kg=_positive_or_none(header.mass_kg),
        height_m=_positive_or_none(header.height_m),
        age_years=header.age_years if 0 < header.age_years < 130 else None,
        sex=clean_text(header.sex),
        notes=clean_text(header.notes),
        models=tuple((_pass_kind(fitted.kind), fitted.model) for fitted in getattr(header, "pass")),
        trials=trials,
    )


def _require_consistent_sizes(path: Path, header: Any, data_bytes: int) -> None:
    """Raise InputFileError unless the counts and sizes in the header match the data that follow."""
    if not header.trial:
        raise InputFileError(f"'{path.name}' is an archive without trials.")
    counts = (
        header.dof_count,
        header.pass_frame_bytes,
        *(n for t in header.trial for n in (t.frame_count, t.plate_count)),
    )
    if min(counts) < 0 or header.sensor_frame_bytes < 1:
        raise _damaged_archive_error(path, "a count in its header is invalid")
    expected = sum(trial.frame_count * _frame_bytes(header, trial) for trial in header.trial)
    if expected != data_bytes:
        raise _damaged_archive_error(
            path, f"its header specifies {expected} bytes of frames, but the file holds {data_bytes}"
        )


def _frame_bytes(header: Any, trial: Any) -> int:
    """Return the number of bytes that one frame of a trial occupies, including the results of all processing passes."""
    size: int = header.sensor_frame_bytes + len(getattr(trial, "pass")) * header.pass_frame_bytes
    return size


def _read_trials(path: Path, header: Any, data: memoryview) -> Iterator[ArchivedTrial]:
    labels = [clean_text(label) for label in header.marker]
    if len(set(labels)) < len(labels):
        twice = next(label for label in labels if labels.count(label) > 1)
        raise _damaged_archive_error(path, f"two of its markers are named '{twice}'")
    start = 0
    for trial in header.trial:
        if not trial.frame_count:
            raise _damaged_archive_error(path, f"'{clean_text(trial.name)}' has no frames")
        stride = _frame_bytes(header, trial)
        frames = [data[start + k * stride : start + (k + 1) * stride] for k in range(trial.frame_count)]
        start += trial.frame_count * stride
        yield _read_trial(path, header, trial, labels, frames)


def _read_trial(
    path: Path, header: Any, trial: Any, labels: Sequence[str], frames: Sequence[memoryview]
) -> ArchivedTrial:
    rate_hz = 1.0 / trial.step_s if math.isfinite(trial.step_s) and trial.step_s > 0.0 else math.nan
    if not RATES_HZ[0] <= rate_hz <= RATES_HZ[1]:
        raise _damaged_archive_error(path, f"the time step of '{clean_text(trial.name)}' is {trial.step_s:.4g} s")
    rounded = round(rate_hz)
    rate_hz = float(rounded) if abs(rounded - rate_hz) <= 1e-6 * rate_hz else rate_hz
    size, passes = header.sensor_frame_bytes, len(getattr(trial, "pass"))
    sensors = [message_class("SensorFrame").FromString(bytes(frame[:size])) for frame in frames]
    seen = _rows_as_array(path, [frame.markers for frame in sensors], 3 * len(labels)).reshape(
        len(frames), len(labels), 3
    )
    of_plates = [
        _rows_as_array(
            path, [getattr(frame, name)[: 3 * trial.plate_count] for frame in sensors], 3 * trial.plate_count
        )
        for name in ("pressure_centres", "plate_moments", "plate_forces")
    ]
    plates = np.stack([frame.reshape(len(frames), trial.plate_count, 3) for frame in of_plates], axis=2)
    visible = np.flatnonzero(np.isfinite(seen).any(axis=(0, 2)))
    last = size + (passes - 1) * header.pass_frame_bytes
    coordinates = [message_class("PassFrame").FromString(bytes(frame[last:])).positions for frame in frames]
    flags = np.zeros(len(frames), dtype=bool)
    flags[: len(trial.missing_forces)] = np.asarray(trial.missing_forces[: len(frames)]) != 0
    return ArchivedTrial(
        name=clean_text(trial.name) or "trial",
        rate_hz=rate_hz,
        labels=tuple(labels[int(k)] for k in visible),
        markers=seen[:, visible],
        plates=plates,
        without_forces=flags,
        model=passes - 1 if passes else None,
        coordinates=_rows_as_array(path, coordinates, header.dof_count) if passes else np.empty((len(frames), 0)),
    )


def _rows_as_array(path: Path, rows: Sequence[Sequence[float]], width: int) -> FloatArray:
    """Return rows of numbers as an array (T, width); InputFileError if a row has another length."""
    if any(len(row) != width for row in rows):
        raise _damaged_archive_error(path, f"not all of its frames hold the {width} numbers that the header specifies")
    return np.array([np.asarray(row, dtype=np.float64) for row in rows]).reshape(len(rows), width)


def _pass_kind(number: int) -> str:
    return _KINDS[number] if 0 <= number < len(_KINDS) else f"pass{number}"


def _positive_or_none(value: float) -> float | None:
    return value if math.isfinite(value) and value > 0.0 else None


def _damaged_archive_error(path: Path, what: str) -> InputFileError:
    return InputFileError(f"'{path.name}' is not a valid .b3d archive: {what}.", COPY_AGAIN)


_LOADED_N = 50.0  # centres of pressure of smaller forces are inaccurate
_VERTICAL = 1  # y is up
# A larger horizontal moment cannot be noise of a plate, Nm.
_MOST_ACROSS_NM = 5.0


def ground_force_columns(
    trial: ArchivedTrial,
) -> tuple[dict[str, FloatArray], tuple[ForceColumns, ...], tuple[Diagnostic, ...]]:
    """Return columns (T,) in N, m and Nm by name, the column names of each ground force, and notes, for all loaded
    plates.

    Moments are about the centre of pressure.
    """
    columns: dict[str, FloatArray] = {}
    roles: list[ForceColumns] = []
    notes: list[Diagnostic] = []
    for k in range(trial.plates.shape[1]):
        point, moment, force = (np.nan_to_num(trial.plates[:, k, part]) for part in range(3))
        if not (np.abs(force[:, _VERTICAL]) > _LOADED_N).any():
            continue
        about = moment_reference_point(point, moment, force)
        if about == "origin":
            moment = moment - np.cross(point, force)
            notes.append(
                _moment_note(
                    trial, k, "info", "about the laboratory origin; they were transformed to the centre of pressure"
                )
            )
        elif about is None:
            moment = moment * np.eye(3)[_VERTICAL]
            notes.append(
                _moment_note(
                    trial,
                    k,
                    "warning",
                    "about neither the centre of pressure nor the laboratory origin; only their "
                    "vertical component is used",
                )
            )
        names = [tuple(f"{k + 1}_ground_{form}{axis}" for axis in "xyz") for form in ("force_v", "force_p", "torque_")]
        for three, values in zip(names, (force, point, moment), strict=True):
            columns.update(zip(three, values.T, strict=True))
        roles.append(ForceColumns(str(k + 1), None, *names))
    return columns, tuple(roles), tuple(notes)


def moment_reference_point(
    point: FloatArray, moment: FloatArray, force: FloatArray
) -> Literal["centre of pressure", "origin"] | None:
    """Return the point about which the moments (T, 3) Nm of forces (T, 3) N are given, from the centres of pressure (T, 3) m.

    This is the point about which horizontal moments are small; None if neither point fits.
    """
    loaded = np.abs(force[:, _VERTICAL]) > _LOADED_N
    across = [0, 2]
    at_centre = moment[loaded][:, across]
    at_origin = (moment - np.cross(point, force))[loaded][:, across]
    sizes = [float(np.median(np.linalg.norm(part, axis=1))) for part in (at_centre, at_origin)]
    if min(sizes) > _MOST_ACROSS_NM:
        return None
    return "centre of pressure" if sizes[0] <= sizes[1] else "origin"


def _moment_note(trial: ArchivedTrial, plate: int, severity: Literal["info", "warning"], what: str) -> Diagnostic:
    text = f"The moments of force plate {plate + 1} in '{trial.name}' are {what}."
    return Diagnostic("forces-incomplete", severity, text, limit=_MOST_ACROSS_NM, unit="Nm")


_SEXES: Final[dict[str, Literal["male", "female"]]] = {"male": "male", "female": "female"}


class SeveralTrialsError(InputFileError):
    """Error for an archive of several trials, which is not a single recording."""


def read_b3d(path: Path) -> Recording:
    """Read an archive that holds one trial; raises InputFileError for a damaged file, SeveralTrialsError for several trials."""
    shown = 5  # trial names listed in the message
    archive = read_archive(path)
    if len(archive.trials) == 1:
        return recording_of_trial(archive, archive.trials[0])
    names = ", ".join(trial.name for trial in archive.trials[:shown])
    more = " ..." if len(archive.trials) > shown else ""
    raise SeveralTrialsError(
        f"'{path.name}' is an archive of {len(archive.trials)} trials, not a single recording: {names}{more}.",
        "Convert it to a folder of recordings: biodyn unpack FILE.b3d.",
    )


def recording_of_trial(archive: Archive, trial: ArchivedTrial) -> Recording:
    """Return the markers and force plates of a trial, in the frame of the archive (y up, m)."""
    frames = len(trial.markers)
    markers = {label: (f"{label}_tx", f"{label}_ty", f"{label}_tz") for label in trial.labels}
    force_columns, roles, notes = ground_force_columns(trial)
    names = [name for three in markers.values() for name in three]
    columns: list[FloatArray] = [*trial.markers.reshape(frames, -1).T, *force_columns.values()]
    values = np.column_stack(columns) if columns else np.empty((frames, 0))
    table = Storage(archive.path, (*names, *force_columns), np.arange(frames) / trial.rate_hz, values, in_degrees=False)
    made = recording_of_table(table, ColumnRoles(markers, roles), archive.sha256, length="m")
    subject = SubjectParameters(mass_kg=archive.mass_kg, height_m=archive.height_m, sex=_SEXES.get(archive.sex.lower()))
    return replace(
        made,
        subject=subject,
        vertical=np.array([0.0, 1.0, 0.0]),
        diagnostics=(*made.diagnostics, *notes, *missing_forces_note(trial)),
    )


def missing_forces_note(trial: ArchivedTrial) -> tuple[Diagnostic, ...]:
    """Return the note on frames that the archive marks as without ground forces."""
    missing = int(trial.without_forces.sum())
    if not missing:
        return ()
    return (
        Diagnostic(
            "forces-incomplete",
            "warning",
            f"The archive marks the ground forces as missing or doubtful in {missing} of {len(trial.markers)} frames "
            f"of '{trial.name}'.",
            value=float(missing),
            hint="Do not use the joint moments of the stance leg in these frames.",
        ),
    )
