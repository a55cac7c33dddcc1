"""The key of a trial's result: equal keys mean the same inputs, settings and program, so nothing is to be done again."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

from biodyn.errors import InputFileError
from biodyn.io.c3d import file_sha256
from biodyn.io.statics import static_candidates
from biodyn.settings import Settings, settings_from
from biodyn.study.plan import PlannedTrial
from biodyn.study.running.program import program_version


def trial_key(trial: PlannedTrial, root: Path) -> str:
    """Return the key of a trial whose files lie below `root`.

    Where it is chosen among several static trials, all of them count; where it is looked for beside the walk, the names
    and sizes of the files that would be looked at stand for it. Labels
    (session, condition, group) are no part: they are put on when results are collected.
    Raises InputFileError for a file that cannot be read, SettingsError for impossible settings.
    """
    settings: Settings = settings_from(dict(trial.settings))
    walk = root / trial.path
    content: dict[str, Any] = {
        "program": program_version(),
        "walk": file_sha256(walk),
        "static": _static(trial, root),
        "mass_kg": trial.mass_kg,
        "height_m": trial.height_m,
        "settings": settings.model_dump(mode="json"),
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _static(trial: PlannedTrial, root: Path) -> Any:
    if trial.static is not None:
        return file_sha256(root / trial.static)
    if trial.statics:
        return [(path.as_posix(), file_sha256(root / path)) for path in trial.statics]
    return _nearby(root / trial.path)


def _nearby(walk: Path) -> list[tuple[str, int]]:
    found = []
    for path in static_candidates(walk):
        try:
            found.append((os.path.relpath(path, walk.parent), path.stat().st_size))
        except OSError as error:
            raise InputFileError(
                f"'{path}' cannot be looked at: {error.strerror}.", "Check the permissions."
            ) from error
    return found
