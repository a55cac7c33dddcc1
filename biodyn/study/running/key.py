"""The key of a trial's result: equal keys mean the same inputs, settings and program, so nothing is to be done again."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from biodyn.errors import InputFileError
from biodyn.io import file_sha256, files_of, remembered_sha256
from biodyn.model.from_library.user_tables import own_file, user_tables
from biodyn.session import static_candidates
from biodyn.settings import PATH_ENTRIES, Settings, settings_from
from biodyn.study.plan import PlannedTrial
from biodyn.study.running.program import program_version
from biodyn.trial.files import NO_STATIC

#: Number, size and time of change of files; None where one is gone.
FileStates = Mapping[Path, tuple[int, int, int] | None]


def trial_key(trial: PlannedTrial, root: Path) -> str:
    """Return the key of a trial whose files lie below `root`.

    Where it is chosen among several static trials, all of them count; where it is looked for beside the walk, the names
    and contents of the files that would be looked at stand for it. Where the subject's model is fitted to the whole session, the
    contents of all its recordings count. Labels
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
        "settings": _without_paths(settings),
        "companions": _companions(trial, root) if settings.model.fit == "session" else [],
        "tables": [(file.role, file.sha256) for file in user_tables(settings.tables)],
    }
    if settings.model.osim is not None:
        content["osim"] = file_sha256(Path(settings.model.osim))
        content["scaled"] = trial.named_static
    beside = [*files_of(walk)[1:], *_of_statics(trial, root)]
    if beside:
        content["beside"] = [file_sha256(path) for path in dict.fromkeys(beside)]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def input_files(trial: PlannedTrial, root: Path) -> FileStates:
    """Return the files whose content the key of a trial stands for, as they are now.

    Raises InputFileError for a walk that cannot be read.
    """
    walk = root / trial.path
    own = [walk, *files_of(walk)[1:], *_statics(trial, root), *_of_statics(trial, root)]
    return {path: _as_it_is(path) for path in (*own, *(root / path for path in trial.companions))}


def changed_since(files: FileStates) -> list[Path]:
    """Return which of the `input_files` of an earlier moment are not as they were."""
    return [path for path, known in files.items() if _as_it_is(path) != known]


def _as_it_is(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def _statics(trial: PlannedTrial, root: Path) -> list[Path]:
    """The static trial, or those that it is chosen among."""
    if trial.static is not None:
        return [] if str(trial.static) == NO_STATIC else [root / trial.static]
    return [root / path for path in trial.statics] or list(static_candidates(root / trial.path))


def _of_statics(trial: PlannedTrial, root: Path) -> list[Path]:
    """What lies beside the static trials; of one that cannot be read nothing is."""
    found: list[Path] = []
    for path in _statics(trial, root):
        with suppress(InputFileError):
            found += files_of(path)[1:]
    return found


def _static(trial: PlannedTrial, root: Path) -> Any:
    found = _statics(trial, root)
    if trial.static is not None:
        return [file_sha256(path) for path in found] or NO_STATIC
    read = file_sha256 if trial.statics else _content_of
    return [(os.path.relpath(path, (root / trial.path).parent), read(path)) for path in found]


def _companions(trial: PlannedTrial, root: Path) -> list[str]:
    """Contents of the session's other recordings; one that cannot be read costs itself alone, until it is mended."""
    found = []
    for path in trial.companions:
        try:
            found.append(_content_of(root / path))
        except InputFileError:
            found.append("not readable")
    return sorted(found)


def _without_paths(settings: Settings) -> dict[str, Any]:
    """The settings with the content of a user's own tables left to their hashes: a moved table is the same table."""
    values = settings.model_dump(mode="json")
    for section, entry in PATH_ENTRIES:
        values[section][entry] = own_file(values[section][entry]) or values[section][entry]
    return values


def _content_of(path: Path) -> str:
    """Hash of a file's content; InputFileError for one that cannot be looked at."""
    try:
        known = path.stat()
    except OSError as error:
        raise InputFileError(f"'{path}' cannot be looked at: {error.strerror}.", "Check the permissions.") from error
    try:
        return remembered_sha256(path, known)
    except InputFileError:  # the search for a static passes it over, too
        return "not readable"
