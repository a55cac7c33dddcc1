"""Read C3D files, in SI: here, and by the C3D library in a process that may die, whose answer is the second opinion."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.errors import InputFileError
from biodyn.io.files import COPY_AGAIN, file_bytes
from biodyn.io.formats.c3d._data_section import DataSection, read_data
from biodyn.io.formats.c3d._events import read_events
from biodyn.io.formats.c3d._header import C3dHeader, read_header
from biodyn.io.formats.c3d._layout import DataLayout, data_layout
from biodyn.io.formats.c3d._parameters import Groups, cleaned_groups
from biodyn.io.formats.c3d._platforms import plate_channels, read_plates
from biodyn.io.formats.c3d._points import model_outputs, point_groups, point_texts, values_of
from biodyn.io.formats.c3d._process import Failure, Parsed, Parsing, parsing
from biodyn.io.formats.c3d._rotations import read_rotations
from biodyn.io.formats.c3d._second_reading import second_opinion
from biodyn.io.formats.c3d._subject import subject_parameters
from biodyn.io.labels import point_roles
from biodyn.io.length_units import LengthUnit, PlateUnit, length_unit
from biodyn.io.names import names
from biodyn.io.positions import dropped_note, require_markers, unseen_as_nan, without_impossible
from biodyn.io.repairs import repaired
from biodyn.io.second_opinions import awaited_opinions
from biodyn.io.segment_poses import StoredPoses, require_known, require_seen, virtual_points, with_landmarks
from biodyn.library.pose_systems import pose_system_of
from biodyn.recording import ForcePlate, Markers, Recording, SegmentPoses, StoredMotion

DEFAULT_TIMEOUT_S = 20.0  # a 35 MB file takes half a second; a file that takes this long never ends

# No plate measures as much in any unit in use: 10 meganewton-metres in Nmm. One such number spoils a filtered channel.
_LARGEST_SAMPLE = 1e10
_EXPORT_AGAIN = "Export the trial again as C3D from the capture software."
# Of all files that are read at once: their numbers take three times as much, and the library some tenths of a second.
_LARGEST_KEPT_BYTES = 10 << 20
_READ_ALONE = ("MIPS",)  # byte orders the C3D library does not know


def read_c3d(path: str | Path, *, timeout_s: float = DEFAULT_TIMEOUT_S) -> Recording:
    """Read one C3D file.

    Raises InputFileError, in one sentence, for a file that does not exist, is no C3D, is damaged or truncated, makes
    the C3D library crash or hang, or holds no marker that was ever seen.
    """
    result = read_c3d_many([path], timeout_s=timeout_s)[0]
    if isinstance(result, InputFileError):
        raise result
    return result


def read_c3d_many(
    paths: Sequence[str | Path], *, timeout_s: float = DEFAULT_TIMEOUT_S
) -> list[Recording | InputFileError]:
    """Read several files side by side; a file that cannot be read is an InputFileError in its place."""
    results: list[Recording | InputFileError | None] = [None] * len(paths)
    sound: dict[int, tuple[C3dHeader, DataLayout]] = {}
    for i, path in enumerate(paths):
        try:
            header = read_header(Path(path))
            sound[i] = header, data_layout(header)
        except InputFileError as error:
            results[i] = error
    asked = [i for i, (header, _) in sound.items() if header.processor not in _READ_ALONE]
    own: dict[int, _OwnReading | InputFileError] = {}
    answers: dict[int, Parsed | Failure] = {}
    with ExitStack() as readers:
        library = readers.enter_context(parsing([sound[i][0].path for i in asked], timeout_s))
        for i, (header, layout) in sound.items():
            if header.parameters.is_whole:
                own[i] = _read_here(header, layout, header.groups)
            library.look()
        later = awaited_opinions() if own.keys() == sound.keys() and _is_short(sound.values()) else None
        if later is None:
            answers = dict(zip(asked, library.answers(), strict=True))
        else:
            later.add(
                readers.pop_all(),
                {
                    sound[i][0].path: partial(_opinion, found, *sound[i], library, asked.index(i))
                    for i, found in own.items()
                    if i in asked and not isinstance(found, InputFileError)
                },
            )
    for i, (header, layout) in sound.items():
        try:
            groups, notes = _parameters(header, answers.get(i))
            found = own.get(i) or _read_here(header, layout, groups)
            if isinstance(found, InputFileError):
                raise found
            results[i] = _confirmed(found, layout, answers.get(i), notes)
        except InputFileError as error:
            results[i] = error
    return [result for result in results if result is not None]


@dataclass(frozen=True)
class _OwnReading:
    """A file as biodyn reads it, and its numbers for the library to confirm."""

    recording: Recording
    data: DataSection


def _is_short(files: Collection[tuple[C3dHeader, DataLayout]]) -> bool:
    """Whether the numbers of some files may stay in memory until the library's are there."""
    return sum(header.path.stat().st_size for header, _ in files) <= _LARGEST_KEPT_BYTES


