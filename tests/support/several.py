"""Read several recordings and keep the errors."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from biodyn.errors import InputFileError
from biodyn.io import read
from biodyn.recording import Recording


def read_many(paths: Sequence[str | Path]) -> list[Recording | InputFileError]:
    """Read several recordings; see `read`.

    The result has the order of `paths`; a file that cannot be read is replaced by its InputFileError.
    """
    results: list[Recording | InputFileError] = []
    for path in paths:
        try:
            results.append(read(path))
        except InputFileError as error:
            results.append(error)
    return results
