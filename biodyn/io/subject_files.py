"""Read subject data from a separate file: OpenCap, AddBiomechanics, and Vicon Nexus."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Final, Literal

from biodyn.diagnostics import Diagnostic
from biodyn.errors import InputFileError
from biodyn.io.file_access import ReaderLimits, file_head, file_sha256
from biodyn.io.name_tables import letters_and_digits
from biodyn.io.subject_parameters import convert_subject_parameters
from biodyn.recording import Recording, SubjectParameters

#: Searched in the folder of the motion and the folders above it; the nearest file is used.
NAMES: Final = ("sessionMetadata.yaml", "_subject.json")
_SEXES: Final[dict[str, Literal["male", "female"]]] = {"male": "male", "m": "male", "female": "female", "f": "female"}


def subject_file(motion: Path) -> Path | None:
    """Return the file with the subject data of a motion; None if absent."""
    folder = motion.resolve().parent
    for place in (folder, *folder.parents)[:4]:
        for name in NAMES:
            if (place / name).is_file():
                return place / name
    return None


def with_subject_file(recording: Recording) -> Recording:
    """Add plausible mass, height, sex and age from the subject file to a recording without subject data."""
    path = subject_file(recording.path)
    if path is None or recording.subject.mass_kg is not None:
        return recording
    try:
        text = file_head(path, 100_000).decode("utf-8", errors="replace")
        digest = file_sha256(path)
    except InputFileError:
        return recording
    mass_kg = _plausible_number(text, "mass_?kg", (5.0, 400.0))
    height_m = _plausible_number(text, "height_?m", (0.4, 2.6))
    age = _plausible_number(text, "age(?:_?years)?", (1.0, 110.0))
    match = re.search(r"""["']?\b(?:gender|sex)(?:_mf)?["']?\s*:\s*["']?(\w+)""", text, re.IGNORECASE)
    sex = _SEXES.get(match[1].lower()) if match else None
    if mass_kg is None and height_m is None:
        return recording
    values = [f"{mass_kg:g} kg" if mass_kg else "no mass", f"{height_m:g} m" if height_m else "no height"]
    note = Diagnostic("subject-beside", "info", f"Subject data are read from '{path.name}': {', '.join(values)}.")
    return replace(
        recording,
        subject=replace(recording.subject, mass_kg=mass_kg, height_m=height_m, sex=sex, file=path.name, age_years=age),
        also_read=(*recording.also_read, (path, digest)),
        diagnostics=(*recording.diagnostics, note),
    )


def _plausible_number(text: str, key: str, possible: tuple[float, float]) -> float | None:
    """Return the number stored under a key in YAML or JSON text; None if it is missing or implausible."""
    match = re.search(rf"""["']?\b{key}\b["']?\s*:\s*["']?([0-9]+(?:\.[0-9]*)?)""", text, re.IGNORECASE)
    value = float(match[1]) if match else 0.0
    return value if possible[0] <= value <= possible[1] else None


_SUFFIXES: Final = (".mp", ".vsk")  # in order of priority
_LINE: Final = re.compile(r"^\s*\$(\w+)\s*=\s*([-+.\deE]+)\s*$", re.MULTILINE)
_PARAMETER: Final = re.compile(r"<(?:Static)?Parameter\b([^<>]*)>")
_ATTRIBUTE: Final = re.compile(r'(\w+)\s*=\s*"([^"]*)"')


def nexus_subject_files(folder: Path) -> tuple[Path, ...]:
    """Return the subject files of Vicon Nexus in a folder, sorted by name; empty if the folder cannot be opened."""
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in entries if entry.name.lower().endswith(_SUFFIXES)]
    except OSError:
        return ()
    return tuple(folder / name for name in sorted(names))


def nexus_subject_file(files: tuple[Path, ...], subject: str) -> Path | None:
    """Return the file of a person by name, or of the only person if the name is unknown; None if none exists."""
    persons = {path.stem.casefold() for path in files}
    wanted = subject.casefold() if subject else next(iter(persons), "") if len(persons) == 1 else ""
    matching = [path for path in files if wanted and path.stem.casefold() == wanted]
    return min(matching, key=lambda path: _SUFFIXES.index(path.suffix.lower()), default=None)


def read_nexus_subject(path: Path) -> SubjectParameters:
    """Read the subject data of a Vicon Nexus file; InputFileError if it cannot be read."""
    text = file_head(path, ReaderLimits.PERSON_BYTES).decode("utf-8", errors="replace")
    pairs = _LINE.findall(text) if path.suffix.lower() == _SUFFIXES[0] else _skeleton_parameters(path, text)
    return convert_subject_parameters([(letters_and_digits(name), value, "") for name, value in pairs])


def with_nexus_subject(recording: Recording) -> Recording:
    """Add missing subject data from a Vicon Nexus file (.mp, .vsk) to a recording."""
    subject_before = recording.subject
    if subject_before.mass_kg is not None and subject_before.height_m is not None and subject_before.measures:
        return recording
    path = nexus_subject_file(nexus_subject_files(recording.path.parent), subject_before.name)
    if path is None:
        return recording
    try:
        stored, digest = read_nexus_subject(path), file_sha256(path)
    except InputFileError as error:
        text = f"The subject file of the recording is not used: {error.message}"
        note = Diagnostic("data-not-used", "warning", text, hint=error.hint)
        return replace(recording, diagnostics=(*recording.diagnostics, note))
    new = {name: value for name, value in stored.measures.items() if name not in subject_before.measures}
    mass_kg = stored.mass_kg if subject_before.mass_kg is None else None
    height_m = stored.height_m if subject_before.height_m is None else None
    values = [*([f"{mass_kg:g} kg"] if mass_kg else []), *([f"{height_m:g} m"] if height_m else [])]
    values += [f"{len(new)} measures"] if new else []
    if not values:
        return recording
    subject = replace(
        subject_before,
        mass_kg=subject_before.mass_kg or mass_kg,
        height_m=subject_before.height_m or height_m,
        measures={**subject_before.measures, **new},
        file=path.name if mass_kg or height_m else subject_before.file,
    )
    text = f"Subject data missing in '{recording.path.name}' are read from '{path.name}': {', '.join(values)}."
    return replace(
        recording,
        subject=subject,
        also_read=(*recording.also_read, (path, digest)),
        diagnostics=(*recording.diagnostics, Diagnostic("subject-beside", "info", text)),
    )


def _skeleton_parameters(path: Path, text: str) -> list[tuple[str, str]]:
    """Return the names and values of the parameters of a .vsk file; they are empty elements, so no XML tree is parsed."""
    if "<KinematicModel" not in text or "</KinematicModel>" not in text:
        raise InputFileError(f"'{path.name}' is not a complete skeleton file.", "Save it again in Vicon Nexus.")
    parameters = [dict(_ATTRIBUTE.findall(attributes)) for attributes in _PARAMETER.findall(text)]
    return [
        (attributes["NAME"], attributes["VALUE"]) for attributes in parameters if attributes.keys() >= {"NAME", "VALUE"}
    ]
