"""Read recordings of every format: `read`, `read_facts`, `read_preview`.

The first bytes of a file determine its format, because suffixes may be wrong. The suffix decides if several formats or none
recognise the bytes; in the latter case the reader of that format reports the fault.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from biodyn.diagnostics import Diagnostic
from biodyn.errors import InputFileError
from biodyn.io.file_access import COPY_AGAIN, file_head
from biodyn.io.format import FORMATS, Format
from biodyn.io.ground_forces import force_files, with_forces_of_file, with_separate_forces
from biodyn.io.repairs import longest_continuous_part
from biodyn.io.subject_files import (
    nexus_subject_file,
    nexus_subject_files,
    subject_file,
    with_nexus_subject,
    with_subject_file,
)
from biodyn.io.tables.column_map import column_map_file
from biodyn.io.tables.spreadsheet import SPREADSHEET_SUFFIXES
from biodyn.recording import FileFacts, Preview, Recording
from biodyn.recording.stillness import make_preview

HEAD_BYTES = 16_384  # number of first bytes by which a format recognises its files
#: Given instead of a force file: no separate forces are searched.
NO_FORCES = "none"


def read(path: str | Path, forces: str | Path | None = None) -> Recording:
    """Read one recording of any supported format (`biodyn.io.formats`).

    `forces`: separate file of ground forces (table, spreadsheet or ExternalLoads XML); None = forces in the file itself, or,
    for a format without forces, in a separate file if one is found; "none" = only forces in the file itself.

    Returns a `Recording` in SI units: positions (T, M, 3) in m, force channels (Ta, C) in N and Nm, time 0 at the file's
    first frame, NaN if not measured. Positions are in laboratory axes. Parts that the file does not contain are
    empty; access to missing markers raises InputFileError. Doubtful data are reported in `diagnostics`.

    Raises InputFileError if the file does not exist, has no known format, or is damaged.
    """
    place = Path(path)
    name = _format_name(place)
    recording = FORMATS[name].read(place)
    if forces is None:
        return longest_continuous_part(_with_suffix_note(_with_separate_files(recording, FORMATS[name]), name))
    recording = _with_suffix_note(_with_subject_data(recording, FORMATS[name]), name)
    return longest_continuous_part(recording if str(forces) == NO_FORCES else with_forces_of_file(recording, forces))


def files_of_recording(path: str | Path) -> tuple[Path, ...]:
    """Return all files that a recording is read from: the recording, then forces, subject data and a column map."""
    place = Path(path)
    persons = nexus_subject_files(place.parent)
    skeleton = nexus_subject_file(persons, read_facts(place).subject) if persons else None
    if not format_of(place).separate_forces:
        return (place, *([skeleton] if skeleton is not None else []))
    person = subject_file(place)
    columns = column_map_file(place) if place.suffix.lower() in SPREADSHEET_SUFFIXES else None
    return (place, *force_files(place), *(path for path in (person, columns, skeleton) if path is not None))


def read_facts(path: str | Path) -> FileFacts:
    """Read facts such as labels and rates from the head of a recording, without its data; raises errors as `read` does."""
    place = Path(path)
    file_format = format_of(place)
    return (
        recording_facts(_with_separate_files(file_format.read(place), file_format))
        if file_format.facts is None
        else file_format.facts(place)
    )


def read_preview(path: str | Path) -> Preview:
    """Read short pieces of the marker trajectories of a recording, without the rest; raises InputFileError as `read` does."""
    place = Path(path)
    file_format = format_of(place)
    return make_preview(file_format.read(place).markers) if file_format.preview is None else file_format.preview(place)


def format_of(path: str | Path) -> Format:
    """Return the format of a file; InputFileError if it is unknown or the path is not a file."""
    return FORMATS[_format_name(Path(path))]


def _format_name(path: Path) -> str:
    head = file_head(path, HEAD_BYTES)
    if not head:
        raise InputFileError(f"'{path}' is empty (0 bytes).", COPY_AGAIN)
    named = [name for name, known in FORMATS.items() if path.suffix.lower() in known.suffixes]
    recognised = [name for name, known in FORMATS.items() if known.recognises(head)]
    for candidates in ([name for name in recognised if name in named], recognised, named):
        if candidates:
            return candidates[0]
    raise InputFileError(
        f"'{path}' is not a recording of a known format; expected {_known_formats()}.",
        "Export the trial in one of these formats.",
    )


def recording_facts(recording: Recording) -> FileFacts:
    """Return the facts of a recording that was already read."""
    markers, subject, coordinates = recording.motion.markers, recording.subject, recording.motion.coordinates
    return FileFacts(
        path=recording.path,
        subject=subject.name,
        mass_kg=subject.mass_kg,
        height_m=subject.height_m,
        labels=frozenset() if markers is None or markers.virtual else frozenset(markers.labels),
        frame_count=0 if markers is None else markers.frame_count,
        rate_hz=0.0 if markers is None else markers.rate_hz,
        plate_count=len(recording.plates),
        declared_static=bool(recording.declared_static),
        gait_events=len(recording.events),
        segments=frozenset() if recording.motion.poses is None else frozenset(recording.motion.poses.labels),
        coordinates=frozenset() if markers is not None or coordinates is None else frozenset(coordinates.labels),
    )


def _with_separate_files(recording: Recording, known: Format) -> Recording:
    """Return the recording with subject data from a separate file, and with separate forces if its format has none."""
    recording = _with_subject_data(recording, known)
    has_motion = recording.motion.markers is not None
    return (
        with_separate_forces(recording) if known.separate_forces and has_motion and not recording.plates else recording
    )


def _with_subject_data(recording: Recording, known: Format) -> Recording:
    return with_nexus_subject(with_subject_file(recording) if known.separate_forces else recording)


def _with_suffix_note(recording: Recording, name: str) -> Recording:
    """Return the recording, with a note if the suffix of the file is that of another format."""
    suffix = recording.path.suffix.lower()
    if suffix in FORMATS[name].suffixes or all(suffix not in known.suffixes for known in FORMATS.values()):
        return recording
    text = f"The suffix of the file is {suffix}, but it was read as {FORMATS[name].title}, the format of its contents."
    note = Diagnostic("recording-repaired", "info", text, hint=f"Rename the file to *{FORMATS[name].suffixes[0]}.")
    return replace(recording, diagnostics=(*recording.diagnostics, note))


def _known_formats() -> str:
    *first, last = [f"{known.title} ({', '.join(known.suffixes)})" for known in FORMATS.values()]
    return f"{', '.join(first)} or {last}" if first else last
