"""A user's own files in a result folder: a copy of each, byte by byte, and whether the original still is what it was."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from biodyn.diagnostics import Diagnostic
from biodyn.errors import InputFileError
from biodyn.library.load import UserFile
from biodyn.output.store.folder import INPUTS_FOLDER

_UNSAFE = re.compile(r"[^\w.\-]+")
_LONGEST_NAME = 80


def write_user_files(files: Sequence[UserFile], folder: Path) -> None:
    """Write the copies into an existing result folder; without files nothing is written."""
    if not files:
        return
    (folder / INPUTS_FOLDER).mkdir(exist_ok=True)
    for file, name in zip(files, copy_names(files), strict=True):
        (folder / INPUTS_FOLDER / name).write_bytes(file.data)


def user_file_records(files: Sequence[UserFile]) -> list[dict[str, str]]:
    """Return the values of `user_files` in run.json: role, name and path of the original, its hash, where its copy is."""
    return [
        {
            "role": file.role,
            "name": clean(file.name),
            "path": clean(str(file.path)),
            "sha256": file.sha256,
            "copy": f"{INPUTS_FOLDER}/{name}",
        }
        for file, name in zip(files, copy_names(files), strict=True)
    ]


def copy_names(files: Sequence[UserFile]) -> list[str]:
    """Names of the copies: the files' own, a number before what two files would share."""
    names: list[str] = []
    for file in files:
        name = _UNSAFE.sub("_", file.name).lstrip(".")[-_LONGEST_NAME:] or "table.toml"
        number = 2
        while (wanted := name if number == 2 else f"{number - 1}_{name}").casefold() in {n.casefold() for n in names}:
            number += 1
        names.append(wanted)
    return names


def clean(text: str) -> str:
    """A name of the file system as text that can be written anywhere: bytes that are no text are spelt out."""
    return os.fsencode(text).decode("utf-8", "backslashreplace")


def require_unchanged(files: Sequence[UserFile]) -> None:
    """Raise InputFileError if a file is not what was read: the analysis may have used two versions of it."""
    for file in files:
        if _sha256(file.path) != file.sha256:
            raise InputFileError(
                f"The {file.role} '{file.path}' was changed while it was used.", "Run again when it is complete."
            )


def changed_since(record: Mapping[str, Any], folder: Path) -> list[Diagnostic]:
    """Return a note for every user file of a result whose original, or whose copy in `folder`, is not what was used."""
    notes = []
    for entry in record.get("user_files", ()):
        copy = folder / PurePosixPath(entry["copy"])
        if _sha256(copy) != entry["sha256"]:
            problem = "is missing" if not copy.is_file() else "was changed"
            text = f"The copy {entry['copy']} of the {entry['role']} that this result was made with {problem}."
            notes.append(
                Diagnostic("user-file-copy", "warning", text, hint="The numbers of the result are not affected.")
            )
        now = _sha256(Path(entry["path"]))
        if now != entry["sha256"]:
            problem = "is gone" if now is None else "was changed since"
            text = f"The {entry['role']} '{entry['path']}' {problem}: this result was made with what {entry['copy']} keeps."
            notes.append(Diagnostic("user-file-changed", "info", text, hint="To use the new one, run the trial again."))
    return notes


def _sha256(path: Path) -> str | None:
    """Hash of a file, None where it cannot be read."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except (OSError, ValueError):  # ValueError: a path that no file can have
        return None
