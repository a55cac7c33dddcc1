"""The description of a file format, and the registry of formats that can be read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from biodyn.errors import InputFileError
from biodyn.library.registry import Registry
from biodyn.recording import AnalogSignals, FileFacts, Preview, Recording

#: Possible frame rates of a camera, Hz; any other number in a file is damaged.
RATES_HZ = (1.0, 20_000.0)
#: Largest value that a laboratory can measure, in N, mm and N mm; a larger number in a file is damaged.
LARGEST_NUMBER = 1e9


@dataclass(frozen=True)
class Format:
    """One file format.

    Attributes:
        title: name of the format in messages. suffixes: file suffixes in lower case, the usual one first.
        recognises: returns whether the first bytes of a file (up to `recording_reader.HEAD_BYTES`) are of this format; never
        raises.
        read: reads one file; raises InputFileError if the file is damaged or lacks what the format needs.
        facts: reads facts from the head of a file; None = the whole file has to be read for them.
        preview: reads short pieces of the marker trajectories; None = the whole file has to be read for them.
        analog: reads all analog channels, also of a file without motion; None = the format has none.
        poses: whether files may hold segment poses.
        separate_forces: whether files hold no force plates, so ground forces may be in a separate file
        (`io.ground_forces`).
    """

    title: str
    suffixes: tuple[str, ...]
    recognises: Callable[[bytes], bool]
    read: Callable[[Path], Recording]
    facts: Callable[[Path], FileFacts] | None = None
    preview: Callable[[Path], Preview] | None = None
    analog: Callable[[Path], AnalogSignals] | None = None
    separate_forces: bool = False
    poses: bool = False


# Formats are tried in this order: a special case of another format precedes it (smaller `place`).
FORMATS: Registry[Format] = Registry("biodyn.io.formats", "recording format", InputFileError)
