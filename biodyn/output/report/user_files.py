"""How the record of a result names a user's own files and the copies that the result folder keeps of them."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from biodyn.library.load import UserFile

FOLDER = "inputs"
_UNSAFE = re.compile(r"[^\w.\-]+")
_LONGEST_NAME = 80


def user_file_records(files: Sequence[UserFile]) -> list[dict[str, str]]:
    """Return the values of `user_files` in run.json: role, name and path of the original, its hash, where its copy is."""
    return [
        {
            "role": file.role,
            "name": clean(file.name),
            "path": clean(str(file.path)),
            "sha256": file.sha256,
            "copy": f"{FOLDER}/{name}",
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
