"""What group analysis and report read of a trial besides its curves: looked at here, so that a damaged one costs its trial.

A look at a record takes a millisecond, ten seconds of ten thousand trials. So the trial process looks (`look_at`), and writes
at the end of run.json a digest of what it looked for and of every byte it looked at: while that digest is right, so is the look.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from biodyn.errors import ResultError
from biodyn.output.store.names import LOOKED_AT_ENTRY, RECORD_NAME, RECORD_VERSION
from biodyn.output.store.read import read_record
from biodyn.study.strides import STRIDES_NAME, read_strides, strides_bytes

# Entries of run.json that the report of a study reads, and their kind.
_READ: Mapping[tuple[str, ...], type | tuple[type, ...]] = {
    ("versions",): dict,
    ("plates",): list,
    ("checks",): list,
    ("diagnostics",): list,
    ("input", "rate_hz"): (int, float),
    ("subject", "mass_kg"): (int, float),
    ("subject", "height_m"): (int, float),
    ("subject", "sex"): str,
    ("marker_set", "title"): str,
    ("marker_set", "fitted"): list,
    ("model", "degrees_of_freedom"): int,
    ("model", "citations", "skeleton", "title"): str,
}
# Of an imported model, which came with its size and its inertias.
_NOT_IMPORTED = (("subject", "height_m"), ("model", "citations", "skeleton", "title"))
#: Changes with what is looked for: a look of another version counts for nothing.
_LOOKED_FOR = repr((RECORD_VERSION, sorted(_READ.items(), key=repr), _NOT_IMPORTED)).encode()
_LAST = f',"{LOOKED_AT_ENTRY}":"'.encode()


def look_at(folder: Path) -> None:
    """Look at a trial's result before it gets its name, and write down that it can be used, where it can."""
    path = folder / RECORD_NAME
    try:
        require_readable(folder)
    except ResultError:
        return  # who collects looks again, and says why not
    text = path.read_bytes().rstrip().removesuffix(b"}").rstrip()
    path.write_bytes(text + _look(folder, text))


def require_readable(folder: Path) -> None:
    """Raise ResultError where the record or the strides of a trial's result cannot be used."""
    if not _was_looked_at(folder):
        _require_readable(folder)


def _was_looked_at(folder: Path) -> bool:
    try:
        content = (folder / RECORD_NAME).read_bytes()
        text = content.rpartition(_LAST)[0]
        return bool(text) and content[len(text) :] == _look(folder, text)
    except OSError:
        return False


def _look(folder: Path, text: bytes) -> bytes:
    """The end of a record that was looked at, whose text goes before it."""
    digest = hashlib.sha256(_LOOKED_FOR + text)
    digest.update(strides_bytes(folder / STRIDES_NAME))
    return _LAST + digest.hexdigest().encode() + b'"}\n'


def _require_readable(folder: Path) -> None:
    try:
        record = read_record(folder)
    except ResultError as error:
        raise _damaged(folder, error.message) from error
    imported = _entry(record, ("static", "source")) == "model"
    for path, kind in _READ.items():
        if imported and path in _NOT_IMPORTED:
            continue
        if not isinstance(_entry(record, path), kind):
            raise _damaged(folder, f"'{RECORD_NAME}' of trial '{folder.name}' has no '{'.'.join(path)}'.")
    read_strides(folder / STRIDES_NAME)


def _entry(record: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    value: Any = record
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _damaged(folder: Path, message: str) -> ResultError:
    text = message.replace(f"{folder}/", "").replace(str(folder), folder.name)
    return ResultError(text, f"Remove the folder '{folder.name}' and run the study again.")
