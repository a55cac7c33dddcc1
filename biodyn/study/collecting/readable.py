"""What group analysis and report read of a trial besides its curves: looked at here, so that a damaged one costs its trial."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from biodyn.errors import ResultError
from biodyn.output.store.names import RECORD_NAME
from biodyn.output.store.read import read_record
from biodyn.study.strides import STRIDES_NAME, read_strides

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


def require_readable(folder: Path) -> None:
    """Raise ResultError where the record or the strides of a trial's result cannot be used."""
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
