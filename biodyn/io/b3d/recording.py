"""A trial of an archive as a recording."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final, Literal

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.errors import InputFileError
from biodyn.io.b3d.archive import Archive, ArchivedTrial, read_archive
from biodyn.io.b3d.forces import forces_of
from biodyn.io.opensim.storage import Storage
from biodyn.io.tables import recording_of
from biodyn.io.tables.columns import ColumnRoles
from biodyn.recording import Recording, SubjectParameters

_SEXES: Final[dict[str, Literal["male", "female"]]] = {"male": "male", "female": "female"}
_SHOWN = 5  # names of trials in a sentence


class SeveralTrialsError(InputFileError):
    """An archive of several trials is a folder of recordings, none by itself."""


def read_b3d(path: Path) -> Recording:
    """Read the trial of an archive that holds one; raises InputFileError for a damaged file, SeveralTrialsError for more."""
    archive = read_archive(path)
    if len(archive.trials) == 1:
        return recording_of_trial(archive, archive.trials[0])
    names = ", ".join(trial.name for trial in archive.trials[:_SHOWN])
    more = " ..." if len(archive.trials) > _SHOWN else ""
    raise SeveralTrialsError(
        f"'{path.name}' is an archive of {len(archive.trials)} trials: {names}{more}.",
        "Make a folder of recordings of it: biodyn unpack FILE.b3d.",
    )


def recording_of_trial(archive: Archive, trial: ArchivedTrial) -> Recording:
    """Return the markers and force plates of a trial, in the frame of the archive (y up, m)."""
    frames = len(trial.markers)
    markers = {label: (f"{label}_tx", f"{label}_ty", f"{label}_tz") for label in trial.labels}
    forces = forces_of(trial)
    names = [name for three in markers.values() for name in three]
    columns: list[FloatArray] = [*trial.markers.reshape(frames, -1).T, *forces.columns.values()]
    values = np.column_stack(columns) if columns else np.empty((frames, 0))
    table = Storage(
        archive.path, (*names, *forces.columns), np.arange(frames) / trial.rate_hz, values, in_degrees=False
    )
    made = recording_of(table, ColumnRoles(markers, forces.roles), archive.sha256, length="m")
    subject = SubjectParameters(mass_kg=archive.mass_kg, height_m=archive.height_m, sex=_SEXES.get(archive.sex.lower()))
    return replace(
        made,
        subject=subject,
        vertical=np.array([0.0, 1.0, 0.0]),
        diagnostics=(*made.diagnostics, *forces.notes, *missing_note(trial)),
    )


def missing_note(trial: ArchivedTrial) -> tuple[Diagnostic, ...]:
    """Return the note on frames whose ground forces the archive calls missing."""
    missing = int(trial.without_forces.sum())
    if not missing:
        return ()
    return (
        Diagnostic(
            "archive-forces-missing",
            "warning",
            f"The archive says of {missing} of {len(trial.markers)} frames of '{trial.name}' that ground forces are missing "
            "or doubtful there.",
            value=float(missing),
            hint="Torques of the leg on the floor are not to be trusted in these frames.",
        ),
    )
