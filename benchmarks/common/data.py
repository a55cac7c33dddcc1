"""Recordings and reference vectors: where they are, and which of them are walks."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

from biodyn.errors import InputFileError
from biodyn.io.formats.c3d.reader import read_c3d
from biodyn.session import typical_motion_m

REPOSITORY = Path(__file__).resolve().parents[2]
_SAMPLE_DATA = REPOSITORY / "sample_data"
_WALKING_M = 0.3  # markers of walking people travel farther


def sample_walks() -> list[Path]:
    """Return the walks of the sample data."""
    return sorted(_SAMPLE_DATA.glob("*/walk*.c3d"))


def real_recordings() -> Path:
    """Return the folder of real recordings, or end with one sentence."""
    return _folder_of("BIODYN_TEST_DATA", "real recordings")


def recordings_at_hand() -> list[Path]:
    """Return the folders of recordings there are: the sample data, and that of real recordings where it is named."""
    folders = [_SAMPLE_DATA]
    if os.environ.get("BIODYN_TEST_DATA"):
        folders.append(real_recordings())
    return folders


def reference_vectors() -> Path:
    """Return the folder of reference vectors, or end with one sentence."""
    return _folder_of("BIODYN_TEST_REFERENCE", "reference vectors")


def files_below(*folders: Path) -> list[Path]:
    """Return the C3D files below some folders, however their suffix is written."""
    return [path for folder in folders for path in sorted(folder.rglob("*")) if path.suffix.lower() == ".c3d"]


def walks_below(*folders: Path) -> Iterator[Path]:
    """Yield the C3D files below some folders that have force plates and markers that travel."""
    for path in files_below(*folders):
        try:
            recording = read_c3d(path)
        except InputFileError:
            continue
        if recording.plates and typical_motion_m(recording.markers) >= _WALKING_M:
            yield path


def _folder_of(variable: str, what: str) -> Path:
    value = os.environ.get(variable)
    if not value or not Path(value).is_dir():
        sys.exit(f"Set {variable} to the folder of {what}.")
    return Path(value)
