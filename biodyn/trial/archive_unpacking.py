"""Unpack an archive of trials to a folder of files that all commands and other programs can read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from biodyn.diagnostics import Diagnostic
from biodyn.errors import BiodynError
from biodyn.io.b3d import Archive, ArchivedTrial, ground_force_columns, missing_forces_note, read_archive
from biodyn.io.opensim.file_writers import storage_text, trc_text
from biodyn.output.store.record import program_versions
from biodyn.output.store.result_writer import write_export
from biodyn.rigid_body.osim.document import parse_document
from biodyn.rigid_body.osim.joints import coordinates_in_tree_order
from biodyn.rigid_body.osim.model import build_model, find_model_element
from biodyn.rigid_body.osim.model_writer import component_name

#: File with subject data that is read with the recordings (`io.subject_files`).
SUBJECT: Final = "_subject.json"


@dataclass(frozen=True)
class Unpacked:
    """The folder written by `unpack`: its path, names of its files and trials, and sentences on missing data."""

    folder: Path
    files: tuple[str, ...]
    trials: tuple[str, ...]
    notes: tuple[str, ...]


def unpack(archive: str | Path, folder: str | Path | None = None, *, force: bool = False) -> Unpacked:
    """Write the trials of a .b3d archive (AddBiomechanics) as files, completely or not at all.

    Files of every trial: `<trial>.trc` (markers), `<trial>_grf.mot` (ground forces, if plates were loaded) and
    `<trial>_coordinates.mot` (of the fitted model); `_subject.json` (mass, height, sex, age) of the person; `model_<pass>.osim`
    of each processing pass. `run`, `check`, `study` and `session` accept the folder and the .trc files.

    Parameters:
        archive: path of the archive. folder: target folder; None = next to it, with its name without suffix.
        force: whether to replace an earlier folder with unchanged files.

    Raises InputFileError for a damaged archive, ResultError for a folder that is in use.
    """
    source = Path(archive)
    archive_content = read_archive(source)
    target = Path(folder) if folder is not None else source.with_suffix("")
    models, notes = _models_by_kind(archive_content)
    files = {f"model_{kind}.osim": osim for kind, (osim, _) in models.items()}
    files[SUBJECT] = _subject_text(archive_content)
    names: list[str] = []
    for trial in archive_content.trials:
        name = _unused_name(component_name(trial.name), names)
        names.append(name)
        made, trial_notes = _trial_files(name, trial, archive_content, models)
        files.update(made)
        notes.extend(trial_notes)
    record = {
        "export": "unpack",
        "versions": program_versions(),
        "of": {"file": source.name, "sha256": archive_content.sha256},
        "notes": notes,
    }
    write_export(target, {name: text.encode() for name, text in files.items()}, record, force)
    return Unpacked(target, tuple(sorted(files)), tuple(names), tuple(notes))


#: Text of a model, and two lists of its coordinates in depth-first order: the independent ones, which archives hold, and all
#: coordinates, which archives of old models hold; empty if the model cannot be read.
_Model = tuple[str, tuple[tuple[str, ...], tuple[str, ...]]]


def _models_by_kind(archive: Archive) -> tuple[dict[str, _Model], list[str]]:
    """Return the models of the archive by kind of processing pass, and notes on models that cannot be read."""
    models: dict[str, _Model] = {}
    notes = []
    for kind, osim in archive.models:
        if not osim.strip():
            continue
        name = f"model_{kind}.osim"
        try:
            element = find_model_element(parse_document(osim.encode(), name), name)
            free, _ = build_model(element).independent_coordinates()
            names = coordinates_in_tree_order(element)
            models[kind] = osim, (tuple(label for label in names if label in free), names)
        except BiodynError as error:
            models[kind] = osim, ((), ())
            notes.append(f"The model of the pass '{kind}' cannot be read: {error.message}")
    return models, notes


def _subject_text(archive: Archive) -> str:
    """Return the subject data in the format that AddBiomechanics writes with recordings."""
    facts = {
        "massKg": archive.mass_kg,
        "heightM": archive.height_m,
        "sex": archive.sex or None,
        "ageYears": archive.age_years,
    }
    return json.dumps({key: value for key, value in facts.items() if value is not None}, indent=2) + "\n"


def _trial_files(
    name: str, trial: ArchivedTrial, archive: Archive, models: Mapping[str, _Model]
) -> tuple[dict[str, str], list[str]]:
    """Return the contents of the files of one trial by file name, and notes on missing data."""
    time_s = np.arange(len(trial.markers)) / trial.rate_hz
    force_columns, _, force_notes = ground_force_columns(trial)
    files: dict[str, str] = {}
    notes = [_note_sentence(note) for note in (*force_notes, *missing_forces_note(trial))]
    if trial.labels:
        files[f"{name}.trc"] = trc_text(f"{name}.trc", _trc_labels(trial.labels), trial.markers, time_s)
    else:
        notes.append(f"'{trial.name}' holds no markers.")
    if force_columns:
        files[f"{name}_grf.mot"] = storage_text(
            f"{name} ground forces",
            {"time": time_s, **force_columns},
            ("Forces (N), centres of pressure (m) and moments about them (Nm) in ground, y up.",),
        )
    kind = archive.models[trial.model][0] if trial.model is not None and trial.model < len(archive.models) else ""
    if trial.model is not None:
        _, lists = models.get(kind, ("", ((), ())))
        names = next((names for names in lists if names and len(names) == trial.coordinates.shape[1]), ())
        if names:
            files[f"{name}_coordinates.mot"] = storage_text(
                f"{name} coordinates",
                {"time": time_s, **dict(zip(names, trial.coordinates.T, strict=True))},
                (f"Coordinates of model_{kind}.osim, radians and metres.",),
            )
        else:
            notes.append(f"The coordinates of '{trial.name}' do not match its model in number and are omitted.")
    return files, notes


def _trc_labels(labels: Sequence[str]) -> list[str]:
    """Return the labels, with single spaces and without empty names, as a TRC file requires."""
    return [" ".join(label.split()) or "marker" for label in labels]


def _unused_name(name: str, taken: Sequence[str]) -> str:
    """Return the name, with a number appended if it is already used (ignoring case)."""
    used = {taken_name.lower() for taken_name in taken}
    candidate, number = name, 1
    while candidate.lower() in used:
        number += 1
        candidate = f"{name}_{number}"
    return candidate


def _note_sentence(note: Diagnostic) -> str:
    return f"{note.message} {note.hint}".strip()