def _opinion(
    found: _OwnReading, header: C3dHeader, layout: DataLayout, library: Parsing, number: int
) -> tuple[Diagnostic, ...]:
    """What the library, asked for that file as the `number`-th, reads differently; InputFileError where it cannot be read."""
    answer = library.answers()[number]
    _parameters(header, answer)
    return second_opinion(found.data, layout, answer)


def _read_here(header: C3dHeader, layout: DataLayout, groups: Groups) -> _OwnReading | InputFileError:
    try:
        return _own_reading(header, layout, groups)
    except InputFileError as error:
        return error


def _confirmed(
    found: _OwnReading, layout: DataLayout, answer: Parsed | Failure | None, notes: Sequence[Diagnostic]
) -> Recording:
    """The recording, with what is said of its parameters and layout, and of what the library reads differently."""
    opinion = second_opinion(found.data, layout, answer)
    said = (*notes, *layout.notes, *opinion, *found.recording.diagnostics)
    return replace(found.recording, diagnostics=said)


def _parameters(header: C3dHeader, answer: Parsed | Failure | None) -> tuple[Groups, tuple[Diagnostic, ...]]:
    """The parameters as read here; where their list breaks off, what the C3D library made of them."""
    if header.parameters.is_whole:
        if isinstance(answer, Failure) and answer.killed:
            raise InputFileError(f"'{header.path}' could not be read: {answer.reason}.", "Try again.")
        return header.groups, ()
    if not isinstance(answer, Parsed):
        reason = "its byte order is SGI/MIPS" if answer is None else answer.reason
        raise InputFileError(
            f"'{header.path}' is damaged: its parameters break off, and it could not be read: {reason}.", COPY_AGAIN
        )
    note = Diagnostic(
        "parameters-damaged",
        "warning",
        "The list of parameters in the file breaks off; what the C3D library could make of it is used.",
        hint=COPY_AGAIN,
    )
    return cleaned_groups(answer.facts["parameters"]), (note,)


def _own_reading(header: C3dHeader, layout: DataLayout, groups: Groups) -> _OwnReading:
    path = header.path
    content = file_bytes(path)
    data = read_data(content, layout, header.processor, groups, plate_channels(groups))
    _require_possible_samples(path, data.samples)
    points = unseen_as_nan(data.points)
    subject = subject_parameters(groups)
    labels, descriptions = (point_texts(groups, name, layout.point_count) for name in ("LABELS", "DESCRIPTIONS"))
    roles = point_roles(labels, points, point_groups(groups), (subject.name,), descriptions)
    columns = roles.markers
    stored = read_rotations(path, content, layout, header.processor, groups)
    on_poses = stored is not None and not np.isfinite(points[:, columns]).any()
    if not on_poses:
        require_markers(path, roles.labels, points[:, columns])
    sized = points[:, columns] if stored is None or not on_poses else stored.origins[:: _ratio(stored, layout)]
    scale = _length_unit(path, groups, sized, data, subject.height_m)
    positions, position_notes = without_impossible(path, points[:, columns] * scale.markers)
    own_labels = tuple(roles.labels[i] for i in columns)
    markers = Markers(own_labels, positions, layout.rate_hz)
    motion = (
        StoredMotion(markers) if stored is None else _with_poses(path, groups, stored, scale.markers, markers, on_poses)
    )
    plates, plate_notes = _plates(groups, data, scale.plates, layout.frame_count, layout.rate_hz)
    events, event_notes = read_events(groups.get("EVENT", {}), layout, roles.whose, header.words.events)
    recording = Recording(
        path=path,
        sha256=hashlib.sha256(content).hexdigest(),
        motion=motion,
        plates=plates,
        events=events,
        subject=subject,
        model_outputs=model_outputs(groups, roles, points),
        vertical=_vertical(groups),
        first_frame=layout.first_frame,
        declared_static=_declared_static(groups),
        diagnostics=(
            *_analog_notes(data),
            *roles.diagnostics,
            *scale.diagnostics,
            *position_notes,
            *(() if stored is None else stored.notes),
            *event_notes,
            *plate_notes,
            *dropped_note(roles),
        ),
    )
    return _OwnReading(repaired(recording), data)


