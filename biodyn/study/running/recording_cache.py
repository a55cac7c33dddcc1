"""Recordings of static trials that several walks of a subject share, read once."""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path

from biodyn.errors import InputFileError
from biodyn.io import file_sha256, read_many
from biodyn.recording import Recording
from biodyn.trial.files import TrialFiles, with_doubt
from biodyn.trial.stages import SessionMemory

_KEPT = 4  # the trials of a subject follow each other


class RecordingCache:
    """Reads a walk with its static trial; keeps the last few static trials, and what walks of a session share."""

    def __init__(self) -> None:
        self.memory = SessionMemory()
        self._statics: OrderedDict[str, Recording] = OrderedDict()

    def read(self, walk: Path, static: Path) -> TrialFiles:
        """Return the walk, the static trial and why that one was taken; InputFileError where one cannot be read."""
        content = file_sha256(static)
        known = self._statics.pop(content, None)
        wanted = [walk] if known is not None and known.path == static else [walk, static]
        found = []
        for result in read_many(wanted):
            if isinstance(result, InputFileError):
                raise result
            found.append(result)
        standing = found[1] if len(found) == 2 else known
        assert standing is not None  # one of the two, by the choice of `wanted`
        self._statics[content] = standing
        while len(self._statics) > _KEPT:
            self._statics.popitem(last=False)
        return with_doubt(TrialFiles(found[0], standing, "named by the study"))
