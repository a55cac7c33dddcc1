"""Read the bytes of a file that may be missing, unreadable or empty, and hash them."""

from __future__ import annotations

import hashlib
import os
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Final

from biodyn.errors import InputFileError

EXPORT_AGAIN = "Export the trial again from the capture software."
COPY_AGAIN = "Copy the original file again, or export the trial again from the capture software."


class ReaderLimits:
    """Limits that bound time and memory of all readers: larger files raise InputFileError, further folder entries are
    ignored."""

    FILE_BYTES: Final = 4_000_000_000
    COLUMNS: Final = 6_000  # of a table: 2,000 markers
    PARQUET_CELLS: Final = 200_000_000
    MATLAB_CELLS: Final = 60_000_000  # of an array: 10 minutes of 40 channels at 2500 Hz
    MATLAB_BYTES: Final = 1 << 29  # of all variables, decompressed
    MATLAB_SMALL_BYTES: Final = 1 << 24  # decompressed size that any MATLAB file may have
    # ratio of decompressed to compressed bytes of a larger file; measured numbers do not compress further
    MATLAB_RATIO: Final = 100
    C3D_PARAMETER_BLOCKS: Final = 4096  # of 512 bytes
    B3D_HEADER_BYTES: Final = 200_000_000  # models as text, and one number for every frame
    PERSON_BYTES: Final = 2_000_000  # of a file of subject data
    FOLDER_ENTRIES: Final = 2_000  # of a folder that is searched


def require_nonempty_file(path: Path) -> None:
    """Raise InputFileError unless the path is that of a readable file that is not empty."""
    if not file_head(path, 1):
        raise InputFileError(f"'{path}' is empty (0 bytes).", COPY_AGAIN)


def file_head(path: Path, size_bytes: int) -> bytes:
    """Return the first bytes of a file; InputFileError unless it is a regular file that can be opened."""
    if not path.exists():
        raise InputFileError(f"'{path}' does not exist.", f"Check the path{_similar_name_hint(path)}.")
    if path.is_dir():
        raise InputFileError(
            f"'{path}' is a folder; expected one recording.",
            "Give one file of the folder; 'biodyn session' and 'biodyn study' take folders.",
        )
    if not path.is_file():  # opening a pipe would block
        raise InputFileError(f"'{path}' is not a regular file (a pipe, a device or a socket).", "Give a recording.")
    try:
        with path.open("rb") as stream:
            return stream.read(size_bytes)
    except OSError as error:
        raise InputFileError(f"'{path}' cannot be opened: {error.strerror}.", "Check the permissions.") from error


def _similar_name_hint(path: Path) -> str:
    """Return a hint with the most similar file name in the folder; "" if none exists."""
    alike = 0.8  # similarity of two names that differ by a typing error
    try:
        names = sorted(entry.name for entry in path.parent.iterdir() if entry.is_file())[: ReaderLimits.FOLDER_ENTRIES]
    except OSError:
        return ""
    same = [name for name in names if path.name.lower() in (name.lower(), Path(name).stem.lower())]
    near = same or get_close_matches(path.name, names, n=1, cutoff=alike)
    return f"; a similar file is '{near[0]}'" if near else ""


def file_bytes(path: Path) -> bytes:
    """Return all bytes of a file; InputFileError if it cannot be read or is larger than `ReaderLimits.FILE_BYTES`."""
    require_nonempty_file(path)
    if path.stat().st_size > ReaderLimits.FILE_BYTES:
        raise InputFileError(
            f"'{path.name}' is larger than {ReaderLimits.FILE_BYTES / 1e9:.0f} GB.",
            "Shorten the recording, or export it without analog channels.",
        )
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputFileError(f"'{path}' cannot be read: {error.strerror}.", "Check the permissions.") from error


def limit_column_count(name: str, count: int, per_point: int = 1) -> None:
    """Raise InputFileError if a table has more columns (or points of `per_point` columns each) than a recording of motion."""
    if count * per_point > ReaderLimits.COLUMNS:
        what = "columns" if per_point == 1 else "markers"
        raise InputFileError(
            f"'{name}' has {count} {what}; at most {ReaderLimits.COLUMNS // per_point} are accepted for a motion."
        )


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file's bytes in hexadecimal; InputFileError if it cannot be read."""
    return hashlib.sha256(file_bytes(path)).hexdigest()


def cached_sha256(path: Path, known: os.stat_result) -> str:
    """Return the SHA-256 of a file, cached until its size or modification time changes (`known`: its current status).

    Raises InputFileError if it cannot be read.
    """
    return _cached_sha256(path, known.st_size, known.st_mtime_ns)


@lru_cache(maxsize=10_000)
def _cached_sha256(path: Path, size: int, changed_ns: int) -> str:
    return file_sha256(path)
