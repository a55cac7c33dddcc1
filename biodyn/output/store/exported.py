"""Folders of exported files: they appear whole or not at all, and keep a list of what biodyn wrote into them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from biodyn.errors import ResultError
from biodyn.output.store.owned import dict_of, foreign_files, is_as_written, listed_files, named
from biodyn.output.store.replacing import replacing, without_links

EXPORT_RECORD: Final = "export.json"
_FILES: Final = "files"


def write_export(folder: Path, files: Mapping[str, bytes], record: Mapping[str, Any], force: bool = False) -> None:
    """Write files by name, and `export.json` with what they are and their digests, into a folder of their own.

    An earlier export is replaced only with `force`, and only where nothing in it was added or changed. Raises ResultError
    where the folder cannot become an export.
    """
    folder = without_links(folder)
    _require_free(folder, force)
    listed = [
        {"path": name, "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        for name, content in sorted(files.items())
    ]
    text = json.dumps({**record, _FILES: listed}, indent=2, allow_nan=False) + "\n"
    with replacing(folder, _owned) as place:
        for name, content in files.items():
            (place / name).write_bytes(content)
        (place / EXPORT_RECORD).write_text(text, encoding="utf-8")
        _require_free(folder, force)


def export_record(folder: Path) -> Mapping[str, Any] | None:
    """Return `export.json` of a folder, None where there is none of biodyn's."""
    try:
        content = json.loads((folder / EXPORT_RECORD).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    known = isinstance(content, dict) and "biodyn" in dict_of(content.get("versions"))
    return content if known and listed_files(content) is not None else None


def _owned(folder: Path) -> Any:
    record = export_record(folder)
    listed = {} if record is None else listed_files(record) or {}
    return {*listed, EXPORT_RECORD}.__contains__


def _require_free(folder: Path, force: bool) -> None:
    try:
        if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
            return
        if not folder.is_dir():
            raise ResultError(f"'{folder}' is a file, not a folder.", "Choose another --out.")
        record = export_record(folder)
        if record is None:
            raise ResultError(
                f"'{folder}' exists and holds no export of biodyn: it will not be replaced.", "Choose another --out."
            )
        if not force:
            raise ResultError(
                f"'{folder}' already holds an export.", "Choose another --out, or replace it with --force."
            )
        _require_untouched(folder, record)
    except OSError as error:
        raise ResultError(
            f"'{folder}' cannot be looked into: {error.strerror or error}.", "Choose another --out."
        ) from error


def _require_untouched(folder: Path, record: Mapping[str, Any]) -> None:
    foreign = foreign_files(folder, _owned(folder))
    listed = listed_files(record) or {}
    changed = [
        name for name, entry in listed.items() if (folder / name).is_file() and not is_as_written(folder / name, entry)
    ]
    if foreign or changed:
        what = "holds what biodyn did not write" if foreign else "was changed after biodyn wrote it"
        raise ResultError(
            f"'{folder}' {what} ({named(foreign or changed)}): it will not be replaced.",
            "Move that away, or choose another --out.",
        )
