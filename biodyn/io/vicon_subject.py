"""What Vicon Nexus keeps of a person beside the recordings of a session: `PERSON.mp` and `PERSON.vsk`.

Nexus writes mass, height and measures into a C3D only when a model was run on it; a recording as it was captured has none.
In a .vsk (XML) a parameter has NAME, PRIOR (the template's, nobody's) and, where it was measured or calibrated, VALUE; in a .mp
every line is `$Bodymass = 72`. Lengths are in mm, angles in radians; 0 is not given. Where both are there, the .mp counts.
"""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Final

from biodyn.diagnostics import Diagnostic
from biodyn.errors import InputFileError
from biodyn.io.files import file_head, file_sha256
from biodyn.io.names import letters_and_digits
from biodyn.io.subject_parameters import Entry, parameters_of
from biodyn.recording import Recording, SubjectParameters

_SUFFIXES: Final = (".mp", ".vsk")  # in the order in which they count
_MOST_BYTES = 2_000_000
_LINE: Final = re.compile(r"^\s*\$(\w+)\s*=\s*([-+.\deE]+)\s*$", re.MULTILINE)
_PARAMETER: Final = re.compile(r"<(?:Static)?Parameter\b([^<>]*)>")
_ATTRIBUTE: Final = re.compile(r'(\w+)\s*=\s*"([^"]*)"')


def person_files(folder: Path) -> tuple[Path, ...]:
    """Return the files of persons in a folder, by name; none where it cannot be opened."""
    try:
        with os.scandir(folder) as entries:
            found = [entry.name for entry in entries if entry.name.lower().endswith(_SUFFIXES)]
    except OSError:
        return ()
    return tuple(folder / name for name in sorted(found))


def person_file(files: tuple[Path, ...], subject: str) -> Path | None:
    """Return which of some files is that of a person: of his or her name, or, where no name is known, of the only person."""
    persons = {path.stem.casefold() for path in files}
    wanted = subject.casefold() if subject else next(iter(persons), "") if len(persons) == 1 else ""
    own = [path for path in files if wanted and path.stem.casefold() == wanted]
    return min(own, key=lambda path: _SUFFIXES.index(path.suffix.lower()), default=None)


def read_person(path: Path) -> SubjectParameters:
    """Return what a file says of a person; InputFileError where it cannot be read."""
    text = file_head(path, _MOST_BYTES).decode("utf-8", errors="replace")
    pairs = _LINE.findall(text) if path.suffix.lower() == _SUFFIXES[0] else _of_skeleton(path, text)
    return parameters_of([Entry(letters_and_digits(name), value) for name, value in pairs])


def with_person(recording: Recording) -> Recording:
    """Return a recording with what it does not store of the person and the file beside it does."""
    own = recording.subject
    if own.mass_kg is not None and own.height_m is not None and own.measures:
        return recording
    path = person_file(person_files(recording.path.parent), own.name)
    if path is None:
        return recording
    try:
        found, digest = read_person(path), file_sha256(path)
    except InputFileError as error:
        text = f"The file of the person beside the recording is not used: {error.message}"
        note = Diagnostic("subject-unreadable", "warning", text, hint=error.hint)
        return replace(recording, diagnostics=(*recording.diagnostics, note))
    new = {name: value for name, value in found.measures.items() if name not in own.measures}
    mass_kg = found.mass_kg if own.mass_kg is None else None
    height_m = found.height_m if own.height_m is None else None
    told = [*([f"{mass_kg:g} kg"] if mass_kg else []), *([f"{height_m:g} m"] if height_m else [])]
    told += [f"{len(new)} measures"] if new else []
    if not told:
        return recording
    subject = replace(
        own,
        mass_kg=own.mass_kg or mass_kg,
        height_m=own.height_m or height_m,
        measures={**own.measures, **new},
        file=path.name if mass_kg or height_m else own.file,
    )
    text = f"What '{recording.path.name}' does not store of the person is that of '{path.name}': {', '.join(told)}."
    return replace(
        recording,
        subject=subject,
        also_read=(*recording.also_read, (path, digest)),
        diagnostics=(*recording.diagnostics, Diagnostic("subject-beside", "info", text)),
    )


def _of_skeleton(path: Path, text: str) -> list[tuple[str, str]]:
    """Names and values of the parameters of a .vsk: empty elements, which need no tree."""
    if "<KinematicModel" not in text or "</KinematicModel>" not in text:
        raise InputFileError(f"'{path.name}' is no whole file of a skeleton.", "Save it again in Vicon Nexus.")
    parameters = [dict(_ATTRIBUTE.findall(own)) for own in _PARAMETER.findall(text)]
    return [(own["NAME"], own["VALUE"]) for own in parameters if own.keys() >= {"NAME", "VALUE"}]
