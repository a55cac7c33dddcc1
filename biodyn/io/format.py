"""The description of a file format, and the registry of formats that can be read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from biodyn.errors import InputFileError
from biodyn.library.registry import Registry
from biodyn.recording import FileFacts, Preview, Recording

#: Frames per second that a camera can have; any other number in a file is damaged.
RATES_HZ = (1.0, 20_000.0)
#: Nothing that a laboratory measures is larger, in N, mm and N mm; a larger number in a file is damaged.
LARGEST_NUMBER = 1e9


@dataclass(frozen=True)
class Format:
    """One file format.

    Attributes:
        title: for messages. suffixes: of its files' names, in lower case, the usual one first.
        recognises: whether the first bytes of a file (up to `reading.HEAD_BYTES`) are of this format; never raises.
        read: one file. Raises InputFileError, in one sentence, for a file that is damaged or lacks what the format needs.
        facts: facts from the head of the file; None = the whole file has to be read for that.
        preview: short pieces of the markers; None = the whole file has to be read for that.
        poses: its files may hold poses of segments.
        separate_forces: its files hold no force plates; ground forces may be in a separate file (`io.ground_forces`).
    """

    title: str
    suffixes: tuple[str, ...]
    recognises: Callable[[bytes], bool]
    read: Callable[[Path], Recording]
    facts: Callable[[Path], FileFacts] | None = None
    preview: Callable[[Path], Preview] | None = None
    separate_forces: bool = False
    poses: bool = False


# Recognised in this order: a special kind of another format comes before it (a smaller `place`).
FORMATS: Registry[Format] = Registry("biodyn.io.formats", "recording format", InputFileError)