def _with_poses(
    path: Path, groups: Groups, stored: StoredPoses, metres: float, markers: Markers, on_poses: bool
) -> StoredMotion:
    """The motion of a file with poses; where it has no markers, virtual points of the poses stand for them."""
    poses = SegmentPoses(stored.labels, stored.rotations, stored.origins * metres, stored.rate_hz, stored.reliability)
    system = pose_system_of(stored.labels) if not on_poses else require_known(path, stored.labels)
    if system is not None:
        parameters = {name: entry["values"] for name, entry in groups.get(system.parameters, {}).items()}
        poses = with_landmarks(poses, system, parameters)
    if not on_poses or system is None:
        return StoredMotion(markers, poses)
    require_seen(path, poses, system)
    return StoredMotion(virtual_points(poses, system), poses)


def _ratio(stored: StoredPoses, layout: DataLayout) -> int:
    """Poses a frame of the file."""
    return max(1, len(stored.origins) // max(layout.frame_count, 1))


def _analog_notes(data: DataSection) -> Iterator[Diagnostic]:
    if data.unscaled:
        text = f"ANALOG:SCALE or OFFSET holds no number for the channels {_counted(data.unscaled)}; they are not used."
        yield Diagnostic("channels-unscaled", "warning", text, hint=_EXPORT_AGAIN)
    if data.unsigned_offsets:
        text = f"ANALOG:OFFSET of the channels {_counted(data.unsigned_offsets)} is taken as unsigned, as their samples show."
        yield Diagnostic("offset-unsigned", "info", text, hint="Let the export say so in ANALOG:FORMAT.")


def _counted(channels: Sequence[int]) -> str:
    return ", ".join(str(channel + 1) for channel in channels)


def _require_possible_samples(path: Path, samples: FloatArray) -> None:
    """Raise InputFileError where plate channels hold numbers that only damaged bytes make."""
    impossible = np.abs(samples) > _LARGEST_SAMPLE  # NaN is how some exporters say "not recorded"
    if impossible.any():
        first, last = np.flatnonzero(impossible.any(axis=1))[[0, -1]] / len(samples)
        raise InputFileError(
            f"'{path}' is damaged: {int(impossible.sum())} samples of its plate channels are no number that a plate "
            f"measures, between {100 * first:.0f} and {100 * last:.0f} % of the recording.",
            COPY_AGAIN,
        )


def _length_unit(
    path: Path, groups: Groups, markers: FloatArray, data: DataSection, height_m: float | None
) -> LengthUnit:
    text = str(next(iter(values_of(groups, "POINT", "UNITS")), "")).strip()
    in_units, _ = _plates(groups, data, None, len(markers), 1.0)
    return length_unit(path.name, text, names()["length_units"], markers, in_units, height_m)


def _plates(
    groups: Groups, data: DataSection, units: Mapping[int, PlateUnit] | None, frame_count: int, rate_hz: float
) -> tuple[tuple[ForcePlate, ...], tuple[Diagnostic, ...]]:
    """The force plates and what is wrong with them; without those whose unit is not known, None = in file units."""
    return read_plates(
        groups.get("FORCE_PLATFORM", {}),
        groups.get("ANALOG", {}),
        data.samples,
        data.channels,
        units,
        frame_count,
        rate_hz,
    )


def _vertical(groups: Groups) -> FloatArray | None:
    """The axis POINT:Y_SCREEN says points up; its sign is not to be trusted (Qualisys writes -Z with Z up)."""
    text = str(next(iter(values_of(groups, "POINT", "Y_SCREEN")), "")).strip().upper()
    axis = "XYZ".find(text[-1:]) if text else -1
    if axis < 0:
        return None
    vertical = np.zeros(3)
    vertical[axis] = -1.0 if text.startswith("-") else 1.0
    return vertical


def _declared_static(groups: Groups) -> bool | None:
    for key in names()["subject"]["static_parameters"]:
        values = values_of(groups, *key.split(":"))
        if values and not isinstance(values[0], str):
            return bool(values[0])
    return None
