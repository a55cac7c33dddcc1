"""Person in a file next to a motion: OpenCap, AddBiomechanics, and Vicon Nexus."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Final, Literal

from biodyn.diagnostics import Diagnostic
from biodyn.errors import InputFileError
from biodyn.io.files import file_head, file_sha256
from biodyn.io.names import letters_and_digits
from biodyn.io.subject_parameters import Entry, parameters_of
from biodyn.recording import Recording, SubjectParameters

#: Looked for in the motion's folder and the folders above it; the nearest counts.
NAMES: Final = ("sessionMetadata.yaml", "_subject.json")
_LEVELS = 4
_MOST_BYTES = 100_000
_MASS_KG, _HEIGHT_M, _AGE_YEARS = (5.0, 400.0), (0.4, 2.6), (1.0, 110.0)
_SEXES: Final[dict[str, Literal["male", "female"]]] = {"male": "male", "m": "male", "female": "female", "f": "female"}


def subject_file(motion: Path) -> Path | None:
    """Return the file that tells of the person of a motion, None where there is none."""
    folder = motion.resolve().parent
    for place in (folder, *folder.parents)[:_LEVELS]:
        for name in NAMES:
            if (place / name).is_file():
                return place / name
    return None


def with_subject_file(recording: Recording) -> Recording:
    """Return a recording that stores no person with mass, height, sex and age of the file beside it, as far as they can be."""
    path = subject_file(recording.path)
    if path is None or recording.subject.mass_kg is not None:
        return recording
    try:
        text = file_head(path, _MOST_BYTES).decode("utf-8", errors="replace")
        digest = file_sha256(path)
    except InputFileError:
        return recording
    mass_kg, height_m = _number(text, "mass_?kg", _MASS_KG), _number(text, "height_?m", _HEIGHT_M)
    age = _number(text, "age(?:_?years)?", _AGE_YEARS)
    found = re.search(r"""["']?\b(?:gender|sex)(?:_mf)?["']?\s*:\s*["']?(\w+)""", text, re.IGNORECASE)
    sex = _SEXES.get(found[1].lower()) if found else None
    if mass_kg is None and height_m is None:
        return recording
    told = [f"{mass_kg:g} kg" if mass_kg else "no mass", f"{height_m:g} m" if height_m else "no height"]
    note = Diagnostic("subject-beside", "info", f"Subject data are those of '{path.name}': {', '.join(told)}.")
    return replace(
        recording,
        subject=replace(recording.subject, mass_kg=mass_kg, height_m=height_m, sex=sex, file=path.name, age_years=age),
        also_read=(*recording.also_read, (path, digest)),
        diagnostics=(*recording.diagnostics, note),
    )


def _number(text: str, key: str, possible: tuple[float, float]) -> float | None:
    """The number behind a key of YAML or JSON, None where there is none or nobody has it."""
    found = re.search(rf"""["']?\b{key}\b["']?\s*:\s*["']?([0-9]+(?:\.[0-9]*)?)""", text, re.IGNORECASE)
    value = float(found[1]) if found else 0.0
    return value if possible[0] <= value <= possible[1] else None


_SUFFIXES: Final = (".mp", ".vsk")  # in the order in which they count
_MOST_BYTES_vicon_subject = 2_000_000
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
    text = file_head(path, _MOST_BYTES_vicon_subject).decode("utf-8", errors="replace")
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
        note = Diagnostic("file-not-used", "warning", text, hint=error.hint)
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
